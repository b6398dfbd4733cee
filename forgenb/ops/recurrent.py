"""The gates of recurrent cells: what is not a product in one step of an LSTM or a GRU, as one kernel each way.

Imports what every family of ops does (see `forgenb.ops`); products and the loop over time are the caller's.
"""

from __future__ import annotations

import numpy as np

from ..errors import ShapeError
from ..kernel import row_kernel
from ..kernel.elementary import sigmoid, tanh
from ..kernel.primitives import lanes, put
from ..tape import record
from ..tensor import Tensor, empty
from .activations import sigmoid as sigmoid_
from .activations import tanh as tanh_
from .apply import narrowed, run_rows, together, widened
from .joining import concat, split
from .movement import zeros
from .plans import one_float
from .steps import record_steps
from .table import op


@row_kernel("gates[rows,four] c[rows,n] -> h[rows,n] next_c[rows,n]")
def lstm_cell_kernel(row, gates, c, h, next_c):
    """One sample: the gates i, f, g, o, then the cell and the hidden state."""
    n = c.shape[1]
    gi, gf, gg, go = gates[row, :n], gates[row, n : 2 * n], gates[row, 2 * n : 3 * n], gates[row, 3 * n :]
    for j in lanes(n):
        cell = sigmoid(gf[j]) * c[row, j] + sigmoid(gi[j]) * tanh(gg[j])
        put(next_c, (row, j), cell)
        put(h, (row, j), sigmoid(go[j]) * tanh(cell))


@row_kernel("gates[rows,four] c[rows,n] dh[rows,n] dnext_c[rows,n] -> dgates[rows,four] dc[rows,n]")
def lstm_cell_grad_kernel(row, gates, c, dh, dnext_c, dgates, dc):
    """One sample: the cell again, then its gradient and those of the four gates."""
    n = c.shape[1]
    gi, gf, gg, go = gates[row, :n], gates[row, n : 2 * n], gates[row, 2 * n : 3 * n], gates[row, 3 * n :]
    di, df, dg, do = dgates[row, :n], dgates[row, n : 2 * n], dgates[row, 2 * n : 3 * n], dgates[row, 3 * n :]
    for j in lanes(n):
        i, f, g, o = sigmoid(gi[j]), sigmoid(gf[j]), tanh(gg[j]), sigmoid(go[j])
        out = tanh(f * c[row, j] + i * g)
        d = dnext_c[row, j] + dh[row, j] * o * (1.0 - out * out)
        put(di, j, d * g * i * (1.0 - i))
        put(df, j, d * c[row, j] * f * (1.0 - f))
        put(dg, j, d * i * (1.0 - g * g))
        put(do, j, dh[row, j] * out * o * (1.0 - o))
        put(dc, (row, j), d * f)


@row_kernel("gates[rows,three] hidden[rows,three] h[rows,n] -> next_h[rows,n]")
def gru_cell_kernel(row, gates, hidden, h, next_h):
    """One sample: the gates r, z, n of the input and the hidden state, then the hidden state."""
    n = h.shape[1]
    gr, gz, gn = gates[row, :n], gates[row, n : 2 * n], gates[row, 2 * n :]
    hr, hz, hn = hidden[row, :n], hidden[row, n : 2 * n], hidden[row, 2 * n :]
    for j in lanes(n):
        r, z = sigmoid(gr[j] + hr[j]), sigmoid(gz[j] + hz[j])
        new = tanh(gn[j] + r * hn[j])
        put(next_h, (row, j), (1.0 - z) * new + z * h[row, j])


@row_kernel(
    "gates[rows,three] hidden[rows,three] h[rows,n] dnext_h[rows,n]"
    " -> dgates[rows,three] dhidden[rows,three] dh[rows,n]"
)
def gru_cell_grad_kernel(row, gates, hidden, h, dnext_h, dgates, dhidden, dh):
    """One sample: the gates again, then the gradients of all six parts and of the hidden state."""
    n = h.shape[1]
    gr, gz, gn = gates[row, :n], gates[row, n : 2 * n], gates[row, 2 * n :]
    hr, hz, hn = hidden[row, :n], hidden[row, n : 2 * n], hidden[row, 2 * n :]
    for j in lanes(n):
        r, z = sigmoid(gr[j] + hr[j]), sigmoid(gz[j] + hz[j])
        new = tanh(gn[j] + r * hn[j])
        d = dnext_h[row, j]
        dn = d * (1.0 - z) * (1.0 - new * new)
        dz = d * (h[row, j] - new) * z * (1.0 - z)
        dr = dn * hn[j] * r * (1.0 - r)
        put(dgates, (row, j), dr)
        put(dgates, (row, n + j), dz)
        put(dgates, (row, 2 * n + j), dn)
        put(dhidden, (row, j), dr)
        put(dhidden, (row, n + j), dz)
        put(dhidden, (row, 2 * n + j), dn * r)
        put(dh, (row, j), d * z)


