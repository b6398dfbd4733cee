"""Result dtypes: every op on every pair as the table says, integers of 32 bits as NumPy has them, Python numbers.

The rule is decided above the backends, so all pairs run on the one that compiles nothing, and a few on the others.
"""

import itertools

import numpy as np
import pytest
from support.cuda import installed, lane_backend

import forgenb as fnb
from forgenb import ops
from forgenb.dtypes import ORDER, RULES, as_dtype, float_dtype, result_dtype, scalar_dtype
from forgenb.errors import ArgumentError, DTypeError
from forgenb.ops import TABLE
from forgenb.testing.samples import call, ruled_dtype, samples

BACKENDS = ("cpu", "python", "cuda")
FLOAT32, FLOAT16, FLOAT64 = (np.dtype(name) for name in ("float32", "float16", "float64"))


@pytest.fixture(autouse=True, scope="module")
def _lanes():
    with installed(lane_backend()):
        yield


def sample_of(name):
    """The smallest sample of a row with the most operands."""
    found = [s for s in samples(name) if s.reals and all(a.size for a in s.arrays)]
    return min(found, key=lambda s: (-len(s.reals), sum(a.size for a in s.arrays)))


def dtypes_of(reals):
    """All dtypes of one operand, all pairs for two or more, and a third that differs alone."""
    if reals == 1:
        return [(d,) for d in ORDER]
    pairs = [(x, *[y] * (reals - 1)) for x, y in itertools.product(ORDER, repeat=2)]
    return pairs + ([(FLOAT32, FLOAT32, *[d] * (reals - 2)) for d in ORDER] if reals > 2 else [])


def mixed(sample, dtypes):
    """The sample with an operand in each dtype; all are positive, since an integer has no negative powers."""
    cast = sample
    for place, dtype in zip(sample.reals, dtypes, strict=True):
        cast = cast.changed(place, np.abs(sample.cast(dtype).arrays[place]).astype(dtype))
    return cast


@pytest.mark.parametrize("name", sorted(TABLE))
def test_an_op_on_all_dtypes_gives_what_the_table_says(name):
    sample = sample_of(name)
    for dtypes in dtypes_of(len(sample.reals)):
        cast = mixed(sample, dtypes)
        wanted = ruled_dtype(name, cast)
        with fnb.use("python"):
            operands = [fnb.tensor(a) for a in cast.arrays]
            if wanted is None:
                with pytest.raises(DTypeError, match=r"dtype|float"):
                    call(name, operands, cast)
            else:
                assert {out.dtype for out in call(name, operands, cast)} == {wanted}, dtypes


@pytest.mark.parametrize("rule", RULES)
def test_an_op_of_each_rule_on_every_backend(rule):
    """The first op of the rule, on the first operands that differ in dtype, or else the first that it takes."""
    name = next(name for name, row in TABLE.items() if row.dtypes == rule)
    sample = sample_of(name)
    found = [mixed(sample, dtypes) for dtypes in dtypes_of(len(sample.reals))]
    found = [cast for cast in found if ruled_dtype(name, cast) is not None]
    cast = next((c for c in found if len({c.arrays[p].dtype for p in c.reals}) > 1), found[0])
    results = []
    for backend in BACKENDS:
        with fnb.use(backend):
            outputs = call(name, [fnb.tensor(a) for a in cast.arrays], cast)
        assert {out.dtype for out in outputs} == {ruled_dtype(name, cast)}
        results.append([out.numpy() for out in outputs])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            np.testing.assert_allclose(one.astype(float), two.astype(float), rtol=2e-3)  # some of them are float16


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("first", "second"), [("int32", "int32"), ("int32", "float16"), ("bool", "int64")])
def test_a_pair_on_every_backend(backend, first, second):
    with fnb.use(backend):
        x, y = (fnb.tensor(np.array([1, 0, 1]).astype(d)) for d in (first, second))
        assert (x + y).dtype == result_dtype(x.dtype, y.dtype)
        assert (x + y).tolist() == (x.numpy().astype(float) + y.numpy()).tolist()
        assert (x < y).dtype.name == "bool"
        assert (y / (x + 1)).dtype == float_dtype(result_dtype(x.dtype, y.dtype))


