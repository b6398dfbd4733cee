"""Margins and turns: pad and roll.

Imports what every family of ops does (see `forgenb.ops`); nothing here computes.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..tape import record
from ..tensor import Tensor, full
from .apply import as_tensor, run_map
from .copying import copy_kernel
from .indexing import getitem, view_geometry
from .joining import concat
from .movement import reshape
from .rows import take
from .settings import number, one_axis, quoted, wholes
from .table import op

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _pad_samples(rng: np.random.Generator):
    for shape, words in (
        ((3,), {"pad_width": 2}),
        ((2, 3), {"pad_width": ((1, 0), (0, 2)), "constant_values": -1.5}),
        ((2, 1, 2), {"pad_width": (0, 1)}),
        ((0, 2), {"pad_width": 1}),
        ((2, 3), {"pad_width": ((0, 0), (2, 1)), "mode": "reflect"}),
        ((4,), {"pad_width": (3, 6), "mode": "wrap"}),
        ((2, 2), {"pad_width": 1, "mode": "edge"}),
        ((3,), {"pad_width": (2, 1), "mode": "symmetric"}),
    ):
        yield (rng.uniform(-2, 2, shape),), words


@op(_pad_samples, np.pad)
def pad(x, pad_width, mode: str = "constant", constant_values: float = 0) -> Tensor:
    """`x` with a margin around it, of one value or of its own elements.

    Backward: of the mode "constant" the inner part of `dout`; of others each element's share and those of its copies
    (see `take`). Saves nothing, or the numbers of the copied elements.

    Parameters
    ----------
    pad_width : int or pairs of int
        ``((before, after), ...)`` for each axis; one pair, or one number, for all.
    mode : str
        "constant", "edge", "reflect", "symmetric" or "wrap", as in NumPy.
    constant_values : float
        The value of the mode "constant".

    Raises
    ------
    ArgumentError
        If the mode is another, or widths are not pairs of whole numbers of at least 0.
    """
    x = as_tensor(x)
    widths = _widths(x.ndim, pad_width)
    if mode not in MODES:
        raise ArgumentError(f"pad got mode={mode!r}: it knows {', '.join(MODES)}")
    number("pad", "constant_values", constant_values)
    if mode != "constant":
        return _copied_margins(x, widths, mode)
    shape = tuple(before + n + after for n, (before, after) in zip(x.shape, widths, strict=True))
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True))
    out = full(shape, constant_values, x.dtype, x.backend)
    run_map(copy_kernel, (x.detach(),), into=(out.view(*view_geometry(shape, out.strides, inner)),))

    def backward(dout):
        return (getitem(dout, inner),)

    return record(out, (x,), backward)


def _widths(ndim: int, pad_width) -> list[tuple[int, int]]:
    try:
        found = np.broadcast_to(np.asarray(pad_width), (ndim, 2))
    except ValueError:
        found = np.full((ndim, 2), -1)
    if found.size and (found.dtype.kind not in "iu" or found.min() < 0):
        raise ArgumentError(
            f"pad got pad_width={pad_width!r} for {ndim} dimensions: it takes a number, a pair, or a pair for each "
            "axis, of whole numbers that are not negative"
        )
    return [(int(before), int(after)) for before, after in found]


def _copied_margins(x: Tensor, widths: list[tuple[int, int]], mode: str) -> Tensor:
    """Axis after axis by number; NumPy says which element each place of a margin repeats."""
    found = getitem(x, ())
    for axis, width in enumerate(widths):
        if not any(width):
            continue
        if x.shape[axis] == 0:
            raise ShapeError(f"pad got shape {x.shape} and mode={mode!r}: axis {axis} has no element to copy")
        numbers = np.pad(np.arange(x.shape[axis]), width, mode)  # type: ignore[call-overload]  # one of MODES
        found = take(found, numbers, axis)
    return found


def _roll_samples(rng: np.random.Generator):
    for shape, shift, axis in (
        ((5,), 2, 0),
        ((5,), -7, None),
        ((2, 3), 1, None),
        ((2, 3, 4), (1, 2), (0, 2)),
        ((2, 3), 2, (0, 1)),
        ((3, 0), 1, 1),
        ((), 1, None),
        ((4,), 4, 0),
    ):
        yield (rng.uniform(-2, 2, shape),), {"shift": shift, "axis": axis}


@op(_roll_samples, np.roll)
def roll(x, shift, axis=None) -> Tensor:
    r"""Elements moved on by `shift` places along an axis, those beyond the end to its beginning.

    Without an axis all elements in row-major order; several axes with a shift each, or one for all. Where nothing
    moves the result is a view.

    Backward: `dout` moved back (see `concat`). Saves nothing.

    Raises
    ------
    ShapeError
        If an axis does not exist.
    ArgumentError
        If shifts and axes do not go together.
    """
    x = as_tensor(x)
    steps = wholes("roll", "shift", shift)
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), sum(steps), 0), x.shape)
    total = [0] * x.ndim
    for step, along in _turns(x.ndim, steps, axis):
        total[along] += step
    for along, step in enumerate(total):
        x = _turned(x, step % max(1, x.shape[along]), along)
    return getitem(x, ())


def _turns(ndim: int, steps: tuple[int, ...], axis) -> list[tuple[int, int]]:
    axes = [one_axis("roll", ndim, a) for a in wholes("roll", "axis", axis)]
    if len(steps) != len(axes) and 1 not in (len(steps), len(axes)):
        raise ArgumentError(
            f"roll got {len(steps)} shifts and axis={quoted(axis)}: one shift for all axes, or one for each"
        )
    most = max(len(steps), len(axes))
    return list(zip(steps if len(steps) == most else steps * most, axes if len(axes) == most else axes * most))


def _turned(x: Tensor, step: int, axis: int) -> Tensor:
    if step == 0:
        return x
    before, cut = (slice(None),) * axis, x.shape[axis] - step
    return concat(getitem(x, (*before, slice(cut, None))), getitem(x, (*before, slice(0, cut))), axis=axis)
