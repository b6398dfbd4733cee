# %% [markdown]
# # 0. Ten minutes from zero
#
# forgenb computes with arrays and finds the slopes of what was computed, and slopes are what networks learn by. This
# page goes from an empty environment to a trained network, with a look at each part on the way. It shows and does not
# explain: that is for the chapters after it, which take one part at a time and begin at school calculus.
#
# ## Install
#
# You need Python 3.11, 3.12 or 3.13, and an internet connection once. In the project's folder:
#
# ```sh
# python3 -m venv .venv
# . .venv/bin/activate
# pip install -e '.[docs]'
# forgenb course open 0
# python forgenb-course/00_ten_minutes.py
# ```
#
# `activate` is for one terminal: say it again in a new one, or write `.venv/bin/` before the commands. Every chapter is
# a plain Python file, to be read here, run there, changed and run again. `forgenb course open 0` copies this one into
# the folder `forgenb-course/`, where you may write in it, and the last line runs your copy. Its first run takes longer,
# since it compiles what it needs and keeps that for later ones. A picture may open a window: the run goes on when you
# close it. `forgenb docs` makes pages of all chapters, with their output and pictures.
#
# ## Tensors
#
# A **tensor** is an array of numbers. `fnb.tensor` makes one from numbers, lists or NumPy arrays. Operators and methods
# mean what they mean in NumPy, and `@` is the matrix product. Python's floats become `float32`, and an array keeps its
# dtype. What a tensor can go through is called an *op*, and each one is a function in `fnb.ops`, such as the hyperbolic
# tangent `fnb.ops.tanh`.

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

x = fnb.tensor([[1.0, 2.0], [3.0, 4.0]])
w = fnb.tensor([[0.5], [-0.5]])
y = fnb.ops.tanh(x @ w)
print(y, y.shape, y.dtype)
print(y.sum().item())  # a plain Python number
assert np.allclose(y.numpy(), np.tanh(x.numpy() @ w.numpy()))

# %% [markdown]
# ## Gradients
#
# Say `requires_grad=True`, compute one number from the tensor, and call `backward()` on that number. Then `grad` holds
# a slope for each element: how fast the number grows as the element grows. For a sum of squares the slopes are twice
# the elements.

