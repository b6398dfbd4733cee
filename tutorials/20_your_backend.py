# %% [markdown]
# # 20. Write your own backend
#
# An op of forgenb names no machine. It hands kernels, sizes and addresses to a **backend**, and that runs them. The
# CPU, CUDA and the interpreter are three of those, each in a package of its own, and the library treats them no better
# than it will treat yours. Say you have a chip that nobody else has. How much must you write before all ops, all rules
# and all models run on it? This chapter does it in about a hundred lines.
#
# Our machine is a toy. Its memory is its own: the program that uses it, the **host**, cannot look inside. It does the
# rows of a launch *backwards*, as the *contract* between forgenb and backends allows any order. It keeps a diary.
#
# ## What a backend owes
#
# | it must | by |
# |---|---|
# | have memory | `allocate(nbytes)`, `upload(memory, array)`, `view(memory, dtype, offset, shape, strides)` |
# | run kernels | `compile(kernel, real, storage)`, `launch(launcher, extent, chunk, block)` |
# | multiply matrices | `gemm(real, shape, flags, scales, places, steps, batch)` |
# | wait | `synchronize()` |
# | say what it made | `compiled()`, `source(kernel, real)` |
#
# There is no `softmax` in this table, and no gradient. What is the same on all machines was decided above: shapes,
# dtypes, broadcasting, rules, whether an index is in range.
#
# ## Memory
#
# A block has an address, a size, and a counter `version` that forgenb uses for itself. The address is a number that
# means something to the backend alone. Ours gives each block four gigabytes of addresses, so that the upper digits say
# which block, and the lower ones where in it. We fill fresh memory, which may hold anything, with NaN to see who reads
# it.
#
# A tensor is a window on a block: an offset, a shape, and for each axis a **stride**: by how many elements the next one
# lies further on. NumPy can make such a window on bytes.

# %%
import collections
import sys
import tempfile
import textwrap
import types
import weakref
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb
from forgenb.kernel import bind, primitives, read_map_block, read_row_block
from forgenb.kernel.product import product_block, product_kernel
from forgenb.testing import Summary, check_backend


class Block:
    def __init__(self, address, nbytes):
        self.address, self.nbytes, self.version = address, nbytes, 0
        self.data = bytearray(b"\xff" * nbytes)


def window(block, start, dtype, shape, strides):
    if 0 in shape:
        return np.empty(shape, dtype)  # without any element it may have no block
    steps = [s * dtype.itemsize for s in strides]
    return np.ndarray(shape, dtype, block.data, start, steps)


def row_by_row(shape):
    return [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]


block = Block(1 << 32, 24)
window(block, 0, np.dtype("float32"), (6,), (1,))[:] = [0, 1, 2, 3, 4, 5]
turned = window(block, 0, np.dtype("float32"), (3, 2), (1, 3))
print(turned)
assert np.array_equal(turned, np.arange(6.0).reshape(2, 3).T)
assert row_by_row((2, 3, 4)) == [12, 4, 1]

# %% [markdown]
# ## Words
#
# A body is written in words, the **primitives**: `lanes`, `select`, `fma`, `put` and so on. To **compile** a kernel is
# to give each word what it means on this machine. A real backend has machine code for them. Each also has a meaning in
# plain Python, and that will do for us. `fnb.kernel.bind` makes the copy of a body in which our words stand, and in
# which a literal such as `0.5` has the kernel's dtype. Some words, such as `real(n)`, return a number of that dtype.


# %%
def words(dtype):
    kind = dtype.type if dtype.kind == "f" else np.float64

    def spoken(word, *args):
        return kind(word.meaning(*args)) if word.of_dtype else word.meaning(*args)

    found = [w for w in vars(primitives).values() if isinstance(w, primitives.Primitive)]
    return {word.name: partial(spoken, word) for word in found}


