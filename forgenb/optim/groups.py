"""Parameters that have settings of their own within one optimiser.

Imports errors and what settings have in common; an update rule knows no groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..errors import ArgumentError
from ..ops.settings import number


class Group:
    """Parameters with a learning rate or a weight decay other than their optimiser's.

    Parameters
    ----------
    params : iterable of Parameter or (name, Parameter)
        As an optimiser takes them.
    lr, weight_decay : float, optional
        Where None, those of the optimiser count. Both are attributes that may be set before any step.

    Examples
    --------
    >>> import forgenb as fnb
    >>> body, head = fnb.nn.Linear(3, 3), fnb.nn.Linear(3, 2)
    >>> optimizer = fnb.optim.SGD([fnb.optim.Group(body.parameters(), lr=0.01), *head.parameters()], lr=0.1)
    >>> len(optimizer.params), optimizer.groups[0].lr
    (4, 0.01)
    """

    def __init__(self, params: Iterable, lr: float | None = None, weight_decay: float | None = None):
        self.params = list(params)
        self.lr = None if lr is None else checked("lr", lr)
        self.weight_decay = None if weight_decay is None else checked("weight_decay", weight_decay)


def flattened(params: Iterable) -> list[tuple[Group, object]]:
    """(group, parameter or pair) in the order given; what stands in no group gets one without settings."""
    plain = Group(())
    found: list[tuple[Group, object]] = []
    for item in params:
        if isinstance(item, Group):
            found += [(item, inner) for inner in item.params]
        else:
            plain.params.append(item)
            found.append((plain, item))
    return found


def checked(name: str, value: float, high: float = math.inf) -> float:
    """`value` where it is a number with ``0 <= value < high``, else an ArgumentError."""
    if not 0 <= number("an optimiser", name, value) < high:
        raise ArgumentError(
            f"{name} must be at least 0" + (f" and below {high}" if high < math.inf else "") + f", got {value!r}"
        )
    return value
