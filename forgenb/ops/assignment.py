"""Writing in place: ``t[key] = v``, ``t.assign_(v)`` and the key/value cache of attention.

Each bumps the version of the memory, so that backward notices a saved value that changed.

Imports what every family of ops does (see `forgenb.ops`). Apart from what optimisers do, only this file and
`scatter_add_` may write into a tensor that they were given.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import result_dtype
from ..errors import ArgumentError, ShapeError, TapeError
from ..tape import is_recording
from ..tensor import Tensor
from .apply import apart, as_tensor, refuse_shared, run_map
from .copying import copy_kernel
from .indexing import is_index_array, key_parts, view_geometry
from .movement import broadcast_to
from .plans import same_backend
from .settings import whole
from .table import op


def _check_untracked(name: str, target: Tensor, value: Tensor) -> None:
    if not is_recording():
        return
    if target.requires_grad:
        raise TapeError(
            f"{name} into a tracked tensor of shape {target.shape}: its recorded value would no longer be "
            "true. Build a new tensor instead (where, concat, stack), or write inside no_grad()"
        )
    if value.requires_grad:
        raise TapeError(
            f"{name} of a tracked tensor of shape {value.shape} would lose its gradient: join it with concat "
            "or stack, or write value.detach()"
        )


def _write(name: str, target: Tensor, place: Tensor, value: Tensor) -> None:
    """Copy `value`, broadcast and cast, into the view `place` of `target`."""
    refuse_shared(name, place)
    pairs = zip(reversed(value.shape), reversed(place.shape), strict=False)
    if value.ndim > place.ndim or any(size not in (1, wanted) for size, wanted in pairs):
        raise ShapeError(f"{name} got a value of shape {value.shape}, which does not broadcast to shape {place.shape}")
    source = broadcast_to(apart(value, place).detach(), place.shape)
    run_map(copy_kernel, (source,), dtype=result_dtype(value.dtype, place.dtype), into=(place,))
    target.changed()


def set_item(target: Tensor, key, value) -> None:
    """``target[key] = value`` for numbers, slices, ``None`` and ``...``; see `assign_`."""
    parts = key_parts(key)
    if any(map(is_index_array, parts)):
        raise ArgumentError(
            "assignment through an index array is not offered: assign slice by slice, add with scatter_add_, "
            "or choose with where"
        )
    value = as_tensor(value, target)
    same_backend("assignment", (target, value))
    _check_untracked("assignment", target, value)
    _write("assignment", target, target.view(*view_geometry(target.shape, target.strides, parts)), value)


def _assign_samples(rng: np.random.Generator):
    for shape, other in (
        ((), ()),
        ((3,), ()),
        ((2, 3), (3,)),
        ((2, 3), (2, 1)),
        ((0, 2), (2,)),
        ((2, 1, 4), (2, 1, 4)),
    ):
        yield (rng.uniform(-2, 2, shape), rng.uniform(-2, 2, other)), {}


@op(_assign_samples, lambda target, value: np.broadcast_to(value, target.shape), (), in_place=True, dtypes="first")
def assign_(target: Tensor, value) -> Tensor:
    """Write `value` over the elements of `target`, broadcast and cast to its dtype; returns `target`.

    Floats are cut towards zero where the target holds whole numbers. A value that shares memory with the
    target is copied first.

    Raises
    ------
    TapeError
        If `target` or `value` is tracked and ops are recorded.
    ShapeError
        If `value` does not broadcast to the target's shape.
    ArgumentError
        If `target` is a broadcast view, whose elements share memory.
    """
    value = as_tensor(value, target)
    same_backend("assign_", (target, value))
    _check_untracked("assign_", target, value)
    _write("assign_", target, target.detach(), value)
    return target


def _append_samples(rng: np.random.Generator):
    for h, cap, t, hd, length in ((2, 8, 3, 4, 2), (1, 1, 1, 1, 0), (3, 5, 0, 2, 5), (2, 6, 1, 5, 5)):
        yield (rng.uniform(-2, 2, (h, cap, hd)), rng.uniform(-2, 2, (h, t, hd))), {"length": length}


def _append_reference(cache, src, length):
    out = cache.copy()
    out[:, length : length + src.shape[1]] = src
    return out


@op(_append_samples, _append_reference, (), in_place=True, dtypes="first")
def kv_append(cache: Tensor, src, length: int) -> Tensor:
    """Write ``src[h, t, hd]`` into ``cache[h, cap, hd]`` from row `length` of each head on; returns `cache`.

    Raises
    ------
    ShapeError
        If heads or head widths differ, or the cache has no room for t more rows.
    TapeError
        If `cache` or `src` is tracked and ops are recorded.
    """
    src, length = as_tensor(src, cache), whole("kv_append", "length", length)
    same_backend("kv_append", (cache, src))
    if cache.ndim != 3 or src.ndim != 3 or (cache.shape[0], cache.shape[2]) != (src.shape[0], src.shape[2]):
        raise ShapeError(
            f"kv_append got cache {cache.shape} and src {src.shape}: they must be [h, cap, hd] and [h, t, hd]"
        )
    capacity, t = cache.shape[1], src.shape[1]
    if not 0 <= length <= capacity - t:
        raise ShapeError(f"kv_append of {t} rows at length {length} does not fit the cache's capacity {capacity}")
    _check_untracked("kv_append", cache, src)
    shape = (cache.shape[0], t, cache.shape[2])
    _write("kv_append", cache, cache.view(shape, cache.strides, length * cache.strides[1]), src)
    return cache
