"""Recipes of ops that reduce or run along axes."""

from __future__ import annotations

import numpy as np

from .build import Builder, Rejected
from .elementwise import truths
from .recipes import recipe

KEEP = (True, False)


@recipe("sum mean max min logsumexp norm")
def along_axes(b: Builder, name: str) -> None:
    """Over any axes."""
    x = b.real(fits=lambda v: v.ndim > 0)
    b.apply(name, x, axis=b.axes(x), **b.settings(keepdims=KEEP))


@recipe("prod")
def product(b: Builder, name: str) -> None:
    """Of numbers that leave it within bounds."""
    x = b.real("mild", fits=lambda v: v.ndim > 0)
    b.apply(name, x, axis=b.axes(x), **b.settings(keepdims=KEEP))


@recipe("var std")
def deviation(b: Builder, name: str) -> None:
    """Of more elements than the degrees of freedom that are lost."""
    x = b.real(fits=lambda v: v.ndim > 0)
    axis, settings = b.axes(x), b.settings(keepdims=KEEP, ddof=(1, 0))
    counted = np.sum(np.ones(b.shape(x)), axis)
    if np.min(counted) <= settings.get("ddof", 0):
        raise Rejected("too few elements")
    b.apply(name, x, axis=axis, **settings)


@recipe("any all")
def truth(b: Builder, name: str) -> None:
    """Of truth values, or of floats that are not near 0."""
    x = b.real(fits=lambda v: v.ndim > 0)
    axis, settings = b.axes(x), b.settings(keepdims=KEEP)
    b.apply(name, b.one_of((truths(b, b.shape(x)), x)), axis=axis, **settings)


@recipe("argmax argmin")
def place(b: Builder, name: str) -> None:
    """Along one axis, or over all elements."""
    x = b.real(fits=lambda v: v.ndim > 0)
    if b.pick(3):
        b.apply(name, x, axis=b.axis(x), **b.settings(keepdims=KEEP))
    else:
        b.apply(name, x)


@recipe("cumsum")
def running(b: Builder, name: str) -> None:
    """Along one axis, or over all elements in order."""
    x = b.real(fits=lambda v: v.ndim > 0)
    b.apply(name, x, **({"axis": b.axis(x)} if b.pick(3) else {}))


@recipe("sumsq")
def squares(b: Builder, name: str) -> None:
    """Of all elements."""
    b.apply(name, b.real())


@recipe("sum_rows softmax log_softmax")
def rows(b: Builder, name: str) -> None:
    """Ops that see the last axis apart from the others."""
    x = b.real(fits=lambda v: v.ndim > 0)
    masked = name == "softmax" and len(b.shape(x)) > 1 and b.coin()
    b.apply(name, x, **({"causal": True, **b.settings(off=(1, 0, 2))} if masked else {}))
