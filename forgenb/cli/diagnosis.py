"""Facts about this installation, and what in them would be slow.

Imports what it reports on; it prints nothing and changes nothing. `doctor` shows what is found here.
"""

import contextlib
import importlib.metadata
import os
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path

from forgenb.backend import backends, get_backend
from forgenb.backend.host import cores
from forgenb.errors import ForgeError
from forgenb.kernel.cache import cache_folder

__all__ = ["diagnose", "problems"]

PACKAGES = ("numba", "llvmlite", "numpy", "scipy", "safetensors", "rich", "numba-cuda", "mkl", "mpi4py")
FEATURES = "sse4.2 avx avx2 fma f16c avx512f avx512bw avx512dq avx512vl neon sve"
AVX2_CORES = ("haswell", "zen", "excavator")
AVX512_CORES = ("skylakex", "cooperlake", "sapphirerapids")
UNAVAILABLE = "is not available here"
VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_DISABLE_JIT", "NUMBA_OPT")


def diagnose() -> dict:
    """Return everything that ``forgenb doctor`` shows, as JSON can hold it."""
    from forgenb import __version__

    report, failure = _report()
    found = {
        "forgenb": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": dict(_packages()),
        "cpu": _cpu(),
        "threads": report.pop("threads", None),
        "blas": report,
        "cache": _cache(),
        "backends": backends(ask=True),
        "processes": _processes(),
        "environment": _environment(),
    }
    found["problems"] = [*failure, *problems(found)]
    return found


def _report() -> tuple[dict, list[dict[str, str]]]:
    """What the backend in use says of itself, or why it cannot be used."""
    try:
        target = get_backend()
        report = dict(getattr(target, "report", dict)())
        speeds: dict[str, float] = getattr(target, "product_speeds", dict)()
        return report | ({"gflops": speeds} if speeds else {}), []
    except ForgeError as error:
        fix = "choose another backend (FORGENB_BACKEND), or mend this one as its message says"
        return {}, [{"problem": str(error), "fix": fix}]


def _packages() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def _environment() -> dict[str, str]:
    names = sorted(name for name in os.environ if name in VARIABLES or name.startswith("FORGENB_"))
    return {name: os.environ[name] for name in names}


def _cpu() -> dict:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    return {
        "name": llvm.get_host_cpu_name(),
        "cores": cores(),
        "features": [name for name in FEATURES.split() if features.get(name)],
    }


def _cache() -> dict:
    folder = Path(cache_folder())
    entries = size = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            entries += entry.is_dir()
            size += _size(entry)
    return {"folder": str(folder), "writable": _writable(folder), "entries": entries, "bytes": size}


def _processes() -> dict[str, str | None]:
    """What starts several processes that train together, or what is missing for it."""
    from forgenb.bench import launcher

    found, missing = launcher()
    return {"mpiexec": found or None, "missing": missing}


def _size(entry: os.DirEntry[str]) -> int:
    """Bytes of the files in a folder, of those that are still there."""
    total = 0
    with contextlib.suppress(OSError):
        for file in os.scandir(entry.path):
            total += file.stat().st_size
    return total


def _writable(folder: Path) -> bool:
    """Whether a file can be made in a folder, or in the one in which it would be made."""
    there = next((place for place in (folder, *folder.parents) if os.path.exists(place)), None)
    try:
        with tempfile.TemporaryFile(dir=there):
            return True
    except OSError:
        return False


def problems(found: dict) -> Iterator[dict[str, str]]:
    """What in a diagnosis would be slow or wrong, each with its remedy."""
    for problem, fix in (*_blas_problems(found), *_other_problems(found)):
        yield {"problem": problem, "fix": fix}


def _blas_problems(found: dict) -> Iterator[tuple[str, str]]:
    if found["blas"].get("products") == "tile":
        return
    features, core = found["cpu"]["features"], found["blas"].get("core", "unknown")
    if core == "unknown":
        return
    chosen = found["environment"].get("OPENBLAS_CORETYPE")
    remedy = "unset OPENBLAS_CORETYPE" if chosen else "set OPENBLAS_CORETYPE"
    if "avx512f" in features and core.lower() not in AVX512_CORES:
        yield (
            f"BLAS uses its {core} kernels on a processor with AVX-512; products take twice as long.",
            f"{remedy}, or set it to SkylakeX." if chosen else f"{remedy}=SkylakeX.",
        )
    elif "avx2" in features and core.lower() not in AVX2_CORES + AVX512_CORES:
        yield (
            f"BLAS uses its {core} kernels on a processor with AVX2; products take several times as long.",
            f"{remedy}, or set it to Haswell." if chosen else f"{remedy}=Haswell.",
        )


def _other_problems(found: dict) -> Iterator[tuple[str, str]]:
    cache, threads, cores = found["cache"], found["threads"], found["cpu"]["cores"]
    if not cache["writable"]:
        yield (
            f"The kernel cache {cache['folder']} cannot be written: every process compiles its kernels anew.",
            "name a folder that can be written in FORGENB_CACHE.",
        )
    if threads == 1 and cores > 1:
        yield f"One thread is used on {cores} cores.", f"unset FORGENB_THREADS, or set it to {cores}."
    if threads is not None and threads > cores:
        yield f"{threads} threads share {cores} cores.", f"set FORGENB_THREADS={cores}."
    if cores == 1:
        yield "This process may run on one core only.", "give it more (taskset, or the container's limits)."
    if found["environment"].get("NUMBA_DISABLE_JIT", "0") != "0":
        yield "NUMBA_DISABLE_JIT is set, so nothing is compiled.", "unset it."
    for row in found["backends"]:
        if row["state"] == "broken" and UNAVAILABLE not in row["reason"]:
            name, owner = row["name"], row["distribution"]
            yield f"The backend {name!r} is broken: {row['reason']}", f"update or uninstall {owner}."
