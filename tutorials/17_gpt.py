# %% [markdown]
# # 17. A GPT on Python's own documentation
#
# All parts are there: embeddings, attention, norms, a loss, an optimiser. This chapter puts them together and trains a
# **GPT** on text that every Python carries with it. The model reads characters, and all that it learns is to guess the
# next one. It is tiny here, so that it trains in seconds. One constant makes it larger.

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

SIZE = "tiny"  # or "small", which takes a minute or two and writes much better

SHAPES = {
    "tiny": {"context": 24, "layers": 2, "heads": 4, "width": 48},
    "small": {"context": 64, "layers": 4, "heads": 4, "width": 128},
}
STEPS, BATCH = {"tiny": (800, 16), "small": (2000, 12)}[SIZE]

# %% [markdown]
# ## The task
#
# A **language model** gives each text a probability. Any probability of a text can be cut into those of its characters,
# each given the ones before it, which stand behind the bar:
#
# $$ p(c_1 c_2 \dots c_n) = p(c_1) \; p(c_2 \mid c_1) \; p(c_3 \mid c_1 c_2) \cdots
#    p(c_n \mid c_1 \dots c_{n-1}). $$
#
# So it is enough to predict the next character. Take the logarithm of the product, change the sign and divide by $n$:
# what comes out is the mean cross entropy of chapter 7, with the next character as the right class. A loss needs no
# labels. The text has them.
#
# `fnb.data.default_text` returns the help pages that come with Python. A **tokenizer** turns text into integers and
# back; `fnb.data.CharTokenizer.from_text` makes one, with an integer for each character that occurs. `fnb.data.split`
# keeps the last tenth aside. The model never trains on this *held-out* part, so it can be judged by it.

# %%
text = fnb.data.default_text()
tokenizer = fnb.data.CharTokenizer.from_text(text)
ids = tokenizer.encode(text)
learned, held_out = fnb.data.split(ids, 0.9)
held_out = held_out[:12_000]  # enough to judge by, and quick
vocab = len(tokenizer)
print(f"{len(text)} characters, {vocab} different ones; the first ids are {ids[:8]}")
assert tokenizer.decode(ids) == text
assert len(learned) == len(text) * 9 // 10

# %% [markdown]
# ## What is to be beaten
#
# A number for the loss means little by itself. So here are three simple models to compare with. The first knows nothing
# and gives all $v$ characters the same probability; its loss is $\ln v$ on any text, where $\ln$ is the natural
# logarithm, the $\log$ of chapter 7. A loss in natural logarithms has the unit **nat**. The second has counted how
# often each character occurs. The third has counted pairs, and looks one character back. Counts start a little above 0,
# so that nothing is impossible.

# %%
single = 0.1 + np.bincount(learned, minlength=vocab)
pairs = np.full((vocab, vocab), 0.1)
np.add.at(pairs, (learned[:-1], learned[1:]), 1.0)

single /= single.sum()
next_to = pairs / pairs.sum(axis=1, keepdims=True)
before, after = held_out[:-1], held_out[1:]
baselines = {
    "knows nothing": np.log(vocab),
    "counted characters": -np.mean(np.log(single[after])),
    "counted pairs": -np.mean(np.log(next_to[before, after])),
}
for name, loss in baselines.items():
    print(f"{name}: {loss:.3f} nats a character")
assert sorted(baselines.values(), reverse=True) == list(baselines.values())

# %% [markdown]
# ## Windows
#
# The model reads a **window** of $t$ characters, its *context*. The targets are the same text, one place further on. As
# the causal mask of chapter 12 hides what comes later, each place is an example of its own: a window of $t$ characters
# gives $t$ predictions, from the first, which sees one character, to the last, which sees all. `fnb.data.batch` draws
# windows at random places of the text, and `fnb.data.windows` cuts a text into windows from end to end.

# %%
inputs, targets = fnb.data.batch(learned, context=6, batch=2, seed=0, step=0)
for row, target in zip(inputs, targets):
    print(repr(tokenizer.decode(row)), "->", repr(tokenizer.decode(target)))
assert np.array_equal(inputs[:, 1:], targets[:, :-1])
judged = fnb.data.windows(held_out, SHAPES[SIZE]["context"])

