"""Plug-ins of tests/plugins as if they were installed: folders with the metadata that installers write."""

import os
import subprocess
import sys
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


def announce(folder, **targets):
    """Write a distribution's metadata, name -> module, into `folder` for each backend; returns the folder."""
    for name, target in targets.items():
        distribution, _, module = target.rpartition(":")
        info = folder / f"{(distribution or 'stranger_' + name).replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        title = distribution or f"stranger-{name}"
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {title}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[forgenb.backends]\n{name} = {module}\n")
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
