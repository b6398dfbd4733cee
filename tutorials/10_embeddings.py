# %% [markdown]
# # 10. Embeddings, and adding up without races
#
# A network computes with numbers, and text is made of words. An **embedding** is the bridge: a table with a row of
# numbers for each word. Forward looks rows up, which is easy. Backward adds gradients up, where the same word may stand
# at many places, and several threads want the same row at the same time. This chapter is about how to let them, so that
# nothing gets lost and every run gives the same bits.
#
# ## Gather
#
# Number the words; a word's number is its **id**. The row of word $r$ in the table is $W_r$. A text is then a list of
# ids, and the embedding of position $i$ is the row of its word:
#
# $$ y_i = W_{\mathrm{ids}_i}. $$
#
# That is called a *gather*. `fnb.ops.embedding` does it.

# %%
import itertools

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

text = "the cat saw the dog and the dog saw the cat"
words = sorted(set(text.split()))
ids = np.array([words.index(word) for word in text.split()])
print(words, ids)

draws = np.random.default_rng(0)
table = draws.normal(size=(len(words), 3))
W = fnb.tensor(table, requires_grad=True)
y = fnb.ops.embedding(ids, W)
assert np.array_equal(y.numpy(), table[ids])

# %% [markdown]
# An id that is not in the table is refused before anything is read, with `fnb.errors.IndexRangeError`.

# %%
try:
    fnb.ops.embedding([0, len(words)], W)
except fnb.errors.IndexRangeError as error:
    refused = error
assert "5" in str(refused)

# %% [markdown]
# ## Scatter-add
#
# Backward follows from what we know. The number $W_{rj}$ is used once at every position where word $r$ stands, and a
# value that is used several times gets the sum over its uses:
#
# $$ \bar W_r = \sum_{i \,:\, \mathrm{ids}_i = r} \bar y_i. $$
#
# This is a **scatter-add**: row $i$ of the gradient is sent to row $\mathrm{ids}_i$, and added there. You may also see
# it as a matrix product. Let $H_{ir}$ be 1 where $\mathrm{ids}_i = r$, and 0 elsewhere. Then $y = H W$, and the
# backward product is $\bar W = H^T \bar y$. It is right, and a waste: almost all of $H$ is zeros.

# %%
dout = draws.normal(size=(len(ids), 3))
y.backward(fnb.tensor(dout))
H = np.eye(len(words))[ids]
assert np.allclose(H @ table, y.numpy())
assert np.allclose(W.grad.numpy(), H.T @ dout)

# %% [markdown]
# In NumPy one would like to write `grad[ids] += dout`, and that is wrong. It reads all rows, adds, and writes all rows.
# *The* stands at four places; each of them reads a zero, and the last one to write wins.

# %%
grad = np.zeros_like(table)
grad[ids] += dout
the = words.index("the")
last = np.flatnonzero(ids == the)[-1]
assert np.array_equal(grad[the], dout[last])
assert not np.allclose(grad, W.grad.numpy())

# %% [markdown]
# ## A race
#
# Threads fall into the same trap, at random. To add is three steps: *read* the number, *add* to it in a register,
# *write* it back. Let two threads, A and B, add 1 to the same number. Each does its steps in order, but nobody says how
# the two mix. A takes three of the six turns, and there are twenty ways to choose these, so try them all.


# %%
def play(order):
    memory, register = 0, {}
    steps_done = {"A": 0, "B": 0}
    for thread in order:
        step = steps_done[thread]
        if step == 0:
            register[thread] = memory
        elif step == 1:
            register[thread] += 1
        else:
            memory = register[thread]
        steps_done[thread] += 1
    return memory


orders = sorted(set(itertools.permutations("AAABBB")))
results = [play(order) for order in orders]
print({total: results.count(total) for total in set(results)})
assert len(orders) == 20
assert results.count(2) == 2
assert results.count(1) == 18

# %% [markdown]
# Only two of them give 2: those where one thread is done before the other begins. In all others one addition is lost.
# That is a **race**: the result depends on who comes first.
#
# ## Atomics do not give the same bits
#
# Processors have an *atomic* addition, whose three steps cannot be split. Then nothing is lost. But the threads still
# arrive in any order, and for floating-point numbers the order matters, as in chapter 5:

# %%
big, small = np.float32(2**24), np.float32(1)
assert (big + small) + small == big
assert big + (small + small) != big

# %% [markdown]
# Here are the same thousand numbers, added in 3000 random orders. `np.cumsum` adds from left to right.

# %% {"mystnb": {"image": {"alt": "Bars for some forty different sums, in the shape of a bell near the right one"}}}
numbers = draws.normal(size=1000).astype("float32")
sums = np.array([np.cumsum(draws.permutation(numbers))[-1] for _ in range(3000)])
found, how_often = np.unique(sums, return_counts=True)
errors = (found - numbers.astype("float64").sum()) * 1e6
_, axes = plt.subplots(figsize=(6, 3))
axes.bar(errors, how_often, width=0.8 * np.diff(errors).min())
axes.set(xlabel="error of the sum, in millionths", ylabel="orders")
plt.show()

print(len(found), "different sums")
assert len(found) > 20

# %% [markdown]
# All of them are good sums. But a training run that cannot be repeated is hard to debug: you never know whether it was
# your change or the order. So forgenb adds up no numbers with atomics. The order is made part of the result.
#
# ## A plan: whose turn it is
#
# The idea is to turn the question round. Do not ask where each gradient goes. Ask for each row which gradients it gets.
# Then *one* thread can add up that row, in an order that is fixed, and no other thread writes there.
#
# For this the positions are sorted by id, where equal ids stay in their order:

# %%
order = np.argsort(ids, kind="stable")
for r, word in enumerate(words):
    print(f"{word:4} {[int(i) for i in order if ids[i] == r]}")
assert (np.diff(ids[order]) >= 0).all()
assert order[ids[order] == the].tolist() == [0, 3, 6, 9]

# %% [markdown]
# In a real text one word may fill a twentieth of all positions, and one thread would be left with most of the work. So
# the list of each id is cut into blocks of 64 positions, or of $\sqrt n$ where a text of $n$ positions is long. Blocks
# are added up in any order by any thread, each into a place of its own. Then one thread adds up the blocks of a row,
# from first to last.
#
# The plan comes from *counting*: how often is each id there, so where does its list begin; then each position is put
# into the next free place of its list. That is two passes over the ids, and one thread does it: `lanes(1)` has a turn
# for a single lane. In `place` stand first the counts and then the next free places.
#
# ```{literalinclude} /../forgenb/ops/scatter.py
# :pyobject: scatter_plan_kernel
# ```
#
# The block `row` has the positions `order[ends[row]]` to `order[ends[row + 1] - 1]`. Look at the target `out[row, j]`:
# it belongs to this block alone.
#
# ```{literalinclude} /../forgenb/ops/scatter.py
# :pyobject: scatter_block_kernel
# ```
#
# ```{literalinclude} /../forgenb/ops/scatter.py
# :pyobject: scatter_row_kernel
# ```
#
# `fnb.ops.scatter_add` is all three. In a short text every id has one block, so it must have the very bits of a loop
# over the positions, in their order. And the order and the blocks come from the ids alone, so `fnb.settings.threads`
# must not change a bit either, in a long text where one word is everywhere.

# %%
short = draws.normal(size=(len(ids), 3)).astype("float32")
loop = np.zeros((len(words), 3), "float32")
for i, r in enumerate(ids):
    loop[r] += short[i]
assert fnb.ops.scatter_add(ids, short, len(words)).numpy().tobytes() == loop.tobytes()

long_ids = np.where(draws.random(20_000) < 0.5, 0, draws.integers(0, 100, 20_000))
long = draws.normal(size=(20_000, 32)).astype("float32")
threads, found = fnb.settings.threads, set()
for number in (1, 2, 3, 5):
    fnb.settings.threads = number
    found.add(fnb.ops.scatter_add(long_ids, long, 100).numpy().tobytes())
fnb.settings.threads = threads
assert len(found) == 1

# %% [markdown]
# Blocks round less, too, as in chapter 7. Here are a hundred thousand tenths in one row.

# %%
tenths = np.full((100_000, 1), 0.1, "float32")
in_blocks = fnb.ops.scatter_add(np.zeros(100_000, "int64"), tenths, 1).item()
running = float(np.cumsum(tenths[:, 0])[-1])
true = tenths.astype("float64").sum()
print(f"in blocks off by {abs(in_blocks - true):.4f}, as a running total by {abs(running - true):.4f}")
assert abs(in_blocks - true) < 0.1 * abs(running - true)

# %% [markdown]
# ## Word and place
#
# *The dog saw the cat* has the same words as *the cat saw the dog*. So a GPT has a second table with a row $P_t$ for
# each place, and adds the two. It works on a batch of texts, $b$ counts them:
#
# $$ y_{bt} = W_{\mathrm{ids}_{bt}} + P_t, \qquad \bar P_t = \sum_b \bar y_{bt}. $$
#
# The second sum runs over the batch, since place $t$ is used once in every text: chapter 3 again.
#
# ```{literalinclude} /../forgenb/ops/embedding.py
# :pyobject: embedding_kernel
# ```
#
# `pos` is the place of the first word, for a text that goes on. A place that no text reaches gets the gradient 0, as
# does a word that none has. `fnb.gradcheck` agrees about both tables.

# %%
batch = np.array([[0, 2, 2], [4, 0, 2]])
W, P = fnb.tensor(table, requires_grad=True), fnb.tensor(draws.normal(size=(6, 3)), requires_grad=True)
y = fnb.ops.embedding(batch, W, P, pos=1)
dout = draws.normal(size=y.shape)
y.backward(fnb.tensor(dout))
assert np.array_equal(y.numpy(), table[batch] + P.numpy()[1:4])
assert np.allclose(P.grad.numpy()[1:4], dout.sum(axis=0))
assert not P.grad.numpy()[[0, 4, 5]].any()
assert not W.grad.numpy()[[1, 3]].any()
assert fnb.gradcheck(lambda W, P: fnb.ops.embedding(batch, W, P, pos=1), table, P.numpy())

# %% [markdown]
# ## Exercises
#
# All three are about NumPy arrays. Write the functions, and run the cell again; `fnb.course.check` tries them.
#
# **10-1.** `embedding_rule(dout, ids, words, places, pos)`: both gradients of the embedding of words and places, for
# tables with `words` and `places` rows. `ids` has shape `(b, t)` and `dout` shape `(b, t, n)`.
#
# **10-2.** `blocks(ids, size)`: the plan as a list of lists. Each has positions of one id, at most `size` of them.
# Smaller ids come first, positions of an id stay in their order, and all blocks of an id but its last one are full.
#
# **10-3.** `blocked_sum(x, size)`: the sum of a `float32` array, to the last bit as forgenb would do it. Add up blocks
# of `size` numbers, each from left to right, and then the sums of the blocks from left to right, all in `float32`.


# %%
def embedding_rule(dout, ids, words, places, pos):
    raise NotImplementedError


def blocks(ids, size):
    raise NotImplementedError


def blocked_sum(x, size):
    raise NotImplementedError


for number, answer in (("10-1", embedding_rule), ("10-2", blocks), ("10-3", blocked_sum)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 11 throws numbers away at random, and does it again in backward without having written down which.
