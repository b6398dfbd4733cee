# %% [markdown]
# # 6. Matrix products
#
# Nearly all arithmetic of a network is in its matrix products. A layer takes rows of numbers, one for each example, and
# makes other rows of them: every number of the new row is a weighted sum of all numbers of the old one. So both its
# backward rule and its speed are worth a chapter. The rule is two more products and a sum. The speed comes from one
# idea: *what has been loaded is used many times*.
#
# ## Forward
#
# Let $x$ have $m$ rows of $k$ numbers, $w$ have $k$ rows of $n$ numbers, and $b$ have $n$ numbers. A layer computes
#
# $$ y_{ij} = \sum_{p=1}^k x_{ip} \, w_{pj} + b_j. $$
#
# In Python that is `x @ w + b`. `fnb.ops.matmul` takes $b$ as a third operand and has it for nothing, as it is added
# while the result is at hand.

# %%
import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

draws = np.random.default_rng(0)
m, k, n = 4, 6, 3
values = draws.normal(size=(m, k)), draws.normal(size=(k, n)), draws.normal(size=n)
x, w, b = (fnb.tensor(given, requires_grad=True) for given in values)
before = fnb.stats().products
y = fnb.ops.matmul(x, w, b)
assert np.allclose(y.numpy(), values[0] @ values[1] + values[2])
assert fnb.stats().products == before + 1

# %% [markdown]
# `fnb.stats` counts products, among other things. We shall need that in a moment.
#
# ## Three backward products
#
# A gradient $\bar y_{ij}$ arrives; in code it is `dout`. Take one number $x_{ip}$ and ask where it is used: in row $i$
# of the result, in every column $j$, each time multiplied by $w_{pj}$. Add up over its uses, as always:
#
# $$ \bar x_{ip} = \sum_j \bar y_{ij} \, w_{pj}, \qquad
#    \bar w_{pj} = \sum_i x_{ip} \, \bar y_{ij}, \qquad
#    \bar b_j = \sum_i \bar y_{ij}. $$
#
# The second is the same thought for $w_{pj}$, which is used in column $j$, in every row $i$; the third is chapter 3.
# Look at the sums: they are matrix products again. The first runs over the *columns* of $w$ where a product would run
# over rows, so $w$ must be turned over, that is, *transposed*: $w^T$ has the rows of $w$ as its columns.
#
# $$ \bar x = \bar y \, w^T, \qquad \bar w = x^T \, \bar y, \qquad \bar b = \mathbf{1}^T \, \bar y, $$
#
# where $\mathbf{1}$ is a column of ones. You need not remember it. If $m$, $k$ and $n$ differ, only one way of
# multiplying $\bar y$, which is $m \times n$, with $w$, which is $k \times n$, gives an $m \times k$ matrix as
# $\bar x$ must be.

# %%
dout = draws.normal(size=(m, n))
before = fnb.stats().products
y.backward(fnb.tensor(dout))
assert np.allclose(x.grad.numpy(), dout @ values[1].T)
assert np.allclose(w.grad.numpy(), values[0].T @ dout)
assert np.allclose(b.grad.numpy(), np.ones(m) @ dout)
assert fnb.stats().products == before + 2
assert fnb.gradcheck(fnb.ops.matmul, *values)

# %% [markdown]
# Two products, since forgenb adds up columns for $\bar b$ with less work than a product. Each of them multiplies and
# adds once for every $i$, $j$ and $p$. That makes $2 m k n$ flop, as many as forward has, so backward costs twice as
# much as forward. This is the rule of thumb for whole networks, too.
#
# Nothing is copied in order to transpose. A matrix lies in memory row after row. To read it by columns, one goes
# through the same memory in other steps, and a product can be told so: `trans_a` and `trans_b`. Here is the closure of
# the op, which calls its operands `a` and `b`, and the third one `bias`. `product_gradient` is a product with these
# flags, times a factor `alpha`, which is 1 here. It also takes care of batches, which come next.
#
# ```{literalinclude} /../forgenb/ops/matmul.py
# :pyobject: matmul
# :start-at: def backward
# :end-at: return (da, db)
# :dedent: 4
# ```
#
# A copy would be the launch of a kernel, and `fnb.stats` counts those as well:

# %%
x, w = (fnb.tensor(given, requires_grad=True) for given in values[:2])
y, arriving = x @ w, fnb.tensor(dout)
before = fnb.stats()
y.backward(arriving)
assert fnb.stats().products - before.products == 2
assert fnb.stats().launches == before.launches

