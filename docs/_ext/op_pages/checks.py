"""What is measured on one sample of an op: its gradients against differences, its values, and what backward keeps."""

import inspect

import numpy as np

import forgenb as fnb
from forgenb.errors import ForgeError
from forgenb.gradcheck.compare import DIRECTIONS
from forgenb.gradcheck.slopes import Slopes
from forgenb.gradcheck.subject import Subject, signed
from forgenb.ops import TABLE
from forgenb.random import generator
from forgenb.testing.mutation import rules
from forgenb.testing.samples import expected

from .subjects import Shown

MEASURED = 12
"""Entries of an operand that are compared one by one, at even distances; directions go through all."""


def gradients(shown: Shown) -> dict:
    """What `forgenb.gradcheck` says of a sample, and how far each entry is from its difference.

    `failure` is the text of its error, or empty.
    """
    row = TABLE[shown.op]
    try:
        fnb.gradcheck(shown.run, *shown.values, tolerance=row.gradient_tolerance, order=2 if row.second else 1)
    except ForgeError as error:
        return {"failure": f"{type(error).__name__}: {error}"}
    subject = Subject(shown.run, shown.values, 0)
    outputs, pull = subject.pullback()
    cotangents = [signed(generator(0, "gradcheck"), y.shape) for y in outputs]
    slopes = Slopes(subject, outputs, cotangents)
    found = zip(shown.places, pull(cotangents), strict=True)
    rows = [_row(shown.names[place], number, pulled, slopes) for number, (place, pulled) in enumerate(found)]
    return {"failure": "", "rows": rows, "tolerance": row.gradient_tolerance, "directions": DIRECTIONS}


def _row(name: str, number: int, pulled: np.ndarray | None, slopes: Slopes) -> dict:
    value = slopes.subject.values[number]
    gradient = np.zeros(value.shape) if pulled is None else pulled
    largest = float(np.abs(gradient).max(initial=0.0))
    apart, places = 0.0, np.unique(np.linspace(0, value.size - 1, MEASURED).astype(int))
    for place in places:
        direction = np.zeros(value.shape)
        direction.flat[place] = 1.0
        slope = slopes.along(number, direction, slopes.step(number, direction))
        apart = max(apart, abs(slope.central - gradient.flat[place]))
    measured = {"name": name, "entries": len(places), "of": value.size}
    return measured | {"largest": largest, "error": apart / (largest or 1.0)}


def values(shown: Shown) -> dict:
    """The largest distance of the results from the row's NumPy reference, relative to the largest result."""
    outputs = [t.numpy().astype(np.float64) for t in shown.run(*map(fnb.tensor, shown.values))]
    wanted = [np.asarray(w, np.float64) for w in expected(shown.op, shown.sample)]
    largest = max(float(np.abs(w).max(initial=0.0)) for w in wanted)
    apart = max(float(np.abs(y - w).max(initial=0.0)) for y, w in zip(outputs, wanted, strict=True))
    error = apart / (largest or 1.0)
    return {"failure": "" if error < 1e-12 else f"values differ by {error:.3g}", "error": error}


def recorded(shown: Shown) -> dict:
    """The ops that a call records, each tensor that these keep for backward, and the tape as text and as a picture."""
    with fnb.Tape(keep=True) as tape:
        leaves = [
            tape.leaf(fnb.tensor(value, name=shown.names[place]))
            for value, place in zip(shown.values, shown.places, strict=True)
        ]
        outputs = [t for t in shown.run(*leaves) if t.requires_grad]
    kept: dict[int, dict] = {}
    for node in sorted(rules.recorded(outputs), key=lambda node: node.number):
        names = _held(node)
        for t, _ in node.saved:
            row = {"op": node.name, "name": names.get(id(t), "out"), "shape": list(t.shape), "dtype": t.dtype.name}
            kept.setdefault(id(t.memory), {**row, "bytes": t.size * t.dtype.itemsize})
    ops = [entry.op for entry in tape.entries if not entry.leaf]
    for t in outputs:
        tape.backward(t, fnb.tensor(np.ones(t.shape)), retain_graph=True)
    return {"ops": ops, "text": tape.text(), "drawing": str(tape.draw(graphviz=False)), "saved": list(kept.values())}


def _held(node) -> dict[int, str]:
    """The names that the closure of a node knows its tensors by; those of `record_steps` are what its steps take."""
    cells = zip(node.backward.__code__.co_freevars, node.backward.__closure__ or (), strict=True)
    held = {name: cell.cell_contents for name, cell in cells}
    steps = inspect.signature(held["steps"]).parameters if "steps" in held else ()
    found = {}
    for name, content in held.items():
        if isinstance(content, fnb.Tensor):
            found[id(content)] = name
        elif isinstance(content, tuple):
            labels = list(steps) or [f"{name}[{i}]" for i in range(len(content))]
            found |= {id(t): label for t, label in zip(content, labels, strict=False) if isinstance(t, fnb.Tensor)}
    return found
