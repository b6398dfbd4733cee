"""The notation of einsum: subscripts read, ``...`` written out, sizes of labels, and the order of contraction.

The order comes from NumPy's `numpy.einsum_path`. Imports NumPy and errors; tensors are known here by their shapes.
"""

from __future__ import annotations

import string
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError, ShapeError


class Contraction(NamedTuple):
    """Labels of each operand and of the result, and the size of each label."""

    terms: tuple[str, ...]
    output: str
    sizes: dict[str, int]


def _wrong(subscripts: str, why: str) -> str:
    return f"einsum got the subscripts {subscripts!r}: {why}"


@lru_cache(maxsize=1024)
def contraction(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> Contraction:
    """What `subscripts` ask for on operands of `shapes`.

    Raises
    ------
    ArgumentError
        If the notation is wrong.
    ShapeError
        If operands do not have the dimensions that it names, or sizes of a label differ.
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    given = left.split(",")
    if len(given) != len(shapes):
        raise ArgumentError(_wrong(subscripts, f"they name {len(given)} operands, and there are {len(shapes)}"))
    for part in (*given, right):
        _check_letters(subscripts, part)
    dots = _free_letters(subscripts, given, shapes)
    terms = tuple(_written_out(subscripts, t, s, dots) for t, s in zip(given, shapes, strict=True))
    longest = max((t for t in _dotted(given, shapes, dots)), key=len, default="")
    output = right.replace("...", longest) if arrow else longest + _once("".join(terms), dots)
    _check_output(subscripts, output, terms, longest)
    return Contraction(terms, output, _sizes(subscripts, terms, shapes, set(dots)))


def _check_letters(subscripts: str, part: str) -> None:
    rest = part.replace("...", "", 1)
    if not all(c in string.ascii_letters for c in rest):
        raise ArgumentError(
            _wrong(subscripts, "labels are letters, operands are parted by ',', and '...' stands once in each")
        )


def _free_letters(subscripts: str, given: list[str], shapes: tuple) -> str:
    """As many letters that are not used as '...' stands for dimensions, at most."""
    longest = max((len(s) - len(t) + 3 for t, s in zip(given, shapes, strict=True) if "..." in t), default=0)
    unused = [c for c in string.ascii_letters if c not in subscripts]
    if longest > len(unused):
        raise ArgumentError(_wrong(subscripts, "there are not enough letters for the dimensions under '...'"))
    return "".join(unused[: max(0, longest)])


def _written_out(subscripts: str, term: str, shape: tuple[int, ...], dots: str) -> str:
    named = len(term.replace("...", ""))
    if named > len(shape) or ("..." not in term and named != len(shape)):
        raise ShapeError(
            f"einsum got an operand of shape {shape} for {term!r} in {subscripts!r}: one label a dimension"
        )
    extra = len(shape) - named
    return term.replace("...", dots[len(dots) - extra :])


def _dotted(given: list[str], shapes: tuple, dots: str):
    for term, shape in zip(given, shapes, strict=True):
        if "..." in term:
            yield dots[len(dots) - (len(shape) - len(term) + 3) :]


def _once(labels: str, dots: str) -> str:
    return "".join(sorted(c for c in set(labels) if labels.count(c) == 1 and c not in dots))


def _check_output(subscripts: str, output: str, terms: tuple[str, ...], longest: str) -> None:
    known = set("".join(terms))
    for label in output:
        if label not in known:
            raise ArgumentError(_wrong(subscripts, f"the result's {label!r} is a label of no operand"))
        if output.count(label) > 1:
            raise ArgumentError(_wrong(subscripts, f"the result names {label!r} twice"))
    if not set(longest) <= set(output):
        raise ArgumentError(
            _wrong(subscripts, "the result needs '...' too: dimensions without a label are never summed")
        )


def _sizes(subscripts: str, terms: tuple[str, ...], shapes: tuple, dots: set[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for label, size in zip(term, shape, strict=True):
            known = sizes.get(label, 1)
            if known != size and 1 not in (known, size):
                what = "a dimension under '...'" if label in dots else f"label {label!r}"
                raise ShapeError(f"einsum({subscripts!r}) got shapes {shapes}: {what} has sizes {known} and {size}")
            sizes[label] = size if known == 1 else known
    return sizes


@lru_cache(maxsize=1024)
def contraction_order(
    terms: tuple[str, ...], output: str, shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """Places of the operands that are contracted in each step; the result of a step goes to the end of the list."""
    if len(terms) < 3:
        return (tuple(range(len(terms))),)
    zero = np.zeros(())
    operands = [np.broadcast_to(zero, shape) for shape in shapes]
    path, _ = np.einsum_path(f"{','.join(terms)}->{output}", *operands, optimize=("greedy", 2**62))
    return tuple(tuple(step) for step in path[1:])
