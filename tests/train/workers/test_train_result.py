"""Results of a run: predictions of any number of rows, in the modes of inference, which are put back."""

import numpy as np
import pytest
from support.slope import Line, run

from forgenb import nn, train
from forgenb.errors import ShapeError


def test_modes_are_those_of_training_in_the_run_of_inference_in_predict_and_then_as_before():
    model = Line()
    model.inner.eval()
    seen = []
    result = run(model, per_batch_callback=lambda report: seen.append((model.training, model.inner.training)))
    assert seen == [(True, True)] * 2
    assert (model.training, model.inner.training) == (True, False)
    assert result.predict([2.0]).item() == 2 * model.slope.item()
    assert (model.training, model.inner.training) == (True, False)
    with pytest.raises(AttributeError):
        train.TrainResult(Crash(), *[result.inputs] * 2, *[result.batch_losses] * 3, 0).predict([1.0])


class Crash(nn.Module):
    def forward(self, x):
        return x.no_such_method()


def test_predict_takes_any_number_of_rows():
    layer = nn.Linear(3, 2)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 3)).astype("float32"), np.zeros((8, 2), "float32")
    result = run(layer, lambda p, y: (p - y) ** 2, x, y, batch_size=4, init_lr=0.01)
    weight, bias = layer.weight.numpy(), layer.bias.numpy()
    for rows in (0, 1, 5, 100):
        given = rng.normal(size=(rows, 3))
        found = result.predict(given)
        assert (found.shape, found.dtype, found.requires_grad) == ((rows, 2), np.float32, False)
        np.testing.assert_allclose(found.numpy(), given @ weight + bias, rtol=1e-4, atol=1e-5)
    assert result.predict([[1, 2, 3]]).shape == (1, 2)
    for wrong in ([1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0):
        with pytest.raises(ShapeError, match=r"rows of shape \(3,\), any number of them"):
            result.predict(wrong)


def test_predict_of_ids_keeps_whole_numbers():
    table = nn.Embedding(5, 2)
    ids = np.array([0, 1, 2, 3])
    result = run(table, lambda p, y: (p - y) ** 2, ids, np.zeros((4, 2), "float32"))
    np.testing.assert_array_equal(result.predict([4, 0]).numpy(), table.weight.numpy()[[4, 0]])
