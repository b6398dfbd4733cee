"""Answers to the exercises of chapter 22."""

import json
import math

import numpy as np

import forgenb as fnb


def parts(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def read_tensor(data, name):
    header, body = parts(data)
    begin, end = header[name]["data_offsets"]
    return np.frombuffer(body[begin:end], "<f4").reshape(header[name]["shape"])


def rows_of(step, n, size, seed):
    epoch, place = divmod(step, n // size)
    return fnb.random.generator(seed, "rows", epoch).permutation(n)[place * size : (place + 1) * size]


def is_whole(data, *, sizes=True, gaps=True, more=True):
    try:
        length = int.from_bytes(data[:8], "little")
        header, body = parts(data)
        header.pop("__metadata__", None)
        spans = sorted((about["data_offsets"], about["shape"]) for about in header.values())
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    end = 0
    for (begin, stop), shape in spans:
        if (gaps and begin != end) or (sizes and stop - begin != 4 * math.prod(shape)):
            return False
        end = stop
    return len(data) >= 8 + length and (len(body) == end if more else len(body) >= end)


RIGHT = {"22-1": read_tensor, "22-2": rows_of, "22-3": is_whole}


def from_file_start(data, name):
    header, _ = parts(data)
    begin, end = header[name]["data_offsets"]
    return np.frombuffer(data[begin:end], "<f4").reshape(header[name]["shape"])


def eight_early(data, name):
    header, _ = parts(data)
    begin, end = header[name]["data_offsets"]
    data = data[int.from_bytes(data[:8], "little") :]
    return np.frombuffer(data[begin:end], "<f4").reshape(header[name]["shape"])


def parses(data):
    try:
        return isinstance(parts(data)[0], dict)
    except ValueError:
        return False


def in_header_order(data):
    header, body = parts(data)
    end = 0
    for name, about in header.items():
        if name != "__metadata__":
            if about["data_offsets"][0] != end:
                return False
            end = about["data_offsets"][1]
    return end == len(body)


def added_up(data):
    try:
        header, body = parts(data)
        header.pop("__metadata__", None)
        return len(body) == sum(4 * math.prod(about["shape"]) for about in header.values() if about["data_offsets"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


WRONG = [
    ("22-1", "returns float64", lambda data, name: read_tensor(data, name).astype("float64"), "float32 is asked for"),
    ("22-2", "returns floats", lambda *a: [float(row) for row in rows_of(*a)], "whole numbers are asked for"),
    ("22-1", "forgets the shape", lambda data, name: read_tensor(data, name).ravel(), "the shape is not used"),
    ("22-1", "counts from the start of the file", from_file_start, "not from the start of the file"),
    ("22-1", "forgets eight bytes", eight_early, "which is 8 bytes later"),
    ("22-1", "reads the high byte first", lambda data, name: read_tensor(data, name).byteswap(), "the other way round"),
    (
        "22-1",
        "fills columns",
        lambda data, name: read_tensor(data, name).ravel().reshape(read_tensor(data, name).shape, order="F"),
        "where the last one runs fastest",
    ),
    ("22-2", "shuffles once", lambda step, n, size, seed: rows_of(step % (n // size), n, size, seed), "of the first"),
    ("22-2", "takes steps for epochs", lambda step, n, size, seed: _rows(step, 0, n, size, seed), "shuffles anew"),
    ("22-2", "keeps the rest", lambda step, n, size, seed: _rows(*divmod(step, -(-n // size)), n, size, seed), "none"),
    ("22-2", "forgets the seed", lambda step, n, size, seed: rows_of(step, n, size, 0), "the seed has no effect"),
    ("22-2", "counts from 1", lambda step, n, size, seed: rows_of(max(step - 1, 0), n, size, seed), "from 1 here"),
    ("22-3", "only parses", parses, "the numbers do not reach the end"),
    ("22-3", "goes by the header's order", in_header_order, "only their places count"),
    ("22-3", "adds up sizes", added_up, "the second begins before the first ends"),
    ("22-3", "ignores what follows", lambda data: is_whole(data, more=False), "fill all of the rest"),
    ("22-3", "ignores shapes", lambda data: is_whole(data, sizes=False), "contradict each other"),
    ("22-3", "allows gaps", lambda data: is_whole(data, gaps=False), "may hide something"),
    ("22-3", "raises", lambda data: bool(parts(data)) and is_whole(data), "raises JSONDecodeError"),
    ("22-3", "returns nothing", lambda data: None, "it returns None, where it must be True or False"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""


def _rows(epoch, place, n, size, seed):
    return fnb.random.generator(seed, "rows", epoch).permutation(n)[place * size : (place + 1) * size]
