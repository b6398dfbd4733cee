"""Matrix products: the backend's `gemm` behind shape rules, transposes without copies, and gradients that are products.

An operand whose last two axes are transposed in memory is passed as a flag, and a batch as strides, so views of a
packed projection multiply without being copied.

Imports what every family of ops does (see `forgenb.ops`) and the seam. How a product is cut or computed is the
backend's, not decided here.
"""

from __future__ import annotations

import numpy as np

from ..backend import seam
from ..dtypes import FLOAT16, NAMES, result_dtype
from ..errors import DTypeError, ShapeError
from ..layout import count
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, copied, pair, row_major
from .plans import same_backend
from .reduction import sum_to
from .settings import flag, number, whole
from .table import op


def _samples(rng: np.random.Generator):
    def draw(*shape):
        return rng.uniform(-2, 2, shape)

    for m, k, n in ((3, 5, 4), (1, 7, 1), (17, 3, 5), (2, 1, 3)):
        yield (draw(m, k), draw(k, n)), {}
        yield (draw(k, m), draw(k, n)), {"trans_a": True}
        yield (draw(m, k), draw(n, k)), {"trans_b": True, "alpha": 0.5}
        yield (draw(k, m), draw(n, k), draw(n)), {"trans_a": True, "trans_b": True, "alpha": 0.125}
    yield (draw(2, 3, 4), draw(2, 4, 5)), {}
    yield (draw(2, 3, 4), draw(4, 5), draw(5)), {}
    yield (draw(3, 4), draw(2, 4, 5)), {"alpha": 2.0}
    yield (draw(2, 4, 3), draw(5, 4)), {"trans_a": True, "trans_b": True}
    yield (draw(2, 3, 4), draw(5, 4)), {"trans_b": True, "alpha": 0.5}
    yield (draw(4, 3, 16), draw(4, 8, 16)), {"trans_b": True, "b_rows": 5}
    yield (draw(4, 3, 5), draw(4, 8, 16)), {"b_rows": 5}
    yield (draw(0, 4), draw(4, 5)), {}
    yield (draw(3, 0), draw(0, 2), draw(2)), {}
    yield (draw(2, 3, 1, 4), draw(3, 4, 2)), {}
    yield (draw(4), draw(4, 3)), {}
    yield (draw(2, 3, 4), draw(4)), {}
    yield (draw(4), draw(4)), {}


def _reference(a, b, bias=0.0, trans_a=False, trans_b=False, alpha=1.0, b_rows=None):
    b = b if b_rows is None else b[..., :b_rows, :]
    a = np.swapaxes(a, -1, -2) if trans_a else a
    b = np.swapaxes(b, -1, -2) if trans_b else b
    return alpha * np.matmul(a, b) + bias


@op(_samples, _reference, (0, 1, 2), dtypes="floats")
def matmul(
    a, b, bias=None, trans_a: bool = False, trans_b: bool = False, alpha: float = 1.0, b_rows: int | None = None
):
    r"""Matrix product, :math:`out = \alpha\,op(a)\,op(b) + bias`, over a batch of leading axes that broadcast.

    Backward, without transposes: :math:`da = \alpha\,dout\,b^T`, :math:`db = \alpha\,a^T dout`, summed over broadcast
    batch axes; :math:`dbias` is the column sum of `dout`, since the bias is added after alpha. Saves a and b.

    Parameters
    ----------
    a, b : Tensor
        ``[..., m, k]`` and ``[..., k, n]`` (``[..., k, m]`` with `trans_a`, ``[..., n, k]`` with `trans_b`). As in
        NumPy, a vector counts as a row on the left and as a column on the right, and that axis is dropped.
    bias : Tensor, optional
        ``[n]``.
    alpha : float
        Factor of the product.
    b_rows : int, optional
        Use only the first rows of each matrix of b in memory: the filled part of a cache.

    Raises
    ------
    ShapeError
        If the inner sizes differ, the batches do not broadcast, or bias or b_rows do not fit.
    DTypeError
        If an operand is not a float tensor.
    """
    a, b = pair(a, b)
    trans_a, trans_b = flag("matmul", "trans_a", trans_a), flag("matmul", "trans_b", trans_b)
    alpha = number("matmul", "alpha", alpha)
    bias = None if bias is None else as_tensor(bias, a)
    _check_dtypes(a, b, bias)
    if bias is not None and bias.dtype is not a.dtype:
        from .casts import astype

        common = result_dtype(a.dtype, bias.dtype)
        a, b, bias = (t if t.dtype is common else astype(t, common) for t in (a, b, bias))
    if b_rows is not None:
        from .indexing import getitem

        b_rows = whole("matmul", "b_rows", b_rows)
        rows = b.shape[-2] if b.ndim > 1 else 0
        if b.ndim < 2 or not 0 <= b_rows <= rows:
            raise ShapeError(f"matmul got b_rows={b_rows} for b of shape {b.shape}, which has {rows} rows")
        b = getitem(b, (Ellipsis, slice(0, b_rows), slice(None)))
    if a.ndim < 2 or b.ndim < 2:
        return _with_vectors(a, b, bias, trans_a, trans_b, alpha)
    out = product(a, b, bias, trans_a, trans_b, alpha)
    shapes = a.shape, b.shape

    def backward(dout):
        da = db = dbias = None
        if a.requires_grad:
            da = product_gradient(dout, b, trans_a, False, not trans_b, alpha, shapes[0])
        if b.requires_grad:
            db = product_gradient(a, dout, trans_b, not trans_a, False, alpha, shapes[1])
        if bias is not None and bias.requires_grad:
            dbias = sum_to(dout, (dout.shape[-1],))
        return (da, db) if bias is None else (da, db, dbias)

    return record(out, (a, b) if bias is None else (a, b, bias), backward)


