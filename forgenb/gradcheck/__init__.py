"""Gradients against differences of the function itself, and what is wrong where they disagree: `gradcheck`.

It lists the public name. The parts import tensors, the tape, dtypes and random numbers, and no op, module or routine:
any function of tensors is checked, so what is checked must not be named here.
"""

from .check import gradcheck

__all__ = ["gradcheck"]