@pytest.mark.parametrize("dtype", ORDER, ids=lambda d: d.name)
@pytest.mark.parametrize("number", [True, 2, 0.5])
def test_a_python_number_does_not_promote(dtype, number):
    kind = {bool: "b", int: "i", float: "f"}[type(number)]
    with fnb.use("python"):
        x = fnb.tensor(np.ones(2, dtype))
        assert (x + number).dtype == (number + x).dtype == scalar_dtype(kind, dtype)
        assert ops.maximum(x, number).dtype == ops.where(x > 0, x, number).dtype == scalar_dtype(kind, dtype)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(0.1, "float64"), (1 + 2**-11 + 2**-26, "float16"), (16777217.0, "int64")],
)
def test_a_number_is_rounded_once_to_the_dtype_that_is_asked_for(number, dtype):
    """By way of float32 each would become another one."""
    wanted = np.array([number]).astype(dtype).tolist()
    assert fnb.tensor([number], dtype=dtype).tolist() == wanted
    assert fnb.tensor(number, dtype=dtype).tolist() == wanted[0]
    assert fnb.tensor([number]).dtype == "float32"


@pytest.mark.parametrize("backend", ["cpu", "python", "cuda"])
def test_a_list_beside_a_float64_tensor_keeps_its_digits(backend):
    x = fnb.tensor(np.zeros(2), backend=backend)
    for found in (x + [0.1, 0.2], [0.1, 0.2] + x, ops.maximum(x, [0.1, 0.2]), x.copy().assign_([0.1, 0.2])):
        assert found.tolist() == [0.1, 0.2]
    x[...] = [0.1, 0.3]
    assert x.tolist() == [0.1, 0.3]
    assert (x.astype("float32") + [0.1, 0.2]).dtype == (x.astype("float16") + [0.1, 0.2]).dtype == "float32"
    assert ops.take(x, [1, 0]).tolist() == [0.3, 0.1]


def test_settings_of_clip_count_as_python_numbers():
    x = fnb.tensor(np.array([-3, 5], "int32"))
    assert ops.clip(x, -1, 2).dtype.name == "int32"
    assert ops.clip(x, low=-0.5).dtype.name == "float32"
    rule = RULES["numbers"].result
    assert rule([x.dtype], {"low": -1}).name == "int32"
    assert rule([x.dtype], {"low": -0.5}).name == "float32"


@pytest.mark.parametrize("backend", BACKENDS)
def test_integers_of_32_bits_wrap_around_as_in_numpy(backend):
    x, y = np.array([2**31 - 1, -(2**31), 7], "int32"), np.array([1, -1, -3], "int32")
    with fnb.use(backend):
        a, b = fnb.tensor(x), fnb.tensor(y)
        for found, wanted in ((a + b, x + y), (a - b, x - y), (a * b, x * y)):
            assert found.dtype.name == "int32"
            assert found.tolist() == wanted.tolist()
        assert (a.sum().dtype.name, a.sum().item()) == ("int64", int(x.sum(dtype="int64")))
        assert (a.max().dtype.name, a.max().item()) == ("int32", 2**31 - 1)


def test_other_ops_on_integers_of_32_bits():
    x = np.array([[5, -3, 0], [2, 2, -7]], "int32")
    a = fnb.tensor(x)
    for found, wanted in (
        (a.T, x.T),
        (a[1, ::2], x[1, ::2]),
        (ops.concat([a, a]), np.concatenate([x, x])),
        (ops.where(a > 0, a, -a), np.where(x > 0, x, -x)),
        (ops.einsum("ij,kj->ik", a, a), np.einsum("ij,kj->ik", x, x)),
        (ops.dot(a, a.T), np.dot(x, x.T)),
        (ops.dot(a, fnb.tensor(np.stack([x.T, x.T]))), np.dot(x, np.stack([x.T, x.T]))),
        (ops.cumsum(a, 1), np.cumsum(x, 1)),
    ):
        assert (found.dtype, found.tolist()) == (wanted.dtype, wanted.tolist())


