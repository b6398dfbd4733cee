"""Continuing sequences: one as a stream of ids, or a batch of them.

Imports decoders, samplers, the models and traces; text and files belong to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..errors import ArgumentError, IndexRangeError
from ..ops.settings import flag, whole
from .council import Council, check_model
from .council_decoder import CouncilDecoder
from .decoder import Decoder
from .gpt import GPT
from .prompts import prompt_ids
from .sampler import Chooser, Greedy, Sampler
from .trace import Tracer

__all__ = ["generate", "generate_batch", "stream"]


def stream(
    model: GPT | Council,
    ids: Sequence[int],
    count: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int | None = None,
    end: int | None = None,
    tracer: Tracer | None = None,
) -> Iterator[int]:
    """Yield up to `count` ids that continue `ids`, each as soon as it is chosen. See `generate`."""
    end, count = _end("generate", model, end), whole("generate", "count", count)
    prompt = prompt_ids(ids, model.config.vocab)
    if not prompt or count < 0:
        raise ArgumentError(
            f"generating needs a prompt of at least one id and count >= 0, got {len(prompt)} and {count}"
        )
    sampler = Sampler(temperature, top_k, top_p, seed)
    _refuse_council(model, tracer)
    chooser = Greedy() if flag("generate", "greedy", greedy) else sampler
    return _stream(model, prompt, count, chooser, end, tracer)


def _stream(
    model: GPT | Council, ids: list[int], count: int, chooser: Chooser, end: int | None, tracer: Tracer | None
) -> Iterator[int]:
    """Ids by the cache while the context holds them all; from then on the window slides, and is read anew each time."""
    context = model.config.context
    decoder = _decoder_of(model, 1, min(context, len(ids) + count - 1), tracer) if count else None
    while decoder is not None and count:
        count -= 1
        whole = not decoder.lengths[0] or len(ids) > context
        logits = (decoder.prefill([ids[-context:]]) if whole else decoder.step(ids[-1:]))[0]
        chosen = _choice(chooser, logits)
        if chosen == end:
            return
        _record(decoder, 0, len(ids), chosen, logits)
        ids.append(chosen)
        yield chosen


def _decoder_of(model: GPT | Council, batch: int, capacity: int, tracer: Tracer | None) -> Decoder | CouncilDecoder:
    if not isinstance(model, Council):
        return Decoder(model, batch, capacity, tracer)
    _refuse_council(model, tracer)
    return CouncilDecoder(model, batch, capacity)


def _refuse_council(model: GPT | Council, tracer: Tracer | None) -> None:
    if tracer is not None and isinstance(model, Council):
        raise ArgumentError(
            "a tracer sees into one model, and a council has several: trace an expert, or ask CouncilDecoder.report"
        )


def _record(decoder: Decoder | CouncilDecoder, row: int, position: int, chosen: int, logits: np.ndarray) -> None:
    """Hand the record of an id to the decoder's tracer, where it has one."""
    if isinstance(decoder, Decoder) and decoder.tracer is not None:
        decoder.tracer.record(decoder.seen(row), row, position, chosen, logits)


def _choice(chooser: Chooser, logits: np.ndarray) -> int:
    """The id that is chosen; a chooser may change what it is given."""
    chosen = whole(type(chooser).__name__, "the id that is chosen", chooser.choose(logits.copy()))
    if not 0 <= chosen < len(logits):
        raise IndexRangeError(f"{type(chooser).__name__} chose id {chosen}, outside the vocabulary of {len(logits)}")
    return chosen


def _end(name: str, model: GPT | Council, end: int | None) -> int | None:
    """The id that ends a text, of a model that is one."""
    check_model(name, model)
    return model.config.end if end is None else whole(name, "end", end)


def generate(
    model: GPT | Council,
    ids: Sequence[int],
    count: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int | None = None,
    end: int | None = None,
    tracer: Tracer | None = None,
) -> list[int]:
    """Continue a sequence, of any length: the model sees the last `context` ids.

    While all ids fit the context, each costs one step of a `Decoder`. After that every id moves all positions, so each
    costs a pass over a whole context.

    Parameters
    ----------
    model : GPT or Council
        Run as in eval mode; its modes are left as they are.
    ids : sequence of int
        The prompt, at least one id.
    count : int
        How many ids to add, at most.
    temperature, top_k, top_p
        See `next_id`.
    greedy : bool
        Take the first of the greatest logits every time.
    seed : int, optional
        Of the choices; by default the one set with ``fnb.seed``. The same seed gives the same ids.
    end : int, optional
        Stop where this id is chosen, which is not added; by default the model's own, ``model.config.end``, where it has
        one. No id is -1, which goes on to `count`.
    tracer : Tracer, optional
        Gets a record of each id that is added; a council takes none.

    Returns
    -------
    list of int
        The prompt and its continuation.

    Raises
    ------
    ArgumentError
        If the prompt is empty, `model` is neither, or an argument is out of range.
    ShapeError, DTypeError, IndexRangeError
        If the prompt is no row of integers, or one is outside the vocabulary.
    """
    added = stream(
        model,
        ids,
        count,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        greedy=greedy,
        seed=seed,
        end=end,
        tracer=tracer,
    )
    return [*prompt_ids(ids, model.config.vocab), *added]


