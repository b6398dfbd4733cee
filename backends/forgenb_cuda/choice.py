"""Which machine the environment asks for, and why it cannot be had. Nothing here creates a CUDA context.

The driver's version can be asked for without initialising it. CUDA's minor versions work together (a cubin made by 13.5
loads under a driver for 13.0), so only a driver of an older major version is refused.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os

OLDEST = (7, 5)
"""Compute capability below which the toolkit makes no code (CUDA 13)."""


def simulator() -> str | None:
    """``"lanes"``, ``"numba"``, or None for a GPU.

    Raises
    ------
    ValueError
        If FORGENB_CUDA_SIMULATOR is another word.
    """
    word = os.environ.get("FORGENB_CUDA_SIMULATOR", "")
    if word not in ("", "lanes", "numba"):
        raise ValueError(f"FORGENB_CUDA_SIMULATOR must be lanes or numba, got {word!r}")
    return word or ("numba" if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" else None)


def reason() -> str | None:
    """Why the backend cannot be used here, or None."""
    try:
        chosen = simulator()
    except ValueError as wrong:
        return str(wrong)
    if chosen == "lanes":
        return None
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed: pip install 'forgenb[cuda]'"
    if chosen == "numba":
        return _simulator_reason()
    return gpu_reason()


def _simulator_reason() -> str | None:
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return None
    return "Numba's simulator is asked for, so NUMBA_ENABLE_CUDASIM=1 must be set before Numba is imported"


def gpu_reason() -> str | None:
    """Why no GPU can be used: no driver, a driver older than the toolkit, no device, or one too old."""
    library = driver_library()
    if library is None:
        return "there is no NVIDIA driver (FORGENB_CUDA_SIMULATOR=lanes runs kernels without a GPU)"
    driver, toolkit = driver_version(library), toolkit_version()
    if toolkit is not None and driver[0] < toolkit[0]:
        return (
            f"the NVIDIA driver supports CUDA {driver[0]}.{driver[1]}, which is older than the installed toolkit, "
            f"CUDA {toolkit[0]}.{toolkit[1]}: update the driver, or install numba-cuda for CUDA {driver[0]}"
        )
    return device_reason(library)


def driver_library():
    """The driver's library, or None where there is none."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def driver_version(library) -> tuple[int, int]:
    """The CUDA version that the driver supports; (0, 0) if it does not say."""
    number = ctypes.c_int(0)
    if library.cuDriverGetVersion(ctypes.byref(number)):
        return 0, 0
    return number.value // 1000, number.value % 1000 // 10


def toolkit_version() -> tuple[int, int] | None:
    """The CUDA version of the installed compiler (the wheel of nvJitLink), or None if it is not a wheel."""
    for name in ("nvidia-nvjitlink", "nvidia-nvjitlink-cu12"):
        try:
            major, minor = importlib.metadata.version(name).split(".")[:2]
        except importlib.metadata.PackageNotFoundError:
            continue
        return int(major), int(minor)
    return None


def device_reason(library) -> str | None:
    """Why the first device cannot be used; initialises the driver, which creates no context."""
    failed = library.cuInit(0)
    if failed:
        return f"the NVIDIA driver finds no usable GPU (cuInit returned {failed})"
    count = ctypes.c_int(0)
    library.cuDeviceGetCount(ctypes.byref(count))
    if not count.value:
        return "the NVIDIA driver lists no GPU"
    capability = compute_capability(library, 0)
    if capability < OLDEST:
        return f"the GPU's compute capability is {capability[0]}.{capability[1]}, below {OLDEST[0]}.{OLDEST[1]}"
    return None


def compute_capability(library, device: int) -> tuple[int, int]:
    """Major and minor number of a device's architecture."""
    found = []
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        number = ctypes.c_int(0)
        library.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
        found.append(number.value)
    return found[0], found[1]
