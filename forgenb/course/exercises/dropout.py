"""The exercises of chapter 11: the rule of dropout, the hash that its masks come from, and rows dropped as a whole.

Imports the parts of judges, the hash and its masks; a judge has the name of the function that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...creation import tensor
from ...random import dropout_keep, dropout_scale, pcg_hash
from ...tensor import Tensor
from ..exercise import Mistaken, exercise
from ..judging import draw, expect, lone

WORDS = (123456789, 0, 1, 2**31, 2**32 - 1, 0xDEADBEEF, 42)


@exercise("11-1", "The backward rule of dropout")
def dropout_rule(answer: Callable) -> None:
    """The rule takes (dout, x, p, seed), tensors of one shape and two numbers, and returns the gradient of x."""
    for shape, p, seed in (((5, 8), 0.25, 11), ((40,), 0.5, 3), ((2, 3, 6), 0.8, 2026)):
        dout, x = draw(*shape), draw(*shape, seed=1)
        x[..., ::2] = 0.0
        keep, scale = _mask(shape, p, seed), float(dropout_scale(p))
        expect(
            lone(answer(tensor(dout), tensor(x), p, seed)),
            keep * dout * scale,
            f"x of shape {shape}, p={p} and seed={seed}",
            [
                ("the mask is right, and the scale is missing.", keep * dout),
                ("the scale is that of dropped numbers, 1 / p.", keep * dout / p),
                ("what is kept is multiplied by 1 - p, where it is divided.", keep * dout * (1 - p)),
                ("the mask is inverted: what was dropped has a gradient.", ~keep * dout * scale),
                ("a zero of x that was kept has no gradient.", keep * (x != 0) * dout * scale),
                ("the gradient arrives as it was, without a mask.", dout),
                ("there is no mask, but a scale.", dout * scale),
                ("x was dropped, where dout must be.", keep * x * scale),
                ("x is a factor of the gradient, as if it were multiplied by itself.", keep * x * dout * scale),
                ("the mask is applied, and the scale twice.", keep * dout * scale**2),
                ("backward has the mask of another seed than forward.", _mask(shape, p, seed + 1) * dout * scale),
                ("backward has the mask of another seed than forward.", _mask(shape, p, 0) * dout * scale),
            ],
            tolerance=1e-6,
            kind=Tensor,
        )


def _mask(shape: tuple[int, ...], p: float, seed: int) -> np.ndarray:
    return dropout_keep(int(np.prod(shape)), p, seed).reshape(shape)


@exercise("11-2", "The hash of one integer")
def pcg(answer: Callable) -> None:
    """It takes a Python integer below 2**32 and returns its hash, one too."""
    for x in WORDS:
        found, given = answer(x), f"x={x}"
        if found is None:
            raise Mistaken(f"With {given} it returns None: is a return statement missing?")
        if isinstance(found, float | bool) or not isinstance(found, int | np.integer):
            raise Mistaken(f"With {given} it returns {type(found).__name__}, where it must be an integer.")
        right = int(pcg_hash(x))
        if int(found) == right:
            continue
        for text, result in _slips(x):
            if int(found) == result != right:
                raise Mistaken(f"With {given}: {text}")
        if not 0 <= found < 2**32:
            raise Mistaken(f"With {given} the result has more than 32 bits: every product and sum is modulo 2**32.")
        bits = bin(int(found) ^ right).count("1")
        raise Mistaken(f"With {given} the result is {found}, of whose 32 bits {bits} are wrong.")


def _slips(x: int) -> list[tuple[str, int]]:
    m = 2**32 - 1
    wide, s = 747796405 * x + 2891336453, (747796405 * x + 2891336453) & m

    def last(w: int) -> int:
        return (w >> 22) ^ w

    def middle(s: int) -> int:
        return 277803737 * ((s >> ((s >> 28) + 4)) ^ s)

    w = middle(s) & m
    late = "s must be taken modulo 2**32 before it is shifted."
    tight = "one shift takes too much along: in Python, + binds more tightly than >>, and >> more tightly than ^."
    unshifted = [277803737 * ((s >> (s >> 32)) ^ s), 277803737 * (s >> (((s >> 28) + 4) ^ s))]
    return [
        ("the product of w must be taken modulo 2**32 before it is shifted.", last(middle(s))),
        ("the product of w must be taken modulo 2**32 before it is shifted.", last(middle(s)) & m),
        *((late, value) for value in (last(middle(wide)), last(middle(wide)) & m, last(middle(wide) & m))),
        *((tight, last(value & m)) for value in unshifted),
        (tight, w >> (22 ^ w)),
        ("this is w; the last formula is missing.", w),
        ("this is s; two formulas are missing.", s),
        ("the shift of s is always by 4, where it depends on s.", last(277803737 * ((s >> 4) ^ s) & m)),
        ("the shift of s is by s >> 28 alone, where 4 is added to it.", last(277803737 * ((s >> (s >> 28)) ^ s) & m)),
        ("s is not combined with itself, only shifted.", last(277803737 * (s >> ((s >> 28) + 4)) & m)),
        ("w is shifted, and not combined with itself.", w >> 22),
        ("where ⊕ stands, one of them is an or.", (w >> 22) | w),
        ("where ⊕ stands, one of them is a sum.", ((w >> 22) + w) & m),
    ]


@exercise("11-3", "Dropout of whole rows")
def drop_rows(answer: Callable) -> None:
    """It takes (x, p, seed), of which x is a tensor of two axes, and returns a tensor."""
    for shape, p, seed in (((12, 5), 0.5, 4), ((16, 3), 0.25, 77), ((10, 10), 0.7, 1)):
        x, scale, rows = draw(*shape), float(dropout_scale(p)), _mask(shape[:1], p, seed)[:, None]
        entries = _mask(shape, p, seed)
        expect(
            answer(tensor(x), p, seed),
            rows * x * scale,
            f"x of shape {shape}, p={p} and seed={seed}",
            [
                ("single numbers are dropped, where a row stays or goes as a whole.", entries * x * scale),
                ("columns are dropped, where rows must be.", _mask(shape[1:], p, seed) * x * scale),
                ("what is kept is not scaled.", rows * x),
                ("the scale is applied twice.", rows * x * scale**2),
                ("the mask is inverted.", ~rows * x * scale),
                ("a row goes by its first number's place in the whole, where it goes by its own.", _firsts(x, p, seed)),
                (
                    "a row stays if all of its numbers would, which is too rare.",
                    entries.all(1, keepdims=True) * x * scale,
                ),
            ],
            tolerance=1e-6,
            kind=Tensor,
        )


def _firsts(x: np.ndarray, p: float, seed: int) -> np.ndarray:
    return np.asarray(_mask(x.shape, p, seed)[:, :1] * x * float(dropout_scale(p)))
