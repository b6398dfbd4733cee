"""What PyTorch computes for each op that random graphs draw: one table, `twins`.

A twin takes the op's operands and keywords, as tensors of PyTorch, and returns what the op returns. Where PyTorch has
no function of that kind, the twin is written in its differentiable functions from the op's definition; the backward of
a linear op is taken from PyTorch's own backward.

PyTorch is imported when the table is asked for; nothing here may import it earlier.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..random import dropout_keep, dropout_scale


@functools.cache
def twins() -> dict[str, Callable]:
    """Op -> the function of PyTorch that stands for it.

    Raises
    ------
    ArgumentError
        If PyTorch cannot be imported.
    """
    try:
        import torch
    except ImportError as cause:
        raise ArgumentError(
            f"comparing with PyTorch needs PyTorch, which cannot be imported ({cause}): install it with "
            "pip install 'forgenb[bench]', or compare eager code with routines (--against routine)"
        ) from cause
    return {**_elementwise(torch), **_gradients(torch), **_reductions(torch), **_shapes(torch), **_picks(torch),
            **_losses(torch), **_products(torch), **_layers(torch)}  # fmt: skip


def _elementwise(torch: Any) -> dict[str, Callable]:
    F = torch.nn.functional
    same = (
        "abs add cos cosh div erf exp expm1 floor log log1p log2 logical_and logical_not logical_or logical_xor mul "
        "neg pow rsqrt sigmoid sign sin sinh sqrt square sub tan tanh where"
    )

    def tensors(f):
        """`f` of operands that may be numbers, where PyTorch wants tensors."""
        return lambda x, y: f(*(torch.as_tensor(t, dtype=torch.float64) if isinstance(t, float) else t for t in (x, y)))

    def dropout(x, p, seed, offset=0):
        kept = dropout_keep(x.numel(), p, seed, offset) * float(dropout_scale(p))
        return x * torch.from_numpy(np.asarray(kept, np.float64)).reshape(x.shape)

    return {
        **{name: getattr(torch, name) for name in same.split()},
        "arctan": torch.atan,
        "astype": lambda x, dtype: x.to(getattr(torch, dtype)),
        "clip": lambda x, low=-math.inf, high=math.inf: torch.clamp(x, low, high),
        "dropout": dropout,
        "elu": lambda x, alpha=1.0: F.elu(x, alpha),
        "equal": torch.eq,
        "gelu": lambda x: F.gelu(x, approximate="tanh"),
        "gelu_erf": F.gelu,
        "greater": torch.gt,
        "greater_equal": torch.ge,
        "huber": lambda x, delta=1.0: F.huber_loss(x, torch.zeros_like(x), reduction="none", delta=delta),
        "leaky_relu": lambda x, slope=0.01: F.leaky_relu(x, slope),
        "less": torch.lt,
        "less_equal": torch.le,
        "logsigmoid": F.logsigmoid,
        "maximum": tensors(torch.maximum),
        "minimum": tensors(torch.minimum),
        "not_equal": torch.ne,
        "relu": torch.relu,
        "scale": lambda x, alpha=0.5: x * alpha,
        "silu": F.silu,
        "softplus": F.softplus,
    }


def _pullback(torch: Any, f: Callable, x: Any, dout: Any) -> Any:
    """The gradient of ``f`` at `x` for a cotangent, itself differentiable in both."""
    x = x if x.requires_grad else x.detach().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(f(x), x, dout, create_graph=True)[0]


def _gradients(torch: Any) -> dict[str, Callable]:
    F = torch.nn.functional

    def of(f):
        """The gradient of a function of one operand, which the keywords belong to."""
        return lambda x, dout, **keywords: _pullback(torch, lambda t: f(t, **keywords), x, dout)

    forward = _elementwise(torch)
    names = ["clip", "elu", "gelu_erf", "leaky_relu", "silu", "square"]
    return {
        **{f"{name}_grad": of(forward[name]) for name in names},
        "abs_grad": lambda x, dout: torch.sign(x) * dout,
        "maximum_grad": lambda x, y, dout: torch.where(x > y, dout, 0.0),
        "pow_grad": lambda x, y, dout: y * x ** (y - 1.0) * dout,
        "pow_grad_exponent": lambda x, y, dout: x**y * torch.log(x) * dout,
        "pow_number_grad": of(lambda t, exponent: torch.pow(t, exponent)),
        "relu_grad": lambda out, dout: torch.where(out > 0, dout, 0.0),
        "rsqrt_grad": lambda out, dout: -0.5 * out**3 * dout,
        "sigmoid_grad": lambda out, dout: out * (1.0 - out) * dout,
        "sqrt_grad": lambda out, dout: dout / (2.0 * out),
        "tanh_grad": lambda out, dout: (1.0 - out**2) * dout,
        "conv2d_input_grad": lambda dout, weight, size, **k: torch.nn.grad.conv2d_input(
            (dout.shape[0], weight.shape[1] * k.get("groups", 1), *size), weight, dout, **k
        ),
        "conv2d_weight_grad": lambda x, dout, kernel, **k: torch.nn.grad.conv2d_weight(
            x, (dout.shape[1], x.shape[1] // k.get("groups", 1), *kernel), dout, **k
        ),
        "avg_pool2d_grad": lambda dout, size, kernel, stride=None, padding=0: _pullback(
            torch,
            lambda t: F.avg_pool2d(t, kernel, stride, padding),
            torch.zeros((*dout.shape[:2], *size), dtype=dout.dtype),
            dout,
        ),
    }


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)


def _reductions(torch: Any) -> dict[str, Callable]:
    def over(f):
        """`f` over axes, with NumPy's keywords."""
        return lambda x, axis=None, keepdims=False, **k: f(x, dim=_axes(x, axis), keepdim=keepdims, **k)

    def prod(x, axis=None, keepdims=False):
        for a in sorted((a % x.ndim for a in _axes(x, axis)), reverse=True):
            x = torch.prod(x, a, keepdim=keepdims)
        return x

    def place(f):
        return lambda x, axis=None, keepdims=False: f(x, dim=axis, keepdim=keepdims)

    return {
        **{name: over(getattr(torch, name)) for name in ("sum", "mean", "logsumexp")},
        "all": over(torch.all),
        "any": over(torch.any),
        "argmax": place(torch.argmax),
        "argmin": place(torch.argmin),
        "cumsum": lambda x, axis=None: torch.cumsum(x.reshape(-1) if axis is None else x, 0 if axis is None else axis),
        "max": over(torch.amax),
        "min": over(torch.amin),
        "norm": over(torch.linalg.vector_norm),
        "prod": prod,
        "std": over(lambda x, ddof=0, **k: torch.std(x, correction=ddof, **k)),
        "sum_rows": lambda x: x.reshape(-1, x.shape[-1]).sum(0),
        "sumsq": lambda x: (x * x).sum(),
        "var": over(lambda x, ddof=0, **k: torch.var(x, correction=ddof, **k)),
    }


