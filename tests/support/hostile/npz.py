"""Hostile npz archives, made from a valid one of `ARRAYS`."""

import functools
import io
import struct
import zipfile
import zlib

import numpy as np

from .case import Case, cut, foreign, no_files, of_bytes, plain, sparse

ARRAYS = {
    "w": np.arange(30, dtype="float32").reshape(6, 5) / 7,
    "b": np.arange(5, dtype="float32"),
    "scale": np.array(0.5),
    "half": np.arange(4, dtype="float16"),
    "inner.w": np.arange(15, dtype="float32").reshape(5, 3),
}
NAMES = list(ARRAYS)
BOMB = 66 << 20


def archive(members, method=zipfile.ZIP_STORED):
    """A zip file of (name, bytes)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, data in members:
            made.writestr(zipfile.ZipInfo(name), data, method)
    return file.getvalue()


def array_bytes(array):
    """An array in NumPy's format."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array))
    return file.getvalue()


def members(**changed):
    """The members of a valid archive; a keyword gives other bytes, or None to leave one out."""
    rows = {name: array_bytes(array) for name, array in ARRAYS.items()} | changed
    return [(f"{name}.npy", data) for name, data in rows.items() if data is not None]


def valid():
    """A valid archive."""
    return archive(members())


def header(text, version=(1, 0), data=b""):
    """The start of an array in NumPy's format, with any text as its header."""
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text + data


def described(descr="'<f4'", order="False", shape="(6, 5)", rest=""):
    """The header and values of ``w``, with other words in it."""
    return header(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}{rest}}}\n".encode(), data=bytes(120))


HEADERS = {
    "object": described("'|O'"),
    "text": described("'<U1'"),
    "structure": described("[('a', '<f2'), ('b', '<f2')]"),
    "subarray": described("('<f2', (2,))"),
    "date": described("'<M8[s]'"),
    "no-dtype": described("'nonsense'"),
    "dtype-is-a-number": described("4"),
    "big-endian": described("'>f4'"),
    "negative-shape": described(shape="(-6, -5)"),
    "shape-of-bools": described(shape="(True, 5)"),
    "shape-of-floats": described(shape="(6.0, 5.0)"),
    "shape-is-a-list": described(shape="[6, 5]"),
    "shape-is-huge": described(shape=f"({2**62}, {2**62})"),
    "shape-is-large": described(shape=f"({2**34},)"),
    "many-axes": described(shape=f"({'1, ' * 70})"),
    "order-is-a-number": described(order="1"),
    "another-key": described(rest=", 'more': 1"),
    "code": described(shape="__import__('os').getcwd()"),
    "nested": header(b"(" * 3000),
    "signs": header(b"-" * 3000 + b"1"),
    "python-2": described(shape="(6L, 5L)"),
    "lacks-a-key": header(b"{'descr': '<f4', 'shape': (6, 5)}\n", data=bytes(120)),
    "not-ascii": header(b"\xff\xfe\xfd"),
    "too-long": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (6, 5)}" + b" " * 5000, data=bytes(120)),
    "claims-four-gigabytes": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(200),
    "claims-64-kilobytes": b"\x93NUMPY\x01\x00\xff\xff" + bytes(200),
    "version-3": header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (6, 5)}\n", (3, 0), bytes(120)),
    "version-9": header(b"{}", (9, 9)),
    "magic-only": b"\x93NUMPY",
    "no-magic": bytes(200),
    "no-bytes": b"",
    "a-byte-less": array_bytes(ARRAYS["w"])[:-1],
    "a-byte-more": array_bytes(ARRAYS["w"]) + b"\0",
    "values-twice": array_bytes(ARRAYS["w"]) + bytes(120),
}

PATHS = {
    "parent": "../w",
    "absolute": "/etc/w",
    "drive": "C:\\w",
    "drive-with-slash": "c:/w",
    "parent-of-windows": "..\\w",
    "parent-inside": "a/../../w",
    "share": "\\\\host\\w",
    "null": "w\0/w",
    "line": "w\nw",
    "nothing": "",
    "endless": "w" * 2000,
}

OTHERS = {
    "flat": ARRAYS["w"].reshape(-1),
    "transposed": ARRAYS["w"].T.copy(),
    "an-axis-more": ARRAYS["w"][None],
    "a-row-less": ARRAYS["w"][1:],
    "no-rows": ARRAYS["w"][:0],
    "one-number": ARRAYS["w"][0, 0],
    **{f"as-{name}": ARRAYS["w"].astype(name) for name in ("f2", "f8", "i4", "i8", "u4", "?", "c8", "S4")},
}


def patched(name, offset, form, value, mark=b"PK\x01\x02"):
    """A case with another number at an offset behind the first mark: of a member's entry, or of the end record."""

    def change(valid, source):
        data, place = bytearray(valid), valid.index(mark) + offset
        struct.pack_into(form, data, place, value)
        return bytes(data)

    return of_bytes(name, change)


def damaged_lists():
    """What the list of members says is not so."""
    yield patched("encrypted", 8, "<H", 1)
    for method in (1, 9, 12, 14, 93, 99):
        yield patched(f"method-{method}", 10, "<H", method)
    yield patched("said-to-be-deflated", 10, "<H", 8)
    yield patched("another-checksum", 16, "<I", 1)
    for size in (0, 1, 249, 2**31):
        yield patched(f"packed-size-{size}", 20, "<I", size)
        yield patched(f"size-{size}", 24, "<I", size)
    yield patched("begins-behind-the-end", 42, "<I", 2**31)
    yield patched("begins-in-the-middle", 42, "<I", 77)
    yield patched("another-name-in-the-list", 46, "<B", ord("v"))
    yield patched("needs-version-99", 6, "<B", 99)
    end = b"PK\x05\x06"
    yield patched("list-of-no-bytes", 12, "<I", 0, end)
    yield patched("list-of-two-gigabytes", 12, "<I", 2**31, end)
    yield patched("list-behind-the-end", 16, "<I", 2**31, end)


