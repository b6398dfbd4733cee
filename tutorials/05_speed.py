# %% [markdown]
# # 5. Why it is fast
#
# A processor can only do so much arithmetic in a second, and memory can only deliver so many bytes. These two numbers
# are the limits of every op, and this chapter measures them on your machine. On the way we meet what brings an op near
# its limit: vectors, threads, and not touching memory twice. Times differ from machine to machine and from minute to
# minute, so this page prints them, and asserts only what can be *counted*.
#
# ## Compiled, not interpreted
#
# Chapter 4 has shown that the same body is interpreted on one backend and compiled on another. So compare. `best` gives
# the seconds of the fastest of several runs: noise makes a run slower, never faster. `fnb.ops.tanh` is the op, and
# `fnb.use` chooses the backend.

# %%
import re
import time

import matplotlib.pyplot as plt
import numba
import numpy as np

import forgenb as fnb


def best(run, times=5):
    found = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        found.append(time.perf_counter() - began)
    return min(found)


draws = np.random.default_rng(0)
for backend, size in (("python", 300), ("cpu", 2**20)):
    with fnb.use(backend):
        x = fnb.tensor(draws.normal(size=size).astype("float32"))
        fnb.ops.tanh(x)  # the first run loads the kernel
        each = best(lambda x=x: fnb.ops.tanh(x), 3) / size
    print(f"{backend:6}: {each * 1e9:8.1f} ns a number")

# %% [markdown]
# ## Vectors
#
# The interpreter must find out again and again what `*` means for the two things at hand. Machine code does not. But
# that is only a part of the distance. A processor computes in **registers**, a few places for the numbers at hand. Some
# of them are **vector** registers, which hold 4, 8 or 16 `float32` side by side, and there are instructions that add or
# multiply all of them at once. A compiler uses them if it can prove that the result stays the same. Here are two loops.
# LLVM, which we met in chapter 4, writes a vector of eight numbers as `<8 x float>`, so we can read off what it made of
# a loop. (`float32[::1]` tells Numba that an array's elements lie side by side; vectors need that.)


# %%
def inverses(x, out):
    for i in range(x.size):
        out[i] = np.float32(1) / x[i]


def total(x):
    s = np.float32(0)
    for i in range(x.size):
        s += x[i]
    return s


def vectors(loop, instruction, **options):
    arrays = "float32[::1]"
    types = f"void({arrays}, {arrays})" if loop is inverses else f"float32({arrays})"
    compiled = numba.njit(types, no_cpython_wrapper=True, **options)(loop)
    (text,) = compiled.inspect_llvm().values()
    return {int(n) for n in re.findall(rf"= {instruction}[\w ]* <(\d+) x float>", text)}


checked = vectors(inverses, "fdiv")
free = vectors(inverses, "fdiv", error_model="numpy")
print("inverses, as Python divides:", checked or "no vectors")
print("inverses, as NumPy divides: ", free)
assert not checked
assert max(free) >= 2

# %% [markdown]
# The same loop, with vectors and without. In Python a division by zero raises an error, so after each division the
# program must look whether to go on, and cannot do the next ones at the same time. In NumPy it gives infinity and goes
# on. This is why forgenb compiles all kernels in NumPy's manner. The first rule of fast loops is *no branch on a
# value*, no `if` that asks about one of the numbers. `select(condition, a, b)` is not one: it computes both sides and
# takes one of them.
#
# The second rule is about sums. `reassoc` allows the compiler to group an addition in another way, $a + (b + c)$ for
# $(a + b) + c$.

# %%
in_order = vectors(total, "fadd")
any_order = vectors(total, "fadd", fastmath={"reassoc"})
print("a sum in order:    ", in_order or "no vectors")
print("a sum in any order:", any_order)
assert not in_order
assert max(any_order) >= 2

# %% [markdown]
# A vector of eight can only keep eight sums, of every eighth number, and add these up at the end. That is another
# order. Floating-point numbers are rounded after each addition, so another order is another result:

# %%
x = draws.normal(size=4096).astype("float32")
one_by_one = np.cumsum(x)[-1]
eight_sums = np.cumsum(x.reshape(-1, 8), axis=0)[-1]
by_eights = np.cumsum(eight_sums)[-1]
print(one_by_one, by_eights)
assert one_by_one != by_eights
assert np.isclose(one_by_one, by_eights, atol=1e-3)

