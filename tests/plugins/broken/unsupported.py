"""A plug-in that says which kernels it has not, and is right in all others."""

from forgenb_loopback import API, available
from forgenb_loopback.plugin import LoopbackBackend

from forgenb.errors import OpUnsupported

__all__ = ["API", "available", "create"]


class Backend(LoopbackBackend):
    name = "unsupported"

    def compile(self, kernel, real, storage):
        if kernel.name == "exp_kernel":
            raise OpUnsupported(f"backend 'unsupported' has no kernel {kernel.name}")
        return super().compile(kernel, real, storage)


create = Backend