class Launcher:
    def __init__(self, kernel, real, storage):
        self.kernel, self.real = kernel, np.dtype(real)
        self.dtypes = [np.dtype(operand.dtype(real)) for operand in kernel.operands]
        self.storage = [np.dtype(name) for name in storage] or self.dtypes
        self.body = bind(kernel.body, words(self.real), self.real)

    def scalars(self, values):
        kinds = {"real": self.real.type, "uint": np.uint32, "int": int}
        pairs = zip(self.kernel.scalars, values, strict=True)
        return [kinds[scalar.kind](value) for scalar, value in pairs]


assert type(words(np.dtype("float32"))["real"](2)) is np.float32

# %% [markdown]
# ## Launches
#
# A launch comes with an **extent**, how many rows or elements there are, and an **argument block**, bytes in which
# everything else stands, eight for each number. For a row kernel these are a size for each dimension of its
# declaration, then its *scalars*, numbers that are the same for all rows, then an address for each operand.
# `fnb.kernel.read_row_block` takes them apart, and the operands are whole arrays, row by row.
#
# For a map, whose operands are repeated and turned at will, the block has dims and strides.
# `fnb.kernel.read_map_block` reads them. An operand may be stored in another dtype than the body computes in, as
# `float16` always is, so each number is converted on its way in and out.


# %%
def run_rows(find, launcher, extent, block):
    kernel, arrays = launcher.kernel, []
    found = read_row_block(kernel, block)
    each = zip(kernel.operands, launcher.dtypes, found.addresses, strict=True)
    for operand, dtype, address in each:
        shape = [found.sizes[name] for name in operand.dims]
        arrays.append(find(address, dtype, shape, row_by_row(shape)))
    scalars = launcher.scalars(found.scalars)
    for row in reversed(range(extent)):
        launcher.body(row, *arrays, *scalars)


def run_elements(find, launcher, extent, block):
    kernel = launcher.kernel
    found = read_map_block(kernel, block)
    read, written = [], {}
    for number, operand in enumerate(kernel.operands):
        address, strides = found.operands[number]
        flat = find(address, launcher.storage[number], found.dims, strides).flat
        place = launcher.dtypes[number].type, flat
        read += [place] * operand.reads
        written |= {operand.name: place} if operand.writes else {}
    targets = [written[name] for name in kernel.results]
    scalars = launcher.scalars(found.scalars)
    for i in reversed(range(extent)):
        inputs = [i] * kernel.indexed + [kind(flat[i]) for kind, flat in read]
        results = launcher.body(*inputs, *scalars)
        results = results if len(targets) > 1 else (results,)
        for (kind, flat), result in zip(targets, results, strict=True):
            flat[i] = kind(result).astype(flat.base.dtype)


# %% [markdown]
# ## The backend
#
# Now everything is there. A chip with a unit for products would use it in `gemm`. One that has none launches the
# product that forgenb keeps as a kernel, and `product_block` packs its arguments. `view` returns a *copy*, since the
# host cannot reach our memory; that is what `host = False` says.


# %%
class Toy:
    name, host, threads = "toy", False, 1

    def __init__(self):
        self.blocks, self.born, self.diary = weakref.WeakValueDictionary(), 0, []

    def allocate(self, nbytes):
        self.born += 1
        block = self.blocks[self.born] = Block(self.born << 32, nbytes)
        return block

    def upload(self, memory, array):
        self.diary.append("upload")
        memory.data[: array.nbytes] = array.tobytes()

    def view(self, memory, dtype, offset, shape, strides):
        self.diary.append("view")
        return window(memory, offset * dtype.itemsize, dtype, shape, strides).copy()

    def find(self, address, dtype, shape, strides):
        block, start = self.blocks.get(address >> 32), address % (1 << 32)
        return window(block, start, dtype, shape, strides)

    def compile(self, kernel, real, storage):
        return Launcher(kernel, real, storage)

    def launch(self, launcher, extent, chunk, block):
        self.diary.append(launcher.kernel.name)
        run = run_rows if launcher.kernel.form == "row" else run_elements
        with np.errstate(all="ignore"):  # in kernels infinity is a number like others
            run(self.find, launcher, extent, block)

    def gemm(self, real, shape, flags, scales, places, steps, batch):
        rows, block = product_block(real, shape, flags, scales, places, steps, batch)
        self.launch(self.compile(product_kernel, real, ()), rows, rows, block)

    def synchronize(self):
        pass  # a launch is over when it returns

    def compiled(self):
        return []

    def source(self, kernel, real):
        return f"{kernel.name} runs as it was written"