def _shapes(torch: Any) -> dict[str, Callable]:
    def expand_dims(x, axis):
        axes = axis if isinstance(axis, tuple) else (axis,)
        for a in sorted(a % (x.ndim + len(axes)) for a in axes):
            x = x.unsqueeze(a)
        return x

    def pad(x, pad_width, mode="constant", constant_values=0):
        widths = np.broadcast_to(pad_width, (x.ndim, 2))
        if mode == "constant":
            return torch.nn.functional.pad(x, widths[::-1].ravel().tolist(), value=constant_values)
        for axis, width in enumerate(widths):
            x = x.index_select(axis, torch.from_numpy(np.pad(np.arange(x.shape[axis]), width, mode)))
        return x

    def triangle(f):
        return lambda x, k=0: f(x if x.ndim > 1 else x.expand(len(x), len(x)), k)

    return {
        "broadcast_to": lambda x, shape: torch.broadcast_to(x, shape),
        "concat": lambda *tensors, axis=0: torch.cat(tensors, axis),
        "expand_dims": expand_dims,
        "flip": lambda x, axis=None: torch.flip(x, _axes(x, axis)),
        "moveaxis": torch.movedim,
        "pad": pad,
        "reshape": lambda x, shape: torch.reshape(x, shape),
        "roll": lambda x, shift, axis=None: torch.roll(x, shift, axis),
        "split": lambda x, sections, axis=0: torch.tensor_split(x, sections, axis),
        "squeeze": lambda x, axis=None: torch.squeeze(x) if axis is None else torch.squeeze(x, axis),
        "stack": lambda *tensors, axis=0: torch.stack(tensors, axis),
        "swapaxes": lambda x, first, second: torch.swapaxes(x, first, second),
        "transpose": lambda x, axes=None: x.permute(tuple(reversed(range(x.ndim))) if axes is None else axes),
        "tril": triangle(torch.tril),
        "triu": triangle(torch.triu),
    }


