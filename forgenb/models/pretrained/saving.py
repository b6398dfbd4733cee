"""A GPT into a folder: `model.safetensors`, quantised or not, and then `config.json`, each whole or not at all.

The weights are written first: a new folder without `config.json` is no model, so that what a crash leaves behind is
refused. Imports the model, `config` and the writer of `forgenb.storage`.
"""

import json

from forgenb.dtypes import ORDER
from forgenb.errors import CheckpointError
from forgenb.models.gpt import GPT
from forgenb.models.pretrained.config import written_config
from forgenb.models.pretrained.stored import WHOLE, named
from forgenb.storage.files import write_arrays, write_whole
from forgenb.storage.finite import check_finite
from forgenb.storage.opening import StrPath, reason
from forgenb.storage.quantized.writing import STORED, packed

__all__ = ["save"]


def save(model: GPT, folder: StrPath, group: int | None = None) -> None:
    """What `GPT.save_pretrained` says, and where there is a `group`, what `GPT.save_quantized` says."""
    path = named(folder, "GPT.save_pretrained" if group is None else "GPT.save_quantized")
    arrays = {name: parameter.numpy() for name, parameter in model.named_parameters()}
    texts, dtypes = {"format": "pt"}, ORDER
    if group is None:
        check_finite(str(path / WHOLE), arrays)
    else:
        arrays, texts = packed(str(path / WHOLE), arrays, group)
        dtypes = STORED
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} is no folder to write to: {reason(error)}. Choose another.") from error
    write_arrays(path / WHOLE, arrays, texts, dtypes)
    about = written_config(model.config, model.wte.weight.dtype, group)
    write_whole(path / "config.json", json.dumps(about, indent=2).encode() + b"\n")
