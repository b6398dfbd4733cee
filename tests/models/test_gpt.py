"""The GPT: structure, agreement with a stored step of another library, dropout sites, learning."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import forgenb as fnb
from forgenb import random
from forgenb.errors import ArgumentError, IndexRangeError, ShapeError
from forgenb.models import GPT, GPTConfig
from forgenb.optim import AdamW

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "gpt_step.npz")
STORED = json.loads(str(GOLDEN["config"]))
SMALL = GPTConfig(vocab=31, context=16, layers=2, heads=2, width=16)


def stored_model(dtype):
    sizes = {key: STORED[key] for key in ("vocab", "context", "layers", "heads", "width")}
    model = GPT(GPTConfig(**sizes), dtype=dtype)
    model.load_state_dict({name: GOLDEN[f"param/{name}"].astype(dtype) for name, _ in model.named_parameters()})
    return model


def ids_of(shape, vocab=31, seed=3):
    return np.random.default_rng(seed).integers(0, vocab, (2, *shape))


# Structure


def test_names_are_those_of_gpt2_in_order():
    names = [name for name, _ in GPT(SMALL).named_parameters()]
    layer = [
        f"{part}.{kind}"
        for part in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
        for kind in ("weight", "bias")
    ]
    wanted = [
        "wte.weight",
        "wpe.weight",
        *(f"h.{i}.{n}" for i in range(2) for n in layer),
        "ln_f.weight",
        "ln_f.bias",
    ]
    assert names == wanted
    assert len(names) == 2 + 12 * 2 + 2


def test_parameter_counts():
    assert sum(p.size for p in GPT(SMALL).parameters()) == SMALL.parameters
    assert list(SMALL.shapes()) == [(name, p.shape) for name, p in GPT(SMALL).named_parameters()]
    assert next(GPTConfig(2**40, 1, 2**50, 1, 2**60).shapes()) == ("wte.weight", (2**40, 2**60))
    assert GPTConfig(65, 256, 6, 6, 384).parameters == 10_770_816
    assert GPTConfig(50257, 1024, 12, 12, 768).parameters == 124_439_808
    assert GPTConfig(65, 256, 4, 4, 128).parameters == 834_432


def test_decay_is_for_matrices_only():
    for name, p in GPT(SMALL).named_parameters():
        assert p.decay == (p.ndim == 2), name


@pytest.mark.usefixtures("each_backend")
def test_exactly_the_residual_projections_start_smaller():
    """P65."""
    model = GPT(GPTConfig(vocab=50, context=64, layers=12, heads=2, width=64))
    for name, p in model.named_parameters():
        if p.ndim == 2:
            std = 0.02 / math.sqrt(24) if name.endswith("c_proj.weight") else 0.02
            assert p.numpy().std() == pytest.approx(std, rel=0.1), name
        else:
            assert set(p.tolist()) == {1.0 if ".ln_" in f".{name}" and name.endswith("weight") else 0.0}, name


def test_values_come_from_the_seed_and_the_full_name():
    model = GPT(SMALL, seed=5)
    name = "h.1.mlp.c_proj.weight"
    drawn = random.generator(5, name).standard_normal((64, 16)) * (0.02 / 2)
    np.testing.assert_array_equal(dict(model.named_parameters())[name].numpy(), drawn.astype(np.float32))
    assert GPT(SMALL).wte.weight.tolist() == GPT(SMALL, seed=1337).wte.weight.tolist()


def test_the_first_loss_is_that_of_guessing():
    ids, targets = ids_of((4, 16))
    assert GPT(SMALL).loss(ids, targets).item() == pytest.approx(math.log(31), abs=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab": 0}, "vocab must be an integer of at least 1, got 0"),
        ({"layers": 1.5}, "layers must be an integer of at least 1, got 1.5"),
        ({"heads": 3}, "heads=3 must divide width=16"),
        ({"dropout": 1.0}, "at least 0 and below 1, got 1.0"),
        ({"dropout": "0.1"}, "rate='0.1': it must be a number"),
    ],
)
def test_impossible_sizes_are_refused(change, message):
    sizes = {"vocab": 31, "context": 16, "layers": 2, "heads": 2, "width": 16}
    with pytest.raises(ArgumentError, match=message):
        GPTConfig(**(sizes | change))


def test_impossible_ids_are_refused():
    model = GPT(SMALL)
    for shape in ((4,), (1, 17), (1, 0)):
        with pytest.raises(ArgumentError, match=r"ids of shape \[b, t\] with t in 1 .. 16"):
            model(np.zeros(shape, np.int64))
    with pytest.raises(ShapeError, match="GPT got ids in lists of different lengths"):
        model([[1, 2], [1]])
    with pytest.raises(IndexRangeError, match="31"):
        model(np.array([[31]]))
    with pytest.raises(IndexRangeError, match="-1"):
        model.loss(np.array([[1]]), np.array([[-1]]))


# Agreement with the stored step


@pytest.mark.parametrize(("dtype", "loss_rtol", "rtol"), [("float64", 1e-12, 1e-10), ("float32", 1e-6, 1e-4)])
def test_loss_logits_and_every_gradient_agree(dtype, loss_rtol, rtol):
    model = stored_model(dtype)
    logits = model(GOLDEN["ids"])
    np.testing.assert_allclose(logits.numpy(), GOLDEN["logits64"], atol=rtol * np.abs(GOLDEN["logits64"]).max(), rtol=0)
    loss = model.loss(GOLDEN["ids"], GOLDEN["targets"])
    assert loss.item() == pytest.approx(float(GOLDEN["loss64"]), rel=loss_rtol)
    loss.backward()
    for name, p in model.named_parameters():
        wanted = GOLDEN[f"grad64/{name}"]
        error = np.abs(p.grad.numpy() - wanted).max() / np.abs(wanted).max()
        assert error < rtol, (name, error)


def test_three_adamw_steps_agree():
    model, settings = stored_model("float64"), STORED["adamw"]
    optimizer = AdamW(model.named_parameters(), settings["lr"], settings["betas"], settings["eps"], settings["decay"])
    losses, norms = [], []
    for _ in range(settings["steps"]):
        optimizer.zero_grad()
        loss = model.loss(GOLDEN["ids"], GOLDEN["targets"])
        loss.backward()
        losses.append(loss.item())
        norms.append(optimizer.step(clip_norm=settings["clip"]))
    np.testing.assert_allclose(losses, GOLDEN["adamw_losses"], rtol=1e-8)
    np.testing.assert_allclose(norms, GOLDEN["adamw_norms"], rtol=1e-8)
    for name, p in model.named_parameters():
        found, wanted = p.numpy(), GOLDEN[f"adamw/{name}"]
        if name.endswith("c_attn.bias"):  # the k third moves by the sign of a rounding error
            third = found.size // 3
            found, wanted = (np.delete(a, np.s_[third : 2 * third]) for a in (found, wanted))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8, err_msg=name)


# What the model is


@pytest.mark.usefixtures("each_backend")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_token_does_not_see_later_ones(dtype):
    """P61: up to the change, the same bits."""
    model = GPT(GPTConfig(vocab=31, context=8, layers=2, heads=2, width=8), dtype=dtype)
    ids, _ = ids_of((1, 5))
    before = model(ids).numpy().copy()
    ids[:, 3] = (ids[:, 3] + 1) % 31
    after = model(ids).numpy()
    assert before[:, :3].tobytes() == after[:, :3].tobytes()
    assert np.abs(before[:, 3:] - after[:, 3:]).max() > 0


def test_the_head_is_tied():
    model = GPT(SMALL, dtype="float64")
    ids, targets = ids_of((2, 5))
    model.loss(ids, targets).backward()
    whole = model.wte.weight.grad.numpy().copy()
    model.zero_grad()
    fnb.ops.cross_entropy(model.head(model.hidden(ids).detach()), targets).backward()
    head = model.wte.weight.grad.numpy()
    unseen = np.setdiff1d(np.arange(31), ids)
    np.testing.assert_allclose(whole[unseen], head[unseen], rtol=1e-10)
    assert np.abs(whole - head).max() > 1e-6


def test_a_saved_model_has_the_same_loss():
    model, other = GPT(SMALL, seed=1), GPT(SMALL, seed=2)
    ids, targets = ids_of((2, 8))
    assert model.loss(ids, targets).item() != other.loss(ids, targets).item()
    other.load_state_dict(model.state_dict())
    assert model.loss(ids, targets).item() == other.loss(ids, targets).item()


# Dropout


DROPPING = GPTConfig(vocab=31, context=16, layers=2, heads=2, width=16, dropout=0.2)


def test_dropout_depends_on_the_seed_and_on_training():
    model, plain = GPT(DROPPING), GPT(SMALL)
    ids, targets = ids_of((4, 8))

    def loss(seed):
        model.dropout_seed = seed
        return model.loss(ids, targets).item()

    assert loss(1) == loss(1) != loss(2)
    model.eval()
    assert loss(1) == loss(2) == plain.loss(ids, targets).item()


def test_a_pass_asks_for_one_site_each(monkeypatch):
    """The sum of embeddings, then attention weights, attention and MLP of each layer."""
    model = GPT(DROPPING)
    model.dropout_seed = 99
    seeds = []
    site_seed = random.site_seed
    monkeypatch.setattr(random, "site_seed", lambda seed, site: seeds.append((seed, site)) or site_seed(seed, site))
    model(ids_of((1, 4))[0])
    assert seeds == [(99, site) for site in range(1, 1 + 1 + 3 * 2)]


def test_the_sum_of_embeddings_is_dropped_by_the_first_site():
    model = GPT(GPTConfig(vocab=31, context=16, layers=1, heads=2, width=16, dropout=0.5), dtype="float64")
    model.dropout_seed = 7
    state = {name: np.zeros_like(value) for name, value in model.state_dict().items()}
    state["ln_f.weight"] += 1
    state["wpe.weight"] += np.random.default_rng(0).normal(size=(16, 16))
    model.load_state_dict(state)
    hidden = model.hidden(ids_of((3, 16))[0]).numpy()
    keep = random.dropout_keep(3 * 16 * 16, 0.5, random.site_seed(7, 1)).reshape(3, 16, 16)
    dropped = np.where(keep, 2 * state["wpe.weight"], 0)
    wanted = (dropped - dropped.mean(-1, keepdims=True)) / np.sqrt(dropped.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(hidden, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("config", [SMALL, DROPPING], ids=["plain", "dropout"])
def test_parts_of_a_batch_add_up_to_the_whole(config):
    model = GPT(config, dtype="float64")
    model.dropout_seed = 11
    ids, targets = ids_of((6, 8))
    whole = model.loss(ids, targets)
    whole.backward()
    wanted = [p.grad.numpy().copy() for p in model.parameters()]
    model.zero_grad()
    losses = []
    for first in (0, 2, 4):
        model.dropout_first = first
        loss = model.loss(ids[first : first + 2], targets[first : first + 2]) * (1 / 3)
        loss.backward()
        losses.append(loss.item())
    assert sum(losses) == pytest.approx(whole.item(), rel=1e-12)
    for p, grad in zip(model.parameters(), wanted):
        np.testing.assert_allclose(p.grad.numpy(), grad, rtol=0, atol=1e-12)


# Learning


def test_a_toy_is_learned_by_heart():
    model = GPT(GPTConfig(vocab=61, context=24, layers=2, heads=2, width=32))
    text = np.tile([3, 14, 15, 9, 26, 53], 5)[:25]
    optimizer = AdamW(model.named_parameters(), 1e-2, weight_decay=0.0)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = model.loss(text[None, :24], text[None, 1:])
        loss.backward()
        losses.append(loss.item())
        optimizer.step(clip_norm=1.0)
    assert losses[0] == pytest.approx(math.log(61), abs=0.1)
    assert losses[-1] < 0.25 * losses[0]
    assert losses[-1] < 0.05
    assert fnb.models.generate(model, text[:6], 12, greedy=True) == list(text[:18])


def test_frozen_embeddings_stay():
    model = GPT(SMALL)
    model.wte.weight.requires_grad = False
    before = model.wte.weight.numpy().tobytes()
    ids, targets = ids_of((2, 8))
    optimizer = AdamW(model.named_parameters(), 1e-2)
    model.loss(ids, targets).backward()
    optimizer.step(clip_norm=1.0)
    assert model.wte.weight.numpy().tobytes() == before
    assert optimizer.unused() == []
