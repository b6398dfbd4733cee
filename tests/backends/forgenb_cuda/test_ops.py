"""Every op at tiny sizes on the lane interpreter, watched for races: the reference's values and the CPU's gradients."""

import numpy as np
import pytest
from support.small import small

import forgenb as fnb
from forgenb.ops import TABLE
from forgenb.testing.kit import check_backend
from forgenb.testing.samples import backward, call, differentiable, expected, leaves, samples

NAMES = sorted(TABLE)
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def outputs_and_gradients(name, sample):
    tensors = leaves(name, sample)
    outputs = call(name, tensors, sample)
    backward(outputs)
    return outputs, [tensors[place].grad for place in differentiable(name, sample)]


def close(found, wanted, tolerance):
    largest = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("name", NAMES)
def test_an_op_agrees_with_its_reference_and_its_gradients_with_the_cpu(cuda, name):
    for sample in (s.cast("float32") for s in small(name)):
        with fnb.use("cuda"):
            outputs, gradients = outputs_and_gradients(name, sample)
        on_cpu = outputs_and_gradients(name, sample)
        for out, wanted in zip(outputs, expected(name, sample), strict=True):
            assert out.backend is cuda
            close(out.numpy(), wanted, TOLERANCE["float32"])
        for found, wanted in zip([*outputs, *gradients], [*on_cpu[0], *on_cpu[1]], strict=True):
            assert (found is None) == (wanted is None)
            if found is not None:
                assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
                close(found.numpy(), wanted.numpy(), 2e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", [name for name in NAMES if not TABLE[name].in_place])
def test_an_op_in_other_dtypes(cuda, name, dtype):
    for sample in (s.cast(dtype) for s in small(name)[:2]):
        with fnb.use("cuda"):
            outputs = call(name, [fnb.tensor(a) for a in sample.arrays], sample)
        for out, wanted in zip(outputs, expected(name, sample), strict=True):
            close(out.numpy(), wanted, TOLERANCE[dtype])


@pytest.mark.parametrize("name", NAMES)
def test_an_op_passes_the_kit_on_its_smallest_samples(cuda, name):
    """Layouts, special values, accumulation, memory and ids too."""
    least = min(max(a.size for a in s.arrays) for s in samples(name) if all(a.size for a in s.arrays))
    results = list(check_backend("cuda", [name], ("float32", "int64"), largest=max(8, least)))
    assert [r.message for r in results if r.ok is False or r.unsupported] == []
    assert {r.check for r in results if r.ok} >= {"forward", "determinism"}


POINTWISE = ["exp", "log", "tanh", "sigmoid", "gelu", "sqrt", "pow", "div"]


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_maths_has_the_bits_of_the_cpu(cuda, name):
    for sample in (s.cast("float32") for s in small(name)):
        with fnb.use("cuda"):
            (found,) = call(name, [fnb.tensor(a) for a in sample.arrays], sample)
        (wanted,) = call(name, [fnb.tensor(a) for a in sample.arrays], sample)
        assert found.numpy().tobytes() == np.ascontiguousarray(wanted.numpy()).tobytes()


def test_dropout_masks_are_those_of_the_cpu(cuda):
    x = np.ones((5, 41), np.float32)
    for seed, offset, p in ((0, 0, 0.1), (2**32 - 1, 7, 0.5), (12345, 2**32 - 3, 0.9)):
        found = fnb.ops.dropout(fnb.tensor(x, backend="cuda"), p, seed, offset).numpy()
        wanted = fnb.ops.dropout(fnb.tensor(x), p, seed, offset).numpy()
        assert found.tobytes() == wanted.tobytes()
        kept = fnb.random.dropout_keep(x.size, p, seed, offset).reshape(x.shape)
        np.testing.assert_array_equal(found != 0, kept)
