# %% [markdown]
# # 12. Attention: rows that look at each other
#
# Since chapter 10 a text is a matrix, a row for each word or letter. A layer treats every row alike, and each by
# itself: row 5 hears nothing of row 2. **Attention** is where rows exchange something. It is a mean of rows, whose
# weights are computed from the rows themselves. Every step of it is known by now: two products and a softmax.
#
# ## Queries, keys and values
#
# Three matrices of parameters make three rows of each row, with $d$ numbers each. A **query** says what a row looks
# for, a **key** what it has to offer, and a **value** what it hands over if it is chosen. The **score** of row $i$ for
# row $j$ multiplies the one's query and the other's key, number by number, and adds up: it is large where they point
# the same way. Softmax turns the scores of a row into weights, and the result is the mean of the values with these
# weights:
#
# $$ S_{ij} = \frac{1}{\sqrt d} \sum_k Q_{ik} K_{jk}, \qquad P_{ij} = \frac{e^{S_{ij}}}{\sum_l e^{S_{il}}}, \qquad
#    Y_{ij} = \sum_l P_{il} V_{lj}. $$
#
# `fnb.ops.unfused_attention` is this, one op after the other. In NumPy:

# %%
import re

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


draws = np.random.default_rng(0)
t, d = 6, 4  # rows, and numbers in each
Q, K, V = draws.normal(size=(3, t, d))
S = Q @ K.T / np.sqrt(d)
P = softmax(S)
Y = P @ V
assert np.allclose(P.sum(axis=1), 1)
assert np.allclose(Y, fnb.ops.unfused_attention(Q, K, V).numpy())

# %% [markdown]
# Why $\sqrt d$? The product of two independent random numbers with mean 0 and variance 1 has variance 1 too. Variances
# add up, so a sum of $d$ such products has the spread $\sqrt d$. Without the division, longer rows have larger scores,
# softmax gives nearly everything to one of them, and there it is flat: it saturates, as in chapter 8.

# %%
long = draws.normal(size=(2, 64, 256))
scores = long[0] @ long[1].T
assert abs(scores.std() / 16 - 1) < 0.1  # 16 is the root of 256
raw, scaled = (softmax(x).max(axis=1).mean() for x in (scores, scores / 16))
print(f"largest of 64 weights: {raw:.2f} without the division, {scaled:.2f} with it")
assert raw > 0.8 > 0.2 > scaled

# %% [markdown]
# ## No look ahead
#
# A language model learns to foretell the next row from those before it. It must not see what it should guess. So scores
# for later rows are set to $-\infty$ before the softmax, and their weights become exactly 0. This is the **causal
# mask**. Row 0 sees itself alone, and the last row sees all.

# %%
ahead = np.triu(np.ones((t, t), bool), k=1)  # True above the diagonal, where j > i
P = softmax(np.where(ahead, -np.inf, S))
Y = P @ V
print(P.round(2))
assert P[0].tolist() == [1, 0, 0, 0, 0, 0]
assert not P[ahead].any()
assert np.allclose(P, fnb.ops.softmax(S, causal=True).numpy())

# %% [markdown]
# A test of any causal model: change the last row, and nothing before it may change, not by a bit. And backward from row
# 2, nothing may reach the rows after it.


# %%
def causal(q, k, v):
    return fnb.ops.unfused_attention(q, k, v, causal=True)


q, k, v = (fnb.tensor(x, requires_grad=True) for x in (Q, K, V))
y = causal(q, k, v)
assert np.allclose(y.numpy(), Y)
other_K, other_V = K.copy(), V.copy()
other_K[-1], other_V[-1] = 7.0, 7.0
other = causal(Q, other_K, other_V).numpy()
assert np.array_equal(other[:-1], y.numpy()[:-1])
assert not np.allclose(other[-1], y.numpy()[-1])
y[2].sum().backward()
assert k.grad.numpy()[:3].all()
assert not k.grad.numpy()[3:].any()
assert not v.grad.numpy()[3:].any()

# %% [markdown]
# ## Backward
#
# Go through the three steps from the end. $Y = P V$ is a product, and chapter 6 has its rules:
#
# $$ \bar P = \bar Y \, V^T, \qquad \bar V = P^T \, \bar Y. $$
#
# Softmax has the rule of chapter 7, row by row. A masked place has $P_{ij} = 0$, so its gradient is 0 as well, and the
# mask needs no rule of its own:
#
# $$ \bar S_{ij} = P_{ij} \Bigl( \bar P_{ij} - \sum_l P_{il} \bar P_{il} \Bigr). $$
#
# $S = Q K^T / \sqrt d$ is a product once more, whose second operand stands transposed:
#
# $$ \bar Q = \bar S \, K / \sqrt d, \qquad \bar K = \bar S^T Q / \sqrt d. $$
#
# A key was used by its own row and all later ones, and the product with $\bar S^T$ adds up what they say. As in chapter
# 9, `dP` is $\bar P$ in code.

