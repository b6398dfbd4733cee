"""Training a GPT: every gradient against another library and against differences, frozen tables, recomputed blocks."""

from pathlib import Path

import numpy as np
import pytest

import forgenb as fnb
from forgenb.models import GPT, GPTConfig
from forgenb.optim import AdamW
from forgenb.train import TrainStep

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "gpt2_gradients.npz")
SIZES = {"vocab": 31, "context": 16, "layers": 2, "heads": 2, "width": 16}
IDS = np.random.default_rng(5).integers(0, 31, (2, 4, 12))
STEP = 1e-3


@pytest.fixture(scope="module")
def stored():
    """The model of the golden file in float64, and its gradients."""
    model = GPT(GPTConfig(**SIZES), dtype="float64")
    model.load_state_dict({name: GOLDEN[f"param/{name}"].astype("float64") for name, _ in model.named_parameters()})
    loss = model.loss(GOLDEN["ids"], GOLDEN["targets"])
    loss.backward()
    return model, loss.item(), {name: p.grad.numpy().copy() for name, p in model.named_parameters()}


def test_every_gradient_is_that_of_another_library(stored):
    _, loss, grads = stored
    assert loss == pytest.approx(float(GOLDEN["loss"]), rel=1e-13)
    assert len(grads) == 28
    for name, grad in grads.items():
        wanted = GOLDEN[f"grad/{name}"]
        assert np.abs(grad - wanted).max() < 1e-12 * np.abs(wanted).max(), name


def test_every_gradient_follows_central_differences(stored):
    """Along one random direction a tensor; Richardson's step makes the error of a difference of fourth order."""
    model, _, grads = stored
    source = np.random.default_rng(11)
    for name, p in model.named_parameters():
        start, direction = p.numpy().copy(), source.normal(size=p.shape)

        def at(t, p=p, start=start, direction=direction):
            with fnb.no_grad():
                p[...] = start + t * direction
                return model.loss(GOLDEN["ids"], GOLDEN["targets"]).item()

        wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (STEP, STEP / 2))
        at(0.0)
        wanted = (grads[name] * direction).sum()
        assert (4 * narrow - wide) / 3 == pytest.approx(wanted, rel=1e-6), name


# Blocks that are computed again


def gradients(again, dropout, layers=4):
    """Loss, gradients and peak of a pass."""
    model = GPT(GPTConfig(31, 16, layers, 2, 16, dropout))
    model.recompute_blocks, model.dropout_seed, model.dropout_first = again, 9, 2
    with fnb.peak_memory() as peak:
        loss = model.loss(*IDS)
        loss.backward()
    return [loss.item(), *(p.grad.numpy().tobytes() for p in model.parameters())], peak.nbytes


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_blocks_that_are_computed_again_have_the_same_bits_and_a_lower_peak(dropout):
    gradients(False, dropout), gradients(True, dropout)
    (wanted, high), (found, low) = gradients(False, dropout), gradients(True, dropout)
    assert found == wanted
    assert low < 0.6 * high
    assert gradients(True, dropout)[1] == low


def test_each_further_block_that_is_computed_again_keeps_little_more_than_its_input():
    gradients(True, 0.2)
    four, eight = (gradients(True, 0.2, layers)[1] for layers in (4, 8))
    block = 4 * (12 * 16 * 16 + 13 * 16 + IDS[0].size * 16)  # its gradients and its input
    assert eight - four < 1.1 * 4 * block


def test_a_recorded_step_computes_blocks_again_too():
    def trained(again):
        model = GPT(GPTConfig(31, 16, 4, 2, 16, 0.2), seed=3)
        model.recompute_blocks = again
        step = TrainStep(model, AdamW(model.named_parameters(), 1e-2), clip_norm=1.0)
        losses = []
        for model.dropout_seed in range(2):
            losses.append(step(*IDS.repeat(8, 1))[0].item())
        return step, (losses, [p.numpy().tobytes() for p in model.parameters()])

    (plain, wanted), (again, found) = trained(False), trained(True)
    assert found == wanted
    high, low = (step._compiled.routine.memory()["scratch"] for step in (plain, again))
    assert low < 0.5 * high
    again.model.recompute_blocks = False
    again(*IDS.repeat(8, 1))
    assert again._compiled.routine.memory()["scratch"] == high


# Frozen parameters


def work(frozen, eager):
    """What a step does: launches and products by name, in eager mode or of its routine."""
    model = GPT(GPTConfig(**SIZES))
    for name in frozen:
        getattr(model, name).freeze()
    step = TrainStep(model, AdamW(model.named_parameters(), 1e-2), clip_norm=1.0, eager=eager)
    step(*IDS)
    if not eager:
        return [statement.name for statement in step._compiled.routine.program.statements]
    before = fnb.stats()
    step(*IDS)
    done = fnb.stats().since(before)
    return done.launches, done.products


def test_a_frozen_table_costs_neither_the_gradient_of_the_head_nor_the_scatter():
    both, one, none = (work(frozen, eager=False) for frozen in ((), ("wte",), ("wte", "wpe")))
    scatters = [sum("scatter" in name for name in names) for names in (both, one, none)]
    products = [sum("gemm" in name or "product" in name for name in names) for names in (both, one, none)]
    assert scatters[0] > 0 == scatters[1] == scatters[2]
    assert products[0] - 1 == products[1] == products[2]
    assert len(both) > len(one) > len(none)
    launches = [work(frozen, eager=True) for frozen in ((), ("wte",), ("wte", "wpe"))]
    assert launches[0][1] - 1 == launches[1][1] == launches[2][1]
    assert launches[0][0] > launches[1][0] > launches[2][0]


@pytest.mark.parametrize("eager", [False, True])
def test_frozen_parameters_keep_their_bits_and_the_others_learn(eager):
    model = GPT(GPTConfig(**SIZES), seed=2)
    model.wte.freeze(), model.wpe.freeze(), model.h[0].mlp.freeze()
    before = {name: p.numpy().copy() for name, p in model.named_parameters()}
    step = TrainStep(model, AdamW(model.named_parameters(), 1e-2, weight_decay=0.5), eager=eager)
    losses = [float(getattr(step(*IDS)[0], "item", float)()) for _ in range(4)]
    assert losses[-1] < losses[0]
    still = {name for name, p in model.named_parameters() if p.numpy().tobytes() == before[name].tobytes()}
    assert still == {name for name in before if name.startswith(("wte", "wpe", "h.0.mlp"))}
    assert {name.partition("/")[2] for name in step.optimizer.state_dict() if "/" in name} == before.keys() - still
    assert model.state_dict().keys() == before.keys()


def test_a_compiled_step_follows_what_is_frozen_afterwards():
    model = GPT(GPTConfig(**SIZES))
    step = TrainStep(model, AdamW(model.named_parameters(), 1e-2), clip_norm=1.0)
    step(*IDS)
    model.wte.freeze()
    before = model.wte.weight.numpy().tobytes()
    step(*IDS)
    assert model.wte.weight.numpy().tobytes() == before
    model.wte.unfreeze()
    step(*IDS)
    assert model.wte.weight.numpy().tobytes() != before
