"""Convolutions over one and two axes. Each gradient of a convolution is an op too, whose gradients are these ops again.

Samples are taken in groups whose columns stay small enough for a cache, so scratch does not grow with the batch.

Imports what every family of ops does (see `forgenb.ops`) and `windows`; what slides without weights belongs elsewhere.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..tape import record
from ..tensor import Tensor, empty
from .apply import copied, narrowed, row_major, run_map, together, widened
from .arithmetic import add_kernel
from .movement import reshape, zeros
from .plans import one_float
from .reduction import sum_, sum_middle
from .settings import whole
from .table import op
from .windows import Window, both, check_planes, fold, scattered_reference, unfold, windows_reference

SCRATCH = 1 << 22
"""Elements of the columns of a group of samples, or of its part of a weight's gradient, if one sample has no more."""

CASES: tuple[tuple[tuple, tuple, dict], ...] = (
    ((2, 3, 5, 6), (4, 3, 3, 3), {}),
    ((2, 2, 6, 5), (3, 2, 3, 2), {"padding": (1, 2), "stride": 2}),
    ((1, 4, 7, 7), (6, 2, 2, 3), {"groups": 2, "dilation": (2, 1), "padding": 1}),
    ((3, 2, 4, 3), (2, 2, 1, 1), {}),
    ((1, 3, 5, 5), (3, 1, 5, 2), {"groups": 3, "stride": (1, 3), "padding": (3, 0)}),
    ((0, 2, 4, 4), (4, 1, 2, 2), {"groups": 2}),
    ((1, 1, 2, 4), (1, 1, 2, 2), {}),
)
"""Shapes of inputs and weights, and settings, of the samples."""


def _window(name: str, kernel: tuple[int, int], stride, padding, dilation) -> Window:
    steps = both(name, "stride", stride, 1), both(name, "padding", padding, 0), both(name, "dilation", dilation, 1)
    return Window(kernel, *steps)


def _check(name: str, x: Tensor, channels: int, weight: Tensor, groups: int, others: tuple) -> None:
    """Refuse operands that do not fit; `channels` are those that the weight's second axis shares out to groups."""
    check_planes(name, x)
    tensors = (x, weight, *others)
    one_float(name, tensors)
    whole(name, "groups", groups, 1)
    if weight.ndim != 4 or 0 in weight.shape or weight.shape[0] % groups or weight.shape[1] * groups != channels:
        raise ShapeError(
            f"{name} got {channels} channels, a weight of shape {weight.shape} and groups={groups}: the weight must "
            f"be [out, in / groups, height, width] with groups dividing both"
        )


def _samples(rng: np.random.Generator):
    for shape, weight, keywords in CASES:
        arrays = rng.uniform(-2, 2, shape), rng.uniform(-1, 1, weight), rng.uniform(-1, 1, weight[0])
        yield arrays[: 2 + (shape[0] != 3)], keywords


def _settings(weight_shape, stride=1, padding=0, dilation=1, groups=1):
    pairs = [v if isinstance(v, tuple) else (v, v) for v in (stride, padding, dilation)]
    return Window(weight_shape[2:], *pairs), groups


def conv2d_reference(x, weight, bias=None, **keywords):
    """Convolution by NumPy."""
    window, groups = _settings(weight.shape, **keywords)
    seen = windows_reference(x, window)
    n, _, kh, kw, oh, ow = seen.shape
    seen = seen.reshape(n, groups, weight.shape[1], kh, kw, oh, ow)
    parted = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    out = np.einsum("ngcklij,gockl->ngoij", seen, parted).reshape(n, weight.shape[0], oh, ow)
    return out if bias is None else out + bias[:, None, None]


