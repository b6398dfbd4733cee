# %% [markdown]
# # 1. Slopes by differences
#
# A network has numbers that can be changed, its *parameters*, and a *loss*: one number that says how wrong its answers
# are. To train it is to ask of every parameter: if it were a little larger, what would the loss do? The answer is a
# slope. This chapter finds slopes with nothing but the function itself: call it twice, subtract, divide.
#
# It works for any function and needs no rule of calculus, so it will judge all the rules that come later. It is also
# slow, and the end of the chapter says how slow.
#
# ## A slope is a ratio
#
# Take a step of length $h$ to the right and see by how much the function rises:
#
# $$ \text{slope} \approx \frac{f(x + h) - f(x)}{h}. $$
#
# For $f(x) = x^2$ the fraction can be worked out by hand:
#
# $$ \frac{(x + h)^2 - x^2}{h} = \frac{2xh + h^2}{h} = 2x + h. $$
#
# The derivative is $2x$, and the step leaves an error of exactly $h$.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np


def one_sided(f, x, h):
    return (f(x + h) - f(x)) / h


def square(x):
    return x * x


print(one_sided(square, 3.0, h=0.25))
assert one_sided(square, 3.0, h=0.25) == 6.25

# %% [markdown]
# ## Step to both sides
#
# A step to the left has, nearly, the opposite error. So step $h$ to both sides, to two places that are $2h$ apart:
#
# $$ \text{slope} \approx \frac{f(x + h) - f(x - h)}{2h}. $$
#
# This is a **central difference**. For the square it is right for every $h$, since
# $(x + h)^2 - (x - h)^2 = 4xh$. Other functions are, near $x$, almost a polynomial of $h$, the *Taylor series*:
#
# $$ f(x \pm h) = a_0 \pm a_1 h + a_2 h^2 \pm a_3 h^3 + \dots $$
#
# Here $a_0$ is $f(x)$, $a_1$ is the slope that we want, and $a_2$ is half of the second derivative. Put it in:
#
# $$ \frac{f(x + h) - f(x)}{h} = a_1 + a_2 h + \dots \qquad \frac{f(x + h) - f(x - h)}{2h} = a_1 + a_3 h^2 + \dots $$
#
# With a step ten times smaller the one-sided error is ten times smaller, and the central one a hundred times.