def product_gradient(
    a: Tensor, b: Tensor, swap: bool, trans_a: bool, trans_b: bool, alpha: float, shape: tuple
) -> Tensor:
    """The gradient ``alpha op(a) op(b)``, or its transpose where `swap` says so, summed to `shape`."""
    if len(shape) == 2 and (a.ndim > 2 or b.ndim > 2):
        flat = _flattened(a, b, swap, trans_a, trans_b, alpha)
        if flat is not None:
            return flat
    if swap:
        a, b, trans_a, trans_b = b, a, not trans_b, not trans_a
    return sum_to(matmul(a, b, None, trans_a, trans_b, alpha), shape)


def _flattened(a: Tensor, b: Tensor, swap: bool, trans_a: bool, trans_b: bool, alpha: float) -> Tensor | None:
    """The gradient of a shared matrix as one product over all rows of the batch, where both sides have the batch."""
    from .movement import reshape

    if not (trans_a and not trans_b and a.shape[:-1] == b.shape[:-1] and a.contiguous and b.contiguous):
        return None
    rows = count(a.shape[:-1])
    a, b = reshape(a, (rows, a.shape[-1])), reshape(b, (rows, b.shape[-1]))
    return matmul(b, a, None, True, False, alpha) if swap else matmul(a, b, None, True, False, alpha)


def _check_dtypes(a: Tensor, b: Tensor, bias: Tensor | None) -> None:
    operands = (a, b) if bias is None else (a, b, bias)
    same_backend("matmul", operands)
    if any(t.dtype.kind != "f" for t in operands):
        found = ", ".join(t.dtype.name for t in operands)
        raise DTypeError(f"matmul works on float tensors, got {found}: convert integers with astype")


def _with_vectors(a: Tensor, b: Tensor, bias, trans_a: bool, trans_b: bool, alpha: float) -> Tensor:
    from .movement import reshape

    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul got shapes {a.shape} and {b.shape}: it needs at least one axis, use * for numbers")
    rows, columns = a.ndim == 1, b.ndim == 1
    left = reshape(a, (a.size, 1) if trans_a else (1, a.size)) if rows else a
    right = reshape(b, (1, b.size) if trans_b else (b.size, 1)) if columns else b
    out = matmul(left, right, bias, trans_a, trans_b, alpha)
    kept = out.shape[:-2] + (() if rows else out.shape[-2:-1]) + (() if columns else out.shape[-1:])
    return reshape(out, kept)


def _sides(t: Tensor, trans: bool) -> tuple[Tensor, bool, int]:
    """`t` with last axes that BLAS can read, whether it is transposed in memory, and its leading dimension."""
    rows, columns = t.strides[-2:]
    m, n = t.shape[-2:]
    if (columns == 1 or n == 1) and (rows >= max(n, 1) or m == 1):
        return t, trans, max(rows, n, 1) if m > 1 else max(n, 1)
    if (rows == 1 or m == 1) and (columns >= max(m, 1) or n == 1):
        return t, not trans, max(columns, m, 1) if n > 1 else max(m, 1)
    t = copied(t)
    return t, trans, max(n, 1)


