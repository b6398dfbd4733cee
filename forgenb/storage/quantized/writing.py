"""Arrays as a quantised file holds them: matrices as codes, and everything else as it is.

Imports `groups` and the names that `reading` has; writing the file is `forgenb.storage.files`.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from forgenb.dtypes import ORDER
from forgenb.errors import ArgumentError
from forgenb.storage.documents import encoded
from forgenb.storage.finite import check_finite
from forgenb.storage.quantized.groups import BITS, CODES, ENDS, check_group, quantize
from forgenb.storage.quantized.reading import FORMAT, KEY, parts_of

__all__ = ["STORED", "packed"]

STORED = (*ORDER, CODES)
"""The dtypes of a quantised file."""


def packed(place: str, arrays: Mapping[str, NDArray], group: int) -> tuple[dict[str, NDArray], dict[str, str]]:
    """What a quantised file holds of `arrays`, and the metadata by which it is known.

    Floats of two or more axes are quantised, since nearly all numbers of a model are in them. Other arrays, such as
    biases and the scales of norms, stay as they are, bit for bit.

    Parameters
    ----------
    place
        The file, for messages.
    arrays
        The numbers by name.
    group
        How many numbers share two ends, see `quantize`.

    Raises
    ------
    ArgumentError
        `group` is no size, or two names would be one in the file.
    CheckpointError
        A number is not finite, in float32 where it is quantised; the message has its place.
    """
    check_group(group)
    stored: dict[str, NDArray] = {}
    shapes: dict[str, list[int]] = {}
    for name, array in arrays.items():
        if array.ndim < 2 or array.dtype.kind != "f":
            check_finite(place, {name: array})
            parts = {name: array}
        else:
            with np.errstate(over="ignore"):
                array = array.astype(ENDS, copy=False)
            check_finite(place, {name: array})
            parts = dict(zip(parts_of(name), quantize(array, group), strict=True))
            shapes[name] = list(array.shape)
        if stored.keys() & parts.keys():
            raise ArgumentError(f"{place!r} cannot hold {name!r}: another array has the name of its codes or ends.")
        stored |= parts
    about = {"format": FORMAT, "bits": BITS, "group": group, "shapes": shapes}
    return stored, {KEY: encoded(about, f"The quantised file {place!r}")}