# %% [markdown]
# ## The model
#
# Chapter 10 adds the rows of two tables, one of characters and one of places. This sum is the **residual stream**, or
# just stream, $x$: for each place a row of `width` numbers. (The streams of chapter 16 have only the name in common.)
# Each layer, called a *block*, reads the stream, normalised as in chapter 9, and *adds* what it found:
#
# $$ x \leftarrow x + \operatorname{attention}(\operatorname{norm}(x)), \qquad
#    x \leftarrow x + \operatorname{mlp}(\operatorname{norm}(x)). $$
#
# Attention carries something from place to place. The *MLP*, a multi-layer perceptron, is two linear layers with gelu
# between them (chapter 8), and works on each place by itself. Since a block only adds, the slope of what it does has a
# 1 in it. So gradients flow back past it unharmed, and many blocks can be stacked. `drop` is the dropout of chapter 11,
# which is off here.
#
# ```{literalinclude} /../forgenb/models/gpt.py
# :pyobject: Block
# ```
#
# At the end the stream is normalised once more and compared with the rows of the character table: their products are
# the logits. The table is used twice, at the bottom and at the top. Its gradient is the sum of both uses.
#
# ```{literalinclude} /../forgenb/models/gpt.py
# :pyobject: GPT.head
# ```
#
# `fnb.models.GPT` is the model and `fnb.models.GPTConfig` has its sizes. With width $c$, a block has $12 c^2$ numbers
# in its matrices: $3 c^2$ for queries, keys and values, $c^2$ behind the heads, and twice $4 c^2$ in the MLP. Biases
# and the two norms add $13 c$. Besides the blocks there are the two tables and the last norm.

# %%
config = fnb.models.GPTConfig(vocab=vocab, **SHAPES[SIZE])
model = fnb.models.GPT(config, seed=0)

c, tables = config.width, vocab + config.context
numbers = sum(p.numpy().size for p in model.parameters())
print(f"{numbers} parameters")
assert numbers == tables * c + config.layers * (12 * c * c + 13 * c) + 2 * c

# %% [markdown]
# A new model has small weights, and so small logits: it should know nothing, and its loss be close to $\ln v$. That is
# a good first check of any classifier. The second check is that it cannot look ahead: if the last character changes,
# the predictions before it must keep every bit. `fnb.no_grad` is for use without a tape, and `fnb.train.evaluate` is
# the mean loss over windows.

# %%
at_first = fnb.train.evaluate(model, *judged)
print(f"at first {at_first:.3f}, ln v is {baselines['knows nothing']:.3f}")
assert abs(at_first - baselines["knows nothing"]) < 0.2

row = learned[None, :16]
changed = row.copy()
changed[0, -1] = (changed[0, -1] + 1) % vocab
with fnb.no_grad():
    one, other = model(row).numpy(), model(changed).numpy()
assert np.array_equal(one[:, :-1], other[:, :-1])
assert not np.array_equal(one[:, -1], other[:, -1])

# %% [markdown]
# ## Writing
#
# To write, begin with a few characters, the *prompt*. Ask for the probabilities of the next character, draw one by
# chance, add it to the text, and ask again.
# `fnb.models.generate` does this, with the cache of chapter 12 while the text fits the context. The *temperature* $T$
# divides the logits. Below 1 it makes likely characters likelier still, and the text less wild.


# %%
def write(count):
    start, how = tokenizer.encode("The "), {"temperature": 0.7, "seed": 1}
    return tokenizer.decode(fnb.models.generate(model, start, count, **how))


untrained = write(80)
print(untrained)

# %% [markdown]
# ## Training
#
# One step is as in the chapters before: loss, `backward`, and AdamW. `fnb.train.TrainStep` compiles all of it, with the
# gradient clipped as in chapter 16: where it is longer than 1 it is scaled down, so that one odd batch cannot do much
# harm. The learning rate follows `fnb.optim.schedules.warmup_cosine`: it rises in a line over the first steps, while
# AdamW's means have seen little, and then falls along half a cosine, so that the last steps are small.
# `fnb.optim.AdamW` has it as `lr`.

