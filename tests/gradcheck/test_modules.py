"""Modules are checked with their parameters, at values that no initialiser gives, and left as they were."""

import numpy as np
import pytest
from support.wrong_rules import draw, numpy_op

import forgenb as fnb
from forgenb.errors import GradcheckError, TapeError
from forgenb.nn import Module

x = draw(4, 3)


class Scaled(Module):
    """A scale that starts at 1, with a rule to try."""

    def __init__(self, rule):
        self.scale = fnb.Parameter(fnb.tensor(np.ones(3, "float32")))
        self.op = numpy_op(lambda x, g: x * g, rule)

    def forward(self, x):
        return self.op(x, self.scale)


def unchanged(module, before):
    after = module.state_dict()
    assert all(
        np.array_equal(after[name], array) and after[name].dtype == array.dtype for name, array in before.items()
    )
    assert all(type(t) is fnb.Parameter and t.grad is None for t in module.parameters() if t.requires_grad)


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (fnb.nn.Linear(3, 2), (4, 3)),
        (fnb.nn.LayerNorm(3), (4, 3)),
        (fnb.nn.BatchNorm(2), (3, 2, 2, 2)),
        (fnb.nn.BatchNorm(2).eval(), (3, 2, 2, 2)),
    ],
    ids=["Linear", "LayerNorm", "BatchNorm", "BatchNorm.eval"],
)
def test_a_module_is_checked_and_left_as_it_was(module, shape):
    before = module.state_dict()
    assert fnb.gradcheck(module, draw(*shape))
    unchanged(module, before)


def test_a_scale_left_out_is_found_although_it_starts_at_1():
    module = Scaled(lambda d, x, g: (d, (d * x).sum(0)))
    before = module.state_dict()
    with pytest.raises(GradcheckError, match="a factor parameter 'scale' is missing") as caught:
        fnb.gradcheck(module, x)
    assert caught.value.label == "input 0"
    unchanged(module, before)


def test_a_wrong_gradient_of_a_parameter_is_named():
    with pytest.raises(GradcheckError, match="entry .* of parameter 'scale' backward gives") as caught:
        fnb.gradcheck(Scaled(lambda d, x, g: (d * g, 2 * (d * x).sum(0))), x)
    assert (caught.value.label, caught.value.mistake) == ("parameter 'scale'", "factor")


def test_a_frozen_parameter_is_not_checked():
    assert fnb.gradcheck(Scaled(lambda d, x, g: (d * g, 2 * (d * x).sum(0))).freeze(), x)


def test_a_parameter_that_stands_twice_is_one():
    tied = Scaled(lambda d, x, g: (d * g, (d * x).sum(0)))
    tied.inner = Scaled(tied.op)
    tied.inner.scale = tied.scale
    tied.op, inner = (lambda x, g: tied.inner(x) * g), tied.op
    tied.inner.op = inner
    assert fnb.gradcheck(tied, x)


def test_a_method_of_a_module_is_checked_with_its_parameters():
    class Model(Module):
        def __init__(self, wrong=1.0):
            self.inner = Scaled(lambda d, x, g: (d * g, wrong * (d * x).sum(0)))

        def loss(self, x):
            return self.inner(x).sum()

    assert fnb.gradcheck(Model().loss, x)
    with pytest.raises(GradcheckError, match="of parameter 'inner.scale' backward gives"):
        fnb.gradcheck(Model(2.0).loss, x)


def test_the_module_is_put_back_after_an_error():
    module = Scaled(lambda d, x, g: (d * g, (d * x).sum(0)))
    before = module.state_dict()
    module.op = lambda x, g: (x * g).detach()
    with pytest.raises(TapeError, match="no output of the function is tracked"):
        fnb.gradcheck(module, x)
    unchanged(module, before)
