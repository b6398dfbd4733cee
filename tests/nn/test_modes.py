"""A mode for a while."""

from forgenb.nn import Dropout, Sequential, Tanh
from forgenb.nn.modes import evaluating, in_mode
from forgenb.tape import is_recording


def test_every_module_gets_its_own_mode_back():
    model = Sequential(Tanh(), Dropout(0.5))
    inner = list(model.modules())[-1]
    inner.training = False
    with evaluating(model):
        assert not any(module.training for module in model.modules())
        assert not is_recording()
    assert (model.training, inner.training) == (True, False)


def test_training_for_a_while():
    model = Tanh().eval()
    with in_mode(model, training=True):
        assert model.training
        assert is_recording()
    assert not model.training


def test_what_is_no_module_is_left_alone():
    with evaluating(len):
        assert not is_recording()
