"""Every op as a function, and the table that describes them all. ``fnb.ops.<op>`` looks a name up there."""

from . import (  # noqa: F401, each enters its rows into the table
    activations,
    arithmetic,
    attention,
    casts,
    comparison,
    dropout,
    embedding,
    extrema,
    gelu,
    layernorm,
    loss,
    matmul,
    movement,
    pointwise,
    power,
    reduction,
    softmax,
)
from .methods import install
from .table import TABLE, Op

__all__ = ["TABLE", "Op"]

install()
globals().update({name: row.function for name, row in TABLE.items()})
