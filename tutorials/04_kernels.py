# %% [markdown]
# # 4. A kernel, written once
#
# What happens inside an op? Somewhere a loop goes over the numbers, and this inner part is called a **kernel**. One
# would like to have it three times: in plain Python, to step through it; as machine code for the processor; and as code
# for a GPU, which has thousands of small processors. But three texts of one formula will differ one day, and nobody
# will notice. So forgenb has *one* text, a plain Python function. This chapter shows how it comes to run everywhere,
# and how to read what is made of it.
#
# ## The smallest kernel
#
# Take a function that bends the line like $\tanh$ and is cheaper, the *softsign*:
#
# $$ y = \frac{x}{1 + |x|}. $$
#
# Its kernel is the formula for *one* number. A line above it says what goes in and what comes out. There is no loop, no
# array, and nothing about a processor.

# %%
import os
import re
from types import FunctionType

import matplotlib.pyplot as plt
import numba
import numpy as np

import forgenb as fnb
from forgenb.kernel import bind, map_kernel, row_kernel
from forgenb.kernel.primitives import absolute, accumulate, lane_sum, lanes, put, real
from forgenb.ops.apply import run_map, run_rows


@map_kernel("x -> out")
def softsign_kernel(x):
    return x / (1.0 + absolute(x))


assert softsign_kernel(3.0) == 0.75
assert softsign_kernel(-1.0) == -0.5

# %% [markdown]
# Calling it runs the function. `absolute` is a **word** of the kernel language, a *primitive* in the code. Words are
# what a body may use besides `+ - * /`, comparisons and loops. There are about thirty, such as `sqrt`,
# `select(condition, a, b)`, and `fma(a, b, c)` for $ab + c$ with one rounding; the file `forgenb/kernel/primitives.py`
# has them all. Each has a meaning in plain Python, which is what has just run.
#
# ## Three places to run
#
# A **backend** is a place where kernels run. `python` interprets, `cpu` compiles for the processor, `cuda` is for
# NVIDIA's GPUs. `fnb.use` chooses one for a block, `run_map` launches a kernel on all elements of a tensor. Without a
# GPU the variable below lets Python play its part, slowly. If you have one, take the line out.

# %%
os.environ.setdefault("FORGENB_CUDA_SIMULATOR", "lanes")
numbers = np.array([-3, -1, -0.1, 0, 0.7, 2, 1e6], "float32")
found = {}
for backend in ("python", "cpu", "cuda"):
    with fnb.use(backend):
        found[backend] = run_map(softsign_kernel, (fnb.tensor(numbers),)).numpy()
print(found["cpu"])
assert np.allclose(found["cpu"], numbers / (1 + abs(numbers)))
assert found["python"].tobytes() == found["cpu"].tobytes() == found["cuda"].tobytes()

# %% [markdown]
# The last line says: not just close, the same bits. That is why words have fixed meanings, down to the rounding. Even
# $e^x$ is no mystery of the machine, but a body in the same language. It splits off a power of two, and a polynomial
# does the rest:
#
# ```{literalinclude} /../forgenb/kernel/exponential.py
# :pyobject: exp_float32
# ```
#
# On the python backend you can look over its shoulder. `fnb.trace` writes down every assignment for one element; here
# it is element 1 in `fnb.ops.exp`.

# %%
with fnb.use("python"), fnb.trace("exp_kernel", row=1) as table:
    fnb.ops.exp(fnb.tensor([0.0, 3.0]))
print(table)
values = {step.variable: step.value for step in table}
assert values["k"] == 4  # 3 is about 4 times the logarithm of 2
assert np.isclose(2.0**4 * np.exp(float(values["r"])), np.exp(3.0))

# %% [markdown]
# ## How: other words for the same code
#
# A Python function is code and a dictionary of globals, in which it looks names up. So take the code, and hand it other
# globals. That is called *binding*, and it is three lines:


# %%
def bind_words(body, words):
    names = {**body.__globals__, **words}
    return FunctionType(body.__code__, names, body.__name__)


