"""A step whose batch is shared out over streams: the numbers of the whole batch."""

import threading

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn, optim
from forgenb.backend import Stream
from forgenb.errors import ArgumentError, DTypeError
from forgenb.models import GPT, GPTConfig
from forgenb.train import ShardedStep, shares

IDS = np.random.default_rng(0).integers(0, 11, (4, 5, 9))


@pytest.fixture
def streams():
    made = [Stream() for _ in range(4)]
    yield made
    [stream.close() for stream in made]


def trained(make, steps=4, dropout=0.0, clip=0.5):
    """Losses, norms and parameters after some steps of `make(model, optimizer, clip)`."""
    model = GPT(GPTConfig(11, 8, 2, 2, 8, dropout), seed=3)
    optimizer = optim.AdamW(model.named_parameters(), lr=1e-2)
    step, seen = make(model, optimizer, clip), []
    for number in range(steps):
        model.dropout_seed = number
        ids = IDS[number % 4]
        loss, norm = step(ids[:, :-1], ids[:, 1:])
        seen.append((loss.item(), norm.item()))
    return np.array(seen), [p.numpy().copy() for _, p in model.named_parameters()]


def whole(model, optimizer, clip):
    def step(inputs, targets):
        optimizer.zero_grad()
        loss = model.loss(inputs, targets)
        loss.backward()
        return loss, optimizer.step(clip_norm=clip)

    return fnb.compile(step)


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_one_stream_has_the_bits_of_the_compiled_step(streams, dropout):
    wanted, params = trained(whole, dropout=dropout)
    found, mine = trained(lambda *a: ShardedStep(*a, streams[:1]), dropout=dropout)
    np.testing.assert_array_equal(found, wanted)
    for a, b in zip(mine, params, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("count", [2, 3])
def test_uneven_shares_have_the_loss_gradient_and_masks_of_the_whole_batch(streams, count):
    """5 samples over 2 and 3 streams, with dropout: masks follow a sample's place in the batch."""
    wanted, _ = trained(whole, dropout=0.3)
    found, first = trained(lambda *a: ShardedStep(*a, streams[:count]), dropout=0.3)
    np.testing.assert_allclose(found, wanted, rtol=3e-5)
    again, second = trained(lambda *a: ShardedStep(*a, streams[:count]), dropout=0.3)
    np.testing.assert_array_equal(again, found)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_clip_norm_gives_other_parameters(streams):
    (_, clipped), (_, free) = (trained(lambda *a: ShardedStep(*a, streams[:2]), clip=c) for c in (0.1, 9.0))
    assert any((a != b).any() for a, b in zip(clipped, free, strict=True))


def test_batches_of_other_shapes_are_recorded_anew(streams):
    model = GPT(GPTConfig(11, 8, 1, 2, 8), seed=3)
    step = ShardedStep(model, optim.SGD(model.named_parameters(), 0.1), 1.0, streams[:2])
    for size in (5, 3, 5):
        ids = IDS[0][:size]
        before = model.loss(ids[:, :-1], ids[:, 1:]).item()
        assert step(ids[:, :-1], ids[:, 1:])[0].item() == pytest.approx(before, rel=1e-5)


def test_what_is_frozen_afterwards_stays(streams):
    model = GPT(GPTConfig(11, 8, 1, 2, 8), seed=3)
    step = ShardedStep(model, optim.AdamW(model.named_parameters(), 0.1), 1.0, streams[:2])
    ids = IDS[0]
    step(ids[:, :-1], ids[:, 1:])
    model.wpe.freeze()
    before = [p.numpy().tobytes() for p in (model.wpe.weight, model.wte.weight)]
    step(ids[:, :-1], ids[:, 1:])
    assert [p.numpy().tobytes() == b for p, b in zip((model.wpe.weight, model.wte.weight), before)] == [True, False]


class Drops(nn.Module):
    """A line with dropout by modules, some of them in a list."""

    def __init__(self):
        self.layers = nn.Sequential(nn.Linear(6, 8, name="a"), nn.Dropout(0.5, site=1), nn.Linear(8, 1, name="b"))
        self.late = nn.Dropout(0.2, site=2)
        self.layers[1].seed = self.late.seed = 5

    def loss(self, x, y):
        return ((self.late(self.layers(x)) - y) ** 2.0).mean()


def test_modules_that_drop_draw_for_each_sample_what_they_draw_in_the_whole_batch(streams):
    x = np.random.default_rng(1).normal(size=(4, 7, 6)).astype("float32")
    curves = []
    for count in (0, 1, 3):
        model = Drops()
        optimizer = optim.SGD(model.named_parameters(), 0.1)
        step = ShardedStep(model, optimizer, 1.0, streams[:count]) if count else whole(model, optimizer, 1.0)
        curves.append([step(x[n], x[n][:, :1])[0].item() for n in range(4)])
        assert model.late.calls == 4
    assert curves[1] == curves[0]
    np.testing.assert_allclose(curves[2], curves[0], rtol=1e-5)


def test_running_statistics_cannot_be_shared_out(streams):
    class Model(nn.Module):
        def __init__(self):
            self.norm = nn.BatchNorm(3)

        def loss(self, x):
            return self.norm(x).mean()

    model = Model()
    step = ShardedStep(model, optim.SGD(model.named_parameters(), 0.1), None, streams[:2])
    with pytest.raises(ArgumentError, match=r"running statistics \(norm\.running_mean.*LayerNorm"):
        step(np.ones((4, 3), "float32"))


def test_shares_are_neighbours_and_even():
    assert shares(5, 3) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert shares(12, 1) == [slice(0, 12)]
    for samples in range(1, 9):
        for workers in range(1, samples + 1):
            found = shares(samples, workers)
            assert np.concatenate([np.arange(samples)[part] for part in found]).tolist() == list(range(samples))
            sizes = [part.stop - part.start for part in found]
            assert max(sizes) - min(sizes) <= 1
            assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(ArgumentError, match="2 samples cannot be shared out over 3 workers"):
        shares(2, 3)


class Line(nn.Module):
    """A line, whose loss may be spoiled."""

    def __init__(self):
        self.layer = nn.Linear(3, 1, name="a")
        self.scale = fnb.tensor(np.ones(1, "float32"))

    def loss(self, x, y):
        return ((self.layer(x) * self.scale - y) ** 2.0).mean()


X = np.random.default_rng(2).normal(size=(6, 3)).astype("float32")


@pytest.mark.parametrize("wrong", [3, "x", [1.5], np.ones((2, 2)), {"a": 1}])
def test_wrong_types_are_refused_like_wrong_values(streams, wrong):
    model = Line()
    good = {"model": model, "optimizer": optim.SGD(model.parameters(), 0.1), "clip_norm": 1.0, "streams": streams[:2]}
    for name in good:
        if name != "clip_norm" or not isinstance(wrong, int):
            with pytest.raises(ArgumentError, match="ShardedStep"):
                ShardedStep(**{**good, name: wrong})
    for clip_norm in (0.0, -1.0, float("nan"), True):
        with pytest.raises(ArgumentError, match="clips to a norm above 0"):
            ShardedStep(**{**good, "clip_norm": clip_norm})
    with pytest.raises(ArgumentError, match="at least one stream"):
        ShardedStep(**{**good, "streams": []})


def test_batches_that_are_none_are_refused(streams):
    model = Line()
    step = ShardedStep(model, optim.SGD(model.parameters(), 0.1), None, streams[:2])
    for arrays in ((), (X.tolist(), X), (X, fnb.tensor(X)), (np.float32(1), np.float32(2))):
        with pytest.raises(ArgumentError, match="takes NumPy arrays with a common first axis"):
            step(*arrays)
    with pytest.raises(ArgumentError, match="arrays of 4, 6 samples: all need as many"):
        step(X[:4], X[:, :1])
    for dtype in (">f4", object, str):
        with pytest.raises(DTypeError, match="got an array of dtype"):
            step(X.astype(dtype), X[:, :1])


def test_a_loss_that_is_no_mean_is_refused(streams):
    model = Line()
    step = ShardedStep(model, optim.SGD(model.parameters(), 0.1), None, streams[:2])
    for loss, got in ((lambda x, y: 1.0, "float"), (lambda x, y: model.layer(x), r"shape \(3, 1\)")):
        model.loss = loss
        with pytest.raises(ArgumentError, match=f"Line.loss gave .*{got}"):
            step(X, X[:, :1])


def test_a_model_that_cannot_be_copied_is_refused(streams):
    model = Line()
    model.lock = threading.Lock()
    step = ShardedStep(model, optim.SGD(model.parameters(), 0.1), None, streams[:2])
    with pytest.raises(ArgumentError, match="a copy of Line, and it holds what cannot be copied .*lock"):
        step(X, X[:, :1])


def test_a_tensor_of_the_model_that_is_written_between_steps_is_read_by_all(streams):
    """As in a compiled step: otherwise each worker would go on with what it was in the beginning."""
    model = Line()
    step = ShardedStep(model, optim.SGD(model.parameters(), 0.0), None, streams[:3])
    for scale in (1.0, 3.0):
        model.scale[...] = scale
        assert step(X, X[:, :1])[0].item() == pytest.approx(model.loss(X, X[:, :1]).item(), rel=1e-6)
