"""Every line of every kernel body and helper runs on the python backend."""

import numpy as np
import pytest
from support.lines import Lines, functions_of

import forgenb as fnb
from forgenb.backend import seam
from forgenb.ops import TABLE
from forgenb.ops.copying import filled
from forgenb.testing.declared import all_kernels
from forgenb.testing.samples import call, cotangent, samples

NAMES = sorted(TABLE)
FORWARD = [name for name in NAMES if not TABLE[name].in_place]


def run_table(name, dtype):
    for sample in (s.cast(dtype) for s in samples(name)):
        inputs = [fnb.tensor(a) for a in sample.arrays]
        for place in TABLE[name].differentiable if name in FORWARD else ():
            if place < len(inputs) and inputs[place].dtype.kind == "f":
                inputs[place].requires_grad = True
        for out in call(name, inputs, sample):
            if out.requires_grad:
                out.backward(cotangent(out), retain_graph=True)


def run_integers():
    x = fnb.tensor([-3, 2, 0])
    assert abs(x).tolist() == [3, 2, 0]
    assert (x**5).tolist() == [-243, 32, 0]
    assert x.sign().tolist() == [-1, 1, 0]


def run_far_angles():
    """Beyond 2**20 and 2**40 an angle is reduced with more digits of pi."""
    for dtype in ("float32", "float64"):
        x = fnb.tensor(np.array([1.0, 1e30], dtype))
        for name in ("sin", "cos", "tan"):
            wanted = getattr(np, name)(x.numpy().astype(np.longdouble))
            np.testing.assert_allclose(getattr(x, name)().numpy(), wanted, rtol=1e-6)


def run_optimisers():
    makers = (
        lambda p: fnb.optim.SGD(p, 0.1),
        lambda p: fnb.optim.SGD(p, 0.1, momentum=0.9),
        lambda p: fnb.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
        lambda p: fnb.optim.RMSprop(p, 0.1),
        lambda p: fnb.optim.Adam(p, 0.1),
        lambda p: fnb.optim.AdamW(p, 0.1),
    )
    for make in makers:
        p = fnb.Parameter(fnb.tensor([1.0, -2.0]))
        optimiser = make([p])
        for _ in range(2):
            optimiser.zero_grad()
            (p * p).sum().backward()
            optimiser.step(clip_norm=1.0)
        assert abs(p.numpy()[0]) < 1


def run_statistics_and_slopes():
    """Running statistics, and a pool's second derivative."""
    x, ones = fnb.tensor(np.arange(6.0).reshape(3, 2)), fnb.tensor(np.ones(2))
    running = fnb.tensor(np.zeros(2)), fnb.tensor(np.ones(2))
    fnb.ops.batchnorm(x, ones, ones, running=running)
    assert running[0].tolist() == pytest.approx([0.2, 0.3])
    plane = fnb.tensor(np.arange(4.0).reshape(1, 1, 2, 2))
    slope = fnb.grad(lambda t: (fnb.grad(lambda u: (fnb.ops.max_pool2d(u, 2) ** 2).sum())(t) * t).sum())(plane)
    assert slope.numpy().ravel().tolist() == [0.0, 0.0, 0.0, 12.0]


def run_product_into():
    a, out = fnb.tensor([[2.0]]), fnb.tensor([[5.0]])
    places, steps = (a.address, a.address, out.address, 0), ((1, 1, 1), (0,) * 6)
    seam.gemm(a.backend, "float32", (1, 1, 1), (False, False), (1.0, 10.0), places, steps, (1, 1))
    assert out.item() == 54.0


def run_numbers():
    """Constants made on a device, and numbers that are known before each run."""
    x = fnb.tensor([1.0, 2.0])
    assert filled((2,), 3.0, x.dtype, x.backend).tolist() == [3, 3]
    step = fnb.compile(lambda x: x * fnb.routine.late(lambda: 2.0))
    assert step(np.ones(2, "float32")).tolist() == [2, 2]


def run_weights():
    """Weights of rows of a cache that are not seen."""
    row, cache = fnb.tensor([[0.0, 1.0, 2.0]]), fnb.tensor(np.ones((1, 2, 1), "float32"))
    assert fnb.ops.cached_attention(row, cache, cache, [0], weights=True)[1].tolist() == [[[1, 0]]]


def test_every_line_of_every_body_runs():
    lines = Lines(functions_of(all_kernels().values()))
    assert len(lines.missing) > 300
    with fnb.use("python"), lines:
        for name in NAMES:
            for dtype in ("float32", "float64"):
                run_table(name, dtype)
        run_integers()
        run_far_angles()
        run_optimisers()
        run_statistics_and_slopes()
        run_product_into()
        run_numbers()
        run_weights()
    missing = sorted(f"{file}:{line} in {name}" for (file, line), name in lines.missing.items())
    assert missing == []


def test_lines_that_do_not_run_are_named():
    lines = Lines(functions_of(all_kernels().values()))
    with fnb.use("python"), lines:
        fnb.ops.gelu(fnb.tensor([1.0]))
    missing = set(lines.missing.values())
    assert "gelu_kernel" not in missing
    assert {"gelu_grad_kernel", "exp_float64"} <= missing
