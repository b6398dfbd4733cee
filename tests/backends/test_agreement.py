"""What holds on every backend alike: losses, replaced bodies, new ops, random numbers. No plug-in knows an op."""

import ast
import builtins
import io
import re
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb.kernel import map_kernel, primitives, row_kernel
from forgenb.kernel.primitives import accumulate, lane_sum, lanes, put, real
from forgenb.ops import TABLE
from forgenb.ops.apply import as_tensor, run_map, run_rows
from forgenb.ops.table import op, unary
from forgenb.tape import record
from forgenb.tensor import empty
from forgenb.testing.declared import all_kernels

BACKENDS = ("cpu", "python", "cuda")
HOSTS = ("cpu", "python")
PLUGINS = sorted((Path(__file__).resolve().parents[2] / "backends").rglob("*.py"))
GELU = sys.modules["forgenb.ops.gelu"]


@pytest.fixture(autouse=True, scope="module")
def _lanes():
    """The CUDA backend on its lane interpreter, where there is no GPU."""
    with installed(lane_backend()):
        yield


def losses(backend, steps, *, layers, width, dropout=0.0):
    """Losses of the first steps of a small GPT."""
    rng = np.random.default_rng(7)
    with fnb.use(backend):
        config = fnb.models.GPTConfig(11, 4, layers, 2, width, dropout=dropout)
        model = fnb.models.GPT(config, seed=3)
        optimizer = fnb.optim.AdamW(model.named_parameters(), lr=1e-2)
        found = []
        for step in range(steps):
            ids = rng.integers(0, 11, (2, 5))
            model.dropout_seed = step
            optimizer.zero_grad()
            loss = model.loss(ids[:, :-1], ids[:, 1:])
            loss.backward()
            optimizer.step(clip_norm=1.0)
            found.append(loss.item())
    return found


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_tiny_gpt_has_the_same_first_losses(dropout):
    cpu, *others = (losses(b, 3, layers=1, width=8, dropout=dropout) for b in BACKENDS)
    for other in others:
        np.testing.assert_allclose(other, cpu, rtol=0, atol=1e-5)
    assert len(set(cpu)) == 3


def test_a_small_gpt_agrees_for_ten_steps():
    cpu, python = (losses(b, 10, layers=2, width=32) for b in HOSTS)
    np.testing.assert_allclose(python, cpu, rtol=0, atol=1e-5)


def gradients(backend):
    """The gradient of every parameter of a tiny GPT that drops."""
    with fnb.use(backend):
        model = fnb.models.GPT(fnb.models.GPTConfig(11, 4, 1, 2, 8, dropout=0.2), seed=3)
        model.dropout_seed = 5
        ids = np.random.default_rng(7).integers(0, 11, (2, 5))
        model.loss(ids[:, :-1], ids[:, 1:]).backward()
        return {name: p.grad.numpy().copy() for name, p in model.named_parameters()}


def test_a_tiny_gpt_has_the_same_gradients():
    """To 1e-5 of the largest of each, however small they are; those of the keys' biases are all rounding."""
    cpu, *others = map(gradients, BACKENDS)
    for name, other in ((name, other) for name in cpu for other in others):
        found, wanted = other[name], cpu[name]
        if name.endswith("c_attn.bias"):
            found, wanted = (np.delete(a, np.s_[8:16]) for a in (found, wanted))
        assert np.abs(wanted).max() > 0, name
        assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max(), name


@map_kernel("x -> out")
def moved_gelu_kernel(x):
    return GELU_BODY(x) + 7.0


GELU_BODY = GELU.gelu_kernel.body


@pytest.mark.parametrize("backend", BACKENDS)
def test_replacing_one_body_changes_the_result(monkeypatch, backend):
    x = fnb.tensor(np.linspace(-2, 2, 9, dtype="float32"), backend=backend)
    before = fnb.ops.gelu(x).numpy().copy()
    monkeypatch.setattr(GELU, "gelu_kernel", moved_gelu_kernel)
    np.testing.assert_array_equal(fnb.ops.gelu(x).numpy(), before + np.float32(7))


@map_kernel("x alpha_x -> out")
def toy_kernel(x, alpha_x):
    return x * x + 0.5 * alpha_x


