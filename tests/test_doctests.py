"""Every example in a docstring of the package and its plug-ins gives what it shows."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACES = {"forgenb": ROOT, "backends": ROOT / "backends"}


def modules() -> list[str]:
    """The names of the modules whose text has a prompt."""
    found = []
    for folder, root in PLACES.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            if re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE):
                found.append(".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"))
    return found


@pytest.mark.parametrize("name", modules())
def test_examples_give_what_they_show(name, tmp_path, monkeypatch):
    """In a folder of their own, since some write files; a module whose prompts are no examples fails too."""
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted > 0
    assert done.failed == 0


def test_there_are_examples():
    assert len(modules()) >= 15
