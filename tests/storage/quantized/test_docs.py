"""The examples of docs/quantisation.md run as they stand and print what stands beside them; README lists the page."""

from support.pages import ROOT, examples, page, shown

PAGE = page("quantisation.md")


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = examples(PAGE)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "quantisation.md", "exec"), names)
    wanted = shown("".join(blocks))
    assert len(wanted) == 4
    assert capsys.readouterr().out.splitlines() == wanted


def test_the_readme_lists_the_page():
    assert "(docs/quantisation.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
