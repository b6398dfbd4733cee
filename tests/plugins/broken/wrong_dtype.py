"""A plug-in that computes float64 in float32."""

from forgenb_loopback import API, available
from forgenb_loopback.plugin import LoopbackBackend

__all__ = ["API", "available", "create"]


class Backend(LoopbackBackend):
    name = "wrong_dtype"

    def compile(self, kernel, real, storage):
        return super().compile(kernel, "float32" if kernel.form == "map" and real == "float64" else real, storage)


create = Backend
