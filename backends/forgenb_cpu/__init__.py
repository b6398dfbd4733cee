"""The CPU plug-in of forgenb: bodies through Numba's ``@njit``, products through a register tile or a BLAS.

Imports nothing until `create` is called, so that listing backends costs nothing; what runs kernels belongs in
`plugin`.
"""

import os

API = 1


def available() -> str | None:
    """None, since every machine that runs Numba has a CPU, unless compiling is switched off."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0"):
        return "NUMBA_DISABLE_JIT is set, so no kernel can be compiled: unset it"
    return None


def create():
    """The backend object; Numba is imported here, not when the plug-in is looked up."""
    from .plugin import CpuBackend

    return CpuBackend()