def _check(name: str, wide: tuple[Tensor, ...], narrow: Tensor, gates: int) -> None:
    one_float(name, (*wide, narrow))
    wanted = (narrow.shape[0], gates * narrow.shape[1]) if narrow.ndim == 2 else None
    if any(t.shape != wanted for t in wide):
        found = ", ".join(str(t.shape) for t in wide)
        raise ShapeError(
            f"{name} got gates of shape {found} and a state of shape {narrow.shape}: they must be [b, {gates} n] and "
            "[b, n]"
        )


def _samples(rng: np.random.Generator):
    for b, n in ((1, 1), (3, 4), (2, 5), (0, 3)):
        yield (rng.uniform(-2, 2, (b, 4 * n)), rng.uniform(-1, 1, (b, n))), {}


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_cell_reference(gates, c):
    """The new hidden and cell state of an LSTM by NumPy."""
    i, f, g, o = np.split(gates, 4, -1)
    cell = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(cell), cell


@op(_samples, lstm_cell_reference, (0, 1), outputs=2, dtypes="one float")
def lstm_cell(gates, c) -> tuple[Tensor, Tensor]:
    r"""One step of an LSTM from its gates before their functions: the new hidden and cell state.

    .. math::
        c' = \sigma(f)\,c + \sigma(i) \tanh(g), \qquad h' = \sigma(o) \tanh(c')

    Backward: with :math:`d = dc' + dh'\,\sigma(o) (1 - \tanh^2 c')`, :math:`dc = d\,\sigma(f)`, and
    :math:`d\,\tanh(g)\,\sigma'(i)`, :math:`d\,c\,\sigma'(f)`, :math:`d\,\sigma(i) (1 - \tanh^2 g)`,
    :math:`dh' \tanh(c')\,\sigma'(o)` for the gates. Saves both operands.

    Parameters
    ----------
    gates : Tensor
        ``[b, 4 n]``: i, f, g, o side by side, each the sum of a product with the input and one with the hidden state.
    c : Tensor
        ``[b, n]``, the cell state.

    Returns
    -------
    tuple of Tensor
        :math:`h'` and :math:`c'`, each ``[b, n]``.

    Raises
    ------
    ShapeError, DTypeError
        If the operands do not fit each other.

    References
    ----------
    Hochreiter and Schmidhuber, "Long short-term memory", 1997; Gers et al., "Learning to forget", 2000.
    """
    gates, c = together(gates, c)
    _check("lstm_cell", (gates,), c, 4)
    wide, narrow = widened(gates.detach()), widened(c.detach())
    h, next_c = (empty(c.shape, narrow.dtype, c.backend) for _ in range(2))
    run_rows(lstm_cell_kernel, (c.shape[0], gates.shape[1], c.shape[1]), (wide, narrow, h, next_c), work=gates.shape[1])

    def backward(dh, dnext_c):
        missing = zeros(c.shape, c.dtype, c.backend) if dh is None or dnext_c is None else None
        return lstm_cell_grad(gates, c, missing if dh is None else dh, missing if dnext_c is None else dnext_c)

    return record((narrowed(h, c.dtype), narrowed(next_c, c.dtype)), (gates, c), backward)


def _grad_samples(rng: np.random.Generator):
    for (gates, c), _ in _samples(rng):
        if c.size > 10:
            continue  # the larger one is a sample of lstm_cell, whose gradient this is
        yield (gates, c, rng.uniform(-2, 2, c.shape), rng.uniform(-2, 2, c.shape)), {}


def _grad_reference(gates, c, dh, dnext_c):
    i, f, o = (_sigmoid(np.split(gates, 4, -1)[place]) for place in (0, 1, 3))
    g = np.tanh(np.split(gates, 4, -1)[2])
    out = np.tanh(f * c + i * g)
    d = dnext_c + dh * o * (1 - out * out)
    parts = d * g * i * (1 - i), d * c * f * (1 - f), d * i * (1 - g * g), dh * out * o * (1 - o)
    return np.concatenate(parts, -1), d * f


@op(_grad_samples, _grad_reference, (0, 1, 2, 3), outputs=2, dtypes="one float")
def lstm_cell_grad(gates, c, dh, dnext_c) -> tuple[Tensor, Tensor]:
    """Gradients (dgates, dc) of `lstm_cell`, see there.

    Backward: through the formulas of `lstm_cell`, written in ops. Saves the operands.
    """
    operands = gates, c, dh, dnext_c = together(gates, c, dh, dnext_c)
    _check("lstm_cell_grad", (gates,), c, 4)
    one_float("lstm_cell_grad", (gates, dh, dnext_c))
    sources = tuple(widened(t.detach()) for t in operands)
    results = tuple(empty(t.shape, t.dtype, t.backend) for t in sources[:2])
    sizes = c.shape[0], gates.shape[1], c.shape[1]
    run_rows(lstm_cell_grad_kernel, sizes, (*sources, *results), work=gates.shape[1])

    def steps(gates, c, dh, dnext_c):
        gi, gf, gg, go = split(gates, 4, -1)
        i, f, g, o = sigmoid_(gi), sigmoid_(gf), tanh_(gg), sigmoid_(go)
        out = tanh_(f * c + i * g)
        d = dnext_c + dh * o * (1.0 - out * out)
        parts = d * g * i * (1.0 - i), d * c * f * (1.0 - f), d * i * (1.0 - g * g), dh * out * o * (1.0 - o)
        return concat(*parts, axis=-1), d * f

    return record_steps(tuple(narrowed(t, c.dtype) for t in results), operands, steps)


