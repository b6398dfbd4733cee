# %% [markdown]
# # 11. Dropout without saving a mask
#
# A network that sees the same few examples again and again learns them by heart. One remedy is to make its life harder:
# in training, set some of its numbers to zero at random, others in each step. Then no part can rely on a single other
# part. This is **dropout**. Backward has to know which numbers were dropped, and the obvious way is to write that down.
# This chapter does not write it down. It makes random numbers that can be asked for *again*.
#
# ## The rule
#
# Let $p$ be the share to drop. The **mask** $m_i$ is 0 with probability $p$, and 1 otherwise. What is kept is scaled:
#
# $$ y_i = \frac{m_i}{1 - p} \, x_i. $$
#
# Why the scale? The mean of $m_i$ over all masks is $1 - p$, so the mean of $y_i$ is $x_i$. After training nothing is
# dropped, and the next layer sees numbers that are, on the whole, as large as those that it was trained with.
#
# For a given mask this is a product with a constant, so the gradient is multiplied by the same:
#
# $$ \bar x_i = \frac{m_i}{1 - p} \, \bar y_i. $$
#
# It is the same function, with the same mask, of another input. `fnb.ops.dropout` takes $p$ and a **seed**, the number
# that all of a mask follows from, as all random numbers follow from that of `fnb.seed`.

# %%
import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

draws = np.random.default_rng(0)
values, dout = draws.normal(size=(4, 6)), draws.normal(size=(4, 6))
x = fnb.tensor(values, requires_grad=True)
y = fnb.ops.dropout(x, 0.25, seed=7)
y.backward(fnb.tensor(dout))
print(y)
kept = y.numpy() != 0
assert np.allclose(y.numpy(), kept * values / 0.75)
assert np.allclose(x.grad.numpy(), kept * dout / 0.75)
assert np.array_equal(x.grad.numpy(), fnb.ops.dropout(dout, 0.25, seed=7).numpy())
assert fnb.gradcheck(lambda x: fnb.ops.dropout(x, 0.25, seed=7), values)

# %% [markdown]
# ## What is wrong with the usual random numbers
#
# A generator such as NumPy's has a *state*. Each draw changes it, and the next draw depends on it. That is bad here in
# two ways. When backward comes, the state has moved on, so the mask must have been kept, a byte for each number. And
# the draws come in a row: thread 2 cannot begin before it is known how many thread 1 will take.
#
# A **counter hash** has no state. It is a plain function of the seed and of the *place* $i$, so scrambled that its
# results look random. Any thread can ask for any place, in any order, twice if it likes. From the hash comes a number
# $u_i$ with $0 \le u_i < 1$, and
#
# $$ m_i = 1 \text{ where } u_i \ge p, \qquad m_i = 0 \text{ elsewhere}. $$
#
# ## A hash that mixes
#
# Computers calculate with 32-bit integers modulo $2^{32}$, which throws high digits away, and so the first idea is to
# multiply by a large odd number. That is not enough. Multiplication carries to the left only: a low bit of the result
# never hears of a high bit of the input. And the results of neighbours always have the same distance. So the hash
# shifts high bits down and combines them by *exclusive or*, $\oplus$, and shifts by a number that depends on the input
# itself. With $\gg$ for a shift to the right, and all modulo $2^{32}$, the input $x$ becomes $h$:
#
# $$ \begin{aligned}
# s &= 747796405 \, x + 2891336453 \\
# w &= 277803737 \, \bigl( (s \gg ((s \gg 28) + 4)) \oplus s \bigr) \\
# h &= (w \gg 22) \oplus w
# \end{aligned} $$
#
# The constants are from the literature, where many were tried (Jarzynski and Olano, 2020). `fnb.random.pcg_hash` is
# this function. Ask it how well it mixes: change one bit of the input, and about half of the 32 bits of the result
# should change.

# %%
places = draws.integers(0, 2**32, 2000, dtype=np.uint32)
flips = []
for bit in range(32):
    changed = fnb.random.pcg_hash(places) ^ fnb.random.pcg_hash(places ^ np.uint32(1 << bit))
    flips.append(np.unpackbits(changed.view(np.uint8)).sum() / len(places))
