"""The training loop, with any model and any step."""

import math

import numpy as np
import pytest
from support import ranks

import forgenb as fnb
from forgenb.backend import Stream
from forgenb.errors import ArgumentError, BackendError
from forgenb.train import Callback, DivergedError, ShardedStep, Trainer, TrainingFolder


def plain(step=lambda: (1.0, 1.0), batches=lambda step: (), steps=4, **keywords):
    """A trainer of no model."""
    return Trainer(step, batches, steps=steps, **keywords)


def test_it_trains_and_reports(small, curve):
    s = small()
    trainer = s.trainer()
    reports = list(trainer.steps())
    assert [r.step for r in reports] == [1, 2, 3, 4, 5, 6, 7]
    assert [r.val_loss is None for r in reports] == [True, False, True, False, True, False, False]
    assert trainer.best_val == min(r.val_loss for r in reports if r.val_loss is not None)
    assert all(r.tokens_per_s > 0 for r in reports)
    assert reports[-1].seconds == trainer.seconds > reports[0].seconds
    assert {r.lr for r in reports} == {0.02}
    assert (trainer.step, trainer.total, trainer.stopped) == (7, 7, None)
    assert trainer.run() == []


def test_run_is_the_list_of_steps(small, curve):
    assert curve(small().trainer().run()) == curve(small().trainer().steps())


def test_one_routine_and_op_by_op_give_the_same_bits(small, curve):
    eager, compiled = small(), small()
    first = curve(eager.trainer().run())
    assert curve(compiled.trainer(step=compiled.step(clip_norm=1.0)).run()) == first
    assert eager.state() == compiled.state()


def test_what_a_step_is_given(small):
    s, seen = small(), []

    def step(x, y):
        seen.append((s.model.training, s.optimizer.lr, s.model[2].seed, x))
        return 1.0, 1.0

    trainer = s.trainer(4, step, model=s.model, optimizer=s.optimizer, schedule=lambda step: 0.1 * step)
    s.model.eval()
    assert [r.lr for r in trainer.steps()] == [0.1 * n for n in range(4)]
    assert [training for training, *_ in seen] == [True] * 4
    assert [lr for _, lr, *_ in seen] == [0.1 * n for n in range(4)]
    assert len({seed for *_, seed, _ in seen}) == 4
    assert all(np.array_equal(x, s.batches(n)[0]) for n, (*_, x) in enumerate(seen))


def test_validation_is_done_in_evaluation_mode_with_nothing_recorded(small):
    s, seen = small(), []

    def validate():
        seen.append((s.model.training, s.loss(*s.held_out).requires_grad))
        return fnb.tensor(2.0)

    assert [r.val_loss for r in s.trainer(4, validate=validate).steps()] == [None, 2.0, None, 2.0]
    assert seen == [(False, False)] * 2
    assert s.model.training


def test_the_seed_is_that_of_the_masks(small, curve):
    first, other = (curve(small().trainer(3, seed=seed).run()) for seed in (1, 2))
    assert [row[1] for row in first] != [row[1] for row in other]


@pytest.mark.parametrize("own", [None, "pass"])
def test_the_rule_of_the_masks(small, curve, own):
    """A trainer's own, or that of its step: seeds are then 1000 times the number of the step, whatever the seed is."""

    def made(seed, rule):
        it, seen = small(), []
        step = it.step(eager=True)

        def noted(*arrays):
            seen.append(it.model[2].seed)
            return step(*arrays)

        noted.model, noted.optimizer = it.model, it.optimizer
        if own is not None:
            noted.seed_rule = rule
        trainer = it.trainer(steps=3, step=noted, seed=seed, **({"seed_rule": rule} if own is None else {}))
        return curve(trainer.run()), seen

    first, seeds = made(1, "pass")
    assert seeds == [0, 1000, 2000]
    assert made(2, "pass")[0] == first != made(1, "step")[0]


def test_any_step_without_model_and_optimiser():
    losses = iter([3.0, 2.0, 1.0, 0.5])
    trainer = plain(lambda x: (np.float32(next(losses)), fnb.tensor(1.0)), lambda step: [np.zeros(2)])
    assert [(r.train_loss, r.lr) for r in trainer.steps()] == [(3.0, None), (2.0, None), (1.0, None), (0.5, None)]


def test_without_arrays_no_targets_are_counted():
    assert [r.tokens_per_s for r in plain(steps=1).steps()] == [0.0]


