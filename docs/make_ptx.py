"""Write docs/ptx.md, the table of what each kernel takes on a GPU: ``python docs/make_ptx.py``. No GPU is needed."""

import importlib
import pkgutil
from pathlib import Path

from forgenb_cuda.table import page

import forgenb
from forgenb.kernel import Kernel


def kernels():
    """Every kernel that forgenb declares, by name."""
    found = {}
    for module in pkgutil.walk_packages(forgenb.__path__, "forgenb."):
        if ".bench" not in module.name and not module.name.endswith("__main__"):
            found |= {v.name: v for v in vars(importlib.import_module(module.name)).values() if isinstance(v, Kernel)}
    return found


if __name__ == "__main__":
    Path(__file__).with_name("ptx.md").write_text(page(kernels().values()), encoding="utf-8")
