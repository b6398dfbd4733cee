"""Relatives of relu: leaky_relu, elu, softplus, logsigmoid, silu. Integers are computed in float32, NaN stays NaN.

At the kink 0 the gradient is that from the left, as relu's is.

Imports what every family of ops does (see `forgenb.ops`).
"""

from __future__ import annotations

import numpy as np

from ..kernel import map_kernel
from ..kernel.elementary import exp as exp_of
from ..kernel.elementary import expm1 as expm1_of
from ..kernel.elementary import log1p as log1p_of
from ..kernel.elementary import sigmoid as sigmoid_of
from ..kernel.primitives import absolute, select
from ..tape import record
from ..tensor import Tensor
from .activations import sigmoid
from .apply import run_map
from .arithmetic import add, mul, neg, scale, sub
from .comparison import greater, minimum, where
from .pointwise import as_float, as_floats, exp, with_cotangent
from .settings import number
from .table import op, unary


@map_kernel("x -> out; slope")
def leaky_relu_kernel(x, slope):
    """`x`, or a part of it below 0."""
    return select(x > 0.0, x, slope * x)


@map_kernel("x dout -> dx; slope")
def leaky_relu_grad_kernel(x, dout, slope):
    """`dout`, or a part of it where `x` is not above 0."""
    return select(x <= 0.0, slope * dout, dout)


@op(
    with_cotangent(-2, 2, apart=(0.0,)),
    lambda x, dout, slope=0.01: np.where(x <= 0, slope * dout, dout),
    (1,),
    dtypes="float",
)
def leaky_relu_grad(x, dout, slope: float = 0.01) -> Tensor:
    r"""Gradient of `leaky_relu`: `dout` where `x` is above 0 or NaN, else :math:`slope\,dout`.

    Backward, with the cotangent :math:`g`: ``leaky_relu_grad(x, g, slope)`` for `dout`. Saves `x`.
    """
    x, dout = as_floats(x, dout)

    def backward(g):
        return None, leaky_relu_grad(x, g, slope)

    return record(
        run_map(leaky_relu_grad_kernel, (x, dout), (number("leaky_relu_grad", "slope", slope),)), (x, dout), backward
    )


@op(unary(-2, 2, apart=(0.0,)), lambda x, slope=0.01: np.where(x > 0, x, slope * x), dtypes="float")
def leaky_relu(x, slope: float = 0.01) -> Tensor:
    r"""Rectifier that lets a part through, :math:`out = x` where :math:`x > 0`, else :math:`slope\,x`.

    Backward: :math:`dx = dout` where :math:`x > 0`, else :math:`slope\,dout`. Saves `x`.
    """
    x = as_float(x)
    if type(slope) is not float:
        slope = number("leaky_relu", "slope", slope)

    def backward(dout):
        return (leaky_relu_grad(x, dout, slope),)

    return record(run_map(leaky_relu_kernel, (x,), (slope,)), (x,), backward)


@map_kernel("x -> out; alpha")
def elu_kernel(x, alpha):
    """`x` above 0, an exponential that ends at -alpha below."""
    return select(x > 0.0, x, alpha * expm1_of(x))


@map_kernel("x dout -> dx; alpha")
def elu_grad_kernel(x, dout, alpha):
    """`dout`, times an exponential below 0."""
    return dout * select(x > 0.0, 1.0, alpha * exp_of(x))


def _elu_samples(rng: np.random.Generator):
    yield from unary(-3, 3, apart=(0.0,))(rng)
    yield (np.linspace(-2.25, 2, 6),), {"alpha": 0.5}


def _elu_grad_samples(rng: np.random.Generator):
    for (x,), keywords in _elu_samples(rng):
        yield (x, rng.uniform(-2, 2, x.shape)), keywords


@op(
    _elu_grad_samples,
    lambda x, dout, alpha=1.0: dout * np.where(x > 0, 1, alpha * np.exp(np.minimum(x, 0))),
    (0, 1),
    dtypes="float",
)
def elu_grad(x, dout, alpha: float = 1.0) -> Tensor:
    r"""Gradient of `elu`: `dout` where :math:`x > 0`, else :math:`\alpha e^x\,dout`.

    Backward, with the cotangent :math:`g`: :math:`\alpha e^x\,dout\,g` for `x` where it is not above 0,
    ``elu_grad(x, g, alpha)`` for `dout`. Saves both.
    """
    x, dout = as_floats(x, dout)

    def backward(g):
        curved = scale(mul(mul(g, dout), exp(minimum(x, 0.0))), alpha)
        return where(greater(x, 0.0), 0.0, curved), elu_grad(x, g, alpha)

    return record(run_map(elu_grad_kernel, (x, dout), (number("elu_grad", "alpha", alpha),)), (x, dout), backward)


