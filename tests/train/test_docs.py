"""The examples of docs/persistence.md run as they stand and print what stands beside them; README lists the page."""

from support.pages import ROOT, examples, page, shown

PAGE = page("persistence.md")


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = examples(PAGE)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "persistence.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    wanted = shown("".join(blocks))
    assert printed[: len(wanted)] == wanted
    assert [line.split()[0] for line in printed[len(wanted) : -1]] == ["1", "2", "3", "4"]
    assert printed[-1].startswith("4 11 [")


def test_the_readme_lists_the_page():
    assert "(docs/persistence.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