def _forwards(shape: tuple[int, ...], key: tuple) -> tuple[tuple, list[int]]:
    """A basic key with slices that go forwards only, and the axes of the result to turn round."""
    named = sum(part is not None and part is not ... for part in key)
    at = key.index(...) if ... in key else len(key)
    key = (*key[:at], *[slice(None)] * (len(shape) - named), *key[at + 1 :])
    parts, turned, axis, place = [], [], 0, 0
    for part in key:
        if isinstance(part, slice) and (part.step or 1) < 0:
            places = range(*part.indices(shape[axis]))[::-1]
            part = slice(places.start, places.stop, places.step)
            turned.append(place)
        parts.append(part)
        axis += part is not None
        place += part is None or isinstance(part, slice)
    return tuple(parts), turned


def _picks(torch: Any) -> dict[str, Callable]:
    def getitem(x, key):
        if any(isinstance(part, list) for part in key):
            return x[tuple(torch.tensor(part) for part in key)]
        parts, turned = _forwards(x.shape, key)
        return torch.flip(x[parts], turned)

    def read(f, shape, x):
        """What reading through `f` hands back to zeros of a shape."""
        return _pullback(torch, f, torch.zeros(shape, dtype=x.dtype), x)

    def diagonal(x, offset=0, axis1=0, axis2=1):
        return torch.diagonal(x, offset, axis1, axis2)

    def take(x, ids, axis=0):
        return torch.movedim(x, axis, 0)[ids].movedim(
            tuple(range(ids.ndim)), tuple(range(axis % x.ndim, axis % x.ndim + ids.ndim))
        )

    def take_along_axis(x, indices, axis=-1):
        axis %= x.ndim
        sizes = [*np.broadcast_shapes(x.shape[:axis], indices.shape[:axis]), -1]
        sizes += np.broadcast_shapes(x.shape[axis + 1 :], indices.shape[axis + 1 :])
        return torch.gather(x.expand(sizes), axis, indices.expand(sizes) % x.shape[axis])

    def scatter_add(ids, src, rows):
        rest = src.shape[ids.ndim :]
        return torch.zeros((rows, *rest), dtype=src.dtype).index_add(0, ids.reshape(-1), src.reshape(-1, *rest))

    def scatter_add_along_axis(indices, src, size, axis=-1):
        shape = list(src.shape)
        shape[axis] = size
        return torch.zeros(shape, dtype=src.dtype).scatter_add(axis, indices, src)

    return {
        "diagonal": diagonal,
        "embedding": lambda ids, wte, wpe, pos=0: wte[ids] + wpe[pos : pos + ids.shape[-1]],
        "getitem": getitem,
        "scatter_add": scatter_add,
        "scatter_add_along_axis": scatter_add_along_axis,
        "take": take,
        "take_along_axis": take_along_axis,
        "undiagonal": lambda x, shape, **k: read(lambda t: diagonal(t, **k), shape, x),
        "unslice": lambda x, shape, key: read(lambda t: getitem(t, key), shape, x),
    }


def _losses(torch: Any) -> dict[str, Callable]:
    F = torch.nn.functional

    def rows(x, targets):
        return x.reshape(-1, x.shape[-1]), targets.reshape(-1)

    def ignored(ignore_index):
        return -100 if ignore_index is None else ignore_index

    def kl_terms(x, y):
        return y * (torch.log(y) - x)

    return {
        "bce_with_logits": F.binary_cross_entropy_with_logits,
        "cross_entropy": lambda x, targets, label_smoothing=0.0, ignore_index=None: F.cross_entropy(
            *rows(x, targets), ignore_index=ignored(ignore_index), label_smoothing=label_smoothing
        ),
        "huber_loss": lambda x, y, delta=1.0: F.huber_loss(x, y, delta=delta),
        "kl_div": lambda x, y: kl_terms(x, y).sum(-1).mean(),
        "kl_terms": kl_terms,
        "l1_loss": F.l1_loss,
        "mse_loss": F.mse_loss,
        "nll_loss": lambda x, targets, ignore_index=None: F.nll_loss(
            *rows(x, targets), ignore_index=ignored(ignore_index)
        ),
    }


def _products(torch: Any) -> dict[str, Callable]:
    def matmul(a, b, bias=None, trans_a=False, trans_b=False, alpha=1.0, b_rows=None):
        b = b if b_rows is None else b[..., :b_rows, :]
        a, b = a.mT if trans_a else a, b.mT if trans_b else b
        out = alpha * torch.matmul(a, b)
        return out if bias is None else out + bias

    def dot(a, b):
        if not a.ndim or not b.ndim:
            return a * b
        return torch.tensordot(a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))

    return {
        "dot": dot,
        "einsum": lambda *operands, subscripts: torch.einsum(subscripts, *operands),
        "matmul": matmul,
        "outer": lambda a, b: torch.outer(a.reshape(-1), b.reshape(-1)),
    }