print(f"from {min(flips):.2f} to {max(flips):.2f} of 32 bits change")
assert 15 < min(flips) <= max(flips) < 17
differ = np.uint32(747796405) * places ^ np.uint32(747796405) * (places ^ np.uint32(1 << 31))
assert (differ == 1 << 31).all()  # multiplying alone: the highest bit reaches no other

# %% [markdown]
# The eye is a good judge too. Here are two masks for 64 rows of 64 numbers, one made by multiplying alone, and one made
# by the hash. `fnb.random.dropout_keep` says which of `n` numbers `fnb.ops.dropout` keeps.

# %% {"mystnb": {"image": {"alt": "Two squares of black and white dots: the left has stripes, the right no pattern"}}}
index = np.arange(64 * 64, dtype=np.uint32)
multiplied = (index * np.uint32(747796405)) / 2**32 >= 0.5
hashed = fnb.random.dropout_keep(64 * 64, 0.5, seed=7)
_, axes = plt.subplots(1, 2, figsize=(7, 3.5))
for part, mask, title in zip(axes, (multiplied, hashed), ("multiplied", "hashed"), strict=True):
    part.imshow(mask.reshape(64, 64), cmap="gray")
    part.set(title=title, xticks=[], yticks=[])
plt.show()


def likeness(mask, far):
    return np.mean(mask[far:] == mask[:-far])  # a half if places that far apart know nothing of each other


print([max(abs(likeness(mask, far) - 0.5) for far in range(1, 200)) for mask in (multiplied, hashed)])
assert max(abs(likeness(multiplied, far) - 0.5) for far in range(1, 200)) > 0.4
assert max(abs(likeness(hashed, far) - 0.5) for far in range(1, 200)) < 0.05

# %% [markdown]
# ## The kernel
#
# Seed and place are mixed first, and then hashed: the place times a large odd number, exclusive or the seed, is the $x$
# of the formulas. `add32`, `mul32`, `xor32` and `shr32` are arithmetic on 32-bit integers.
#
# ```{literalinclude} /../forgenb/ops/dropout.py
# :pyobject: uniform
# ```
#
# `unit_from_bits` takes the upper 24 bits and divides by $2^{24}$. A `float32` has 24 binary digits, so nothing is
# rounded, and every machine has the same $u_i$ to the last bit. The kernel of dropout is one line. A map kernel that
# begins with `index` is told the place of its element, and `scale` is $1 / (1 - p)$:
#
# ```{literalinclude} /../forgenb/ops/dropout.py
# :pyobject: dropout_kernel
# ```
#
# The last scalar, `offset`, will have its use at the end of this chapter. The backward rule is the call that we have
# seen: `dropout` again, with the same seed. `fnb.Tape` shows that nothing is saved. Since each place is for itself,
# `fnb.settings.threads` cannot matter.

# %%
with fnb.Tape() as tape:
    fnb.ops.dropout(fnb.tensor(values, requires_grad=True), 0.25, seed=7)
print(tape)
assert "2 entries, 0B saved" in str(tape)

threads, found = fnb.settings.threads, set()
for number in (1, 2, 3):
    fnb.settings.threads = number
    found.add(fnb.ops.dropout(np.ones(200_000), 0.25, seed=7).numpy().tobytes())
fnb.settings.threads = threads
assert len(found) == 1

# %% [markdown]
# The same hash in NumPy, which is bit by bit what the kernel did:

# %%
mixed = np.uint32(7) ^ (np.arange(24, dtype=np.uint32) * np.uint32(2654435769))
u = (fnb.random.pcg_hash(mixed) >> 8) / 2**24
assert np.array_equal((u >= 0.25).reshape(4, 6), kept)

# %% [markdown]
# ## Are enough kept?
#
# Of $n$ numbers about $(1 - p) \, n$ should be kept, but not exactly that many. A single $m_i$ is 1 with probability
# $1 - p$, so its variance is $p (1 - p)$. If each is decided for itself, variances add up, and the share that is kept
# has the standard deviation $\sqrt{p (1 - p) / n}$. A good mask is nearly always within four of these. And over many
# seeds the *mean* of the result must be the input again.

