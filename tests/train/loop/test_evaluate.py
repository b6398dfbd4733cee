"""The validation loss."""

import numpy as np
import pytest

from forgenb.errors import ArgumentError
from forgenb.tape import is_recording
from forgenb.train import build_model, evaluate


def test_windows_are_weighed_and_the_mode_is_put_back(fake):
    model = fake([2.0])
    ids = np.zeros((130, 4), np.int64)
    assert evaluate(model, ids, ids) == 3.0
    assert [(training, count) for training, count, _, _ in model.asked] == [
        (False, 64),
        (False, 64),
        (False, 2),
    ]
    assert model.training
    model.eval()
    evaluate(model, ids, ids)
    assert not model.training


def test_an_error_puts_the_mode_back(fake, monkeypatch):
    model = fake()
    monkeypatch.setattr(model, "loss", lambda ids, targets: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division"):
        evaluate(model, np.zeros((1, 4)), np.zeros((1, 4)))
    assert model.training
    assert is_recording()


def test_mean_of_all_windows(tiny):
    model = build_model(tiny, 5)
    ids = np.random.default_rng(0).integers(0, 5, (67, 9))
    logits = model(ids[:, :-1]).numpy().astype(np.float64)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = -np.take_along_axis(logits, ids[:, 1:, None], -1).mean()
    assert evaluate(model, ids[:, :-1], ids[:, 1:]) == pytest.approx(wanted, rel=1e-6)


def test_windows_at_once(fake):
    model = fake()
    ids = np.zeros((5, 8), np.int64)
    assert evaluate(model, ids, ids, at_once=2) == 2.0
    assert [count for _, count, _, _ in model.asked] == [2, 2, 1]
    with pytest.raises(ArgumentError, match="evaluate got at_once=0: it must be a whole number of at least 1"):
        evaluate(model, ids, ids, at_once=0)


@pytest.mark.parametrize(("inputs", "targets"), [(0, 0), (4, 6), (6, 4)])
def test_each_window_needs_its_targets(fake, inputs, targets):
    with pytest.raises(ArgumentError, match=f"got {inputs} inputs and {targets} targets"):
        evaluate(fake(), np.zeros((inputs, 8), np.int64), np.zeros((targets, 8), np.int64), at_once=2)
