"""Compile a kernel for this CPU: bind, generate the launcher, and look in the store before compiling.

Every nested function carries the key in its module name, since two cached kernels with equal symbol
names would otherwise call each other's helpers once both are loaded. Kernels are C callables
``(begin, end, args)`` and must not raise; everything is checked before a launch.

Imports Numba, llvmlite, `forgenb.kernel` and this plug-in's templates and intrinsics. Nothing here launches,
allocates or knows an op.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba import cfunc, njit
from numba import types as nt
from numba.core import caching, config, registry
from numba.core.errors import NumbaWarning

from forgenb.kernel import Kernel, bind
from forgenb.kernel import cache as store

from . import blocks
from .intrinsics import half_conversions, primitives_for
from .templates import launcher_text, operand_types, panel_text

OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False}
"""``NUMBA_BOUNDSCHECK=1`` goes before this: indices are then checked, and a wrong one is reported as unraisable."""
INNER: dict[str, Any] = {**OPTIONS, "forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Of a function that only a launcher calls: inlined there, and callable from nowhere else."""
SIGNATURE = nt.void(nt.int64, nt.int64, nt.int64)
PANEL_SIGNATURE = nt.int64(*(nt.int64,) * 8)
TYPES = {
    "int64": np.int64,
    "bool_": np.bool_,
    "uint32": np.uint32,
    "uint16": np.uint16,
    "int32": np.int32,
    "uint64": np.uint64,
}
TYPES |= {"uint8": np.uint8, "float32": np.float32, "float64": np.float64}
FILE = "forgenb_launcher.py"
SWITCHES = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE")


@dataclass(frozen=True)
class Compiled:
    """A launcher in machine code: its C address, its text, and what it cost to get it."""

    name: str
    key: str
    address: int
    text: str
    seconds: float
    cached: bool
    handle: Any


class _Beside(caching._CacheLocator):
    """Numba's index and data lie beside the launcher, in a folder that may be read-only."""

    def __init__(self, file: str):
        self._py_file = file

    def get_cache_path(self):
        return os.path.dirname(self._py_file)

    def get_source_stamp(self):
        return "content-addressed"

    def get_disambiguator(self):
        return "0"

    def ensure_cache_path(self):
        """The store has made the folder, or it is read-only and full already."""

    @classmethod
    def from_function(cls, function, file):
        return cls(file) if os.path.basename(file) == FILE else None


_LOCATORS: list[Any] = caching.CacheImpl._locator_classes
_LOCATORS.insert(0, _Beside)


@functools.cache
def machine() -> tuple:
    """What the code depends on besides the kernel: versions, CPU, and Numba's switches."""
    magic = registry.cpu_target.target_context.codegen().magic_tuple()
    versions = (sys.version, sys.abiflags, numba.__version__, llvmlite.__version__, np.__version__)
    return (*versions, repr(magic), *(getattr(config, name) for name in SWITCHES))


_LIVE: dict[str, Compiled] = {}
_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):  # a child must not begin with the lock of a thread that it lacks
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def compile_kernel(kernel: Kernel, real: str, storage: tuple[str, ...]) -> Compiled:
    """The launcher of `kernel` for float type `real`, from this process, the store, or the compiler."""
    words = primitives_for(TYPES[real])
    bodies = {"body": bind(kernel.body, words, TYPES[real])}
    extras = {**blocks.INTRINSICS, "lanes": words["lanes"]}
    if kernel.form == "map":
        for pair in set(zip(storage, operand_types(kernel, real), strict=True)):
            extras |= {f"{action}_{'_'.join(pair)}": _panel(action, *pair) for action in ("enter", "leave")}
    text = launcher_text(kernel, real, storage)
    return build(f"{kernel.name}-{'-'.join([real, *storage])}", text, bodies, extras)


@functools.cache
def _panel(action: str, stored: str, dtype: str):
    size = np.dtype({"bool_": "bool"}.get(stored, stored)).itemsize
    extras = {"to_panel": TYPES[dtype], "to_storage": TYPES.get(stored)}
    if stored == "float16":
        extras |= half_conversions(TYPES[dtype])
    text = panel_text(action, stored, dtype, size)
    panel = build(f"{action}-{stored}-{dtype}", text, {}, extras | blocks.INTRINSICS, PANEL_SIGNATURE)
    symbol = f"forgenb_{action}_{stored}_{dtype}_{panel.key}"
    llvmlite.binding.add_symbol(symbol, panel.address)
    return blocks.external(symbol)


