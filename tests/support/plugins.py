"""Plug-ins of tests/plugins as if they were installed: folders with the metadata that installers write."""

import os
import subprocess
import sys
from pathlib import Path

from . import distributions

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


def announce(folder, **targets):
    """Write a distribution's metadata, name -> module, into `folder` for each backend; returns the folder."""
    for name, target in targets.items():
        distribution, _, module = target.rpartition(":")
        distributions.announce(folder, distribution or f"stranger-{name}", {name: module})
    return folder


def run(*arguments, paths=(), **environment):
    """Python in a process of its own, with more folders to import from."""
    parts = [*map(str, paths), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(part for part in parts if part)
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
