"""The mutation score of a few ops, what is listed as equivalent, and the page of all."""

import re
from collections import Counter
from pathlib import Path

import pytest

from forgenb.errors import ArgumentError, ForgeError
from forgenb.ops import TABLE
from forgenb.testing.mutation import EQUIVALENT, page, score, summary
from forgenb.testing.mutation.plant import faults
from forgenb.testing.mutation.rules import rule_of
from forgenb.testing.mutation.trial import CACHES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "mutation.md").read_text(encoding="utf-8")
CHEAP = ["neg", "mul", "tanh", "relu", "rmsnorm_grad", "take_along_axis", "cumsum", "concat"]


@pytest.mark.parametrize("op", CHEAP)
def test_every_fault_of_a_few_ops_is_rejected(op):
    (found,) = score([op], limit=25)
    assert 5 <= found.planted <= 25
    assert (found.survivors, found.outdated) == ([], [])
    assert found.rejected == found.planted - len(found.equivalent)


@pytest.fixture
def _forgetful():
    """Nothing that is kept of a row of the table stays from before, or for later."""
    for when in ("before", "after"):
        for cached in CACHES:
            cached.cache_clear()
        if when == "before":
            yield


@pytest.mark.usefixtures("_forgetful")
def test_an_op_whose_tests_see_too_little_lets_faults_through(monkeypatch):
    row = TABLE["sub"]
    alike = row.__class__(**{**vars(row), "samples": lambda rng: iter([(tuple(rng.uniform(1, 2, (2, 3))), {})])})
    monkeypatch.setitem(TABLE, "sub", alike)
    (found,) = score(["sub"])
    assert sorted(fault.after for fault in found.survivors) == [
        "return (dout, neg(sum_to(dout, y_shape)) if y_wanted else None)",
        "return (sum_to(dout, x_shape), neg(dout) if y_wanted else None)",
    ]


def test_an_op_that_fails_without_a_fault_is_refused(monkeypatch):
    row = TABLE["neg"]
    monkeypatch.setitem(TABLE, "neg", row.__class__(**{**vars(row), "reference": lambda x: x}))
    with pytest.raises(ForgeError, match="the tests of neg fail although no fault is planted"):
        list(score(["neg"]))


def test_an_unknown_op_is_refused():
    with pytest.raises(ArgumentError, match="did you mean 'gelu'"):
        score(["gelo"])


def test_a_limit_draws_by_the_seed():
    drawn = [next(score(["mul"], seed=seed, limit=6)) for seed in (0, 0, 1)]
    assert [found.planted for found in drawn] == [6, 6, 6]


def test_what_is_listed_as_equivalent_is_there():
    files = {key.partition(".")[0] for key in EQUIVALENT}
    names = [name for name, row in TABLE.items() if Path(row.function.__code__.co_filename).stem in files]
    known = Counter(fault.rule for name in names for fault in faults(rule_of(name)))
    assert sorted(EQUIVALENT.keys() - known.keys()) == []
    assert all(row.reason and 0 < row.faults <= known[rule] for rule, row in EQUIVALENT.items())


def test_the_page_names_every_op_that_has_a_rule():
    rows = re.findall(r"^\| `(\w+)` \| (\d+|by .+?) \|", PAGE, re.MULTILINE)
    listed = {name: int(count) if count.isdecimal() else 0 for name, count in rows}
    assert set(listed) >= {name for name, row in TABLE.items() if row.differentiable}
    assert min(count for count in listed.values() if count) >= 5
    assert "## Survivors" not in PAGE
    assert set(re.findall(r"^\| `(\w+)` \| by", PAGE, re.MULTILINE)).isdisjoint(CHEAP)


def test_a_page_of_a_few_ops():
    found = list(score(["neg", "mean"]))
    text = page(found, " neg mean")
    assert "| `neg` | 5 | 5 | 0 | 0 |\n| `mean` | by `mul`, `sum` | - | - | - |" in text
    assert summary(found) in text
    assert "100.00 % are rejected" in text
    assert text.endswith("Written by `forgenb score neg mean --markdown docs/mutation.md`.\n")
    found[0].survivors.append(faults(rule_of("neg"))[0])
    assert "## Survivors\n\n| where | the rule | the fault |" in page(found)
