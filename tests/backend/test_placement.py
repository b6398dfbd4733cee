"""Where tensors live: ops follow their operands, mixing is refused, `to` is on the tape."""

import numpy as np
import pytest
from support.rows import NAMES, call, cast, samples

import forgenb as fnb
from forgenb.ops import TABLE

CPU = fnb.backend.get_backend("cpu")


@pytest.fixture
def idle_cpu(monkeypatch):
    """The default backend stays cpu, and nothing may happen there."""

    def refuse(*arguments):
        raise AssertionError("something was created on the default backend")

    monkeypatch.setattr(CPU, "allocate", refuse, raising=True)


@pytest.mark.usefixtures("idle_cpu")
@pytest.mark.parametrize("name", NAMES)
def test_an_op_stays_on_the_backend_of_its_operands(name):
    for arrays, keywords in samples(name)[:3]:
        inputs = [fnb.tensor(a, backend="python") for a in cast(arrays, "float32")]
        for place in TABLE[name].differentiable:
            if place < len(inputs) and inputs[place].dtype.kind == "f":
                inputs[place].requires_grad = True
        outputs = call(name, inputs, keywords)
        assert {t.backend.name for t in outputs} <= {"python"}
        for t in outputs:
            if t.requires_grad:
                t.backward(fnb.tensor(cotangent_values(t), backend="python"), retain_graph=True)
        assert {t.grad.backend.name for t in inputs if t.grad is not None} <= {"python"}


def cotangent_values(t):
    return np.ones(t.shape, t.dtype)
