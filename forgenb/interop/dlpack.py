"""DLPack both ways: tensors of host memory to other libraries, and their arrays to tensors.

NumPy makes and reads the capsules. What is handed out shares memory where it can be marked as read-only, and is a copy
where it cannot; what comes in is copied, since others could change values that were saved for backward. The protocol:
https://dmlc.github.io/dlpack/latest/python_spec.html.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..creation import tensor
from ..errors import ArgumentError, InteropError
from ..tensor import Tensor
from .conversion import refuse_tracked

CPU, CUDA = 1, 2
"""DLPack's numbers of kinds of device."""


def device(self: Tensor) -> tuple[int, int]:
    """DLPack's kind and number of the device: what the backend says in its attribute `dlpack_device`, or the host."""
    return getattr(self.backend, "dlpack_device", (CPU, 0))


def handed_out(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule with the elements.

    Parameters
    ----------
    stream : None
        The host has no streams.
    max_version : tuple of int, optional
        The newest version that the consumer knows. From 1.0 on the memory is shared and marked as read-only; before,
        it is a copy.
    dl_device : tuple of int, optional
        Where the consumer wants it: the host, ``(1, 0)``.
    copy : bool, optional
        Whether to copy always, or never.

    Raises
    ------
    InteropError
        If the tensor is tracked, the elements are not wanted on the host, or `copy` is False where one is needed.
    """
    refuse_tracked(self, "a DLPack capsule")
    wanted = device(self) if dl_device is None else dl_device
    if wanted[0] != CPU or stream is not None:
        raise InteropError(
            f"DLPack of a tensor on backend {self.backend.name!r} was asked for device {tuple(map(int, wanted))} and "
            f"stream {stream}, but hands out host memory: move it with t.to('cpu'), ask for device (1, 0), or use a "
            "library that reads __cuda_array_interface__"
        )
    told = max_version is not None and tuple(max_version) >= (1, 0)
    shared = self.backend.host and told and all(step >= 0 for step in self.strides)
    if copy is False and not shared:
        raise InteropError(
            "DLPack with copy=False needs host memory without negative strides and a consumer of version 1.0 or "
            "later, which can be told that the memory is read-only: leave copy out"
        )
    if told:
        return self.numpy().__dlpack__(max_version=max_version, copy=copy if shared else True)
    return self.numpy().copy().__dlpack__()


def from_dlpack(x: Any, *, backend: str | None = None, copy: bool | None = None) -> Tensor:
    """Make a tensor from an array of any library that speaks DLPack; the elements are copied.

    Parameters
    ----------
    x : object with ``__dlpack__``
        On the host, or on a device from which its library can copy to the host.
    backend : str, optional
        Where the tensor lives, as in `forgenb.tensor`.
    copy : bool, optional
        True or None: memory that others may write cannot be watched, so that a value which was saved for backward
        could change unnoticed.

    Returns
    -------
    Tensor
        Of the shape and dtype of `x`, not tracked.

    Raises
    ------
    ArgumentError
        If `copy` is False.
    InteropError
        If `x` does not speak DLPack, or cannot be read from the host.
    DTypeError
        If forgenb has no tensors of its dtype.

    Examples
    --------
    >>> import forgenb as fnb, numpy as np
    >>> fnb.from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.], dtype=float64)
    """
    if copy is False:
        raise ArgumentError("from_dlpack(copy=False): a tensor has memory of its own, so leave copy out")
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise InteropError(f"from_dlpack got {type(x).__name__}, which has no __dlpack__: use fnb.tensor")
    try:
        on_host = int(x.__dlpack_device__()[0]) == CPU
        array = np.from_dlpack(x) if on_host else np.from_dlpack(x, device="cpu")
    except (TypeError, ValueError, RuntimeError, BufferError) as cause:
        raise InteropError(f"from_dlpack cannot read this {type(x).__name__} from the host: {cause}") from cause
    return tensor(array, backend=backend)


METHODS = {"__dlpack__": handed_out, "__dlpack_device__": device}
