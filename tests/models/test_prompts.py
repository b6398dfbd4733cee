"""Ids of prompts: integers in a row, all of them in the vocabulary."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import DTypeError, IndexRangeError, ShapeError
from forgenb.models import GPT, Decoder, GPTConfig, generate, generate_batch, stream
from forgenb.models.prompts import prompt_ids


@pytest.mark.parametrize("ids", [[1, 10], (1, 10), np.array([1, 10], np.uint8), fnb.tensor([1, 10])], ids=type)
def test_any_row_of_integers_will_do(ids):
    found = prompt_ids(ids, 11)
    assert found == [1, 10]
    assert {type(i) for i in found} == {int}
    assert prompt_ids([], 11) == []


WRONG = [
    ([0.7, 1.0], DTypeError, "must be integers, got dtype float64"),
    ([True], DTypeError, "must be integers, got dtype bool"),
    (["1"], DTypeError, "must be integers, got dtype <U1"),
    ([2**70], DTypeError, "must be integers, got dtype object"),
    ("12", ShapeError, r"one axis, got shape \(\)"),
    ([[1, 2]], ShapeError, r"one axis, got shape \(1, 2\)"),
    ([[1], [1, 2]], ShapeError, "one axis, got lists of different lengths"),
    ([1, 11, -1], IndexRangeError, "id 11 at position 1 is outside the model's vocabulary of 11"),
    ([-1], IndexRangeError, "id -1 at position 0"),
    ([99, 1, 2, 3, 4, 5, 6], IndexRangeError, "id 99 at position 0"),
]


@pytest.fixture(scope="module")
def model():
    return GPT(GPTConfig(vocab=11, context=5, layers=1, heads=2, width=8))


@pytest.mark.parametrize(("ids", "error", "message"), WRONG, ids=lambda v: str(v) if isinstance(v, (list, str)) else "")
def test_nothing_is_rounded_or_left_out_wherever_it_is_handed_in(model, ids, error, message):
    """The last of them is beyond the window, so that no op would see the wrong id."""
    for call in (
        lambda: stream(model, ids, 2),
        lambda: generate(model, ids, 2),
        lambda: generate_batch(model, [[1], ids], 2),
        lambda: Decoder(model, 2).prefill([[1], ids]),
    ):
        with pytest.raises(error, match=message):
            call()
