"""The CUDA plug-in of forgenb: bodies compiled to PTX by numba-cuda, or interpreted where there is no GPU.

``FORGENB_CUDA_SIMULATOR=lanes`` chooses the lane interpreter, ``=numba`` Numba's simulator, which also needs
``NUMBA_ENABLE_CUDASIM=1`` and is what that variable alone gives. Otherwise a GPU is used.
"""

from .choice import reason as available
from .choice import simulator

API = 1

__all__ = ["API", "available", "create"]


def create():
    """The backend object; Numba and the driver are first touched here."""
    from .plugin import CudaBackend

    chosen = simulator()
    if chosen is None:
        from .driver import Gpu

        return CudaBackend(Gpu())
    from .simulator import Simulator

    return CudaBackend(Simulator(numba=chosen == "numba"))
