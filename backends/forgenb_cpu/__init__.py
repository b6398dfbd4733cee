"""The CPU plug-in of forgenb: bodies through Numba's ``@njit``, products through SciPy's BLAS.

Imports nothing until `create` is called, so that listing backends costs nothing; what runs kernels belongs in
`plugin`.
"""

API = 1


def available() -> str | None:
    """None: every machine that runs Numba has a CPU."""
    return None


def create():
    """The backend object; Numba is imported here, not when the plug-in is looked up."""
    from .plugin import CpuBackend

    return CpuBackend()
