"""Hessian-vector products of the GPT's loss against those of PyTorch in float64, eager and in a routine."""

import json
from pathlib import Path

import numpy as np
import pytest

import forgenb as fnb

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def golden():
    with np.load(FOLDER / "gpt_step.npz") as step, np.load(FOLDER / "hvp.npz") as products:
        return {**step, **products}


@pytest.fixture
def model(golden):
    config = json.loads(str(golden["config"]))
    sizes = {key: config[key] for key in ("vocab", "context", "layers", "heads", "width")}
    made = fnb.models.GPT(fnb.models.GPTConfig(**sizes), dtype="float64")
    made.load_state_dict({name: golden[f"param/{name}"] for name, _ in made.named_parameters()})
    return made


def products(model, golden):
    params = dict(model.named_parameters())
    vectors = {name: golden[f"vector/{name}"] for name in params}
    return fnb.hvp(lambda: model.loss(golden["ids"], golden["targets"]), params, vectors)


def test_every_parameter_has_a_vector_and_a_product(golden, model):
    for name, p in model.named_parameters():
        vector, product = golden[f"vector/{name}"], golden[f"product/{name}"]
        assert vector.shape == product.shape == p.shape
        assert (vector != 0).all()
        assert np.isfinite(product).all()


def test_products_agree_with_those_of_another_library(golden, model):
    found = products(model, golden)
    for name, product in found.items():
        np.testing.assert_allclose(product.numpy(), golden[f"product/{name}"], rtol=0, atol=1e-8, err_msg=name)
    assert all(p.grad is None for p in model.parameters())
    assert not any(product.requires_grad for product in found.values())


def test_a_routine_computes_the_same_bits(golden, model):
    eager = products(model, golden)
    run = fnb.compile(lambda: list(products(model, golden).values()), name="products")
    for found, product in zip(run(), eager.values(), strict=True):
        np.testing.assert_array_equal(found.numpy(), product.numpy())


def test_dropout_of_one_seed_is_a_function_like_any_other(golden):
    """The same masks in all sweeps: differences of the gradient along the vectors agree."""
    config = fnb.models.GPTConfig(vocab=11, context=6, layers=1, heads=2, width=8, dropout=0.2)
    model = fnb.models.GPT(config, dtype="float64")
    ids, targets = np.random.default_rng(0).integers(0, 11, (2, 3, 6))
    params = dict(model.named_parameters())
    rng = np.random.default_rng(1)
    vectors = {name: rng.uniform(-1, 1, p.shape) for name, p in params.items()}

    def loss():
        with fnb.random.seeded(3):
            return model.loss(ids, targets)

    def gradient(step):
        model.load_state_dict({name: p + step * vectors[name] for name, p in start.items()})
        model.zero_grad()
        loss().backward()
        return {name: p.grad.numpy().copy() for name, p in params.items()}

    def slopes(step):
        high, low = gradient(step), gradient(-step)
        return {name: (high[name] - low[name]) / (2 * step) for name in params}

    start = {name: p.numpy().copy() for name, p in params.items()}
    found = fnb.hvp(loss, params, vectors)
    wide, narrow = slopes(1e-4), slopes(5e-5)
    for name, product in found.items():
        wanted = (4 * narrow[name] - wide[name]) / 3
        np.testing.assert_allclose(product.numpy(), wanted, rtol=0, atol=1e-6 * np.abs(wanted).max(), err_msg=name)
