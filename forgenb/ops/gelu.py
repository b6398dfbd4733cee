"""GELU in its tanh form, and its derivative.

Imports what every family of ops does (see `forgenb.ops`); other forms of gelu need names of their own.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import float_dtype, result_dtype
from ..kernel import map_kernel
from ..kernel.elementary import exp
from ..kernel.primitives import absolute, select
from ..tape import record
from ..tensor import Tensor
from .activations import clip, sigmoid
from .apply import as_tensor, pair, run_map
from .pointwise import square
from .reduction import sum_to
from .table import binary, op, unary

ROOT = float(np.sqrt(2 / np.pi))
CUBE = 2 * ROOT * 0.044715


def gate(x):
    """sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): what gelu multiplies x by, equal to (1 + tanh(u)) / 2."""
    return 1.0 / (1.0 + exp(-x * (1.5957691216057308 + 0.07135481627260025 * x * x)))


@map_kernel("x -> out")
def gelu_kernel(x):
    """The product of x and its gate; -0 below -30, since the gate of -inf would give NaN."""
    return select(x < -30.0, -0.0, x * gate(x))


@map_kernel("x dout -> dx")
def gelu_grad_kernel(x, dout):
    """The slope s + 2 x s (1 - s) u' times `dout`; 0 and 1 far out, NaN for NaN."""
    near = absolute(x) < 30.0
    y = select(near, x, 0.0)
    s = gate(y)
    slope = s + y * s * (1.0 - s) * (1.5957691216057308 + 0.21406444881780076 * y * y)
    return dout * select(near, slope, select(x < 0.0, 0.0, select(x > 0.0, 1.0, x)))


def gelu_reference(x):
    """GELU by NumPy, with (1 + tanh(u)) / 2 in a form that does not cancel; its limit 0 at -inf."""
    x = np.where(x == -np.inf, -1e30, x)
    return x * np.exp(-np.logaddexp(0, -2 * ROOT * (x + 0.044715 * x**3)))


def gelu_grad_reference(x, dout):
    """Derivative of `gelu_reference`, times `dout`; its limits 0 and 1 at infinity."""
    x = np.clip(x, -1e30, 1e30)
    u = ROOT * (x + 0.044715 * x**3)
    s, rest = np.exp(-np.logaddexp(0, -2 * u)), np.exp(-np.logaddexp(0, 2 * u))
    return dout * (s + 2 * x * s * rest * ROOT * (1 + 3 * 0.044715 * x**2))


@op(unary(-4, 4), gelu_reference, dtypes="float")
def gelu(x) -> Tensor:
    r"""Gaussian error linear unit in the tanh form, :math:`\tfrac12 x (1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715 x^3)))`.

    Backward: `gelu_grad`. Saves x. -inf gives 0, NaN stays NaN.

    References
    ----------
    Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2.
    """
    x = as_tensor(x)

    def backward(dout):
        return (gelu_grad(x, dout),)

    return record(run_map(gelu_kernel, (x,), dtype=float_dtype(x.dtype)), (x,), backward)


@op(binary(-4, 4), gelu_grad_reference, (0, 1), dtypes="float")
def gelu_grad(x, dout) -> Tensor:
    r"""Derivative of `gelu` times `dout`: with :math:`s = \sigma(2u)`, :math:`dx = dout\,(s + 2 x s (1 - s) u')`.

    Backward, with the cotangent :math:`g` and :math:`v = 2u`:
    :math:`g\,dout\,s (1 - s) (2 v' + x ((1 - 2 s) v'^2 + v''))` for x, ``gelu_grad(x, g)`` for `dout`. Saves both.
    """
    x, dout = pair(x, dout)

    def backward(g):
        return sum_to(g * dout * _curvature(x), x.shape), sum_to(gelu_grad(x, g), dout.shape)

    dx = run_map(gelu_grad_kernel, (x, dout), dtype=float_dtype(result_dtype(x.dtype, dout.dtype)))
    return record(dx, (x, dout), backward)


def _curvature(x: Tensor) -> Tensor:
    """The second derivative of `gelu`, which beyond 30 is 0 in every dtype."""
    x = clip(x, -30.0, 30.0)
    squared = square(x)
    v, slope = x * (2 * ROOT + CUBE * squared), 2 * ROOT + 3 * CUBE * squared
    s, rest = sigmoid(v), sigmoid(-v)  # 1 - s would cancel
    return s * rest * (2.0 * slope + x * ((rest - s) * square(slope) + 6 * CUBE * x))
