"""Section J: versions, drawing without other programs, NumPy's functions. Discovery and import have tests of theirs."""

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from support.plugins import run

import forgenb as fnb

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def versions(text):
    return re.findall(r"\b3\.\d+\b", text)


def test_the_readme_has_the_versions_of_python_that_the_metadata_has():
    """P106: each version is named once more, by the classifiers; the lowest is what installers ask for."""
    listed = [v for line in PROJECT["classifiers"] for v in versions(line)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"This needs Python [^a-z]*3\.\d+ or 3\.\d+", readme)
    assert versions(sentence) == listed
    assert versions(PROJECT["requires-python"]) == listed[:1]
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in listed


DRAW = """
import os, shutil, sys
import numpy as np
import forgenb as fnb
assert shutil.which("dot") is None
for data in (2.0, [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]):
    with fnb.Tape(keep=True) as tape:
        x = tape.leaf(fnb.tensor(np.asarray(data), name="x"))
        (x * x).sum().backward()
    print(tape)
    print(tape.text())
    print(tape.draw())
    print(tape.explore())
    tape._repr_svg_(), tape.draw()._repr_svg_(), tape.explore()._repr_html_(), x._repr_html_()
tape.draw().save(os.path.join(sys.argv[1], "tape.svg"))
tape.explore(os.path.join(sys.argv[1], "tape.html"))
y = fnb.tensor([1.0, 2.0])
with fnb.capture() as recorded:
    z = fnb.ops.exp(y) + y
print(recorded.program.graph())
"""


def test_drawing_needs_no_other_program(tmp_path):
    """P108 and P112: every picture of scalars, vectors and matrices; as text, SVG, a page, and in the DOT language."""
    done = run("-W", "error", "-c", DRAW, tmp_path, PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for part in ("mul#1 (2, 2) <- x#0, x#0", "<svg ", "</svg>", "grad: 4", "digraph"):
        assert part in done.stdout
    assert (tmp_path / "tape.svg").read_text(encoding="utf-8").endswith("</svg>\n")
    assert (tmp_path / "tape.html").read_text(encoding="utf-8").endswith("</html>\n")


@pytest.mark.parametrize("f", [np.exp, np.sum], ids=lambda f: f.__name__)
def test_a_function_of_numpy_gives_a_tracked_tensor(f):
    """P114."""
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    found = f(x)
    assert found.requires_grad
    np.testing.assert_allclose(found.numpy(), f(x.numpy()), rtol=1e-6)