def _batch(t: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, int, int]:
    """Strides of `t` over a batch collapsed to (outer, inner); copies where one pair cannot say it."""
    missing = len(shape) - (t.ndim - 2)
    steps = [0] * missing + [0 if s == 1 else st for s, st in zip(t.shape[:-2], t.strides[:-2], strict=True)]
    if len(shape) == 0:
        return t, 0, 0
    if len(shape) == 1:
        return t, 0, steps[0]
    outer = steps[:-1]
    for axis in range(len(outer) - 1):
        if outer[axis] != outer[axis + 1] * shape[axis + 1]:
            view = t.view((*shape, *t.shape[-2:]), (*steps, *t.strides[-2:]))
            return _batch(copied(view), shape)
    return t, outer[-1], steps[-1]


def product(
    a: Tensor, b: Tensor, bias=None, trans_a=False, trans_b=False, alpha=1.0, out: Tensor | None = None, beta=0.0
) -> Tensor:
    """``alpha op(a) op(b) + bias`` off the tape, into `out` where given (its last axis must be contiguous).

    With `beta`, ``beta out`` is added instead of a bias.
    """
    dtype = result_dtype(a.dtype, b.dtype)
    real = np.dtype("float32") if dtype is FLOAT16 else dtype
    m, k = a.shape[:-3:-1] if trans_a else a.shape[-2:]
    inner, n = b.shape[:-3:-1] if trans_b else b.shape[-2:]
    if k != inner:
        flags = f" with trans_a={trans_a}, trans_b={trans_b}" if trans_a or trans_b else ""
        raise ShapeError(f"matmul got shapes {a.shape} and {b.shape}{flags}: the inner sizes {k} and {inner} differ")
    if bias is not None and bias.shape != (n,):
        raise ShapeError(f"matmul got a bias of shape {bias.shape} for {n} columns: it must be ({n},)")
    if a.ndim == 2 and b.ndim == 2:
        batch: tuple[int, ...] = ()
    elif b.ndim == 2 and not trans_a and a.contiguous and out is None:
        flat = product(row_major(a, (count(a.shape[:-1]), k)), b, bias, False, trans_b, alpha)
        return row_major(flat, (*a.shape[:-1], n))
    else:
        batch = _batch_shape(a, b)
    if out is None:
        out = empty((*batch, m, n), real, a.backend)
    if out.size:
        _launch(out, a, b, bias, (trans_a, trans_b), (alpha, beta), (m, n, k), batch)
    return copied(out, dtype) if dtype is FLOAT16 else out


def _batch_shape(a: Tensor, b: Tensor) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise ShapeError(f"matmul got shapes {a.shape} and {b.shape}: the batch axes do not broadcast") from None


def _launch(out: Tensor, a: Tensor, b: Tensor, bias, flags: tuple, scales: tuple, shape: tuple, batch: tuple) -> None:
    real, (trans_a, trans_b) = out.dtype, flags
    a, b = (t if t.dtype is real else copied(t.detach(), real) for t in (a, b))
    if bias is not None:
        bias = bias if bias.dtype is real and bias.contiguous else copied(bias.detach(), real)
    a, trans_a, lda = _sides(a, trans_a)
    b, trans_b, ldb = _sides(b, trans_b)
    a, a_outer, a_inner = _batch(a, batch)
    b, b_outer, b_inner = _batch(b, batch)
    _, out_outer, out_inner = _batch(out, batch)
    ldo = out.strides[-2] if out.shape[-2] > 1 else max(out.shape[-1], 1)
    steps = (lda, ldb, ldo), (a_outer, a_inner, b_outer, b_inner, out_outer, out_inner)
    sizes = (count(batch[:-1]), batch[-1]) if batch else (1, 1)
    recorder = seam.RECORDER.get()
    if recorder is not None:
        recorder.product(NAMES[real], shape, (trans_a, trans_b), scales, (a, b, out, bias), steps, sizes)
        return
    places = a.address, b.address, out.address, bias.address if bias is not None else 0
    seam.gemm(out.backend, NAMES[real], shape, (trans_a, trans_b), scales, places, steps, sizes)
