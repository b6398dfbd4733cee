"""Every op as a function, and the table that describes them all. ``fnb.ops.<op>`` looks a name up there.

A family of ops imports kernels, the tape, tensors, `apply`, `table` and other families; never a backend, since
every op runs on all of them. This module imports the families; an op is defined in its family, never here.
"""

from . import (  # noqa: F401, each enters its rows into the table
    activations,
    along_axis,
    arithmetic,
    assignment,
    attention,
    batchnorm,
    binary_loss,
    cached_attention,
    casts,
    class_losses,
    comparison,
    conv,
    cross_entropy,
    cumulative,
    diagonals,
    dropout,
    einsum,
    embedding,
    error_function,
    exponentials,
    extrema,
    gelu,
    groupnorm,
    heads,
    indexing,
    joining,
    layernorm,
    log_softmax,
    logic,
    losses,
    matmul,
    movement,
    padding,
    pointwise,
    pooling,
    power,
    products,
    rectifiers,
    recurrent,
    reduction,
    rmsnorm,
    rope,
    rounding,
    rows,
    scatter,
    softmax,
    statistics,
    sumsq,
    trigonometry,
    unfused_attention,
)
from .indexing_methods import install as install_indexing
from .methods import install
from .table import TABLE, Op

__all__ = ["TABLE", "Op"]

install()
install_indexing()
globals().update({name: row.function for name, row in TABLE.items()})
