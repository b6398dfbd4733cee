# %% [markdown]
# # 16. Sharing a batch out
#
# A step of training takes a **batch**: some examples, here called *samples*, which do not know each other. So several
# workers can compute gradients at once, each of some of the samples, and what they found is added up for one update.
# This is **data parallelism**. Two things in it are not obvious: by what weights the gradients are added, and in what
# *order*.
#
# ## A gradient in parts
#
# The loss of a batch is a mean, $L = \frac1n \sum_i \ell_i$. Cut the $n$ samples into shares. Let share $k$ have $n_k$
# of them, whose mean loss is $L_k$. Then $n_k L_k$ is the sum of its losses, and
#
# $$ L = \sum_k \frac{n_k}{n} \, L_k, \qquad \bar w = \sum_k \frac{n_k}{n} \, \bar w_k, $$
#
# since the slope of a sum is the sum of the slopes. Each worker needs the same $w$, and nothing of what the others
# compute. `fnb.train.shares` cuts a batch, as evenly as can be, and `fnb.grad` makes a function that gives the gradient
# of another one; here is one of a straight line through four numbers a sample.

# %%
import itertools
import time

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

draws = np.random.default_rng(0)
x, y = draws.normal(size=(10, 4)), draws.normal(size=(10, 1))
w = draws.normal(size=(4, 1))
gradient = fnb.grad(lambda w, x, y: ((x @ w - y) ** 2).mean())

cut = fnb.train.shares(10, 3)
counts = [part.stop - part.start for part in cut]
found = [gradient(fnb.tensor(w), x[part], y[part]).numpy() for part in cut]
whole = gradient(fnb.tensor(w), x, y).numpy()
weighted = sum(n / 10 * part for n, part in zip(counts, found))
print(counts)
assert counts == [4, 3, 3]
assert np.allclose(weighted, whole)
assert not np.allclose(sum(found) / 3, whole)

# %% [markdown]
# The last line is the usual mistake. A plain mean over the workers gives a sample more weight if it is in a small
# share. Nothing crashes; the training is just a different one.
#
# ## Why the order matters
#
# Chapter 10 has shown that sums of floats are rounded, and that another order may give other bits. Five workers are
# enough for that. Add five `float32` numbers in every possible order, and count the results.

# %%
five = np.float32([1000.1, -0.1, 30.3, -999.9, 0.7])
zero = np.float32(0.0)
results = {float(sum(order, zero)) for order in itertools.permutations(five)}
print(len(results), "results, from", min(results), "to", max(results))
assert 1 < len(results) < 120
assert max(results) - min(results) < 1e-3

# %% [markdown]
# All of them are right to rounding. But if workers are added up in the order in which they happen to finish, each run
# has other bits. Then a mistake that was seen once may never be seen again. So the order must depend on the number of
# workers, and on nothing else.
#
# ## A tree
#
# Adding them up from left to right would do. But then each addition waits for the one before, and $n$ workers need
# $n - 1$ steps. Better to add in pairs: the upper half of the workers into the lower half, all pairs at once, until one
# is left. That is a **tree**, and the worker that is left is its *root*. `fnb.train.tree_schedule` lists the merges,
# from whom to whom.
#
# ```{literalinclude} /../forgenb/train/workers/loops.py
# :pyobject: tree_schedule
# ```
#
# Every worker but the first hands over once, so there are $n - 1$ merges, as before. But the number of workers is
# halved, rounded up, in each *round*, so there are only $\lceil \log_2 n \rceil$ rounds.


# %%
def merged(parts):
    parts = list(parts)
    for source, target in fnb.train.tree_schedule(len(parts)):
        parts[target] = parts[target] + parts[source]
    return parts[0]


def rounds(n):
    """For each merge, in which round it can be done."""
    done, found = [0] * n, []
    for source, target in fnb.train.tree_schedule(n):
        done[target] = max(done[source], done[target]) + 1
        found.append(done[target])
    return found


print(fnb.train.tree_schedule(5), rounds(5))
for n in range(2, 70):
    assert len(rounds(n)) == n - 1
    assert max(rounds(n)) == np.ceil(np.log2(n))
assert np.isclose(merged(five), five.astype("float64").sum(), atol=1e-3)

# %% [markdown]
# A tree rounds less, too. From left to right the first number goes through $n - 1$ additions, each of which may round;
# in a tree no number goes through more than $\lceil \log_2 n \rceil$. On the left are the merges of eight workers. On
# the right we add up $n$ numbers in `float32` both ways, and see how far off the sums are.

