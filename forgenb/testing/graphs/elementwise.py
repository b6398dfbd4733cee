"""Recipes of ops that work element by element, with broadcasting. A new family gets a file of its own."""

from __future__ import annotations

import numpy as np

from .build import BOUND, LARGEST, Builder, Rejected
from .recipes import recipe

UNARY = {
    "tame": """
        abs arctan clip cos elu erf floor gelu gelu_erf huber leaky_relu logsigmoid neg relu scale sigmoid sign silu
        sin softplus square tanh
    """,
    "mild": "cosh exp expm1 sinh",
    "unit": "tan",
    "positive": "log log1p log2 rsqrt sqrt",
}
WITH_COTANGENT = {
    "tame": "abs_grad clip_grad elu_grad gelu_erf_grad leaky_relu_grad relu_grad silu_grad square_grad",
    "inside": "tanh_grad",
    "fraction": "sigmoid_grad",
    "positive": "pow_number_grad rsqrt_grad sqrt_grad",
}
DOMAIN = {
    name: domain for table in (UNARY, WITH_COTANGENT) for domain, names in table.items() for name in names.split()
}

BOUNDS = (-1.5, -0.5, 0.0, 0.75, 2.0)
SETTINGS: dict[str, dict[str, tuple[float, ...]]] = {
    "elu": {"alpha": (0.5, 2.0)},
    "huber": {"delta": (0.5, 2.0)},
    "leaky_relu": {"slope": (0.3, 0.05)},
    "scale": {"alpha": (-1.0, 3.0, 0.1)},
}
"""Op -> choices of keywords beside their default."""


def _settings(b: Builder, name: str) -> dict:
    """Keywords of an op or of its gradient kernel, whose names they share."""
    name = name.removesuffix("_grad")
    if name == "clip":
        low = b.pick(len(BOUNDS) - 1)
        return b.settings(low=BOUNDS[: low + 1], high=BOUNDS[low + 1 :])
    if name == "pow_number":
        return {"exponent": b.one_of((3.0, -1.5, 0.5, 1.0))}
    return b.settings(**SETTINGS.get(name, {}))


@recipe(" ".join(UNARY.values()))
def one(b: Builder, name: str) -> None:
    """An op of one operand."""
    b.apply(name, b.real(DOMAIN[name]), **_settings(b, name))


@recipe(" ".join(WITH_COTANGENT.values()))
def with_cotangent(b: Builder, name: str) -> None:
    """A gradient kernel: its first operand and a cotangent of that shape."""
    x = b.real(DOMAIN[name])
    b.apply(name, x, b.shaped(b.shape(x)), **_settings(b, name))


def partner(b: Builder, number: int, domain: str = "tame") -> int:
    """A value that broadcasts with another one: of those that are there, or of some of its axes."""
    shape = b.shape(number)

    def fits(v):
        pairs = zip(v.shape[::-1], shape[::-1], strict=False)
        return all(s == t or 1 in (s, t) for s, t in pairs) and np.broadcast(v, b.values[number]).size <= LARGEST

    found = b.having(fits)
    if found and b.pick(3):
        return b.inside(b.recent(found), domain)
    kept = shape[b.pick(len(shape) + 1) :]
    return b.shaped(tuple(1 if b.coin() else size for size in kept), domain)


def pair(b: Builder, first: str, second: str) -> tuple:
    """Two operands that broadcast, drawn in either order."""
    x = b.real(first)
    return x, partner(b, x, second)


@recipe("add sub mul maximum minimum")
def two(b: Builder, name: str) -> None:
    """An op of two operands, one of which may be a number, or the other one."""
    x, y = pair(b, "tame", "tame")
    other = b.one_of((y, y, y, y, x, 0.3, -1.7))
    b.apply(name, *((x, other) if b.coin() else (other, x)))


@recipe("div")
def div(b: Builder, name: str) -> None:
    """A quotient, with a divisor away from 0."""
    x, y = pair(b, "tame", "nonzero")
    b.apply(name, *b.one_of(((x, y), (x, y), (0.7, y), (x, -2.5))))


