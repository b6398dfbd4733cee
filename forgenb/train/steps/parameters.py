"""Which parameters a value depends on, found on the tape.

Imports the tape and tensors; nothing is computed here.
"""

from forgenb.errors import ArgumentError, TapeError
from forgenb.tape import Node
from forgenb.tensor import Parameter, Tensor

__all__ = ["diff_or_error", "is_param", "leaves", "parameters"]


def is_param(t: Tensor) -> bool:
    """Whether an optimiser may update `t`: a `Parameter` that is not frozen, wherever it lives."""
    return isinstance(t, Parameter) and t.requires_grad


def diff_or_error(t: Tensor, where: str) -> Node:
    """The node of `t` on the tape.

    Raises
    ------
    ArgumentError
        If `t` is not a tensor.
    TapeError
        Naming `where`, if `t` is not differentiable.
    """
    if not isinstance(t, Tensor):
        raise ArgumentError(f"{where} needs a tensor, got {type(t).__name__}")
    if t.node is None:
        raise TapeError(
            f"{where}: {t.name or f'a tensor of shape {t.shape}'} is not differentiable, since nothing that it was "
            "computed from requires a gradient"
        )
    node: Node = t.node
    return node


def leaves(t: Tensor) -> list[Node]:
    """The leaves of the tape that `t` depends on, in the order of their making; each node is visited once."""
    waiting = [t.node] if t.node is not None else []
    seen: set[int] = set()
    found: list[Node] = []
    while waiting:
        node = waiting.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        if node.leaf:
            found.append(node)
        waiting += [parent[0] for parent in node.parents if parent is not None]
    return sorted(found, key=lambda node: node.number)


def parameters(t: Tensor) -> list[Parameter]:
    """The parameters that `t` depends on, in the order of their making.

    Raises
    ------
    ArgumentError
        If `t` is not a tensor.
    TapeError
        If the graph of `t` was consumed by a backward sweep.
    """
    if not isinstance(t, Tensor):
        raise ArgumentError(f"parameters() needs a tensor, got {type(t).__name__}")
    if t.node is not None and t.node.consumed:
        raise TapeError("the graph of this tensor was consumed by backward: ask for parameters before, or retain_graph")
    tensors = [node.tensor() for node in leaves(t) if node.tensor is not None]
    return [p for p in tensors if isinstance(p, Parameter) and is_param(p)]
