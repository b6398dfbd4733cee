"""The content-addressed store of compiled launchers: keys, folders, pruning. No compiler is named here.

A key is a hash of everything that the machine code depends on (bound bodies, helpers, literals, flags,
versions, CPU), never of time stamps, file names or line numbers. One folder holds one key.

Imports the standard library, NumPy, `forgenb.errors` and `binding`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import types
import warnings

import numpy as np

from ..errors import ArgumentError
from .binding import global_names

KEEP = 4
"""Entries kept per kernel and dtype; the oldest beyond that are removed."""


def cache_folder() -> str:
    """``FORGENB_CACHE``, else ``forgenb`` under ``XDG_CACHE_HOME`` or ``~/.cache``."""
    chosen = os.environ.get("FORGENB_CACHE")
    if chosen:
        return chosen
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "forgenb")


def digest(*parts) -> str:
    """24 hexadecimal digits that name the content of `parts`."""
    return hashlib.sha256(repr([describe(part) for part in parts]).encode()).hexdigest()[:24]


def describe(value, seen: tuple = ()):
    """A value as nested lists whose `repr` is the same in every process.

    Raises
    ------
    ArgumentError
        If `value` is of a kind that cannot be part of a key.
    """
    if isinstance(value, types.FunctionType):
        return _describe_function(value, seen)
    if isinstance(value, types.CodeType):
        constants = [describe(c, seen) for c in value.co_consts if not isinstance(c, str)]
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_argcount, value.co_flags)
        return ["code", value.co_code.hex(), names, constants]
    if isinstance(value, dict):
        return ["dict", sorted(repr((k, describe(v, seen))) for k, v in value.items())]
    if isinstance(value, (set, frozenset)):
        return ["set", sorted(repr(describe(v, seen)) for v in value)]
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *(describe(v, seen) for v in value)]
    if isinstance(value, types.ModuleType):
        return ["module", value.__name__]
    if isinstance(value, (type, types.BuiltinFunctionType, np.ufunc)):
        return ["named", getattr(value, "__module__", ""), value.__name__]
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, np.generic, np.dtype)):
        return [type(value).__name__, repr(value)]
    return _describe_foreign(value, seen)


def _describe_function(value: types.FunctionType, seen: tuple):
    if value in seen:
        return ["again", seen.index(value)]
    seen = (*seen, value)
    used = {n: value.__globals__[n] for n in global_names(value.__code__) if n in value.__globals__}
    cells = [describe(cell.cell_contents, seen) for cell in value.__closure__ or ()]
    return ["def", describe(value.__code__, seen), describe(value.__defaults__, seen), cells, describe(used, seen)]


def _describe_foreign(value, seen: tuple):
    definition = getattr(value, "_defn", None)
    if isinstance(definition, types.FunctionType):
        return ["intrinsic", definition.__name__, _describe_function(definition, seen)]
    if type(value).__module__.startswith(("numba.core.types", "llvmlite.ir")):
        return ["type", str(value)]
    if isinstance(getattr(value, "py_func", None), types.FunctionType):
        return ["compiled", _describe_function(value.py_func, seen)]
    raise ArgumentError(f"a kernel may not use {value!r}: it cannot be part of the key of the kernel cache")


def write_whole(path: str, text: str) -> None:
    """Write a file whole or not at all, whoever else writes it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def prune(prefix: str, keep: str) -> None:
    """Remove the oldest entries of one kernel and dtype; whoever loses a race compiles again."""

    def age(name: str) -> float:
        try:
            return os.stat(os.path.join(cache_folder(), name)).st_mtime
        except OSError:
            return 0.0

    entries = sorted((n for n in os.listdir(cache_folder()) if n.startswith(prefix) and n != keep), key=age)
    for name in entries[: max(0, len(entries) - KEEP + 1)]:
        shutil.rmtree(os.path.join(cache_folder(), name), ignore_errors=True)


class _Once:
    said = False


def warn_once(reason: BaseException) -> None:
    """Say once a process that compiled code cannot be kept, and how to choose another folder."""
    if not _Once.said:
        _Once.said = True
        text = f"kernels are compiled anew in this process: {reason} (FORGENB_CACHE names another folder)"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
