"""The door to a backend that can write down what a kernel does.

Imports the registry and `forgenb.errors`; how a trace is made is the plug-in's business.
"""

from __future__ import annotations

from ..errors import ArgumentError
from ..kernel import Kernel
from .registry import get_backend


def trace(kernel: str | Kernel, row: int = 0, launch: int = 0, depth: int | None = None):
    """Write down every assignment of one row of a kernel, inside a ``with`` block; works on the python backend.

    Parameters
    ----------
    kernel : str or Kernel
        The kernel or its name, such as ``"gelu_kernel"``; the name ends up in the error where it does not run.
    row : int
        The row of a row kernel, or the flat index of the element of a map.
    launch : int
        Which of the kernel's launches inside the block, from 0.
    depth : int, optional
        How many levels of helpers to show, indented; 0 for the body alone, by default all.

    Returns
    -------
    context manager
        It gives the table: iterable steps with ``line``, ``source``, ``variable``, ``value`` and ``depth``, and
        text for ``print``. The table is complete when the block ends.

    Raises
    ------
    BackendError
        At the end of the block, if the kernel was not launched on the python backend: a compiled kernel has
        no assignments to show.
    ArgumentError
        If `row` or `launch` is negative, or the kernel ran with fewer rows.

    Examples
    --------
    >>> import forgenb as fnb
    >>> with fnb.use("python"), fnb.trace("add_kernel", row=1) as table:
    ...     _ = fnb.tensor([1.0, 2.0]) + fnb.tensor([0.5, 0.25])
    >>> [(step.variable, float(step.value)) for step in table]
    [('x', 2.0), ('y', 0.25), ('return', 2.25)]
    """
    if row < 0 or launch < 0:
        raise ArgumentError(f"trace got row={row} and launch={launch}: both count from 0")
    name = kernel.name if isinstance(kernel, Kernel) else kernel
    return get_backend("python").trace(name, row, launch, depth)
