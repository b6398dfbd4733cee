"""A record of an id as an object of JSON: for one line of a file.

Imports the records of `trace`; text comes from the caller, and files are the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from .trace import LayerDetail, StepTrace

__all__ = ["trace_object"]


def trace_object(record: StepTrace, text_of: Callable[[int], str]) -> dict[str, Any]:
    """A record as plain objects; arrays are nested lists of the shortest decimals that give the same numbers.

    Parameters
    ----------
    record : StepTrace
        What was not asked for is left out.
    text_of : callable
        The text of an id.
    """
    found: dict[str, Any] = {name: getattr(record, name) for name in ("row", "position", "chosen")}
    found["text"] = text_of(record.chosen)
    found["shortlist"] = [{"id": i, "text": text_of(i), "probability": share} for i, share in record.shortlist]
    for name in ("attention", "embedding"):
        if getattr(record, name) is not None:
            found[name] = _numbers(getattr(record, name))
    if record.layers:
        names = [field.name for field in fields(LayerDetail)]
        found["layers"] = [{name: _numbers(getattr(detail, name)) for name in names} for detail in record.layers]
    if record.hidden is not None:
        found["hidden"] = _numbers(record.hidden)
    return found


def _numbers(array: np.ndarray) -> list:
    """The elements, whose float32 or float16 would grow digits as Python's floats."""
    return array.astype(str).astype(float).tolist()
