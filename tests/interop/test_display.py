"""What a tensor looks like as text and in a notebook, and that looking changes nothing."""

import numpy as np
import pytest
from support.cuda import installed, lane_backend
from support.state import differences, snapshot

import forgenb as fnb
from forgenb.errors import ArgumentError

VIEWS = {
    "repr": repr,
    "str": str,
    "format": lambda t: f"{t}",
    "spec": lambda t: f"{t:.3f}" if t.size == 1 else "",
    "html": lambda t: t._repr_html_(),
}


@pytest.fixture(params=VIEWS)
def view(request):
    return VIEWS[request.param]


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (fnb.tensor([[1.0, 2.0]])[0], "tensor([1., 2.], dtype=float32)"),
        (fnb.tensor(1.5, name="w", requires_grad=True), "tensor(1.5, dtype=float32, name='w', requires_grad=True)"),
        (fnb.tensor([1.0], requires_grad=True)[0], "tensor(1., dtype=float32, op=getitem)"),
        (fnb.tensor(np.zeros((0, 2))), "tensor([], shape=(0, 2), dtype=float64)"),
        (fnb.tensor(np.zeros(0)), "tensor([], dtype=float64)"),
        (fnb.tensor([True, False]), "tensor([ True, False], dtype=bool)"),
        (fnb.tensor(np.array([np.nan, -np.inf, 1e-7], "float16")), "tensor([   nan,   -inf, 1.e-07], dtype=float16)"),
        (fnb.tensor(np.array([[2**62, 1]])), f"tensor([[{2**62}, {1:>19}]], dtype=int64)"),
        (
            fnb.tensor(np.arange(2000)),
            "tensor([   0,    1,    2, ..., 1997, 1998, 1999], shape=(2000,), dtype=int64)",
        ),
    ],
)
def test_text(t, text):
    assert repr(t) == str(t) == f"{t}" == text


@pytest.mark.parametrize("shape", [(2000,), (40, 50), (3, 400), (2, 3, 7, 40), (6, 6, 6, 6), (1001, 1, 1)])
def test_large_tensors_are_abbreviated_as_by_numpy(shape):
    array = np.random.default_rng(0).normal(size=shape)
    for cut in (lambda a: a, lambda a: a.T, lambda a: a[::-1]):
        text = np.array2string(cut(array), separator=", ", prefix="tensor(")
        assert repr(cut(fnb.tensor(array))) == f"tensor({text}, shape={cut(array).shape}, dtype=float64)"


def test_of_a_large_tensor_on_a_device_little_is_read(monkeypatch):
    with installed(lane_backend()) as backend:
        t = fnb.tensor(np.zeros((100, 1000)), backend="cuda")
        read, download = [], backend.machine.download
        monkeypatch.setattr(backend.machine, "download", lambda at, size: read.append(size) or download(at, size))
        assert "shape=(100, 1000)" in repr(t)
        assert 0 < sum(read) < t.layout.nbytes / 5


def test_numpys_print_options_hold():
    with np.printoptions(precision=2, threshold=4):
        assert repr(fnb.tensor([1 / 3])) == "tensor([0.33], dtype=float32)"
        assert "shape=(5,)" in repr(fnb.tensor([1, 2, 3, 4, 5]))


def test_formats_of_a_number():
    assert f"{fnb.tensor(1.5):.3f}" == "1.500"
    assert f"{fnb.tensor([[7]]):03d}" == "007"
    with pytest.raises(ArgumentError, match="one element"):
        format(fnb.tensor([1.0, 2.0]), ".2f")


def everything(t):
    """All that looking at a tensor could change."""
    counts = fnb.stats()
    state = t.memory.version, t.node, t.index, t.name, t.layout, t.offset, t.memory, t.requires_grad, t.grad
    return state, (counts.launches, counts.products, counts.allocations, counts.copies)


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_looking_changes_nothing(view, backend):
    leaf = fnb.tensor(np.ones((3, 2)), requires_grad=True, name="x", backend=backend)
    with fnb.Tape() as tape:
        out = leaf * 2.0
        for t in (leaf, out, out.sum(), leaf.T, fnb.tensor(True, backend=backend)):
            before, process = everything(t), snapshot()
            recorded = len(tape)
            assert view(t) == view(t)
            assert everything(t) == before
            assert differences(process, snapshot()) == []
            assert len(tape) == recorded
    out.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), np.full((3, 2), 2.0))