# %% [markdown]
# ## Plugging it in
#
# forgenb finds backends by **entry points**: a package says in its metadata which names it has for a group, here
# `forgenb.backends`, and which module belongs to each. The module has three things: `API`, the number of the contract,
# which is `fnb.backend.API` today; `available()`, which returns None or why the machine cannot be used; and `create()`.
#
# A real plug-in has two lines for that in its `pyproject.toml`, and `pip install` writes the metadata. We have no
# package, so the cell writes what pip would, and puts a module where an import finds it. Then `fnb.backend.refresh`
# looks again, and `fnb.backends` lists what is there. To list is not to load: a plug-in is imported when its name is
# used, so that a broken one harms nobody.

# %%
site = tempfile.TemporaryDirectory()
sys.path.append(site.name)


def plug_in(name, create):
    module = sys.modules[f"forgenb_{name}"] = types.ModuleType(f"forgenb_{name}")
    vars(module).update(API=fnb.backend.API, available=lambda: None, create=create)
    metadata = Path(site.name) / f"forgenb_{name}-1.0.dist-info"
    metadata.mkdir()
    about = f"Metadata-Version: 2.1\nName: forgenb-{name}\nVersion: 1.0\n"
    (metadata / "METADATA").write_text(about)
    entry = f"[forgenb.backends]\n{name} = forgenb_{name}\n"
    (metadata / "entry_points.txt").write_text(entry)
    fnb.backend.refresh()


plug_in("toy", Toy)
listed = {row["name"]: row["state"] for row in fnb.backends()}
print(listed)
assert listed["toy"] == "not loaded"

# %% [markdown]
# ## Everything at once
#
# We never wrote a `tanh`, nor a backward rule. But a model trains on our machine as on any other: `fnb.use` says where
# tensors are made, `fnb.nn.Linear` has the layers and `fnb.optim.SGD` takes the steps. The diary counts what happened
# in the last one.


# %%
def train(backend, steps=4):
    with fnb.use(backend):
        first = fnb.nn.Linear(2, 5, seed=1, name="first")
        last = fnb.nn.Linear(5, 1, seed=1, name="last")
        optimizer = fnb.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
        x = fnb.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        y = fnb.tensor([[1.0], [1.0], [0.0]])
    diary, losses = getattr(x.backend, "diary", []), []
    for _ in range(steps):
        diary.clear()
        optimizer.zero_grad()
        loss = ((last(fnb.ops.tanh(first(x))) - y) ** 2.0).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, collections.Counter(diary)


# %% {"mystnb": {"image": {"alt": "Bars: how often each kernel is launched in a step of training; one bar for view"}}}
losses, step = train("toy")
assert np.allclose(losses, train("cpu")[0], rtol=1e-6)
assert losses[-1] < losses[0]
assert step["product_kernel"] == 5
assert step["view"] == 1
assert step["upload"] == 0

names, counts = zip(*reversed(step.most_common()), strict=True)
plt.figure(figsize=(6, 3.5), layout="constrained")
plt.barh([name.removesuffix("_kernel") for name in names], counts)
plt.xlabel("times in one step")
plt.show()

# %% [markdown]
# Five products: two of forward, and three of backward, since nobody needs the gradient of `x`. The one view is the
# loss, which we asked for. Nothing else goes to or from the machine.
#
# ## Is it right?
#
# One model that trains proves little. The **conformance kit** goes through the op table. For every op, dtype and
# shape it compares results with a reference and gradients with differences, runs twice and wants the same bits, and
# tries NaN, empty arrays and transposed views. `check_backend` of `forgenb.testing` yields the results, and `Summary`
# counts. Because our toy is slow on purpose, let us take some ops, and operands of at most 16 elements.


