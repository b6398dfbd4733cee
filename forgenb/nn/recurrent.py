"""Recurrent layers over a sequence: RNN, LSTM and GRU.

The products with the input are done for all steps at once; the loop over time has one product and one kernel a step.

Imports the ops, `init` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError, ShapeError
from ..ops.activations import tanh
from ..ops.joining import split, stack
from ..ops.matmul import matmul
from ..ops.movement import squeeze, swapaxes
from ..ops.movement import zeros as zeros_of
from ..ops.recurrent import gru_cell, lstm_cell
from ..tensor import Tensor
from .containers import ModuleList
from .dropout import Dropout
from .init import uniform
from .module import Module


class Cell(Module):
    """The parameters of one layer: a matrix and a bias for the input, and a pair for the hidden state.

    Attributes
    ----------
    weight_input : Parameter, ``(n_in, gates * n)``
    weight_hidden : Parameter, ``(n, gates * n)``
    bias_input, bias_hidden : Parameter, ``(gates * n,)``, or None
    """

    def __init__(self, n_in: int, n: int, gates: int, bias: bool, seed: int | None, name: str, dtype: Any, backend):
        def drawn(part: str, *shape: int):
            return uniform(f"{name}.{part}", shape, n**-0.5, seed, dtype, backend)

        self.weight_input = drawn("weight_input", n_in, gates * n)
        self.weight_hidden = drawn("weight_hidden", n, gates * n)
        self.bias_input = drawn("bias_input", gates * n) if bias else None
        self.bias_hidden = drawn("bias_hidden", gates * n) if bias else None


class _Recurrent(Module):
    """What the three layers share; a subclass says how many gates a cell has, what its state is, and one step."""

    gates, states = 1, 1

    def __init__(
        self,
        n_in: int,
        n: int,
        layers: int = 1,
        bias: bool = True,
        dropout: float = 0.0,
        *,
        seed: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        kind = type(self).__name__
        if n_in < 1 or n < 1 or layers < 1:
            raise ArgumentError(f"{kind} needs sizes of at least 1, got n_in={n_in}, n={n} and layers={layers}")
        name = random.fresh_name(kind.lower()) if name is None else name
        self.n = n
        self.cells = ModuleList(
            Cell(n if i else n_in, n, self.gates, bias, seed, f"{name}.cells.{i}", dtype, backend)
            for i in range(layers)
        )
        self.drops = ModuleList(Dropout(dropout) for _ in range(layers - 1))

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Run over ``x[b, t, n_in]``.

        Returns
        -------
        tuple
            What the last layer gives at each step, ``[b, t, n]``, and the state after the last step in the form that
            `state` takes: ``[layers, b, n]``, of an LSTM two of them, hidden and cell. Without one it begins at zero.
        """
        if x.ndim != 3 or x.shape[1] == 0:
            kind = type(self).__name__
            raise ShapeError(f"{kind} got shape {x.shape}: it needs [samples, steps, width] with at least one step")
        layers, below, after = len(self.cells), swapaxes(x, 0, 1), []
        starts = self._starts(x, state)
        for i in range(layers):
            cell: Any = self.cells[i]
            below, end = self._layer(cell, below, starts[i])
            after.append(end)
            if i < layers - 1:
                below = self.drops[i](below)
        ends = tuple(stack(*(end[part] for end in after), axis=0) for part in range(self.states))
        return swapaxes(below, 0, 1), ends if self.states > 1 else ends[0]

    def _starts(self, x: Tensor, state: Any) -> list[tuple[Tensor, ...]]:
        """The state of each layer before the first step."""
        layers, b = len(self.cells), x.shape[0]
        if state is None:
            blank = zeros_of((b, self.n), x.dtype, x.backend)
            return [(blank,) * self.states] * layers
        parts = state if self.states > 1 else (state,)
        if any(part.shape != (layers, b, self.n) for part in parts) or len(parts) != self.states:
            found = ", ".join(str(part.shape) for part in parts)
            raise ShapeError(
                f"{type(self).__name__} got a state of shape {found}: it needs {self.states} of {(layers, b, self.n)}"
            )
        split_up = [[squeeze(piece, 0) for piece in split(part, layers)] for part in parts]
        return list(zip(*split_up, strict=True))

    def _layer(self, cell: Cell, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """One layer over ``x[t, b, ...]``."""
        gates = matmul(x, cell.weight_input, cell.bias_input)
        found = []
        for piece in split(gates, x.shape[0]):
            state = self.step(squeeze(piece, 0), matmul(state[0], cell.weight_hidden, cell.bias_hidden), state)
            found.append(state[0])
        return stack(*found, axis=0), state

    def step(self, gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The next state from the products with the input and with the hidden state."""
        raise NotImplementedError(f"{type(self).__name__} defines no step")


class RNN(_Recurrent):
    r"""Elman's recurrent layer, :math:`h' = \tanh(x W + b + h U + c)`.

    Parameters
    ----------
    n_in, n : int
        Width of the input and of the hidden state.
    layers : int
        Each above the first takes what the one below gives.
    bias : bool
        Whether cells have biases.
    dropout : float
        Rate at which what goes from a layer to the next is dropped in training.
    seed, name, dtype, backend : optional
        As for `Linear`. Parameters are drawn evenly from up to :math:`1 / \sqrt n` on both sides of 0.

    Attributes
    ----------
    cells : ModuleList of Cell
        The layers' parameters.

    References
    ----------
    Elman, "Finding structure in time", 1990.
    """

    def step(self, gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """See the class."""
        return (tanh(gates + hidden),)


class LSTM(_Recurrent):
    r"""Long short-term memory: a cell state that gates let in, forget and show, see `forgenb.ops.lstm_cell`.

    Columns of the matrices are the gates i, f, g and o.

    Parameters
    ----------
    n_in, n, layers, bias, dropout, seed, name, dtype, backend : optional
        As for `RNN`, which has the same attributes.

    References
    ----------
    Hochreiter and Schmidhuber, "Long short-term memory", 1997.
    """

    gates, states = 4, 2

    def step(self, gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """See the class."""
        return lstm_cell(gates + hidden, state[1])


class GRU(_Recurrent):
    r"""Gated recurrent unit: a hidden state that two gates reset and keep, see `forgenb.ops.gru_cell`.

    Columns of the matrices are the gates r, z and n.

    Parameters
    ----------
    n_in, n, layers, bias, dropout, seed, name, dtype, backend : optional
        As for `RNN`, which has the same attributes.

    References
    ----------
    Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.
    """

    gates = 3

    def step(self, gates: Tensor, hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """See the class."""
        return (gru_cell(gates, hidden, state[0]),)
