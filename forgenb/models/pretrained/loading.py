"""A GPT from a folder: sizes first, then the headers of its tensors, and then their values.

Nothing is allocated until config and headers agree. The model is made without drawing its initial values, and the
bytes of a file go straight to where the parameters are, so that loading takes little more than the model. Imports the
model, `config`, `stored` and `filling`.
"""

import os
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forgenb.backend import get_backend, seam
from forgenb.backend.host import memory
from forgenb.dtypes import FLOAT16, FLOAT32, FLOAT64, as_dtype
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.models.gpt import GPT, GPTConfig
from forgenb.models.pretrained.config import read_config
from forgenb.models.pretrained.filling import converted, fill
from forgenb.models.pretrained.stored import BFLOAT16, Stored, named, opened_folder
from forgenb.nn.dropout import check_rate
from forgenb.nn.init import unwritten
from forgenb.nn.module import misfits
from forgenb.storage.documents import MOST, listed, shown
from forgenb.storage.opening import StrPath, read_small
from forgenb.tensor import Parameter

__all__ = ["load"]

HEAD = "lm_head.weight"
TABLE = "wte.weight"
MASKS = re.compile(r"h\.[0-9]+\.attn\.(masked_)?bias")
"""What older files hold of the causal mask, which is computed here."""

FLOATS = (FLOAT16, FLOAT32, FLOAT64, BFLOAT16)


def load(folder: StrPath, dropout: float | None, dtype: Any, backend: str | None) -> GPT:
    """What `GPT.from_pretrained` says."""
    path = _folder(folder)
    if dropout is not None:
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise ArgumentError(f"GPT.from_pretrained needs dropout to be a number or None, got {dropout!r}")
        check_rate(dropout)
    if seam.RECORDER.get() is not None:
        raise ArgumentError("GPT.from_pretrained was called while a step is recorded, and cannot be part of it")
    kind = as_dtype(float if dtype is None else dtype)
    if kind.kind != "f":
        raise ArgumentError(f"GPT.from_pretrained needs a float dtype, got {kind.name}")
    host = get_backend(backend).host
    place = path / "config.json"
    config = read_config(read_small(place, MOST), str(place), dropout)
    with opened_folder(path) as stored:
        stored = {name: tensor for name, tensor in stored.items() if not MASKS.fullmatch(name)}
        _compare(str(path), config, stored)
        if host:
            _check_memory(str(path), config.parameters * kind.itemsize)
        return _model(config, stored, kind, backend)


def _folder(folder: StrPath) -> Path:
    path = named(folder, "GPT.from_pretrained")
    if not os.path.isdir(path):
        raise CheckpointError(
            f"GPT.from_pretrained got {os.fspath(folder)!r}, which is no folder here, and it downloads nothing. Where "
            "there is a network, `hf download openai-community/gpt2 config.json model.safetensors --local-dir gpt2` "
            "puts the files of GPT-2 into the folder gpt2; give it that folder."
        )
    return path


def _compare(place: str, config: GPTConfig, stored: Mapping[str, Stored]) -> None:
    """Refuse tensors that are not those of the model, before there is one; as many of its names as can matter."""
    shapes = dict(islice(config.shapes(), len(stored) + 1))
    if HEAD in stored:
        shapes[HEAD] = shapes[TABLE]
    found = {name if name in shapes else shown(name): tensor.layout for name, tensor in stored.items()}
    needed = {name: (shape, _wanted(found.get(name))) for name, shape in shapes.items()}
    names, sizes = misfits(needed, found)
    if names or sizes:
        raise CheckpointError(
            f"The tensors in {place!r} are not those of the GPT-2 in its config.json: {listed(names + sizes)}. Nothing "
            "was loaded; put files there that belong together."
        )


def _wanted(layout: tuple[tuple[int, ...], np.dtype] | None) -> np.dtype:
    """The dtype that a tensor should have: its own, if that is one of floats."""
    return layout[1] if layout is not None and layout[1] in FLOATS else FLOAT32


def _check_memory(place: str, needed: int) -> None:
    """Refuse a model that this machine cannot hold; a file may claim sizes and have nothing but holes."""
    installed = memory()
    if installed is not None and needed > installed:
        raise CheckpointError(f"The model in {place!r} takes {needed} bytes, and this machine has {installed} in all.")


def _model(config: GPTConfig, stored: Mapping[str, Stored], dtype: np.dtype, backend: str | None) -> GPT:
    with unwritten():
        model = GPT(config, dtype=dtype, backend=backend)
    parameters = dict(model.named_parameters())
    _fill(parameters, {name: tensor for name, tensor in stored.items() if name != HEAD})
    if HEAD in stored:
        _check_tied(stored[HEAD], parameters[TABLE].numpy())
    model.eval()
    return model


def _fill(parameters: Mapping[str, Parameter], stored: Mapping[str, Stored]) -> None:
    """Write stored tensors into the memory of new parameters; what no address leads to is uploaded one by one."""
    backend = parameters[TABLE].backend
    if backend.host:
        fill([(_view(parameters[name]), tensor) for name, tensor in stored.items()], backend.threads)
        return
    for name, tensor in stored.items():
        parameter = parameters[name]
        values = np.empty(parameter.shape, parameter.dtype)
        fill([(values, tensor)], backend.threads)
        seam.upload(backend, parameter.memory, values)


def _view(parameter: Parameter) -> NDArray:
    p = parameter
    return seam.host_view(p.backend, p.memory, p.dtype, 0, p.shape, p.strides)


def _check_tied(head: Stored, table: NDArray) -> None:
    """Refuse a head that is stored, and is not the embedding table."""
    flat = table.reshape(-1)
    for start, part in head.file.parts(head.name):
        if not np.array_equal(converted(part, flat.dtype), flat[start : start + part.size]):
            raise CheckpointError(
                f"{head.file.place!r} has a {HEAD} that is not {TABLE}: GPT has one table for both, and cannot compute "
                "this model."
            )
