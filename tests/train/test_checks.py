"""What the functions given to a trainer return."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError
from forgenb.train import BestCheckpoint, JsonLines, LossPlot, Trainer, TrainingFolder, TrainStep


def run(results=(1.0, 1.0), arrays=(), optimizer=None, **keywords):
    return Trainer(lambda *_: results, lambda step: arrays, steps=1, optimizer=optimizer, **keywords).run()


@pytest.mark.parametrize("arrays", [None, np.zeros(3), 5, ([1, 2],), "ab"])
def test_batches_must_return_arrays(arrays):
    with pytest.raises(ArgumentError, match=r"batches\(0\) must return a tuple of arrays, with which the step is call"):
        run(arrays=arrays)


@pytest.mark.parametrize("results", [None, 1.0, (1.0,), fnb.tensor([1.0, 2.0]), (1, 2, 3)])
def test_a_step_must_return_loss_and_norm(results):
    with pytest.raises(ArgumentError, match="a step must return two numbers, the loss and the norm of all gradients"):
        run(results)


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ((np.zeros(2), 1.0), r"the loss of a step must be one number, got ndarray \(2,\)"),
        ((1.0, None), "the norm of a step must be one number, got NoneType"),
        ((True, 1.0), "the loss of a step must be one number, got bool"),
        (("1", 1.0), "the loss of a step must be one number, got str"),
    ],
)
def test_each_must_be_one_number(results, message):
    with pytest.raises(ArgumentError, match=message):
        run(results)


def test_validate_must_return_one_number():
    with pytest.raises(ArgumentError, match=r"what validate returns must be one number, got Tensor \(2,\)"):
        run(validate=lambda: fnb.tensor([1.0, 2.0]))


@pytest.mark.parametrize("rate", [None, -1.0, float("nan"), float("inf"), True, "1"])
def test_a_schedule_must_return_a_rate(rate):
    sgd = fnb.optim.SGD([fnb.Parameter(fnb.tensor(1.0))], lr=0.1)
    with pytest.raises(ArgumentError, match=r"schedule\(0\) must return a finite rate of at least 0, got"):
        run(optimizer=sgd, schedule=lambda step: rate)
    assert sgd.lr == 0.1


WRONG = [3, 1.5, "x", [1.5], np.ones((2, 2)), b"x", fnb.tensor([1.0, 2.0])]


@pytest.mark.parametrize("wrong", [None, *WRONG])
def test_a_trainer_refuses_wrong_types(wrong):
    for name in ("step", "batches"):
        with pytest.raises(ArgumentError, match="it must be a function or another callable"):
            Trainer(**{"step": print, "batches": print, "steps": 1, name: wrong})
    if wrong is not None:
        with pytest.raises(ArgumentError, match="a Trainer needs world to be a World"):
            Trainer(print, print, steps=1, world=wrong)


@pytest.mark.parametrize("rate", [np.ones((2, 2)), np.ones(1), fnb.tensor([1.0, 2.0])])
def test_a_rate_has_no_dimensions(rate):
    sgd = fnb.optim.SGD([fnb.Parameter(fnb.tensor(1.0))], lr=0.1)
    with pytest.raises(ArgumentError, match="must return a finite rate of at least 0, got"):
        run(optimizer=sgd, schedule=lambda step: rate)


@pytest.mark.parametrize("wrong", [3, 1.5, [1.5], np.ones((2, 2)), b"x", "", "a\0b"])
def test_files_and_folders_are_named_by_text(wrong):
    for made in (BestCheckpoint, JsonLines, TrainingFolder):
        with pytest.raises(ArgumentError, match="needs the name of a file or a folder, as text or a path, got"):
            made(wrong)
    with pytest.raises(ArgumentError, match="a picture is"):
        LossPlot(wrong)


def test_a_folder_whose_name_is_too_long_is_refused(tmp_path):
    folder = TrainingFolder(tmp_path / ("a" * 300))
    with pytest.raises(CheckpointError, match="last.safetensors' cannot be looked at: File name too long"):
        folder.begin(None)


@pytest.mark.parametrize("wrong", [None, 1, "yes", np.ones(2)])
def test_flags_are_true_or_false(wrong):
    for name in ("resume", "write"):
        with pytest.raises(ArgumentError, match=f"needs {name} to be True or False"):
            TrainingFolder("run", **{name: wrong})
    layer = fnb.nn.Linear(2, 1)
    with pytest.raises(ArgumentError, match="needs eager to be True or False"):
        TrainStep(layer, fnb.optim.SGD(layer.parameters(), 0.1), loss=print, eager=wrong)


@pytest.mark.parametrize("eager", [True, False])
def test_a_train_step_needs_something_to_train(eager):
    layer = fnb.nn.Linear(2, 1)
    sgd = fnb.optim.SGD(layer.parameters(), 0.1)
    for model, optimizer in ((None, sgd), (layer, None)):
        with pytest.raises(ArgumentError, match="needs a model and an optimiser, got None"):
            TrainStep(model, optimizer, loss=print)
    for loss in (None, 1.0, np.ones(())):
        with pytest.raises(ArgumentError, match="the loss of a TrainStep must return a tensor, and gave"):
            TrainStep(layer, sgd, loss=lambda x, loss=loss: loss, eager=eager)(np.ones((1, 2), "float32"))


@pytest.mark.parametrize("step", [-1, 1.5, "a", None, True])
def test_batches_are_numbered(step):
    with pytest.raises(ArgumentError, match="Batches gives the batch of a step, a whole number from 0"):
        fnb.data.Batches(np.ones((4, 2)), 2)(step)