@op(_samples, conv2d_reference, (0, 1, 2), dtypes="one float")
def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    r"""Convolution over two axes, as the field calls what is a correlation.

    .. math::
        out_{noij} = bias_o + \sum_{ckl} x_{n,\,c,\,i s + k d - p,\,j s + l d - p}\,weight_{ockl}

    with stride s, padding p by zeros and dilation d. With groups, output channels are shared out over equally many
    input channels. A product of the weight with the columns of `windows`, for a group of samples at a time.

    Backward: `conv2d_input_grad`, `conv2d_weight_grad`, and for the bias the sum of `dout` over all but the
    channels. Saves x and the weight; columns are made anew.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]``.
    weight : Tensor
        ``[o, c / groups, kh, kw]``.
    bias : Tensor, optional
        ``[o]``.
    stride, padding, dilation : int or (int, int)
        Along h and w.
    groups : int
        Divides c and o.

    Returns
    -------
    Tensor
        ``[n, o, oh, ow]`` with ``oh = (h + 2 p - d (kh - 1) - 1) // s + 1``, and ow likewise.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or the window does not fit into the padded planes.
    ArgumentError
        If a setting is not a whole number that makes sense.
    DTypeError
        If the operands are not of one float dtype.

    References
    ----------
    Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016.
    """
    x, weight, *rest = together(x, weight, *(() if bias is None else (bias,)))
    bias = rest[0] if rest else None
    _check("conv2d", x, x.shape[1] if x.ndim == 4 else 0, weight, groups, tuple(rest))
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError(f"conv2d got a bias of shape {bias.shape} for {weight.shape[0]} output channels")
    window, size = _window("conv2d", (weight.shape[2], weight.shape[3]), stride, padding, dilation), x.shape[2:]
    out = _forward(x, weight, bias, window, groups)

    def backward(dout):
        settings = stride, padding, dilation, groups
        dx = conv2d_input_grad(dout, weight, size, *settings) if x.requires_grad else None
        dweight = conv2d_weight_grad(x, dout, window.kernel, *settings) if weight.requires_grad else None
        if bias is None:
            return dx, dweight
        return dx, dweight, sum_(sum_(dout, axis=(2, 3)), axis=0)

    return record(out, (x, weight, *rest), backward)


