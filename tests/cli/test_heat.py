"""Text in colours."""

import numpy as np
import pytest
from rich.color import ColorSystem
from rich.style import Style

from forgenb.cli.heat import EDGES, STYLES, print_heat

BITS = np.array([0, 0.5, 1, 3.9, 4, 8, 11.9, 12, 50])
TEXT = "abcdefg\nh"


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    return monkeypatch


def test_backgrounds_go_by_bits(terminal, capsys):
    print_heat(TEXT, BITS)
    first, second, legend = capsys.readouterr().out.splitlines()
    wanted = [("c", "30;48;5;230"), ("d", "30;48;5;222"), ("e", "30;48;5;178"), ("fg", "30;48;5;209")]
    assert first == "ab" + "".join(f"\x1b[{style}m{text}\x1b[0m" for text, style in wanted)
    assert second == "\x1b[97;48;5;160mh\x1b[0m"
    assert legend.startswith("bits:  below 1  \x1b[30;48;5;230m from 1 \x1b[0m")
    assert legend.endswith("\x1b[97;48;5;160m from 12 \x1b[0m")


def test_every_step_has_a_colour_of_its_own_among_sixteen():
    grounds = [Style.parse(style).bgcolor for style in STYLES[1:]]
    assert len({ground.downgrade(ColorSystem.STANDARD).number for ground in grounds}) == len(EDGES)


def test_pieces_join_without_a_seam(terminal, capsys, monkeypatch):
    print_heat(TEXT * 3, np.tile(BITS, 3))
    whole = capsys.readouterr().out
    monkeypatch.setattr("forgenb.cli.heat.RUNS", 2)
    print_heat(TEXT * 3, np.tile(BITS, 3))
    assert capsys.readouterr().out == whole


def test_no_color_is_heeded(terminal, capsys):
    terminal.setenv("NO_COLOR", "1")
    print_heat(TEXT, BITS)
    assert capsys.readouterr().out == TEXT + "\n"


def test_outside_of_a_terminal_there_is_the_text_alone(monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for text in ("x" * 300 + "\n", "[red]:smile: 1 'a'\n\n"):
        print_heat(text, np.full(len(text), 9.0))
        assert capsys.readouterr().out == text


def test_a_text_cannot_steer_the_terminal(terminal, capsys):
    print_heat("a\x1b[2J\x07\r\u202eb\tc\n", np.zeros(12))
    assert capsys.readouterr().out.splitlines()[0].split() == ["a\\x1b[2J\\x07\\r\\u202eb", "c"]
