"""Every error that forgenb raises on purpose; catch `ForgeError` for all of them.

A message is one paragraph: what was asked, what was got (shapes, dtypes, backend), what to do.

Imports nothing. An error that is no more precise than one here does not deserve a class.
"""

__all__ = [
    "ArgumentError",
    "BackendBroken",
    "BackendError",
    "BindingError",
    "CheckpointError",
    "DTypeError",
    "ForgeError",
    "GradcheckError",
    "IndexRangeError",
    "InteropError",
    "MemoryModeError",
    "MisfitError",
    "NotFiniteError",
    "OpUnsupported",
    "ShapeError",
    "TapeError",
]


class ForgeError(Exception):
    """Base of every error below."""


class ShapeError(ForgeError, ValueError):
    """Shapes that do not fit together or do not fit the call."""


class ArgumentError(ForgeError, ValueError):
    """An argument whose value the call cannot use."""


class DTypeError(ForgeError, TypeError):
    """A dtype that the call does not take."""


class TapeError(ForgeError, RuntimeError):
    """A backward pass that the recorded graph cannot give."""


class MisfitError(TapeError):
    """A rule that gave a gradient of another shape, dtype or backend than its input.

    Attributes
    ----------
    found, wanted : tuple of int
        The shapes of the gradient and of the input.
    """

    def __init__(self, message: str, found: tuple = (), wanted: tuple = ()):
        super().__init__(message)
        self.found, self.wanted = found, wanted


class GradcheckError(TapeError):
    """A gradient that differences of the function contradict.

    Attributes
    ----------
    mistake : str or None
        The name of the usual mistake that makes the numbers agree, from `forgenb.gradcheck.diagnosis.MISTAKES`.
    label : str
        The input, or the parameter of a module.
    entry : tuple of int
        Its entry that differs most.
    analytic, numeric : float
        What backward and what differences give there.
    """

    def __init__(
        self,
        message: str,
        mistake: str | None = None,
        label: str = "",
        entry: tuple = (),
        analytic: float = float("nan"),
        numeric: float = float("nan"),
    ):
        super().__init__(message)
        self.mistake, self.label, self.entry = mistake, label, entry
        self.analytic, self.numeric = analytic, numeric


class MemoryModeError(ForgeError, RuntimeError):
    """A value read from a routine that did not store it."""


class BackendError(ForgeError):
    """A backend that is unknown, or tensors of different backends in one call."""


class BackendBroken(BackendError):
    """A backend that is installed but cannot be used; the reason is chained."""


class OpUnsupported(BackendError):
    """An op that the chosen backend cannot run."""


class IndexRangeError(ForgeError, IndexError):
    """An index or id outside the range that it points into."""


class InteropError(ForgeError, TypeError, BufferError):
    """A tensor in a call of NumPy or another library that has no op for it, or would lose its gradient.

    NumPy's protocols ask for a TypeError, DLPack's for a BufferError.
    """


class NotFiniteError(ForgeError, ArithmeticError):
    """A statement of a watched routine wrote infinity or NaN."""


class BindingError(ForgeError, KeyError):
    """A static symbol that a routine does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class CheckpointError(ForgeError):
    """A checkpoint that is missing, damaged, or made for another model."""
