"""The README's example runs and prints what the README shows, apart from times."""

import contextlib
import io
from pathlib import Path

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


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