# %% {"mystnb": {"image": {"alt": "Eight lines that merge into one in three rounds; errors of a tree stay far below"}}}
_, (tree, errors) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for (source, target), at in zip(fnb.train.tree_schedule(8), rounds(8)):
    tree.plot([at - 1, at], [source, target], "o-", color="crimson", markersize=4)
    tree.plot([at - 1, at], [target, target], "o-", color="black", markersize=4)
tree.set(xlabel="round", ylabel="worker", xticks=range(4), title="merges")

sizes, off = [2**k for k in range(4, 15)], {"left to right": [], "tree": []}
for n in sizes:
    numbers = draws.uniform(size=(n, 20)).astype("float32")
    exact = numbers.astype("float64").sum(axis=0)
    sums = {"left to right": np.cumsum(numbers, axis=0)[-1], "tree": merged(numbers)}
    for name, total in sums.items():
        off[name].append(np.mean(np.abs(total / exact - 1)))
for name, values in off.items():
    errors.loglog(sizes, values, "o-", label=name, markersize=3)
errors.set(xlabel="numbers", ylabel="relative error", title="rounding")
errors.legend()
plt.show()
assert off["tree"][-1] < off["left to right"][-1] / 10

# %% [markdown]
# ## Streams
#
# A worker on the same machine is a `fnb.backend.Stream`: a thread with a queue of tasks, which it does one after the
# other. `submit` puts a task into the queue and returns at once; what it returns has a `result()`, which waits. A task
# may name others of other streams that must be done before, `after=`. That is all a tree needs. Below, workers take
# random times, so they finish in another order each time. The tree does not care.


# %%
def race(parts):
    streams, finished = [fnb.backend.Stream() for _ in parts], []

    def work(number, seconds):
        time.sleep(seconds)
        finished.append(number)
        return parts[number]

    def add(mine, theirs):
        return mine.result() + theirs.result()

    waits = draws.uniform(0, 0.02, len(parts))
    tasks = [streams[k].submit(work, k, waits[k]) for k in range(len(parts))]
    for source, target in fnb.train.tree_schedule(len(parts)):
        pair = tasks[target], tasks[source]
        tasks[target] = streams[target].submit(add, *pair, after=pair)
    total = tasks[0].result()
    for stream in streams:
        stream.close()
    return finished, total


runs = [race(five) for _ in range(5)]
for finished, total in runs:
    as_they_came = sum((five[k] for k in finished), zero)
    print(f"{finished} as they came: {as_they_came}, by the tree: {total}")
assert len({total.tobytes() for _, total in runs}) == 1

# %% [markdown]
# forgenb's step over streams does the same with whole buffers of gradients. Each worker has gradients of its own, and
# all share the parameters. The first stream is the root, and makes the update, `_descent`. Each of `_events` is the
# last task of a stream so far.
#
# ```{literalinclude} /../forgenb/train/workers/parallel.py
# :pyobject: ParallelUpdate._sync
# ```
#
# `fnb.train.ShardedStep` puts it all together: shares, weights, tree and one step of an optimiser. Before the step the
# gradient is *clipped*: where its length, the root of the sum of all its squares, is above a limit, here 1.0, it is
# scaled down to that. This is done once, for the gradient of all samples. The class wants a model with a method `loss`,
# so we make one, an `fnb.nn.Module` around a small network; `fnb.nn.Sequential`, `fnb.nn.Linear`, `fnb.nn.Tanh` and
# `fnb.optim.AdamW` are those of chapter 0.


# %%
class Curve(fnb.nn.Module):
    def __init__(self):
        layers = fnb.nn.Linear(8, 32), fnb.nn.Tanh(), fnb.nn.Linear(32, 1)
        self.net = fnb.nn.Sequential(*layers)

    def loss(self, x, y):
        return ((self.net(x) - y) ** 2).mean()


points = draws.normal(size=(25, 8)).astype("float32")
heights = np.sin(points.sum(axis=1, keepdims=True))


def trained(make):
    fnb.seed(0)
    model = Curve()
    step = make(model, fnb.optim.AdamW(model.named_parameters(), lr=0.01))
    losses = [step(points, heights)[0].item() for _ in range(10)]
    return losses, np.concatenate([p.numpy().ravel() for p in model.parameters()])


def over(number):
    streams = [fnb.backend.Stream() for _ in range(number)]
    _, weights = trained(lambda *both: fnb.train.ShardedStep(*both, 1.0, streams))
    for stream in streams:
        stream.close()
    return weights


# %% [markdown]
# `fnb.train.TrainStep` is the step without streams, compiled as in chapter 15. Over one stream it has the same bits.
# With three streams, run twice, the bits agree with each other. With another number of streams, sums are made in
# another order, and the weights agree to rounding only. Dropout in forgenb's GPT does not mind either: a worker is told
# at which sample of the batch it begins, and has the masks of chapter 11 from there on.