def values():
    """Numbers that are none, at a random place of each array."""
    for name in NAMES:
        for value in (np.nan, np.inf, -np.inf):

            def change(valid, source, name=name, value=value):
                array = ARRAYS[name].copy()
                array.reshape(-1)[source.randrange(array.size)] = value
                return archive(members(**{name: array_bytes(array)}))

            yield of_bytes(f"{value}-in-{name}", change)


def flips():
    """One bit of a member, which its checksum notices."""
    for name in NAMES:
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):

            def change(valid, source, name=name, method=method):
                data = bytearray(archive(members(), method))
                begin = data.index(name.encode() + b".npy") + len(name) + 4
                size = zipfile.ZipFile(io.BytesIO(data)).getinfo(f"{name}.npy").compress_size
                data[begin + source.randrange(size // 2)] ^= 1 << source.randrange(8)
                return bytes(data)

            yield of_bytes(f"bit-of-{name}-{'deflated' if method else 'stored'}", change)


@functools.cache
def made_bombs():
    """Archives of some kilobytes that would become large; they take a second to make, so they are made once."""
    zeros, spaces = array_bytes(ARRAYS["w"]) + bytes(BOMB), header(b" " * BOMB, (2, 0))
    honest = described(shape=f"({BOMB // 4},)")[:-120] + bytes(BOMB)
    return {
        "bomb-of-values": archive(members(w=zeros), zipfile.ZIP_DEFLATED),
        "bomb-behind-the-values": longer_than_said(zeros),
        "bomb-with-a-checksum": longer_than_said(zeros, 1),
        "bomb-of-a-header": archive(members(w=spaces), zipfile.ZIP_DEFLATED),
        "bomb-of-another-shape": archive(members(w=honest), zipfile.ZIP_DEFLATED),
    }


def bombs():
    """Small files that would become large."""
    for name, data in made_bombs().items():
        yield plain(name, data)
    many = b"".join(central(f"{number:06}.npy") for number in range(40_000))
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 40_000, 40_000, len(many), 0, 0)
    yield of_bytes("forty-thousand-members", lambda valid, source: many + end)
    last = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 2**39, 0)
    place = struct.pack("<4sIQI", b"PK\x06\x07", 0, 2**40 - 22 - 20 - len(last), 1)
    end = last + place + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 2**16 - 1, 2**16 - 1, 2**32 - 1, 2**32 - 1, 0)
    yield Case("list-of-half-a-terabyte", lambda path, valid, source: sparse(path, b"PK", end))


def longer_than_said(data, more=0):
    """An archive whose list gives the size of ``w`` alone, and a checksum of that or `more`, while its bytes go on."""
    packed, w = bytearray(archive(members(w=data), zipfile.ZIP_DEFLATED)), array_bytes(ARRAYS["w"])
    place = packed.index(b"PK\x01\x02")
    struct.pack_into("<I", packed, place + 16, zlib.crc32(data[: len(w) + more]))
    struct.pack_into("<I", packed, place + 24, len(w))
    return bytes(packed)


def central(name):
    """An entry of the list of members."""
    numbers = (20, 20, 0, 0, 0, 33, zlib.crc32(b""), 0, 0, len(name), 0, 0, 0, 0, 0, 0)
    return struct.pack("<4s6H3I5H2I", b"PK\x01\x02", *numbers) + name.encode()


def cases():
    """All of them."""
    for group in (no_files, foreign, cut, damaged_lists, values, flips, bombs):
        yield from group()
    for name, data in HEADERS.items():
        yield of_bytes(f"header-{name}", lambda valid, source, data=data: archive(members(w=data)))
    for name, array in OTHERS.items():
        yield of_bytes(f"w-{name}", lambda valid, source, a=array: archive(members(w=array_bytes(a))))
    for name, path in PATHS.items():
        yield of_bytes(f"name-{name}", lambda valid, source, path=path: renamed("w", path))
    for name in NAMES:
        yield of_bytes(f"lacks-{name}", lambda valid, source, name=name: archive(members(**{name: None})))
        yield of_bytes(f"twice-{name}", lambda valid, source, name=name: twice(name))
    yield of_bytes("one-more", lambda valid, source: archive(members(more=array_bytes(np.zeros(2)))))
    yield of_bytes("another-case", lambda valid, source: renamed("w", "W"))
    yield of_bytes("no-suffix", lambda valid, source: archive([*members(), ("note", b"hello")]))
    yield of_bytes("a-folder-inside", lambda valid, source: archive([*members(), ("inner/", b"")]))
    yield of_bytes("no-members", lambda valid, source: archive([]))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield of_bytes(f"compressed-{method}", lambda valid, source, m=method: archive(members(), m))


def renamed(old, new):
    """A valid archive, but for one name, which may be one that no writer would take."""
    safe = "q" * len(new.encode())
    data = archive([(f"{safe}.npy" if name == f"{old}.npy" else name, data) for name, data in members()])
    return data.replace(f"{safe}.npy".encode(), f"{new}.npy".encode())


def twice(name):
    """A valid archive that has one member twice."""
    row = next(row for row in members() if row[0] == f"{name}.npy")
    data = archive([*members(), ("q" * len(name) + ".npy", row[1])])
    return data.replace(b"q" * len(name) + b".npy", row[0].encode())
