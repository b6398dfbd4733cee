"""forgenb's reading of a GPT-2's folder."""

from __future__ import annotations

import numpy as np

from forgenb.backend import get_backend
from forgenb.models import GPT

from .with_forgenb import PACKAGES

__all__ = ["PACKAGES", "forget", "load", "numbers"]


def load(contender: str, folder: str) -> GPT:
    """The model of a folder."""
    return GPT.from_pretrained(folder)


def numbers(model: GPT) -> list[np.ndarray]:
    """Its parameters."""
    return [parameter.numpy() for parameter in model.parameters()]


def forget() -> None:
    """Give the memory of models that are gone back to the system."""
    release = getattr(get_backend(), "release_cached", None)
    if release is not None:
        release()
