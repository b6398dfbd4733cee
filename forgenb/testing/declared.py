"""Every kernel that forgenb declares: for the tests of generated code, and for the page of what a GPU takes.

Imports every module of the package but its commands and benchmarks, which declare none; nothing is compiled here.
"""

from __future__ import annotations

import importlib
import pkgutil

import forgenb

from ..errors import ArgumentError
from ..kernel import Kernel

APART = ("forgenb.bench.", "forgenb.cli.", "forgenb.__main__")


def all_kernels() -> dict[str, Kernel]:
    """Each declared kernel by its name.

    Raises
    ------
    ArgumentError
        If two kernels have one name.
    """
    found: dict[str, Kernel] = {}
    for module in pkgutil.walk_packages(forgenb.__path__, "forgenb."):
        if module.name.startswith(APART):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Kernel) and found.setdefault(value.name, value) is not value:
                raise ArgumentError(f"two kernels are called {value.name!r}: rename the one in {module.name}")
    return found
