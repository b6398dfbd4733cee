# %% [markdown]
# # 18. Looking inside
#
# A trained network is a heap of numbers, and nobody wrote the program that they make. But we can watch it run: which
# places attention looks at, what the residual stream says after each layer, where the model is sure and where it
# guesses. Here we train one on a language so simple that we know what it *should* do, and then find out how it does it.
#
# ## A language with one rule
#
# A text has the letters a to h, drawn by chance. After a letter a question mark may come, with probability 0.4. After a
# question mark comes the letter that stood before it: that is the rule. `fnb.data.CharTokenizer` numbers the characters
# in the order in which they are given.

# %%
import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

tokenizer = fnb.data.CharTokenizer("abcdefgh?")
MARK = 8
LENGTH = 12


def texts(count, seed):
    draws, shape = np.random.default_rng(seed), (count, LENGTH + 1)
    ids, marks = draws.integers(0, 8, shape), draws.random(shape) < 0.4
    for t in range(1, LENGTH + 1):
        free = np.where(marks[:, t], MARK, ids[:, t])
        ids[:, t] = np.where(ids[:, t - 1] == MARK, ids[:, t - 2], free)
    return ids


for row in texts(3, seed=0):
    print(tokenizer.decode(row))

# %% [markdown]
# The rule needs attention. At a question mark the character itself says nothing of the answer, which stands at another
# place. Only attention can bring it here.
#
# ## Training
#
# This is chapter 17 in small: a `fnb.models.GPT` of the sizes in `fnb.models.GPTConfig`, `fnb.optim.AdamW`, and a
# compiled `fnb.train.TrainStep`. `fnb.data.Batches` goes through the texts in batches, shuffled anew each time.

# %%
config = fnb.models.GPTConfig(vocab=9, context=LENGTH, layers=2, heads=2, width=64)
model = fnb.models.GPT(config, seed=0)
optimizer = fnb.optim.AdamW(model.named_parameters(), lr=2e-3)
step = fnb.train.TrainStep(model, optimizer, clip_norm=1.0)
known = texts(4000, seed=1)
batches = fnb.data.Batches((known[:, :-1], known[:, 1:]), 64, seed=0)
losses = [step(*batches(number))[0].item() for number in range(200)]
at_last = np.mean(losses[-20:])
print(f"loss {losses[0]:.2f} at first, {at_last:.2f} at last")

# %% [markdown]
# ## Surprisal
#
# How low can the loss go? Not to 0: nobody can foresee a letter drawn by chance. A character of probability $p$ is
# worth $-\log_2 p$ **bits**; this is its **surprisal**. It is what the loss measures, but for the unit: the loss has
# natural logarithms, and one *nat* is $1 / \ln 2$ bits. In our language we know all probabilities. After a question
# mark there is one possibility, so the surprisal is $-\log_2 1 = 0$. Otherwise a question mark has probability 0.4 and
# each letter $0.6 / 8$:
#
# $$ -\log_2 0.4 \approx 1.32, \qquad -\log_2 0.075 \approx 3.74. $$
#
# `fnb.models.surprisal` asks the model for the same numbers. The first character is not counted, since the model has
# nothing to go by.


# %%
def should_be(ids):
    bits = np.where(ids == MARK, -np.log2(0.4), -np.log2(0.075))
    bits[1:][ids[:-1] == MARK] = 0.0
    bits[0] = 0.0
    return bits


text = tokenizer.encode("ecd?dbh?hga?")
found = fnb.models.surprisal(model, text)
right = should_be(text)
for character, got, wanted in zip("ecd?dbh?hga?", found.bits, right):
    print(f"{character} {got:5.2f} bits, should be {wanted:.2f}")

floor = np.mean([should_be(row)[1:].mean() for row in known]) * np.log(2)
print(f"the loss cannot go below {floor:.3f} nats, and is {at_last:.3f}")
assert np.abs(found.bits - right).max() < 1.0
assert abs(at_last - floor) < 0.1

