"""PyTorch's arrays for the parameters of this library's modules, whose matrices are ``[in, out]``."""

import numpy as np

PARTS = {"weight_input": "weight_ih", "weight_hidden": "weight_hh", "bias_input": "bias_ih", "bias_hidden": "bias_hh"}
HEADS = ("query", "key", "value")


def theirs(arrays, name):
    """The array for one parameter, such as ``lstm.cells.0.bias_input``, among those by PyTorch's names.

    Two axes make a matrix, but for what a layer by itself calls ``weight`` (gains) and for the rows of a ``table``.
    """
    *owner, part = name.split(".")
    if owner[-2:-1] == ["cells"]:
        found = arrays[".".join([*owner[:-2], f"{PARTS[part]}_l{owner[-1]}"])]
    elif owner == ["out"] and f"inner.out_proj.{part}" in arrays:
        found = arrays[f"inner.out_proj.{part}"]
    elif owner and owner[0] in HEADS:
        found = np.split(arrays[f"inner.in_proj_{part}"], 3)[HEADS.index(owner[0])]
    else:
        found = arrays[name]
    return found.T if found.ndim == 2 and owner not in ([], ["table"]) else found