# %%
n = 100_000
for p in (0.1, 0.25, 0.5, 0.9):
    share = np.mean(fnb.random.dropout_keep(n, p, seed=3))
    off = (share - (1 - p)) / np.sqrt(p * (1 - p) / n)
    print(f"p={p}: {share:.4f} are kept, {off:+.1f} standard deviations off")
    assert abs(off) < 4

masks = np.stack([fnb.random.dropout_keep(values.size, 0.25, seed) for seed in range(4000)])
mean = masks.mean(axis=0).reshape(values.shape) * values / 0.75
assert np.abs(mean / values - 1).max() < 4 * np.sqrt(0.25 / 0.75 / 4000)

# %% [markdown]
# ## A seed for each site
#
# A model has many **sites**, places where it drops. If they all had the same seed, they would drop the same places:
# what one lets through, the next one lets through as well, and the second drops nothing new.

# %%
once = fnb.ops.dropout(np.ones(10_000), 0.5, seed=7)
twice, other = fnb.ops.dropout(once, 0.5, seed=7), fnb.ops.dropout(once, 0.5, seed=8)
assert np.array_equal(twice.numpy() != 0, once.numpy() != 0)
assert abs(np.mean(other.numpy() != 0) - 0.25) < 0.02

# %% [markdown]
# So each site needs its own seed, and each step new ones. Adding the numbers is a trap: site 2 in step 3 and site 3 in
# step 2 have the same sum. `fnb.random.site_seed` multiplies both by large odd numbers before it adds them.
#
# ```{literalinclude} /../forgenb/random.py
# :pyobject: site_seed
# ```

# %%
pairs = [(step, site) for step in range(100) for site in range(1, 21)]
assert len({step + site for step, site in pairs}) == 119
assert len({fnb.random.site_seed(step, site) for step, site in pairs}) == len(pairs) == 2000

# %% [markdown]
# The layer `fnb.nn.Dropout` does this for you. It counts its calls, so every step has a new mask, and it takes its seed
# from `fnb.seed`, so a run can be repeated. After `eval()` it lets everything through.

# %%
runs = []
for _ in range(2):
    fnb.seed(5)
    layer = fnb.nn.Dropout(0.5)
    runs.append([layer(fnb.tensor(np.ones(100))).numpy() for _ in range(2)])
assert np.array_equal(runs[0], runs[1])
assert not np.array_equal(runs[0][0], runs[0][1])
layer.eval()
assert np.array_equal(layer(fnb.tensor(values)).numpy(), values)

# %% [markdown]
# One thing more comes for free. A batch may be cut in parts, on several machines say. If a part is told at which place
# it begins, the parts drop what the whole would have dropped there: `offset` is added to $i$.

# %%
whole = fnb.ops.dropout(values, 0.25, seed=7).numpy()
upper, lower = (fnb.ops.dropout(values[at : at + 2], 0.25, seed=7, offset=6 * at).numpy() for at in (0, 2))
assert np.array_equal(np.concatenate([upper, lower]), whole)

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 11`: a judge tries them on hidden inputs.
#
# **11-1.** `dropout_rule(dout, x, p, seed)`: the backward rule of `fnb.ops.dropout`, with tensors. Mind that some
# numbers of `x` are zero anyway.
#
# **11-2.** `pcg(x)`: the hash of one Python integer from 0 to $2^{32} - 1$, by the three formulas above and without
# NumPy. Mind that Python's integers have no end.
#
# **11-3.** `drop_rows(x, p, seed)`: dropout that drops *whole rows* of a tensor `x` of shape `(rows, n)`. Row $i$ is
# kept where $u_i \ge p$, and scaled as always. Return a tensor.


# %%
def dropout_rule(dout, x, p, seed):
    raise NotImplementedError


def pcg(x):
    raise NotImplementedError


def drop_rows(x, p, seed):
    raise NotImplementedError


for number, answer in (("11-1", dropout_rule), ("11-2", pcg), ("11-3", drop_rows)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 12 lets the words of a text look at each other: attention.