# %% [markdown]
# Neither is better, but the compiler may not choose for us. The word `accumulate` of chapter 4 gives the permission,
# for one addition at a time. To give it to everything would be careless: the compiler would then also rearrange
# formulas whose order matters.
#
# ## Threads
#
# A processor has several cores. A large launch is cut into *chunks*, and threads take one after the other until none is
# left. The chunks depend on the size alone, never on how many threads there are, and what two chunks found is put
# together in a fixed order. So `fnb.settings.threads` changes the time and not one bit:

# %%
x = fnb.tensor(draws.normal(size=2**20).astype("float32"))
threads, sums = fnb.settings.threads, set()
for number in (1, 2, 3, 5):
    fnb.settings.threads = number
    sums.add(x.sum().numpy().tobytes())
fnb.settings.threads = threads
print(f"this machine lends {threads} threads to forgenb")
assert len(sums) == 1

# %% [markdown]
# How much do they help? Say that the part $s$ of the time cannot be shared out. With $p$ threads the rest takes the
# $p$-th part, so the whole takes $s + (1 - s) / p$ of the time, and it is faster by the factor
#
# $$ \frac{1}{s + (1 - s) / p} \le \frac{1}{s}. $$
#
# This is *Amdahl's law*. Even with a million threads a tenth that stays serial allows no more than a factor of ten. To
# wake a thread takes microseconds, so small launches stay on one.

# %%
tenth = [1 / (0.1 + 0.9 / p) for p in (1, 4, 16, 10**6)]
print("a tenth stays serial:", [f"{factor:.2f}" for factor in tenth])
assert 9.99 < tenth[-1] < 10

# %% [markdown]
# ## Memory
#
# Now count. A number in `float32` has 4 bytes. The sum $x + y$ of two arrays reads 8 bytes for each result and writes
# 4, and does a single floating-point operation, short *flop*. You need not count by hand. What `fnb.compile` records is
# called a *routine*. Its `work()` has the bytes and the flop, those of products exactly and those of other kernels as
# an estimate; its `run()` does it again with the same inputs.


# %%
def recorded(function, *inputs):
    run = fnb.compile(function)
    run(*inputs)
    return run.routine


n = 2**23
x, y = (fnb.tensor(draws.uniform(1, 2, n).astype("float32")) for _ in "xy")
add = recorded(lambda x, y: x + y, x, y)
assert add.work() == {"bytes": 12 * n, "flop": n}

# %% [markdown]
# Twelve bytes for one flop. While they are on their way from memory, a core could do dozens. So what pays is to do more
# with a number while it is here. Take a longer formula. Op by op, each of its twelve ops reads two arrays and writes
# one; `fnb.stats` counts launches. The recorded step is **fused**: one kernel goes over the arrays once, and what is
# between stays in registers. The flop are twelve for each element, however it runs.


# %%
def formula(x, y):
    for _ in range(4):
        x = (x + y) * y - x
    return x


before = fnb.stats().launches
formula(x, y)
launches = fnb.stats().launches - before
fused = recorded(formula, x, y)
print(f"{launches} launches in {best(lambda: formula(x, y)) * 1e3:.1f} ms")
print(f"1 launch in {best(fused.run) * 1e3:.1f} ms")
assert launches == 12
assert fused.work() == {"bytes": 12 * n, "flop": 12 * n}  # the bytes of one op, the flop of twelve

# %% [markdown]
# ## The roofline
#
# Let the processor do at most $P$ flop in a second, and memory deliver at most $B$ bytes. An op with $F$ flop and $D$
# bytes takes at least $F / P$ seconds for the arithmetic and at least $D / B$ for the bytes. Both can go on at the same
# time, so the longer one counts. Its rate is at most
#
# $$ \frac{F}{\max(F / P, \; D / B)} = \min(P, \; I \, B), \qquad I = \frac{F}{D}. $$
#
# $I$, the flop for each byte, is the **intensity**. It is a property of the formula, not of the machine. Draw the rate
# over the intensity, and the limit looks like a roof: it rises while memory is what holds us back, then it is flat. For
# $B$ we take $-x$, which is little more than a copy, of an array that is larger than most *caches*, the small and fast
# memories in between. For $P$ we take the best we know, a product of large matrices. In the product of two
# $n \times n$ matrices each of the $n^2$ results is a sum of $n$ products. That makes $2 n^3$ flop on $3 n^2$ numbers,
# so the intensity grows with $n$; chapter 6 shows how a program can profit from that.

