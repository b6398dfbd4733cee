"""Every optimiser against plain NumPy, and what a step may and may not touch."""

import inspect

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError, MemoryModeError, ShapeError
from forgenb.optim import SGD, Adam, AdamW, RMSprop

KINDS = {
    "sgd": lambda params: SGD(params, 0.1, weight_decay=0.1),
    "momentum": lambda params: SGD(params, 0.1, momentum=0.9, weight_decay=0.1),
    "nesterov": lambda params: SGD(params, 0.1, momentum=0.9, nesterov=True),
    "adam": lambda params: Adam(params, 0.1, weight_decay=0.1),
    "adamw": lambda params: AdamW(params, 0.1),
    "rmsprop": lambda params: RMSprop(params, 0.1, weight_decay=0.1),
}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def parameter(value, dtype="float64", decay=True):
    return fnb.Parameter(fnb.tensor(np.asarray(value, dtype)), decay)


def with_grad(p, value):
    p.grad = fnb.tensor(np.broadcast_to(np.asarray(value, p.dtype), p.shape).copy())
    return p


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: AdamW([p], 0.1, (0.9, 0.999), weight_decay=0.1), 0.99),
        (lambda p: Adam([p], 0.1, (0.9, 0.999), weight_decay=0.1), 0.9),
        (lambda p: SGD([p], 0.1, weight_decay=0.1), 0.99),
    ],
    ids=["adamw", "adam", "sgd"],
)
def test_the_first_step_of_decay_alone(make, expected):
    """P53: the sign and the place of weight decay."""
    p = with_grad(parameter(1.0), 0.0)
    make(p).step()
    assert p.item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adamw_by_hand(dtype):
    p = parameter([1.0], dtype)
    optimizer = AdamW([("p", p)], 1e-2, (0.9, 0.999), 1e-8, 0.1)
    for expected in (0.989, 0.978011, 0.967032989):
        with_grad(p, 0.5)
        assert optimizer.step() is None
        assert p.item() == pytest.approx(expected, abs=1e-7)
    state = optimizer.state_dict()
    assert state["m/p"].item() == pytest.approx(0.1355, abs=1e-7)
    assert state["v/p"].item() == pytest.approx(7.4925025e-4, rel=1e-4)


def reference(kind, p, grads):
    """Five steps of plain NumPy, as the papers write them."""
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        if kind in ("sgd", "momentum", "nesterov"):
            d = g + (0 if kind == "nesterov" else 0.1) * p
            m = (0 if kind == "sgd" else 0.9) * m + d
            p = p - 0.1 * (d + 0.9 * m if kind == "nesterov" else m)
        elif kind == "rmsprop":
            d = g + 0.1 * p
            v = 0.99 * v + 0.01 * d * d
            p = p - 0.1 * d / (np.sqrt(v) + 1e-8)
        else:
            b1, b2 = (0.9, 0.999) if kind == "adam" else (0.9, 0.95)
            d = g + 0.1 * p if kind == "adam" else g
            m, v = b1 * m + (1 - b1) * d, b2 * v + (1 - b2) * d * d
            shrunk = p if kind == "adam" else p - 0.1 * 0.1 * p
            p = shrunk - 0.1 * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + 1e-8)
    return p


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_five_steps_follow_the_papers(kind, dtype):
    rng = np.random.default_rng(2)
    start, grads = rng.normal(size=(7, 3)), rng.normal(size=(5, 7, 3))
    p = parameter(start, dtype)
    optimizer = KINDS[kind]([p])
    for grad in grads:
        optimizer.zero_grad()
        with_grad(p, grad)
        optimizer.step()
    wanted = reference(kind, start, grads)
    np.testing.assert_allclose(p.numpy(), wanted, rtol=1e-12 if dtype == "float64" else 2e-5, atol=1e-12)
    assert optimizer.steps == 5


@pytest.mark.usefixtures("each_backend")
@each_kind
@pytest.mark.parametrize("clip", [None, 0.1])
def test_a_step_never_writes_a_gradient(make, clip):
    """P20."""
    p = with_grad(parameter(np.ones((3, 4))), np.arange(12.0).reshape(3, 4))
    before, version = p.grad.numpy().tobytes(), p.grad.memory.version
    optimizer = make([p])
    for _ in range(2):
        optimizer.step(clip)
    assert p.grad.numpy().tobytes() == before
    assert p.grad.memory.version == version
    assert p.memory is not p.grad.memory