# %%
def slope(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


exact = math.cos(1.0)  # the derivative of the sine
one_sided_error = [abs(one_sided(math.sin, 1.0, h) - exact) for h in (0.1, 0.01)]
central_error = [abs(slope(math.sin, 1.0, h) - exact) for h in (0.1, 0.01)]
print("one-sided:", one_sided_error)
print("central:  ", central_error)
assert slope(square, 3.0, h=0.25) == 6.0
assert 9 < one_sided_error[0] / one_sided_error[1] < 11
assert 99 < central_error[0] / central_error[1] < 101

# %% [markdown]
# ## Smaller is not always better
#
# A `float` has about 16 digits. If $h$ is tiny, $f(x + h)$ and $f(x - h)$ agree in most of them, the subtraction
# removes these, and what it leaves is mostly rounding. That error is about $10^{-16} / h$, and it *grows* as $h$
# shrinks. The best step lies where the two errors meet. Here are both kinds of difference for 120 steps.

# %% {"mystnb": {"image": {"alt": "Error against step: both curves fall to the left, then rise again"}}}
steps = np.logspace(-14, 0, 120)
errors = {
    "one-sided": [abs(one_sided(math.sin, 1.0, h) - exact) for h in steps],
    "central": [abs(slope(math.sin, 1.0, h) - exact) for h in steps],
}
_, axes = plt.subplots(figsize=(6, 4))
for label, found in errors.items():
    axes.loglog(steps, found, label=label)
axes.loglog(steps, 1e-16 / steps, "k:", label="rounding, $10^{-16} / h$")
axes.set(xlabel="step h", ylabel="error of the slope")
axes.legend()
plt.show()

best = {label: steps[np.argmin(found)] for label, found in errors.items()}
assert 1e-10 < best["one-sided"] < 1e-6 < best["central"] < 1e-3
assert abs(slope(math.sin, 1.0, h=1e-5) - exact) < 1e-9
assert abs(slope(math.sin, 1.0, h=1e-13) - exact) > 1e-6

# %% [markdown]
# A central difference with $h = 10^{-5}$ is right to nine digits or more, for numbers near 1. That is enough to find
# any mistake in a rule. A `float32` has 7 digits, and its rounding is about $10^{-7} / h$. With the same $h$ it leaves
# two digits of the slope, and with the best one, between 0.001 and 0.01, about five. Small mistakes hide behind that,
# which is why checks of gradients are made in `float64`.

# %%
seven_digits = {h: abs(float(slope(np.sin, np.float32(1), np.float32(h))) - exact) for h in (1e-5, 5e-3)}
print(seven_digits)
assert seven_digits[1e-5] > 1e-4 > seven_digits[5e-3]

# %% [markdown]
# ## Where there is no slope
#
# Some functions have a corner. The absolute value has slope $-1$ on the left of 0 and $1$ on the right. *At* 0 it has
# none, but a central difference answers all the same.

# %%
assert one_sided(abs, 0.0, h=1e-5) == 1.0
assert one_sided(abs, 0.0, h=-1e-5) == -1.0
assert slope(abs, 0.0) == 0.0

# %% [markdown]
# So a careful check looks at both sides. `fnb.gradcheck` does, and refuses a place where they differ.
#
# ## Several numbers
#
# Five points lie near a line $y = ax + b$. The mean of the squared errors says how wrong a line is. It is our first
# loss, call it $L$, and $a$ and $b$ are its parameters. There is a slope for each, with the other held fixed: the
# **partial derivatives** $\partial L / \partial a$ and $\partial L / \partial b$. Together they are the **gradient**.

# %%
x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
y = np.array([-2.9, -1.2, 1.1, 2.8, 5.2])


def loss(a, b):
    return np.mean((a * x + b - y) ** 2)


def gradient_of_loss(a, b):
    return slope(lambda moved: loss(moved, b), a), slope(lambda moved: loss(a, moved), b)


da, db = gradient_of_loss(0.0, 0.0)
print(da, db)
assert abs(da - np.mean(2 * (0 - y) * x)) < 1e-8  # by the rules of calculus
assert abs(db - np.mean(2 * (0 - y))) < 1e-8

# %% [markdown]
# Both are negative: a larger $a$ and a larger $b$ would make the loss smaller. So move each number a little *against*
# its slope, and again from there. This is **gradient descent**, and all networks of this course learn
# by some form of it. The factor 0.1 below is the *learning rate*: too small and it takes long, too large and it
# overshoots.

# %% {"mystnb": {"image": {"alt": "Contours of the loss over a and b, and a path down to its lowest point"}}}
a, b = 0.0, 0.0
path = [(a, b)]
for _ in range(60):
    da, db = gradient_of_loss(a, b)
    a, b = a - 0.1 * da, b - 0.1 * db
    path.append((a, b))
print(f"y = {a:.3f} x + {b:.3f}, loss {loss(a, b):.4f}")
assert np.allclose((a, b), np.polyfit(x, y, 1), atol=1e-4)  # the line of least squares

many_a, many_b = np.meshgrid(np.linspace(-0.5, 3, 60), np.linspace(-0.5, 2, 60))
heights = np.vectorize(loss)(many_a, many_b)
_, axes = plt.subplots(figsize=(6, 4))
axes.contour(many_a, many_b, heights, levels=np.geomspace(0.05, 10, 12), cmap="viridis")
axes.plot(*zip(*path, strict=True), "o-", color="crimson", markersize=3)
axes.set(xlabel="a", ylabel="b")
plt.show()

# %% [markdown]
# ## What it costs
#
# Two calls of the function for each parameter, for one step of descent. With two parameters that is nothing. But even a
# small GPT has hundreds of thousands, and a single step would take two runs of the model for each of them.
#
# There is one cheap question, though. Move *all* parameters at once, each by $h$ times a number $v_i$ of your choice.
# Near $x$, to move $x_i$ by $h v_i$ changes $f$ by about $h v_i \, \partial f / \partial x_i$, and small changes add
# up:
#
# $$ \frac{f(x + hv) - f(x - hv)}{2h} \approx \sum_i v_i \frac{\partial f}{\partial x_i}. $$
#
# The slope along the direction $v$ takes two calls, however many numbers there are. It does not say what the partial
# derivatives are. But if somebody *claims* to know them, a random direction or two will tell whether the claim is
# right. That is the heart of `fnb.gradcheck`.

# %%
direction = (0.7, -1.3)
along = slope(lambda t: loss(t * direction[0], t * direction[1]), 0.0)
da, db = gradient_of_loss(0.0, 0.0)
assert abs(along - (direction[0] * da + direction[1] * db)) < 1e-8

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 1`: a judge tries them on hidden inputs. A verdict
# says what is wrong, and never how it is right.
#
# **01-1.** `curvature(f, x, h)`: the second derivative of `f` at the number `x`, from the values of `f` at `x - h`, `x`
# and `x + h`. The Taylor series above has what you need.
#
# **01-2.** `gradient(f, x, h)`: all partial derivatives of `f` at the NumPy array `x`, which may have any shape, by
# central differences. `f` takes such an array and returns a number. Leave `x` as it was.
#
# **01-3.** `slope_along(f, x, v, h)`: the slope of `f` at the array `x` along the direction `v`, by the central
# difference of two calls of `f`, `h` times `v` to either side. Leave `x` and `v` as they were.


# %%
import forgenb as fnb


def curvature(f, x, h):
    raise NotImplementedError


def gradient(f, x, h):
    raise NotImplementedError


def slope_along(f, x, v, h):
    raise NotImplementedError


for number, answer in (("01-1", curvature), ("01-2", gradient), ("01-3", slope_along)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 2 gets all partial derivatives at once, for a few times the price of one run, whether there are two or a
# million.
