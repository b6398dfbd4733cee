"""Families of ops, in the order in which one may read them, and the chapters that explain them."""

import re
from collections.abc import Iterable

from forgenb import course
from forgenb.ops import TABLE

FAMILIES: dict[str, tuple[str, str]] = {
    "Arithmetic": ("arithmetic pointwise power", "03"),
    "Elementary functions": ("exponentials trigonometry error_function rounding", "02"),
    "Activations": ("activations gelu rectifiers", "08"),
    "Comparison and choice": ("comparison logic extrema", "03"),
    "Shape and order": ("movement joining diagonals padding heads", "03"),
    "Elements by place and by number": ("indexing rows along_axis scatter embedding", "10"),
    "Sums and statistics": ("reduction statistics products cumulative sumsq", "03"),
    "Matrix products": ("matmul einsum", "06"),
    "Softmax and normalisation": ("softmax log_softmax layernorm rmsnorm batchnorm groupnorm", "09"),
    "Attention": ("attention unfused_attention cached_attention rope", "12"),
    "Losses": ("cross_entropy class_losses binary_loss losses", "07"),
    "Convolution and pooling": ("conv pooling", "21"),
    "Recurrent cells": ("recurrent", "02"),
    "Dropout": ("dropout", "11"),
    "Dtypes": ("casts", "04"),
    "Writing in place": ("assignment", "12"),
}
"""Name -> the modules of its ops, and the number of the chapter that tells most of them."""


def module_of(name: str) -> str:
    """The file that an op is written in, without its ending."""
    return TABLE[name].function.__module__.rpartition(".")[2]


def family_of(name: str) -> str:
    """The family of an op.

    Raises
    ------
    KeyError
        If no family has its file.
    """
    for family, (modules, _) in FAMILIES.items():
        if module_of(name) in modules.split():
            return family
    raise KeyError(f"no family of op pages has the module {module_of(name)}: add it to FAMILIES")


def members(family: str) -> list[str]:
    """The ops of a family in the order of the table, but each gradient behind its op."""
    places = {name: place for place, name in enumerate(TABLE)}
    found = (name for name in TABLE if family_of(name) == family)
    return sorted(found, key=lambda name: (places[_owner(name)], name))


def _owner(name: str) -> str:
    """The op whose gradient an op is, by its name; of any other op, itself."""
    beginnings = [other for other in TABLE if "_grad" in name and name.startswith(f"{other}_")]
    return min(beginnings, key=len, default=name)


def chapters(name: str, pieces: Iterable[str]) -> list[tuple[str, str]]:
    """Path and title of chapters that show the code of an op or one of its `pieces`, else of those that call it most.

    Where no chapter names it, the one of its family.
    """
    there = {each.path.stem: each for each in course.chapters()}
    found = [(path, each.path.read_text(encoding="utf-8")) for path, each in there.items()]
    shown = {f":pyobject: {piece}\n" for piece in (name, *pieces)}
    showing = [path for path, text in found if any(piece in text for piece in shown)]
    calling = sorted((-len(re.findall(rf"\bops\.{name}\b", text)), path) for path, text in found)
    calling_most = [path for count, path in calling if count][:2]
    family = [path for path, _ in found if path.startswith(FAMILIES[family_of(name)][1])]
    best = list(dict.fromkeys([*showing, *calling_most]))[:3] or family
    return [(path, f"{int(each.number)}. {each.title}") for path, each in there.items() if path in best]