@pytest.mark.usefixtures("each_backend")
@each_kind
def test_unused_and_frozen_parameters_stay_as_they_are(make):
    """P10."""
    used, unused, frozen = parameter([1.0, 2.0]), parameter([1.0, 2.0]), parameter([1.0, 2.0])
    optimizer = make([("used", used), ("unused", unused), ("frozen", frozen)])
    with_grad(frozen, 1.0)
    frozen.requires_grad = False
    (used * 2.0).sum().backward()
    assert optimizer.unused() == ["unused"]
    for _ in range(2):
        optimizer.step()
    assert unused.tolist() == frozen.tolist() == [1.0, 2.0]
    assert unused.grad is None
    assert used.tolist() != [1.0, 2.0]
    assert [key for key in optimizer.state_dict() if "unused" in key or "frozen" in key] == []
    optimizer.zero_grad()
    assert optimizer.unused() == ["used", "unused"]


def test_a_recorded_step_is_bound_to_what_was_frozen():
    p, q = parameter([1.0, 2.0]), parameter([1.0, 2.0])
    optimizer = AdamW([("p", p), ("q", q)], 0.1)
    with fnb.capture() as c:
        optimizer.zero_grad()
        (p * q).sum().backward()
        optimizer.step()
    routine = fnb.train.to_routine(c.program)
    routine.run()
    before = q.tolist()
    q.requires_grad = False
    with pytest.raises(MemoryModeError, match=r"which parameters are frozen was \(\) .* and is \('q',\) now"):
        routine.run()
    assert q.tolist() == before


def test_decay_applies_where_the_parameter_says():
    for make in (
        lambda p: AdamW(p, 0.1),
        lambda p: SGD(p, 0.1, weight_decay=0.1),
        KINDS["adam"],
        KINDS["rmsprop"],
    ):
        weight, bias = (with_grad(parameter([[1.0]], decay=decay), 0.0) for decay in (True, False))
        make([weight, bias]).step()
        assert weight.item() < 1
        assert bias.item() == 1


def test_the_bias_correction_counts_each_parameters_own_steps():
    late, alone = parameter([1.0]), parameter([1.0])
    other = parameter([1.0])
    optimizer = Adam([other, late], 0.1)
    for _ in range(3):
        with_grad(other, 1.0)
        optimizer.step()
    with_grad(late, 0.5)
    optimizer.step()
    with_grad(alone, 0.5)
    Adam([alone], 0.1).step()
    assert late.item() == alone.item()


@each_kind
def test_a_step_bumps_the_version_of_what_it_writes(make):
    x, p = fnb.tensor(np.ones(2), requires_grad=True), parameter([1.0, 2.0])
    out = (x * p).sum()
    with_grad(p, 1.0)
    make([p]).step()
    with pytest.raises(fnb.errors.TapeError, match="changed in place"):
        out.backward()


@each_kind
def test_gradients_of_any_layout_are_read(make):
    flat, turned = parameter(np.ones((2, 3))), parameter(np.ones((2, 3)))
    grad = np.arange(6.0).reshape(2, 3)
    flat.grad = fnb.tensor(grad)
    turned.grad = fnb.tensor(grad.T.copy()).T
    make([flat, turned]).step(clip_norm=1.0)
    np.testing.assert_array_equal(flat.numpy(), turned.numpy())


@pytest.mark.usefixtures("each_backend")
@each_kind
def test_a_resumed_run_has_the_same_bits(make):
    """P63, within one process."""
    rng = np.random.default_rng(5)
    grads = rng.normal(size=(6, 3)).astype(np.float32)

    def steps(p, optimizer, part):
        for grad in part:
            with_grad(p, grad)
            optimizer.step(clip_norm=1.0)

    straight, late = parameter([1.0, 2.0, 3.0], "float32"), parameter([0.0, 0.0, 0.0], "float32")
    optimizer = make([("p", straight)])
    steps(straight, optimizer, grads[:4])
    saved, values = optimizer.state_dict(), straight.numpy().copy()
    steps(straight, optimizer, grads[4:])

    late = parameter(values, "float32")
    resumed = make([("p", late)])
    resumed.load_state_dict(saved)
    assert resumed.steps == 4
    steps(late, resumed, grads[4:])
    assert late.numpy().tobytes() == straight.numpy().tobytes()
    for key, value in resumed.state_dict().items():
        np.testing.assert_array_equal(value, optimizer.state_dict()[key])


@pytest.mark.usefixtures("each_backend")
@each_kind
def test_a_gradient_that_is_another_view_of_its_parameter_is_read_before_it_is_written(make):
    value = np.linspace(0.5, 3, 40).astype("float32")
    found, wanted = parameter(value, "float32"), parameter(value, "float32")
    found.grad = found.detach()[::-1]
    with_grad(wanted, value[::-1])
    for p in (found, wanted):
        make([p]).step()
    assert found.tolist() == wanted.tolist()


