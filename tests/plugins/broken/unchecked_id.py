"""A plug-in that reads negative integers back as 0, so that no check on the host ever sees a wrong id."""

import numpy as np
from forgenb_loopback import API, available
from forgenb_loopback.plugin import LoopbackBackend

__all__ = ["API", "available", "create"]


class Backend(LoopbackBackend):
    name = "unchecked_id"

    def view(self, memory, dtype, offset, shape, strides):
        found = super().view(memory, dtype, offset, shape, strides)
        return np.maximum(found, 0) if dtype == np.int64 else found


create = Backend
