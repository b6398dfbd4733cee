"""One tangled expression, as micrograd's tests have it: values used again and again, names bound anew, every operator.

The numbers are PyTorch 2.13's in float64; where PyTorch is installed it computes them anew.
"""

import importlib.util

import numpy as np
import pytest
from support.leaves import leaf

import forgenb as fnb

X = [[0.3, -1.2, 0.8], [-0.5, 0.9, 1.7]]
Y = [1.1, -0.4, 0.6]
W = [[0.2, -0.7], [1.3, 0.4], [-0.9, 0.5]]


def tangled(x, y, w, tanh, relu, exp):
    """A number of two matrices and a vector; the functions are those of one library or the other."""
    a = tanh(x * y + x)
    b = a * a + relu(y - 0.5 * x)
    b = b + b + 1
    c = (a + b) / (1.5 + b**2)
    b = b - c * -a
    d = -(b @ w)
    d = d + relu(d.T).T * 2 + 0.5 * relu(b[:, :2] - d)
    e = d - c[:, 1:] * d.sum(0)
    e = e + 3 / (e**2 + 1.0)
    f = (e**2).mean() + exp(-e * 0.1).sum(1)[-1] * c[0, ::2].sum()
    return f / 2.0 + 10.0 / (2 + exp(f * -0.01)) + (y * 2.0 - 1).sum() ** 3


FOUND = 7.382346911013821
DX = [
    [3.7706770596514554, 0.5664328688180819, -0.7501910490364769],
    [3.212389561652669, 0.21846468323541182, 0.08469129362426966],
]
DY = [1.963685702267123, 0.15483128721695366, -0.30501022110617043]
DW = [
    [0.5337993389878019, -2.0377646159886615],
    [0.3391811967594595, -2.2917464323569816],
    [0.5083810254187027, -2.878504535390015],
]


def check(x, y, w, out):
    """Value and gradients, as nested lists, against the stored ones."""
    assert out.item() == pytest.approx(FOUND, rel=1e-13)
    for t, wanted in ((x, DX), (y, DY), (w, DW)):
        np.testing.assert_allclose(t.grad.tolist(), wanted, rtol=1e-12)


@pytest.mark.usefixtures("each_backend")
def test_forgenb():
    x, y, w = leaf(X), leaf(Y), leaf(W)
    out = tangled(x, y, w, fnb.ops.tanh, fnb.ops.relu, fnb.ops.exp)
    out.backward()
    check(x, y, w, out)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is in the extra bench")
def test_pytorch():
    import torch

    x, y, w = (torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (X, Y, W))
    out = tangled(x, y, w, torch.tanh, torch.relu, torch.exp)
    out.backward()
    check(x, y, w, out)
