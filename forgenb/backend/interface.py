"""What a plug-in must supply, as a protocol. It supplies no op, no shape rule and no gradient.

A plug-in is a module with ``API`` (this number), ``available()`` (None, or why not) and ``create()``.

Imports NumPy for its types. A method is added only if every backend needs it, together with a new `API` number
where old plug-ins break.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

API = 1


class Memory(Protocol):
    """A block of device memory; it is given back when the object is collected. It may be referred to weakly."""

    address: int
    nbytes: int
    version: int


class Backend(Protocol):
    """One target: memory, compiled kernels and their launches, and matrix products.

    One may say how many streams suit it (``suggested_streams()``), and what a task of a stream runs in: ``on_stream()``
    gives a context manager (`forgenb.backend.Stream`).

    One of a GPU may have ``dlpack_device``, DLPack's kind and number of the device, and ``wait(stream)``: then tensors
    have a ``__cuda_array_interface__`` (`forgenb.interop.cuda`).
    """

    name: str
    host: bool
    threads: int

    def allocate(self, nbytes: int) -> Memory:
        """A block of at least `nbytes` bytes that may hold anything."""

    def upload(self, memory: Any, array: np.ndarray) -> None:
        """Copy a host array of any strides, in row-major order, into the start of a block."""

    def view(self, memory: Any, dtype: np.dtype, offset: int, shape: tuple, strides: tuple) -> np.ndarray:
        """The elements on the host: a view where `host`, else a copy. Offset and strides count elements."""

    def compile(self, kernel, real: str, storage: tuple[str, ...]) -> Any:
        """A launcher of `kernel` with floats of dtype `real`; `storage` has a map operand's dtypes."""

    def compiled(self) -> list:
        """Every launcher so far, each with name, key, seconds, cached and text."""

    def source(self, kernel, real: str) -> str:
        """The text that this backend generates for `kernel`."""

    def launch(self, launcher: Any, extent: int, chunk: int, block: bytes) -> None:
        """Run elements or rows ``0 .. extent`` in pieces of `chunk`, with the argument block of `kernel`."""

    def gemm(self, real: str, shape: tuple, flags: tuple, scales: tuple, places: tuple, steps: tuple, batch: tuple):
        """``out = alpha op(a) op(b) + bias`` or ``+ beta out``, for each matrix of a batch.

        `shape` is (m, n, k); `flags` (trans_a, trans_b); `scales` (alpha, beta); `places` the addresses of
        a, b, out and bias (0 for none; with a bias, beta does not count); `steps` the leading dimensions of
        a, b and out and then (a_outer, a_inner, b_outer, b_inner, out_outer, out_inner); `batch` (outer, inner).
        """

    def synchronize(self) -> None:
        """Return when everything launched so far has finished."""