def _forward(x: Tensor, weight: Tensor, bias: Tensor | None, window: Window, groups: int) -> Tensor:
    from .matmul import product

    places = window.places("conv2d", (x.shape[2], x.shape[3]))
    (n, c), (o, inner), spots = x.shape[:2], (weight.shape[0], weight.shape[1] * window.taps), places[0] * places[1]
    source, kernel = widened(x.detach()), row_major(widened(weight.detach()), (groups, o // groups, inner))
    shift = None if bias is None else row_major(widened(bias.detach()), (o, 1))
    out = empty((n, o, *places), source.dtype, x.backend)
    for first, count in _groups(n, c * window.taps * spots):
        cols = row_major(unfold(_part(source, first, count), window, places), (count, groups, inner, spots))
        part = row_major(_part(out, first, count), (count, groups, o // groups, spots))
        product(kernel, cols, out=part)
        if shift is not None:
            flat = row_major(part, (count, o, spots))
            run_map(add_kernel, (flat, shift), into=(flat,))
    return narrowed(out, x.dtype)


def _groups(n: int, elements: int):
    """(first, how many) of samples that are done together, each of which takes `elements` of scratch.

    Groups are of one size, but for the last, so that no thread waits for a rest.
    """
    fits = max(1, SCRATCH // max(1, elements))
    together_ = -(-n // -(-n // fits)) if n else 1
    return [(first, min(together_, n - first)) for first in range(0, n, together_)]


def _part(x: Tensor, first: int, count: int) -> Tensor:
    """Some samples of contiguous x."""
    return x.view((count, *x.shape[1:]), x.strides, first * x.strides[0])


def _input_samples(rng: np.random.Generator):
    for shape, weight, keywords in CASES:
        window, _ = _settings(weight, **keywords)
        places = window.places("", shape[2:])
        arrays = rng.uniform(-2, 2, (shape[0], weight[0], *places)), rng.uniform(-1, 1, weight)
        yield arrays, {"size": shape[2:], **keywords}


def conv2d_input_grad_reference(dout, weight, size, **keywords):
    """Gradient of a convolution by its input, by NumPy."""
    window, groups = _settings(weight.shape, **keywords)
    n, o, oh, ow = dout.shape
    parted = dout.reshape(n, groups, o // groups, oh, ow)
    taps = np.einsum("ngoij,gockl->ngcklij", parted, weight.reshape(groups, o // groups, *weight.shape[1:]))
    return scattered_reference(taps.reshape(n, groups * weight.shape[1], *window.kernel, oh, ow), window, size)


@op(_input_samples, conv2d_input_grad_reference, (0, 1), dtypes="one float")
def conv2d_input_grad(dout, weight, size, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    r"""Gradient of `conv2d` by its input, also known as a transposed convolution.

    .. math::
        dx_{n,\,c,\,i s + k d - p,\,j s + l d - p} \mathrel{+}= dout_{noij}\,weight_{ockl}

    Backward, with the cotangent g of the shape of x: ``conv2d(g, weight)`` for dout, `conv2d_weight_grad` of g and
    dout for the weight. Saves both.

    Parameters
    ----------
    dout : Tensor
        ``[n, o, oh, ow]``.
    weight : Tensor
        ``[o, c / groups, kh, kw]``.
    size : (int, int)
        h and w of the input, which the window's places do not tell.
    stride, padding, dilation, groups
        See `conv2d`.

    Raises
    ------
    ShapeError, ArgumentError, DTypeError
        As `conv2d`, or if `dout` is not of the shape that an input of that size leads to.
    """
    dout, weight = together(dout, weight)
    groups = whole("conv2d_input_grad", "groups", groups, 1)
    _check("conv2d_input_grad", dout, weight.shape[1] * groups if weight.ndim == 4 else 0, weight, groups, ())
    window = _window("conv2d_input_grad", (weight.shape[2], weight.shape[3]), stride, padding, dilation)
    size = both("conv2d_input_grad", "size", size, 1)
    if dout.shape[1] != weight.shape[0]:
        raise ShapeError(f"conv2d_input_grad got dout of shape {dout.shape} for {weight.shape[0]} output channels")
    window.check("conv2d_input_grad", dout, size)
    settings = stride, padding, dilation, groups

    def backward(g):
        ddout = conv2d(g, weight, None, *settings) if dout.requires_grad else None
        return ddout, conv2d_weight_grad(g, dout, window.kernel, *settings) if weight.requires_grad else None

    return record(_by_input(dout, weight, size, window, groups), (dout, weight), backward)


def _by_input(dout: Tensor, weight: Tensor, size: tuple[int, int], window: Window, groups: int) -> Tensor:
    from .matmul import product

    n, o, *places = dout.shape
    c, spots = weight.shape[1] * groups, places[0] * places[1]
    inner = weight.shape[1] * window.taps
    source, kernel = widened(dout.detach()), row_major(widened(weight.detach()), (groups, o // groups, inner))
    dx = empty((n, c, *size), source.dtype, dout.backend)
    for first, count in _groups(n, c * window.taps * spots):
        part = row_major(_part(source, first, count), (count, groups, o // groups, spots))
        target = _part(dx, first, count)
        if window.plain:
            product(kernel, part, None, True, out=row_major(target, (count, groups, inner, spots)))
        else:
            cols = product(kernel, part, None, True)
            fold(row_major(cols, (count * c * window.taps, *places)), window, (places[0], places[1]), target)
    return narrowed(dx, dout.dtype)


def _weight_samples(rng: np.random.Generator):
    for shape, weight, keywords in CASES:
        window, _ = _settings(weight, **keywords)
        places = window.places("", shape[2:])
        arrays = rng.uniform(-2, 2, shape), rng.uniform(-2, 2, (shape[0], weight[0], *places))
        yield arrays, {"kernel": weight[2:], **keywords}


def conv2d_weight_grad_reference(x, dout, kernel, **keywords):
    """Gradient of a convolution by its weight, by NumPy."""
    window, groups = _settings((0, 0, *kernel), **keywords)
    n, o, oh, ow = dout.shape
    seen = windows_reference(x, window).reshape(n, groups, x.shape[1] // groups, *kernel, oh, ow)
    parted = dout.reshape(n, groups, o // groups, oh, ow)
    return np.einsum("ngcklij,ngoij->gockl", seen, parted).reshape(o, x.shape[1] // groups, *kernel)


@op(_weight_samples, conv2d_weight_grad_reference, (0, 1), dtypes="one float")
def conv2d_weight_grad(x, dout, kernel, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    r"""Gradient of `conv2d` by its weight.

    .. math::
        dweight_{ockl} = \sum_{nij} x_{n,\,c,\,i s + k d - p,\,j s + l d - p}\,dout_{noij}

    Backward, with the cotangent g of the shape of the weight: `conv2d_input_grad` of dout and g for x,
    ``conv2d(x, g)`` for dout. Saves both.

    Parameters
    ----------
    x : Tensor
        ``[n, c, h, w]``.
    dout : Tensor
        ``[n, o, oh, ow]``.
    kernel : (int, int)
        kh and kw.
    stride, padding, dilation, groups
        See `conv2d`.

    Raises
    ------
    ShapeError, ArgumentError, DTypeError
        As `conv2d`, or if `dout` is not of the shape that `x` leads to.
    """
    x, dout = together(x, dout)
    name, o = "conv2d_weight_grad", dout.shape[1] if dout.ndim == 4 else 0
    window = _window(name, both(name, "kernel", kernel, 1), stride, padding, dilation)
    check_planes(name, x)
    check_planes(name, dout)
    one_float(name, (x, dout))
    groups = whole(name, "groups", groups)
    if groups < 1 or x.shape[1] % groups or o % groups or x.shape[0] != dout.shape[0]:
        raise ShapeError(f"{name} got shapes {x.shape} and {dout.shape} and groups={groups}, which do not fit")
    window.check(name, dout, x.shape[2:])
    size, settings = x.shape[2:], (stride, padding, dilation, groups)

    def backward(g):
        dx = conv2d_input_grad(dout, g, size, *settings) if x.requires_grad else None
        return dx, conv2d(x, g, None, *settings) if dout.requires_grad else None

    return record(_by_weight(x, dout, window, groups), (x, dout), backward)


def _by_weight(x: Tensor, dout: Tensor, window: Window, groups: int) -> Tensor:
    """Each sample's columns times its gradients, summed over samples: ``[groups, inner, o / groups]``, turned."""
    from .matmul import product

    (n, c), (o, *places) = x.shape[:2], dout.shape[1:]
    spots, inner, each = places[0] * places[1], c // groups * window.taps, o // groups
    left, right = widened(x.detach()), widened(dout.detach())
    total = None
    for first, count in _groups(n, c * window.taps * max(spots, each)):
        cols = row_major(
            unfold(_part(left, first, count), window, (places[0], places[1])), (count, groups, inner, spots)
        )
        part = row_major(_part(right, first, count), (count, groups, each, spots))
        found = sum_middle(product(cols, part, None, False, True), 1, count, groups * inner * each)
        total = found if total is None else run_map(add_kernel, (total, found), into=(total,))
    if total is None:
        return zeros((o, c // groups, *window.kernel), x.dtype, x.backend)
    turned = total.view((groups, each, inner), (inner * each, 1, each))
    return row_major(copied(turned, x.dtype), (o, c // groups, *window.kernel))


def _line_samples(rng: np.random.Generator):
    yield (rng.uniform(-2, 2, (2, 3, 7)), rng.uniform(-1, 1, (4, 3, 3)), rng.uniform(-1, 1, 4)), {"padding": 1}
    yield (rng.uniform(-2, 2, (3, 4, 9)), rng.uniform(-1, 1, (2, 2, 2))), {"stride": 2, "dilation": 3, "groups": 2}
    yield (rng.uniform(-2, 2, (1, 1, 5)), rng.uniform(-1, 1, (2, 1, 2)), rng.uniform(-1, 1, 2)), {}


def _line_reference(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    pairs = {"stride": (1, stride), "padding": (0, padding), "dilation": (1, dilation), "groups": groups}
    return conv2d_reference(x[:, :, None], weight[:, :, None], bias, **pairs)[:, :, 0]


@op(_line_samples, _line_reference, (0, 1, 2), dtypes="one float")
def conv1d(x, weight, bias=None, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1) -> Tensor:
    """Convolution over one axis: `conv2d` on planes of height 1.

    Backward: see there.

    Parameters
    ----------
    x : Tensor
        ``[n, c, l]``.
    weight : Tensor
        ``[o, c / groups, k]``.
    bias : Tensor, optional
        ``[o]``.
    stride, padding, dilation, groups : int
        See `conv2d`.

    Raises
    ------
    ShapeError, ArgumentError, DTypeError
        As `conv2d`.
    """
    x, weight, *rest = together(x, weight, *(() if bias is None else (bias,)))
    bias = rest[0] if rest else None
    if x.ndim != 3 or weight.ndim != 3:
        raise ShapeError(
            f"conv1d got shapes {x.shape} and {weight.shape}: it needs [samples, channels, length] and "
            "[out, in / groups, width]"
        )
    stride, padding = whole("conv1d", "stride", stride, 1), whole("conv1d", "padding", padding, 0)
    dilation, groups = whole("conv1d", "dilation", dilation, 1), whole("conv1d", "groups", groups, 1)
    planes = reshape(x, (*x.shape[:2], 1, x.shape[2]))
    taps = reshape(weight, (*weight.shape[:2], 1, weight.shape[2]))
    out = conv2d(planes, taps, bias, (1, stride), (0, padding), (1, dilation), groups)
    return reshape(out, (*out.shape[:2], out.shape[3]))
