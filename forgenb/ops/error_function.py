"""The error function, and GELU in its exact form: erf, gelu_erf.

Imports what every family of ops does (see `forgenb.ops`); the tanh form of GELU is `forgenb.ops.gelu`.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernel import map_kernel
from ..kernel.elementary import erf as erf_of
from ..kernel.elementary import exp as exp_of
from ..kernel.primitives import select
from ..tape import record
from ..tensor import Tensor
from .apply import run_map
from .arithmetic import mul, scale, sub
from .pointwise import as_float, as_floats, exp, square, with_cotangent
from .table import op, unary

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


@map_kernel("x -> out")
def erf_kernel(x):
    """The error function."""
    return erf_of(x)


@op(unary(-3, 3), _erf, dtypes="float")
def erf(x) -> Tensor:
    r"""Error function, :math:`out = \frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt`.

    Backward: :math:`dx = \frac{2}{\sqrt\pi} e^{-x^2}\,dout`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (mul(dout, _bell(x, 1.0, 2 / math.sqrt(math.pi))),)

    return record(run_map(erf_kernel, (x,)), (x,), backward)


def _bell(x: Tensor, steepness: float, height: float) -> Tensor:
    """``height e**(-steepness x**2)``."""
    return scale(exp(scale(square(x), -steepness)), height)


def cumulative(x):
    """The part of the normal distribution below x."""
    return 0.5 * (1.0 + erf_of(x * 0.7071067811865476))


@map_kernel("x -> out")
def gelu_erf_kernel(x):
    """The product of x and the distribution below it; -0 below -40, where that of -infinity would give NaN."""
    return select(x < -40.0, -0.0, x * cumulative(x))


@map_kernel("x dout -> dx")
def gelu_erf_grad_kernel(x, dout):
    """The distribution plus x times its density, times `dout`; 0 and 1 at infinity."""
    y = select(x < -40.0, -40.0, select(x > 40.0, 40.0, x))
    return dout * (cumulative(y) + y * 0.3989422804014327 * exp_of(-0.5 * y * y))


def gelu_erf_grad_reference(x, dout):
    """Derivative of GELU times `dout`; its limits 0 and 1 at infinity."""
    x = np.clip(x, -40, 40)
    return dout * (0.5 * _erfc(-x / math.sqrt(2)) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


@op(with_cotangent(-4, 4), gelu_erf_grad_reference, (0, 1), dtypes="float")
def gelu_erf_grad(x, dout) -> Tensor:
    r"""Gradient of `gelu_erf`, :math:`dx = (\Phi(x) + x\,\varphi(x))\,dout`, with the density :math:`\varphi = \Phi'`.

    Backward, with the cotangent :math:`g`: :math:`\varphi(x)\,(2 - x^2)\,dout\,g` for `x`,
    ``gelu_erf_grad(x, g)`` for `dout`. Saves both.
    """
    x, dout = as_floats(x, dout)

    def backward(g):
        curve = mul(_bell(x, 0.5, 1 / math.sqrt(2 * math.pi)), sub(2.0, square(x)))
        return mul(mul(g, dout), curve), gelu_erf_grad(x, g)

    return record(run_map(gelu_erf_grad_kernel, (x, dout)), (x, dout), backward)


@op(
    unary(-4, 4),
    lambda x: np.where(x == -np.inf, 0, np.maximum(x, -1e300) * 0.5 * _erfc(-x / math.sqrt(2))),
    dtypes="float",
)
def gelu_erf(x) -> Tensor:
    r"""Gaussian error linear unit in its exact form, :math:`out = x\,\Phi(x) = \tfrac12 x (1 + erf(x / \sqrt 2))`.

    Backward: `gelu_erf_grad`. Saves `x`. -infinity gives 0, NaN stays NaN.

    References
    ----------
    Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2.
    """
    x = as_float(x)

    def backward(dout):
        return (gelu_erf_grad(x, dout),)

    return record(run_map(gelu_erf_kernel, (x,)), (x,), backward)