# %%
x = fnb.tensor([1.0, 2.0, 3.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
print("loss", loss.item(), "slopes", x.grad.numpy())
assert x.grad.tolist() == [2.0, 4.0, 6.0]

# %% [markdown]
# ## The tape
#
# How does `backward` know? While you compute, forgenb writes down what you do, and with each entry a small function
# that takes a gradient from the entry's result to its inputs. `backward` calls these functions, from the last entry to
# the first. The list is the **tape**, and `with fnb.Tape() as tape:` lets you look at it.

# %%
x = fnb.tensor([[1.0, 2.0], [3.0, 4.0]], name="x")
w = fnb.tensor([[0.5], [-0.5]], requires_grad=True, name="w")
with fnb.Tape() as tape:
    loss = (fnb.ops.tanh(x @ w) ** 2).sum()
    loss.backward()
print(tape)
assert [entry.op for entry in tape.entries] == ["w", "matmul", "tanh", "square", "sum"]

# %% [markdown]
# There is one line for each entry. `inputs` gives the lines that it reads; `-` is a constant such as `x`, for which
# nobody wants a slope. `w` has a line although no op made it: it is a *leaf*, where the walk back ends and the slope
# stays. `saved` is what an entry keeps for backward, `kernels` names the compiled loops that ran, and the last columns
# are their times in microseconds. Where a time is large, a kernel was used for the first time.
#
# ## Is a gradient right?
#
# All the slopes together are called the *gradient*. You need not believe that it is right: `fnb.gradcheck` moves the
# inputs a little, looks at what the function does, and compares.

# %%
numbers = np.array([0.3, -1.2, 2.0])
assert fnb.gradcheck(lambda x: (fnb.ops.tanh(x) * x).sum(), numbers)

# %% [markdown]
# With `fnb.custom_op` you make an op of a function and a *backward rule*, which takes the gradient of the result to
# that of the input. The rule below is wrong, since the slope of $x^2$ is $2x$ and not $x$. So the check raises
# `fnb.errors.GradcheckError`, and its last sentence says what is the matter. What it calls an entry is an element.

# %%
halved = fnb.custom_op(lambda x: x * x, lambda dout, x: dout * x)
try:
    fnb.gradcheck(halved, numbers)
except fnb.errors.GradcheckError as error:
    told = str(error)
print(textwrap.fill(told, 88))
assert "a factor 2 is missing" in told

# %% [markdown]
# ## Train something
#
# Two half moons of points lie in the plane, one inside the other. A network shall tell from a point's two coordinates
# which moon it is on. No straight line parts them, so it must learn to bend.

# %%
draws = np.random.default_rng(0)
angle, moon = draws.uniform(0, np.pi, 400), np.arange(400) % 2
points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
points[moon == 1] = [1.0, 0.5] - points[moon == 1]
points = (points + draws.normal(0, 0.1, points.shape)).astype("float32")


# %% [markdown]
# The network is a row of layers, `fnb.nn.Sequential`: `fnb.nn.Linear` multiplies by a matrix of weights and adds a
# bias, `fnb.nn.Tanh` bends. Two numbers go in and two scores come out, one for each moon. `fnb.ops.cross_entropy` makes
# one number of scores and right answers: the loss, which is small where the right score is much the larger one. An
# optimiser such as `fnb.optim.AdamW` moves the weights a little against their slopes, as they stand in `grad`.
# `zero_grad` clears the slopes of the step before, since `backward` adds to what is there. And `fnb.seed` fixes what is
# random, so that you see the same network as we do.


# %%
def fresh():
    fnb.seed(0)
    model = fnb.nn.Sequential(fnb.nn.Linear(2, 32), fnb.nn.Tanh(), fnb.nn.Linear(32, 2))
    optimizer = fnb.optim.AdamW(model.parameters(), lr=0.03)

    def step(points, moon):
        model.zero_grad()
        loss = fnb.ops.cross_entropy(model(points), moon)
        loss.backward()
        optimizer.step()
        return loss

    return model, step


_, step = fresh()
one_by_one = [step(points, moon).item() for _ in range(10)]
print("loss", [round(loss, 3) for loss in one_by_one])
assert one_by_one[-1] < one_by_one[0]

# %% [markdown]
# That ran op by op, which is good for looking and for debugging. `fnb.compile` records the whole step once (forward,
# backward and update) and from then on runs it as a single call, with the same bits and much less time between ops.

# %%
model, step = fresh()
fast = fnb.compile(step)
losses = [fast(points, moon).item() for _ in range(200)]
assert losses[:10] == one_by_one
assert losses[-1] < 0.02 < losses[0]

# %% [markdown]
# Does it tell the moons apart? Training needs gradients and use does not, so nothing is written down inside
# `fnb.no_grad`.

# %%
with fnb.no_grad():
    chosen = model(points).numpy().argmax(axis=1)
print(f"loss {losses[-1]:.1e}, {np.mean(chosen == moon):.1%} of the points right")
assert np.mean(chosen == moon) > 0.99

# %% [markdown]
# The recorded step can be read. Each line is a kernel with the shapes that it works on, in the order in which they run;
# `gemm` is the matrix product. The sum of 400 rows is taken in 7 pieces, which are then added up: hence `7x2` and
# `7x32`. The letters before the numbers say where a value is kept, and do not matter yet.

# %%
print(fast.routine)
assert "cross_entropy_grad_kernel" in str(fast.routine)

# %% [markdown]
# And this is what the network has learned. `fnb.ops.softmax` turns the two scores into probabilities; the picture shows
# that of the second moon, all over the plane.

# %% {"mystnb": {"image": {"alt": "Two interleaved half moons of points, and a curved border between them"}}}
across, up = np.meshgrid(np.linspace(-1.6, 2.6, 80), np.linspace(-1.2, 1.7, 60))
plane = np.stack([across.ravel(), up.ravel()], axis=1).astype("float32")
with fnb.no_grad():
    probability = fnb.ops.softmax(model(plane)).numpy()[:, 1]

probability = probability.reshape(across.shape)
_, axes = plt.subplots(figsize=(6, 4))
axes.contourf(across, up, probability, levels=20, cmap="RdBu", alpha=0.4)
axes.scatter(*points.T, c=moon, cmap="RdBu", edgecolors="black", linewidths=0.4, s=16)
plt.show()

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 0`: a judge tries them on hidden inputs. It is in
# `fnb.course.check`, which the last lines call. A verdict says what is wrong, and never how it is right.
#
# **00-1.** `gradient_of(f, x)`: the gradient of `f` at the NumPy array `x`, as an array. `f` takes a tensor and returns
# a tensor of one number.
#
# **00-2.** `descend(f, x, rate, steps)`: start at the array `x` and take `steps` steps, each `rate` times the gradient,
# downhill. Return the array that you end at, and leave `x` as it was. Mind that `backward` *adds* to a `grad` that is
# there already: make a new tensor in each step, which has none.
#
# **00-3.** `cube_rule(dout, x)`: the backward rule of $x^3$, as `fnb.custom_op` takes it. `dout` is the gradient that
# arrives at the result; both are tensors.


# %%
def gradient_of(f, x):
    raise NotImplementedError


def descend(f, x, rate, steps):
    raise NotImplementedError


def cube_rule(dout, x):
    raise NotImplementedError


for number, answer in (("00-1", gradient_of), ("00-2", descend), ("00-3", cube_rule)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# - **To understand it from the ground up**, go on with chapter 1. It finds slopes without any library, chapter 2 builds
#   a tape in forty lines, and from chapter 3 on the library is opened part by part.
# - **To see something larger run**, type `forgenb train`. It trains a small GPT, letter by letter, on text that came
#   with your Python; `forgenb generate` then writes more of it.
# - **To use it**, begin with the pages on [routines](../routines.md), [the trainer](../trainer.md) and
#   [checking gradients](../gradcheck.md).
