"""DLPack both ways, with NumPy on the other side."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb.errors import ArgumentError, DTypeError, InteropError

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64")
CUTS = {
    "whole": lambda a: a,
    "turned": lambda a: a.T,
    "strided": lambda a: a[::2, 1:],
    "0-d": lambda a: a[1, 2, ...],
    "empty": lambda a: a[:0],
}


@pytest.fixture(params=["cpu", "python"])
def t(request):
    return fnb.tensor(np.arange(12.0).reshape(3, 4), backend=request.param)


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype, cut):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    out = np.from_dlpack(cut(fnb.tensor(array)))
    back = fnb.from_dlpack(cut(array))
    for found in (out, back):
        assert found.dtype == dtype
        np.testing.assert_array_equal(np.asarray(found), cut(array))
    assert isinstance(back, fnb.Tensor)


def test_numpy_shares_the_memory_and_may_not_write(t):
    found = np.from_dlpack(t)
    assert np.shares_memory(found, t.numpy())
    assert not found.flags.writeable
    assert t.__dlpack_device__() == (1, 0)


def test_the_memory_lives_as_long_as_who_reads_it():
    found = np.from_dlpack(fnb.tensor(np.arange(1000.0)))
    gc.collect()
    fnb.tensor(np.zeros(1000))
    np.testing.assert_array_equal(found, np.arange(1000.0))


class Consumer:
    """Hands a capsule of a tensor to NumPy, as a library asks for it that knows only these keywords."""

    def __init__(self, t, **keywords):
        self.t, self.keywords = t, keywords

    def __dlpack__(self, **asked_by_numpy):
        return self.t.__dlpack__(**self.keywords)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize(
    ("keywords", "shared"),
    [
        ({}, False),  # of before 1.0, when nothing could be said to be read-only
        ({"max_version": (0, 8)}, False),
        ({"max_version": (1, 0)}, True),
        ({"max_version": (2, 3), "copy": None, "dl_device": (1, 0), "stream": None}, True),
        ({"max_version": (1, 1), "copy": False}, True),
        ({"max_version": (1, 1), "copy": True}, False),
        ({"copy": True}, False),
    ],
    ids=str,
)
def test_what_a_consumer_asks_for(t, keywords, shared):
    found = np.from_dlpack(Consumer(t, **keywords))
    np.testing.assert_array_equal(found, t.numpy())
    assert np.shares_memory(found, t.numpy()) is shared
    if not shared and found.flags.writeable:  # NumPy gives away old capsules as read-only, whatever they hold
        found[...] = 7.0
    assert t[0, 1].item() == 1


def test_a_copy_is_the_consumers(t):
    found = np.from_dlpack(t, copy=True)
    found[...] = 7.0
    assert t[0, 1].item() == 1


def test_steps_backwards_are_copied(t):
    view = t.view((4,), (-1,), 3)
    assert np.from_dlpack(view).tolist() == [3, 2, 1, 0]
    assert min(np.from_dlpack(view).strides) > 0


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({"copy": False}, "copy=False needs host memory .* consumer of version 1.0"),
        ({"max_version": (0, 8), "copy": False}, "copy=False"),
        ({"dl_device": (2, 0)}, r"backend 'cpu' was asked for device \(2, 0\) and stream None"),
        ({"stream": 1}, "stream 1, but hands out host memory"),
    ],
    ids=str,
)
def test_what_cannot_be_given(keywords, match):
    with pytest.raises(BufferError, match=match):
        fnb.tensor([1.0]).__dlpack__(**keywords)


def test_a_tracked_tensor_is_refused():
    x = fnb.tensor([1.0, 2.0], requires_grad=True)
    for t in (x, x * 2.0):
        with pytest.raises(InteropError, match=r"DLPack capsule, where its gradient would be lost.*detach\(\)"):
            np.from_dlpack(t)
    assert np.from_dlpack(x.detach()).tolist() == [1, 2]


def test_what_comes_in_is_copied():
    array = np.arange(3.0)
    t = fnb.from_dlpack(array, backend="python")
    array[0] = 7.0
    assert t.tolist() == [0, 1, 2]
    assert t.backend.name == "python"
    assert not t.requires_grad
    assert fnb.from_dlpack(array, copy=True).tolist() == [7, 1, 2]


def test_read_only_arrays_come_in():
    array = np.arange(3.0)
    array.flags.writeable = False
    assert fnb.from_dlpack(array).tolist() == [0, 1, 2]
    assert fnb.from_dlpack(fnb.tensor([1.0])).tolist() == [1]


def elsewhere(array, device):
    """An object that says it lives on another device, and can copy to the host where `device` allows it."""

    def capsule(dl_device=None, **others):
        if dl_device is None or tuple(dl_device) != (1, 0) or not device:
            raise BufferError("not for the host")
        return array.__dlpack__(max_version=(1, 0), copy=True)

    return SimpleNamespace(__dlpack__=capsule, __dlpack_device__=lambda: (2, 0))


def test_what_lives_elsewhere_is_asked_for_a_copy_on_the_host():
    assert fnb.from_dlpack(elsewhere(np.arange(3.0), True)).tolist() == [0, 1, 2]
    with pytest.raises(InteropError, match="cannot read this SimpleNamespace from the host: not for the host"):
        fnb.from_dlpack(elsewhere(np.arange(3.0), False))


def test_what_does_not_come_in():
    with pytest.raises(InteropError, match="from_dlpack got list, which has no __dlpack__: use fnb.tensor"):
        fnb.from_dlpack([1.0])
    with pytest.raises(DTypeError, match="uint8"):
        fnb.from_dlpack(np.zeros(2, np.uint8))
    with pytest.raises(ArgumentError, match="a tensor has memory of its own, so leave copy out"):
        fnb.from_dlpack(np.zeros(2), copy=False)


def test_a_tensor_on_a_device_is_copied_to_the_host():
    with installed(lane_backend()):
        t = fnb.tensor([1.0, 2.0], backend="cuda")
        assert t.__dlpack_device__() == (2, 0)
        assert fnb.from_dlpack(t, backend="cpu").tolist() == [1, 2]
        assert np.from_dlpack(t, device="cpu").tolist() == [1, 2]
        with pytest.raises(
            InteropError, match=r"backend 'cuda' was asked for device \(2, 0\).*__cuda_array_interface__"
        ):
            t.__dlpack__(max_version=(1, 0))
        with pytest.raises(InteropError, match="copy=False needs host memory"):
            t.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)
