"""Scaling of losses: what a step that is not finite leaves alone, how the scale moves, and training in float16."""

from pathlib import Path

import numpy as np
import pytest
from support.pages import examples

import forgenb as fnb
from forgenb import nn, ops, optim
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.optim import LossScaler

OPTIMIZERS = {
    "adamw": lambda p: optim.AdamW(p, lr=1e-2),
    "momentum": lambda p: optim.SGD(p, lr=1e-1, momentum=0.9),
    "rmsprop": lambda p: optim.RMSprop(p, lr=1e-2),
}


def problem(dtype, kind="adamw", scaler=None, compiled=False, clip_norm=None):
    """A small classifier, its optimiser, and a step that returns the loss."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(32, 8)).astype(dtype)
    y = (x[:, 0] * x[:, 1] > 0).astype("int64")
    first, last = (nn.Linear(*sizes, seed=1, dtype=dtype, name=f"{sizes}") for sizes in ((8, 16), (16, 2)))
    net = nn.Sequential(first, nn.Tanh(), last)
    optimizer = OPTIMIZERS[kind](net.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = ops.cross_entropy(net(x).astype("float32"), y)
        (loss if scaler is None else scaler(loss)).backward()
        norm = optimizer.step(clip_norm, scaler)
        return loss, *(() if norm is None else (norm,))

    run = fnb.compile(step) if compiled else step
    return x, y, optimizer, lambda x, y: run(fnb.tensor(x), fnb.tensor(y))


def everything(optimizer):
    """Bytes of all parameters and of the whole state, and the counts in it."""
    values = {name: p.numpy().tobytes() for name, p in optimizer.params.items()}
    return values | {name: value.tobytes() for name, value in optimizer.state_dict().items()}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("dtype", "kind"), [("float32", k) for k in OPTIMIZERS] + [("float16", "adamw")])
@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_a_step_that_is_not_finite_changes_nothing_but_the_scale(dtype, kind, compiled, wrong):
    scaler = LossScaler(1024.0)
    x, y, optimizer, step = problem(dtype, kind, scaler, compiled)
    step(x, y)
    before, spoilt = everything(optimizer), x.copy()
    spoilt[3, 2] = wrong
    norm = step(spoilt, y)[1]
    assert not np.isfinite(norm.item() if compiled else norm)
    assert everything(optimizer) == before
    assert (optimizer.steps, scaler.scale, scaler.good, scaler.skipped) == (1, 512.0, 0, 1)
    step(x, y)
    assert everything(optimizer) != before
    assert (optimizer.steps, scaler.scale, scaler.good, scaler.skipped) == (2, 512.0, 1, 1)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("clip_norm", [None, 0.05])
def test_scaling_by_powers_of_two_changes_no_bits(clip_norm, compiled):
    found = []
    for scaler in (None, LossScaler(2.0**20, every=2)):
        x, y, optimizer, step = problem("float32", "adamw", scaler, compiled, clip_norm)
        results = [step(x, y)[1:] for _ in range(3)]
        found.append(everything(optimizer))
        if clip_norm is not None:
            norms = [float(norm.item()) if compiled else norm for (norm,) in results]
            assert norms[-1] > clip_norm
            found.append(norms)
    assert found[: len(found) // 2] == found[len(found) // 2 :]


def test_the_scale_grows_after_finite_steps_and_stays_finite():
    scaler = LossScaler(2.0, growth=4.0, every=3)
    scales = []
    for finite in (True, True, True, True, True, False, True, True, True):
        scaler.update(finite)
        scales.append(scaler.scale)
    assert scales == [2, 2, 8, 8, 8, 4, 4, 4, 16]
    largest = LossScaler(2.0**1023, every=1)
    largest.update(True)
    assert largest.scale == 2.0**1023


def test_a_routine_asks_for_the_scale_in_each_run():
    scaler = LossScaler(8.0)
    run = fnb.compile(lambda x: scaler(x.sum()))
    x = np.ones(3, "float32")
    assert run(x).item() == 24.0
    scaler.scale = 2.0
    assert run(x).item() == 6.0
    assert len(run.routines) == 1


def test_a_loss_in_half_precision_is_scaled_in_single():
    loss = fnb.tensor(np.array(3.0, "float16"), requires_grad=True)
    scaled = LossScaler(2.0**15)(loss)
    assert (scaled.dtype.name, scaled.item()) == ("float32", 3 * 2.0**15)
    scaled.backward()
    assert (loss.grad.dtype.name, loss.grad.item()) == ("float16", 2.0**15)


def test_gradients_that_half_precision_cannot_hold_arrive():
    moved = []
    for scaler in (None, LossScaler(2.0**15)):
        p = fnb.Parameter(fnb.tensor(np.ones(3, "float16")))
        loss = (p.astype("float32") * 1e-9).sum()
        (loss if scaler is None else scaler(loss)).backward()
        optim.SGD([p], lr=1e8).step(scaler=scaler)
        moved.append(p.numpy().copy())
    assert moved[0].tolist() == [1, 1, 1]
    np.testing.assert_allclose(moved[1], 0.9, rtol=1e-3)


def test_without_gradients_nothing_is_learnt_about_the_scale():
    scaler, p = LossScaler(), fnb.Parameter(fnb.tensor([1.0]))
    assert optim.SGD([p], lr=0.1).step(scaler=scaler) == 0.0
    assert (scaler.good, scaler.skipped) == (0, 0)


@pytest.mark.parametrize("kind", ["adamw", "momentum"])
def test_training_in_half_precision_comes_near_to_single(kind):
    single = problem("float32", kind)
    wanted = [single[3](*single[:2])[0].item() for _ in range(60)]
    found = []
    for compiled in (False, True):
        scaler = LossScaler(2.0**20, every=20)  # too large at first, so that some steps are skipped
        x, y, optimizer, step = problem("float16", kind, scaler, compiled)
        losses = []
        while optimizer.steps < 60:
            losses.append(step(x, y)[0].item())
        found.append(losses)
        assert 0 < scaler.skipped == len(losses) - 60
    assert found[0] == found[1]
    assert found[0][-1] < 0.5 * wanted[0]
    np.testing.assert_allclose(found[0][-1], wanted[-1], rtol=0.02)  # weights of 11 bits after 60 steps


def test_a_saved_scaler_goes_on():
    scaler = LossScaler(64.0)
    for finite in (False, True):
        scaler.update(finite)
    other = LossScaler()
    other.load_state_dict(scaler.state_dict())
    assert (other.scale, other.good, other.skipped) == (32.0, 1, 1)
    with pytest.raises(CheckpointError, match="needs scale, good and skipped, got scale"):
        other.load_state_dict({"scale": np.array(1.0)})


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", 0.0), ("scale", np.inf), ("growth", 0.5), ("backoff", 1.0), ("backoff", 0.0), ("every", 0)],
)
def test_impossible_scalers_are_refused(name, value):
    with pytest.raises(ArgumentError, match=f"LossScaler needs a finite scale.*{name}={value!r}"):
        LossScaler(**{name: value})


def test_the_recipe_of_the_page_runs():
    page = Path(__file__).resolve().parents[2] / "docs" / "dtypes.md"
    (recipe,) = examples(page.read_text(encoding="utf-8"))
    rng = np.random.default_rng(0)
    data = [(rng.normal(size=(4, 3)).astype("float16"), rng.integers(0, 2, 4)) for _ in range(3)]
    names = {"fnb": fnb, "data": data, "model": nn.Linear(3, 2, dtype="float16")}
    exec(recipe, names)
    assert (names["scaler"].good, names["optimizer"].steps) == (3, 3)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_a_saved_scale_that_is_none_is_refused(scale):
    scaler = LossScaler()
    with pytest.raises(CheckpointError, match="must be finite and above 0"):
        scaler.load_state_dict({"scale": np.array(scale), "good": np.array(0), "skipped": np.array(0)})
    assert scaler.scale == 2.0**15


def test_the_scale_never_shrinks_to_zero():
    scaler = LossScaler(2.0**-120)
    for _ in range(2000):
        scaler.update(False)
    assert np.isfinite(np.float32(scaler.unit()))
    assert np.float32(scaler.scale) > 0
