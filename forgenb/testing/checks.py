"""The checks of the kit. Each takes an op's name and one sample, and returns the largest ulp distance it saw, or None.

A check that fails raises: `Failed` with what was wrong, or whatever the op or the plug-in raised.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..backend import stats
from ..creation import tensor
from ..errors import IndexRangeError
from ..ops import TABLE
from ..tensor import Tensor
from .bounds import Bound
from .layouts import LAYOUTS
from .samples import Sample, backward, bits, call, cotangent, differentiable, expected, leaves, ruled_dtype
from .ulps import Mismatch, ulps

SLOPE = 1e-6
"""Largest relative error of a derivative along a line, from extrapolated differences of the reference."""


class Failed(Exception):
    """What a backend got wrong, without the op and the shapes, which the kit adds."""


class Setting(NamedTuple):
    """What a check needs to know besides its sample."""

    name: str
    dtype: str
    forward: Bound
    gradient: Bound


def compare(outputs, references, bound: Bound, what: str = "result", scale: float = 0.0) -> float:
    """The largest ulp distance of the outputs from their references, within a bound."""
    if len(outputs) != len(references):
        raise Failed(f"it gives {len(outputs)} results, the reference {len(references)}")
    largest = 0.0
    for number, (out, reference) in enumerate(zip(outputs, references, strict=True)):
        label = f"{what} {number}" if len(outputs) > 1 else what
        found = out.numpy()
        if (found.dtype, found.shape) != (out.dtype, out.shape):
            raise Failed(f"{label}: a tensor {out.shape} of {out.dtype} reads back as {found.shape} of {found.dtype}")
        try:
            distance = ulps(found, reference, bound.of, scale)
        except Mismatch as difference:
            raise Failed(f"{label}: {difference}") from None
        if distance > bound.ulps:
            raise Failed(f"{label}: off by {distance:.3g} ulp of the {bound.of}, allowed are {bound.ulps:g}")
        largest = max(largest, distance)
    return largest


def largest_of(sample: Sample) -> float:
    """The largest number among the operands that are real numbers."""
    return max((float(np.abs(sample.arrays[p]).max(initial=0)) for p in sample.reals), default=0.0)


def forward(setting: Setting, sample: Sample) -> float:
    """The results agree with the reference in float64 on inputs that are rounded already."""
    outputs = call(setting.name, [tensor(a) for a in sample.arrays], sample)
    wanted = ruled_dtype(setting.name, sample) if sample.reals else None
    for out in outputs if sample.reals else ():
        if out.dtype != wanted:
            raise Failed(f"its result is {out.dtype.name}, the table of result dtypes says {wanted}")
    return compare(outputs, expected(setting.name, sample), setting.forward, scale=largest_of(sample))


def relaid(sample: Sample):
    """(layout's name, place, tensors with that operand laid out otherwise, the same tensors without gaps)."""
    for place, array in enumerate(sample.arrays):
        if array.dtype.kind == "f" and array.size > 1:
            for label, layout in LAYOUTS.items():
                tensors = [tensor(a) for a in sample.arrays]
                straight = list(tensors)
                tensors[place] = layout(array)
                straight[place] = tensor(tensors[place])
                yield label, place, tensors, straight


def forward_of_layouts(setting: Setting, sample: Sample) -> float:
    """The results agree with the reference, and have the bits that inputs without gaps give.

    A broadcast operand makes rows of one value, where ops such as layernorm have no bound; there the bits must do.
    """
    largest, scale = 0.0, largest_of(sample)
    for label, place, tensors, straight in relaid(sample):
        found = call(setting.name, tensors, sample)
        reference = expected(setting.name, sample.changed(place, straight[place].numpy()))
        if label != "broadcast":
            largest = max(
                largest, compare(found, reference, setting.forward, f"operand {place} {label}: result", scale)
            )
        if bits(found) != bits(call(setting.name, straight, sample)):
            raise Failed(f"operand {place} {label}: other bits than without gaps")
    return largest


def gradients(name: str, sample: Sample) -> list[Tensor | None]:
    """Gradients of the operands that have one, for one fixed cotangent."""
    inputs = leaves(name, sample)
    backward(call(name, inputs, sample))
    return [inputs[p].grad for p in differentiable(name, sample)]


def gradient(setting: Setting, sample: Sample) -> float | None:
    """In float64 against the reference along a random direction; in a shorter dtype against float64."""
    found = gradients(setting.name, sample)
    if setting.dtype == "float64":
        _along_a_line(setting.name, sample, found)
        return None
    wanted = gradients(setting.name, sample.cast("float64"))
    largest = 0.0
    for place, short, long in zip(differentiable(setting.name, sample), found, wanted, strict=True):
        if short is None or long is None:
            if short is not long:
                raise Failed(f"operand {place}: a gradient in one of {setting.dtype} and float64 only")
            continue
        if short.dtype.name != setting.dtype:
            raise Failed(f"operand {place}: its gradient is {short.dtype.name}")
        label = f"gradient of operand {place}"
        largest = max(largest, compare((short,), (np.asarray(long.numpy()),), setting.gradient, label))
    return largest


def _along_a_line(name: str, sample: Sample, found) -> None:
    rng = np.random.default_rng(1)
    places = differentiable(name, sample)
    directions = [rng.uniform(-1, 1, sample.arrays[p].shape) for p in places]
    outputs = call(name, [tensor(a) for a in sample.arrays], sample)
    cotangents = [cotangent(t, number).numpy() for number, t in enumerate(outputs)]

    def at(t):
        moved = sample
        for place, direction in zip(places, directions, strict=True):
            moved = moved.changed(place, sample.arrays[place] + t * direction)
        return sum(np.vdot(r, c) for r, c in zip(expected(name, moved), cotangents, strict=True))

    wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (2e-4, 1e-4))
    wanted = (4 * narrow - wide) / 3
    terms = [g.numpy() * d for g, d in zip(found, directions, strict=True) if g is not None]
    slope, size = sum(t.sum() for t in terms), sum(np.abs(t).sum() for t in terms)
    if not abs(slope - wanted) <= max(SLOPE, TABLE[name].gradient_tolerance) * max(size, 1e-3):
        raise Failed(f"the derivative along a random line is {slope:.9g}, that of the reference {wanted:.9g}")


