"""What belongs to the rule of an op."""

import pytest

from forgenb.ops import TABLE
from forgenb.testing.mutation.rules import rule_of


@pytest.mark.parametrize(
    ("op", "parts", "gradients", "borrowed"),
    [
        ("mul", {"mul.backward"}, (), ()),
        ("max", {"_differentiable.backward"}, (), ()),
        ("std", {"std.backward", "_per_root"}, (), ()),
        ("gelu", {"gelu.backward", "gelu_grad", "gelu_grad_kernel"}, ("gelu_grad",), ()),
        ("tanh_grad", {"tanh_grad.backward"}, (), ()),
        ("astype", {"astype.backward"}, (), ()),
        ("mse_loss", set(), (), ("mul", "square", "sub", "sum")),
        ("rmsnorm_grad", {"rmsnorm_grad.steps"}, (), ()),
        ("equal", set(), (), ()),
    ],
)
def test_a_rule(op, parts, gradients, borrowed):
    rule = rule_of(op)
    assert {part.name for part in rule.parts} == parts
    assert (rule.gradients, rule.borrowed) == (gradients, borrowed)


def test_a_part_is_the_code_that_runs():
    (part,) = rule_of("neg").parts
    assert part.function is TABLE["neg"].function
    assert part.path == part.function.__code__.co_filename
    assert part.node.name == "backward"
