"""Every wrong rule of the collection is rejected by `gradcheck`, and the right rule beside it is not."""

import pytest
from gradcheck.naming import named
from gradcheck.wrong_rules import CASES, FAMILIES, NONE, PROBLEMS, VOCABULARY

import forgenb as fnb


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_right_rule_is_accepted(problem):
    assert fnb.gradcheck(problem.op(problem.right), *problem.drawn())


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{p.name}: {w.slip}" for p, w in CASES])
def test_a_wrong_rule_is_rejected(number):
    assert named(number).text.startswith("gradcheck: ")


def test_the_collection_is_wide_and_its_names_are_those_of_the_vocabulary():
    assert len(CASES) > 60
    assert all(len(family.PROBLEMS) >= 9 for family in FAMILIES)
    assert len({(p.name, w.slip) for p, w in CASES}) == len(CASES)
    used = set().union(*(w.names for _, w in CASES))
    assert used == VOCABULARY
    assert sum(NONE in w.names for _, w in CASES) <= 3