def generate_batch(
    model: GPT | Council,
    prompts: Sequence[Sequence[int]],
    count: int,
    choosers: Sequence[Chooser] | None = None,
    *,
    end: int | None = None,
    on_id: Callable[[int, int], object] | None = None,
    decoder: Decoder | CouncilDecoder | None = None,
    tracer: Tracer | None = None,
) -> list[list[int]]:
    """Continue several sequences side by side; each gets the ids that it would get alone, and ends on its own.

    Parameters
    ----------
    model : GPT or Council
        See `generate`.
    prompts : sequence of sequences of int
        Of any lengths from 1 on.
    count : int
        How many ids to add to each, at most. All must fit the context: nothing slides here.
    choosers : sequence of Chooser, optional
        One a sequence, such as ``Sampler(seed=3, stream=i)``; by default `Greedy`.
    end : int, optional
        A sequence ends where it chooses this id, which is not added; see `generate`.
    on_id : callable, optional
        Called with the number of the sequence and each id that is added; returning False ends that sequence.
    decoder : Decoder or CouncilDecoder, optional
        One of this model and batch to use, and thus a routine that is there already; by default a new one.
    tracer : Tracer, optional
        Gets a record of each id that is added, before `on_id` does. A decoder that is given must have the same one.

    Returns
    -------
    list of list of int
        Each prompt and its continuation.

    Raises
    ------
    ArgumentError
        If there are no prompts or not as many choosers, one is empty or does not fit with `count` more ids, the decoder
        is another model's or has another batch, or an argument is of another type.
    ShapeError, DTypeError, IndexRangeError
        If a prompt is no row of integers, or one is outside the vocabulary, or an id that was chosen.
    """
    end, count = _end("generate", model, end), whole("generate", "count", count)
    rows = [prompt_ids(prompt, model.config.vocab) for prompt in prompts]
    longest = max(map(len, rows), default=0)
    chosen_by = [Greedy() for _ in rows] if choosers is None else list(choosers)
    if not rows or count < 0 or len(chosen_by) != len(rows):
        raise ArgumentError(
            f"generate_batch needs prompts, a chooser for each and count >= 0, got {len(rows)} prompts, "
            f"{len(chosen_by)} choosers and {count}"
        )
    wrong = [type(chooser).__name__ for chooser in chosen_by if not isinstance(chooser, Chooser)]
    if wrong:
        raise ArgumentError(f"generate_batch needs choosers, such as Sampler(seed=3), got {', '.join(wrong)}")
    if not isinstance(decoder, Decoder | CouncilDecoder | None) or not (on_id is None or callable(on_id)):
        raise ArgumentError(
            "generate_batch needs a Decoder and a callable, or None of either, got "
            f"decoder={type(decoder).__name__} and on_id={type(on_id).__name__}"
        )
    wanted, capacity = longest + max(count - 1, 0), decoder.capacity if decoder else model.config.context
    if wanted > capacity:
        raise ArgumentError(
            f"a prompt of {longest} ids and {count} more need {wanted} places, and there are {capacity}: shorten the "
            "prompt or ask for fewer (generate slides a window over longer texts)"
        )
    if count == 0:
        return rows
    decoder = decoder or _decoder_of(model, len(rows), wanted, tracer)
    if decoder.model is not model or decoder.batch != len(rows):
        raise ArgumentError(
            f"generate_batch got {len(rows)} prompts and a decoder for {decoder.batch}"
            f"{'' if decoder.model is model else ' of another model'}: make one with {type(decoder).__name__}(model, "
            f"{len(rows)})"
        )
    if getattr(decoder, "tracer", None) is not tracer:
        raise ArgumentError(
            "generate_batch got a decoder with another tracer: what is noted belongs to its routine, so make one with "
            f"Decoder(model, {len(rows)}, tracer=tracer)"
        )
    _continue(decoder, rows, count, chosen_by, end, on_id)
    return rows


def _continue(
    decoder: Decoder | CouncilDecoder,
    rows: list[list[int]],
    count: int,
    choosers: list,
    end: int | None,
    on_id: Callable | None,
) -> None:
    """Add ids to `rows` until each has `count` more or has ended; no pass is run whose logits nobody needs."""
    logits, going = decoder.prefill(rows), set(range(len(rows)))
    for left in range(count - 1, -1, -1):
        for row in sorted(going):
            chosen = _choice(choosers[row], logits[row])
            if chosen != end:
                _record(decoder, row, len(rows[row]), chosen, logits[row])
                rows[row].append(chosen)
            if chosen == end or (on_id is not None and on_id(row, chosen) is False):
                going.discard(row)
                decoder.release(row)
        if not going or not left:
            return
        logits = decoder.step([row[-1] for row in rows])