# %%
RATE = 4e-3
optimizer = fnb.optim.AdamW(model.named_parameters(), lr=RATE, betas=(0.9, 0.99))
step = fnb.train.TrainStep(model, optimizer, clip_norm=1.0)
losses, marks = [], {0: at_first}
for number in range(STEPS):
    optimizer.lr = fnb.optim.schedules.warmup_cosine(number, STEPS, STEPS // 20, RATE)
    batch = fnb.data.batch(learned, config.context, BATCH, seed=0, step=number)
    loss, _ = step(*batch)
    losses.append(loss.item())
    if (number + 1) % (STEPS // 4) == 0:
        marks[number + 1] = fnb.train.evaluate(model, *judged)
        print(f"step {number + 1}: held-out loss {marks[number + 1]:.3f}")

# %% {"mystnb": {"image": {"alt": "The loss falls through the lines of the three simple models, one after the other"}}}
_, axes = plt.subplots(figsize=(7, 4))
axes.plot(losses, color="lightgray", label="batches")
axes.plot(list(marks), list(marks.values()), "o-", color="crimson", label="held out")
for (name, loss), style in zip(baselines.items(), ("-", "--", ":")):
    axes.axhline(loss, color="black", linewidth=0.8, linestyle=style, label=name)
axes.set(xlabel="step", ylabel="nats a character")
axes.legend()
plt.show()

trained = marks[STEPS]
assert trained < 0.6 * baselines["knows nothing"]
assert trained < baselines["counted pairs"]
assert np.mean(losses[-20:]) < np.mean(losses[:20])

# %% [markdown]
# It has passed all three. Counted pairs are what one can know from one character back, so it must have learned to look
# further. There is another way to say how good it is: $e^{L}$ is called **perplexity**, the number of equally likely
# characters among which a model would hesitate as much.

# %%
for name, loss in (*baselines.items(), ("this model", trained)):
    print(f"{name}: hesitates among {np.exp(loss):.1f} characters")
written = write(300)
print()
for line in written.splitlines():
    print(textwrap.fill(line, 86))
assert np.exp(trained) < 20 < np.exp(baselines["counted characters"]) < vocab

# %% [markdown]
# These are no sentences. But there are words of a usual length, spaces between them, and endings that English has. Is
# that more than an impression? Count how many of its pairs of characters stand anywhere in the text that it learned
# from, and do the same for what it wrote before.


# %%
def familiar(sample):
    found = tokenizer.encode(sample[4:])  # without the prompt
    return np.mean(pairs[found[:-1], found[1:]] > 1.0)


print(f"familiar pairs: {familiar(untrained):.0%}, now {familiar(written):.0%}")
assert familiar(untrained) < 0.7
assert familiar(written) > 0.9

# %% [markdown]
# Set `SIZE = "small"` at the top, run it again, and compare. Beyond that there is a command with a progress bar, files
# and sizes of its own: `forgenb train`, and `forgenb generate` to write with the result.
#
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 17`: a judge tries them on hidden inputs. All three
# are NumPy.
#
# **17-1.** `windows_at(ids, starts, context)`: inputs and targets of the windows that begin at the places `starts`,
# each an array of shape `(len(starts), context)`.
#
# **17-2.** `count_parameters(vocab, context, layers, width)`: how many numbers a GPT learns. Count them from the
# shapes: each linear layer has a bias, each norm a gain and a shift, and a block has two norms. Mind what is used
# twice.
#
# **17-3.** `pick(logits, temperature, k, u)`: choose an id. Divide by the temperature, keep the `k` greatest logits,
# and make probabilities of these alone. Then take the first id, in the order of ids, at which the running sum of the
# probabilities is above `u`, a number from 0 to 1. No two logits are equal.


# %%
def windows_at(ids, starts, context):
    raise NotImplementedError


def count_parameters(vocab, context, layers, width):
    raise NotImplementedError


def pick(logits, temperature, k, u):
    raise NotImplementedError


answers = {"17-1": windows_at, "17-2": count_parameters, "17-3": pick}
for number, answer in answers.items():
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# It predicts, but how? Chapter 18 looks inside a model while it does.
