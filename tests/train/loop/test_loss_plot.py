"""The losses of a training as a picture."""

import sys

import pytest

from forgenb.errors import ArgumentError
from forgenb.train import LossPlot, TrainingFolder
from forgenb.train.loop import loss_plot


def test_it_keeps_the_losses_of_all_steps_and_draws_them(small, tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    before, had_pyplot = dict(matplotlib.rcParams), "matplotlib.pyplot" in sys.modules
    first = small().trainer(folder=tmp_path / "run")
    for report in first.steps():
        if report.step == 3:
            first.stop("for now")
    path = tmp_path / "losses.svg"
    plot = LossPlot(path)
    second = small().trainer(folder=TrainingFolder(tmp_path / "run", resume=True), callbacks=[plot])
    seen = [path.exists() for _ in second.steps()]
    assert seen == [True, True, True, True]
    reports = second.history()
    assert list(zip(plot.steps, plot.losses)) == [(r.step, r.train_loss) for r in reports]
    wanted = [(r.step, r.val_loss) for r in reports if r.val_loss is not None]
    assert list(zip(plot.val_steps, plot.val_losses)) == wanted
    text = path.read_text()
    assert [word for word in ("training", "validation", "step", "loss") if f">{word}<" not in text] == []
    assert dict(matplotlib.rcParams) == before
    assert ("matplotlib.pyplot" in sys.modules) is had_pyplot


def test_it_draws_at_each_validation_and_at_the_end(small, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    drawn = []
    plot = LossPlot(tmp_path / "losses.png")
    monkeypatch.setattr(loss_plot, "write_figure", lambda figure, path: drawn.append((len(plot.steps), path)))
    small().trainer(4, callbacks=[plot]).run()
    assert [count for count, _ in drawn] == [2, 4, 4]
    assert {path for _, path in drawn} == {str(tmp_path / "losses.png")}
    drawn.clear()
    small().trainer(2, callbacks=[plot], validate=None, eval_every=None).run()
    assert [count for count, _ in drawn] == [2]


def test_nothing_seen_is_not_drawn(small, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    trainer = small().trainer(callbacks=[LossPlot(tmp_path / "losses.png")])
    trainer.step = trainer.total
    assert trainer.run() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("losses.txt", "written as .svg, .png, .pdf, got"),
        ("none/losses.svg", "not a file in a folder that is there"),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match=message):
        LossPlot(name)


def test_without_matplotlib_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ArgumentError, match="a picture needs matplotlib.*pip install matplotlib"):
        LossPlot(tmp_path / "losses.svg")
