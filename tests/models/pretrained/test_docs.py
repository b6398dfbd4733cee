"""The example of docs/gpt2.md runs as it stands and prints what stands beside it; README lists the page."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "gpt2.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "gpt2.md", "exec"), {})
    wanted = re.findall(r"print\(.*\)  # (.*)", block)
    assert len(wanted) == 5
    assert capsys.readouterr().out.splitlines() == wanted


def test_the_readme_lists_the_page():
    assert "(docs/gpt2.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
