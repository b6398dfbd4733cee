"""JSON objects, read with care."""

import pytest

from forgenb.errors import CheckpointError
from forgenb.storage.documents import MOST, bounded, encoded, listed, parsed, shown


def test_round_trip():
    about = {"a": [1, -2.5, None, True], "é\ud800": {"b": "c"}, "n": 2**63 - 1}
    assert parsed(encoded(about, "x"), "x") == about
    assert parsed(encoded(about, "x", indent=2).encode(), "x") == about
    assert "\n" in encoded(about, "x", indent=2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff", "it is no JSON that is read here .*can't decode byte 0xff in position 0"),
        ("{", "it is no JSON that is read here .Expecting property name"),
        ("[1]", "it is no JSON object but a list"),
        pytest.param("[" * 100_000, "nested too deeply", id="nested"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ('{"a": -1e999}', "the number '-1e999' is infinite"),
        ('{"a": 123456789012345678901}', "a number has 21 digits"),
        ('{"a": {"b": 1, "b": 2}}', "the key 'b' stands twice in one object"),
        pytest.param("{}" + " " * MOST, f"it has more than {MOST} bytes, more than is read", id="long"),
    ],
)
def test_refusals(data, message):
    with pytest.raises(CheckpointError, match=f"^'f' is damaged: {message}|^'f' is damaged: it is no .*{message}"):
        parsed(data, "'f' is damaged: it")


def test_another_bound():
    with pytest.raises(CheckpointError, match="has more than 2 bytes"):
        parsed('{"a": 1}', "it", 2)
    assert parsed('{"a": 1}' + " " * MOST, "it", 2 * MOST) == {"a": 1}


def test_what_could_not_be_read_is_not_written():
    about = {chr(0x4E00 + i): i for i in range(70_000)}
    with pytest.raises(
        CheckpointError, match="'f' was not written: its JSON has .* bytes, .* fewer different characters"
    ):
        encoded(about, "'f'")
    assert bounded("{}", "'f'") == "{}"
    with pytest.raises(ValueError, match="not JSON compliant"):
        encoded({"a": float("nan")}, "'f'")


def test_shown():
    assert shown("a") == "'a'"
    assert shown("a" * 200) == f"'{'a' * 79}..."
    assert shown(10**5000) == "a number of thousands of digits"


def test_a_long_list_is_cut():
    assert listed([]) == ""
    assert listed(["a", "b"]) == "a; b"
    assert listed([str(i) for i in range(20)]).endswith("; 18; 19")
    assert listed([str(i) for i in range(22)]).endswith("; 18; 19 and 2 more")
