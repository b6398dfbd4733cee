"""What a checkpoint must hold, found without a model."""

import numpy as np
import pytest

from forgenb.errors import CheckpointError
from forgenb.train import TrainConfig, build_model, build_optimizer
from forgenb.train.persistence.fitting import check_layouts, needed_layouts

CONFIG = TrainConfig(layers=2, heads=2, width=8, context=4)


def stored(config=CONFIG):
    """The layouts of a checkpoint after a step."""
    model = build_model(config, 5)
    optimizer = build_optimizer(config, model)
    ids = np.zeros((1, 4), "int64")
    model.loss(ids, ids).backward()
    optimizer.step()
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    return {f"{part}.{name}": (a.shape, a.dtype) for part, state in states.items() for name, a in state.items()}


def test_what_a_run_stores_is_what_it_needs():
    layouts = stored()
    assert needed_layouts(CONFIG, 5, layouts) == layouts
    model = {name: layout for name, layout in layouts.items() if name.startswith("model.")}
    assert needed_layouts(CONFIG, 5, model) == model
    first = model | {"optimizer.step": layouts["optimizer.step"]}
    assert needed_layouts(CONFIG, 5, first) == first
    check_layouts("p", layouts, layouts, "this model")


def test_sizes_that_nobody_could_allocate_are_compared():
    layouts = stored()
    for name in ("layers", "width", "context"):
        config = TrainConfig(**{"layers": 2, "heads": 2, "width": 8, "context": 4} | {name: 2**62})
        with pytest.raises(CheckpointError, match="checkpoint 'p' does not fit this model: .*model"):
            check_layouts("p", needed_layouts(config, 5, layouts), layouts, "this model")


def test_twenty_differences_are_named():
    with pytest.raises(CheckpointError, match=r"x0 is unknown here; .*x19 is unknown here and 980 more\.$"):
        check_layouts("p", {}, {f"x{i}": ((), np.dtype("int64")) for i in range(1000)}, "this model")
