"""What the README says: its example prints what it shows apart from times, its commands exist, and its links lead."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from forgenb.cli import build_parser

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(text, language):
    """The first code block of a language."""
    return text.split(f"```{language}\n", 1)[1].split("```", 1)[0]


def untimed(printed):
    """The lines of the tape in what was printed, without the two columns of times and the line that sums them up."""
    lines = printed.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("# "))
    last = next(i for i, line in enumerate(lines) if " entries, " in line)
    width = lines[first].index("fwd us")
    return [line[:width].rstrip() for line in lines[first:last]]


def test_the_example_prints_what_is_shown():
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block(README, "python"), "README.md", "exec"), {})
    shown = block(README.split("<!-- tape -->")[1], "text")
    assert untimed(printed.getvalue()) == untimed(shown)
    assert [line.split()[1] for line in untimed(shown) if line[:1].isdigit()] == ["x", "w", "matmul", "square", "sum"]


def test_the_commands_are_one_line_each():
    for name, word in (("train", "forgenb train"), ("test", "-m pytest")):
        command = block(README.split(f"<!-- {name} -->")[1], "sh")
        assert command.count("\n") == 1
        assert command.startswith("python3 -m venv .venv && ")
        assert word in command


def commands():
    """The indented lines of the README that call forgenb, without comments."""
    lines = [line.split("  #")[0].split(" #")[0].strip() for line in README.splitlines() if line.startswith("    ")]
    return [line for line in lines if line.startswith("forgenb ")]


def test_the_commands_that_are_named_can_be_given():
    found = commands()
    assert len(found) >= 5
    for line in found:
        words = shlex.split(line)[1:]
        if "--help" in words:
            words.remove("--help")
        assert build_parser().parse_args(words).command == words[0]
    with pytest.raises(SystemExit):
        build_parser().parse_args(["train", "--bogus"])


def test_files_that_are_named_are_there():
    named = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r"\btutorials/\w+\.py", README)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []
