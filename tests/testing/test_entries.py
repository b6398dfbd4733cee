"""Rows that hold forgenb against another system: their tables, and that what they name is looked up."""

from support.named import absent

from forgenb.testing.entries import Entry, avoided, compared

SAME = Entry("1", "a tape", "Tape tensor", "test_tape.py::test_a_seed_weighs_the_elements")
OTHER = SAME._replace(number="2", differs="it is ours")
NONE = Entry("3", "a browser", "", "", "there is no Python in one")


def test_a_row_says_same_or_why_it_differs_or_is_left_out():
    head, _, *lines = compared("theirs", [SAME, OTHER, NONE]).splitlines()
    assert head == "|  | theirs | forgenb | meaning | tests |"
    test = "`test_tape.py::test_a_seed_weighs_the_elements`"
    assert lines[0] == f"| 1 | a tape | `fnb.Tape` `fnb.tensor` | same | {test} |"
    assert lines[1] == f"| 2 | a tape | `fnb.Tape` `fnb.tensor` | differs because it is ours | {test} |"
    assert lines[2] == "| 3 | a browser | - | left out because there is no Python in one |  |"


def test_a_defect_says_how_it_is_avoided():
    head, _, line = avoided([OTHER]).splitlines()
    assert head == "|  | what went wrong | forgenb | here | tests |"
    assert line.split(" | ")[1:4] == ["a tape", "`fnb.Tape` `fnb.tensor`", "it is ours"]


def test_a_row_that_names_nothing_is_noticed():
    wrong = Entry("1", "", "train.nothing tensor", "test_tape.py::test_nothing test_tape.py no/test.py::test_it")
    assert absent(wrong) == ["train.nothing", "test_tape.py::test_nothing", "no/test.py::test_it"]
    assert absent(SAME) == absent(NONE) == []
