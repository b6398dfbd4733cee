"""Kernels as PTX and as machine code, made without a driver and without a GPU.

Numba translates, NVVM compiles to PTX, and nvJitLink assembles it for one architecture and reports what it takes.
Contraction is off (NVVM's default would fuse ``a * b + c`` behind the body's back), so that bits agree with the CPU's.
"""

from __future__ import annotations

import re
import types
from dataclasses import dataclass

import numpy as np
from cuda.bindings import nvjitlink
from numba import cuda
from numba.cuda import compiler
from numba.cuda import types as nt

OPTIONS = {"opt": 3, "fma": False}
TYPES = {"int64": np.int64, "bool_": np.bool_, "uint32": np.uint32, "uint16": np.uint16, "int32": np.int32}
TYPES |= {"uint8": np.uint8, "float32": np.float32, "float64": np.float64}


def compile_text(text: str, names: dict, slots: str, cc: tuple[int, int]) -> str:
    """PTX of the function ``launch`` that `text` defines.

    Parameters
    ----------
    text : str
        Source of the launcher.
    names : dict
        What it refers to; plain functions are inlined.
    slots : str
        One letter a parameter, q for int64 and d for float64.
    cc : tuple of int
        The compute capability, such as ``(9, 0)``.
    """
    scope = {**TYPES, **inlined(names)}
    exec(compile(text, "<launcher>", "exec"), scope)
    signature = nt.void(*(nt.float64 if slot == "d" else nt.int64 for slot in slots))
    result = compiler.compile_cuda(scope["launch"], nt.void, signature.args, nvvm_options=OPTIONS, cc=cc)
    kernel = result.library.get_function(result.fndesc.llvm_func_name)
    result.library._entry_name = result.fndesc.llvm_func_name
    compiler.kernel_fixup(kernel, False)
    (code,) = result.library.get_asm_strs(cc=cc)
    return renamed(code)


def renamed(code: str) -> str:
    """The PTX with its entry called ``launch``: Numba's own name differs from process to process."""
    entry = re.findall(r"\.entry\s+(\w+)", code)[0]
    return code.replace(f"NumbaEnv{entry.removeprefix('_ZN')}", "environment").replace(entry, "launch")


def inlined(names: dict) -> dict:
    """`names` with plain functions, and those they call, as device functions that Numba inlines.

    Inlining in Numba's own representation needs no current device, which compiling nested functions does.
    """
    done: dict = {}
    return {name: _inlined(value, done) for name, value in names.items()}


def _inlined(value, done: dict):
    if not isinstance(value, types.FunctionType):
        return value
    if value not in done:
        scope = dict(value.__globals__)
        clone = types.FunctionType(value.__code__, scope, value.__name__)
        done[value] = cuda.jit(device=True, inline="always")(clone)
        for name in value.__code__.co_names:
            if name in scope:
                scope[name] = _inlined(scope[name], done)
    return done[value]


@dataclass(frozen=True)
class Resources:
    """What nvJitLink reports of one kernel on one architecture."""

    registers: int
    spilled: int
    shared: int
    local: int


def assemble(code: str, cc: tuple[int, int]) -> tuple[bytes, Resources]:
    """Machine code of PTX for one architecture, and what it takes."""
    options = [f"-arch=sm_{cc[0]}{cc[1]}", "-Xptxas=-v", "-verbose"]
    handle = nvjitlink.create(len(options), options)
    try:
        data = code.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "launch")
        nvjitlink.complete(handle)
        binary = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, binary)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    return bytes(binary), _resources(log.decode(errors="replace"))


def _resources(log: str) -> Resources:
    def number(pattern: str) -> int:
        found = re.search(pattern, log)
        return int(found[1]) if found else 0

    spilled = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
    return Resources(
        number(r"Used (\d+) registers"), spilled, number(r"(\d+) bytes smem"), number(r"(\d+) bytes stack")
    )
