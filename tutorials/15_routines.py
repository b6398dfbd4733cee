# %% [markdown]
# # 15. From tape to routine
#
# Training repeats one step thousands of times: forward, backward, update. The numbers change, and the work does not:
# the same ops, of the same shapes, in the same order. Still the tape starts from nothing each time. Every op is a
# Python call that checks shapes, finds its kernel, asks for memory and writes an entry. In a small model that takes
# longer than the arithmetic. So write the step down once, look at the whole of it, plan it, and run the plan. In
# forgenb the plan is called a **routine**.
#
# ## What a step asks for
#
# Here is a step of a small network, with an optimiser from chapter 13. `fnb.stats` counts launches and products, as in
# chapter 6, and also the blocks of memory that were asked for.

# %%
import timeit
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

draws = np.random.default_rng(0)
points = draws.normal(size=(64, 16)).astype("float32")
wanted = np.tanh(points[:, :8])


def network(*widths):
    draws, weights = np.random.default_rng(1), []
    for rows, columns in pairwise(widths):
        values = draws.normal(size=(rows, columns)) / np.sqrt(rows)
        weights.append(fnb.Parameter(fnb.tensor(values.astype("float32"))))
    return weights


def make_step(weights, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        for weight in weights:
            x = fnb.ops.tanh(x @ weight)
        error = x - y
        loss = (error * error).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


weights = network(16, 32, 8)
step = make_step(weights, fnb.optim.SGD(weights, lr=0.1))
before = fnb.stats()
step(fnb.tensor(points), fnb.tensor(wanted))
asked = fnb.stats().since(before)
print(asked)
assert asked.launches + asked.products > 15
assert asked.allocations > 15

# %% [markdown]
# ## A list of statements
#
# The smallest recording is a list. A **statement** says which op makes which value of which others, by name. To get
# one, run the step with stand-ins that have a name and no number; each op adds a line instead of computing.


# %%
class Named:
    def __init__(self, program, name):
        self.program, self.name = program, name

    def made(self, op, *others):
        out = Named(self.program, f"v{len(self.program)}")
        self.program.append((out.name, op, tuple(x.name for x in (self, *others))))
        return out

    def __mul__(self, other):
        return self.made("mul", other)

    def __sub__(self, other):
        return self.made("sub", other)

    def sum(self):
        return self.made("sum")


OPS = {"mul": np.multiply, "sub": np.subtract, "sum": np.sum}


def distance(x, w, y):
    error = x * w - y
    return (error * error).sum()


def replay(program, **values):
    for out, op, ins in program:
        values[out] = OPS[op](*(values[name] for name in ins))
    return values[out]


program = []
distance(*(Named(program, name) for name in "xwy"))
print(*program, sep="\n")
for _ in range(3):
    x, w, y = draws.normal(size=(3, 5))
    assert replay(program, x=x, w=w, y=y) == distance(x, w, y)

# %% [markdown]
# `distance` was called once, and its lines serve for all numbers. forgenb does the same below its ops: while a step is
# recorded, tensors have a shape and a dtype, and no numbers. A launch becomes a statement. Backward rules and
# optimisers launch kernels too, so backward and update are recorded just so, and the tape need not know. Inside
# `fnb.capture` a step is recorded and not run:

# %%
x, y = fnb.tensor(points), fnb.tensor(wanted)
with fnb.capture() as captured:
    step(x, y)
print(captured.program)
assert len(captured.program) == asked.launches + asked.products

# %% [markdown]
# ## Who is alive when
#
# Now the whole step lies before us, and we see what no single op can: when a value is needed for the last time. Its
# **life** is from the statement that writes it to the last one that uses it. What is read before it is written comes
# from outside, such as weights and inputs, and is none of our business. A statement of forgenb has lists of the memory
# that it `reads` and `writes`. Here is a deeper network, of matrices of a megabyte each.


# %%
def lifetimes(program):
    lives, outside = {}, set()
    for at, statement in enumerate(program):
        for memory in statement.reads:
            if id(memory) in lives:
                lives[id(memory)][1] = at
            else:
                outside.add(id(memory))
        for memory in statement.writes:
            if id(memory) not in outside:
                lives.setdefault(id(memory), [at, at, memory.nbytes])[1] = at
    return list(lives.values())  # first, last, bytes


deep = network(512, 512, 512, 512, 512)
deep_step = make_step(deep, fnb.optim.SGD(deep, lr=0.1))
squares = draws.normal(size=(2, 512, 512)).astype("float32")
x, y = map(fnb.tensor, squares)
with fnb.capture() as captured:
    deep_step(x, y)
lives = lifetimes(captured.program)

# %% [markdown]
# ## One arena
#
# Two values that are never alive together may lie in the same bytes. So there is one block for all of them, the
# **arena**, and each value gets a place in it. Take the largest first, and give each the lowest place that is free for
# all of its life. The arena cannot be smaller than what is alive at the busiest moment. No quick way is known to the
# smallest that is possible; taking them in order is quick, and good enough.


# %%
def place(lives):
    placed = []  # first, last, start, end
    for first, last, size in sorted(lives, key=lambda life: -life[2]):
        start = 0
        for begin, until, low, high in sorted(placed, key=lambda other: other[2]):
            if begin <= last and first <= until and low < start + size:
                start = max(start, high)
        placed.append((first, last, start, start + size))
    return placed


arena = place(lives)
alone = sum(size for _, _, size in lives)
together = max(end for *_, end in arena)
moments = range(len(captured.program))
busiest = max(sum(n for a, b, n in lives if a <= at <= b) for at in moments)
print(f"{alone / 2**20:.1f} MiB each for itself, {together / 2**20:.1f} in an arena")
print(f"{busiest / 2**20:.1f} at the busiest moment")
assert busiest <= together < alone / 2

# %% [markdown]
# In the picture time runs to the right, a statement a column, and each box is a value: as wide as its life, as high as
# its bytes. On the left each has bytes of its own. On the right they fill the gaps. The long boxes are what forward
# makes and backward needs.

# %% {"mystnb": {"image": {"alt": "Left: a staircase of boxes. Right: the same boxes, packed to a third"}}}
apart, end = [], 0
for first, last, size in lives:
    apart.append((first, last, end, end + size))
    end += size

pictures = {"each for itself": apart, "in one arena": arena}
_, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for part, (title, boxes) in zip(axes, pictures.items(), strict=True):
    for number, (first, last, low, high) in enumerate(boxes):
        box = (first, low / 2**20), last - first + 1, (high - low) / 2**20
        part.add_patch(plt.Rectangle(*box, fc=f"C{number % 10}", ec="white"))
    part.axis([0, len(moments), 0, alone / 2**20])
    part.set(title=title, xlabel="statement")
axes[0].set_ylabel("address, in MiB")
plt.show()

for number, (first, last, low, high) in enumerate(arena):
    for begin, until, bottom, top in arena[:number]:
        never_together = last < begin or until < first
        assert never_together or high <= bottom or top <= low

# %% [markdown]
# The loop of forgenb's planner is the same; `insort` puts a box where it belongs in a sorted list. The planner tries
# several orders, and takes the best.
#
# ```{literalinclude} /../forgenb/routine/pack.py
# :pyobject: _attempt
# ```
#
# It also changes the program before: an update moves next to the gradient that it needs, which then need not wait. What
# does all of it, recording, planning and running, is `fnb.compile`. It takes a step and returns one that is recorded at
# the first call. Of what `memory()` tells, `unshared` is every value for itself, `scratch` what the arena takes.

# %%
deep_fast = fnb.compile(deep_step)
deep_fast(x, y)
memory = deep_fast.routine.memory()
print({kind: memory[kind] for kind in ("unshared", "scratch")})
assert abs(memory["unshared"] / alone - 1) < 0.1
assert memory["scratch"] <= together
names = [statement.name for statement in deep_fast.routine.program]
assert names.index("sgd_kernel") < len(names) - 4  # not all at the end

# %% [markdown]
# ## Fewer trips
#
# A **pointwise** op works number by number, as `*` and tanh do. If the next op is pointwise too, and nobody else needs
# what lies between, one loop can do both. Chapter 5 called that *fused*. The value in between is **inlined**: it never
# leaves the processor, and needs no storage. Three statements become one, whose name tells of all three.


# %%
def bent(x):
    return fnb.ops.tanh(x * 2.0 + 1.0)


with fnb.capture() as captured:
    bent(x)
fast_bent = fnb.compile(bent)
result = fast_bent(x).numpy()
print(captured.program)
print(fast_bent.routine)
assert (len(captured.program), len(fast_bent.routine.program)) == (3, 1)
assert fast_bent.routine.program.statements[0].name == "mul_add_tanh_kernel"
assert np.array_equal(result, bent(x).numpy())

# %% [markdown]
# The last line does not say "close". Within a kernel nothing may be rounded in another way because of its neighbours,
# so a routine has the *same bits* as the step that it was recorded from. Here are thirty steps of both. And a run of a
# routine asks for nothing any more: no launches from Python, no memory. The last two lines are microseconds a step;
# *eager* is the step op by op, which `step.step` still has.

# %%
runs = []
for make in (lambda step: step, fnb.compile):
    weights = network(16, 32, 8)
    optimizer = fnb.optim.AdamW(weights, lr=0.02)
    step = make(make_step(weights, optimizer))
    losses = [step(fnb.tensor(points), fnb.tensor(wanted)).item() for _ in range(30)]
    runs.append((losses, [w.numpy().tobytes() for w in weights]))
assert runs[0] == runs[1]
assert losses[-1] < losses[0] / 4
x, y = fnb.tensor(points), fnb.tensor(wanted)
before = fnb.stats()
step(x, y)
asked = fnb.stats().since(before)
print(asked)
assert asked.launches == asked.products == asked.allocations == 0
for name, each in (("eager", step.step), ("routine", step)):
    seconds = min(timeit.repeat(lambda each=each: each(x, y), number=10, repeat=5))
    print(f"{name}: {1e5 * seconds:.0f}")

# %% [markdown]
# ## What may change, and what may not
#
# The Python of a step runs once, when it is recorded. Whatever it finds out then is fixed. Numbers *in tensors* are
# read in each run: inputs, weights, data. So is the learning rate of an optimiser. If an argument has another shape, or
# a global number that the step uses has another value, forgenb notices and records anew.

# %%
kept = weights[0].numpy().copy()
optimizer.lr = 0.0
step(x, y)
assert np.array_equal(weights[0].numpy(), kept)  # no step at all
optimizer.lr = 0.02
step(x, y)
assert not np.array_equal(weights[0].numpy(), kept)
assert len(step.routines) == 1

factor = 2.0
noted = []


def scaled(x):
    hidden = x * factor
    noted.append(hidden)
    return hidden.sum()


fast = fnb.compile(scaled)
assert fast(np.ones(3)).item() == 6.0
assert fast(np.full(3, 5.0)).item() == 30.0  # other numbers: the same recording
assert len(fast.routines) == 1
assert fast(np.ones(4)).item() == 8.0  # another shape
factor = 3.0
assert fast(np.ones(4)).item() == 12.0  # another number from outside
assert len(fast.routines) == len(noted) == 3

# %% [markdown]
# `noted` shows the price. There were four calls, and the list has three entries, one for each recording. What a step
# does besides computing happens when it is recorded. And `hidden` has no value to look at, since it never had a
# place of its own. To ask for one raises `fnb.errors.MemoryModeError`, and so does a branch that depends on a number.

# %%
refused = []
branching = fnb.compile(lambda x: x if x.sum() > 0 else -x)
for ask in (noted[-1].numpy, lambda: branching(np.ones(3))):
    try:
        ask()
    except fnb.errors.MemoryModeError as error:
        refused.append(str(error))
        print(error, "\n")
assert len(refused) == 2

# %% [markdown]
# [The guide to routines](../routines.md) lists what is handled, what raises, and the few things that nobody notices,
# such as the clock.
#
# ## Symbols
#
# One kind of number should change all the time: which batch it is, which step. A **symbol** is a whole number that is
# chosen when a routine runs. `fnb.symbol` makes one, with the range that it may have. A tensor sliced at a symbol is a
# slice whose address is not known yet; a number computed from a symbol is worked out before each run. One recording
# then serves every batch, and nothing is copied in. A value out of range is an `fnb.errors.IndexRangeError`, before
# anything runs.

# %%
batches = fnb.tensor(draws.normal(size=(10, 4, 3)))
batch = fnb.symbol("batch", range=10)
fast = fnb.compile(lambda: batches[batch].sum() * (1.0 - batch / 10), "fading")
for n in range(10):
    assert np.isclose(fast(batch=n).item(), batches.numpy()[n].sum() * (1 - n / 10))
assert len(fast.routines) == 1
try:
    fast(batch=10)
except fnb.errors.IndexRangeError as error:
    refused.append(str(error))
assert refused[2] == "routine 'fading' got batch = 10: its range is 0 .. 9"

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 15`: a judge tries them on hidden inputs. A program
# is a list of statements `(out, op, ins)` as in our own recording above; each name is written once.
#
# **15-1.** `peak(lives)`: the most bytes that are alive at once. `lives` is a dictionary from names to
# `(first, last, size)`; a value is alive in both statements, and between them.
#
# **15-2.** `needed(program, results)`: the statements that the values in the list `results` depend on, in their order.
# What is left out is dead code.
#
# **15-3.** `inlined(program, pointwise, results)`: the set of names that need no storage. Such a value is made by a
# pointwise op and used once, as one operand of one statement with a pointwise op, and nobody asks for it as a result.
# `pointwise` is a set of names of ops, `results` a list of names of values.


# %%
def peak(lives):
    raise NotImplementedError


def needed(program, results):
    raise NotImplementedError


def inlined(program, pointwise, results):
    raise NotImplementedError


for number, answer in (("15-1", peak), ("15-2", needed), ("15-3", inlined)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 16 shares a step out over several workers, and puts their results together again.