@op(
    _elu_samples,
    lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    dtypes="float",
)
def elu(x, alpha: float = 1.0) -> Tensor:
    r"""Exponential linear unit, :math:`out = x` where :math:`x > 0`, else :math:`\alpha (e^x - 1)`.

    Backward: :math:`dx = dout` where :math:`x > 0`, else :math:`\alpha e^x\,dout`. Saves `x`.

    References
    ----------
    Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep Network Learning by Exponential Linear Units", 2015.
    """
    x = as_float(x)
    if type(alpha) is not float:
        alpha = number("elu", "alpha", alpha)

    def backward(dout):
        return (elu_grad(x, dout, alpha),)

    return record(run_map(elu_kernel, (x,), (alpha,)), (x,), backward)


@map_kernel("x -> out")
def softplus_kernel(x):
    """log(1 + e**x), whose exponential never overflows."""
    return select(x > 0.0, x, 0.0) + log1p_of(exp_of(-absolute(x)))


@op(unary(-5, 5), lambda x: np.logaddexp(0, x), dtypes="float")
def softplus(x) -> Tensor:
    r"""Smooth rectifier, :math:`out = \log(1 + e^x)`, without overflow for any `x`.

    Backward: :math:`dx = \sigma(x)\,dout`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (mul(dout, sigmoid(x)),)

    return record(run_map(softplus_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def logsigmoid_kernel(x):
    """-log(1 + e**-x), whose exponential never overflows."""
    return select(x < 0.0, x, 0.0) - log1p_of(exp_of(-absolute(x)))


@op(unary(-5, 5), lambda x: -np.logaddexp(0, -x), dtypes="float")
def logsigmoid(x) -> Tensor:
    r"""Logarithm of the logistic function, :math:`out = \log\sigma(x)`, without underflow for any `x`.

    Backward: :math:`dx = \sigma(-x)\,dout`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (mul(dout, sigmoid(neg(x))),)

    return record(run_map(logsigmoid_kernel, (x,)), (x,), backward)


@map_kernel("x -> out")
def silu_kernel(x):
    """`x` times its logistic function; -0 far below 0, where that of -infinity would give NaN."""
    return select(x < -746.0, -0.0, x * sigmoid_of(x))


@map_kernel("x dout -> dx")
def silu_grad_kernel(x, dout):
    """The slope s + x s (1 - s) times `dout`; 0 and 1 at infinity."""
    y = select(x < -746.0, -746.0, select(x > 746.0, 746.0, x))
    return dout * sigmoid_of(y) * (1.0 + y * sigmoid_of(-y))


def silu_grad_reference(x, dout):
    """Derivative of silu times `dout`; its limits 0 and 1 at infinity."""
    x = np.clip(x, -746, 746)
    s, rest = np.exp(-np.logaddexp(0, -x)), np.exp(-np.logaddexp(0, x))
    return dout * s * (1 + x * rest)


@op(with_cotangent(-4, 4), silu_grad_reference, (0, 1), dtypes="float")
def silu_grad(x, dout) -> Tensor:
    r"""Gradient of `silu`: with :math:`s = \sigma(x)`, :math:`dx = s\,(1 + x (1 - s))\,dout`.

    Backward, with the cotangent :math:`g`: :math:`s (1 - s) (2 + x (1 - 2 s))\,dout\,g` for `x`,
    ``silu_grad(x, g)`` for `dout`. Saves both.
    """
    x, dout = as_floats(x, dout)

    def backward(g):
        s, rest = sigmoid(x), sigmoid(neg(x))
        curve = mul(mul(s, rest), add(mul(x, sub(rest, s)), 2.0))
        return mul(mul(g, dout), curve), silu_grad(x, g)

    return record(run_map(silu_grad_kernel, (x, dout)), (x, dout), backward)


@op(
    unary(-5, 5),
    lambda x: np.where(x == -np.inf, 0, np.maximum(x, -1e300) * np.exp(-np.logaddexp(0, -x))),
    dtypes="float",
)
def silu(x) -> Tensor:
    r"""Sigmoid linear unit, or swish, :math:`out = x\,\sigma(x)`. -infinity gives 0, NaN stays NaN.

    Backward: `silu_grad`. Saves `x`.
    """
    x = as_float(x)

    def backward(dout):
        return (silu_grad(x, dout),)

    return record(run_map(silu_kernel, (x,)), (x,), backward)
