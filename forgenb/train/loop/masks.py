"""The seeds of a model's dropout, and the two rules by which a step draws them.

Imports modules and random numbers; when a step begins is for others to say.
"""

from typing import Any

from forgenb import random
from forgenb.errors import ArgumentError
from forgenb.nn import Dropout, Module

__all__ = ["PASS", "PASSES", "STEP", "Masks", "agreed_rule", "checked_rule", "is_rule"]

STEP, PASS = "step", "pass"
PASSES = 1000
"""Seeds that each step has under the rule "pass"."""


def is_rule(rule: object) -> bool:
    """Whether it is one of the two."""
    return isinstance(rule, str) and rule in (STEP, PASS)


def checked_rule(caller: str, rule: Any) -> str:
    """The rule, or an ArgumentError where it is none."""
    if not is_rule(rule):
        raise ArgumentError(f"{caller} got seed_rule={rule!r}: it must be {STEP!r} or {PASS!r}")
    return rule


def agreed_rule(given: object, own: str | None) -> str:
    """The rule that a trainer was given, or that of its step, or the first; an ArgumentError where two differ."""
    rule = checked_rule("a Trainer", next(rule for rule in (given, own, STEP) if rule is not None))
    if own is not None and rule != own:
        raise ArgumentError(f"a Trainer got seed_rule={rule!r}, and its step draws by {own!r}: leave one of them out")
    return rule


class Masks:
    """Those modules of a model that draw masks: each `forgenb.nn.Dropout`, and each with an attribute ``dropout_seed``.

    Parameters
    ----------
    model : Module or None
    """

    def __init__(self, model: Module | None):
        modules = [] if model is None else list(model.modules())
        drops = [(module, "seed") for module in modules if isinstance(module, Dropout)]
        self._places = drops + [(module, "dropout_seed") for module in modules if hasattr(module, "dropout_seed")]

    @property
    def seeds(self) -> list[int]:
        """The seed of each; setting those of a `Dropout` begins its sequence anew."""
        return [getattr(module, name) for module, name in self._places]

    @seeds.setter
    def seeds(self, values: list[int]) -> None:
        for (module, name), value in zip(self._places, values, strict=True):
            setattr(module, name, value)

    def begin(self, seed: int, step: int, rule: str = STEP) -> None:
        """Give all of them the seed of a step, from 0.

        Under "step" it has 32 bits and is drawn from the stream (seed, "dropout", step). Under "pass" it is
        ``1000 * step``, whatever the seed.
        """
        if not self._places:
            return
        drawn = PASSES * step
        if rule == STEP:
            drawn = int(random.integers(random.generator(seed, "dropout", step), 2**32, 1)[0])
        self.seeds = [drawn] * len(self._places)
