"""Windows that slide over planes ``[h, w]``: their geometry, and the copies between planes and columns.

A column holds what one tap of the kernel meets at every place of the window, so that a convolution is a matrix
product (Chellapilla, Puri and Simard, "High performance convolutional neural networks", 2006). Every element of a
result is written by one row of a launch, in one order: no bits depend on threads.

Imports kernels, tensors, `apply` and errors; convolutions and poolings are ops of other files.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import lane_barrier, lanes, put, real
from ..tensor import Tensor, empty
from .apply import row_major, run_rows
from .plans import floats_only
from .settings import quoted


class Window(NamedTuple):
    """Sizes of a sliding window, each as (along h, along w)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int] = (1, 1)

    @property
    def taps(self) -> int:
        """Elements under the window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def plain(self) -> bool:
        """Whether the columns of a plane are the plane itself."""
        return self.taps == 1 and self.stride == (1, 1) and self.padding == (0, 0)

    @property
    def scalars(self) -> tuple[int, ...]:
        """What the kernels of this file take."""
        return (*self.kernel, *self.stride, *self.padding, *self.dilation)

    def places(self, name: str, size: tuple[int, int]) -> tuple[int, int]:
        """How many places the window has over a plane of `size`.

        Raises
        ------
        ShapeError
            If it does not fit once.
        """
        reach = [d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation)]
        room = [s + 2 * p for s, p in zip(size, self.padding)]
        if any(r > have for r, have in zip(reach, room)):
            raise ShapeError(
                f"{name} got planes of {size[0]} x {size[1]}, with padding {room[0]} x {room[1]}: a window of "
                f"{reach[0]} x {reach[1]} does not fit"
            )
        down, right = ((have - r) // s + 1 for have, r, s in zip(room, reach, self.stride))
        return down, right

    def check(self, name: str, dout: Tensor, size: tuple[int, int]) -> None:
        """Refuse a `dout` that has not one number for each place over planes of `size`.

        Raises
        ------
        ShapeError
            Naming the shape that it must have.
        """
        places = self.places(name, size)
        if dout.shape[2:] != places:
            wanted = f"[{dout.shape[0]}, {dout.shape[1]}, {places[0]}, {places[1]}]"
            raise ShapeError(f"{name} got dout of shape {dout.shape}: for planes of {size} it must be {wanted}")


def both(name: str, what: str, value, least: int) -> tuple[int, int]:
    """A number, or two, as (along h, along w).

    Raises
    ------
    ArgumentError
        If one is not whole or below `least`.
    """
    found = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(found) != 2 or any(not isinstance(v, (int, np.integer)) or v < least for v in found):
        raise ArgumentError(f"{name} got {what}={quoted(value)}: it must be a whole number of at least {least}, or two")
    return int(found[0]), int(found[1])


def check_planes(name: str, x: Tensor) -> None:
    """Refuse what is not ``[n, c, h, w]`` of floats.

    Raises
    ------
    ShapeError, DTypeError
        Naming what it is.
    """
    floats_only(name, x)
    if x.ndim != 4:
        raise ShapeError(f"{name} got shape {x.shape}: it needs four axes, [samples, channels, height, width]")


def first_inside(start, step):
    """The first i of ``start + i step`` that is at least 0."""
    return max(0, -start if step == 1 else (step - 1 - start) // step)


def end_inside(start, step, size, n):
    """The first i from which ``start + i step`` is at least `size`, at most n."""
    return max(0, min(n, size - start if step == 1 else (size - 1 - start) // step + 1))


@row_kernel(
    "parts | x[planes,pixels] -> cols[parts,places];"
    " h:int w:int oh:int ow:int kh:int kw:int sh:int sw:int ph:int pw:int dh:int dw:int"
)
def unfold_kernel(row, x, cols, h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw):
    """What one tap meets in one plane, at every place of the window; 0 beyond the edges.

    Where rows of places are as long as those of the plane, all are one stretch of it, whose ends are put right.
    """
    plane = row // (kh * kw)
    tap = row - plane * kh * kw
    top, left = tap // kw * dh - ph, tap % kw * dw - pw
    first, end = first_inside(left, sw), end_inside(left, sw, w, ow)
    upper, lower = first_inside(top, sh), end_inside(top, sh, h, oh)
    whole = sh == 1 and sw == 1 and ow == w and first < end and upper < lower
    if whole:
        shift = top * w + left
        start, stop = max(upper * w, -shift), min(lower * w, h * w - shift)
        copy_stretch(x[plane, start + shift : stop + shift], cols[row, start:stop], 1)
        lane_barrier()
    for i in range(oh):
        out = cols[row, i * ow : (i + 1) * ow]
        if i < upper or i >= lower or first >= end:
            clear(out)
        else:
            if first > 0:
                clear(out[:first])
            if end < ow:
                clear(out[end:])
            if not whole:
                copy_stretch(x[plane, (i * sh + top) * w + first * sw + left :], out[first:end], sw)


def clear(out):
    """Zeros."""
    for j in lanes(out.shape[0]):
        put(out, j, real(0))


def copy_stretch(source, target, step):
    """Every `step`-th element."""
    if step == 1:
        for j in lanes(target.shape[0]):
            put(target, j, source[j])
    else:
        for j in lanes(target.shape[0]):
            put(target, j, source[j * step])


@row_kernel("parts | cols[columns,oh,ow] -> x[parts,w]; h:int kh:int kw:int sh:int sw:int ph:int pw:int dh:int dw:int")
def fold_kernel(row, cols, x, h, kh, kw, sh, sw, ph, pw, dh, dw):
    """One row of one plane: the sum of what all taps met there, in their order."""
    plane = row // h
    r = row - plane * h
    out = x[row]
    clear(out)
    for ki in range(kh):
        i = (r + ph - ki * dh) // sh
        if i * sh == r + ph - ki * dh and i >= 0 and i < cols.shape[1]:
            for kj in range(kw):
                left = kj * dw - pw
                first, end = first_inside(left, sw), end_inside(left, sw, out.shape[0], cols.shape[2])
                lane_barrier()
                if first < end:
                    target = out[first * sw + left :]
                    source = cols[(plane * kh + ki) * kw + kj, i, first:end]
                    if sw == 1:
                        for j in lanes(source.shape[0]):
                            put(target, j, target[j] + source[j])
                    else:
                        for j in lanes(source.shape[0]):
                            put(target, j * sw, target[j * sw] + source[j])


def unfold(x: Tensor, window: Window, places: tuple[int, int]) -> Tensor:
    """Contiguous ``x[n, c, h, w]`` as columns ``[n, c, taps, oh * ow]`` (off the tape); a view where they are x."""
    n, c, h, w = x.shape
    down, right = places
    if window.plain:
        return row_major(x, (n, c, 1, h * w))
    cols = empty((n, c, window.taps, down * right), x.dtype, x.backend)
    sizes = n * c * window.taps, n * c, h * w, down * right
    run_rows(unfold_kernel, sizes, (x, cols), (h, w, down, right, *window.scalars), work=down * right)
    return cols


def fold(cols: Tensor, window: Window, places: tuple[int, int], x: Tensor) -> None:
    """Sum columns ``[n, c, taps, oh * ow]`` into ``x[n, c, h, w]``, where `unfold` took them from (off the tape)."""
    n, c, h, w = x.shape
    sizes = n * c * h, n * c * window.taps, *places, w
    run_rows(fold_kernel, sizes, (cols, x), (h, *window.scalars), work=w * window.taps)


def windows_reference(x, window: Window, fill: float = 0.0):
    """What lies under the window at every place, ``[n, c, kh, kw, oh, ow]``, by NumPy."""
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = window
    wide = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), constant_values=fill)
    seen = np.lib.stride_tricks.sliding_window_view(wide, (dh * (kh - 1) + 1, dw * (kw - 1) + 1), (2, 3))
    return seen[:, :, ::sh, ::sw, ::dh, ::dw].transpose(0, 1, 4, 5, 2, 3)


def scattered_reference(taps, window: Window, size: tuple[int, int]):
    """Sum ``[n, c, kh, kw, oh, ow]`` back to the places in planes of `size` that they came from, by NumPy."""
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = window
    n, c, _, _, oh, ow = taps.shape
    wide = np.zeros((n, c, size[0] + 2 * ph, size[1] + 2 * pw))
    for i in range(kh):
        for j in range(kw):
            wide[:, :, i * dh : i * dh + sh * oh : sh, j * dw : j * dw + sw * ow : sw][:, :, :oh, :ow] += taps[
                :, :, i, j
            ]
    return wide[:, :, ph : ph + size[0], pw : pw + size[1]]
