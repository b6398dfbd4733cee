"""The stored training step is complete and consistent with itself."""

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def golden():
    with np.load(Path(__file__).with_name("gpt_step.npz")) as file:
        return dict(file)


def test_every_parameter_has_every_array(golden):
    names = [key.removeprefix("param/") for key in golden if key.startswith("param/")]
    assert len(names) == 2 + 12 * 2 + 2
    for name in names:
        shape = golden[f"param/{name}"].shape
        for kind, dtype in [("param", "f8"), ("grad64", "f8"), ("grad32", "f4"), ("adamw", "f8")]:
            array = golden[f"{kind}/{name}"]
            assert (array.shape, array.dtype) == (shape, np.dtype(dtype)), (kind, name)
            assert np.isfinite(array).all()


def test_parameter_count_follows_the_formula(golden):
    config = json.loads(str(golden["config"]))
    layers, c, t, v = (config[key] for key in ("layers", "width", "context", "vocab"))
    count = sum(array.size for key, array in golden.items() if key.startswith("param/"))
    assert count == v * c + t * c + layers * (12 * c * c + 13 * c) + 2 * c


def test_loss_follows_from_the_logits(golden):
    logits, targets = golden["logits64"], golden["targets"]
    log_sum = np.log(np.exp(logits).sum(-1))
    chosen = np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    assert np.isclose((log_sum - chosen).mean(), golden["loss64"], rtol=1e-14)
    assert np.isclose(golden["adamw_losses"][0], golden["loss64"], rtol=1e-14)
    assert np.isclose(golden["loss32"], golden["loss64"], rtol=1e-6)


def test_gradients_agree_between_dtypes_and_with_the_norm(golden):
    names = [key for key in golden if key.startswith("grad64/")]
    for key in names:
        error = np.abs(golden[key.replace("64", "32")] - golden[key]).max()
        assert error < 1e-5 * max(np.abs(golden[key]).max(), 1e-2), key
    norm = np.sqrt(sum((golden[key] ** 2).sum() for key in names))
    assert np.isclose(norm, golden["adamw_norms"][0], rtol=1e-14)
    assert (golden["adamw_norms"] > 1).all()
