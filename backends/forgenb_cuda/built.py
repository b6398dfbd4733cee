"""Programs for a GPU, kept: PTX, machine code and what it takes, in the content-addressed store."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import json
import os
import sys
import time
from dataclasses import dataclass

import numpy as np
from numba.cuda.core.compiler_lock import global_compiler_lock

from forgenb.kernel import cache as store

from . import device, ptx
from .program import Plan


@dataclass(frozen=True)
class Program:
    """A launcher in PTX and in machine code for one architecture."""

    name: str
    key: str
    text: str
    seconds: float
    cached: bool
    code: str
    binary: bytes
    resources: ptx.Resources


@functools.cache
def versions() -> tuple[str, ...]:
    """What the code depends on besides the kernel and the architecture."""
    wheels = ("numba-cuda", "numba", "llvmlite", "nvidia-nvvm", "nvidia-nvjitlink")
    found = []
    for wheel in wheels:
        try:
            found.append(importlib.metadata.version(wheel))
        except importlib.metadata.PackageNotFoundError:
            found.append("none")
    return sys.version, np.__version__, *found


def program(plan: Plan, cc: tuple[int, int]) -> Program:
    """Build `plan` for compute capability `cc`, or take it from the store."""
    started = time.perf_counter()
    names = plan.names(device.primitives_for(plan.real), device.LAUNCHER)
    name = f"cuda-{plan.name}-sm_{cc[0]}{cc[1]}"
    key = store.digest(versions(), plan.text, plan.slots, cc, repr(ptx.OPTIONS), {k: names[k] for k in sorted(names)})
    folder = os.path.join(store.cache_folder(), f"{name}-{key}")
    kept = _kept(folder)
    with global_compiler_lock:
        code, binary, resources = kept or _kept(folder) or _made(plan, names, cc, name, folder)
    seconds = time.perf_counter() - started
    return Program(plan.name, key, plan.text, seconds, kept is not None, code, binary, resources)


def _made(plan: Plan, names: dict, cc: tuple[int, int], name: str, folder: str) -> tuple:
    code = ptx.compile_text(plan.text, names, plan.slots, cc)
    binary, resources = ptx.assemble(code, cc)
    try:
        store.write_whole(os.path.join(folder, "launch.py"), plan.text)
        store.write_whole(os.path.join(folder, "launch.ptx"), code)
        record = {"cubin": binary.hex(), "resources": dataclasses.asdict(resources)}
        store.write_whole(os.path.join(folder, "launch.json"), json.dumps(record))
        store.prune(f"{name}-", os.path.basename(folder))
    except OSError as reason:
        store.warn_once(reason)
    return code, binary, resources


def _kept(folder: str) -> tuple | None:
    try:
        with open(os.path.join(folder, "launch.ptx"), encoding="utf-8") as file:
            code = file.read()
        with open(os.path.join(folder, "launch.json"), encoding="utf-8") as file:
            record = json.load(file)
        return code, bytes.fromhex(record["cubin"]), ptx.Resources(**record["resources"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
