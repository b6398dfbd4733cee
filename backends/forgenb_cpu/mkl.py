"""Intel's MKL, where the wheel ``mkl`` or the conda package is installed: often the fastest products on Intel CPUs.

It is loaded in its sequential form, and in the mode whose bits do not depend on how operands are aligned. Imports
`library` and `forgenb.errors`.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

from forgenb.errors import ArgumentError

from .library import Library

LP64, SEQUENTIAL, REPRODUCIBLE = 0, 1, 2
"""MKL_INTERFACE_LP64, MKL_THREADING_SEQUENTIAL and MKL_CBWR_AUTO of ``mkl.h``."""
NAMES = ("libmkl_rt.so*", "libmkl_rt*.dylib", "mkl_rt*.dll")


def mkl_path() -> Path | None:
    """Where MKL's single library is, or None where it is not installed."""
    return next((path for path in _places() if any(path.match(name) for name in NAMES) and path.exists()), None)


def _places() -> Iterator[Path]:
    """Files of the wheel, then those where conda keeps libraries."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        yield from (Path(str(file.locate())) for file in importlib.metadata.files("mkl") or ())
    for folder in ("lib", "Library/bin"):
        yield from sorted(Path(sys.prefix, folder).glob("*mkl_rt*"))


@functools.cache
def mkl_library() -> Library:
    """MKL, loaded.

    Raises
    ------
    ArgumentError
        If it is not installed, cannot be loaded, or counts in 64 bits because the process has made it so.
    """
    path = mkl_path()
    if path is None:
        raise ArgumentError(
            "FORGENB_BLAS=mkl needs MKL, which is not installed here: pip install mkl, or choose tile, scipy or auto"
        )
    try:
        found = ctypes.CDLL(str(path))
    except OSError as error:
        raise ArgumentError(
            f"FORGENB_BLAS=mkl found MKL at {path}, which cannot be loaded ({error}): reinstall it with "
            "pip install --force-reinstall mkl, or choose tile, scipy or auto"
        ) from error
    if found.MKL_Set_Interface_Layer(LP64) != LP64:
        raise ArgumentError(
            "FORGENB_BLAS=mkl needs the MKL whose integers have 32 bits, and this process has set it to 64: "
            "unset MKL_INTERFACE_LAYER, or choose tile, scipy or auto"
        )
    found.MKL_Set_Threading_Layer(SEQUENTIAL)
    found.MKL_CBWR_Set(REPRODUCIBLE)
    addresses = {
        real: ctypes.cast(function, ctypes.c_void_p).value or 0
        for real, function in (("float32", found.sgemm_), ("float64", found.dgemm_))
    }
    text = ctypes.create_string_buffer(256)
    found.MKL_Get_Version_String(text, len(text))
    report = {"config": text.value.decode().strip(), "path": str(path.resolve())}
    return Library(addresses, found.MKL_Get_Max_Threads, found.MKL_Set_Num_Threads, report)
