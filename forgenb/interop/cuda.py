"""``__cuda_array_interface__``: memory of a GPU shown to CuPy, Numba, PyTorch and others, and theirs copied to ours.

A backend takes part if its attribute `dlpack_device` says CUDA; it then has ``wait(stream)`` too. Version 3 of
https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..backend import get_backend, seam
from ..dtypes import as_dtype
from ..errors import InteropError
from ..layout import contiguous_strides
from ..tensor import Tensor
from .conversion import refuse_tracked
from .dlpack import CUDA, device


def interface(self: Tensor) -> dict[str, Any]:
    """Where and how the elements lie, for whoever reads memory of a GPU; other backends do not have the attribute.

    Everything queued has finished. Nobody watches whether others write into the memory, so they should not.

    Raises
    ------
    AttributeError
        If the backend is none of CUDA.
    InteropError
        If the tensor is tracked.
    MemoryModeError
        While a step is being recorded.
    """
    if device(self)[0] != CUDA:
        raise AttributeError(f"a tensor on backend {self.backend.name!r} has no __cuda_array_interface__")
    refuse_tracked(self, "memory that others read")
    recorder = seam.RECORDER.get()
    address = self.address
    if recorder is not None:
        recorder.refuse_read(self.memory)
    seam.synchronize(self.backend)
    return {
        "shape": self.shape,
        "typestr": self.dtype.str,
        "data": (address if self.size else 0, False),
        "version": 3,
        "strides": None if self.contiguous else tuple(step * self.dtype.itemsize for step in self.strides),
        "stream": None,
    }


def read(x: Any) -> np.ndarray:
    """The elements of an object with ``__cuda_array_interface__``, copied to the host by the backend ``cuda``.

    Raises
    ------
    BackendError
        If that backend cannot be used.
    DTypeError
        If forgenb has no tensors of its dtype.
    InteropError
        If it is masked, or its strides do not fall on whole elements.
    """
    face, backend = x.__cuda_array_interface__, get_backend("cuda")
    dtype, shape = as_dtype(face["typestr"]), tuple(face["shape"])
    steps = face.get("strides") or tuple(step * dtype.itemsize for step in contiguous_strides(shape))
    if face.get("mask") is not None or any(step % dtype.itemsize for step in steps):
        raise InteropError(
            f"a {type(x).__name__} of shape {shape} with strides {steps} in bytes of {dtype.itemsize} each, "
            f"{'masked' if face.get('mask') is not None else 'not masked'}, cannot be read: copy it to a plain array"
        )
    if face.get("stream") is not None:
        backend.wait(face["stream"])
    memory = SimpleNamespace(address=face["data"][0])
    strides = tuple(step // dtype.itemsize for step in steps)
    return seam.host_view(backend, memory, dtype, 0, shape, strides)


METHODS = {"__cuda_array_interface__": property(interface)}
