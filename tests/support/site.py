"""The site, built once for all tests that read it, however many processes run them."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = {"_build", "api", "ops", "tutorials"}
"""Folders of docs/ that a build of the site writes."""
NOISE = ("IPKernelApp", "traitlets")
"""What kernels say that a reader of the build need not know."""


def variables(root):
    """Of a program that finds forgenb and its backends under `root`."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (root, root / "backends")))}


def build(target, *options):
    """Run Sphinx as docs/conf.py says, with every warning an error."""
    command = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", "-b", "html", *options]
    environment = variables(ROOT)
    environment.pop("MPLBACKEND", None)  # pages need the one that puts pictures in them
    return subprocess.run(
        [*command, str(ROOT / "docs"), str(target)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="session")
def built_site(tmp_path_factory):
    """The folder of its pages; the first process that asks builds them, and the others wait."""
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    html, said = base / "site", base / "site.txt"
    with open(base / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            done = build(html, "-d", str(base / "site-doctrees"))
            noisy = any(word in done.stderr for word in NOISE)
            said.write_text(done.stderr if done.returncode or noisy else "", encoding="utf-8")
    failure = said.read_text(encoding="utf-8")
    assert failure == "", failure[-4000:]
    return html