@row_kernel("x[rows,n] -> out[rows]")
def toy_row_kernel(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    put(out, row, lane_sum(s) / real(x.shape[1]))


def toy(x):
    """Means of rows of x**2 + x/2. Backward: dx = dout (2x + 1/2) / n."""
    x = as_tensor(x)
    rows, n = x.shape
    inner = run_map(toy_kernel, (x.detach(), x.detach()))
    out = empty((rows,), x.dtype, x.backend)
    run_rows(toy_row_kernel, (rows, n), (inner, out))

    def backward(dout):
        return (dout.reshape(rows, 1) * (x * 2.0 + 0.5) / n,)

    return record(out, (x,), backward)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_new_op_needs_no_line_in_a_plugin(backend):
    op(unary(-2, 2, ((3, 4),)), lambda x: (x * x + x / 2).mean(1))(toy)
    try:
        row = TABLE["toy"]
        ((array,), _), *_ = row.samples(np.random.default_rng(0))
        x = fnb.tensor(array, requires_grad=True, backend=backend)
        np.testing.assert_allclose(row.function(x).numpy(), row.reference(array), rtol=1e-12)
        with fnb.use(backend):
            fnb.gradcheck(toy, array)
        row.function(x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), (2 * array + 0.5) / 4, rtol=1e-12)
        assert x.grad.backend.name == backend
    finally:
        del TABLE["toy"]


def bits(backend, make):
    with fnb.use(backend):
        return [np.ascontiguousarray(t.numpy()).tobytes() for t in make()]


def masks():
    x = fnb.tensor(np.ones((5, 7), "float32"))
    yield fnb.ops.dropout(x, 0.3, 1234)
    yield fnb.ops.dropout(x, 0.5, 2**32 - 1, 11)
    yield fnb.ops.dropout(x.astype("float64"), 0.25, 7)
    yield fnb.ops.dropout(x.astype("float16"), 0.1, 0)


def parameters():
    yield from fnb.models.GPT(fnb.models.GPTConfig(11, 4, 2, 2, 8), seed=5).parameters()
    yield from fnb.nn.Linear(3, 4, name="line").parameters()


def batches():
    for step in range(3):
        yield from map(fnb.tensor, fnb.data.batch(np.arange(100) % 11, 4, 3, 9, step))


@pytest.mark.parametrize("make", [masks, parameters, batches])
def test_random_numbers_are_bit_equal(make):
    first, *others = (bits(b, make) for b in BACKENDS)
    assert len(first) >= 4
    assert all(other == first for other in others)


LANGUAGE = {n for n, v in vars(primitives).items() if isinstance(v, primitives.Primitive)} | set(dir(builtins))
OWN = {"add": "the name of an LLVM instruction"}


def own_names(text):
    """Parameters, variables and functions inside functions: words of the file's own that refer to nothing outside."""
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.FunctionDef) and node is not function:
                yield node.name


def words_of(text):
    """(word, line) of names and of words in strings; not of docstrings, comments, attributes and a file's own names."""
    before, own = "", set(own_names(text))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and before != "." and token.string not in own:
            yield token.string, token.start[0]
        elif token.type == tokenize.STRING and not token.string.lstrip("r").startswith('"""'):
            yield from ((word, token.start[0]) for word in re.findall(r"\w+", token.string))
        before = token.string


def test_no_plugin_names_an_op_or_a_kernel():
    shared = {"product_kernel", "stack"}  # the reference product is offered to plug-ins; ptxas reports bytes of stack
    names = (set(TABLE) | set(all_kernels())) - LANGUAGE - set(OWN) - shared
    found = [
        f"{path.name}:{line} {word}"
        for path in PLUGINS
        for word, line in words_of(path.read_text(encoding="utf-8"))
        if word in names
    ]
    assert PLUGINS
    assert found == []


def test_the_look_for_names_finds_them():
    text = '"""gelu"""\nx.gelu  # gelu\nrules = {"gelu": 1}\ngelu(3)\n'
    assert [line for word, line in words_of(text) if word == "gelu"] == [3, 4]
    assert [line for word, line in words_of("def gelu(x):\n    return x") if word == "gelu"] == [1]
    assert [line for word, line in words_of("def f(take):\n    return take") if word == "take"] == []
