"""Token plus position embedding; its gradient gathers rows in a fixed order, without atomics.

Imports what every family of ops does (see `forgenb.ops`); adding up rows belongs to `forgenb.ops.scatter`.
"""

from __future__ import annotations

import numpy as np

from ..errors import DTypeError, ShapeError
from ..kernel import row_kernel
from ..kernel.primitives import lanes, put
from ..tape import record
from ..tensor import Tensor, empty
from .apply import as_tensor, narrowed, run_rows, widened
from .ids import checked_ids
from .plans import same_backend
from .reduction import sum_to
from .settings import whole
from .table import op


@row_kernel("ids[rows]:int wte[vocab,n] wpe[places,n] -> out[rows,n]; length:int pos:int")
def embedding_kernel(row, ids, wte, wpe, out, length, pos):
    """One token: its row of `wte` plus the row of `wpe` of its place."""
    token = ids[row]
    place = row % length + pos
    for j in lanes(wte.shape[1]):
        put(out, (row, j), wte[token, j] + wpe[place, j])


def _samples(rng: np.random.Generator):
    wte, wpe = rng.uniform(-2, 2, (11, 4)), rng.uniform(-2, 2, (8, 4))
    yield (rng.integers(0, 11, (3, 5)), wte, wpe), {}
    yield (rng.integers(0, 11, 5), wte, wpe), {"pos": 3}
    yield (rng.integers(0, 11, (0, 5)), wte, wpe), {}


def _reference(ids, wte, wpe, pos=0):
    return wte[ids] + wpe[pos : pos + ids.shape[-1]]


@op(_samples, _reference, (1, 2), dtypes="one float")
def embedding(ids, wte, wpe=None, pos: int = 0) -> Tensor:
    r"""Token plus position embedding, :math:`out_{bt} = wte_{ids_{bt}} + wpe_{t + pos}`.

    Backward: each row of dwte is the sum of the rows of `dout` whose id it is, in order of position (`scatter_add`);
    dwpe is `dout` summed over the batch, at rows ``pos ..``. Saves the ids.

    Parameters
    ----------
    ids : integer Tensor or array_like
        ``[..., t]``.
    wte : Tensor
        ``[vocab, n]``.
    wpe : Tensor, optional
        ``[places, n]``; without it the op is `take`, but for negative ids, which are refused.
    pos : int
        Place of the first token.

    Raises
    ------
    IndexRangeError
        If an id is outside the vocabulary; it is checked before a kernel runs.
    DTypeError
        If the tables are not floats.
    ShapeError
        If the tables do not fit each other or the sequence does not fit the places.
    """
    from .indexing import take
    from .scatter import scatter_add

    pos = whole("embedding", "pos", pos)
    wte = as_tensor(wte, ids if isinstance(ids, Tensor) else wpe)
    ids = checked_ids("embedding", ids, wte.shape[0] if wte.ndim else 0, wte.backend, "token id")
    if wpe is None:
        return take(wte, ids)
    wpe = as_tensor(wpe, wte)
    same_backend("embedding", (wte, wpe))
    _check(ids, wte, wpe, pos)
    length, n = ids.shape[-1], wte.shape[1]
    tables = widened(wte.detach()), widened(wpe.detach())
    out = empty((*ids.shape, n), tables[0].dtype, wte.backend)
    sizes = ids.size, wte.shape[0], n, wpe.shape[0]
    run_rows(embedding_kernel, sizes, (ids, *tables, out), (length, pos), dtype=out.dtype, work=n)
    vocab, places, learned = wte.shape[0], wpe.shape[0], wte.requires_grad

    def backward(dout):
        from .indexing import unslice

        dwte = scatter_add(ids, dout, vocab) if learned else None
        per_place = sum_to(dout, (length, n))
        dwpe = per_place if length == places else unslice(per_place, (places, n), (slice(pos, pos + length),))
        return None, dwte, dwpe

    return record(narrowed(out, wte.dtype), (ids, wte, wpe), backward)


def _check(ids: Tensor, wte: Tensor, wpe: Tensor, pos: int) -> None:
    if wte.dtype.kind != "f":
        raise DTypeError(f"embedding got a table of dtype {wte.dtype.name}: convert to a float dtype with astype")
    if wte.dtype is not wpe.dtype:
        raise DTypeError(f"embedding got tables of dtypes {wte.dtype.name} and {wpe.dtype.name}: they must have one")
    if wte.ndim != 2 or wpe.ndim != 2 or wte.shape[1] != wpe.shape[1]:
        raise ShapeError(
            f"embedding got tables of shapes {wte.shape} and {wpe.shape}: it needs [vocab, n] and [places, n]"
        )
    if ids.ndim == 0 or pos < 0 or pos + ids.shape[-1] > wpe.shape[0]:
        raise ShapeError(
            f"embedding got ids of shape {ids.shape} at pos={pos} for {wpe.shape[0]} places: they do not fit"
        )
