"""What a model had in front of it when an id was chosen: a record of each id that is generated.

Imports NumPy, the choice of ids, settings and errors; how values are noted is `notes`, and nothing here runs a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..ops.settings import flag, whole
from .sampler import top_probs

__all__ = ["LayerDetail", "Pass", "StepTrace", "Tracer", "attention_matrix"]


@dataclass(frozen=True, eq=False)
class LayerDetail:
    """What one layer computed: of a prompt with t first axes more, of one id without.

    Attributes
    ----------
    ln1_out, ln2_out : ndarray, ``([t,] c)``
        The stream as attention and the MLP got it.
    q, k, v : ndarray, ``(heads, [t,] c / heads)``
        Queries, keys and values of the ids that this pass read.
    scores : ndarray, ``(heads, [t,] seen)``
        Products of queries and keys over the root of their width, before the mask: those of later keys are there, too.
        They are computed beside attention, which keeps none.
    attention_out : ndarray, ``(heads, [t,] c / heads)``
        What each head made of the values.
    projection : ndarray, ``([t,] c)``
        The heads together after c_proj.
    residual : ndarray, ``([t,] c)``
        The stream with the projection added.
    mlp_hidden : ndarray, ``([t,] 4 c)``
        Inside the MLP, after gelu.
    block_out : ndarray, ``([t,] c)``
        The stream that the layer hands on.
    """

    ln1_out: np.ndarray
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    scores: np.ndarray
    attention_out: np.ndarray
    projection: np.ndarray
    residual: np.ndarray
    ln2_out: np.ndarray
    mlp_hidden: np.ndarray
    block_out: np.ndarray


@dataclass(frozen=True, eq=False)
class Pass:
    """What one pass of a model computed for one sequence, of a prompt or of one id.

    Attributes
    ----------
    attention : ndarray or None
        What each query took from each key: ``(layers, heads, t, t)`` of a prompt, later keys being exact zeros;
        ``(layers, heads, seen)`` of one id.
    embedding : ndarray, ``([t,] c)``, or None
        The sum of token and position, where a layer is traced in detail.
    layers : tuple of LayerDetail
        The first ones, as many as were asked for.
    hidden : ndarray, ``(c,)``, or None
        The result of the last norm, which the head maps to the logits, where a layer is traced in detail.
    """

    attention: np.ndarray | None
    embedding: np.ndarray | None
    layers: tuple[LayerDetail, ...]
    hidden: np.ndarray | None


@dataclass(frozen=True, eq=False)
class StepTrace(Pass):
    """The record of one id.

    Attributes
    ----------
    row : int
        Which sequence of the batch.
    position : int
        The number of the id in its sequence, the prompt counted.
    chosen : int
        The id.
    shortlist : list of (int, float)
        The most probable ids and their probabilities among all, whatever the sampler leaves out; ties by id.
    """

    row: int
    position: int
    chosen: int
    shortlist: list[tuple[int, float]]


class Tracer:
    """Asks for a record of each id that `generate`, `stream` or `generate_batch` adds, and gets it.

    The ids are those without it: the passes compute the same, and the record is read back with the logits.

    Parameters
    ----------
    receive : callable
        Called with each `StepTrace` before its id is handed out, such as ``records.append``.
    top : int
        How many ids the shortlist has, at most.
    layers : int
        Of how many layers, from the first on, everything is noted.
    attention : bool
        Whether attention weights are noted: a prompt of t ids has layers * heads * t * t of them.

    Raises
    ------
    ArgumentError
        If `receive` cannot be called, or a setting is out of range.
    """

    def __init__(self, receive: Callable[[StepTrace], object], top: int = 10, layers: int = 0, attention: bool = True):
        if not callable(receive):
            raise ArgumentError(f"Tracer needs something to call with each record, got {type(receive).__name__}")
        self.receive = receive
        self.top, self.layers = whole("Tracer", "top", top, 1), whole("Tracer", "layers", layers, 0)
        self.attention = flag("Tracer", "attention", attention)

    def record(self, seen: Pass, row: int, position: int, chosen: int, logits: np.ndarray) -> None:
        """Hand a record to whoever asked for it."""
        shortlist = top_probs(logits, self.top)
        self.receive(StepTrace(**vars(seen), row=row, position=position, chosen=chosen, shortlist=shortlist))


def attention_matrix(records: Sequence[StepTrace]) -> np.ndarray:
    """The attention of a whole text, ``(layers, heads, n, n)``, from the records of one sequence in their order.

    Each row is what one id took from those before it and itself. The last id that was chosen was not read by the model,
    and has no row.

    Raises
    ------
    ArgumentError
        If there is no record, one has no attention, or they are not those of one text from its prompt on, which the
        window of the context has not left.
    """
    weights = [record.attention for record in records]
    given = [w for w in weights if w is not None]
    if not given or len(given) < len(weights) or given[0].ndim != 4:
        raise ArgumentError(
            f"attention_matrix needs records with attention, from that of the prompt on, got {len(given)} of "
            f"{len(weights)}"
        )
    layers, heads, prompt, _ = given[0].shape
    n = prompt + len(given) - 1
    if any(w.shape != (layers, heads, prompt + i) for i, w in enumerate(given[1:], 1)):
        raise ArgumentError(
            f"attention_matrix got records that are not one text of {prompt} ids and one more each: give those of one "
            "sequence in their order, and no more ids than the context holds"
        )
    found = np.zeros((layers, heads, n, n), given[0].dtype)
    found[:, :, :prompt, :prompt] = given[0]
    for i, w in enumerate(given[1:], prompt):
        found[:, :, i, : i + 1] = w
    return found
