"""The bases of callbacks."""

import pytest

from forgenb.train import Callback, TrainingFolder
from forgenb.train.loop.callback import Observer


def test_a_callback_does_nothing(small, curve):
    assert curve(small().trainer(callbacks=[Callback()]).run()) == curve(small().trainer().run())


class Seen(Observer):
    def __init__(self):
        self.steps = ["never"]

    def forget(self):
        self.steps = []

    def see(self, report):
        self.steps.append(report.step)


def test_an_observer_sees_each_step_once(small, tmp_path):
    seen = Seen()
    first = small().trainer(folder=tmp_path, callbacks=[seen])
    for report in first.steps():
        if report.step == 4:
            break
    assert seen.steps == [1, 2, 3, 4]
    first.save()
    first.run()
    assert seen.steps == [1, 2, 3, 4, 5, 6, 7]
    second = small().trainer(9, folder=TrainingFolder(tmp_path, resume=True), callbacks=[seen])
    second.run()
    assert seen.steps == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_an_observer_must_say_what_it_does(small):
    class Blind(Observer):
        def forget(self):
            pass

    for kind, method in ((Observer, "forget"), (Blind, "see")):
        with pytest.raises(NotImplementedError, match=f"{kind.__name__} defines no {method}"):
            small().trainer(callbacks=[kind()]).run()