def build(name: str, text: str, bodies: dict, extras: dict, signature=SIGNATURE, options=OPTIONS) -> Compiled:
    """Compile `text`, which defines ``launch``, with `bodies` and `extras` in its namespace.

    With the option ``nogil`` it is made to be called from Python, by `entry_point`; otherwise it is a C function.
    """
    key = store.digest(machine(), name, text, repr(signature), options, bodies, extras)
    with _LOCK:
        if key not in _LIVE:
            _LIVE[key] = _build(name, key, text, bodies, extras, functools.partial(_decorator(options), signature))
        return _LIVE[key]


def entry_point(found: Compiled) -> Callable:
    """The Python function of what was built with ``nogil``: the one inside Numba's dispatcher, which has one type."""
    (only,) = found.handle.overloads.values()
    return only.entry_point


def _decorator(options: dict[str, Any]) -> Callable:
    return functools.partial(njit if "nogil" in options else cfunc, **options)


def _build(name: str, key: str, text: str, bodies: dict, extras: dict, decorate: Callable) -> Compiled:
    started = time.perf_counter()
    home = f"forgenb_launcher_{key}"
    folder = os.path.join(store.cache_folder(), f"{name}-{key}")
    path = os.path.join(folder, FILE)
    module = sys.modules[home] = types.ModuleType(home)
    module.__dict__.update(TYPES, carray=numba.carray, **extras)
    module.__dict__.update({n: _jit(f, home, {}) for n, f in bodies.items()})
    exec(compile(text, path, "exec"), module.__dict__)
    known = os.path.exists(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaWarning)
        try:
            handle, reason = _stored(path, text, module.launch, decorate), None
        except OSError as error:
            handle, reason = decorate()(module.launch), error
    if reason is not None:
        store.warn_once(reason)
    seconds = time.perf_counter() - started
    return Compiled(name, key, getattr(handle, "address", 0), text, seconds, known and _was_found(handle), handle)


def _was_found(handle: Any) -> bool:
    """Whether Numba loaded it, where it says so (it does unless the store is out of order)."""
    if hasattr(handle, "stats"):
        return bool(handle.stats.cache_hits)
    return getattr(handle, "cache_hits", 1) > 0


def _stored(path: str, text: str, launch, decorate: Callable):
    """`launch` from its folder in the store, or compiled into it; an entry that cannot be read is made anew."""
    folder = os.path.dirname(path)
    prefix = os.path.basename(folder).rpartition("-")[0]
    for again in (True, False):
        if os.path.exists(path):
            try:
                return decorate(cache=True)(launch)
            except Exception:  # a damaged pickle may raise anything
                shutil.rmtree(folder, ignore_errors=True)
        try:
            store.write_whole(path, text)
            store.prune(f"{prefix}-", os.path.basename(folder))
            return decorate(cache=True)(launch)
        except FileNotFoundError:  # another process has removed the folder meanwhile
            if not again:
                raise
    raise AssertionError("unreachable")


def _jit(function: types.FunctionType, home: str, done: dict):
    if function not in done:
        done[function] = None
        names = function.__globals__
        names["__name__"] = function.__module__ = home
        for name, value in list(names.items()):
            if isinstance(value, types.FunctionType):
                names[name] = _jit(value, home, done)
        done[function] = njit(**INNER)(function)
    return done[function]


def compiled() -> list[Compiled]:
    """Every launcher that this process has loaded or compiled, in order."""
    return list(_LIVE.values())


def assembly(launcher: Compiled) -> str:
    """The machine code of a launcher as text."""
    return library(launcher).get_asm_str()


def library(launcher: Compiled) -> Any:
    """What Numba made of a launcher, to look into: compiled anew if it is from the store, which keeps no text."""
    if not _was_found(launcher.handle):
        return launcher.handle._library
    module = sys.modules[f"forgenb_launcher_{launcher.key}"]
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaWarning)
        made: Any = cfunc(SIGNATURE, **OPTIONS)(module.launch)
    return made._library
