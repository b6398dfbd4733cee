"""Arrays and numbers of tensors: NumPy's protocol, and the rule that tracked tensors leave only when asked by name."""

import array as arrays
import re

import numpy as np
import pytest
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb.errors import ArgumentError, InteropError

TRACKED = fnb.tensor([1.0, 2.0], requires_grad=True) * 2.0
REFUSED = "gradient would be lost: join tensors with stack or concat, or write tensor.detach\\(\\)"


@pytest.fixture(params=["cpu", "python"])
def t(request):
    return fnb.tensor(np.arange(6.0).reshape(2, 3), backend=request.param)


def test_an_array_is_a_view_that_cannot_be_written(t):
    found = np.asarray(t)
    assert np.shares_memory(found, t.numpy())
    assert not found.flags.writeable
    np.testing.assert_array_equal(np.asarray(t.T[::2]), t.numpy().T[::2])


def test_a_copy_is_the_callers(t):
    for found in (np.array(t), np.asarray(t, copy=True), np.asarray(t, dtype=np.float32)):
        found[0, 0] = 9.0
    assert t[0, 0].item() == 0
    assert np.asarray(t, dtype="int64").dtype == np.int64


def test_of_a_device_every_array_is_a_copy():
    with installed(lane_backend()):
        t = fnb.tensor([1.0, 2.0], backend="cuda")
        for found in (np.asarray(t), np.array(t), np.asarray(t, dtype=np.float64)):
            found[0] = 9.0
        assert t.tolist() == [1, 2]
        with pytest.raises(ArgumentError, match="on backend 'cuda' was asked for with copy=False"):
            np.asarray(t, copy=False)


def test_without_a_copy_or_not_at_all(t):
    assert np.shares_memory(np.asarray(t, dtype=np.float64, copy=False), t.numpy())
    with pytest.raises(ArgumentError, match="dtype float32 of a tensor of dtype float64 .* leave copy out"):
        np.asarray(t, dtype=np.float32, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(t.astype("int32"), dtype=np.float32, copy=False)


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.array,
        lambda t: np.array([t, t]),
        np.ones(2).dot,
        lambda t: np.full(2, t),
        fnb.tensor(0.0).numpy().dot,
    ],
)
@pytest.mark.parametrize("t", [TRACKED, fnb.tensor([1.0, 2.0], requires_grad=True)], ids=["inner", "leaf"])
def test_a_tracked_tensor_is_refused(convert, t):
    with pytest.raises(InteropError, match=REFUSED):
        convert(t)
    convert(t.detach())


def test_a_tracked_tensor_has_values_by_name():
    assert TRACKED.numpy().tolist() == TRACKED.tolist() == [2, 4]
    first = TRACKED[0]
    assert (first.item(), float(first), int(first), bool(first), complex(first)) == (2, 2, 2, True, 2)


class TestStoresIntoArrays:
    """A tracked value written into a NumPy array would lose its gradient; of several elements see tests/pains."""

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "bool", "complex128"])
    def test_of_one_element_raise_through_numpy(self, dtype):
        """NumPy may report a sequence of its own accord, and our error as the cause."""
        array = np.zeros(2, dtype)
        with pytest.raises((TypeError, ValueError)) as caught:
            array[0] = TRACKED[0]
        reason = caught.value if isinstance(caught.value, TypeError) else caught.value.__cause__
        assert isinstance(reason, InteropError)
        assert re.search(REFUSED, str(reason))
        assert array.tolist() == [0, 0]

    def test_of_arrays_of_python_too(self):
        with pytest.raises(InteropError, match=REFUSED):
            arrays.array("d", [0.0])[0] = TRACKED[0]

    def test_conversions_and_untracked_values_go_through(self):
        array = np.zeros(2)
        array[0] = float(TRACKED[0])
        array[1] = TRACKED[1].detach()
        assert array.tolist() == [2, 4]
        array[:] = TRACKED.detach()
        assert array.tolist() == [2, 4]

    def test_containers_hold_tensors(self):
        kept = [None]
        kept[0] = TRACKED
        assert kept[0] is TRACKED


def test_several_elements_are_neither_true_nor_a_number():
    for convert, match in ((bool, "ambiguous"), (float, "one element"), (int, "one element")):
        with pytest.raises(ArgumentError, match=match):
            convert(TRACKED)
