r"""Check a gradient against differences: `gradcheck`.

For outputs :math:`y_k = f_k(x)` and random cotangents :math:`w_k`, backward gives the gradient of
:math:`s(x) = \sum_k \langle w_k, y_k \rangle`, which is compared with differences of :math:`s` in float64. Random
cotangents are what makes the check see rules that are right for ones only, such as a forgotten transpose or a softmax
without gradient.

Imports the other files of this folder; how slopes are measured and mistakes are named is theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import ArgumentError, GradcheckError, MisfitError
from ..random import generator
from .compare import Disagreement, compare
from .diagnosis import Diagnosis, diagnose, misfit
from .forward import check_forward
from .reference import complex_gradient, furthest
from .slopes import Slopes
from .subject import Subject, contracted, signed

DIFFERENCES = 1e-6
"""The tolerance of differences beside a complex step."""


def gradcheck(
    f: Callable,
    *inputs,
    tolerance: float = 1e-6,
    seed: int = 0,
    order: int = 1,
    forward: bool = False,
    reference: Callable | None = None,
) -> bool:
    """Whether backward through `f` agrees with differences of `f`, or an error that says what is wrong and where.

    Parameters
    ----------
    f : callable
        Takes the inputs as tensors and returns a tensor or a tuple of tensors or of such tuples. It must be a function
        of them alone, so a random op in it needs a fixed seed. It may be a `custom_op`, a module or a method of one, or
        what `forgenb.compile` returns. The parameters of a module that are not frozen are checked too, with random
        values in float64 that stand in for their own during the check; the module is left as it was. Of a compiled step
        the gradient is recorded as well, and both run as routines.
    *inputs : Tensor or array_like
        Every float input is checked and must be float64; others are handed on as they are.
    tolerance : float
        Largest error, relative to the largest entry of the input's gradient, on whichever side that is.
    seed : int
        Of the cotangents, of the directions and of the values of parameters.
    order : int
        2 checks the gradient of the gradient too, through ``create_graph=True``.
    forward : bool
        Check the derivative along a random direction too, which `forgenb.jvp` gives.
    reference : callable, optional
        The same function of NumPy arrays. Where it computes with complex numbers, the gradient is also compared with
        its derivative by the complex step, which is right to the last digits, so `tolerance` may be 1e-12; it then
        holds for that, and 1e-6 for differences. Where it does not, differences alone decide.

    Returns
    -------
    bool
        True. A disagreement is an error, so that its place is known.

    Raises
    ------
    GradcheckError
        If an entry disagrees, or a gradient has another shape than its input. It names the input, the entry that
        differs most, both values and the shapes, and the usual mistake that makes the numbers agree, if there is one.
    TapeError
        If `f` returns nothing tracked, or an op in it has no rule for the order that is asked for.
    ArgumentError
        If `f` is not differentiable at these inputs: the slopes to the left and to the right differ, or are
        not finite. Also if `f` gives other outputs on each call or anything but tensors, if there is no float input,
        or another `order`, a negative `tolerance`, or a `reference` with other values.
    DTypeError
        If an input is float32 or float16.

    Examples
    --------
    >>> import numpy as np, forgenb as fnb
    >>> fnb.gradcheck(lambda x: (x * x).sum(), np.array([1.0, 2.0]), order=2)
    True
    """
    if order not in (1, 2):
        raise ArgumentError(f"gradcheck got order={order!r}: 1 checks gradients, 2 gradients of gradients as well")
    if not 0 <= tolerance < np.inf:
        raise ArgumentError(f"gradcheck got tolerance={tolerance!r}: it must be a number of at least 0, such as 1e-6")
    subject = Subject(f, inputs, seed)
    if not subject.floats:
        raise ArgumentError("gradcheck got no float input, so there is no gradient to check: pass float64 tensors")
    _check(subject, tolerance, seed, "", reference)
    if forward:
        check_forward(subject, tolerance, seed)
    if order == 2:
        _check(_of_gradients(subject, seed), tolerance, seed, "second order, ")
    return True


def _of_gradients(subject: Subject, seed: int) -> Subject:
    """The gradients of a subject, contracted with random cotangents, as a subject of their own."""
    rng = generator(seed, "gradcheck order 2")
    cotangents = [signed(rng, y.shape) for y in subject.evaluate(subject.values)]

    def gradients(*tensors):
        return contracted(subject.step, cotangents, tuple(subject.floats))(*tensors)

    return subject.with_gradients(gradients)


def _check(subject: Subject, tolerance: float, seed: int, which: str, reference: Callable | None = None) -> None:
    rng = generator(seed, "gradcheck")
    outputs, pull = subject.pullback()
    cotangents = [signed(rng, y.shape) for y in outputs]
    try:
        found = pull(cotangents)
    except MisfitError as misfitting:
        mistake, text = misfit(misfitting)
        raise GradcheckError(f"gradcheck: {which}{misfitting}. {text}", mistake=mistake) from misfitting
    slopes = Slopes(subject, outputs, cotangents)
    for number, pulled in zip(subject.floats, found, strict=True):
        gradient = np.zeros(subject.values[number].shape) if pulled is None else pulled
        try:
            wrong = _wrong(slopes, number, gradient, tolerance, rng, reference)
        except ArgumentError:
            _refuse_random(subject)
            raise
        if wrong is not None:
            _refuse_random(subject)
            named = diagnose(subject, outputs, cotangents, number, tolerance)
            error = _explained(subject, wrong, named, tolerance, which)
            raise error


def _refuse_random(subject: Subject) -> None:
    """Outputs that differ from call to call explain whatever was found."""
    calls = zip(subject.evaluate(subject.values), subject.evaluate(subject.values), strict=True)
    if not all(np.array_equal(once, again, equal_nan=True) for once, again in calls):
        raise ArgumentError(
            "gradcheck: the function gives other outputs when it is called again with the same inputs, so it has no "
            "differences: fix the seed of what is random in it, or call eval() of a module"
        )


def _wrong(
    slopes: Slopes, number: int, gradient: np.ndarray, tolerance: float, rng, reference: Callable | None
) -> Disagreement | None:
    """Where a gradient is wrong, by differences, and by the complex step of a reference where that says more."""
    exact = None if reference is None else complex_gradient(reference, slopes, number, rng)
    if exact is None:
        return compare(slopes, number, gradient, tolerance, rng)
    by_differences = compare(slopes, number, gradient, max(tolerance, DIFFERENCES), rng)
    return by_differences or furthest(number, gradient, exact, tolerance)


def _explained(subject: Subject, wrong: Disagreement, found: Diagnosis, tolerance: float, which: str) -> GradcheckError:
    label, shape = subject.labels[wrong.number], subject.values[wrong.number].shape
    return GradcheckError(
        f"gradcheck: {which}at entry {wrong.entry} of {label} backward gives {wrong.analytic:.12g} and differences "
        f"give {wrong.numeric:.12g}, apart by {wrong.apart:.3g} of the largest entry; the tolerance is "
        f"{tolerance:.3g}. "
        f"{label.capitalize()} has shape {shape}, the outputs have {found.shapes}. {found.text}",
        mistake=found.mistake,
        entry=wrong.entry,
        label=label,
        analytic=wrong.analytic,
        numeric=wrong.numeric,
    )
