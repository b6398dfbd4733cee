"""The classes of forgenb.errors."""

import pytest

from forgenb import errors

ALSO = {
    "ShapeError": ValueError,
    "ArgumentError": ValueError,
    "DTypeError": TypeError,
    "TapeError": RuntimeError,
    "MemoryModeError": RuntimeError,
    "IndexRangeError": IndexError,
    "BindingError": KeyError,
    "InteropError": TypeError,
    "NotFiniteError": ArithmeticError,
}


@pytest.mark.parametrize("name", errors.__all__)
def test_is_a_forge_error(name):
    assert issubclass(getattr(errors, name), errors.ForgeError)
    assert getattr(errors, name).__doc__


@pytest.mark.parametrize(("name", "builtin"), ALSO.items())
def test_is_also_the_builtin_that_people_catch(name, builtin):
    assert issubclass(getattr(errors, name), builtin)


def test_what_dlpack_asks_for():
    assert issubclass(errors.InteropError, BufferError)