@pytest.mark.parametrize("backend", BACKENDS)
def test_conversions_from_and_to_int32(backend):
    with fnb.use(backend):
        x = fnb.tensor(np.array([-2.75, 0.0, 3.5], "float32")).astype("int32")
        assert (x.dtype.name, x.tolist()) == ("int32", [-2, 0, 3])
        for dtype, wanted in (("bool", [True, False, True]), ("int64", [-2, 0, 3]), ("float16", [-2.0, 0.0, 3.0])):
            assert x.astype(dtype).tolist() == wanted
        assert fnb.tensor([2**31 + 5]).astype("int32").tolist() == [5 - 2**31]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_ids_and_targets_in_either_integer(dtype):
    ids = fnb.tensor(np.array([2, 0, 1], dtype))
    x = fnb.tensor(np.arange(9.0).reshape(3, 3))
    assert ops.take(x, ids).tolist() == x.numpy()[[2, 0, 1]].tolist()
    assert x[ids].tolist() == x.numpy()[[2, 0, 1]].tolist()
    assert ops.embedding(ids, x).tolist() == x.numpy()[[2, 0, 1]].tolist()
    assert ops.cross_entropy(x, ids).item() == ops.cross_entropy(x, [2, 0, 1]).item()
    assert ops.scatter_add(ids, x, 3).tolist() == x.numpy()[[1, 2, 0]].tolist()
    assert ops.take_along_axis(x, ids.reshape(3, 1), 1).tolist() == [[2.0], [3.0], [7.0]]


@pytest.mark.parametrize(
    ("call", "dtypes"),
    [
        (lambda y, dout: ops.softmax_grad(y, dout), ("float32", "float64")),
        (lambda y, dout: ops.log_softmax_grad(y, dout), ("float64", "float16")),
        (
            lambda x, dout: ops.attention_grad(x.reshape(1, 2, 3), dout.reshape(1, 2, 3)[:, :, :1], 1),
            ("float32", "float64"),
        ),
        (lambda x, dout: ops.rmsnorm_grad(x, x[0], dout), ("float32", "float16")),
    ],
)
def test_a_row_kernel_reads_no_numbers_of_another_dtype(call, dtypes):
    with pytest.raises(DTypeError, match="dtype"):
        call(*(fnb.tensor(np.ones((2, 3), d)) for d in dtypes))


def test_a_bias_of_a_later_dtype_widens_a_product():
    a = fnb.tensor(np.ones((2, 3), "float32"), requires_grad=True)
    bias = fnb.tensor(np.array([1e-9, 0.0]), requires_grad=True)
    out = ops.matmul(a, fnb.tensor(np.ones((3, 2), "float32")), bias)
    assert out.tolist() == [[3.000000001, 3.0]] * 2
    out.sum().backward()
    assert (a.grad.dtype, bias.grad.dtype) == (FLOAT32, FLOAT64)


def test_an_integer_never_widens_a_loss():
    x, y = fnb.tensor(np.array([0.5, 1.0], "float16")), fnb.tensor([1, 0])
    for loss in (ops.mse_loss, ops.l1_loss, ops.huber_loss, ops.bce_with_logits):
        assert loss(x, y).dtype == FLOAT16


@pytest.mark.parametrize("wrong", ["float8", "complex64", object()])
def test_other_dtypes_are_refused(wrong):
    with pytest.raises(DTypeError, match="is not supported: use one of bool, int32"):
        as_dtype(wrong)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_whole_numbers_beyond_int32_are_refused_and_arrays_wrap_around(value):
    with pytest.raises(ArgumentError, match=rf"got {value}, which int32 cannot hold: .* use int64"):
        fnb.tensor([1, value], dtype="int32")
    assert fnb.tensor(np.array([value]), dtype="int32").item() == np.array([value]).astype("int32").item()