def test_targets_are_counted_in_the_last_array(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    (report,) = plain(lambda x, y: (1.0, 1.0), lambda step: (np.zeros((2, 9)), np.zeros((2, 3))), 1).run()
    assert report.tokens_per_s == 6.0


def test_arrays_go_where_the_model_is(small):
    s = small()
    s.model.to("python")
    x, y = s.batches(0)
    (report,) = s.trainer(1, s.step()).run()
    assert math.isfinite(report.val_loss)
    with pytest.raises(BackendError, match="python"):
        s.step()(x, y)


class Classifier(fnb.nn.Module):
    def __init__(self, layers):
        self.layers = layers

    def loss(self, x, y):
        return fnb.ops.cross_entropy(self.layers(x), y)


def test_a_step_over_streams_takes_the_place_of_the_usual_one(small):
    s, other = small(), small()
    wanted = s.trainer(4, s.step(clip_norm=1.0)).run()
    streams = [Stream(), Stream()]
    try:
        step = ShardedStep(Classifier(other.model), other.optimizer, 1.0, streams)
        found = other.trainer(4, step).run()
    finally:
        for stream in streams:
            stream.close()
    assert [r.train_loss for r in found] == pytest.approx([r.train_loss for r in wanted], rel=1e-5)
    assert [r.val_loss for r in found[1::2]] == pytest.approx([r.val_loss for r in wanted[1::2]], rel=1e-5)


def test_processes_that_train_together_share_a_folder():
    alone, found = (ranks.run(count, "trained")[0] for count in (1, 2))
    assert found["files"] == alone["files"] == ["last.safetensors", "metrics.jsonl"]
    assert found["done"] == alone["done"] == 2
    assert np.array(found["losses"]) == pytest.approx(np.array(alone["losses"]), rel=1e-5)
    assert len(found["losses"]) == 4


class Recorder(Callback):
    """Writes down what it is told."""

    def __init__(self, name, calls, at=()):
        self.name, self.calls, self.at = name, calls, at

    def note(self, what, step=None):
        self.calls.append((self.name, what) if step is None else (self.name, what, step))
        if (what, step) == self.at:
            raise RuntimeError(f"{self.name} at {step}")

    def on_start(self, trainer):
        self.note("start", trainer.step)

    def on_batch(self, report):
        self.note("batch", report.step)

    def on_validation(self, report):
        assert report.val_loss is not None
        self.note("validation", report.step)

    def on_epoch(self, report):
        self.note("epoch", report.step)

    def on_end(self):
        self.note("end")


def test_callbacks_are_called_in_order(small):
    calls = []
    trainer = small().trainer(3, callbacks=[Recorder("a", calls), Recorder("b", calls)], eval_every=2)
    trainer.run()
    a = [call[1:] for call in calls if call[0] == "a"]
    assert a == [
        ("start", 0),
        ("batch", 1),
        ("batch", 2),
        ("validation", 2),
        ("batch", 3),
        ("validation", 3),
        ("epoch", 3),
        ("end",),
    ]
    assert [call[0] for call in calls] == ["a", "b"] * len(a)


@pytest.mark.parametrize("given", [None, 2])
def test_steps_of_an_epoch(small, given):
    calls = []
    trainer = small().trainer(6, callbacks=[Recorder("a", calls)], steps_per_epoch=given, eval_every=None)
    assert trainer.eval_every == trainer.steps_per_epoch == (given or 3)
    trainer.run()
    assert [call[2] for call in calls if call[1] == "epoch"] == ([2, 4, 6] if given else [3, 6])


def test_without_epochs_it_validates_at_the_end():
    assert [r.val_loss for r in plain(validate=lambda: 5).steps()] == [None, None, None, 5.0]


def test_all_that_were_started_are_ended(small):
    calls = []
    callbacks = [Recorder("a", calls), Recorder("b", calls, ("start", 0)), Recorder("c", calls)]
    with pytest.raises(RuntimeError, match="b at 0"):
        small().trainer(callbacks=callbacks).run()
    assert calls == [("a", "start", 0), ("b", "start", 0), ("a", "end"), ("b", "end")]


def test_an_error_at_the_end_keeps_no_other_from_ending(small):
    calls = []
    with pytest.raises(RuntimeError, match="a at None"):
        small().trainer(1, callbacks=[Recorder("a", calls, ("end", None)), Recorder("b", calls)]).run()
    assert calls[-2:] == [("a", "end"), ("b", "end")]


def test_leaving_the_loop_ends_the_callbacks(small):
    calls = []
    trainer = small().trainer(callbacks=[Recorder("a", calls)])
    for _ in trainer.steps():
        break
    assert calls == [("a", "start", 0), ("a", "batch", 1), ("a", "end")]
    assert len(trainer.run()) == 6


@pytest.mark.parametrize("at", [("batch", 3), ("batch", 4), ("validation", 4), ("epoch", 3)])
def test_an_error_in_a_callback_leaves_what_resumes_with_the_same_bits(small, curve, tmp_path, at):
    whole = small()
    wanted = curve(whole.trainer(folder=tmp_path / "whole").run())
    broken = small().trainer(folder=tmp_path / "run", callbacks=[Recorder("a", [], at)])
    with pytest.raises(RuntimeError, match=f"a at {at[1]}"):
        broken.run()
    s = small()
    trainer = s.trainer(folder=TrainingFolder(tmp_path / "run", resume=True))
    assert trainer.step == 2
    trainer.run()
    assert s.state() == whole.state()
    assert curve(trainer.history()) == wanted


class StopAt(Callback):
    def __init__(self, step):
        self.step = step

    def on_start(self, trainer):
        self.trainer = trainer

    def on_batch(self, report):
        if report.step == self.step:
            self.trainer.stop("that is enough")


def test_a_callback_stops_and_what_is_done_is_saved(small, tmp_path):
    trainer = small().trainer(folder=tmp_path, callbacks=[StopAt(3)])
    assert [r.step for r in trainer.steps()] == [1, 2, 3]
    assert trainer.stopped == "that is enough"
    assert small().trainer(folder=TrainingFolder(tmp_path, resume=True)).step == 3


def test_the_loop_itself_may_stop(small, tmp_path):
    trainer = small().trainer(folder=tmp_path)
    for report in trainer.steps():
        if report.step == 3:
            trainer.stop("by hand")
    assert (trainer.step, trainer.stopped) == (3, "by hand")
    resumed = small().trainer(folder=TrainingFolder(tmp_path, resume=True))
    assert [r.step for r in resumed.steps()] == [4, 5, 6, 7]
    assert resumed.stopped is None


@pytest.mark.parametrize("reason", [None, "", 3])
def test_stopping_needs_a_reason(reason):
    with pytest.raises(ArgumentError, match="stop needs to be told why, in words, got"):
        plain().stop(reason)


@pytest.mark.parametrize(
    ("results", "what"),
    [((math.nan, 1.0), "loss became nan"), ((1.0, math.inf), "gradient norm became inf")],
)
def test_what_is_no_finite_number_stops(small, tmp_path, results, what):
    s = small()
    trainer = s.trainer(4, lambda *_: results, model=s.model, optimizer=s.optimizer, folder=tmp_path)
    with pytest.raises(DivergedError, match=rf"The {what} at step 1 of 4, so .*last.safetensors' holds the last good"):
        trainer.run()
    assert trainer.step == 0
    with pytest.raises(DivergedError, match=f"{what} at step 1 of 4, so training stopped: try a smaller learning rate"):
        plain(lambda: results).run()


def test_a_validation_loss_that_is_no_finite_number_stops():
    with pytest.raises(DivergedError, match="The validation loss became nan at step 2 of 4"):
        plain(validate=lambda: math.nan, eval_every=2).run()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"step": 3}, "a Trainer got step=3: it must be a function or another callable"),
        ({"step": None}, "a Trainer got step=None: it must be a function"),
        ({"batches": (1, 2)}, r"a Trainer got batches=\(1, 2\): it must be a function"),
        ({"schedule": 0.1}, "a Trainer got schedule=0.1: it must be"),
        ({"validate": 0.1}, "a Trainer got validate=0.1: it must be"),
        ({"steps": 0}, "a Trainer got steps=0: it must be a whole number of at least 1"),
        ({"steps": 2.0}, "steps=2.0: it must be a whole number"),
        ({"eval_every": True}, "eval_every=True: it must be a whole number"),
        ({"steps_per_epoch": 0}, "steps_per_epoch=0: it must be a whole number"),
        ({"model": print}, "must be a fnb.nn.Module, got builtin_function_or_method"),
        ({"optimizer": 3}, "must be one of fnb.optim or like them, got int without lr, state_dict, load_state_dict"),
        ({"seed": -1}, "seed=-1: it must be a whole number of at least 0"),
        ({"callbacks": [print]}, "callbacks as a list of objects of subclasses of fnb.train.Callback, got <built-in"),
        ({"callbacks": Callback()}, "callbacks as a list"),
        ({"schedule": lambda step: 0.1}, "a schedule sets an optimiser's rate: give the trainer optimizer="),
        ({"folder": "run"}, "a folder keeps the state of a model and an optimiser"),
        ({"eval_every": 2}, "eval_every= says when to validate and save: give validate= or folder= too"),
    ],
)
def test_arguments_are_checked(keywords, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=message):
        plain(**keywords)
    assert list(tmp_path.iterdir()) == []
