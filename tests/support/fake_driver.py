"""A stand-in for NVIDIA's driver: memory on the host, launches run by the lane interpreter, every call noted."""

import ctypes
import itertools

import numpy as np
from forgenb_cuda.driver import Gpu
from forgenb_cuda.simulator import Simulator


def value_of(argument):
    """A number, from a ctypes object or as it is."""
    return getattr(argument, "value", argument) or 0


class HostTable:
    """Addresses of the fake device are those of the host."""

    def bytes_at(self, address, nbytes):
        return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), np.uint8)

    def array(self, address, shape, dtype):
        size = int(np.prod(shape))
        return (
            self.bytes_at(address, size * dtype.itemsize).view(dtype).reshape(shape) if size else np.empty(shape, dtype)
        )


class FakeDriver:
    """The functions of libcuda that `Gpu` calls; each notes itself in `calls` and returns an error code."""

    def __init__(self, version=13050, devices=1, capability=(9, 0), memory=1 << 30):
        self.version, self.devices, self.capability, self.left = version, devices, capability, memory
        self.calls, self.blocks, self.programs, self.launches = [], {}, {}, []
        self.handles, self.numbers = itertools.count(1), itertools.count(1)
        self.simulator = Simulator(numba=False)
        self.simulator.table = HostTable()

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            self.calls.append(name)
            return getattr(self, f"do_{name.removesuffix('_v2')}", lambda *_: 0)(*arguments)

        return call

    def do_cuInit(self, flags):
        return 0 if self.devices else 100

    def do_cuDriverGetVersion(self, out):
        out._obj.value = self.version
        return 0

    def do_cuDeviceGetCount(self, out):
        out._obj.value = self.devices
        return 0

    def do_cuDeviceGetAttribute(self, out, attribute, device):
        out._obj.value = {75: self.capability[0], 76: self.capability[1], 16: 4}[attribute]
        return 0

    def do_cuGetErrorName(self, code, out):
        out._obj.value = {2: b"CUDA_ERROR_OUT_OF_MEMORY", 700: b"CUDA_ERROR_ILLEGAL_ADDRESS"}.get(code)
        return 0

    def do_cuStreamCreate(self, out, flags):
        out._obj.value = next(self.handles)
        return 0

    def do_cuEventCreate(self, out, flags):
        out._obj.value = next(self.handles)
        return 0

    def do_cuMemAlloc(self, out, nbytes):
        if nbytes.value > self.left:
            return 2
        self.left -= nbytes.value
        block = (ctypes.c_uint8 * nbytes.value)()
        out._obj.value = ctypes.addressof(block)
        self.blocks[out._obj.value] = block
        return 0

    def do_cuMemFree(self, address):
        self.left += len(self.blocks.pop(address.value))
        return 0

    def do_cuMemsetD8Async(self, address, byte, nbytes, stream):
        ctypes.memset(address.value, byte.value, nbytes.value)
        return 0

    def do_cuMemcpyHtoDAsync(self, target, source, nbytes, stream):
        ctypes.memmove(target.value, source.value, nbytes.value)
        return 0

    def do_cuMemcpyDtoHAsync(self, target, source, nbytes, stream):
        ctypes.memmove(target.value, source.value, nbytes.value)
        return 0

    def do_cuModuleLoadData(self, module, binary):
        assert binary[:4] == b"\x7fELF"
        module._obj.value = next(self.numbers)
        return 0

    def do_cuModuleGetFunction(self, function, module, name):
        assert name == b"launch"
        function._obj.value = module.value
        return 0

    def do_cuEventElapsedTime(self, out, first, second):
        out._obj.value = 2.5
        return 0

    def do_cuLaunchKernel(self, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra):
        assert parameters is None
        assert (extra[0], extra[2], extra[4]) == (1, 2, None)
        size = ctypes.c_size_t.from_address(extra[3]).value
        data = ctypes.string_at(extra[1], size)
        self.launches.append((gx.value, (bx.value, by.value)))
        self.run(function.value, gx.value, data)
        return 0

    def run(self, function, blocks, data):
        """What a launch computes."""
        extent = int.from_bytes(data[:8], "little", signed=True)
        self.simulator.run(self.programs[function], min(blocks, 2), (4, 1), extent, data[8:])


class FakeGpu(Gpu):
    """A `Gpu` on a fake driver, which is told what each loaded function computes."""

    tile = 2

    def build(self, plan):
        loaded = super().build(plan)
        self._library.programs[loaded.function.value] = self._library.simulator.build(plan)
        return loaded
