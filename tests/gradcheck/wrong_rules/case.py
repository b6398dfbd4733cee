"""What a collected mistake is: a function, the right rule, and wrong rules with the name of what is wrong in each.

Rules are NumPy, as learners write them: ``rule(dout, *inputs)``, with a dout for each output, gives one gradient per
input. A name is the plain word that would have helped; where two say the same thing of one rule, either is right.

Imports the public package. The cases came first: no rule here may be changed to suit what a checker finds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import forgenb as fnb

ZERO = "zero"
SIGN = "sign"
FACTOR = "factor"  # a constant
CHAIN = "missing chain factor"  # one that depends on the values
SWAPPED = "swapped operands"
TRANSPOSE = "transpose"  # also of the linear map that an op is: a running sum, a permutation, a flip
UNSUMMED = "not summed over broadcast axes"  # not, or over other ones
OVERWRITTEN = "overwritten contribution"
ARGUMENT = "wrong argument"
MASK = "inverted mask"  # or branches that changed places, or a mask that was forgotten
MEAN = "mean or sum"
SHIFT = "off by one"
STALE = "stale value"
DROPPED = "dropped term"
NONE = "none of these"

VOCABULARY = frozenset(
    {ZERO, SIGN, FACTOR, CHAIN, SWAPPED, TRANSPOSE, UNSUMMED, OVERWRITTEN, ARGUMENT, MASK, MEAN, SHIFT, STALE, DROPPED}
    | {NONE}
)


class Wrong(NamedTuple):
    """One wrong rule."""

    slip: str
    names: set[str]
    rule: Callable


class Problem(NamedTuple):
    """A function of tensors, inputs drawn from a generator, and its rules."""

    name: str
    forward: Callable
    inputs: Callable
    right: Callable
    wrong: list[Wrong]

    def op(self, rule: Callable) -> Callable:
        """The function with `rule` as its derivative."""

        def backward(*given):
            results = rule(*(None if t is None else np.array(t.numpy()) for t in given))
            results = results if isinstance(results, tuple) else (results,)
            return tuple(None if r is None else fnb.tensor(np.asarray(r)) for r in results)

        return fnb.custom_op(self.forward, backward)

    def drawn(self) -> tuple:
        """The inputs, the same every time."""
        return tuple(self.inputs(np.random.default_rng(len(self.name))))