# %%
losses, alone = trained(lambda *both: fnb.train.TrainStep(*both, clip_norm=1.0))
found = {number: over(number) for number in (1, 2, 3)}
for number, weights in found.items():
    off = np.abs(weights - alone).max()
    print(f"streams: {number}, the farthest weight is off by {off:.1e}")
    assert np.allclose(weights, alone, atol=1e-4)
assert losses[-1] < losses[0]
assert np.array_equal(found[1], alone)
assert np.array_equal(found[3], over(3))
assert not np.array_equal(found[3], found[2])

# %% [markdown]
# ## Processes
#
# On another machine nobody can look at your memory; everything must be sent. So **processes** do it a little
# differently. Each has a copy of the model, and all start from the same bits. Parameters are never sent: if everybody
# makes the same update, they stay the same. For this everybody needs the sum of all gradients, to the last bit. Such a
# sum is called an **all-reduce**.
#
# A tree would leave the root with all the work of handing the sum back. There is a fairer way, in two halves. First,
# partners exchange *half* of what they are responsible for, add, and are responsible for half as much; in the end each
# process has the whole sum of one piece. Then they go back and copy. Each number is added up by one process only, so no
# two can disagree. Here arrays play the processes, as many as a power of 2, and we count what is sent. The partner of
# `k` is `k ^ far`, whose number differs in one bit, so partners are `far` apart.


# %%
def all_reduce(parts):
    own, p, size, sent = [part.copy() for part in parts], len(parts), len(parts[0]), 0
    spans = [(0, size)] * p
    distances = [p >> k for k in range(1, p.bit_length())]
    for far in distances:  # halve, and add
        before = [part.copy() for part in own]
        for k, (low, high) in enumerate(spans):
            middle = (low + high) // 2
            low, high = (middle, high) if k & far else (low, middle)
            own[k][low:high] += before[k ^ far][low:high]
            spans[k], sent = (low, high), sent + high - low
    for far in reversed(distances):  # go back, and copy
        before, of = [part.copy() for part in own], list(spans)
        for k, (low, high) in enumerate(of):
            begin, end = of[k ^ far]
            own[k][begin:end] = before[k ^ far][begin:end]
            spans[k], sent = (min(low, begin), max(high, end)), sent + end - begin
    return own, sent / p


for p in (2, 4, 8, 16):
    parts = draws.normal(size=(p, 1024)).astype("float32")
    sums, sent = all_reduce(parts)
    messages = 2 * int(np.log2(p))
    print(f"{p} processes: each sends {sent:.0f} numbers in {messages} messages")
    assert all(np.array_equal(sums[0], other) for other in sums)
    assert np.allclose(sums[0], parts.sum(axis=0), atol=1e-4)
    assert sent == 2 * (p - 1) / p * 1024

# %% [markdown]
# For $m$ numbers each process sends $2 \frac{p - 1}{p} m$: never more than twice its gradients, however many there are.
# What grows is the number of messages, with the logarithm of $p$. forgenb leaves this to MPI, a library that clusters
# have. With it installed, one line trains over four processes, and the batch is shared out as above:
#
# ```sh
# mpiexec -n 4 forgenb train
# ```
#
# The gradients of the last layers are known first, and are sent while backward still works on the others. Much of the
# sending then takes no time of its own. [Parallel training](../parallel.md) has the lines for models of your own,
# measurements, and a table of what has the same bits.
#
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 16`: a judge tries them on hidden inputs. All three
# are NumPy.
#
# **16-1.** `combine(gradients, counts)`: the gradient of the mean loss of all samples. `gradients` is a list of arrays,
# each the gradient of the mean loss of one share, and `counts` says how many samples it has.
#
# **16-2.** `tree_sum(parts)`: the sum of a list of `float32` arrays, in `float32` to the last bit as the tree above
# makes it. Write the halving yourself, and leave the arrays as they were.
#
# **16-3.** `clipped_step(w, gradients, counts, lr, most)`: one step of gradient descent, $w - \eta \bar w$, with the
# gradient of all samples as in 16-1, *clipped*: where its length (the root of the sum of its squares) is above `most`,
# it is scaled down to the length `most`.


# %%
def combine(gradients, counts):
    raise NotImplementedError


def tree_sum(parts):
    raise NotImplementedError


def clipped_step(w, gradients, counts, lr, most):
    raise NotImplementedError


for number, answer in (("16-1", combine), ("16-2", tree_sum), ("16-3", clipped_step)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 17 has all parts together: it trains a GPT on text that came with your Python.
