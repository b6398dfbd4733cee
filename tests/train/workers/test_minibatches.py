"""Batches that workers share evenly: masks are those of the whole batch, running statistics keep it whole."""

import numpy as np
from support.slope import run

import forgenb as fnb
from forgenb import nn
from forgenb.backend import Stream


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
