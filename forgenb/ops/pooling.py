"""Pooling over two axes: the largest number under a window, or the mean; windows may overlap.

A gradient is gathered: each element of the input asks the windows that lie over it, so nothing is added by several
rows of a launch at once.

Imports what every family of ops does (see `forgenb.ops`) and `windows`; poolings have no weights.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import INT64
from ..errors import ArgumentError
from ..kernel import row_kernel
from ..kernel.primitives import infinity, lanes, put, real, select
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, run_rows, together, widened
from .settings import quoted
from .table import op
from .windows import Window, both, check_planes, scattered_reference, windows_reference

CASES = (
    ((2, 3, 5, 6), {"kernel": 2}),
    ((1, 2, 7, 5), {"kernel": (3, 2), "stride": (2, 1), "padding": (1, 0)}),
    ((2, 1, 4, 4), {"kernel": 3, "stride": 1, "padding": 1}),
    ((1, 1, 9, 8), {"kernel": 2, "stride": 4}),
    ((0, 2, 4, 4), {"kernel": 2}),
)
"""Shapes of inputs, and settings, of the samples."""


def _window(name: str, x: Tensor, kernel, stride, padding) -> Window:
    check_planes(name, x)
    sides = both(name, "kernel", kernel, 1)
    steps = sides if stride is None else both(name, "stride", stride, 1)
    window = Window(sides, steps, both(name, "padding", padding, 0))
    if any(2 * p > k for p, k in zip(window.padding, sides)):
        raise ArgumentError(
            f"{name} got padding={quoted(padding)} for kernel={quoted(kernel)}: at most half of the window may be "
            "outside"
        )
    return window


def _reference_window(kernel, stride=None, padding=0) -> Window:
    sides, steps, edge = ((v, v) if isinstance(v, int) else v for v in (kernel, stride or kernel, padding))
    return Window(sides, steps, edge)


@row_kernel(
    "parts | x[planes,h,w] -> out[parts,ow] index[parts,ow]:int; oh:int kh:int kw:int sh:int sw:int ph:int pw:int"
)
def max_pool_kernel(row, x, out, index, oh, kh, kw, sh, sw, ph, pw):
    """One row of places: the largest number under each and where the first such lies in its plane; NaN wins."""
    plane = row // oh
    top = (row - plane * oh) * sh - ph
    for j in lanes(out.shape[1]):
        left = j * sw - pw
        m = -infinity()
        at = max(top, 0) * x.shape[2] + max(left, 0)
        for r in range(max(top, 0), min(top + kh, x.shape[1])):
            for c in range(max(left, 0), min(left + kw, x.shape[2])):
                v = x[plane, r, c]
                more = (v > m) | ((v != v) & (m == m))
                m = select(more, v, m)
                at = r * x.shape[2] + c if more else at
        put(out, (row, j), m)
        put(index, (row, j), at)


@row_kernel(
    "parts | dout[planes,oh,ow] index[planes,oh,ow]:int -> dx[parts,w]; h:int kh:int kw:int sh:int sw:int ph:int pw:int"
)
def max_pool_grad_kernel(row, dout, index, dx, h, kh, kw, sh, sw, ph, pw):
    """One row of a plane: each element's share, from the windows over it that chose it."""
    plane = row // h
    r = row - plane * h
    for c in lanes(dx.shape[1]):
        s = real(0)
        for i in range(max(0, (r + ph - kh) // sh + 1), min(dout.shape[1], (r + ph) // sh + 1)):
            for j in range(max(0, (c + pw - kw) // sw + 1), min(dout.shape[2], (c + pw) // sw + 1)):
                s += select(index[plane, i, j] == r * dx.shape[1] + c, dout[plane, i, j], 0.0)
        put(dx, (row, c), s)


@row_kernel("planes | x[planes,pixels] index[planes,places]:int -> out[planes,places]")
def pick_kernel(row, x, index, out):
    """The elements of one plane at `index`."""
    for j in lanes(out.shape[1]):
        put(out, (row, j), x[row, index[row, j]])


def _max_samples(rng: np.random.Generator):
    for shape, keywords in CASES:
        yield (rng.permutation(int(np.prod(shape))).reshape(shape) / 16 - 2.0,), keywords


def max_pool2d_reference(x, **keywords):
    """The largest under each window by NumPy."""
    return windows_reference(x, _reference_window(**keywords), -np.inf).max((2, 3))


@op(_max_samples, max_pool2d_reference, dtypes="floats")
def max_pool2d(x, kernel, stride=None, padding=0) -> Tensor:
    r"""The largest number under each place of a window, :math:`out_{ncij} = \max_{kl} x_{n,c,is+k-p,js+l-p}`.

    NaN where there is one under the window; what lies outside of the plane does not count.

    Backward: `dout` goes to the first largest element, in row-major order; where windows overlap, the shares add up.
    Saves that element's place for each output.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]``.
    kernel, stride, padding : int or (int, int)
        The window, its steps (by default its own size) and how far it reaches over the edges, along h and w.

    Returns
    -------
    Tensor
        ``[n, c, (h + 2 p - k) // s + 1, ...]``.

    Raises
    ------
    ShapeError
        If `x` has not four axes, or the window does not fit.
    ArgumentError
        If a setting is not a whole number that makes sense, or more than half of a window may lie outside.
    DTypeError
        If `x` is not a float.
    """
    x = as_tensor(x)
    window = _window("max_pool2d", x, kernel, stride, padding)
    places = window.places("max_pool2d", x.shape[2:])
    (n, c, h, w), source = x.shape, widened(x.detach())
    out = empty((n, c, *places), source.dtype, x.backend)
    index = empty((n, c, *places), INT64, x.backend)
    sizes = n * c * places[0], n * c, h, w, places[1]
    work = window.taps * places[1]
    run_rows(max_pool_kernel, sizes, (source, out, index), (places[0], *window.scalars[:6]), work=work)

    def backward(dout):
        return (_to_chosen(dout, index, window, (h, w)),)

    return record(narrowed(out, x.dtype), (x,), backward)


def _to_chosen(dout: Tensor, index: Tensor, window: Window, size: tuple[int, int]) -> Tensor:
    """Each `dout` at the place in its plane that `index` says. Backward: those elements of the cotangent."""
    source = widened(dout.detach())
    (n, c, oh, ow), (h, w) = dout.shape, size
    dx = empty((n, c, h, w), source.dtype, dout.backend)
    across = max(1, -(-window.kernel[0] // window.stride[0]) * -(-window.kernel[1] // window.stride[1]))
    sizes = n * c * h, n * c, oh, ow, w
    run_rows(max_pool_grad_kernel, sizes, (source, index, dx), (h, *window.scalars[:6]), work=across * w)

    def backward(g):
        return (_chosen(g, index, window),)

    return record(narrowed(dx, dout.dtype), (dout,), backward)


def _chosen(x: Tensor, index: Tensor, window: Window) -> Tensor:
    """The elements of each plane that `index` says. Backward: `_to_chosen`."""
    source, (n, c, h, w) = widened(x.detach()), x.shape
    out = empty(index.shape, source.dtype, x.backend)
    places = index.shape[2] * index.shape[3]
    run_rows(pick_kernel, (n * c, h * w, places), (source, index, out), work=places)

    def backward(dout):
        return (_to_chosen(dout, index, window, (h, w)),)

    return record(narrowed(out, x.dtype), (x,), backward)


@row_kernel("parts | x[planes,h,w] -> out[parts,ow]; oh:int kh:int kw:int sh:int sw:int ph:int pw:int")
def avg_pool_kernel(row, x, out, oh, kh, kw, sh, sw, ph, pw):
    """One row of places: the sum under each, by the window's size."""
    plane = row // oh
    top = (row - plane * oh) * sh - ph
    for j in lanes(out.shape[1]):
        left = j * sw - pw
        s = real(0)
        for r in range(max(top, 0), min(top + kh, x.shape[1])):
            for c in range(max(left, 0), min(left + kw, x.shape[2])):
                s += x[plane, r, c]
        put(out, (row, j), s / real(kh * kw))


@row_kernel("parts | dout[planes,oh,ow] -> dx[parts,w]; h:int kh:int kw:int sh:int sw:int ph:int pw:int")
def avg_pool_grad_kernel(row, dout, dx, h, kh, kw, sh, sw, ph, pw):
    """One row of a plane: the sum over the windows that lie over each element, by the window's size."""
    plane = row // h
    r = row - plane * h
    for c in lanes(dx.shape[1]):
        s = real(0)
        for i in range(max(0, (r + ph - kh) // sh + 1), min(dout.shape[1], (r + ph) // sh + 1)):
            for j in range(max(0, (c + pw - kw) // sw + 1), min(dout.shape[2], (c + pw) // sw + 1)):
                s += dout[plane, i, j]
        put(dx, (row, c), s / real(kh * kw))


def _avg_samples(rng: np.random.Generator):
    for shape, keywords in CASES:
        yield (rng.uniform(-2, 2, shape),), keywords


def avg_pool2d_reference(x, **keywords):
    """The mean under each window by NumPy."""
    return windows_reference(x, _reference_window(**keywords)).mean((2, 3))


@op(_avg_samples, avg_pool2d_reference, dtypes="floats")
def avg_pool2d(x, kernel, stride=None, padding=0) -> Tensor:
    r"""The mean under each place of a window, :math:`out_{ncij} = \frac{1}{kh\,kw} \sum_{kl} x_{n,c,is+k-p,js+l-p}`.

    What lies outside of the plane counts as 0, and the divisor is the window's whole size.

    Backward: `avg_pool2d_grad`. Saves nothing.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]``.
    kernel, stride, padding
        See `max_pool2d`.

    Raises
    ------
    ShapeError, ArgumentError, DTypeError
        As `max_pool2d`.
    """
    x = as_tensor(x)
    window = _window("avg_pool2d", x, kernel, stride, padding)
    places = window.places("avg_pool2d", x.shape[2:])
    (n, c, h, w), source = x.shape, widened(x.detach())
    out = empty((n, c, *places), source.dtype, x.backend)
    sizes = n * c * places[0], n * c, h, w, places[1]
    work = window.taps * places[1]
    run_rows(avg_pool_kernel, sizes, (source, out), (places[0], *window.scalars[:6]), work=work)

    def backward(dout):
        return (avg_pool2d_grad(dout, (h, w), kernel, stride, padding),)

    return record(narrowed(out, x.dtype), (x,), backward)


def _avg_grad_samples(rng: np.random.Generator):
    for shape, keywords in CASES:
        places = _reference_window(**keywords).places("", shape[2:])
        yield (rng.uniform(-2, 2, (*shape[:2], *places)),), {"size": shape[2:], **keywords}


def avg_pool2d_grad_reference(dout, size, **keywords):
    """Gradient of the mean under windows by NumPy."""
    window = _reference_window(**keywords)
    taps = np.broadcast_to(dout[:, :, None, None] / window.taps, (*dout.shape[:2], *window.kernel, *dout.shape[2:]))
    return scattered_reference(taps, window, size)


@op(_avg_grad_samples, avg_pool2d_grad_reference, dtypes="floats")
def avg_pool2d_grad(dout, size, kernel, stride=None, padding=0) -> Tensor:
    """Gradient of `avg_pool2d`: each window's `dout`, in equal shares, to the elements of planes of `size` under it.

    Backward: `avg_pool2d`. Saves nothing.

    Raises
    ------
    ShapeError, ArgumentError, DTypeError
        As `avg_pool2d`, or if `dout` is not of the shape that planes of that size lead to.
    """
    (dout,) = together(dout)
    window = _window("avg_pool2d_grad", dout, kernel, stride, padding)
    h, w = both("avg_pool2d_grad", "size", size, 1)
    window.check("avg_pool2d_grad", dout, (h, w))
    source, (n, c, oh, ow) = widened(dout.detach()), dout.shape
    dx = empty((n, c, h, w), source.dtype, dout.backend)
    sizes = n * c * h, n * c, oh, ow, w
    run_rows(avg_pool_grad_kernel, sizes, (source, dx), (h, *window.scalars[:6]), work=window.taps * w)

    def backward(g):
        return (avg_pool2d(g, kernel, stride, padding),)

    return record(narrowed(dx, dout.dtype), (dout,), backward)
