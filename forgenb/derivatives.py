"""Derivatives beyond the gradient: `jvp`, `hvp`, `jacobian`, `hessian`, all made of backward sweeps.

Imports the sweep, `functional`, and the ops that put rows together: a rule of an op must never stand here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from .creation import tensor
from .errors import ArgumentError, DTypeError, ShapeError, TapeError
from .functional import as_variables, differentiating, grad, one_element
from .ops.apply import as_tensor
from .ops.joining import stack
from .ops.movement import reshape, zeros
from .ops.steps import variable
from .sweep import gradients
from .tensor import Tensor, from_array, full_like


def jvp(f: Callable, primals: Sequence, tangents: Sequence) -> tuple:
    r"""Value of `f` and its derivative along a direction, :math:`J v`, the Jacobian times a vector.

    The gradients of `f` are :math:`J^T u`, a linear function of the cotangent u; the sweep through that linear function
    gives :math:`J v`. The cost is one evaluation of `f` and two sweeps, whatever the number of inputs and outputs, and
    everything that these save is held until the end.

    Parameters
    ----------
    f : callable
        Maps tensors to a tensor, or to a tuple of tensors, of floats.
    primals : sequence of Tensor or array_like
        Its arguments, floats. No tensor's ``grad`` changes.
    tangents : sequence of Tensor or array_like
        The direction: one of the shape and dtype of each argument.

    Returns
    -------
    tuple
        The value and the derivative, each in the form that `f` returns. Both can be differentiated again where it is
        called inside another derivative, or on tracked arguments.

    Raises
    ------
    ArgumentError
        If `primals` or `tangents` is no list or tuple, there is not one tangent per argument, a tangent does not hold
        numbers, or `f` returns anything but tensors.
    ShapeError, DTypeError
        If a tangent does not fit its argument, or an argument or result does not hold floats.
    TapeError
        If an op of `f` has no second derivative, naming it.

    Examples
    --------
    >>> import forgenb as fnb
    >>> value, slope = fnb.jvp(lambda x: x * x, [fnb.tensor([1.0, 2.0])], [[1.0, 10.0]])
    >>> value.tolist(), slope.tolist()
    ([1.0, 4.0], [2.0, 40.0])
    """
    for word, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (list, tuple)):
            raise ArgumentError(
                f"jvp got {word} of type {_kind(given)}: give a list, one entry for each argument, as in "
                "jvp(f, [x], [v])"
            )
    points = [as_tensor(x) for x in primals]
    directions = _fitting("jvp", "argument", range(len(points)), points, list(tangents))
    with differentiating(points) as nested:
        variables = [variable(t) for t in points]
        value = f(*variables)
        outputs = _float_outputs("jvp", value)
        cotangents = [variable(full_like(out, 0)) for out in outputs]
        pulled = gradients(outputs, cotangents, variables, create_graph=True)
        reached = [(g, d) for g, d in zip(pulled, directions, strict=True) if g is not None]
        found = gradients([g for g, _ in reached], [d for _, d in reached], cotangents, nested)
    slopes = tuple(full_like(c, 0) if d is None else d for c, d in zip(cotangents, found, strict=True))
    values = outputs if nested else tuple(out.detach() for out in outputs)
    return (values, slopes) if isinstance(value, tuple) else (values[0], slopes[0])


def hvp(f: Callable, params: Any, vectors: Any) -> Any:
    r"""Hessian of a loss times a vector, :math:`H v` with :math:`H = \partial^2 f / \partial p^2`, without the Hessian.

    It is the gradient of :math:`v \cdot \partial f / \partial p`, for fixed v: one evaluation of `f` and two sweeps.
    For a function of its arguments, ``fnb.jvp(fnb.grad(f), primals, tangents)`` is the same.

    Parameters
    ----------
    f : callable
        Takes nothing and computes the loss, a tensor of one element, from `params`.
    params : Tensor, or list, tuple or dict of Tensor
        What to differentiate by, such as ``model.parameters()`` or ``dict(model.named_parameters())``: tracked
        tensors. Their ``grad`` does not change.
    vectors : the same
        The vector: one tensor, or array_like, of the shape and dtype of each of `params`.

    Returns
    -------
    Tensor, list, tuple or dict
        The products, in the form of `params`.

    Raises
    ------
    ArgumentError
        If `vectors` has another form than `params` or does not hold numbers, or `f` returns anything but one element.
    ShapeError, DTypeError
        If a vector does not fit its parameter, or the loss does not hold a float.
    TapeError
        If one of `params` is not tracked, or an op of `f` has no second derivative, naming it.

    References
    ----------
    Pearlmutter, "Fast exact multiplication by the Hessian", 1994.

    Examples
    --------
    >>> import forgenb as fnb
    >>> x = fnb.tensor([1.0, 2.0], requires_grad=True)
    >>> fnb.hvp(lambda: (x * x * x).sum(), x, [1.0, 1.0]).tolist()
    [6.0, 12.0]
    """
    labels, tensors = _listed(params)
    given, values = _listed(vectors) if isinstance(params, (list, tuple, dict)) else ([0], [vectors])
    if isinstance(params, dict) and isinstance(vectors, dict) and set(labels) == set(given):
        given, values = labels, [vectors[label] for label in labels]
    if labels != given or isinstance(vectors, dict) != isinstance(params, dict):
        raise ArgumentError(f"hvp got parameters {labels} and vectors for {given}: give one vector for each parameter")
    for label, t in zip(labels, tensors, strict=True):
        if not isinstance(t, Tensor) or not t.requires_grad:
            raise TapeError(f"hvp got parameter {label!r}, which is not tracked: create it with requires_grad=True")
    directions = _fitting("hvp", "parameter", labels, tensors, values)
    with differentiating(()) as nested:
        value = one_element("hvp", f())
        first = gradients([value], [full_like(value, 1)], tensors, create_graph=True)
        reached = [(g, d) for g, d in zip(first, directions, strict=True) if g is not None]
        second = gradients([g for g, _ in reached], [d for _, d in reached], tensors, nested)
    found = [full_like(t, 0) if h is None else h for t, h in zip(tensors, second, strict=True)]
    if isinstance(params, dict):
        return dict(zip(labels, found, strict=True))
    return type(params)(found) if isinstance(params, (list, tuple)) else found[0]


def jacobian(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    r"""Return a function that computes all partial derivatives, :math:`J_{ij} = \partial f_i / \partial x_j`.

    One evaluation of `f` and a sweep for each element that it returns.

    Parameters
    ----------
    f : callable
        Maps tensors to a tensor, or to a tuple of tensors, of floats.
    argnums : int or tuple of int
        Which positional arguments to differentiate by, see `value_and_grad`.

    Returns
    -------
    callable
        Takes what `f` takes and returns a tensor of the result's shape followed by the argument's; with a tuple of
        `argnums`, a tuple of them; for a tuple of results, a tuple of what each result gives. It can be
        differentiated again where it is called inside another derivative, or on tracked arguments.

    Raises
    ------
    ArgumentError
        If `argnums` does not name positional arguments, or `f` returns anything but tensors.
    DTypeError
        If one of those arguments or a result does not hold floats.

    Examples
    --------
    >>> import forgenb as fnb
    >>> fnb.jacobian(lambda x: x * x)(fnb.tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    @wraps(f)
    def computed(*args, **keywords):
        with as_variables(args, argnums) as (inputs, variables, nested):
            value = f(*inputs, **keywords)
            found = [_rows(out, variables, nested) for out in _float_outputs("jacobian", value)]
        blocks = tuple(tuple(b) if isinstance(argnums, tuple) else b[0] for b in found)
        return blocks if isinstance(value, tuple) else blocks[0]

    return computed


def hessian(f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    r"""Return a function that computes all second derivatives, :math:`\partial^2 f / \partial x_i \partial x_j`.

    The Jacobian of the gradient: a sweep through the gradient's graph for each of its elements. `hvp` needs one.

    Parameters
    ----------
    f : callable
        Maps tensors to a tensor of one element.
    argnums : int or tuple of int
        Which positional arguments to differentiate by, see `value_and_grad`.

    Returns
    -------
    callable
        Takes what `f` takes and returns a tensor of the argument's shape twice; with a tuple of `argnums`, a tuple of
        tuples, one for each pair.

    Raises
    ------
    ArgumentError
        If `argnums` does not name positional arguments, or `f` returns anything but one element.
    DTypeError
        If one of those arguments or the result does not hold floats.
    TapeError
        If an op of `f` has no second derivative, naming it.

    Examples
    --------
    >>> import forgenb as fnb
    >>> fnb.hessian(lambda x: (x * x * x).sum())(fnb.tensor([1.0, 2.0])).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """

    @wraps(f)
    def loss(*args, **keywords):
        return one_element("hessian", f(*args, **keywords))

    return jacobian(grad(loss, argnums), argnums)


def _rows(out: Tensor, variables: list[Tensor], create_graph: bool) -> list[Tensor]:
    """The Jacobian of one result by each variable, row by row."""
    units = from_array(np.eye(out.size, dtype=out.dtype), out.backend)
    sweeps = [
        gradients([out], [reshape(units[row], out.shape)], variables, create_graph, retain_graph=True)
        for row in range(out.size)
    ]
    blocks = []
    for place, v in enumerate(variables):
        rows = [full_like(v, 0) if found[place] is None else found[place] for found in sweeps]
        joined = stack(*rows) if rows else zeros((0, *v.shape), v.dtype, v.backend)
        blocks.append(reshape(joined, (*out.shape, *v.shape)))
    return blocks


def _listed(value: Any) -> tuple[list, list]:
    """Labels and tensors of a dict, of a list or tuple, or of one tensor."""
    if isinstance(value, dict):
        return list(value), list(value.values())
    several = list(value) if isinstance(value, (list, tuple)) else [value]
    return list(range(len(several))), several


def _float_outputs(name: str, value: Any) -> tuple[Tensor, ...]:
    outputs = value if isinstance(value, tuple) else (value,)
    for out in outputs:
        if not isinstance(out, Tensor):
            raise ArgumentError(f"{name} needs a function that returns a tensor or a tuple of them, got {_kind(out)}")
        if out.dtype.kind != "f":
            raise DTypeError(f"{name} got a result of dtype {out.dtype.name}: only floats have derivatives")
    return outputs


def _kind(value: Any) -> str:
    return type(value).__name__


def _fitting(name: str, what: str, labels: Sequence, points: list[Tensor], vectors: list) -> list[Tensor]:
    """`vectors` as tensors beside `points`, each of the shape, dtype and backend of its own."""
    if len(vectors) != len(points):
        raise ArgumentError(f"{name} got {len(points)} {what}s and {len(vectors)} vectors: give one vector for each")
    found = []
    for label, point, vector in zip(labels, points, vectors, strict=True):
        if not isinstance(vector, Tensor):
            vector = tensor(vector, point.dtype, backend=point.backend.name)
        if vector.shape != point.shape:
            raise ShapeError(
                f"{name} got a vector of shape {vector.shape} for {what} {label!r} of shape {point.shape}: they must "
                "have one shape"
            )
        if (vector.dtype, vector.backend) != (point.dtype, point.backend):
            raise DTypeError(
                f"{name} got a vector of dtype {vector.dtype.name} on {vector.backend.name} for {what} {label!r} of "
                f"dtype {point.dtype.name} on {point.backend.name}: convert it with astype and to"
            )
        found.append(vector)
    return found
