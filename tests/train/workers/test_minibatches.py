"""Batches that workers share evenly: masks are those of the whole batch, running statistics keep it whole."""

import numpy as np
import pytest
from support.slope import run

import forgenb as fnb
from forgenb import nn, train
from forgenb.backend import Stream
from forgenb.errors import ShapeError


def test_a_model_that_changes_values_of_its_own_gets_one_stream():
    """Running statistics are those of whole batches, however many streams there are."""
    x = np.random.default_rng(1).normal(size=(12, 3)).astype("float32")
    results = []
    for most in (1, 3):
        layer, streams = nn.BatchNorm(3), [Stream() for _ in range(most)]
        result = run(layer, lambda p, y: (p - y) ** 2, x, x, batch_size=6, max_streams=None, streams=streams)
        [stream.close() for stream in streams]
        results.append((result.batch_losses, layer.running_mean.numpy().copy()))
    for found, wanted in zip(*results, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert results[0][1].any()


def test_masks_of_dropout_are_those_of_the_whole_batch():
    """Also of a sequence of masks that begins anew between two steps."""
    x = np.random.default_rng(1).normal(size=(12, 3))
    results = []
    for workers in (1, 2, 3):
        linear, drop = nn.Linear(3, 8, dtype="float64"), nn.Dropout(0.5, site=1)
        drop.seed = 5
        with fnb.no_grad():
            linear.weight[...] = np.arange(24.0).reshape(3, 8) / 24
        model = nn.Sequential(linear, drop)

        def anew(report, drop=drop):
            if report.at_step == 2:
                drop.seed = 6

        streams = [Stream() for _ in range(workers)]
        result = run(
            model,
            lambda p, y: (p - 1.0) ** 2,
            x,
            x,
            epochs=3,
            batch_size=6,
            max_streams=None,
            streams=streams,
            per_batch_callback=anew,
        )
        results.append(result.batch_losses)
        assert drop.calls == 4
        [stream.close() for stream in streams]
    np.testing.assert_allclose(results[1:], results[:1] * 2, rtol=1e-12)


def test_losses_of_pairs_that_do_not_belong_together_are_refused():
    """Predictions (n, 1) and outputs (n,) would broadcast to (n, n)."""
    x, sizes = np.ones((6, 2), "float32"), {"epochs": 1, "batch_size": 3, "init_lr": 0.1, "max_streams": 1}
    with pytest.raises(ShapeError, match=r"\(3, 3\) of predictions of shape \(3, 1\) and outputs of shape \(3,\)"):
        train.train_loop(nn.Linear(2, 1), lambda p, y: (p - y) ** 2, x, x[:, 0], **sizes)


def test_the_record_prints_losses_and_not_the_data():
    x, sizes = np.full((2, 2), 0.123, "float32"), {"epochs": 1, "batch_size": 2, "init_lr": 0.1}
    result = train.train_loop(nn.Linear(2, 1), lambda p, y: (p - y) ** 2, x, x[:, :1], **sizes)
    assert "0.123" not in repr(result)
    assert "epoch_losses" in repr(result)