def _gru_samples(rng: np.random.Generator):
    for b, n in ((1, 1), (3, 4), (2, 5), (0, 3)):
        yield (rng.uniform(-2, 2, (b, 3 * n)), rng.uniform(-2, 2, (b, 3 * n)), rng.uniform(-1, 1, (b, n))), {}


def gru_cell_reference(gates, hidden, h):
    """The new hidden state of a GRU by NumPy."""
    (gr, gz, gn), (hr, hz, hn) = np.split(gates, 3, -1), np.split(hidden, 3, -1)
    r, z = _sigmoid(gr + hr), _sigmoid(gz + hz)
    return (1 - z) * np.tanh(gn + r * hn) + z * h


@op(_gru_samples, gru_cell_reference, (0, 1, 2), dtypes="one float")
def gru_cell(gates, hidden, h) -> Tensor:
    r"""One step of a GRU from its gates before their functions: the new hidden state.

    .. math::
        r = \sigma(r_x + r_h), \quad z = \sigma(z_x + z_h), \quad n = \tanh(n_x + r\,n_h), \quad h' = (1 - z)\,n + z\,h

    Backward: :math:`dn = dh' (1 - z) (1 - n^2)` goes to :math:`n_x`, times r to :math:`n_h`;
    :math:`dn\,n_h\,r (1 - r)` to both r; :math:`dh' (h - n)\,z (1 - z)` to both z; :math:`dh' z` to h. Saves all
    three operands.

    Parameters
    ----------
    gates, hidden : Tensor
        ``[b, 3 n]``: r, z, n side by side, from the input and from the hidden state.
    h : Tensor
        ``[b, n]``, the hidden state.

    Raises
    ------
    ShapeError, DTypeError
        If the operands do not fit each other.

    References
    ----------
    Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014; the reset gate acts after the
    product, as in PyTorch and cuDNN.
    """
    gates, hidden, h = together(gates, hidden, h)
    _check("gru_cell", (gates, hidden), h, 3)
    operands = tuple(widened(t.detach()) for t in (gates, hidden, h))
    next_h = empty(h.shape, operands[2].dtype, h.backend)
    run_rows(gru_cell_kernel, (h.shape[0], gates.shape[1], h.shape[1]), (*operands, next_h), work=gates.shape[1])

    def backward(dnext_h):
        return gru_cell_grad(gates, hidden, h, dnext_h)

    return record(narrowed(next_h, h.dtype), (gates, hidden, h), backward)


def _gru_grad_samples(rng: np.random.Generator):
    for arrays, _ in _gru_samples(rng):
        if arrays[2].size > 10:
            continue  # the larger one is a sample of gru_cell, whose gradient this is
        yield (*arrays, rng.uniform(-2, 2, arrays[2].shape)), {}


def _gru_grad_reference(gates, hidden, h, dnext_h):
    (gr, gz, gn), (hr, hz, hn) = np.split(gates, 3, -1), np.split(hidden, 3, -1)
    r, z = _sigmoid(gr + hr), _sigmoid(gz + hz)
    n = np.tanh(gn + r * hn)
    dn, dz = dnext_h * (1 - z) * (1 - n * n), dnext_h * (h - n) * z * (1 - z)
    dr = dn * hn * r * (1 - r)
    return np.concatenate((dr, dz, dn), -1), np.concatenate((dr, dz, dn * r), -1), dnext_h * z


@op(_gru_grad_samples, _gru_grad_reference, (0, 1, 2, 3), outputs=3, dtypes="one float")
def gru_cell_grad(gates, hidden, h, dnext_h) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients (dgates, dhidden, dh) of `gru_cell`, see there.

    Backward: through the formulas of `gru_cell`, written in ops. Saves the operands.
    """
    operands = gates, hidden, h, dnext_h = together(gates, hidden, h, dnext_h)
    _check("gru_cell_grad", (gates, hidden), h, 3)
    one_float("gru_cell_grad", (gates, dnext_h))
    sources = tuple(widened(t.detach()) for t in operands)
    results = tuple(empty(t.shape, t.dtype, t.backend) for t in sources[:3])
    run_rows(gru_cell_grad_kernel, (h.shape[0], gates.shape[1], h.shape[1]), (*sources, *results), work=gates.shape[1])

    def steps(gates, hidden, h, dnext_h):
        (gr, gz, gn), (hr, hz, hn) = split(gates, 3, -1), split(hidden, 3, -1)
        r, z = sigmoid_(gr + hr), sigmoid_(gz + hz)
        new = tanh_(gn + r * hn)
        dn, dz = dnext_h * (1.0 - z) * (1.0 - new * new), dnext_h * (h - new) * z * (1.0 - z)
        dr = dn * hn * r * (1.0 - r)
        return concat(dr, dz, dn, axis=-1), concat(dr, dz, dn * r, axis=-1), dnext_h * z

    return record_steps(tuple(narrowed(t, h.dtype) for t in results), operands, steps)