# %% [markdown]
# ## Batches
#
# Axes in front of the last two are a **batch**: a product for each matrix in it. Batches broadcast, with the rule of
# chapter 3: repeat forward, sum backward. The common case is a batch of $x$ and one $w$ for all:
#
# $$ y_c = x_c \, w, \qquad \bar w = \sum_c x_c^T \, \bar y_c. $$
#
# Now put all $x_c$ on top of each other, as one tall matrix $X$, and the same with $\bar y$. The sum over $c$ and the
# sum over the rows of each $x_c$ become one long sum over the rows of $X$: it is $\bar w = X^T \bar Y$, one product.
# forgenb sees that: backward is two products again, and no kernel has to add anything up.

# %%
batch, dout = draws.normal(size=(5, m, k)), draws.normal(size=(5, m, n))
x, w = fnb.tensor(batch, requires_grad=True), fnb.tensor(values[1], requires_grad=True)
y, arriving = x @ w, fnb.tensor(dout)
before = fnb.stats()
y.backward(arriving)
assert fnb.stats().products - before.products == 2
assert fnb.stats().launches == before.launches
each = sum(batch[c].T @ dout[c] for c in range(5))
tall = batch.reshape(5 * m, k).T @ dout.reshape(5 * m, n)
assert np.allclose(each, tall)
assert np.allclose(w.grad.numpy(), tall)
assert np.allclose(x.grad.numpy(), dout @ values[1].T)

# %% [markdown]
# Any batches that broadcast will do. Here $a$ is repeated along the first axis and $c$ along the second, and both
# gradients are summed:

# %%
a, c = draws.normal(size=(3, 2, 4)), draws.normal(size=(5, 1, 4, 2))
assert (fnb.tensor(a) @ fnb.tensor(c)).shape == (5, 3, 2, 2)
assert fnb.gradcheck(lambda a, c: a @ c, a, c)

# %% [markdown]
# ## The kernel
#
# This is the meaning of a product in the kernel language of chapter 4. Each result is a *dot product*, the sum of the
# products of a row's numbers and a column's. A long sum is cut into blocks of 1024, so that small numbers are not lost
# in a large total; chapter 7 shows how much such blocks help. The operands are flat. `a_at` and `b_at` say where a row
# or a column begins, `a_step` and `b_step` how far its next number is.
#
# ```{literalinclude} /../forgenb/kernel/product.py
# :pyobject: dot
# ```
#
# The row kernel has a long list of such steps. They stand after the semicolon of its first line, where a kernel names
# its *scalars*: single numbers, the same for all rows. What it does is short: find which matrix of the batch this is
# and where row $i$ begins, and for each column put a dot product there, and the bias. (`alpha` is a factor, and with
# another `beta` than 0 the product is added to what is there.)
#
# ```{literalinclude} /../forgenb/kernel/product.py
# :pyobject: product_kernel
# ```
#
# The python backend runs it as it is; `fnb.use` chooses that.

# %%
with fnb.use("python"):
    interpreted = fnb.ops.matmul(*map(fnb.tensor, values)).numpy()
assert np.allclose(interpreted, values[0] @ values[1] + values[2])

# %% [markdown]
# It is right for any sizes, steps and batches. But compiled as it is, it would be slow on every processor. Let us see
# why.
#
# ## Counting loads
#
# Every number that is multiplied has to be loaded from memory. This matrix counts it:


# %%
class Counted:
    def __init__(self, numbers):
        self.numbers, self.shape, self.loads = numbers, numbers.shape, 0

    def __getitem__(self, place):
        self.loads += 1
        return self.numbers[place]


def naive(x, w):
    (m, k), n = x.shape, w.shape[1]
    y = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            for p in range(k):
                y[i, j] += x[i, p] * w[p, j]
    return y


def count(product, size, *options):
    numbers = draws.normal(size=(size, size)), draws.normal(size=(size, size))
    x, w = (Counted(given) for given in numbers)
    assert np.allclose(product(x, w, *options), numbers[0] @ numbers[1])
    return x.loads + w.loads


size = 24
slow = count(naive, size)
print(f"{slow} loads of {2 * size**2} numbers")
assert slow == 2 * size**3

