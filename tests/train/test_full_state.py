"""A resumed run has all that a straight one has: moments, steps, schedule, dropout's generator, order of the data.

Each is looked at by itself, and each is then taken away, to show that the run would not be the same without it.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.training import bits

from forgenb.train import CharRun, RunFolder, load_checkpoint

STOP, STEPS = 3, 6


@pytest.fixture
def config(tiny):
    return replace(tiny, steps=STEPS, dropout=0.2, warmup=2, eval_every=100)


def watch(trainer):
    """Take down what each step uses; returns the list, which grows by (bytes of ids, seed of dropout) a step."""
    seen, model, forward = [], trainer.model, trainer.model.forward

    def watched(ids):
        if model.training:
            seen.append((np.array(ids).tobytes(), model.dropout_seed))
        return forward(ids)

    model.forward = watched
    trainer.eager = True
    return seen


@pytest.fixture
def straight(config, tmp_path):
    """A run without a stop: the state of its optimiser after three steps, what its steps used, its reports, its end."""
    trainer = CharRun.start(config, tmp_path / "straight")
    seen, reports, middle = watch(trainer), [], {}
    for report in trainer.steps():
        reports.append(report)
        if report.step == STOP:
            middle = bits(trainer.optimizer.state_dict())
    trainer.close()
    return middle, seen, reports, trainer


@pytest.fixture
def stopped(config, tmp_path):
    """The folder of a run that was stopped after three steps."""
    trainer = CharRun.start(config, tmp_path / "stopped")
    for report in trainer.steps():
        if report.step == STOP:
            trainer.save()
            break
    trainer.close()
    return tmp_path / "stopped"


@pytest.fixture
def resumed(stopped):
    """That run, begun again from its folder."""
    trainer = CharRun.resume(stopped)
    yield trainer
    trainer.close()


def finish(trainer):
    reports = list(trainer.steps())
    return reports, bits(trainer.model.state_dict()), bits(trainer.optimizer.state_dict())


def test_moments_and_steps(straight, resumed):
    middle, _, _, _ = straight
    state = resumed.optimizer.state_dict()
    assert bits(state) == middle
    assert resumed.step == resumed.optimizer.steps == int(state["step"]) == STOP
    names = [name for name, _ in resumed.model.named_parameters()]
    assert all(int(state[f"count/{name}"]) == STOP for name in names)
    assert all(np.any(state[f"{slot}/{name}"]) for slot in "mv" for name in names)


def test_schedule(straight, resumed, config):
    _, _, reports, _ = straight
    rates = [report.lr for report in finish(resumed)[0]]
    assert rates == [report.lr for report in reports[STOP:]] == [config.rate(step) for step in range(STOP, STEPS)]
    assert len(set(rates)) == STEPS - STOP


def test_order_of_the_data_and_generator_of_dropout(straight, resumed):
    _, wanted, _, _ = straight
    seen = watch(resumed)
    list(resumed.steps())
    assert seen == wanted[STOP:]
    assert len({ids for ids, _ in wanted}) == len({seed for _, seed in wanted}) == len(wanted) == STEPS


def test_the_end_is_the_same_bit_for_bit(straight, resumed):
    _, _, reports, trainer = straight
    again, model, optimizer = finish(resumed)
    assert (model, optimizer) == (bits(trainer.model.state_dict()), bits(trainer.optimizer.state_dict()))
    assert [(r.step, r.train_loss, r.val_loss) for r in again] == [
        (r.step, r.train_loss, r.val_loss) for r in reports[STOP:]
    ]
    files = [load_checkpoint(RunFolder.open(t.folder.path).last) for t in (trainer, resumed)]
    assert bits(files[0].model) == bits(files[1].model)
    assert bits(files[0].optimizer) == bits(files[1].optimizer)


def without_moments(trainer):
    state = trainer.optimizer.state_dict()
    trainer.optimizer.load_state_dict({n: np.zeros_like(a) if n[:2] in ("m/", "v/") else a for n, a in state.items()})


def without_counts(trainer):
    state = trainer.optimizer.state_dict()
    trainer.optimizer.load_state_dict({n: np.ones_like(a) if n.startswith("count/") else a for n, a in state.items()})


def without_dropout(trainer):
    model = trainer.model
    model.config = replace(model.config, dropout=0.0)


@pytest.mark.parametrize("change", [without_moments, without_counts, without_dropout])
def test_without_one_of_them_the_end_is_another(straight, resumed, change):
    _, _, _, trainer = straight
    change(resumed)
    _, model, _ = finish(resumed)
    assert model != bits(trainer.model.state_dict())


@pytest.mark.parametrize(
    "change", [{"min_lr": 5e-5}, {"warmup": 9}, {"seed": 4}, {"betas": [0.9, 0.98]}, {"clip": 0.01}]
)
def test_with_another_choice_the_end_is_another(straight, stopped, change):
    """What is not in the checkpoint's tensors comes from the choices alone."""
    _, _, _, trainer = straight
    about = json.loads((stopped / "config.json").read_text())
    about["config"].update(change)
    (stopped / "config.json").write_text(json.dumps(about))
    again = CharRun.resume(stopped)
    _, model, _ = finish(again)
    again.close()
    assert model != bits(trainer.model.state_dict())
