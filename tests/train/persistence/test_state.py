"""The state of a model and its optimiser in one file."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import CheckpointError
from forgenb.train.persistence.state import MODEL, OPTIMIZER, put_back, state_arrays, under


def test_names_say_whose_an_array_is():
    arrays = state_arrays({"w": fnb.tensor([1.0])}, {"step": np.array(3)})
    assert list(arrays) == ["model.w", "optimizer.step"]
    assert under(MODEL, arrays)["w"].tolist() == [1.0]
    assert under(OPTIMIZER, arrays)["step"] == 3


def test_they_are_put_back(small):
    first, second = small(), small()
    first.trainer(2).run()
    arrays = state_arrays(first.model.state_dict(), first.optimizer.state_dict())
    put_back("file", arrays, second.model)
    assert second.optimizer.steps == 0
    put_back("file", arrays, second.model, second.optimizer)
    assert first.state() == second.state()


def test_what_does_not_fit_is_refused(small):
    s = small()
    with pytest.raises(CheckpointError, match="The checkpoint 'file' does not fit this model: "):
        put_back("file", state_arrays({"w": np.zeros(2)}, {}), s.model)
    before = s.state()
    arrays = state_arrays({name: a + 1 for name, a in s.model.state_dict().items()}, {"w": np.zeros(2)})
    with pytest.raises(CheckpointError, match="does not fit this model: .*step is missing"):
        put_back("file", arrays, s.model, s.optimizer)
    assert s.state() == before
