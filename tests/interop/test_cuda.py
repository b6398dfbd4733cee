"""``__cuda_array_interface__`` both ways, on the lane interpreter: what stands in the dictionary, and what is read."""

from types import SimpleNamespace

import numpy as np
import pytest
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb.errors import DTypeError, InteropError, MemoryModeError


@pytest.fixture(scope="module")
def cuda():
    with installed(lane_backend()) as backend:
        yield backend


def made(values, **keywords):
    return fnb.tensor(values, backend="cuda", **keywords)


def other(face):
    """An array of another library on the same device."""
    return SimpleNamespace(__cuda_array_interface__=face)


def test_other_backends_do_not_have_it():
    for backend in ("cpu", "python"):
        t = fnb.tensor([1.0], backend=backend)
        assert not hasattr(t, "__cuda_array_interface__")
        with pytest.raises(AttributeError, match=f"backend '{backend}' has no __cuda_array_interface__"):
            _ = t.__cuda_array_interface__


@pytest.mark.parametrize(
    ("dtype", "typestr"),
    [("bool", "|b1"), ("int32", "<i4"), ("int64", "<i8"), ("float16", "<f2"), ("float32", "<f4"), ("float64", "<f8")],
)
def test_what_is_shown(cuda, dtype, typestr):
    t = made(np.arange(6).reshape(2, 3).astype(dtype))
    size = t.dtype.itemsize
    assert t.__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": typestr,
        "data": (t.address, False),
        "version": 3,
        "strides": None,
        "stream": None,
    }
    cut = t.T[1:]
    assert cut.__cuda_array_interface__["strides"] == (size, 3 * size)
    assert cut.__cuda_array_interface__["data"] == (t.address + size, False)


def test_nothing_and_no_dimensions(cuda):
    assert made(np.zeros((0, 2))).__cuda_array_interface__["data"] == (0, False)
    assert made(1.0).__cuda_array_interface__["shape"] == ()


def test_everything_queued_has_finished(cuda):
    t = made([1.0, 2.0])
    before = fnb.stats()
    _ = t.__cuda_array_interface__
    assert fnb.stats().since(before).syncs == 1


def test_a_tracked_tensor_is_refused(cuda):
    with pytest.raises(InteropError, match=r"memory that others read, where its gradient would be lost.*detach\(\)"):
        _ = made([1.0], requires_grad=True).__cuda_array_interface__


def test_nothing_is_shown_while_a_step_is_recorded(cuda):
    outside = made([1.0, 2.0])
    with fnb.capture():
        inside = outside * 2.0
        with pytest.raises(MemoryModeError, match="read while the step was being recorded"):
            _ = outside.__cuda_array_interface__
        with pytest.raises(MemoryModeError, match="nothing is computed yet"):
            _ = inside.__cuda_array_interface__


@pytest.mark.parametrize("cut", [lambda t: t, lambda t: t.T, lambda t: t[1:, ::2], lambda t: t[:0], lambda t: t[1, 2]])
@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float32"])
def test_an_array_of_another_library_is_read(cuda, dtype, cut):
    source = cut(made(np.arange(6).reshape(2, 3).astype(dtype)))
    there = other(source.__cuda_array_interface__)
    for backend in ("cuda", "cpu"):
        t = fnb.tensor(there, backend=backend)
        assert (t.backend.name, t.dtype, t.shape) == (backend, source.dtype, source.shape)
        np.testing.assert_array_equal(t.numpy(), source.numpy())
    assert fnb.tensor(there, dtype="float64", backend="cpu", requires_grad=True).requires_grad


def test_the_streams_of_others_are_waited_for(cuda, monkeypatch):
    waited = []
    monkeypatch.setattr(cuda.machine, "wait", waited.append, raising=True)
    source = made([1.0, 2.0])
    for stream in (1, 2, 12345, None):
        fnb.tensor(other(source.__cuda_array_interface__ | {"stream": stream}), backend="cpu")
    assert waited == [1, 2, 12345]


def test_what_cannot_be_read(cuda):
    source = made(np.zeros((2, 3)))
    face = source.__cuda_array_interface__
    with pytest.raises(InteropError, match="masked, cannot be read"):
        fnb.tensor(other(face | {"mask": source}))
    with pytest.raises(InteropError, match=r"strides \(25, 8\) in bytes of 8 each"):
        fnb.tensor(other(face | {"strides": (25, 8)}))
    with pytest.raises(DTypeError, match="<c16"):
        fnb.tensor(other(face | {"typestr": "<c16"}))