whole = bind_words(softsign_kernel.body, {"absolute": np.abs})
assert np.array_equal(whole(numbers), numbers / (1 + np.abs(numbers)))

# %% [markdown]
# With NumPy's `abs` in place of `absolute`, the body takes arrays. With words that the compiler *Numba* knows, it can
# be compiled. The compiler translates it to *LLVM*, a language that is no processor's own, in which a `float32` is
# called `float` and a `float64` is called `double`. Let us do it for `float32` and see.


# %%
def llvm_of(function):
    options = {"error_model": "numpy", "no_cpython_wrapper": True}
    compiled = numba.njit("float32(float32)", **options)(function)
    return next(iter(compiled.inspect_llvm().values()))


def show(text, pattern, most=6):
    lines = [line.strip() for line in text.splitlines() if re.search(pattern, line)]
    print(*lines[:most], sep="\n")


ARITHMETIC = r"= (fadd|fdiv|fpext)"
plain = llvm_of(bind_words(softsign_kernel.body, {"absolute": abs}))
show(plain, ARITHMETIC)
assert "double" in plain

# %% [markdown]
# It computes in `double`: the `1.0` in the body is a `float64`, and drags everything along. `fpext` is the conversion,
# and twice the size is half the speed. So binding must replace the literals too. They lie beside the code, in
# `__code__.co_consts`. `bind` of `forgenb.kernel` does that. It also refuses what would go wrong later, such as a
# global number that may change.

# %%
bound = bind(softsign_kernel.body, {"absolute": abs}, "float32")
print(softsign_kernel.body.__code__.co_consts, "->", bound.__code__.co_consts)
narrow = llvm_of(bound)
show(narrow, ARITHMETIC)
assert "double" not in narrow

# %% [markdown]
# ## Reading what is generated
#
# The loop is written by the backend. `source` of a kernel shows the body and the loop that belongs to it. Here is that
# for the GPU: every *lane*, as we call one of its small processors here, takes elements of its own, finds where they
# lie, and calls the body. (The one for the CPU is longer, as it copies operands that do not lie in one piece.)

# %%
text = softsign_kernel.source("cuda")
print(text)
assert "body(x)" in text
assert softsign_kernel.source("python") in text
assert "body(x[k])" in softsign_kernel.source("cpu")

# %% [markdown]
# What the compiler makes of it is the *assembly*: one line for each instruction of the processor. `fnb.compile` records
# what a function launches, and `routine.assembly` has the code. We look for the division of our formula. On an Intel or
# AMD processor it is `divps` or `vdivps`; the `p` is for *packed*, several numbers at once, as chapter 5 explains, and
# the `s` for *single*, which is `float32`.

# %%
run = fnb.compile(lambda x: run_map(softsign_kernel, (x,)))
run(numbers)
code = run.routine.assembly
show(code, r"\bv?f?div[ps]?[sd]?\s")
assert "# softsign_kernel-float32" in code

# %% [markdown]
# On a GPU the assembly is called *PTX*. To make it takes NVIDIA's compiler, but no GPU; `pip install -e '.[cuda]'`
# brings it. If it is not installed, `fnb.errors.BackendError` says so, and the chapter goes on without.

# %%
with fnb.use("cuda"):
    run = fnb.compile(lambda x: run_map(softsign_kernel, (x,)))
    run(numbers)
    try:
        ptx = run.routine.assembly
    except fnb.errors.BackendError as error:
        ptx = None
        print(f"No PTX to read here, and that is fine. {error}")
if ptx:
    show(ptx, r" %tid\.x|(abs|add|div|global)[\w.]*\.f32")
    assert "%tid.x" in ptx  # the number of the lane
    assert ".f64" not in ptx

# %% [markdown]
# ## A row, and many lanes
#
# Some kernels need more than one number: a sum over a row, for instance. Then the body works on one row. This one makes
# *shares*: it divides each number by the sum of its row. A body for one number returns its result. A row has many
# results, so the body gets the array `out` and writes into it.


