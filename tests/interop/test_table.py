"""Every NumPy function that dispatches, called with the samples of its op; the page for users; the hints."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import forgenb as fnb
from forgenb.interop.arguments import UNSAID, places, signature
from forgenb.interop.hints import ADVICE, HINTS
from forgenb.interop.table import dispatched, listing, spelled
from forgenb.ops import TABLE
from forgenb.testing.samples import bits, differentiable, leaves, samples, several

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interop.md"
OF_OPS = {f: entry.name.removeprefix("fnb.ops.") for f, entry in dispatched().items()}
CASES = [(f, name) for f, name in OF_OPS.items() if name in TABLE and TABLE[name].function is dispatched()[f].function]


def numpy_call(function, op, operands, keywords):
    """The call of NumPy's function that says what a call of the op with these keywords does."""
    if isinstance(function, np.ufunc):
        return function(*operands)
    if "subscripts" in keywords:
        return function(keywords["subscripts"], *operands)
    theirs = {ours: name for name, ours in places(function, op).items()}
    given = {theirs.get(name, name): value for name, value in keywords.items()}
    if any(p.kind is p.VAR_POSITIONAL for p in signature(op).parameters.values()):
        operands = [list(operands)]
    parameters = [p for p in signature(function).parameters.values() if p.name in given]
    first = [given.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_ONLY]
    return function(*operands, *first, **given)


def said_by_numpy(function, sample):
    """A ufunc has just its operands."""
    return not isinstance(function, np.ufunc) or (len(sample.arrays) == function.nin and not sample.keywords)


@pytest.mark.parametrize(("function", "name"), CASES, ids=lambda v: v if isinstance(v, str) else spelled(v))
def test_a_function_is_its_op(function, name):
    op, met = TABLE[name].function, 0
    for sample in filter(lambda s: said_by_numpy(function, s), samples(name)):
        inputs = leaves(name, sample)
        outputs = several(numpy_call(function, op, inputs, sample.keywords))
        assert bits(outputs) == bits(several(op(*inputs, **sample.keywords)))
        with np.errstate(all="ignore"):
            wanted = several(numpy_call(function, op, sample.arrays, sample.keywords))
        for found, array in zip(outputs, wanted, strict=True):
            assert found.shape == np.shape(array)
            np.testing.assert_allclose(found.numpy(), array, rtol=1e-12, atol=1e-14)
            assert found.requires_grad == bool(differentiable(name, sample))
        met += 1
    assert met


def test_functions_without_a_row_are_operators_and_copies():
    rest = dispatched().keys() - {function for function, _ in CASES}
    assert rest == {np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.copy}


def test_an_op_that_numpy_has_too_is_found_by_its_name():
    assert [n for n in TABLE if hasattr(np, n) and getattr(np, n) not in dispatched()] == []


def test_the_page_has_the_table():
    assert listing() in PAGE.read_text(encoding="utf-8"), f"put this into docs/interop.md:\n{listing()}"


@pytest.mark.parametrize("name", HINTS)
def test_a_hint_is_for_what_has_no_op_and_names_what_there_is(name):
    function = special.expit if name == "expit" else attrgetter(name)(np)
    assert function not in dispatched()
    for word in re.findall(r"fnb\.([a-z_.]+)", HINTS[name]):
        assert attrgetter(word)(fnb)
    assert re.search(r"fnb\.|\bt\b", HINTS[name])


def test_advice_is_for_parameters_of_numpy():
    known = {p for f in OF_OPS if not isinstance(f, np.ufunc) for p in signature(f).parameters}
    assert {words.partition("=")[0] for words in ADVICE} <= known


def test_signatures_that_old_numpy_keeps_to_itself():
    for function, said in UNSAID.items():
        try:
            found = inspect.signature(function)
        except ValueError:
            continue
        assert found == inspect.signature(said)