# %% [markdown]
# So it has learned the language, and the loss has hardly further to fall. Now we want to know how.
#
# ## Where it looks
#
# `fnb.models.Tracer` asks for a record of each id that `fnb.models.generate` adds. With `greedy=True` that is the most
# probable one, and nothing is drawn. The ids are those without a tracer: the same ops run, and what they compute is
# read back. Here is a layer as `fnb.models.generate` runs it. Every value on the way is noted, if a tracer asks for it:
#
# ```{literalinclude} /../forgenb/models/decoder.py
# :pyobject: Decoder._layer
# ```
#
# We let it answer the last question mark of our text. `shortlist` has the most probable ids, `attention` the weights of
# all layers and heads: row $i$ is what place $i$ takes from each place. As chapter 12 has it, rows add up to 1, and
# what comes later has a weight of exactly 0.

# %%
records = []
tracer = fnb.models.Tracer(records.append, top=2, layers=2)
answer = fnb.models.generate(model, text, 1, greedy=True, tracer=tracer)
record = records[0]
assert np.array_equal(answer, fnb.models.generate(model, text, 1, greedy=True))
print(tokenizer.decode(answer))
for i, p in record.shortlist:
    print(f"{tokenizer.decode([i])} with probability {p:.3f}")
attention = record.attention
assert tokenizer.decode(answer) == "ecd?dbh?hga?a"
assert record.shortlist[0][1] > 0.9
assert attention.shape == (2, 2, 12, 12)
assert np.allclose(attention.sum(axis=-1), 1, atol=1e-5)
assert not attention[:, :, ~np.tri(12, dtype=bool)].any()

# %% {"mystnb": {"image": {"alt": "Four triangles of weights; in one, question marks take from the place before"}}}
characters = list(tokenizer.decode(text))
_, grid = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
for place, axes in enumerate(grid):
    layer, head = divmod(place, 2)
    axes.imshow(attention[layer, head], cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(12), characters)
    axes.set_yticks(range(12), characters)
    axes.set_title(f"layer {layer}, head {head}")
plt.show()

asks = np.flatnonzero(text == MARK)
back = attention[:, :, asks, asks - 1].mean(axis=-1)
print("question marks take from the place before:\n", back.round(2))
assert back[0].max() > 0.7

# %% [markdown]
# Look at the rows of the question marks. A head of the first layer gives nearly all of its weight to the place before.
# Nobody told it to. It is what the loss rewards.
#
# Where do the weights come from? A record has queries `q` and keys `k` too, so we can do what chapter 12 says, and must
# find the same: $\operatorname{softmax}(q k^T / \sqrt d)$, with later places hidden.

# %%
detail = record.layers[0]
scores = detail.q @ detail.k.transpose(0, 2, 1) / np.sqrt(detail.q.shape[-1])
seen = np.where(np.tri(12, dtype=bool), np.exp(scores), 0.0)
assert np.allclose(seen / seen.sum(axis=-1, keepdims=True), attention[0], atol=1e-5)
assert np.allclose(detail.attention_out, attention[0] @ detail.v, atol=1e-5)

# %% [markdown]
# ## Logits by layer
#
# The model makes logits of the stream after its last layer: norm, then products with the rows of the character table.
# Nothing keeps us from doing the same *earlier*. What would it answer if it stopped here? This way of looking is called
# the **logit lens**. With gain $\gamma$ and shift $\beta$ of the last norm as in chapter 9, and $W$ for the table:
#
# $$ \operatorname{lens}(x) = (\gamma \, \hat x + \beta) \, W^T, \qquad
#    \hat x = \frac{x - \operatorname{mean}(x)}{\sqrt{\operatorname{var}(x) + \epsilon}}. $$

# %%
gain, shift = model.ln_f.weight.numpy(), model.ln_f.bias.numpy()
table = model.wte.weight.numpy()


def lens(x):
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    normed = (x - x.mean(axis=-1, keepdims=True)) / spread
    return (normed * gain + shift) @ table.T


