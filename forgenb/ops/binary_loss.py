"""The cross entropy of yes or no from logits: a form that neither saturates nor cancels.

Imports what every family of ops does (see `forgenb.ops`). A loss works from logits; none may take probabilities.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import compute_dtype, result_dtype
from ..errors import DTypeError, ShapeError
from ..kernel import map_kernel
from ..kernel.elementary import exp, log1p
from ..kernel.primitives import absolute, select
from ..tape import record
from ..tensor import Tensor
from .activations import sigmoid
from .apply import narrowed, pair, row_major, run_map, together
from .movement import reshape
from .plans import same_backend
from .reduction import mean
from .steps import record_steps
from .table import SHAPES, op


@map_kernel("z y -> loss")
def bce_with_logits_kernel(z, y):
    """What a logit z costs where y is the truth: max(z, 0) - z y + log(1 + e^-abs(z)), without inf - inf."""
    size = absolute(z)
    return select(z < 0.0, y, 1.0 - y) * size + log1p(exp(-size))


@map_kernel("z y dout -> dz; scale")
def bce_with_logits_grad_kernel(z, y, dout, scale):
    """(sigmoid(z) - y) dout scale, as the share of each answer: the difference itself cancels where sigmoid(z) ~ y."""
    e = exp(-absolute(z))
    near = 1.0 / (1.0 + e)
    far = e * near
    return select(z < 0.0, (1.0 - y) * far - y * near, (1.0 - y) * near - y * far) * (dout * scale)


def _bce_samples(rng: np.random.Generator):
    for shape in (shape for shape in SHAPES if 0 not in shape):
        yield (rng.uniform(-5, 5, shape), rng.uniform(0, 1, shape)), {}
    yield (rng.uniform(-5, 5, (130, 9)), np.round(rng.uniform(0, 1, (130, 9)))), {}


def bce_with_logits_reference(logits, targets):
    """Mean binary cross entropy by NumPy."""
    wrong = np.where(logits < 0, targets, 1 - targets)
    return np.mean(wrong * np.abs(logits) + np.logaddexp(0, -np.abs(logits)))


def _bce_operands(name: str, logits, targets) -> tuple[Tensor, Tensor]:
    logits, targets = pair(logits, targets)
    same_backend(name, (logits, targets))
    if logits.dtype.kind != "f":
        raise DTypeError(f"{name} got logits of dtype {logits.dtype.name}: convert them to a float dtype with astype")
    if logits.shape != targets.shape:
        raise ShapeError(
            f"{name} got logits of shape {logits.shape} and targets of shape {targets.shape}: there must be one "
            "target for each logit, so reshape one of them"
        )
    return logits, targets


@op(_bce_samples, bce_with_logits_reference, (0, 1), dtypes="float beside")
def bce_with_logits(logits, targets) -> Tensor:
    r"""Mean binary cross entropy of logits, :math:`out = \frac1n \sum_i \max(z_i, 0) - z_i y_i + \log(1 + e^{-|z_i|})`.

    That is :math:`-y \log\sigma(z) - (1 - y) \log(1 - \sigma(z))`, in nats, without overflow for any finite z.

    Backward: `bce_with_logits_grad`, :math:`dz = (\sigma(z) - y)\,dout / n`; for the targets
    :math:`dy = -z\,dout / n`. Saves both. No elements give NaN.

    Parameters
    ----------
    logits : Tensor
        Any shape.
    targets : Tensor or array_like
        Of the same shape, numbers from 0 to 1; integers and bools may stand for the classes 0 and 1.

    Raises
    ------
    ShapeError
        If the shapes differ.
    DTypeError
        If the logits are not floats.

    References
    ----------
    Goodfellow, Bengio and Courville, "Deep Learning", 2016, section 6.2.2.2.
    """
    logits, targets = _bce_operands("bce_with_logits", logits, targets)
    out = mean(run_map(bce_with_logits_kernel, (logits, targets), dtype=compute_dtype(logits.dtype)))

    def backward(dout):
        dz = bce_with_logits_grad(logits, targets, dout)
        return dz, logits * (dout * (-1.0 / max(logits.size, 1))) if targets.requires_grad else None

    return record(narrowed(out, logits.dtype), (logits, targets), backward)


def _bce_grad_samples(rng: np.random.Generator):
    for arrays, keywords in _bce_samples(rng):
        if arrays[0].size > 100:
            continue  # the sum over many is the loss's own
        yield (*arrays, rng.uniform(0.5, 2, ())), keywords


@op(
    _bce_grad_samples,
    lambda z, y, dout: (np.exp(-np.logaddexp(0, -z)) - y) * dout / z.size,
    (0, 1, 2),
    dtypes="float beside",
)
def bce_with_logits_grad(logits, targets, dout) -> Tensor:
    r"""Gradient of `bce_with_logits` for the logits, see there; `dout` is one number.

    Backward: through the formula :math:`(\sigma(z) - y)\,dout / n`, written in ops. Saves all three.
    """
    logits, targets, dout = together(logits, targets, dout)
    logits, targets = _bce_operands("bce_with_logits_grad", logits, targets)
    share = 1.0 / max(logits.size, 1)
    operands = logits.detach(), targets.detach(), row_major(dout, ())
    dz = run_map(bce_with_logits_grad_kernel, operands, (share,), dtype=result_dtype(logits.dtype, dout.dtype))

    def steps(logits, targets, dout):
        return (sigmoid(logits) - targets) * (reshape(dout, ()) * share)

    return record_steps(dz, (logits, targets, dout), steps)
