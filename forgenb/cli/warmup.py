"""``forgenb warmup``: compile now what later runs would compile first.

Imports the op table and the training command; no op is named here, so that none is forgotten.
"""

import string
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import forgenb as fnb
from forgenb.backend import get_backend, use
from forgenb.backend.progress import told
from forgenb.cli.common import Commands, say, say_json
from forgenb.kernel.cache import cache_folder
from forgenb.ops.table import TABLE, Op

__all__ = ["add_to"]

DTYPES = ("float32", "float64")
LARGE = 200_000
"""Elements of a launch that is split over threads."""


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "warmup",
        help="compile all kernels now",
        description="Compile what training and every op need, so that no later run waits for it.",
    )
    parser.add_argument("--backend", metavar="NAME", help="which backend (default the one in use)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Run every op and a step of training once, on tiny inputs."""
    backend = get_backend(arguments.backend)
    began = time.perf_counter()
    tasks = list(_tasks())
    with use(backend.name):
        for task in _shown(tasks, hidden=arguments.json or not sys.stdout.isatty()):
            task()
    kernels = backend.compiled() if hasattr(backend, "compiled") else []
    fresh = sum(not kernel.cached for kernel in kernels)
    seconds = time.perf_counter() - began
    if arguments.json:
        say_json({"kernels": len(kernels), "compiled": fresh, "seconds": seconds, "cache": cache_folder()})
    else:
        say(f"{len(kernels)} kernels are ready, {fresh} compiled now, in {seconds:.1f} s; kept in:")
        say(cache_folder())
    return 0


def _shown(tasks: list[tuple[str, Callable]], hidden: bool) -> Iterator[Callable]:
    if hidden:
        yield from (task for _, task in tasks)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    with (
        told(lambda text: None),
        Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()) as progress,
    ):
        line = progress.add_task("compiling", total=len(tasks))
        for name, task in tasks:
            progress.update(line, description=name)
            yield task
            progress.advance(line)


def _tasks() -> Iterator[tuple[str, Callable]]:
    for name, row in TABLE.items():
        for dtype in DTYPES:
            yield name, lambda row=row, dtype=dtype: _run_op(row, dtype)
    yield "threads", _run_large
    yield "training", _run_training


def _run_op(row: Op, dtype: str) -> None:
    """One op forward and, where it is differentiable, backward, on all samples of its row."""
    for arrays, keywords in row.samples(np.random.default_rng(0)):
        inputs = [_operand(array, dtype, place in row.differentiable) for place, array in enumerate(arrays)]
        found = row.function(*inputs, **keywords)
        for out in found if isinstance(found, tuple) else (found,):
            if isinstance(out, fnb.Tensor) and out.requires_grad and not row.in_place:
                out.backward(fnb.tensor(np.ones(out.shape, out.dtype)), retain_graph=True)


def _operand(array: Any, dtype: str, tracked: bool) -> Any:
    if not isinstance(array, np.ndarray | np.generic):
        return array
    real = array.dtype.kind == "f"
    return fnb.tensor(array.astype(dtype) if real else array, requires_grad=real and tracked)


def _run_large() -> None:
    x = fnb.tensor(np.ones(LARGE, np.float32))
    TABLE["add"].function(x, x)


def _run_training() -> None:
    """A step of ``forgenb train`` as its options are by default, and with dropout, then a few characters more."""
    from forgenb.models import generate
    from forgenb.train import CharRun, TrainConfig

    with TemporaryDirectory() as folder:
        text = Path(folder, "text")
        text.write_text(string.printable * 10, encoding="utf-8")
        for dropout in (0.0, 0.1):
            config = TrainConfig(str(text), steps=1, dropout=dropout, backend=get_backend().name)
            run = CharRun.start(config, Path(folder, f"{dropout}"))
            for _ in run.steps():
                generate(run.model, [0], 2)