def _layers(torch: Any) -> dict[str, Callable]:
    """Windows and layers. In backward PyTorch 2.13's batch normalisation takes a weight with gaps for one without."""
    F = torch.nn.functional

    def softmax(x, causal=False, off=0):
        if causal:
            seen = torch.ones(x.shape[-2:], dtype=torch.bool).tril(off)
            x = x.masked_fill(~seen, -math.inf)
        return torch.softmax(x, -1)

    def unfused_attention(q, k, v, causal=False):
        off = k.shape[-2] - q.shape[-2]
        return softmax(q @ k.mT / math.sqrt(q.shape[-1]), causal, off) @ v

    def split_heads(qkv, heads, batch=1):
        rows, columns = qkv.shape
        apart = qkv.reshape(batch, rows // batch, 3, heads, columns // 3 // heads).permute(2, 0, 3, 1, 4)
        return tuple(part.reshape(batch * heads, rows // batch, -1) for part in apart)

    def merge_heads(x, batch=1):
        count, time, width = x.shape
        return x.reshape(batch, count // batch, time, width).transpose(1, 2).reshape(batch * time, -1)

    def unmerge_heads(dy, heads, batch=1):
        rows, columns = dy.shape
        apart = dy.reshape(batch, rows // batch, heads, columns // heads).transpose(1, 2)
        return apart.reshape(batch * heads, rows // batch, columns // heads)

    def unsplit_heads(q, k, v, batch=1):
        return torch.cat([merge_heads(part, batch) for part in (q, k, v)], 1)

    def unsplit_head(d, which, batch=1):
        q, k, v = (d if part == which else torch.zeros_like(d) for part in range(3))
        return unsplit_heads(q, k, v, batch)

    def attention(qkv, heads):
        batch, time, columns = qkv.shape
        y = F.scaled_dot_product_attention(*split_heads(qkv.reshape(-1, columns), heads, batch), is_causal=True)
        return merge_heads(y, batch).reshape(batch, time, -1)

    def rope(x, base=10000.0, offset=0, inverse=False):
        time, width = x.shape[-2:]
        angles = torch.arange(offset, offset + time).double()[:, None] / base ** (
            torch.arange(0, width, 2).double() / width
        )
        cos, sin = torch.cos(angles), torch.sin(-angles if inverse else angles)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).reshape(x.shape)

    def lstm_cell(gates, c):
        one = torch.eye(gates.shape[1], dtype=gates.dtype)  # the gates are what PyTorch's own cell is fed
        return torch.lstm_cell(gates, (torch.zeros_like(c), c), one, torch.zeros_like(one[:, : c.shape[1]]))

    def gru_cell(gates, hidden, h):
        (rx, zx, nx), (rh, zh, nh) = gates.chunk(3, -1), hidden.chunk(3, -1)
        z, n = torch.sigmoid(zx + zh), torch.tanh(nx + torch.sigmoid(rx + rh) * nh)
        return (1.0 - z) * n + z * h

    return {
        "attention": attention,
        "avg_pool2d": lambda x, kernel, stride=None, padding=0: F.avg_pool2d(x, kernel, stride, padding),
        "batchnorm": lambda x, gamma, beta, eps=1e-5: F.batch_norm(
            x, None, None, gamma.contiguous(), beta, True, eps=eps
        ),
        "batchnorm_inference": lambda x, gamma, beta, mean, var, eps=1e-5: F.batch_norm(
            x, mean, var, gamma.contiguous(), beta, False, eps=eps
        ),
        "conv1d": F.conv1d,
        "conv2d": F.conv2d,
        "groupnorm": lambda x, gamma, beta, groups, eps=1e-5: F.group_norm(x, groups, gamma, beta, eps),
        "gru_cell": gru_cell,
        "layernorm": lambda x, gamma, beta, eps=1e-5: F.layer_norm(x, gamma.shape, gamma, beta, eps),
        "log_softmax": lambda x: torch.log_softmax(x, -1),
        "lstm_cell": lstm_cell,
        "max_pool2d": lambda x, kernel, stride=None, padding=0: F.max_pool2d(x, kernel, stride, padding),
        "merge_heads": merge_heads,
        "rmsnorm": lambda x, gamma, eps=1e-5: F.rms_norm(x, gamma.shape, gamma, eps),
        "rope": rope,
        "softmax": softmax,
        "split_heads": split_heads,
        "unfused_attention": unfused_attention,
        "unmerge_heads": unmerge_heads,
        "unsplit_head": unsplit_head,
        "unsplit_heads": unsplit_heads,
    }
