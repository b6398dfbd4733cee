"""Linear, LayerNorm, Embedding and Dropout, and their initial values."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import nn, random
from forgenb.errors import ArgumentError, IndexRangeError, ShapeError
from forgenb.nn.dropout import Sites


def x64(*shape):
    return np.random.default_rng(1).normal(size=shape)


def test_linear_is_an_affine_map_with_gradients():
    layer = nn.Linear(3, 2, dtype="float64")
    x = fnb.tensor(x64(4, 5, 3), requires_grad=True)
    y = layer(x)
    w, b = layer.weight.numpy(), layer.bias.numpy()
    np.testing.assert_allclose(y.numpy(), x.numpy() @ w + b, rtol=1e-12)
    y.sum().backward()
    np.testing.assert_allclose(layer.weight.grad.numpy(), x.numpy().sum((0, 1))[:, None] * np.ones(2), rtol=1e-12)
    assert layer.bias.grad.tolist() == [20.0, 20.0]
    np.testing.assert_allclose(x.grad.numpy(), np.broadcast_to(w.sum(1), (4, 5, 3)), rtol=1e-12)


@pytest.mark.usefixtures("each_backend")
def test_shapes_and_decay_of_parameters():
    """P26: a bias has one axis."""
    layer = nn.Linear(5, 3)
    assert (layer.weight.shape, layer.bias.shape) == ((5, 3), (3,))
    assert (layer.weight.decay, layer.bias.decay) == (True, False)
    assert nn.Linear(5, 3, bias=False).bias is None
    assert [p.decay for p in nn.LayerNorm(3).parameters()] == [False, False]
    assert nn.Embedding(4, 2).weight.decay
    with pytest.raises(ShapeError, match=r"\(4,\).*\(5, 3\)|\(1, 4\).*\(5, 3\)"):
        layer(fnb.tensor(np.ones(4, np.float32)))


def test_layer_norm_normalises_rows():
    layer = nn.LayerNorm(6, dtype="float64")
    y = layer(fnb.tensor(x64(4, 6))).numpy()
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(y.var(-1), 1, rtol=1e-4)


def test_embedding_looks_rows_up():
    layer = nn.Embedding(5, 3)
    ids = np.array([[0, 4], [4, 4]])
    y = layer(ids)
    np.testing.assert_array_equal(y.numpy(), layer.weight.numpy()[ids])
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[1.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3, [3.0] * 3]
    with pytest.raises(IndexRangeError, match="5"):
        layer(np.array([5]))


def test_dropout_drops_in_training_only():
    layer = nn.Dropout(0.3, site=2)
    x = fnb.tensor(np.ones(4096, "float32"))
    layer.seed = 99
    first = layer(x).numpy().copy()
    seed = random.site_seed(random.site_seed(99, 2), 1)
    np.testing.assert_array_equal(first, fnb.ops.dropout(x, 0.3, seed).numpy())
    assert not np.array_equal(layer(x).numpy(), first)
    layer.seed = 99
    np.testing.assert_array_equal(layer(x).numpy(), first)
    assert layer.eval()(x) is x
    assert nn.Dropout(0.0)(x) is x


def test_dropouts_of_a_model_drop_different_elements():
    x = fnb.tensor(np.ones(100, "float32"))
    one, other = nn.Dropout(0.5), nn.Dropout(0.5)
    assert not np.array_equal(one(x).numpy(), other(x).numpy())


def test_sites_count_from_one_and_parts_continue_the_whole():
    whole, x = Sites(0.5, 7), fnb.tensor(np.ones((4, 3), np.float32))
    first, second = whole(x).numpy(), whole(x).numpy()
    assert whole.site == 2
    assert not np.array_equal(first, second)
    part = Sites(0.5, 7, first=3)
    np.testing.assert_array_equal(part(fnb.tensor(np.ones((1, 3), np.float32))).numpy(), first[3:])
    assert [Sites(0.5, 99).next_seed(), random.site_seed(99, 1)] == [3042957802, 3042957802]
    idle = Sites(0.0, 7)
    assert idle(x) is x
    assert idle.site == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nn.Linear(0, 3), "sizes of at least 1, got n_in=0"),
        (lambda: nn.LayerNorm(3, eps=0.0), "eps above 0, got n=3 and eps=0.0"),
        (lambda: nn.Embedding(3, 0), "sizes of at least 1, got n=3 and d=0"),
        (lambda: nn.Dropout(1.0), "at least 0 and below 1, got 1.0"),
        (lambda: nn.Dropout(float("nan")), "at least 0 and below 1, got nan"),
    ],
)
def test_impossible_layers_are_refused(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


# Initial values


def test_initial_values_depend_on_seed_and_full_name_alone():
    a, b = (nn.Linear(4, 4, seed=3, name="h.0.attn") for _ in range(2))
    np.testing.assert_array_equal(a.weight.numpy(), b.weight.numpy())
    expected = random.generator(3, "h.0.attn.weight").standard_normal((4, 4)) / 2
    np.testing.assert_array_equal(a.weight.numpy(), expected.astype(np.float32))
    for other in (nn.Linear(4, 4, seed=4, name="h.0.attn"), nn.Linear(4, 4, seed=3, name="h.1.attn")):
        assert not np.array_equal(a.weight.numpy(), other.weight.numpy())
    assert (a.weight.name, a.bias.name) == ("h.0.attn.weight", "h.0.attn.bias")
    assert a.bias.tolist() == [0.0] * 4
    assert nn.LayerNorm(2).weight.tolist() == [1.0, 1.0]


def test_unnamed_layers_differ_and_the_seed_starts_again():
    def weights():
        return [nn.Linear(3, 3).weight.tolist(), nn.Linear(3, 3).weight.tolist()]

    with random.seeded(5):
        first = weights()
        with random.seeded(5):
            inner = weights()
        third = nn.Linear(3, 3).weight.tolist()
    with random.seeded(5):
        again = weights()
    assert first == again == inner
    assert first[0] != first[1]
    assert third not in first


def test_values_are_drawn_in_float64_and_rounded():
    wide, narrow = (nn.Embedding(3, 2, seed=1, name="e", dtype=dtype) for dtype in ("float64", "float32"))
    np.testing.assert_array_equal(wide.weight.numpy().astype(np.float32), narrow.weight.numpy())
    assert narrow.weight.dtype.name == "float32"


@pytest.mark.usefixtures("each_backend")
def test_parameters_are_drawn_around_zero_and_are_not_correlated():
    """Also those of one shape in one model, and of models of other seeds."""
    config = fnb.models.GPTConfig(40, 16, 3, 2, 32)
    drawn = [p for seed in (0, 1) for p in fnb.models.GPT(config, seed=seed).parameters() if p.ndim == 2]
    rows = np.array([p.numpy().ravel()[:512] / p.numpy().std() for p in drawn])
    assert len(rows) > 20
    assert np.abs(rows.mean(1)).max() < 5 / 512**0.5
    np.testing.assert_allclose(rows.std(1), 1, atol=0.2)
    assert np.abs(np.corrcoef(rows) - np.eye(len(rows))).max() < 5 / 512**0.5
