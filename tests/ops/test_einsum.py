"""einsum against NumPy: the notation, second derivatives, cost, errors; dot, outer.

A published list of contractions is in tests/golden.
"""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, ShapeError
from forgenb.ops.einsum import CATALOGUE
from forgenb.ops.subscripts import contraction_order


def counting(*shape):
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape)


def agree(subscripts, *arrays):
    found = ops.einsum(subscripts, *map(fnb.tensor, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(subscripts, *arrays), rtol=1e-13, atol=1e-13)
    return found


@pytest.mark.parametrize(("subscripts", "shapes"), CATALOGUE)
def test_second_derivatives(subscripts, shapes):
    rng = np.random.default_rng(0)
    slope = fnb.grad(lambda *xs: ops.einsum(subscripts, *(x * x for x in xs)).sum(), tuple(range(len(shapes))))
    fnb.gradcheck(slope, *(rng.uniform(0.5, 1.5, s) for s in shapes))


def test_ellipses_stay_and_rows_of_axes_turn():
    x = counting(2, 3, 4)
    agree("...oi->...io", x)
    np.testing.assert_array_equal(ops.einsum("...o->o...", fnb.tensor(x)).numpy(), np.moveaxis(x, -1, 0))
    agree("...,...->...", x, counting(4))
    agree("a...,...b->b...a", counting(2, 3), counting(3, 4))


def test_spaces_implied_results_and_upper_case():
    a, b = counting(2, 3), counting(3, 2)
    for subscripts in ("ij, jk", "ij,jk -> ik", "ba", "Ab,bA", "aB,Bc->cB"):
        operands = (a, b)[: 1 + subscripts.count(",")]
        agree(subscripts, *operands)


def test_sizes_of_one_broadcast():
    agree("ij,ij->ij", counting(3, 1), counting(3, 4))
    agree("ij,jk->ik", counting(3, 1), counting(4, 2))
    x = fnb.tensor([[2.0], [3.0]], requires_grad=True)
    ops.einsum("ij,j->", x, fnb.tensor([1.0, 2.0, 4.0])).backward()
    assert x.grad.tolist() == [[7], [7]]


def test_whole_numbers_stay_whole():
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    assert agree("ij,jk->ik", a, b).dtype.name == "int64"
    assert agree("ij->", a).dtype.name == "int64"
    assert agree("ii->i", a[:, :2]).dtype.name == "int64"


def test_what_neither_sums_nor_multiplies_is_a_view():
    x = fnb.tensor(counting(3, 3))
    assert ops.einsum("ij->ji", x).memory is x.memory
    assert ops.einsum("ii->i", x).memory is x.memory


def test_a_product_in_the_order_of_memory_copies_nothing():
    """One product, and no copy of a transposed operand before it."""
    q, k = (fnb.tensor(counting(2, 2, 3, 4)) for _ in range(2))
    before = fnb.stats()
    ops.einsum("bhqd,bhkd->bhqk", q, k)
    used = fnb.stats().since(before)
    assert (used.launches, used.products) == (0, 1)


def test_the_order_of_a_chain_is_the_cheap_one():
    shapes = ((2, 50), (50, 50), (50, 1))
    assert contraction_order(("ij", "jk", "kl"), "il", shapes)[0] == (1, 2)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "error", "message"),
    [
        ("ij,jk", ((2, 3),), ArgumentError, "they name 2 operands, and there are 1"),
        ("i->j", ((2,),), ArgumentError, "'j' is a label of no operand"),
        ("ij->ii", ((2, 2),), ArgumentError, "the result names 'i' twice"),
        ("i1->i", ((2, 2),), ArgumentError, "labels are letters"),
        ("..i->i", ((2, 2),), ArgumentError, "'...' stands once"),
        ("...i...", ((2, 2),), ArgumentError, "'...' stands once"),
        ("i->i->i", ((2,),), ArgumentError, "labels are letters"),
        ("...i->i", ((2, 2),), ArgumentError, "the result needs '...' too"),
        ("ijk", ((2, 2),), ShapeError, "one label a dimension"),
        ("i", ((2, 2),), ShapeError, "one label a dimension"),
        ("...ijk", ((2, 2),), ShapeError, "one label a dimension"),
        ("ij,jk", ((2, 3), (4, 2)), ShapeError, "label 'j' has sizes 3 and 4"),
        ("...i,...i", ((2, 3), (4, 3)), ShapeError, "a dimension under '...' has sizes 2 and 4"),
        ("ii", ((1, 3),), ShapeError, "a diagonal needs equal ones"),
        ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ...", ((1,) * 53,), ArgumentError, "not enough letters"),
    ],
)
def test_what_is_refused(subscripts, shapes, error, message):
    with pytest.raises(error, match=message):
        ops.einsum(subscripts, *(fnb.tensor(np.ones(s)) for s in shapes))


def test_subscripts_and_operands_are_needed():
    for operands in ((), ("ij",), (fnb.tensor([1.0]), [0])):
        with pytest.raises((ArgumentError, ShapeError), match="einsum"):
            ops.einsum(*operands)


def test_dot_in_more_dimensions_is_not_a_batch():
    a, b = counting(2, 3, 4), counting(5, 4, 2)
    np.testing.assert_array_equal(fnb.tensor(a).dot(fnb.tensor(b)).numpy(), np.dot(a, b))
    assert ops.dot(3, fnb.tensor([1, 2])).tolist() == [3, 6]
    with pytest.raises(ShapeError, match="the inner sizes 2 and 3 differ"):
        ops.dot(fnb.tensor([1.0, 2.0]), fnb.tensor([1.0, 2.0, 3.0]))
    assert ops.dot(fnb.tensor([1, 2]), fnb.tensor([3, 4])).tolist() == 11
