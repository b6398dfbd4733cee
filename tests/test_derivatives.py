"""jvp, hvp, jacobian, hessian: values, forms, nesting, routines, refusals."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, DTypeError, ShapeError, TapeError
from forgenb.tape import record, refuse_tracked


def f64(data, **keywords):
    return fnb.tensor(data, dtype="float64", **keywords)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def cubic(x):
    """Its Hessian is 6 diag(x) + 2."""
    return (x * x * x).sum() + x.sum() * x.sum()


def cubic_hessian(x):
    return 6 * np.diag(x) + 2


# jvp


def test_jvp_gives_the_value_and_the_derivative_along_the_tangent():
    x, v, w = draw(3, 4), draw(3, 4, seed=1), draw(4, 2, seed=2)
    value, slope = fnb.jvp(lambda x: ops.tanh(x) @ f64(w), [f64(x)], [v])
    np.testing.assert_allclose(value.numpy(), np.tanh(x) @ w, rtol=1e-14)
    np.testing.assert_allclose(slope.numpy(), (v * (1 - np.tanh(x) ** 2)) @ w, rtol=1e-13)
    assert not value.requires_grad
    assert not slope.requires_grad


def test_jvp_of_several_arguments_and_results():
    x, y = f64([2.0, 3.0]), f64([5.0, 7.0])
    values, slopes = fnb.jvp(lambda x, y: (x * y, x.sum(), f64(4.0)), (x, y), (f64([1.0, 10.0]), f64([0.0, 100.0])))
    assert [t.tolist() for t in values] == [[10.0, 21.0], 5.0, 4.0]
    assert [t.tolist() for t in slopes] == [[5.0, 70.0 + 300.0], 11.0, 0.0]


def test_jvp_leaves_gradients_alone_and_works_under_no_grad():
    x = f64([1.0, 2.0], requires_grad=True)
    with fnb.no_grad():
        value, slope = fnb.jvp(lambda x: x * x, [x], [[1.0, 1.0]])
    assert (x.grad, slope.tolist(), value.requires_grad, slope.requires_grad) == (None, [2.0, 4.0], False, False)


def test_jvp_of_the_identity_owns_its_memory():
    x, v = f64([1.0]), f64([2.0])
    value, slope = fnb.jvp(lambda x: x, [x], [v])
    assert (value.tolist(), slope.tolist()) == ([1.0], [2.0])
    assert slope.memory is not v.memory


def test_jvp_can_be_differentiated():
    v = f64([3.0])
    speed = lambda x: fnb.jvp(lambda x: x * x * x, [x], [v])[1].sum()  # noqa: E731
    assert fnb.grad(speed)(f64([2.0])).tolist() == [6 * 2 * 3]
    assert fnb.jvp(speed, [f64([2.0])], [[1.0]])[1].item() == 6 * 2 * 3
    x = f64([2.0], requires_grad=True)
    speed(x).backward()
    assert x.grad.tolist() == [6 * 2 * 3]


def test_forward_over_reverse_is_a_hessian_times_a_vector():
    x, v = draw(3), draw(3, seed=1)
    _, found = fnb.jvp(fnb.grad(cubic), [f64(x)], [v])
    np.testing.assert_allclose(found.numpy(), cubic_hessian(x) @ v, rtol=1e-14)


# hvp


@pytest.mark.parametrize("form", [list, tuple])
def test_hvp_gives_products_in_the_form_of_the_parameters(form):
    x, y = f64([1.0, 2.0], requires_grad=True), f64([3.0], requires_grad=True)
    found = fnb.hvp(lambda: (x * x * x).sum() * y.sum(), form([x, y]), form([[1.0, 0.0], [10.0]]))
    assert type(found) is form
    assert [t.tolist() for t in found] == [[18.0 + 30.0, 120.0], [3.0]]
    named = fnb.hvp(lambda: (x * y).sum(), {"x": x, "y": y}, {"x": [1.0, 2.0], "y": [5.0]})
    assert {name: t.tolist() for name, t in named.items()} == {"x": [5.0, 5.0], "y": [3.0]}
    assert fnb.hvp(lambda: cubic(x), x, f64([1.0, 0.0])).tolist() == [8.0, 2.0]


def test_hvp_of_a_linear_or_unused_parameter_is_zero():
    x, y, z = (f64([1.0, 2.0], requires_grad=True) for _ in range(3))
    found = fnb.hvp(lambda: (3.0 * x).sum() + (z * z).sum(), [x, y, z], [[1.0, 1.0]] * 3)
    assert [t.tolist() for t in found] == [[0.0, 0.0], [0.0, 0.0], [2.0, 2.0]]


def test_hvp_of_inner_tensors_leaves_their_graph():
    w = f64([2.0], requires_grad=True)
    inner = w * w
    assert fnb.hvp(lambda: (inner * inner * inner).sum(), inner, [1.0]).tolist() == [24.0]
    assert w.grad is None
    inner.sum().backward()
    assert w.grad.tolist() == [4.0]


def test_hvp_is_symmetric_for_a_module():
    layers = [fnb.nn.Linear(3, 5, dtype="float64"), fnb.nn.LayerNorm(5, dtype="float64")]
    x, targets = f64(draw(4, 3)), [0, 4, 2, 2]
    params = [p for layer in layers for p in layer.parameters()]
    loss = lambda: ops.cross_entropy(layers[1](ops.gelu(layers[0](x))), targets)  # noqa: E731
    u, v = ([draw(*p.shape, seed=seed) for p in params] for seed in (1, 2))
    one, other = (
        sum(np.vdot(a, h.numpy()) for a, h in zip(left, fnb.hvp(loss, params, right), strict=True))
        for left, right in ((u, v), (v, u))
    )
    assert one == pytest.approx(other, rel=1e-12)
    assert one != 0


def test_hvp_inside_a_derivative_is_differentiated():
    """The derivative of v H(x) v by x is that of the third order: 6 v^2."""
    v = draw(2, seed=1)
    curvature = lambda x: (fnb.hvp(lambda: cubic(x), x, v) * f64(v)).sum()  # noqa: E731
    np.testing.assert_allclose(fnb.grad(curvature)(f64(draw(2))).numpy(), 6 * v**2, rtol=1e-14)


# jacobian and hessian


def test_jacobian_has_the_shape_of_the_result_then_of_the_argument():
    x, w = draw(2, 3), draw(3, 4, seed=1)
    found = fnb.jacobian(lambda x: x @ f64(w))(f64(x))
    wanted = np.einsum("ai,kj->ajik", np.eye(2), w)
    assert found.shape == (2, 4, 2, 3)
    np.testing.assert_array_equal(found.numpy(), wanted)
    assert not found.requires_grad


def test_jacobian_of_several_arguments_and_results():
    f = lambda x, y, k=1.0: (x * y * k, y.sum())  # noqa: E731
    found = fnb.jacobian(f, (1, 0))(f64([1.0, 2.0]), f64([3.0, 4.0]), k=10.0)
    assert [[b.tolist() for b in blocks] for blocks in found] == [
        [[[10.0, 0.0], [0.0, 20.0]], [[30.0, 0.0], [0.0, 40.0]]],
        [[1.0, 1.0], [0.0, 0.0]],
    ]
    assert fnb.jacobian(f, -1)(f64([1.0]), f64([3.0]))[0].tolist() == [[1.0]]


def test_jacobian_of_nothing_and_of_a_constant():
    assert fnb.jacobian(lambda x: x[:0])(f64([1.0, 2.0])).shape == (0, 2)
    assert fnb.jacobian(lambda x: f64([1.0]))(f64([1.0, 2.0])).tolist() == [[0.0, 0.0]]


def test_jacobian_agrees_with_jvp_in_float32():
    x, v = fnb.tensor(draw(5).astype("float32")), draw(5, seed=1).astype("float32")
    found = fnb.jacobian(ops.softmax)(x)
    assert found.dtype.name == "float32"
    np.testing.assert_allclose(found.numpy() @ v, fnb.jvp(ops.softmax, [x], [v])[1].numpy(), rtol=1e-5, atol=1e-7)


def test_hessian_of_one_and_of_several_arguments():
    x = draw(3)
    np.testing.assert_allclose(fnb.hessian(cubic)(f64(x)).numpy(), cubic_hessian(x), rtol=1e-14)
    found = fnb.hessian(lambda x, y: (x * x).sum() * y, (0, 1))(f64([1.0, 2.0]), f64(5.0))
    assert [[b.tolist() for b in row] for row in found] == [
        [[[10.0, 0.0], [0.0, 10.0]], [2.0, 4.0]],
        [[2.0, 4.0], 0.0],
    ]


def test_hessian_is_zero_where_the_function_is_linear():
    assert fnb.hessian(lambda x: x.sum())(f64([1.0, 2.0])).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_hessian_of_attention_is_symmetric():
    """And its rows are the products with unit vectors."""
    x = draw(1, 3, 6)
    f = lambda qkv: (ops.attention(qkv, 2) * f64(draw(1, 3, 2, seed=1))).sum()  # noqa: E731
    whole = fnb.hessian(f)(f64(x)).numpy().reshape(18, 18)
    np.testing.assert_allclose(whole, whole.T, atol=1e-14)
    leaf, unit = f64(x, requires_grad=True), np.eye(18)[7].reshape(x.shape)
    np.testing.assert_allclose(fnb.hvp(lambda: f(leaf), leaf, unit).numpy().ravel(), whole[7], atol=1e-14)


# Routines


def test_a_routine_takes_second_derivatives_with_the_bits_of_eager_code():
    x, v = f64(draw(4)), f64(draw(4, seed=1))

    def step(x, v):
        loss = lambda x: (ops.log_softmax(x * x) * v).sum()  # noqa: E731
        return fnb.jvp(fnb.grad(loss), [x], [v])[1], fnb.hessian(loss)(x)

    for found, wanted in zip(fnb.compile(step)(x, v), step(x, v), strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_a_routine_sweeps_a_sweep():
    """A penalty on the gradient, by create_graph: the leaf gets the gradient of loss and penalty."""
    w, x = f64(draw(3), requires_grad=True), f64(draw(3, seed=1))

    def step(x):
        w.grad = None
        loss = (ops.gelu(w) * x).sum()
        loss.backward(create_graph=True)
        (w.grad * w.grad).sum().backward()
        return w.grad

    found = fnb.compile(step)(x).numpy().copy()
    w.grad = None
    np.testing.assert_array_equal(found, step(x).numpy())


# Refusals


def once(x):
    """The square, by an op whose gradient has no rule."""

    def backward(dout):
        return (once_grad(x, dout),)

    return record((x * x).detach(), (x,), backward)


def once_grad(x, dout):
    refuse_tracked("once_grad", (x, dout))
    return 2.0 * x * dout


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: fnb.hessian(f)(x),
        lambda f, x: fnb.jvp(f, [x], [[1.0]]),
        lambda f, x: fnb.hvp(lambda: f(x), x, [1.0]),
    ],
    ids=["hessian", "jvp", "hvp"],
)
def test_an_op_that_cannot_says_so_by_name(derivative):
    with pytest.raises(TapeError, match="once_grad has no backward rule.*a second derivative"):
        derivative(lambda x: once(x).sum(), f64([1.0], requires_grad=True))


def test_wrong_tangents_and_vectors_are_refused():
    x = f64([1.0, 2.0], requires_grad=True)
    with pytest.raises(ArgumentError, match="jvp got 1 arguments and 2 vectors: give one vector for each"):
        fnb.jvp(cubic, [x], [x, x])
    with pytest.raises(ShapeError, match=r"jvp got a vector of shape \(3,\) for argument 0 of shape \(2,\)"):
        fnb.jvp(cubic, [x], [[1.0, 2.0, 3.0]])
    with pytest.raises(DTypeError, match="jvp got a vector of dtype float32 on cpu for argument 0 of dtype float64"):
        fnb.jvp(cubic, [x], [fnb.tensor([1.0, 2.0])])
    with pytest.raises(ShapeError, match=r"hvp got a vector of shape \(\) for parameter 'x' of shape \(2,\)"):
        fnb.hvp(lambda: cubic(x), {"x": x}, {"x": 1.0})
    with pytest.raises(ArgumentError, match=r"parameters \['x'\] and vectors for \['y'\]: give one vector for each"):
        fnb.hvp(lambda: cubic(x), {"x": x}, {"y": x})


def test_what_is_not_differentiable_is_refused():
    x, n = f64([1.0, 2.0]), fnb.tensor([1, 2])
    with pytest.raises(TapeError, match="hvp got parameter 0, which is not tracked: create it with requires_grad=True"):
        fnb.hvp(lambda: cubic(x), x, x)
    with pytest.raises(TapeError, match="hvp got parameter 'n', which is not tracked"):
        fnb.hvp(lambda: cubic(x), {"n": n}, {"n": n})
    for derivative in (fnb.jacobian(cubic), fnb.hessian(cubic), lambda n: fnb.jvp(cubic, [n], [n])):
        with pytest.raises(DTypeError, match="int64 cannot require a gradient"):
            derivative(n)
    with pytest.raises(DTypeError, match="jacobian got a result of dtype int64: only floats have derivatives"):
        fnb.jacobian(lambda x: ops.argmax(x))(x)


def test_results_of_a_wrong_kind_are_refused():
    x = f64([1.0, 2.0], requires_grad=True)
    with pytest.raises(ArgumentError, match=r"hessian needs a .* of one element, got shape \(2,\): sum it first"):
        fnb.hessian(lambda x: x * x)(x)
    with pytest.raises(ArgumentError, match=r"hvp needs a .* of one element, got shape \(2,\): sum it first"):
        fnb.hvp(lambda: x * x, x, x)
    for name, derivative in (("jacobian", fnb.jacobian(lambda x: 1.0)), ("jvp", lambda x: fnb.jvp(list, [x], [x]))):
        with pytest.raises(ArgumentError, match=f"{name} needs a function that returns a tensor or a tuple of them"):
            derivative(x)
    with pytest.raises(ArgumentError, match="argnums=1 does not fit a call with 1 positional"):
        fnb.jacobian(cubic, 1)(x)
    with pytest.raises(ArgumentError, match="argnums=1 does not fit a call with 1 positional"):
        fnb.hessian(cubic, 1)(x)


def test_nothing_to_differentiate_by_gives_nothing():
    x = f64([1.0, 2.0], requires_grad=True)
    assert fnb.hvp(lambda: cubic(x), [], []) == []
    assert fnb.hvp(lambda: cubic(x), {}, {}) == {}
    value, slope = fnb.jvp(lambda: cubic(x), [], [])
    assert (value.item(), slope.item()) == (cubic(x).item(), 0.0)


def test_vectors_of_a_dict_are_found_by_name():
    x, y = f64([1.0, 2.0], requires_grad=True), f64(3.0, requires_grad=True)
    found = fnb.hvp(lambda: (x * x).sum() + y * y * y, {"x": x, "y": y}, {"y": 1.0, "x": [1.0, 0.0]})
    assert {name: h.tolist() for name, h in found.items()} == {"x": [2.0, 0.0], "y": 18.0}
    with pytest.raises(ArgumentError, match=r"parameters \[0\] and vectors for \[0\]: give"):
        fnb.hvp(lambda: cubic(x), [x], {0: x})


def test_arguments_of_a_wrong_form_are_refused():
    x = f64([1.0, 2.0])
    for given in ((x, [x]), ([x], x), ({"x": x}, [x]), (2.0, [1.0])):
        with pytest.raises(ArgumentError, match="jvp got (primals|tangents) of type .*: give a list, one entry for"):
            fnb.jvp(cubic, *given)
    for vector in ("abc", [[1.0], [1.0, 2.0]], [1j, 0.0], None):
        with pytest.raises(ArgumentError, match="needs numbers"):
            fnb.jvp(cubic, [x], [vector])


def test_a_loss_of_whole_numbers_has_no_derivative():
    def whole(x):
        return x.sum().astype("int64")

    x = f64([1.0, 2.0], requires_grad=True)
    for name, derivative in (("grad", fnb.grad(whole)), ("hessian", fnb.hessian(whole))):
        with pytest.raises(DTypeError, match=f"{name} got a result of dtype int64: only floats have derivatives"):
            derivative(x)
    with pytest.raises(DTypeError, match="hvp got a result of dtype int64"):
        fnb.hvp(lambda: whole(x), x, x)