# %%
negative = recorded(lambda x: -x, x)
bandwidth = negative.work()["bytes"] / best(negative.run)
dots = [("x + y", 1 / 12, n / best(add.run))]
dots.append(("formula", 1.0, 12 * n / best(fused.run)))


def matrix(*shape):
    return fnb.tensor(draws.normal(size=shape).astype("float32"))


for name, a, b in (
    ("matrix x vector", matrix(2048, 2048), matrix(2048)),
    ("32 x 32 product", matrix(32, 32), matrix(32, 32)),
    ("128 x 128", matrix(128, 128), matrix(128, 128)),
    ("1024 x 1024", matrix(1024, 1024), matrix(1024, 1024)),
):
    product = recorded(lambda a, b: a @ b, a, b)
    work = product.work()
    rate = work["flop"] / best(product.run)
    dots.append((name, work["flop"] / work["bytes"], rate))
peak = max(rate for _, _, rate in dots)

# %% {"mystnb": {"image": {"alt": "A roof that rises and then is flat; six dots, each an op, lie near it or below"}}}
_, axes = plt.subplots(figsize=(6.5, 4))
span = np.geomspace(0.03, 500)
axes.loglog(span, np.minimum(peak, span * bandwidth) / 1e9, color="gray")
for name, intensity, rate in dots:
    axes.loglog(intensity, rate / 1e9, "o")
    axes.annotate(name, (intensity, rate / 1e9), (6, -10), textcoords="offset points")
axes.set(xlabel="flop per byte", ylabel="GFLOP per second", xlim=(0.03, 2000))
plt.show()

print(f"{bandwidth / 1e9:.0f} GB/s and {peak / 1e9:.0f} GFLOP/s")
print(f"the roof is flat from {peak / bandwidth:.1f} flop a byte on")
intensities = {name: intensity for name, intensity, _ in dots}
assert intensities["32 x 32 product"] == 32 / 6
assert intensities["1024 x 1024"] == 1024 / 6
assert intensities["matrix x vector"] < 0.5  # two flop for the four bytes of a number

# %% [markdown]
# How to read it. A dot on the slope waits for memory, and no cleverness in its arithmetic will help. It must move to
# the right, as the formula did when it was fused. A dot may even lie above the slope, if its numbers were still in a
# cache. A matrix times a vector has many flop and still sits on the slope. So a *GPT*, a network that goes on with a
# text one letter after the other, waits for its memory. And the small product is far below both limits: its flop take
# less time than calling it. For small arrays the *call* is the third limit, and one recorded step instead of many ops
# is what helps there.
#
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 5`: a judge tries them on hidden inputs.
#
# **05-1.** `roofline(intensity, peak, bandwidth)`: the highest rate in flop per second, for a NumPy array of
# intensities.
#
# **05-2.** `speedup(serial, threads)`: by what factor so many threads make a program faster, if the part `serial` of
# its time cannot be shared out.
#
# **05-3.** `traffic(steps, fused)`: the bytes for each element that a formula moves in `float32`. `steps` is a list of
# pairs, the names of what a step reads and the name of what it makes: `[("xy", "t"), ("tt", "u")]` is $t = x + y$ and
# $u = t \cdot t$, for instance. If not `fused`, every step is a launch of its own; within a launch, a number that is
# used twice is read once. If `fused`, all steps are one launch, and only what the last step makes is needed afterwards.


# %%
def roofline(intensity, peak, bandwidth):
    raise NotImplementedError


def speedup(serial, threads):
    raise NotImplementedError


def traffic(steps, fused):
    raise NotImplementedError


for number, answer in (("05-1", roofline), ("05-2", speedup), ("05-3", traffic)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 6 takes the op with the most arithmetic of all, the matrix product, and brings it under the flat part of the
# roof.