def test_on_a_device(view):
    with installed(lane_backend()):
        t = fnb.tensor([1.0, 2.0], backend="cuda")
        before = everything(t)
        view(t)
        assert everything(t) == before
        assert repr(t) == "tensor([1., 2.], dtype=float32)"


def test_a_step_that_looks_is_recorded_as_one_that_does_not(view):
    weights, x = fnb.tensor([1.0], name="weights"), fnb.tensor([2.0, 4.0])

    def step(x, looking=True):
        half = x * 0.5
        out = (half * half).sum()
        for t in (x, half, out, weights, half[0]) if looking else ():
            view(t)
        return out

    programs = []
    for looking in (False, True):
        with fnb.capture() as captured:
            step(x, looking)
        programs.append(str(captured.program))
    assert programs[0] == programs[1]
    run = fnb.compile(step)
    assert run(x).item() == run(x * 2.0).item() / 4 == 5


def test_words_stand_for_what_cannot_be_read():
    x = fnb.tensor([2.0, 4.0], name="x")
    seen = {}

    def step(x):
        half = x * 0.5
        seen["half"], seen["row"], seen["out"] = half, x[fnb.symbol("i", 2)], half.sum()
        seen["texts"] = repr(x), repr(half), f"{seen['out']:.2f}"
        return seen["out"]

    with fnb.capture():
        step(x)
    assert seen["texts"] == (
        "tensor(<not read while a step is recorded>, shape=(2,), dtype=float32, name='x')",
        "tensor(<not computed yet>, shape=(2,), dtype=float32)",
        "tensor(<not computed yet>, shape=(), dtype=float32)",
    )
    assert repr(seen["half"]) == "tensor(<not computed yet>, shape=(2,), dtype=float32)"
    assert repr(seen["row"]) == "tensor(<a slice at a symbol>, shape=(), dtype=float32)"
    assert "<pre>&lt;not computed yet&gt;</pre>" in seen["half"]._repr_html_()


def test_values_of_a_routine():
    x, kept = fnb.tensor([2.0, 4.0]), {}

    def step(x):
        kept["scratch"], kept["inline"] = (x * 0.5).materialize(), (x * 2.0).inline()
        kept["stored"] = (kept["inline"] + 1.0).retain()
        return (kept["scratch"] + kept["stored"]).sum()

    out = fnb.compile(step)(x)
    assert repr(out) == "tensor(17., dtype=float32)"
    assert repr(kept["stored"]) == "tensor([5., 9.], dtype=float32)"
    assert repr(kept["scratch"]) == "tensor(<scratch of a routine>, shape=(2,), dtype=float32)"
    assert repr(kept["inline"]) == "tensor(<inlined in a routine>, shape=(2,), dtype=float32)"


def test_a_value_of_a_routine_that_has_not_run():
    with fnb.capture():
        out = fnb.tensor([1.0]) * 2.0
    routine = fnb.train.to_routine(fnb.train.forward(out))
    assert repr(out) == "tensor(<stored by a routine that has not run>, shape=(1,), dtype=float32)"
    routine.run()
    assert repr(out) == "tensor([2.], dtype=float32)"


def test_a_table_in_a_notebook():
    t = fnb.tensor([[1.0, np.nan], [3.0, 4.5]], name="<b>", requires_grad=True)
    assert t._repr_html_() == (
        "<div><div><code>tensor(shape=(2, 2), dtype=float32, name=&#x27;&lt;b&gt;&#x27;, requires_grad=True, "
        "backend=cpu)</code></div><table><tr><td>1.</td><td>nan</td></tr><tr><td>3.</td><td>4.5</td></tr></table></div>"
    )
    assert fnb.tensor([1, 2])._repr_html_().count("<td>") == 2


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 2, 2), (21,), (300, 400)])
def test_text_in_a_notebook(shape):
    found = fnb.tensor(np.ones(shape))._repr_html_()
    assert "<table>" not in found
    assert f"shape={shape}" in found
    assert len(found) < 2000
