"""The reference: a page for each public module, with an entry for every name in its ``__all__``, and for every op."""

import importlib
import inspect
from pathlib import Path

from written import write_page

from forgenb.ops import TABLE

MODULES = (
    "forgenb",
    "forgenb.ops",
    "forgenb.nn",
    "forgenb.optim",
    "forgenb.train",
    "forgenb.models",
    "forgenb.data",
    "forgenb.course",
    "forgenb.random",
    "forgenb.errors",
    "forgenb.backend",
    "forgenb.kernel",
    "forgenb.testing",
    "forgenb.testing.conformance",
)


def page(name: str) -> str:
    """The page of one module: its docstring, then its names in alphabetical order."""
    module = importlib.import_module(name)
    lines = [f"# {name}", "", "```{eval-rst}", f".. automodule:: {name}", "   :no-members:", ""]
    for public in sorted(module.__all__, key=str.lower):
        lines += _entry(name, public, getattr(module, public))
    if name == "forgenb.ops":
        lines += [line for op in sorted(TABLE) for line in _op(op)]
    return "\n".join([*lines, "```", ""])


def _op(name: str) -> list[str]:
    """The entry of an op, which ends with a link to the page about it."""
    about = f"Derivation, code, checks and picture: :doc:`the page of {name} </ops/{name}>`."
    return [f".. autofunction:: forgenb.ops.{name}", "", f"   {about}", ""]


def _entry(module: str, public: str, value) -> list[str]:
    full = f"{module}.{public}"
    if isinstance(value, type):
        kind, options = ("autoexception" if issubclass(value, BaseException) else "autoclass"), ["   :members:"]
    elif inspect.isroutine(value):
        kind, options = "autofunction", []
    elif full in MODULES:
        return []
    elif type(value).__name__ == "module":
        kind, options = "automodule", ["   :no-members:"]
    else:
        told = inspect.getdoc(type(value)) if type(value).__module__.startswith("forgenb") else ""
        lines = [f"   {line}".rstrip() for line in (told or "").splitlines()]
        return [
            f".. py:currentmodule:: {module}",
            "",
            f".. py:data:: {public}",
            f"   :type: {type(value).__name__}",
            "",
            *lines,
            "",
        ]
    return [f".. {kind}:: {full}", *options, ""]


def write_pages(app):
    """Write what has changed into docs/api."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name in MODULES:
        write_page(folder / f"{name}.md", page(name))


def point_sources_back(app, env):
    """A source file's links back go to the page that names it first, and `Tensor` has the ops as methods: correct that.

    Sphinx keeps one name for each file, before which it puts those of functions to make an anchor.
    """
    sources = getattr(env, "_viewcode_modules", {})
    for name, entry in sources.items():
        if entry and name.startswith("forgenb.ops."):
            sources[name] = (*entry[:3], "forgenb.ops")


def setup(app):
    app.connect("builder-inited", write_pages)
    app.connect("env-updated", point_sources_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
