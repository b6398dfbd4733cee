"""The table of conventions holds on every backend, eagerly and in a routine, and its page is up to date."""

from pathlib import Path

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.ops import TABLE
from forgenb.testing.conventions import conventions, page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conventions.md"
ROWS = {row.call: row for row in conventions()}


def values(row, seed, operands):
    """The result of a row and the gradients of its operands that have one."""
    floats = [t for t in operands if t.dtype.kind == "f"] if row.gradients else []
    leaves = {id(t): t.detach() for t in floats}
    for leaf in leaves.values():
        leaf.requires_grad = True
    out = TABLE[row.op].function(*(leaves.get(id(t), t) for t in operands), **row.keywords)
    assert out.requires_grad == bool(row.gradients)
    if row.gradients:
        out.backward(seed.astype(out.dtype))
    return [out, *(leaf.grad for leaf in leaves.values())]


def same(found, row):
    for t, wanted in zip(found, [row.value, *row.gradients], strict=True):
        np.testing.assert_allclose(t.numpy(), wanted, rtol=2e-6, err_msg=row.call)
        assert t.shape == np.shape(wanted)


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("call", ROWS)
def test_a_row(call):
    row = ROWS[call]
    operands = [fnb.tensor(a) for a in row.arrays()]
    if row.refused:
        with pytest.raises(ArgumentError, match=row.value):
            values(row, None, operands)
        return
    seed = fnb.tensor(np.ones(np.shape(row.value), "float32"))
    same(values(row, seed, operands), row)
    recorded = fnb.compile(lambda seed, *operands: values(row, seed, operands))
    same(recorded(seed, *operands), row)


def test_the_table_names_a_row_once():
    assert len(ROWS) == len(list(conventions())) > 70


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m forgenb.testing.conventions > docs/conventions.md"
