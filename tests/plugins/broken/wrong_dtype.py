"""A plug-in that computes float64 maps in float32."""

from forgenb_loopback import API, available
from forgenb_loopback.plugin import LoopbackBackend

from forgenb.kernel import PANEL, map_block, read_map_block

__all__ = ["API", "available", "create"]


class Backend(LoopbackBackend):
    name = "wrong_dtype"

    def compile(self, kernel, real, storage):
        return super().compile(kernel, "float32" if kernel.form == "map" and real == "float64" else real, storage)

    def translated(self, kernel, block):
        if kernel.form == "map":
            found = read_map_block(kernel, block)
            packer = map_block(kernel, len(found.dims))
            values = list(packer.unpack(block))
            values[len(found.scalars) + 1] = PANEL  # every panel is converted, so none may be longer
            block = packer.pack(*values)
        return super().translated(kernel, block)


create = Backend
