"""A plug-in that compiles one kernel with its sign flipped: the derivative of tanh."""

from dataclasses import replace

from forgenb_loopback import API, available
from forgenb_loopback.plugin import LoopbackBackend

__all__ = ["API", "available", "create"]


def tanh_grad_kernel(out, dout):
    return dout * (out * out - 1.0)


class Backend(LoopbackBackend):
    name = "wrong_sign"

    def compile(self, kernel, real, storage):
        if kernel.name == "tanh_grad_kernel":
            kernel = replace(kernel, body=tanh_grad_kernel)
        return super().compile(kernel, real, storage)


create = Backend