# %%
def conformance(name, ops):
    summary, told = Summary(), []
    for result in check_backend(name, ops, ["float32"], largest=16):
        summary.add(result)
        told += [result.message] if result.ok is False or result.unsupported else []
    print(f"{name}: {summary}")
    if told:
        print(textwrap.fill(told[0], 88, subsequent_indent="    "))
    return summary


some = "tanh transpose softmax layernorm take dropout conv2d"
right = conformance("toy", some.split())
assert (right.implemented, right.total, right.failed) == (7, 7, 0)

# %% [markdown]
# And here is one that forgets strides when it reads back. The kit says for which op, dtype and shape it was wrong.


# %%
class Careless(Toy):
    name = "careless"

    def view(self, memory, dtype, offset, shape, strides):
        return super().view(memory, dtype, offset, shape, row_by_row(shape))


plug_in("careless", Careless)
assert conformance("careless", ["transpose"]).failed > 0

# %% [markdown]
# For a plug-in that is installed, `forgenb check-backend NAME` does the same. [The guide for authors](../backends.md)
# says how to make it tests of your own.
#
# ## What a backend may not do
#
# It may *decline*: `fnb.errors.OpUnsupported` from `compile` says that it has no such kernel, and the kit counts that
# as not implemented, not as wrong. It may not *fall back* to another machine in silence, because then nobody knows any
# more where a program runs. And it may not look at which op it runs. Ours does not: it knows one kernel by name, the
# product.


# %%
class Choosy(Toy):
    name = "choosy"

    def compile(self, kernel, real, storage):
        if kernel.form == "row":
            raise fnb.errors.OpUnsupported(f"choosy has no {kernel.name}: it runs maps alone")
        return super().compile(kernel, real, storage)


plug_in("choosy", Choosy)
choosy = conformance("choosy", ["tanh", "softmax"])
assert (choosy.implemented, choosy.total, choosy.failed) == (1, 2, 0)

methods = [method for method in vars(Toy).values() if callable(method)]
known = {name for method in methods for name in method.__code__.co_names}
assert {name for name in known if name.endswith("_kernel")} == {"product_kernel"}
site.cleanup()

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 20`: a judge tries them on hidden inputs.
#
# **20-1.** `view(data, dtype, offset, shape, strides)`: a copy, as a NumPy array, of the window on the bytes `data` (a
# `bytearray`). `offset` and `strides` count elements, not bytes.
#
# **20-2.** `read_block(symbols, scalars, operands, block)`: a dictionary from names to numbers for the block of a row
# kernel. `symbols` and `operands` are lists of names, `scalars` one of pairs `(name, kind)`. Every number takes eight
# bytes in the machine's order; a scalar of kind `"real"` is a `float64`, all others are `int64`. `struct` can help.
#
# **20-3.** `gemm(a, b, out, bias, trans_a, trans_b, alpha, beta)` for NumPy matrices; only `out` changes. Write
# $\alpha \operatorname{op}(a) \operatorname{op}(b) + \text{bias}$ into `out` where there is a bias, an array with a
# number for each column, and $\alpha \operatorname{op}(a) \operatorname{op}(b) + \beta \, \text{out}$ where it is None.
# The flags say whether op transposes. With $\beta = 0$, `out` may hold anything, NaN too, and none of it may show.


# %%
def view(data, dtype, offset, shape, strides):
    raise NotImplementedError


def read_block(symbols, scalars, operands, block):
    raise NotImplementedError


def gemm(a, b, out, bias, trans_a, trans_b, alpha, beta):
    raise NotImplementedError


for number, answer in (("20-1", view), ("20-2", read_block), ("20-3", gemm)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 21 goes back to models, and looks at pictures.
