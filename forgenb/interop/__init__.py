"""A tensor among other libraries: NumPy's protocols, DLPack, CUDA's array interface, numbers, text and notebooks.

One rule holds for all of them: a tracked tensor does not leave the tape unless it is asked to by name, with
``detach()`` or ``numpy()``. This module puts what the others define on `Tensor`, and defines nothing; docs/interop.md
is the page for users.
"""

from ..tensor import Tensor
from . import conversion, cuda, display, dlpack, functions, ufuncs
from .dlpack import from_dlpack

__all__ = ["METHODS", "from_dlpack"]

METHODS = {
    **conversion.METHODS,
    **ufuncs.METHODS,
    **functions.METHODS,
    **dlpack.METHODS,
    **cuda.METHODS,
    **display.METHODS,
}


def install() -> None:
    """Give `Tensor` what `forgenb.members` lists besides ops."""
    for name, value in METHODS.items():
        setattr(Tensor, name, value)


install()
