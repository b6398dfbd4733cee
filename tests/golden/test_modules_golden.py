"""Layers and losses against what PyTorch computed: outputs, gradients, running statistics; eager and in a routine."""

from pathlib import Path

import numpy as np
import pytest
from support.torch_names import theirs

import forgenb as fnb
from forgenb import nn

MAKE = {
    "conv2d": lambda: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 2), (1, 2), 2, dtype="float64"),
    "conv1d": lambda: nn.Conv1d(3, 4, 3, 2, 1, dtype="float64"),
    "max_pool": lambda: nn.MaxPool2d(3, 2, 1),
    "avg_pool": lambda: nn.AvgPool2d((3, 2), (2, 1), (1, 0)),
    "group_norm": lambda: nn.GroupNorm(2, 6, dtype="float64"),
    "layer_norm": lambda: nn.LayerNorm((4, 3), dtype="float64"),
    "rms_norm": lambda: nn.RMSNorm(6, dtype="float64"),
    "rnn": lambda: nn.RNN(3, 5, 2, dtype="float64"),
    "lstm": lambda: nn.LSTM(3, 5, 2, dtype="float64"),
    "gru": lambda: nn.GRU(3, 5, 2, dtype="float64"),
    "attention": lambda: nn.MultiHeadAttention(8, 2, causal=True, dtype="float64"),
    "batch_norm": lambda: nn.BatchNorm(3, dtype="float64"),
}


@pytest.fixture(scope="module")
def golden():
    with np.load(Path(__file__).with_name("modules.npz")) as file:
        return dict(file)


def under(arrays, prefix):
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}


def loaded(golden, name):
    layer = MAKE[name]()
    params = under(golden, f"{name}/param/")
    state = layer.state_dict()
    layer.load_state_dict(state | {own: theirs(params, own) for own, _ in layer.named_parameters()})
    return layer


def outputs_of(name, layer, inputs):
    if name == "lstm":
        out, state = layer(inputs[0], tuple(inputs[1:]))
        return [out, *state]
    found = layer(*inputs)
    return list(found) if isinstance(found, tuple) else [found]


def weighted(outputs):
    total = 0.0
    for out in outputs:
        weights = np.cos(np.arange(out.size, dtype="float64")).reshape(out.shape)
        total = total + (out * fnb.tensor(weights)).sum()
    return total


def close(found, wanted):
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", MAKE)
def test_outputs_and_gradients(golden, name):
    layer, arrays = loaded(golden, name), under(golden, f"{name}/")
    places = [f"{i or ''}" for i in range(3) if f"x{i or ''}" in arrays]
    inputs = [fnb.tensor(arrays[f"x{place}"], requires_grad=True) for place in places]
    outputs = outputs_of(name, layer, inputs)
    for i, out in enumerate(outputs):
        close(out, arrays[f"out{i or ''}"])
    weighted(outputs).backward()
    for place, t in zip(places, inputs, strict=True):
        close(t.grad, arrays[f"dx{place}"])
    for own, p in layer.named_parameters():
        close(p.grad, theirs(under(arrays, "grad/"), own))


@pytest.mark.parametrize("name", MAKE)
def test_a_routine_has_the_bits_of_eager_steps(golden, name):
    arrays = under(golden, f"{name}/")
    values = [arrays[f"x{i or ''}"] for i in range(3) if f"x{i or ''}" in arrays]

    def step(layer, gain, inputs):
        layer.zero_grad()
        gain.grad = None
        loss = weighted(outputs_of(name, layer, [gain * t for t in inputs]))
        loss.backward()
        return [loss, gain.grad, *(p.grad for p in layer.parameters())]

    eager, recorded = loaded(golden, name), loaded(golden, name)
    gains = [fnb.Parameter(fnb.tensor(1.0, dtype="float64")) for _ in range(2)]
    compiled = fnb.compile(lambda *inputs: step(recorded, gains[0], inputs))
    for _ in range(3):
        wanted = [t.numpy().tobytes() for t in step(eager, gains[1], [fnb.tensor(v) for v in values])]
        assert [t.numpy().tobytes() for t in compiled(*map(fnb.tensor, values))] == wanted
    for (_, ours), (_, other) in zip(eager.named_buffers(), recorded.named_buffers(), strict=True):
        assert ours.numpy().tobytes() == other.numpy().tobytes()


def test_running_statistics_and_evaluation(golden):
    layer, arrays = loaded(golden, "batch_norm"), under(golden, "batch_norm/")
    x = fnb.tensor(arrays["x"])
    layer(x)
    layer(x * 2.0 + 1.0)
    close(layer.running_mean, arrays["running_mean"])
    close(layer.running_var, arrays["running_var"])
    close(layer.eval()(x), arrays["evaluated"])


def test_losses(golden):
    targets, y, probs = golden["loss/targets"], golden["loss/y"], golden["loss/probs"]
    modules = {
        "smoothed": (nn.CrossEntropyLoss(0.2, ignore_index=0), targets),
        "nll": (nn.NLLLoss(ignore_index=0), targets),
        "mse": (nn.MSELoss(), y),
        "l1": (nn.L1Loss(), y),
        "huber": (nn.HuberLoss(0.4), y),
        "kl": (nn.KLDivLoss(), probs),
    }
    for name, (module, other) in modules.items():
        arrays = under(golden, f"loss/{name}/")
        x = fnb.tensor(arrays["x"], requires_grad=True)
        loss = module(x, fnb.tensor(other))
        close(loss, arrays["out"])
        loss.backward()
        close(x.grad, arrays["dx"])
