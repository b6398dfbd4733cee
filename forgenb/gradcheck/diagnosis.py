"""Names the usual mistake that makes a wrong gradient's numbers agree, or says that none does.

The table is in order of simplicity, and the first mistake that agrees is named. Each is an object of the files in
`mistakes/`: a name, a sentence for the student, and a test of the numbers. A mistake that fits only in part, or
whose test has too few entries to tell it from chance, is not named.

Imports the evidence and the mistakes; nothing here computes a difference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import MisfitError
from .evidence import MOST, Evidence, fits
from .mistakes import arguments, axes, incoming, masks, one_term, pieces, places, points, scale, terms, values
from .mistakes.mistake import Mistake
from .subject import Arrays, Subject

NOT_LINEAR: tuple[Mistake, ...] = (masks.OF_INCOMING, *incoming.NOT_LINEAR)
"""Tried on rules that are not linear in the incoming gradient, and those alone."""
LINEAR: tuple[Mistake, ...] = (
    scale.ZERO,
    incoming.MERGED,
    *masks.MISTAKES,
    arguments.SWAPPED,
    scale.SIGN,
    arguments.WRONG,
    arguments.EXCHANGED,
    scale.MEAN,
    scale.SUM,
    scale.FACTOR,
    scale.MEAN_OF_CONTRIBUTIONS,
    incoming.MERGED_VALUES,
    terms.OWN_ONLY,
    terms.TWICE,
    one_term.SIDE,
    terms.WITHOUT_SIGNS,
    pieces.LOOP,
    *places.MISTAKES,
    axes.PLACED,
    *pieces.MISTAKES,
    *places.INDEXED,
    masks.SHIFTED,
    masks.ANOTHER,
    one_term.TRANSPOSED,
    terms.ONE_SIGN,
    *points.OTHER_VALUES,
    pieces.SHIFTED,
    *axes.MISTAKES,
    values.TOTAL,
    *points.MISTAKES,
    one_term.PRODUCT_RULE,
    *values.SIMPLE,
    points.OF_FUNCTIONS,
    *masks.OF_FUNCTIONS,
    *one_term.MISTAKES,
    *terms.INSIDE,
    values.WRONG,
    *terms.PRODUCTS,
    *values.OTHERS,
    *terms.LAST,
)
MISTAKES = NOT_LINEAR + LINEAR
BROADCAST = Mistake("broadcast", "The usual mistake: the gradient is not summed over the broadcast axes {axes}.")
"""Seen by its shape, before any number is compared."""

NONE = "No usual mistake explains the numbers."


class Diagnosis(NamedTuple):
    """The name of a mistake or None, a sentence for the student, and the shapes of the outputs."""

    mistake: str | None
    text: str
    shapes: str


def diagnose(subject: Subject, outputs: Arrays, cotangents: Arrays, number: int, tolerance: float) -> Diagnosis:
    """The first mistake of the table that makes the numbers of one input's gradient agree."""
    shapes = ", ".join(str(y.shape) for y in outputs)
    if not fits(subject, outputs):
        return Diagnosis(None, f"To have usual mistakes tried, check inputs of {MOST} entries at most.", shapes)
    evidence = Evidence(subject, cotangents, number, tolerance)
    if not all(np.isfinite(found).all() for found in (*evidence.trues, *evidence.rules)):
        return Diagnosis(None, "Usual mistakes are tried where all derivatives are finite.", shapes)
    named = explained(evidence)
    if named is None:
        return Diagnosis(None, NONE, shapes)
    mistake, words = named
    return Diagnosis(mistake.name, f"The usual mistake: {mistake.sentence.format(**words)}", shapes)


def explained(evidence: Evidence) -> tuple[Mistake, dict[str, Any]] | None:
    """The first mistake that agrees, and the words that complete its sentence."""
    for mistake in LINEAR if evidence.linear else NOT_LINEAR:
        words = mistake.test(evidence)
        if words is not None:
            return mistake, words
    return None


def misfit(error: MisfitError) -> tuple[str | None, str]:
    """The name of the mistake behind a gradient of another shape, and a sentence about it."""
    found, wanted = error.found, error.wanted
    missing = len(found) - len(wanted)
    if missing >= 0 and found != wanted:
        axes = [a for a in range(len(found)) if a < missing or (wanted[a - missing] == 1 and found[a] != 1)]
        if all(found[a] == wanted[a - missing] for a in range(len(found)) if a not in axes):
            return BROADCAST.name, BROADCAST.sentence.format(axes=tuple(axes))
    if found != wanted and sorted(found) == sorted(wanted):
        return "transpose", "The usual mistake: the gradient is not transposed back."
    if [n for n in found if n != 1] == [n for n in wanted if n != 1]:
        return "kept-axes", "The usual mistake: axes of length 1 are lost or added, as by keepdims."
    if len(found) < len(wanted) and _part_of(found, wanted):
        return "not-spread", "The usual mistake: the gradient is not spread back over the axes that forward reduced."
    return None, "Each gradient has its input's shape and dtype."


def _part_of(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether leaving out axes of one shape gives the other."""
    left = iter(wanted)
    return all(n in left for n in found)
