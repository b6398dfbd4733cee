"""The example of docs/gpt2.md runs as it stands and prints what stands beside it; README lists the page."""

from support.pages import ROOT, examples, page, shown

PAGE = page("gpt2.md")


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = examples(PAGE)
    exec(compile(block, "gpt2.md", "exec"), {})
    wanted = shown(block)
    assert len(wanted) == 5
    assert capsys.readouterr().out.splitlines() == wanted


def test_the_readme_lists_the_page():
    assert "(docs/gpt2.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
