"""Tiny installed distributions: a folder with a module and the metadata that announces it."""

WORKING = """
API = {api}

def available():
    return None

def create():
    return Made()

class Made:
    name = "{name}"
"""


def announce(folder, distribution, entries, version="1.0"):
    """Make the metadata of a distribution that announces ``{name: module}`` in `folder`."""
    info = folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    lines = "".join(f"{name} = {module}\n" for name, module in entries.items())
    (info / "entry_points.txt").write_text(f"[forgenb.backends]\n{lines}")
    return folder


def plugin(folder, module, text="", **values):
    """Write a plug-in's module; without `text` one that works."""
    values = {"api": 1, "name": module, **values}
    (folder / f"{module}.py").write_text(text or WORKING.format(**values))