def probabilities(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


stages = {"embedding": record.embedding}
for number, detail in enumerate(record.layers):
    stages[f"attention {number}"] = detail.residual
    stages[f"MLP {number}"] = detail.block_out
right = {name: probabilities(lens(x))[-1, answer[-1]] for name, x in stages.items()}
for name, p in right.items():
    print(f"after {name:12s} the answer has probability {p:.3f}")
assert np.isclose(right["MLP 1"], record.shortlist[0][1], atol=1e-4)
assert right["embedding"] < 1 / 8 < 0.9 < right["MLP 1"]
assert right["attention 0"] > 3 * right["embedding"]

# %% [markdown]
# At first the stream knows only that there is a question mark, and the answer is less likely than by guessing among
# eight letters. The first attention brings it in. Here is the whole text: for each place, how probable the *right* next
# character is after each stage. At places where the next character is free, no stage can know it.

# %% {"mystnb": {"image": {"alt": "Probabilities by layer: at question marks they rise with the first attention"}}}
following = np.array(answer[1:])
places = np.arange(12)
map_of = [probabilities(lens(x))[places, following] for x in stages.values()]
_, axes = plt.subplots(figsize=(8, 3), layout="constrained")
image = axes.imshow(map_of, cmap="Greens", vmin=0, vmax=1, aspect="auto")
axes.set_xticks(places, characters)
axes.set_yticks(range(5), stages)
plt.colorbar(image, label="probability")
plt.show()
free = np.setdiff1d(places, asks)
assert map_of[-1][asks].min() > 0.8
assert map_of[-1][free].max() < 0.6

# %% [markdown]
# ## Does it matter?
#
# A picture of attention shows where a head looks. It does not show that anybody uses what it saw. To know that,
# *change* something and see what breaks. The layer behind the heads, `c_proj`, multiplies what they found, side by
# side, by a matrix. So each head has rows of that matrix for itself, here 32 of 64, and what comes out is a sum over
# the heads. Set the rows of a head to 0, and it is silent. `state_dict` has all parameters by name, and
# `load_state_dict` takes them. The texts are fresh ones.


# %%
def silenced(layer, head):
    state = model.state_dict()
    state[f"h.{layer}.attn.c_proj.weight"][32 * head : 32 * (head + 1)] = 0.0
    other = fnb.models.GPT(config)
    other.load_state_dict(state)
    return other


def answer_bits(model):
    """Mean surprisal of what follows a question mark."""
    rows = texts(200, seed=2)
    with fnb.no_grad():
        expected = probabilities(model(rows[:, :-1]).numpy())
    own = np.take_along_axis(expected, rows[:, 1:, None], axis=-1)[..., 0]
    return -np.log2(own[rows[:, :-1] == MARK]).mean()


healthy = answer_bits(model)
cost = [[answer_bits(silenced(k, head)) for head in (0, 1)] for k in (0, 1)]
print(f"as it is: {healthy:.2f} bits an answer; with one head silent:")
print(np.round(cost, 2))
assert healthy < 0.5
assert np.max(cost) > 3
assert np.sort(cost, axis=None)[-2] < 1
assert np.argmax(cost) == np.argmax(back)

# %% [markdown]
# A guess among eight letters costs 3 bits. Without the head that looks back, the model does worse than that: it is
# sure, and wrong. Each of the others could go, and hardly be missed.
#
# `forgenb generate --trace FILE` writes such records of a model that you trained, and `--attention FILE` draws its
# attention; `forgenb surprise FILE` colours a text by surprisal. [Generating text](../generation.md) and
# [surprisal](../surprisal.md) have the details.
#
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 18`: a judge tries them on hidden inputs. All three
# are NumPy.
#
# **18-1.** `looks_back(attention, far)`: for `attention` of shape `(layers, heads, n, n)`, how much each head gives to
# the place `far` before: the mean over all places that have one. Return shape `(layers, heads)`.
#
# **18-2.** `bits(logits, ids)`: the surprisal of each id in bits. Row `t` of `logits` is what the model expects after
# it has read `ids[t]`. The first is 0. Logits may be large.
#
# **18-3.** `by_head(mixed, weight)`: what each head adds to the stream. `mixed` has shape `(heads, t, d)`, what the
# heads made of the values, and `weight` is the matrix of `c_proj`, of shape `(heads * d, c)`. Return shape `(heads, t,
# c)`.


# %%
def looks_back(attention, far):
    raise NotImplementedError


def bits(logits, ids):
    raise NotImplementedError


def by_head(mixed, weight):
    raise NotImplementedError


for number, answer in (("18-1", looks_back), ("18-2", bits), ("18-3", by_head)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Everything in this model was there before. Chapter 19 adds something that was not: an op of your own.