# %% [markdown]
# Each of the $n^2$ results loads a row and a column, $2n$ numbers. So every number is loaded $n$ times, and each load
# serves for one multiplication. In `float32` that is 2 flop for 8 bytes, and the roofline of chapter 5 puts us far to
# the left, on the slope.
#
# ## Tiles
#
# But the row that we have loaded for one result is just what its neighbour needs. So compute a square of $t \times t$
# results together, a **tile**. For each $p$ it takes $t$ numbers from a column of $x$ and $t$ from a row of $w$; every
# one of the first meets every one of the second. That is $2t$ loads for $t^2$ multiplications. A tile loads $2tk$
# numbers in all, and there are $mn / t^2$ tiles:
#
# $$ \text{loads} = \frac{m n}{t^2} \cdot 2 t k = \frac{2 m n k}{t}. $$
#
# It is the naive number divided by $t$.


# %%
def tiled(x, w, t):
    (m, k), n = x.shape, w.shape[1]
    y = np.zeros((m, n))
    for i in range(0, m, t):
        for j in range(0, n, t):
            sums = np.zeros((t, t))
            for p in range(k):
                left = [x[i + r, p] for r in range(t)]
                right = [w[p, j + s] for s in range(t)]
                sums += np.outer(left, right)
            y[i : i + t, j : j + t] = sums
    return y


# %% {"mystnb": {"image": {"alt": "Eight dots lie on a line that falls to the level where each number is loaded once"}}}
sides = [t for t in range(1, size + 1) if size % t == 0]
loads = [count(tiled, size, t) for t in sides]
_, axes = plt.subplots(figsize=(6, 3.5))
axes.loglog(sides, loads, "o", label="counted")
axes.loglog(sides, 2 * size**3 / np.array(sides), label="$2n^3/t$")
axes.axhline(2 * size**2, color="gray", linestyle=":", label="each number once")
axes.set(xlabel="side t of the tile", ylabel="loads")
axes.legend()
plt.show()

assert loads == [2 * size**3 // t for t in sides]

# %% [markdown]
# With $t = n$ everything is loaded once, which is the least there can be. So why not always? The $t^2$ sums must stay
# where a load costs nothing, and that place is small. There is one on every level. A core has 16 or 32 vector
# registers. With 32 long ones, forgenb keeps a tile of 12 rows and two vectors of columns in them; on other processors
# large products go to a library that works in the same way. There are two or three caches, the first one small and near
# to the core, each further one larger and slower. The first then holds a *panel* of $w$ that one tile after another
# goes over, and the second holds a piece of $x$. On a GPU, a group of lanes has a memory in common. Here is the middle
# of that kernel, where names in braces are filled in; `tile` is 16. Each lane loads one number of each operand into
# `left` and `right`, for all lanes of the group; at `syncthreads` they wait until all are there; then each goes on with
# its own sum.
#
# ```{literalinclude} /../backends/forgenb_cuda/templates.py
# :start-at: total = {real}(0)
# :end-before: if row < m and column < n
# :dedent: 8
# ```
#
# The intensity says which $t$ is enough: $2n^3$ flop with $2n^3 / t$ loads of 4 bytes are $t / 4$ flop a byte. If the
# roof of your machine is flat from 6 flop a byte on, tiles must have a side of 24 at the level where memory is slow.
#
# ## The same bits for any number of threads
#
# Threads share out tiles of the *result*. Each sum over $p$ belongs to one tile, so nobody else adds to it, and how
# many threads there are cannot change a bit.

# %%
size = (300, 300)
left, right = (fnb.tensor(draws.normal(size=size).astype("float32")) for _ in "xw")
threads, found = fnb.settings.threads, set()
for number in (1, 2, 3):
    fnb.settings.threads = number
    found.add((left @ right).numpy().tobytes())
fnb.settings.threads = threads
assert len(found) == 1

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 6`: a judge tries them on hidden inputs.
#
# **06-1.** `linear_rule(dout, x, w, b)`: the backward rule of $y = x \, w^T + b$, with tensors. Many libraries store a
# layer's $w$ like this, with a *row* for each output. Return all three gradients.
#
# **06-2.** `shared_rule(dout, x, w)`: the backward rule of `x @ w` for tensors of shapes `(c, m, k)` and `(k, n)`.
#
# **06-3.** `ragged(x, w, rows, columns)`: the product of two `Counted` matrices in tiles of `rows` times `columns`,
# for *any* sizes: at the edges a tile is smaller. The judge counts loads. Return a NumPy array.


# %%
def linear_rule(dout, x, w, b):
    raise NotImplementedError


def shared_rule(dout, x, w):
    raise NotImplementedError


def ragged(x, w, rows, columns):
    raise NotImplementedError


for number, answer in (("06-1", linear_rule), ("06-2", shared_rule), ("06-3", ragged)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 7 adds up rows, and goes from the scores of a network to its loss.
