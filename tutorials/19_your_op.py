# %% [markdown]
# # 19. Write your own op
#
# Somebody publishes a function that forgenb does not have. You need not wait for the next version: an op is a kernel
# for forward, a rule for backward, and a check that they belong together. Earlier chapters had all three. This one
# makes an op from nothing, and looks at what each part is good for.
#
# Our function is a smooth relative of relu, **squareplus** (Barron, 2021). It has no exponential, only a root:
#
# $$ y = \frac{x + r}{2}, \qquad r = \sqrt{x^2 + b}. $$
#
# With $b = 0$ it is relu. A larger $b$ makes the corner rounder; we take $b = 4$.
#
# ## The cheapest way: write it in ops
#
# Each op brings its own rule, so the gradient is there for free. `fnb.ops.sqrt` is the root, and `fnb.Tape` shows what
# happens.

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb
from forgenb.kernel import map_kernel
from forgenb.kernel.primitives import select, sqrt
from forgenb.ops.apply import run_map


def composed(x, b=4.0):
    return 0.5 * (x + fnb.ops.sqrt(x * x + b))


def taped(f):
    x = fnb.tensor(np.linspace(-3, 3, 1000, dtype="float32"), requires_grad=True)
    with fnb.Tape() as tape:
        f(x).sum().backward()
    print(tape)
    kept = sum(entry.saved // 4000 for entry in tape.entries)
    return kept, sum(len(entry.kernels) for entry in tape.entries)


assert taped(composed) == (3, 6)

# %% [markdown]
# It works, and often that is the end of the story. But there are five launches where one loop would do (the sixth is
# the sum), and three arrays of 4000 bytes are kept for backward, where knowing $x$ is enough. And there is a worse
# thing. Far to the left $x$ and $r$ have opposite signs and almost one size. Their sum **cancels**: the leading digits
# go, and only rounding is left.

# %%
far = fnb.tensor([-1e3, -1e4, -1e5])
print(composed(far))
assert composed(far).tolist()[1:] == [0.0, 0.0]  # and should be 0.0001 and 0.00001

# %% [markdown]
# ## The formula, for both sides
#
# Multiply above and below by $r - x$. Since $r^2 - x^2 = b$, the sum that cancels becomes a quotient:
#
# $$ \frac{x + r}{2} = \frac{(r + x)(r - x)}{2 (r - x)} = \frac{b}{2 (r - x)}. $$
#
# For negative $x$ the new divisor is a sum of two positive numbers, and nothing cancels. For positive $x$ the old form
# is the good one. So the function needs both.
#
# ## A kernel
#
# Our kernel is a map, as the first one of chapter 4: a function of numbers, for which forgenb supplies the loop. New in
# the line above it is the semicolon. Behind it stands what is the same for all elements. The body chooses a side with
# `select`, which computes both, as in chapter 8. A body may call other plain functions, such as `value` here.


# %%
def value(x, r, b):
    return select(x > 0.0, 0.5 * (x + r), 0.5 * b / (r - x))


@map_kernel("x -> y; b")
def squareplus_kernel(x, b):
    return value(x, sqrt(x * x + b), b)


print(squareplus_kernel(-1e4, 4.0))  # a kernel is still a function
assert abs(squareplus_kernel(-1e4, 4.0) - 1e-4) < 1e-11

# %% [markdown]
# `run_map` launches it, with the tensors in one tuple and what is the same for all in another. It finds the backend,
# the dtype, and memory for the result; the ops of the library call it too. Here are the errors of both ways, with
# `float64` to measure them.


# %%
def squareplus_forward(x, b=4.0):
    return run_map(squareplus_kernel, (x,), (b,))


# %% {"mystnb": {"image": {"alt": "Error of ops grows from 1e-7 to 1 to the left; that of the kernel stays at 1e-7"}}}
left = -np.logspace(0, 5, 200)
exact = 2.0 / (np.sqrt(left**2 + 4.0) - left)
errors = {}
for name, f in (("in ops", composed), ("a kernel", squareplus_forward)):
    errors[name] = np.abs(f(fnb.tensor(left, dtype="float32")).numpy() / exact - 1) + 1e-9
    plt.loglog(-left, errors[name], label=name)
plt.gca().set(xlabel="-x", ylabel="relative error in float32")
plt.legend()
plt.show()

assert errors["a kernel"].max() < 1e-6 < 0.99 < errors["in ops"].max()

# %% [markdown]
# ## The rule
#
# $r' = x / r$, and so the slope is
#
# $$ y' = \frac12 \left( 1 + \frac{x}{r} \right) = \frac{r + x}{2 r} = \frac{y}{r}. $$
#
# The last form is a gift. The first one cancels as before; the last one has the digits of $y$. Backward takes $x$ and
# the incoming gradient, works out $y$ again, and returns $\bar y \, y / r$. That is a second kernel, and `value` serves
# both.


# %%
@map_kernel("x dout -> dx; b")
def squareplus_grad_kernel(x, dout, b):
    r = sqrt(x * x + b)
    return dout * value(x, r, b) / r


def squareplus_rule(dout, x, b=4.0):
    return run_map(squareplus_grad_kernel, (x, dout), (b,))


once = fnb.custom_op(squareplus_forward, squareplus_rule, second=False)
assert taped(once) == (1, 2)

# %% [markdown]
# `fnb.custom_op` put the two together. The tape now has one line for the function, one launch, and $x$ is all that is
# kept. Whether rule and function belong together `fnb.gradcheck` says. It needs `float64`, and the same kernel serves:
# a literal such as `0.5` has the dtype of what the kernel works on.

# %%
points = np.array([-30.0, -2.0, -0.1, 0.0, 0.3, 5.0])
assert fnb.gradcheck(once, points)
assert fnb.gradcheck(lambda x: once(x, b=0.01), points)

# %% [markdown]
# ## A gradient that can be differentiated
#
# `second=False` above says that the rule launches a kernel which the tape does not see, so that there are no second
# derivatives; asking for one raises `fnb.errors.TapeError`. To have them, make the gradient an op too. It has two
# inputs, $x$ and $\bar y$. Call the gradient that arrives for it $g$. For $\bar y$ the rule is the gradient once more,
# since it is linear in $\bar y$. For $x$ we need the slope of $y'$, which is written $y^{(2)}$:
#
# $$ y^{(2)} = \frac12 \left( \frac{x}{r} \right)' = \frac12 \cdot \frac{r - x \cdot x / r}{r^2}
#    = \frac{r^2 - x^2}{2 r^3} = \frac{b}{2 r^3}. $$
#
# This rule need not be fast. It is written in ops, and so has all further derivatives.


# %%
def slope_forward(x, dout, b=4.0):
    return squareplus_rule(dout, x, b)


def slope_rule(g, x, dout, b=4.0):
    r = fnb.ops.sqrt(x * x + b)
    return g * dout * (0.5 * b) / (r * r * r), slope(x, g, b=b)


slope = fnb.custom_op(slope_forward, slope_rule)


def twice_rule(dout, x, b=4.0):
    return slope(x, dout, b=b)


squareplus = fnb.custom_op(squareplus_forward, twice_rule)
assert fnb.gradcheck(squareplus, points, order=2)
try:
    fnb.gradcheck(once, points, order=2)
except fnb.errors.TapeError as error:
    told = str(error)
print(textwrap.fill(told, 88))
assert "has no backward rule" in told

# %% [markdown]
# ## It is like any other op
#
# Nothing was said of a backend, so it runs on all of them. `fnb.use` chooses the interpreter here, and the bits are the
# same.

# %%
with fnb.use("python"):
    interpreted = squareplus(points).numpy()
assert np.array_equal(interpreted, squareplus(points).numpy())

# %% [markdown]
# And it works in a routine. Let us train a small network with it to be a sine, with `fnb.nn.Linear` for the layers,
# `fnb.optim.Adam` for the steps and `fnb.compile` to record one. At 0 our function is 1, which we take away again.

# %%
inputs = np.linspace(-3, 3, 64, dtype="float32")[:, None]
targets = np.sin(inputs)
first, last = fnb.nn.Linear(1, 16, seed=1), fnb.nn.Linear(16, 1, seed=2)
optimizer = fnb.optim.Adam([*first.parameters(), *last.parameters()], lr=0.03)


@fnb.compile
def step(x, y):
    optimizer.zero_grad()
    apart = last(squareplus(first(x)) - 1.0) - y
    loss = (apart * apart).mean()
    loss.backward()
    optimizer.step()
    return loss


losses = [step(inputs, targets).item() for _ in range(1500)]
print(f"loss {losses[0]:.3f} -> {losses[-1]:.6f}")
assert losses[-1] < 1e-3
lines = [line for line in str(step.routine).splitlines() if "squareplus" in line]
print("\n".join(lines))
assert len(lines) == 2
assert "squareplus_sub_kernel" in lines[0]
assert "squareplus_grad_copy_kernel" in lines[1]

# %% [markdown]
# Two statements, one of forward and one of backward. Look at their names: the routine has put *our* bodies into one
# loop with those of their neighbours, which it could do because a body is a function of numbers.
#
# ## What a library would add
#
# Our kernel has an end too: beyond $1.8 \cdot 10^{19}$ the square of a `float32` is infinite. An op of forgenb has a
# test for such places. It stands in the *op table* with samples of inputs and a reference, another way to the right
# result. Tests for every backend are made of that table, and chapter 20 meets them.

# %%
assert squareplus([1e19, 1e20]).tolist() == [float(np.float32(1e19)), float("inf")]

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 19`: a judge tries them on hidden inputs.
#
# **19-1.** `smooth_max_rule(dout, x, y)`: the backward rule, with tensors, of a smooth maximum
# $m = \frac12 \bigl( x + y + \sqrt{(x - y)^2 + 4} \bigr)$. `x` and `y` have one shape. Return both gradients.
#
# **19-2.** `logcosh(x)`: the body of a kernel "x -> out" that computes $\log \cosh x$. The cosine of 100 is infinite in
# `float32`, and the result must not be. Words are in `forgenb.kernel.primitives` and, such as `exp` and `log1p`, in
# `forgenb.kernel.elementary`.
#
# **19-3.** `quantize(x, step)`: forward takes each number of the tensor `x` to the nearest multiple of the number
# `step`. The slope of that is 0, and nothing could be learned through it. So hand the gradient on as if nothing had
# been rounded, a rule that is no derivative and does well in practice. `np.rint` rounds; a forward may use NumPy.


# %%
def smooth_max_rule(dout, x, y):
    raise NotImplementedError


def logcosh(x):
    raise NotImplementedError


def quantize(x, step):
    raise NotImplementedError


for number, answer in (("19-1", smooth_max_rule), ("19-2", logcosh), ("19-3", quantize)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# An op runs on every backend. Chapter 20 writes a backend that runs every op.
