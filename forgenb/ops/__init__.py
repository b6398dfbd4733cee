"""Every op as a function, and the table that describes them all. ``fnb.ops.<op>`` looks a name up there."""

from . import arithmetic, attention, dropout, gelu, layernorm, loss, matmul, movement, reduction, softmax, embedding
from .methods import install
from .table import TABLE, Op

__all__ = ["TABLE", "Op"]

install()
globals().update({name: row.function for name, row in TABLE.items()})