def test_a_state_that_does_not_fit_is_refused():
    p = with_grad(parameter([1.0, 2.0]), 1.0)
    optimizer = Adam([("p", p)])
    optimizer.step()
    state = optimizer.state_dict()
    with pytest.raises(CheckpointError, match="m/p is missing"):
        optimizer.load_state_dict({k: v for k, v in state.items() if k != "m/p"})
    with pytest.raises(CheckpointError, match="m/q is unknown here"):
        optimizer.load_state_dict(state | {"m/q": np.zeros(2)})
    with pytest.raises(ShapeError, match=r"v/p has shape \(3,\), needed is \(2,\)"):
        optimizer.load_state_dict(state | {"v/p": np.zeros(3)})
    for changed in ({"step": np.array(-1)}, {"count/p": np.array(0)}, {"count/p": np.array(int(state["step"]) + 1)}):
        with pytest.raises(CheckpointError, match="the state does not fit: step is .*Nothing was loaded"):
            optimizer.load_state_dict(state | changed)


def test_half_precision_parameters_have_float32_state():
    p = with_grad(parameter([1.0, 2.0], "float16"), 0.5)
    optimizer = AdamW([("p", p)], 0.1)
    assert optimizer.step(clip_norm=10.0) == pytest.approx(0.5**0.5)
    np.testing.assert_allclose(p.numpy(), np.array([0.89, 1.88]), rtol=1e-3)
    assert (p.dtype.name, optimizer.state_dict()["m/p"].dtype.name) == ("float16", "float32")


def test_names_come_from_pairs_parameters_or_positions():
    named = fnb.Parameter(fnb.tensor([1.0], name="mine"))
    optimizer = SGD([("given", parameter(1.0)), named, parameter(1.0)], 0.1)
    assert list(optimizer.params) == ["given", "mine", "2"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: SGD([], 0.1), "got no parameters"),
        (lambda p: SGD([p, p], 0.1), "twice"),
        (lambda p: SGD([("a", p), ("a", parameter(1.0))], 0.1), "'a' twice"),
        (lambda p: SGD([fnb.tensor(1.0)], 0.1), "updates fnb.Parameter objects, got Tensor"),
        (lambda p: SGD([p], -0.1), "lr must be at least 0, got -0.1"),
        (lambda p: SGD([p], float("nan")), "lr must be at least 0, got nan"),
        (lambda p: SGD([p], "0.1"), "an optimiser got lr='0.1': it must be a number"),
        (lambda p: SGD([p], 0.1, momentum=None), "an optimiser got momentum=None: it must be a number"),
        (lambda p: SGD([p], 0.1, nesterov=True), "nesterov=True needs a momentum"),
        (lambda p: SGD([p], 0.1, momentum=1.0), "momentum must be at least 0 and below 1, got 1.0"),
        (lambda p: Adam([p], betas=(1.0, 0.9)), "beta1 must be at least 0 and below 1, got 1.0"),
        (lambda p: Adam([p], eps=-1e-8), "eps must be at least 0"),
        (lambda p: AdamW([p], weight_decay=-0.1), "weight_decay must be at least 0"),
        (lambda p: RMSprop([p], alpha=1.5), "alpha must be at least 0 and below 1"),
    ],
)
def test_impossible_settings_are_refused(make, message):
    with pytest.raises(ArgumentError, match=message):
        make(parameter(1.0))


OTHERS = {
    "lr": 0.2,
    "momentum": 0.5,
    "nesterov": True,
    "betas": (0.5, 0.6),
    "alpha": 0.5,
    "eps": 0.1,
    "weight_decay": 0.3,
}
KEYWORDS = [
    (kind, name) for kind in (SGD, Adam, AdamW, RMSprop) for name in list(inspect.signature(kind).parameters)[1:]
]


@pytest.mark.parametrize(("kind", "keyword"), KEYWORDS, ids=lambda value: getattr(value, "__name__", value))
def test_every_keyword_has_an_effect(kind, keyword):
    found = []
    for settings in ({}, {keyword: OTHERS[keyword]}):
        p = parameter([1.0, -2.0])
        base = {"lr": 0.1, **({"momentum": 0.9} if keyword == "nesterov" else {})}
        optimizer = kind([p], **{**base, **settings})
        for grad in (0.5, -0.25, 1.0):
            with_grad(p, grad)
            optimizer.step()
        found.append(p.tolist())
    assert found[0] != found[1]