def gradient_of_layouts(setting: Setting, sample: Sample) -> float:
    """The gradients are those of inputs without gaps."""
    largest = 0.0
    for label, place, *pair in relaid(sample):
        found = []
        for tensors in pair:
            for p in differentiable(setting.name, sample):
                tensors[p] = tensors[p].detach()
                tensors[p].requires_grad = True
            backward(call(setting.name, tensors, sample))
            found.append([tensors[p].grad for p in differentiable(setting.name, sample)])
        for p, (relaid_grad, straight_grad) in enumerate(zip(*found, strict=True)):
            if relaid_grad is not None and straight_grad is not None:
                what = f"operand {place} {label}: gradient {p}"
                largest = max(largest, compare((relaid_grad,), (straight_grad.numpy(),), setting.gradient, what))
    return largest


def accumulation(setting: Setting, sample: Sample) -> None:
    """A second sweep adds to a leaf's gradient: exactly twice the first."""
    inputs = leaves(setting.name, sample)
    for out in call(setting.name, inputs, sample):
        if not out.requires_grad:
            continue
        for t in inputs:
            if t.requires_grad:
                t.grad = None
        sweeps = []
        for _ in range(2):
            out.backward(cotangent(out), retain_graph=True)
            grads = {p: inputs[p].grad for p in differentiable(setting.name, sample)}
            sweeps.append({p: np.array(grad.numpy()) for p, grad in grads.items() if grad is not None})
        for place, once in sweeps[0].items():
            if not np.array_equal(sweeps[1][place], 2 * once, equal_nan=True):
                raise Failed(f"operand {place}: after two sweeps the gradient is not twice that of one")


def determinism(setting: Setting, sample: Sample) -> None:
    """Three runs give the same bits, forward and backward."""
    runs = []
    for _ in range(3):
        inputs = leaves(setting.name, sample)
        outputs = call(setting.name, inputs, sample)
        backward(outputs)
        runs.append((bits(outputs), bits([t.grad for t in inputs if t.requires_grad])))
    for what, found in zip(("results", "gradients"), zip(*runs, strict=True), strict=True):
        if any(other != found[0] for other in found[1:]):
            raise Failed(f"{what} differ from run to run")


