"""What ops and `forgenb.interop` put on tensors: operators, methods and protocols, for type checkers and readers.

They put each here when they are imported, so that it has one definition. The function of the same name in ``fnb.ops``
documents it (an operator is documented by add, sub, pow, ...). Imports nothing at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from .tensor import Tensor

Method = Callable[..., "Tensor"]


class Members:
    """The operators and methods of `forgenb.Tensor` that are ops, and the protocols of others that it follows."""

    __slots__ = ()

    __add__: Method
    __radd__: Method
    __sub__: Method
    __rsub__: Method
    __mul__: Method
    __rmul__: Method
    __truediv__: Method
    __rtruediv__: Method
    __pow__: Method
    __rpow__: Method
    __matmul__: Method
    __rmatmul__: Method
    __neg__: Method
    __abs__: Method
    __invert__: Method
    __and__: Method
    __rand__: Method
    __or__: Method
    __ror__: Method
    __xor__: Method
    __rxor__: Method
    __gt__: Method
    __ge__: Method
    __lt__: Method
    __le__: Method
    __eq__: Method  # type: ignore[assignment]  # by element, as in NumPy
    __ne__: Method  # type: ignore[assignment]
    __getitem__: Method
    __setitem__: Callable[..., None]
    __iter__: Callable[..., Iterator[Tensor]]
    __float__: Callable[..., float]
    __int__: Callable[..., int]
    __bool__: Callable[..., bool]
    __array__: Callable[..., np.ndarray]
    __array_ufunc__: Callable[..., Any]
    __array_function__: Callable[..., Any]
    __dlpack__: Callable[..., Any]
    __dlpack_device__: Callable[..., tuple[int, int]]
    __cuda_array_interface__: dict[str, Any]
    _repr_html_: Callable[..., str]
    T: Tensor
    abs: Method
    add_in_place: Method
    all: Method
    any: Method
    arctan: Method
    argmax: Method
    argmin: Method
    assign_: Method
    astype: Method
    clip: Method
    copy: Method
    cos: Method
    cosh: Method
    cumsum: Method
    diagonal: Method
    dot: Method
    erf: Method
    exp: Method
    expand_dims: Method
    expm1: Method
    flip: Method
    floor: Method
    log: Method
    log1p: Method
    log2: Method
    logsumexp: Method
    max: Method
    mean: Method
    min: Method
    moveaxis: Method
    norm: Method
    prod: Method
    relu: Method
    reshape: Method
    rsqrt: Method
    sigmoid: Method
    sign: Method
    sin: Method
    sinh: Method
    sqrt: Method
    square: Method
    squeeze: Method
    std: Method
    sum: Method
    swapaxes: Method
    take: Method
    tan: Method
    tanh: Method
    to: Method
    transpose: Method
    var: Method
