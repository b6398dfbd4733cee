"""The contractions that OCANNL's tests of einsum list, in NumPy's notation or by the ops that say it.

A tensor of theirs has rows of axes, ``batch|input->output``, stored in the order batch, output, input; ``...`` in one
of the three stands for further axes of that row alone. Operands are counting tensors, as theirs are.
"""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops

CATALOGUE = {
    "b|i->o => o|b->i": ("boi->oib", (2, 3, 4)),
    "ab|cd->ef => cf|ae->db": ("abefcd->cfdbae", (2, 1, 3, 2, 1, 2)),
    "b|i->o => b|i": ("boi->bi", (2, 3, 4)),
    "ab|cd->ef => c|a->d": ("abefcd->cda", (2, 1, 3, 2, 1, 2)),
    "i; j => i->j": ("i,j->ji", (2,), (3,)),
    "i|j->k; l|m->n => il|jm->kn": ("ikj,lnm->ilknjm", (2, 2, 1), (1, 2, 3)),
    "b|i->o; b|i->o => b|i->o": ("boi,boi->boi", (2, 3, 4), (2, 3, 4)),
    "b|h->o; b|i->h => b|i->o": ("boh,bhi->boi", (2, 5, 4), (2, 4, 3)),
    "a|i->h; b|h->o => ab|i->o": ("ahi,boh->aboi", (2, 3, 2), (3, 4, 3)),
    "b|i->h; b|h->o => i->o": ("bhi,boh->oi", (2, 3, 2), (2, 4, 3)),
    "a|i->h; b|h->o => i->o": ("ahi,boh->oi", (2, 3, 2), (3, 4, 3)),
    "...|i->o => ...|o->i": ("...oi->...io", (2, 2, 3, 4)),
    "...b|...i->...o => ...i|...o->...b": ("pbqori->piqbro", (2, 3, 1, 2, 2, 4)),
    "...|...->... => 0": ("boi->", (2, 3, 4)),
}
"""Their notation -> NumPy's, and the shapes of the operands."""

BY_OTHER_OPS = {
    "...|...->... => ...|...->0": (
        lambda x: x.sum(axis=1, keepdims=True),
        lambda x: np.einsum("boi->bi", x)[:, None],
        [(2, 3, 4)],
    ),
    "...|1->... => ...|...": (
        lambda x: x[..., 1],
        lambda x: np.einsum("boi,i->bo", x, np.eye(4)[1]),
        [(2, 3, 4)],
    ),
    "i->j => i0j": (
        lambda x: ops.einsum("ji->ij", x)[:, None],
        lambda x: np.einsum("ji,z->izj", x, np.ones(1)),
        [(2, 3)],
    ),
    "i=>i0 + i=>i1 + i=>i2": (
        lambda x, y, z: ops.stack(x, y, z, axis=-1),
        lambda *xs: sum(np.einsum("i,k->ik", x, unit) for x, unit in zip(xs, np.eye(3), strict=True)),
        [(2,), (2,), (2,)],
    ),
    "...|i->1; ...|...->i => ...|i": (
        lambda y, x: ops.einsum("bi,bij->bj", y[:, 1], x),
        lambda y, x: np.einsum("boi,bij,o->bj", y, x, np.eye(2)[1]),
        [(2, 2, 3), (2, 3, 4)],
    ),
}
"""Their notation -> the ops that do it, what it means by letters and unit vectors, and the shapes."""


def counting(*shapes):
    """Tensors that count on: no two elements are equal."""
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])
    parts = np.split(np.arange(float(ends[-1])), ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


@pytest.mark.parametrize("line", CATALOGUE)
def test_a_line_and_its_gradients(line):
    subscripts, *shapes = CATALOGUE[line]
    arrays = counting(*shapes)
    found = ops.einsum(subscripts, *map(fnb.tensor, arrays))
    np.testing.assert_array_equal(found.numpy(), np.einsum(subscripts, *arrays))
    fnb.gradcheck(lambda *xs: ops.einsum(subscripts, *xs), *arrays)


@pytest.mark.parametrize("line", BY_OTHER_OPS)
def test_a_line_that_other_ops_say(line):
    f, meaning, shapes = BY_OTHER_OPS[line]
    arrays = counting(*shapes)
    np.testing.assert_array_equal(f(*map(fnb.tensor, arrays)).numpy(), meaning(*arrays))
    fnb.gradcheck(f, *arrays)


def test_the_numbers_that_are_printed():
    outer = ops.einsum("i,j->ji", fnb.tensor([1.0, 2.0]), fnb.tensor([0.0, 1.0, 2.0]))
    assert outer.tolist() == [[0, 0], [1, 2], [2, 4]]
    a, b = (fnb.tensor(counting(shape)[0]) for shape in ((2, 5, 4), (2, 4, 3)))
    rows = [[42, 48, 54], [114, 136, 158], [186, 224, 262], [258, 312, 366], [330, 400, 470]]
    assert ops.einsum("boh,bhi->boi", a, b)[0].tolist() == rows
    assert ops.einsum("ab->", fnb.tensor(counting((3, 2))[0])).reshape(1).tolist() == [15]