def special_values(setting: Setting, sample: Sample) -> float:
    """NaN and infinities in an operand come out where the reference has them; all else stays within the bound."""
    largest, scale = 0.0, largest_of(sample)
    for place, array in enumerate(sample.arrays):
        if array.dtype.kind != "f" or array.size == 0:
            continue
        for value in (np.nan, np.inf, -np.inf):
            special = array.copy()
            special.flat[array.size // 2] = value
            moved = sample.changed(place, special)
            found = call(setting.name, [tensor(a) for a in moved.arrays], sample)
            label = f"{value} in operand {place}: result"
            largest = max(largest, compare(found, expected(setting.name, moved), setting.forward, label, scale))
    return largest


def aliasing(setting: Setting, sample: Sample) -> None:
    """Results and gradients have memory of their own, unless the op documents a view, and keep their values."""
    name = setting.name
    may_alias = any(word in (TABLE[name].function.__doc__ or "").lower() for word in ("view", "itself"))
    inputs = leaves(name, sample)
    given = [t.memory for t in inputs]
    outputs = call(name, inputs, sample)
    before = bits(outputs)
    backward(outputs)
    grads = [t.grad for t in inputs if t.grad is not None]
    others = call(
        name, [tensor(a + a) if p in sample.reals else tensor(a) for p, a in enumerate(sample.arrays)], sample
    )
    if bits(outputs) != before:
        raise Failed("a later call changed the results of an earlier one")
    if not may_alias and any(t.memory is m for t in outputs for m in given):
        raise Failed("a result is an operand's memory, which its documentation does not say")
    if len({id(t.memory) for t in grads}) != len(grads):
        raise Failed("two gradients share their memory")
    blocks = {id(t.memory): t.memory for t in (*inputs, *outputs, *grads, *others)}
    spans = sorted((m.address, m.address + m.nbytes) for m in blocks.values() if m.nbytes)
    if any(start < end for (_, end), (start, _) in itertools.pairwise(spans)):
        raise Failed("two blocks of memory that are in use overlap")


def inputs_unchanged(setting: Setting, sample: Sample) -> None:
    """Operands, made from read-only arrays with negative strides, keep values and versions and read back unwritable."""
    name = setting.name
    sources = [np.flip(np.flip(a).copy()) if a.ndim else a.copy() for a in sample.arrays]
    for a in sources:
        a.flags.writeable = False
    inputs = leaves(name, Sample(sources, sample.keywords, sample.reals))
    backward(call(name, inputs, sample))
    for place, (t, array) in enumerate(zip(inputs, sample.arrays, strict=True)):
        found = t.numpy()
        if t.memory.version or found.tobytes() != array.tobytes():
            raise Failed(f"operand {place} was changed")
        if found.flags.writeable:
            raise Failed(f"operand {place} reads back as an array that can be written")


def in_place(setting: Setting, sample: Sample) -> None:
    """An op in place writes its first operand, says so by its version, and changes no other."""
    inputs = [tensor(a) for a in sample.arrays]
    outputs = call(setting.name, inputs, sample)
    if len(outputs) != 1 or outputs[0] is not inputs[0]:
        raise Failed("its result is not its first operand")
    if not inputs[0].memory.version:
        raise Failed("the version of its first operand has not grown")
    for place, (t, array) in enumerate(zip(inputs, sample.arrays, strict=True)):
        if place and (t.memory.version or t.numpy().tobytes() != array.tobytes()):
            raise Failed(f"operand {place} was changed")


def ids(setting: Setting, sample: Sample) -> None:
    """An id out of range raises IndexRangeError before any kernel runs."""
    sizes = [d for a in sample.arrays for d in a.shape]
    sizes += [v for v in sample.keywords.values() if type(v) is int]
    for place in id_places(sample):
        for value in (-1 - max(sizes), max(sizes)):
            wrong = sample.arrays[place].copy()
            wrong.flat[wrong.size - 1] = value
            tensors = [tensor(a) for a in sample.changed(place, wrong).arrays]
            before = stats()
            try:
                call(setting.name, tensors, sample)
            except IndexRangeError:
                if stats().since(before).launches:
                    raise Failed(f"operand {place}: id {value} was found after a launch") from None
                continue
            raise Failed(f"operand {place}: id {value} is out of range and was taken")


def id_places(sample: Sample) -> list[int]:
    """Places of integer operands beside float ones: ids, which point into them."""
    if not sample.reals:
        return []
    return [p for p, a in enumerate(sample.arrays) if a.dtype.kind == "i" and a.size and p not in sample.reals]


Check = Callable[[Setting, Sample], float | None]

FORWARD: dict[str, Check] = {
    "forward": forward,
    "gradient": gradient,
    "accumulation": accumulation,
    "determinism": determinism,
    "special values": special_values,
    "aliasing": aliasing,
    "inputs": inputs_unchanged,
    "ids": ids,
}
LAID_OUT: dict[str, Check] = {"forward": forward_of_layouts, "gradient": gradient_of_layouts}
IN_PLACE: dict[str, Check] = {
    "forward": forward,
    "determinism": determinism,
    "special values": special_values,
    "in place": in_place,
    "ids": ids,
}


def checks_of(name: str, dtype: str, shape_class: str, found: tuple[Sample, ...]) -> dict[str, Check]:
    """The checks that apply to an op in one dtype on samples of one shape class."""
    chosen = dict(IN_PLACE if TABLE[name].in_place else LAID_OUT if shape_class == "non-contiguous" else FORWARD)
    if not any(differentiable(name, s) for s in found):
        chosen = {k: c for k, c in chosen.items() if k not in ("gradient", "accumulation")}
    if not any(map(id_places, found)):
        chosen.pop("ids", None)
    if np.dtype(dtype).kind != "f" or shape_class == "empty":
        chosen.pop("special values", None)
    return chosen
