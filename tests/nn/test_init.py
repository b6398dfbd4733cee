"""Parameters whose values are not drawn; what is drawn is tested with the layers."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.nn import init

MAKERS = {
    "normal": lambda name: init.normal(name, (3, 4), 0.5, 7, "float64", None),
    "uniform": lambda name: init.uniform(name, (3, 4), 0.5, 7, "float64", None),
    "orthogonal": lambda name: init.orthogonal(name, (3, 4), 7, "float64", None),
    "constant": lambda name: init.constant(name, (3, 4), 2.0, "float64", None),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_nothing_is_drawn_inside_of_unwritten(maker, monkeypatch):
    drawn = MAKERS[maker]("w")
    with monkeypatch.context() as patch, init.unwritten():
        patch.setattr(init, "_source", None)
        patch.setattr(np, "full", None)
        found = MAKERS[maker]("w")
    assert (found.name, found.shape, found.dtype, found.decay) == ("w", (3, 4), np.dtype("float64"), drawn.decay)
    assert found.requires_grad
    assert np.array_equal(MAKERS[maker]("w").numpy(), drawn.numpy())


def test_unwritten_ends_where_its_block_raises():
    with pytest.raises(RuntimeError, match="stop"), init.unwritten():
        raise RuntimeError("stop")
    assert fnb.nn.Linear(2, 2, seed=1, name="a").bias.tolist() == [0, 0]


def test_unwritten_parameters_are_where_they_are_asked_for():
    with init.unwritten():
        assert fnb.nn.Linear(2, 2, backend="python").weight.backend.name == "python"
