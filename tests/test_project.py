"""The project's own rules: lint, format, types, file sizes, layer order, contents of the wheel."""

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.site import WRITTEN

ROOT = Path(__file__).resolve().parents[1]
CODE = sorted(path for folder in ("forgenb", "backends") for path in (ROOT / folder).rglob("*.py"))
FOLDERS = ("forgenb", "backends", "tests", "tutorials", "docs")
MOST_LINES = 400

# Each layer may import itself, the layers above it in this list, and forgenb.errors.
LAYERS = [
    {"errors"},
    {"kernel"},
    {"backend"},
    {
        "layout",
        "members",
        "tensor",
        "creation",
        "tape",
        "sweep",
        "functional",
        "recompute",
        "derivatives",
        "dtypes",
        "random",
        "gradcheck",
        "ops",
        "interop",
    },
    {"routine"},
    {"storage"},
    {"picture", "explorer", "tape_entry", "tape_print", "tape_table"},
    {"nn", "optim", "train", "models", "data"},
    {"testing", "bench", "course", "cli", "__main__", "__init__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def run(*command):
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(
    "command",
    [("ruff", "check", "--no-cache"), ("ruff", "format", "--check", "--no-cache"), ("mypy",)],
    ids=" ".join,
)
def test_tool_passes(command):
    result = run(*command)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_file_is_too_long():
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if folder != "docs" or path.relative_to(ROOT).parts[1] not in WRITTEN
    }
    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}


def test_every_raise_gives_one_argument():
    """Two strings parted by a stray comma would be shown as a tuple."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and len(node.exc.args) > 1
    ]
    assert wrong == []


def test_no_assert_does_anything():
    """Python may leave assertions out (``-O``): they may look at types and sizes, and call nothing that acts."""
    harmless = {"isinstance", "len", "all", "any", "set", "sorted"}
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
        for inner in ast.walk(node.test)
        if isinstance(inner, ast.NamedExpr) or (isinstance(inner, ast.Call) and ast.unparse(inner.func) not in harmless)
    ]
    assert wrong == []


def without_type_checking(tree):
    """Every node but those under ``if TYPE_CHECKING:``, whose imports do not run."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from without_type_checking(node)


def imported(tree, package):
    """Dotted names that a module of `package` imports; ``from a import b`` gives ``a.b``."""
    for node in without_type_checking(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def first_part(name):
    """The part of forgenb that a dotted name is in; a bare ``forgenb`` or ``forgenb.tensor()`` is the top."""
    part = [*name.split("."), "__init__"][1]
    folder = ROOT / "forgenb" / part
    return part if folder.is_dir() or folder.with_suffix(".py").is_file() else "__init__"


def wrong_imports(text, part, package):
    """Imports of one module's text that its layer does not allow."""
    own = RANK[part]
    names = imported(ast.parse(text), package)
    return [n for n in names if n.split(".")[0] == "forgenb" and RANK[first_part(n)] > own]


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_layers_import_only_to_their_left(path):
    folder, *parts = path.relative_to(ROOT).with_suffix("").parts
    if folder == "forgenb":
        part, package = parts[0], ".".join([folder, *parts[:-1]])
    else:  # a plug-in sees what any stranger's plug-in may use: the contract
        part, package = "backend", ".".join(parts[:-1])
    assert part in RANK, f"forgenb/{part} is in no layer: give it one in LAYERS"
    assert wrong_imports(path.read_text(encoding="utf-8"), part, package) == []


@pytest.mark.parametrize(
    ("text", "part", "package", "wrong"),
    [
        ("import forgenb.random", "backend", "forgenb", ["forgenb.random"]),
        ("from forgenb import random, errors", "kernel", "forgenb.kernel", ["forgenb.random"]),
        ("from .. import random", "kernel", "forgenb.kernel", ["forgenb.random"]),
        ("from ..random import seed", "kernel", "forgenb.kernel", ["forgenb.random.seed"]),
        ("from .random import seed", "data", "forgenb", []),
        ("from . import data", "random", "forgenb", ["forgenb.data"]),
        ("def f():\n    import forgenb as fnb", "data", "forgenb.data", ["forgenb"]),
        ("from forgenb import tensor_like", "random", "forgenb", ["forgenb.tensor_like"]),
        ("if TYPE_CHECKING:\n    from forgenb.data import split", "random", "forgenb", []),
        ("from forgenb.errors import ShapeError\nimport numpy", "kernel", "forgenb.kernel", []),
    ],
)
def test_the_layer_check_itself(text, part, package, wrong):
    assert wrong_imports(text, part, package) == wrong


def test_the_wheel_has_the_packages_and_nothing_else(tmp_path):
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "runs", "_build")
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=ignored)
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    result = subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=source, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        metadata = {name.split("/")[0] for name in names if ".dist-info/" in name}
        entry_points = file.read(f"{metadata.pop()}/entry_points.txt").decode()
    assert "forgenb/py.typed" in names
    assert {f"forgenb/explorer/{name}" for name in ("page.html", "explorer.css", "explorer.js")} <= set(names)
    assert all(name.startswith("forgenb") for name in names)
    assert not [name for name in names if name.split("/")[0].startswith("forgenb") and "/tests/" in name]
    assert "forgenb = forgenb.cli:main" in entry_points
    assert "[forgenb.backends]" in entry_points
    packages = {
        path.parent.name for path in CODE if path.name == "__init__.py" and path.parent.parent.name == "backends"
    }
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"forgenb", *packages}
    chapters = sorted(path.name for path in (ROOT / "tutorials").glob("*.py"))
    assert sorted(name.rpartition("/")[2] for name in names if "/tutorials/" in name) == chapters
    _the_course_is_installed(wheel, tmp_path, chapters)


def _the_course_is_installed(wheel, tmp_path, chapters):
    """Its chapters are listed from an installation, which has no site to build."""
    target = tmp_path / "installed"
    command = ["pip", "install", "-q", "--no-deps", "--no-index", "--no-compile", "--target", str(target), str(wheel)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code = (
        "import forgenb.cli as cli\n"
        "print(cli.__file__)\n"
        "codes = [cli.main(arguments.split()) for arguments in ('course list', 'course open 3', 'docs')]\n"
        "assert codes == [0, 0, 2], codes\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(target)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    place, *listed, opened = done.stdout.splitlines()
    assert Path(place).is_relative_to(target)
    assert [line[:2] for line in listed] == [name[:2] for name in chapters]
    assert (tmp_path / opened).read_bytes() == (ROOT / "tutorials/03_arrays.py").read_bytes()
    assert done.stderr.startswith("forgenb docs: there is no docs/ beside ")
    assert done.stderr.count("\n") == 1
