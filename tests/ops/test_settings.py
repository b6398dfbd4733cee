"""Settings, the arguments of ops that are no tensors: of a wrong type, each is refused by name, before any kernel."""

import inspect
from fractions import Fraction

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, ForgeError, MemoryModeError, ShapeError
from forgenb.ops import TABLE
from forgenb.ops.settings import axes_in_order, flag, normalized_axes, number, one_axis, quoted, sizes, whole, wholes
from forgenb.testing.samples import samples

WRONG = "word", object(), [1.5, "b"]
HUGE = 10**400

OPERANDS = {"bias", "wpe", "total", "y"}
"""Settings that are tensors, too: refused where tensors are made, which knows no op."""

UNNAMED = {
    ("astype", "dtype"): "creations refuse a dtype in the same words",
    ("einsum", "subscripts"): "they are its first operand, and the message is about what they say",
    ("getitem", "key"): "a key is written in brackets: messages say indexing",
    ("unslice", "key"): "the same",
}
"""Settings whose messages do not have the form ``op got setting=value``."""

SENSIBLE = {("getitem", "key"): "None is a new axis", ("unslice", "key"): "the same"}
"""Settings for which None has a meaning, although it is no default."""


def settings_of(name):
    """The settings of an op: what has a default, or is a keyword of its samples."""
    keywords = set().union(*(s.keywords for s in samples(name)))
    parameters = inspect.signature(TABLE[name].function).parameters.values()
    return [p for p in parameters if p.default is not p.empty or p.name in keywords]


def wrong_values(name, setting):
    """Values of a wrong type, by the setting's annotation and default."""
    wanted = setting.annotation if isinstance(setting.annotation, str) else ""
    found = [*WRONG]
    if "int" in wanted or "bool" in wanted:
        found.append(1.5)
    if wanted == "float":
        found.append(HUGE)
    if setting.default is not None and (name, setting.name) not in SENSIBLE:
        found.append(None)
    return found


CASES = [(name, setting) for name in sorted(TABLE) for setting in settings_of(name)]


@pytest.mark.parametrize(("name", "setting"), CASES, ids=[f"{n}-{s.name}" for n, s in CASES])
def test_a_setting_of_a_wrong_type_is_refused_by_name(name, setting):
    function, parameters = TABLE[name].function, inspect.signature(TABLE[name].function).parameters
    sample = max(samples(name), key=lambda s: (setting.name in s.keywords, len(s.keywords), len(s.arrays)))
    before = None if setting.kind is setting.KEYWORD_ONLY else list(parameters).index(setting.name)
    tensors = [fnb.tensor(a) for a in sample.arrays[:before]]
    for value in wrong_values(name, setting):
        with pytest.raises(ForgeError, match=".") as caught:
            function(*tensors, **{**sample.keywords, setting.name: value})
        message = str(caught.value)
        assert len(message) < 300
        if setting.name not in OPERANDS and (name, setting.name) not in UNNAMED:
            assert message.startswith(f"{name} got ")
            assert f"{setting.name}=" in message


def test_the_exceptions_are_settings():
    named = {(name, setting.name) for name, setting in CASES}
    assert {*UNNAMED, *SENSIBLE} <= named
    assert {setting for _, setting in named} >= OPERANDS
    assert len(CASES) > 150


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint8(3), np.array(3)])
def test_whole_numbers(value):
    for found in (
        whole("f", "n", value, 3),
        *wholes("f", "n", value),
        *sizes("f", "n", [value]),
        one_axis("f", 4, value),
    ):
        assert (type(found), found) == (int, 3)


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float32(3), "3", None, 3j, [3]])
def test_what_is_no_whole_number(value):
    with pytest.raises(ArgumentError, match="f got n=.*: it must be a whole number of at least 1$"):
        whole("f", "n", value, 1)
    with pytest.raises(ArgumentError, match="f got axis=.*: it must be the number of one axis"):
        one_axis("f", 4, value)
    with pytest.raises(ArgumentError, match="f got n=.*: it must be a whole number$"):
        whole("f", "n", value)
    with pytest.raises(ArgumentError, match="f got n=.*: it must be a whole number, or several"):
        wholes("f", "n", [1, value])
    with pytest.raises(ShapeError, match="f got n=.*: a shape is a whole number of at least 0 for each axis"):
        sizes("f", "n", (1, value))


