"""How far a training has come, as the metadata of a checkpoint say it.

Imports what fields of metadata are; reading them is `forgenb.storage.metadata`.
"""

import math
from typing import Any

from forgenb.storage.metadata import Fields

__all__ = ["PROGRESS"]


def _is_time(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value >= 0


PROGRESS: Fields = {
    "step": ("a whole number from 0", lambda x: type(x) is int and 0 <= x < 2**63),
    "best_val": ("a finite number or null", lambda x: x is None or (isinstance(x, float) and math.isfinite(x))),
    "seconds": ("a finite number from 0", _is_time),
}
"""Steps done, the lowest validation loss, and the time that training took."""