# %%
dY = draws.normal(size=(t, d))
dP, dV = dY @ V.T, P.T @ dY
dS = P * (dP - (P * dP).sum(axis=1, keepdims=True))
dQ, dK = dS @ K / np.sqrt(d), dS.T @ Q / np.sqrt(d)
q, k, v = (fnb.tensor(x, requires_grad=True) for x in (Q, K, V))
causal(q, k, v).backward(fnb.tensor(dY))
for x, right in ((q, dQ), (k, dK), (v, dV)):
    assert np.allclose(x.grad.numpy(), right)
assert fnb.gradcheck(causal, Q, K, V)

# %% [markdown]
# ## Heads
#
# One softmax has one focus. To look for several things at once, let queries, keys and values have $c$ columns, cut
# these into $h$ **heads** of $d = c / h$ columns each, let every head attend for itself, and put the results side by
# side again. In practice one product makes all queries, keys and values, so a row holds $3c$ numbers: first the
# queries, head after head, then keys, then values. Cutting is a `reshape`, and moving the head in front of the rows is
# a `transpose`:


# %%
def by_hand(qkv, heads):
    b, t, columns = qkv.shape
    c = columns // 3
    parts = qkv.reshape((b, t, 3, heads, c // heads))
    q, k, v = parts.transpose((2, 0, 3, 1, 4))  # each [b, heads, t, d]
    scores = q @ k.transpose((0, 1, 3, 2)) / float(np.sqrt(c // heads))
    y = fnb.ops.softmax(scores, causal=True) @ v
    return y.transpose((0, 2, 1, 3)).reshape((b, t, c))


# %% [markdown]
# The last line moves the rows back to the front *before* it merges the heads. A `reshape` alone has the right shape
# too, and mixes numbers of different rows; it is the commonest mistake here. `fnb.ops.split_heads` and
# `fnb.ops.merge_heads` are the two moves as ops. `fnb.ops.attention` is the whole of it in one, causal mask included:

# %%
packed, dout = draws.normal(size=(2, 5, 3 * 8)), draws.normal(size=(2, 5, 8))
rows = packed.reshape(10, 24)  # those of both texts, one after the other
q, k, v = fnb.ops.split_heads(rows, 2, batch=2)
assert q.shape == (4, 5, 4)  # batch * heads, rows, d
assert np.array_equal(fnb.ops.merge_heads(q, batch=2).numpy(), rows[:, :8])
assert not np.array_equal(q.numpy().reshape(10, 8), rows[:, :8])  # mixed up

found = []
for f in (by_hand, fnb.ops.attention):
    qkv = fnb.tensor(packed, requires_grad=True)
    y = f(qkv, 2)
    y.backward(fnb.tensor(dout))
    found.append((y.numpy(), qkv.grad.numpy()))
for ours, theirs in zip(*found, strict=True):
    assert np.allclose(ours, theirs)
assert fnb.gradcheck(lambda qkv: fnb.ops.attention(qkv, 2), packed[:1, :3])

# %% [markdown]
# `fnb.ops.attention` cuts without copying. A head is a *view*: the same numbers in memory, read with other distances
# from one to the next. In the last line the second bracket has the distances along batch, head, row and column, and the
# last number says where the view begins.
#
# ```{literalinclude} /../forgenb/ops/attention.py
# :pyobject: heads_of
# ```
#
# And it saves less. Ours keeps $P$ for backward, and more of its kind: $t^2$ numbers a head, which is most of the
# memory where $t$ is large. The op keeps its input alone and computes $P$ again, a few heads at a time. `fnb.Tape`
# tells:

# %%
wide = fnb.tensor(draws.normal(size=(1, 128, 3 * 8)), requires_grad=True)
summaries = []
for f in (by_hand, fnb.ops.attention):
    with fnb.Tape() as tape:
        f(wide, 2)
    summaries.append(str(tape).splitlines()[-1])
    print(summaries[-1])
assert ", 24.6KB saved," in summaries[1]
assert 128 * 24 * 8 == 24_576  # bytes of the input, and nothing else
weights = 2 * 128 * 128 * 8  # bytes of the weights of two heads
assert float(re.search(r"(\d+)KB saved", summaries[0])[1]) * 1000 > weights == 262_144

# %% [markdown]
# ## A picture
#
# Attention can be read. Here are two heads for the text `abracadabra`, made by hand instead of trained. Head 0 asks for
# its own letter: query and key are the letter, as a row with a single large number. Head 1 asks for the place before
# its own; the first row has nobody before it, and sees itself. `weights=True` hands out $P$ as well.

# %% {"mystnb": {"image": {"alt": "Two triangles of weights: one has spots where letters agree, one a line"}}}
text = "abracadabra"
letter = np.array([[float(a == b) for b in sorted(set(text))] for a in text])
letter = np.pad(letter, ((0, 0), (0, len(text) - letter.shape[1])))
place = np.eye(len(text))
before = np.roll(place, -1, axis=1)  # row i has its number at i - 1
before[0] = 0.0
thirds = [5 * letter, 6 * before], [5 * letter, 6 * place], [letter, letter]
rows = np.concatenate([head for third in thirds for head in third], axis=1)
y, weights = fnb.ops.attention(rows[None], 2, weights=True)
weights = weights.numpy()[0]

_, axes = plt.subplots(1, 2, figsize=(8, 4))
titles = "same letter", "place before"
for part, head, title in zip(axes, weights, titles, strict=True):
    part.imshow(head, cmap="Blues", vmin=0, vmax=1)
    part.set(title=title, xlabel="key", ylabel="query")
    part.set_xticks(range(len(text)), text)
    part.set_yticks(range(len(text)), text)
plt.show()

same = np.array([[a == b for b in text] for a in text])
assert not np.triu(weights, 1).any()
assert weights[0, -1][same[-1]].sum() > 0.9  # the last a looks at all five of them
assert np.allclose(weights[0, -1][same[-1]], weights[0, -1, -1])  # alike
assert weights[1].diagonal(-1).min() > 0.9

# %% [markdown]
# ## The cache
#
# To write a text, a model adds one row at a time, and each new row needs attention to all before it. But earlier rows
# do not see the new one, so *their* keys and values are what they were. Keep them. Then a step needs one query, not
# all: $n$ scores a head for a text of $n$ rows instead of $n^2$. Up to 1000 rows, that is 0.5 million in place of 334
# million.
#
# Keys and values that are kept are called a **cache**, like the memories of chapter 5. `fnb.ops.kv_put` writes the new
# key or value into it, at the place that the row has in its text; its last number says which third of the row that is,
# 1 for keys and 2 for values, as queries are third 0. `fnb.ops.cached_attention` is the attention of one query to the
# cache. Row by row, this gives what the whole text gives at once.

# %%
assert sum(n for n in range(1, 1001)) == 500_500
assert sum(n * n for n in range(1, 1001)) == 333_833_500
whole = fnb.ops.attention(packed, 2).numpy()
empty = np.zeros((2 * 2, 5, 4))  # batch * heads, places, d
keys, values = fnb.tensor(empty), fnb.tensor(empty)
for i in range(5):
    row, at = fnb.tensor(packed[:, i]), [i, i]  # the new row of both texts, and its places
    fnb.ops.kv_put(keys, row, at, 1)
    fnb.ops.kv_put(values, row, at, 2)
    y = fnb.ops.cached_attention(row, keys, values, at)
    assert np.allclose(y.numpy(), whole[:, i])

# %% [markdown]
# The kernel computes one head of one text, all in one go: scores and their maximum, exponentials and their sum, the
# division, and the mean of the values. It goes as far as the row's own place. No mask is needed, since what comes later
# is not there yet. (The weights behind that place become zeros, as far as `filled` says, for those who ask to see
# them.)
#
# ```{literalinclude} /../forgenb/ops/cached_attention.py
# :pyobject: cached_attention_kernel
# ```
#
# ## Exercises
#
# Write the functions, and run the cell again: `fnb.course.check` tries them on inputs that you do not see.
#
# **12-1.** `causal_weights(scores)`: the weights $P$ for a square NumPy array of scores, of any size, with the causal
# mask.
#
# **12-2.** `linear_attention_rule(dout, q, k, v)`: leave out softmax and $\sqrt d$, and attention is
# $y = (M \circ q k^T) \, v$, where $\circ$ multiplies number by number and $M_{ij}$ is 1 for $j \le i$ and 0 for later
# rows. Write its backward rule with tensors of two axes, and return three gradients. `fnb.ops.tril` sets to 0 what is
# above the diagonal.
#
# **12-3.** `next_row(qkv, keys, values)`: attention of a new row, with NumPy. `qkv` holds its $3c$ numbers in the order
# of this chapter; `keys` and `values` have shape `(heads, n, d)` and hold the $n$ rows before it. Return its $c$
# numbers.


# %%
def causal_weights(scores):
    raise NotImplementedError


def linear_attention_rule(dout, q, k, v):
    raise NotImplementedError


def next_row(qkv, keys, values):
    raise NotImplementedError


answers = causal_weights, linear_attention_rule, next_row
for number, answer in zip(("12-1", "12-2", "12-3"), answers, strict=True):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# All parts of a language model are there now. Chapter 13 is about the steps that train them.