def test_numbers_that_are_too_small():
    with pytest.raises(ArgumentError, match="f got n=0: it must be a whole number of at least 1"):
        whole("f", "n", 0, 1)
    for shape in (-1, (2, -1), np.array([2, -1])):
        with pytest.raises(ShapeError, match="f got shape=.*-1.*: a shape is a whole number of at least 0"):
            sizes("f", "shape", shape)
    assert sizes("f", "shape", (2, -1), -1) == (2, -1)
    assert sizes("f", "shape", ()) == ()


@pytest.mark.parametrize("value", [0.5, np.float16(0.5), Fraction(1, 2), np.array(0.5), fnb.tensor(0.5)])
def test_numbers(value):
    found = number("f", "n", value)
    assert (type(found), found) == (float, 0.5)
    assert number("f", "n", 2) == 2.0


@pytest.mark.parametrize("value", ["0.5", b"1", np.str_("1"), None, 1j, HUGE, [0.5], fnb.tensor([0.5, 1.0])])
def test_what_is_no_number(value):
    with pytest.raises(ArgumentError, match="f got n=.*: it must be a number that float64 holds") as caught:
        number("f", "n", value)
    assert len(str(caught.value)) < 120


def test_flags():
    for value in (True, 1, np.True_, np.int64(1)):
        assert flag("f", "up", value) is True
        assert flag("f", "up", 1 - int(value)) is False
    for value in (2, -1, 1.0, "yes", None, fnb.tensor(True)):
        with pytest.raises(ArgumentError, match="f got up=.*: it must be True or False"):
            flag("f", "up", value)


def test_axes():
    assert axes_in_order("f", 3, (2, -3)) == (2, 0)
    assert normalized_axes("f", 3, [2, np.int64(-3)]) == (0, 2)
    assert normalized_axes("f", 3, None) == (0, 1, 2)
    assert normalized_axes("f", 3, ()) == ()
    for axes in ((0, 3), (0, -3), (-4,)):
        with pytest.raises(ShapeError, match="f got axis=.* where there are 3 dimensions: axes must exist, each once"):
            normalized_axes("f", 3, axes)
    for axis in (3, -4, HUGE):
        with pytest.raises(ShapeError, match="f got axis=.* where there are 3 dimensions: the axis must exist"):
            normalized_axes("f", 3, axis)


def test_what_a_message_quotes_is_short():
    for value in ("x" * 1000, list(range(1000)), HUGE, 10**5000, [10**5000], object()):
        assert len(quoted(value)) < 60


def test_whole_numbers_beyond_all_sizes():
    x = fnb.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert ops.tril(x, HUGE).tolist() == ops.triu(x, -HUGE).tolist() == x.tolist()
    assert ops.tril(x, -HUGE).tolist() == ops.triu(x, HUGE).tolist() == [[0, 0], [0, 0]]
    assert ops.diagonal(x, HUGE).shape == (0,)
    assert ops.roll(x, HUGE, 1).tolist() == x.tolist()
    with pytest.raises(ArgumentError, match="pow got y=1000.*: it must be a number that float64 holds"):
        x**HUGE
    with pytest.raises(ArgumentError, match="rope got base=10000.0 and offset=1000.*places that float64 can count"):
        ops.rope(x, offset=HUGE)


def test_running_statistics_are_two_tensors():
    x, ones = fnb.tensor(np.ones((2, 3))), fnb.tensor(np.ones(3))
    for running in ((), (ones,), (ones, [1.0, 1.0, 1.0]), ones):
        with pytest.raises(
            ArgumentError, match="batchnorm got running=.*: it must be two tensors, a mean and a variance"
        ):
            ops.batchnorm(x, ones, ones, running=running)


def test_a_late_number_is_a_number():
    x, s = fnb.tensor([1.0, -2.0]), fnb.symbol("s")
    run = fnb.compile(lambda: (ops.scale(x, s * 0.5), ops.leaky_relu(x, s)))
    for value in (3, 1):
        one, two = run(s=value)
        assert one.tolist() == [0.5 * value, -value]
        assert two.tolist() == [1.0, -2.0 * value]


def test_a_late_number_is_no_axis():
    x, s = fnb.tensor([[1.0, 2.0]]), fnb.symbol("s")
    for f in (lambda: x.sum(axis=s), lambda: x.reshape(s, 2), lambda: ops.huber(x, s)):
        with pytest.raises(MemoryModeError, match="a number that changes from run to run"):
            fnb.compile(f)(s=1)
