"""What a submission has replaced in the libraries that judges call.

Imports the standard library. It sees functions, methods and classes that stand under a name; whoever hides better is
not found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

LIBRARIES = frozenset({"builtins", "math", "numpy", "numpy.linalg"})

Names = dict[tuple[str, str], tuple[Any, Any]]
"""Owner and name -> the owner itself, and what stands under the name."""


def snapshot() -> Names:
    """Everything callable under the names of NumPy, `math`, the builtins and forgenb, its classes included."""
    return {
        (called, name): (owner, value)
        for called, owner in _owners()
        for name, value in list(vars(owner).items())
        if callable(value) or isinstance(value, property)
    }


def put_back(before: Names) -> list[str]:
    """Undo what was replaced since, and return the dotted names."""
    changed = []
    for (called, name), (owner, value) in before.items():
        if vars(owner).get(name) is not value:
            setattr(owner, name, value)
            changed.append(f"{called}.{name}")
    return changed


def _owners() -> Iterator[tuple[str, Any]]:
    for called, module in list(sys.modules.items()):
        if called in LIBRARIES:
            yield called, module
        elif called.startswith("forgenb") and not called.startswith("forgenb.course"):
            yield called, module
            for name, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == called:
                    yield f"{called}.{name}", value
