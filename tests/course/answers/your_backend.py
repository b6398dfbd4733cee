"""Answers to the exercises of chapter 20."""

import struct

import numpy as np


def view(data, dtype, offset, shape, strides):
    flat = np.frombuffer(bytes(data), dtype)
    steps = [s * dtype.itemsize for s in strides]
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps).copy()


def read_block(symbols, scalars, operands, block):
    names = [*symbols, *(name for name, _ in scalars), *operands]
    kinds = dict(scalars)
    form = "=" + "".join("d" if kinds.get(name) == "real" else "q" for name in names)
    return dict(zip(names, struct.unpack(form, block), strict=True))


def product(a, b, trans_a, trans_b):
    return (a.T if trans_a else a) @ (b.T if trans_b else b)


def gemm(a, b, out, bias, trans_a, trans_b, alpha, beta):
    added = bias if bias is not None else beta * out if beta else 0.0
    out[...] = alpha * product(a, b, trans_a, trans_b) + added


RIGHT = {"20-1": view, "20-2": read_block, "20-3": gemm}


def not_a_copy(data, dtype, offset, shape, strides):
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, data, offset * dtype.itemsize, [s * dtype.itemsize for s in strides])


def without_strides(data, dtype, offset, shape, strides):
    count = int(np.prod(shape))
    return np.frombuffer(bytes(data), dtype)[offset:][:count].reshape(shape)


def offset_in_bytes(data, dtype, offset, shape, strides):
    rest = bytes(data[offset:]) + bytes(offset)
    return view(rest, dtype, 0, shape, strides)


def without_offset(data, dtype, offset, shape, strides):
    return view(data, dtype, 0, shape, strides)


def turned(data, dtype, offset, shape, strides):
    return view(data, dtype, offset, shape[::-1], strides[::-1])


def in_float64(data, dtype, offset, shape, strides):
    return view(data, dtype, offset, shape, strides).astype("float64")


def by(form):
    def answer(symbols, scalars, operands, block):
        names = [*symbols, *(name for name, _ in scalars), *operands]
        return dict(zip(names, struct.unpack(form(len(names)), block), strict=True))

    return answer


def half_slots(symbols, scalars, operands, block):
    found = read_block(symbols, scalars, operands, block)
    names = list(found)
    return found | {name: struct.unpack_from("=i", block, 8 * names.index(name))[0] for name in operands}


def operands_first(symbols, scalars, operands, block):
    return read_block(operands, scalars, symbols, block)


def scalars_only(symbols, scalars, operands, block):
    found = read_block(symbols, scalars, operands, block)
    return {name: found[name] for name, _ in scalars}


def adds(rule):
    def answer(a, b, out, bias, trans_a, trans_b, alpha, beta):
        out[...] = rule(product(a, b, trans_a, trans_b), out.copy(), bias, alpha, beta)

    return answer


def shifted(bias):
    return 0.0 if bias is None else bias


def spoiling(a, b, out, bias, *others):
    gemm(a, b, out, bias, *others)
    a *= 0.5


def reads_out_with_a_bias(a, b, out, bias, trans_a, trans_b, alpha, beta):
    kept = 0.0 if bias is None else 0.0 * out
    gemm(a, b, out, bias, trans_a, trans_b, alpha, beta)
    out += kept


WRONG = [
    ("20-3", "scales a", spoiling, "a is no longer what it was"),
    ("20-3", "reads out beside a bias", reads_out_with_a_bias, "nothing of out may be read"),
    ("20-1", "returns a window", not_a_copy, "it is no copy"),
    ("20-1", "forgets strides", without_strides, "the strides are not looked at"),
    ("20-1", "forgets the offset", without_offset, "the offset is not looked at"),
    ("20-1", "takes the offset as bytes", offset_in_bytes, "the offset is taken as bytes"),
    ("20-1", "turns the axes", turned, "the axes of the result are in the wrong order"),
    ("20-1", "has another dtype", in_float64, "the result has dtype float64, and the window has float32"),
    ("20-1", "returns nothing", lambda *_: None, "returns None"),
    ("20-2", "reads integers", by(lambda n: f"={n}q"), "eps is 4532020583610935537: its bytes were read as an integer"),
    ("20-2", "reads floats", by(lambda n: f"={n}d"), "its bytes were read as a float64"),
    ("20-2", "reads backwards", by(lambda n: f">{n}q"), "with the highest first"),
    ("20-2", "reads four bytes", half_slots, "four of its eight bytes were read"),
    ("20-2", "has operands first", operands_first, "stands in another place of the block"),
    ("20-2", "leaves sizes out", scalars_only, "the names are ['eps']"),
    ("20-2", "returns a list", lambda *given: list(read_block(*given).values()), "a dictionary is asked for"),
    ("20-3", "returns the product", lambda a, b, *_: a @ b if a.shape[-1] == len(b) else None, "out is as it was"),
    ("20-3", "lets NaN in", adds(lambda p, out, bias, alpha, beta: alpha * p + beta * out), "beta times NaN is NaN"),
    (
        "20-3",
        "adds out to the bias",
        adds(lambda p, out, bias, alpha, beta: alpha * p + shifted(bias) + (beta * out if beta else 0.0)),
        "added although there is a bias",
    ),
    (
        "20-3",
        "scales the bias",
        adds(
            lambda p, out, bias, alpha, beta: (
                alpha * (p + bias) if bias is not None else alpha * p + (beta and beta * out)
            )
        ),
        "alpha scales the bias too",
    ),
    ("20-3", "forgets beta", adds(lambda p, out, bias, alpha, beta: alpha * p + shifted(bias)), "the product alone"),
    (
        "20-3",
        "scales out by alpha",
        adds(lambda p, out, bias, alpha, beta: alpha * (p + (beta and beta * out))),
        "alpha scales what was in out too",
    ),
    (
        "20-3",
        "does not turn b",
        lambda a, b, out, bias, trans_a, trans_b, alpha, beta: gemm(a, b, out, bias, trans_a, False, alpha, beta),
        "gemm raises ValueError",
    ),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
