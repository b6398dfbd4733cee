"""Run a random graph: values of all steps and gradients of all leaves, as arrays, here, in PyTorch or in a routine.

Everything of forgenb runs on the backend that creations use, see `forgenb.use`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ...creation import tensor
from ...ops import TABLE
from ...routine import compile
from ...tensor import Tensor
from ..torch_twins import twins
from .graph import Graph, Leaf, by_reference, evaluate


class Outcome(NamedTuple):
    """Values by number; gradients by the number of their leaf, None for a leaf that the loss does not reach."""

    values: dict[int, np.ndarray]
    gradients: dict[int, np.ndarray | None]


def as_leaf(leaf: Leaf) -> Tensor:
    """The tensor of a leaf."""
    return tensor(leaf.array, requires_grad=leaf.tracked)


def forward(graph: Graph, made: Callable[[Leaf], Tensor] = as_leaf) -> dict[int, Tensor]:
    """All values as tensors; `made` may lay leaves out in another way."""
    return evaluate(graph, made, lambda step, operands: TABLE[step.op].function(*operands, **step.keywords))


def loss_of(graph: Graph, values: Mapping[int, Tensor]) -> Tensor:
    """The sum of the watched values, each times its cotangent."""
    terms = [(values[number] * tensor(graph.cotangent(number))).sum() for number in graph.watched]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def eager(graph: Graph, made: Callable[[Leaf], Tensor] = as_leaf) -> Outcome:
    """What forgenb gives, op by op."""
    values = forward(graph, made)
    loss_of(graph, values).backward()
    grads = {leaf.number: values[leaf.number].grad for leaf in graph.tracked}
    return Outcome(_arrays(values), {number: None if g is None else g.numpy() for number, g in grads.items()})


def in_routine(graph: Graph) -> Outcome:
    """What forgenb gives in a routine, at its second run."""
    numbers: list[int] = []
    reached: list[int] = []

    def step(*arrays):
        given = dict(zip((leaf.number for leaf in graph.leaves), arrays, strict=True))
        for leaf in graph.tracked:
            given[leaf.number] = given[leaf.number].detach()
            given[leaf.number].requires_grad = True
        values = forward(graph, lambda leaf: given[leaf.number])
        loss_of(graph, values).backward()
        numbers[:] = [number for number in values if number not in given]
        reached[:] = [leaf.number for leaf in graph.tracked if given[leaf.number].grad is not None]
        return *(values[number] for number in numbers), *(given[number].grad for number in reached)

    run = compile(step)
    arrays = [leaf.array for leaf in graph.leaves]
    run(*arrays)
    found = [t.numpy() for t in run(*arrays)]
    values = {leaf.number: leaf.array for leaf in graph.leaves} | dict(zip(numbers, found, strict=False))
    grads: dict[int, np.ndarray | None] = dict.fromkeys(leaf.number for leaf in graph.tracked)
    return Outcome(values, grads | dict(zip(reached, found[len(numbers) :], strict=True)))


def in_torch(graph: Graph) -> Outcome:
    """What PyTorch gives.

    Raises
    ------
    ArgumentError
        If PyTorch cannot be imported.
    """
    table = twins()
    import torch

    def made(leaf):
        return torch.from_numpy(leaf.array.copy()).requires_grad_(leaf.tracked)

    values = evaluate(graph, made, lambda step, operands: table[step.op](*operands, **step.keywords))
    sum((values[n] * torch.from_numpy(graph.cotangent(n))).sum() for n in graph.watched).backward()
    grads = {leaf.number: values[leaf.number].grad for leaf in graph.tracked}
    return Outcome(
        {number: value.detach().numpy() for number, value in values.items()},
        {number: None if g is None else g.numpy() for number, g in grads.items()},
    )


def by_references(graph: Graph, moved: Mapping[int, np.ndarray]) -> float:
    """The loss by the references of the op table, with other numbers in some leaves."""
    values = evaluate(graph, lambda leaf: moved.get(leaf.number, leaf.array), by_reference)
    return float(sum(np.vdot(values[number], graph.cotangent(number)) for number in graph.watched))


def _arrays(values: Mapping[int, Tensor]) -> dict[int, np.ndarray]:
    return {number: value.numpy() for number, value in values.items()}