# %%
@row_kernel("x[rows,n] -> out[rows,n]")
def shares_kernel(row, x, out):
    s = real(0)
    for j in lanes(x.shape[1]):
        s = accumulate(s, x[row, j])
    total = lane_sum(s)
    for j in lanes(x.shape[1]):
        put(out, (row, j), x[row, j] / total)


# %% [markdown]
# On the CPU one lane does the whole row: `lanes(n)` is `range(n)`, and `lane_sum(s)` is just `s`. On a GPU, many lanes
# run this same body at the same time. `lanes(n)` gives each of them its own columns, so `s` is only what this lane has
# added up. `lane_sum` waits for all of them and gives each the sum of all. `accumulate` is an addition whose order does
# not matter, and `put` hands over a result. `real(0)` is a zero of the kernel's dtype, `float32` or `float64`, to which
# numbers of that dtype can be added.

# %% {"mystnb": {"image": {"alt": "Two rows of squares: the first has one colour, the second four in turn"}}}
_, axes = plt.subplots(figsize=(6, 1.8))
owners = np.stack([np.zeros(16), np.arange(16) % 4])
axes.imshow(owners, cmap="tab10", vmin=0, vmax=9)
axes.set_yticks([0, 1], ["1 lane", "4 lanes"])
axes.set(xlabel="column of the row")
axes.set_xticks(range(16))
plt.show()

# %% [markdown]
# Four lanes can be played in Python, one after the other. Since `lane_sum` needs all of them, there are two rounds: in
# the first each lane says what it has, in the second each is told the sum. What the first round writes into `out` is
# wrong, and the second writes over it. On the backends, `run_rows` launches a row kernel: it takes the kernel, the
# sizes `rows` and `n` of its declaration, and the operands.


# %%
def with_four_lanes(body, *arguments):
    parts = []

    def say(s):
        parts.append(s)
        return s

    for meaning in (say, lambda s: sum(parts)):
        for lane in range(4):
            own = {"lanes": lambda n, lane=lane: range(lane, n, 4)}
            bind_words(body, {**own, "lane_sum": meaning})(*arguments)
    return parts


x, by_lanes = np.arange(1.0, 17.0).reshape(1, 16), np.zeros((1, 16))
parts = with_four_lanes(shares_kernel.body, 0, x, by_lanes)
print("the lanes have", [float(part) for part in parts])
assert parts == [28, 32, 36, 40]
assert np.array_equal(by_lanes, x / 136)

for backend in ("python", "cpu", "cuda"):
    with fnb.use(backend):
        out = fnb.tensor(np.zeros((1, 16)))
        run_rows(shares_kernel, (1, 16), (fnb.tensor(x), out))
    assert np.allclose(out.numpy(), by_lanes)

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 4`: a judge tries them on hidden inputs.
#
# **04-1.** `softsign_grad(x, dout)`: the body of the backward kernel of softsign, for one number `x` and the gradient
# `dout` of its result. The check binds it to `float32` and to `float64`. Use `+ - * /` and words of the language, such
# as `absolute`; NumPy, Python's `abs` and `**` are none.
#
# **04-2.** `centre_row(row, x, out)`: a row body that writes each number of row `row` less the mean of the row. The
# check runs it with one lane and with several, and looks that no lane reads or writes the numbers of another. It is
# good style to begin a sum with `real(0)` and to divide by `real(x.shape[1])`, which are numbers of the kernel's dtype.
#
# **04-3.** `with_literals(body, dtype)`: the other half of `bind`, without calling it. Return a new function with the
# same code and globals, where each float literal has become a number of `dtype`, such as `np.float32`, also in tuples
# such as `(0.5, 2)`. Whole numbers, strings and `True` stay as they are, and so does `body`.
# `code.replace(co_consts=...)` makes another code object.


# %%
def softsign_grad(x, dout):
    raise NotImplementedError


def centre_row(row, x, out):
    raise NotImplementedError


def with_literals(body, dtype):
    raise NotImplementedError


for number, answer in (("04-1", softsign_grad), ("04-2", centre_row), ("04-3", with_literals)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 5 asks how fast such a loop can be, and what holds it back.