@recipe("pow")
def power(b: Builder, name: str) -> None:
    """A power of a positive base; or a whole power, given as a number, of any."""
    if not b.pick(3):
        b.apply(name, b.real("mild"), b.one_of((2.0, 3.0, 1.0)))
        return
    x, y = pair(b, "positive", "mild")
    b.apply(name, *b.one_of(((x, y), (x, y), (1.5, y), (x, 0.5), (x, -1.0), (x, 2.5))))


@recipe("pow_grad pow_grad_exponent")
def power_grad(b: Builder, name: str) -> None:
    """The gradient kernels of powers."""
    x, y = pair(b, "positive", "mild")
    b.apply(name, x, y, b.shaped(np.broadcast(b.values[x], b.values[y]).shape))


@recipe("maximum_grad")
def maximum_grad(b: Builder, name: str) -> None:
    """The gradient kernel of extrema."""
    x, y = pair(b, "tame", "tame")
    b.apply(name, x, y, b.shaped(np.broadcast(b.values[x], b.values[y]).shape))


@recipe("equal greater greater_equal less less_equal not_equal")
def compared(b: Builder, name: str) -> None:
    """A comparison, with a value or a number."""
    x, y = pair(b, "tame", "tame")
    b.apply(name, x, b.one_of((y, y, 0.2)))


def truths(b: Builder, shape: tuple[int, ...]) -> int:
    """Truth values of a shape: some that are there, or a comparison."""
    found = b.having(lambda v: v.shape == shape, "b")
    if found and b.coin():
        return b.recent(found)
    return b.apply(b.one_of(("greater", "less_equal")), b.shaped(shape), b.one_of((0.1, -0.6)))


@recipe("logical_and logical_or logical_xor")
def both(b: Builder, name: str) -> None:
    """A function of two truth values; floats count as true where they are not 0."""
    x, y = pair(b, "tame", "tame")
    b.apply(name, b.one_of((x, truths(b, b.shape(x)))), truths(b, b.shape(y)))


@recipe("logical_not")
def negated(b: Builder, name: str) -> None:
    """The opposite of truth values."""
    b.apply(name, truths(b, b.shape(b.real())))


@recipe("where")
def where(b: Builder, name: str) -> None:
    """A choice between two values, or a value and a number."""
    x, y = pair(b, "tame", "tame")
    condition = truths(b, b.one_of((b.shape(x), b.shape(y))))
    b.apply(name, condition, *b.one_of(((x, y), (y, x), (x, 0.4))))


@recipe("astype")
def astype(b: Builder, name: str) -> None:
    """Truth values or whole numbers as floats, or floats as either."""
    others = b.having(lambda v: bool(np.all(np.abs(v.astype(float)) <= BOUND)), b.one_of(("b", "i")))
    if others and b.pick(3):
        b.apply(name, b.recent(others), dtype="float64")
    else:
        b.apply(name, b.real(), dtype=b.one_of(("float64", "int64", "bool")))


@recipe("dropout")
def dropout(b: Builder, name: str) -> None:
    """Some elements, by the hash of their places."""
    b.apply(name, b.real(), p=b.one_of((0.25, 0.5, 0.0)), seed=b.pick(100), **b.settings(offset=(0, 5)))


@recipe("mse_loss l1_loss huber_loss")
def distance(b: Builder, name: str) -> None:
    """A mean distance of two values of one shape."""
    x = b.real()
    y = b.shaped(b.shape(x))
    if x == y:
        raise Rejected("a value and itself")
    b.apply(name, x, y, **(b.settings(delta=(0.5, 2.0)) if name == "huber_loss" else {}))


@recipe("bce_with_logits kl_div kl_terms")
def likelihood(b: Builder, name: str) -> None:
    """A loss with probabilities as its second operand, which is tracked too."""
    x = b.real(fits=lambda v: v.ndim > 0)
    b.apply(name, x, b.shaped(b.shape(x), "fraction"))
