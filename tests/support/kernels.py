"""Every kernel that the package declares."""

import importlib
import pkgutil

import forgenb
from forgenb.kernel import Kernel


def all_kernels():
    """Each declared kernel by name, from all modules of the package."""
    found = {}
    for module in pkgutil.walk_packages(forgenb.__path__, "forgenb."):
        if ".cli" in module.name or ".bench" in module.name or "__main__" in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Kernel):
                assert found.setdefault(value.name, value) is value, f"two kernels are called {value.name}"
    return found
