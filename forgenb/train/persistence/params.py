"""The parameters of a model in an npz file, which NumPy reads too: `save_params` and `load_params`.

Values only. What training goes on from, such as an optimiser's moments, is a checkpoint; what else a module keeps,
such as running statistics, is in its ``state_dict`` for `forgenb.save`. Imports `archive`, `files`, `fitting` and how
parameters are found; no pickle.
"""

import os
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forgenb.backend import seam
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.nn import Module
from forgenb.nn.module import copy_into, misfits
from forgenb.storage.files import replacing
from forgenb.storage.finite import check_finite, finite
from forgenb.storage.opening import StrPath
from forgenb.tensor import Parameter, Tensor, from_array
from forgenb.train.persistence.archive import SUFFIX, opened_archive, unusable
from forgenb.train.steps.parameters import parameters

__all__ = ["LoadedParams", "load_params", "save_params"]


@dataclass(frozen=True)
class LoadedParams:
    """What `load_params` did.

    Parameters
    ----------
    path
        The file.
    names
        The parameters that were written, in the model's order.
    missing
        Those of the model that the file does not have; they are as they were.
    unexpected
        Those of the file that the model does not have.
    """

    path: Path
    names: tuple[str, ...]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]


def save_params(t: Tensor | Module, path: StrPath | None = None) -> Path:
    """Write the parameters of a model to one npz file, whole or not at all.

    Parameters
    ----------
    t
        A tensor, whose `parameters` are saved by their own names; or a module, with its ``named_parameters()``.
    path
        The file, under exactly this name. By default ``NAME.npz`` in the current folder, where NAME are the letters
        and digits of ``t.name``, their groups joined by ``_``: of ``"mlp loss"`` it is ``mlp_loss.npz``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ArgumentError
        There is no parameter; one has no name, that of another or one that is a path (``../w``); there is no `path`
        and `t` has no name; or a step is being recorded.
    TapeError
        The graph of the tensor was consumed by a backward sweep.
    CheckpointError
        A value is NaN or infinite, which `load_params` would refuse (`forgenb.save` takes it); or the file cannot be
        written. Whatever is raised, an old file is as it was.

    Examples
    --------
    >>> import forgenb as fnb
    >>> w = fnb.Parameter(fnb.tensor([1.0, 2.0], name="w"))
    >>> path = fnb.train.save_params((w * w).sum(), "squares.npz")
    >>> fnb.train.load_params((w * w).sum(), path).names
    ('w',)
    """
    named = _named(t, "save_params")
    target = _target(t, path, "save_params")
    with replacing(target) as file, zipfile.ZipFile(file, "w") as archive:
        for name, parameter in named.items():
            values = np.ascontiguousarray(parameter.numpy()).reshape(parameter.shape)
            check_finite(os.fspath(target), {name: values})
            with archive.open(zipfile.ZipInfo(name + SUFFIX), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
    return target


def load_params(t: Tensor | Module, path: StrPath | None = None, strict: bool = True) -> LoadedParams:
    """Read what `save_params` or ``numpy.savez`` wrote into the parameters of a model: all of it, or nothing.

    Values are written in place, on whatever backend a parameter is, so that routines use them from their next run on.
    A graph that saved the old ones for backward raises when it is swept.

    Parameters
    ----------
    t, path
        See `save_params`.
    strict
        Whether the names must be the same. Otherwise those that both have are loaded; their shapes and dtypes must
        be the same even then.

    Returns
    -------
    LoadedParams
        What was loaded, and which names only the model or only the file has.

    Raises
    ------
    ArgumentError, TapeError
        See `save_params`; or `strict` is no bool.
    CheckpointError
        The file is missing, damaged or no npz file; names, shapes or dtypes differ, all of which are listed; or a value
        is NaN or infinite. No parameter was changed, and beside the values themselves little memory was used.
    """
    if not isinstance(strict, bool):
        raise ArgumentError(f"load_params needs strict to be True or False, got {strict!r}")
    named = _named(t, "load_params")
    target = _target(t, path, "load_params")
    with opened_archive(target, len(named)) as archive:
        shared = [name for name in named if name in archive.names]
        for name in shared:
            archive.look_at(name)
        missing = [name for name in named if name not in archive.layouts]
        unexpected = [name for name in archive.names if name not in named]
        wanted = {name: (p.shape, p.dtype) for name, p in named.items() if strict or name in shared}
        found = {name: archive.layouts.get(name, ()) for name in (archive.names if strict else shared)}
        names, shapes = misfits(wanted, found)
        if names or shapes:
            remedy = (
                "give the file of a model of the same sizes and dtypes."
                if shapes
                else "with strict=False names that only one of them has are left out."
            )
            raise CheckpointError(
                f"{os.fspath(target)!r} does not fit the model: {'; '.join(names + shapes)}. Nothing was loaded; "
                f"{remedy}"
            )
        # all memory is there before the first parameter changes
        sources = {name: from_array(finite(archive, name), named[name].backend) for name in shared}
    for name, source in sources.items():
        copy_into(named[name], source)
    return LoadedParams(target, tuple(shared), tuple(missing), tuple(unexpected))


def _named(t: Tensor | Module, caller: str) -> dict[str, Parameter]:
    """The parameters of `t` by the names under which a file has them."""
    if isinstance(t, Module):
        pairs: Iterable[tuple[str | None, Parameter]] = t.named_parameters()
    elif isinstance(t, Tensor):
        pairs = ((p.name, p) for p in parameters(t))
    else:
        raise ArgumentError(f"{caller} needs a tensor or a module, got {type(t).__name__}")
    if seam.RECORDER.get() is not None:
        raise ArgumentError(f"{caller} was called while a step is recorded, and cannot be part of it: call it before")
    named: dict[str, Parameter] = {}
    for name, p in pairs:
        if not name:
            raise ArgumentError(
                f"{caller} needs a name of every parameter, and one of shape {p.shape} has none: set p.name = ..."
            )
        if name in named:
            raise ArgumentError(f"{caller} found two parameters named {name!r}: give each a name of its own")
        wrong = unusable(name)
        if wrong:
            raise ArgumentError(f"{caller} cannot store the parameter {name!r}: it {wrong}; give it another")
        named[name] = p
    if not named:
        raise ArgumentError(f"{caller} found no parameter, so there is nothing to store; mark some with fnb.Parameter")
    return named


def _target(t: Tensor | Module, path: StrPath | None, caller: str) -> Path:
    """The file that is meant."""
    if path is not None:
        if not isinstance(path, (str, os.PathLike)) or not Path(path).name or "\0" in str(path):
            raise ArgumentError(f"{caller} needs path to be the name of a file, got {path!r}")
        return Path(path)
    label = getattr(t, "name", None)
    words = "".join(c if c.isalnum() else " " for c in label).split() if isinstance(label, str) else []
    if not words:
        raise ArgumentError(
            f"{caller} has no name for the file: give a path, or name the root, as in t.name = 'loss' (it is {label!r})"
        )
    return Path(f"{'_'.join(words)}.npz")
