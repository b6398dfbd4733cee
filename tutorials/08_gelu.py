# %% [markdown]
# # 8. What bends: GELU and friends
#
# A layer multiplies its input by a matrix. Two layers in a row multiply by two matrices, and that is one matrix again
# (with a bias in each it is one matrix and one bias): stacking gains nothing, unless something between them is not a
# straight line. An **activation** is a function that is applied to each number between two layers. It has one job, to
# bend. This chapter derives the slopes of eight of them, and looks at the two ways in which a slope can go wrong: it
# can *break*, and it can *vanish*.
#
# Below, NumPy's `lstsq` looks for the one matrix that comes nearest to two layers with a bend, and it is not near.

# %%
import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

draws = np.random.default_rng(0)
x = draws.normal(size=(20, 4))
first, second = draws.normal(size=(4, 6)), draws.normal(size=(6, 3))
assert np.allclose((x @ first) @ second, x @ (first @ second))  # two layers, one matrix
best = np.linalg.lstsq(x, np.maximum(x @ first, 0) @ second)[0]
assert not np.allclose(x @ best, np.maximum(x @ first, 0) @ second)  # with a bend, none

# %% [markdown]
# ## One rule for all
#
# An activation works number by number, $y_i = f(x_i)$. No output depends on another input, so there is nothing to add
# up, and backward multiplies by the slope at the same place:
#
# $$ \bar x_i = f'(x_i) \, \bar y_i. $$
#
# All that is left to do is to find $f'$, and to write it so that it survives floating point. `slope_of` asks forgenb
# for $f$ and $f'$: if the gradient that arrives is 1 everywhere, the one that comes out *is* the slope.


# %%
def slope_of(f, values):
    x = fnb.tensor(values, requires_grad=True)
    y = f(x)
    y.backward(fnb.tensor(np.ones_like(values)))
    return y.numpy(), x.grad.numpy()


# %% [markdown]
# ## A corner: relu and leaky relu
#
# The simplest bend is a corner. `fnb.ops.relu` keeps what is above 0 and cuts off the rest. `fnb.ops.leaky_relu` lets a
# small part $a$ of the rest through, one hundredth unless you say otherwise.
#
# $$ \operatorname{relu}(x) = \begin{cases} x & x > 0 \\ 0 & x \le 0 \end{cases} \qquad
#    \operatorname{leaky}(x) = \begin{cases} x & x > 0 \\ a x & x \le 0 \end{cases} $$
#
# Their slopes are 1 on the right, and 0 or $a$ on the left. *At* 0 there is none: from the right it is 1, from the left
# it is not. Such a place is a **kink**. Something must be returned there. forgenb takes the slope from the left, on
# every machine alike. `fnb.gradcheck` is stricter. It looks at both sides, as chapter 1 said, and where they differ it
# refuses to judge, by an `fnb.errors.ArgumentError`.

# %%
points = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
assert slope_of(fnb.ops.relu, points)[1].tolist() == [0, 0, 0, 1, 1]
assert slope_of(fnb.ops.leaky_relu, points)[1].tolist() == [0.01, 0.01, 0.01, 1, 1]
assert fnb.gradcheck(fnb.ops.relu, np.array([-2.0, 0.5]))
try:
    fnb.gradcheck(fnb.ops.relu, points)
except fnb.errors.ArgumentError as error:
    refused = str(error)
    print(refused)
assert "not differentiable here: at entry (2,)" in refused

# %% [markdown]
# A number hardly ever lies exactly on a kink, so that does no harm. The flat side does. A column of $x w$ belongs to
# one neuron. If it is below 0 for *every* example, the slope is 0 for every example, and so is the gradient of the
# neuron's weights. As long as the examples stay what they are, the weights will not change again: the neuron is
# **dead**. The leak keeps it alive.

# %%
examples = np.abs(draws.normal(size=(20, 3)))
for f, alive in ((fnb.ops.relu, False), (fnb.ops.leaky_relu, True)):
    w = fnb.tensor(np.array([[-1.0], [-2.0], [-0.5]]), requires_grad=True)
    f(fnb.tensor(examples) @ w).sum().backward()
    assert bool(np.any(w.grad.numpy())) is alive

# %% [markdown]
# ## An S: sigmoid and tanh
#
# `fnb.ops.sigmoid` squeezes all numbers between 0 and 1. It is `fnb.ops.softmax` for two classes, of which one has the
# score 0: divide $e^x / (e^x + 1)$ by $e^x$ above and below.
#
# $$ \sigma(x) = \frac{1}{1 + e^{-x}}, \qquad
#    \sigma'(x) = \frac{e^{-x}}{(1 + e^{-x})^2} = \frac{1}{1 + e^{-x}} \cdot \frac{e^{-x}}{1 + e^{-x}}
#    = \sigma(x) \, (1 - \sigma(x)). $$
#
# The last factor is $1 - \sigma(x) = \sigma(-x)$. `fnb.ops.tanh` is the same S between $-1$ and 1, half as wide:
# $\tanh x = 2\sigma(2x) - 1$. With $s = \sigma(2x)$ the chain rule gives
#
# $$ \tanh'(x) = 2 \cdot 2 s (1 - s) = 1 - (2s - 1)^2 = 1 - \tanh^2 x. $$
#
# Both slopes follow from the *output*, so that is what forgenb saves.

# %%
z = np.linspace(-6, 6, 601)
s, ds = slope_of(fnb.ops.sigmoid, z)
t, dt = slope_of(fnb.ops.tanh, z)
assert np.allclose(s, 1 / (1 + np.exp(-z)))
assert np.allclose(s, fnb.ops.softmax(np.stack([z, 0 * z], axis=1)).numpy()[:, 0])
assert np.allclose(ds, s * (1 - s))
assert np.allclose(t, 2 / (1 + np.exp(-2 * z)) - 1)
assert np.allclose(dt, 1 - t * t)

# %% [markdown]
# ## What saturates, stops learning
#
# Far out an S is flat: it **saturates**. There a large change of $x$ hardly changes $y$, and backward hardly gets
# through. In `float32` it is worse than that: $\sigma(20)$ is rounded to 1, and a slope of $1 \cdot (1 - 1)$ is 0.
# Chapter 7 has seen the remedy. A loss that is computed from logits has the sigmoid or softmax *inside*. Where that is
# flat near 0 the logarithm is steep, and the two cancel: the slope of $\log \sigma(x)$ is $\sigma'(x) / \sigma(x)$, and
# that is $1 - \sigma(x)$.

# %%
far = np.array([5.0, 10.0, 20.0], "float32")
print(slope_of(fnb.ops.sigmoid, far)[1])
assert slope_of(fnb.ops.sigmoid, far)[1][0] < 0.01
assert slope_of(fnb.ops.sigmoid, far)[1][2] == 0.0
assert slope_of(fnb.ops.tanh, far)[1][1] == 0.0

# %% [markdown]
# Even at its best, in the middle, the slope of a sigmoid is only a quarter. A gradient that passes through ten of them
# has been multiplied by ten such factors: at most $4^{-10}$, one millionth. tanh has slope 1 in the middle, and relu on
# all of its right side. That is why deep networks of sigmoids were so hard to train.

# %%
for f in (fnb.ops.sigmoid, fnb.ops.tanh, fnb.ops.relu):
    x = y = fnb.tensor(np.array([1.0]), requires_grad=True)
    for _ in range(10):
        y = f(y)
    y.backward()
    print(f"{f.__name__}: {x.grad.item():.2g}")
    if f is fnb.ops.sigmoid:
        assert x.grad.item() < 4.0**-10
assert x.grad.item() == 1.0

# %% [markdown]
# ## A corner without a kink: softplus and silu
#
# Look for a function whose *slope* is the S that climbs from 0 to 1. It will look like relu, with the corner rounded.
# It is `fnb.ops.softplus`:
#
# $$ \operatorname{softplus}(x) = \log(1 + e^x), \qquad
#    \operatorname{softplus}'(x) = \frac{e^x}{1 + e^x} = \sigma(x). $$
#
# Or see relu as a *gate*: $x$ times 1 where it is open, $x$ times 0 where it is shut. Let the gate open slowly, and you
# have `fnb.ops.silu`, also called swish. Its slope is the rule of the product:
#
# $$ \operatorname{silu}(x) = x \, \sigma(x), \qquad
#    \operatorname{silu}'(x) = \sigma(x) + x \, \sigma(x) \, (1 - \sigma(x)). $$

# %%
assert np.allclose(slope_of(fnb.ops.softplus, z)[1], s)
assert np.allclose(slope_of(fnb.ops.silu, z)[0], z * s)
assert np.allclose(slope_of(fnb.ops.silu, z)[1], s + z * s * (1 - s))

# %% [markdown]
# ## GELU
#
# The **Gaussian error linear unit** is a gate too. Draw a number from the bell curve
# $\varphi(t) = e^{-t^2 / 2} / \sqrt{2\pi}$. The gate is the probability that it falls below $x$, the area $\Phi(x)$
# under the bell to the left of $x$. The slope of an area is the height of its edge: $\Phi' = \varphi$. So
#
# $$ \operatorname{gelu}(x) = x \, \Phi(x), \qquad \operatorname{gelu}'(x) = \Phi(x) + x \, \varphi(x). $$
#
# This form is `fnb.ops.gelu_erf`: the area is known under the name of the error function,
# $\Phi(x) = \frac12 (1 + \operatorname{erf}(x / \sqrt 2))$, which is `fnb.ops.erf`. Its authors gave another form too,
# made of a tanh, that nearly agrees, and many models were trained with that one. It is `fnb.ops.gelu`:
#
# $$ \operatorname{gelu}(x) \approx \tfrac12 x \, (1 + \tanh u), \qquad
#    u = \sqrt{2 / \pi} \; (x + 0.044715 \, x^3). $$

# %%
bell = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
area = (1 + fnb.ops.erf(z / np.sqrt(2)).numpy()) / 2
exact, exact_slope = slope_of(fnb.ops.gelu_erf, z)
smooth, smooth_slope = slope_of(fnb.ops.gelu, z)
assert np.allclose(exact, z * area)
assert np.allclose(exact_slope, area + z * bell)
assert 1e-4 < np.abs(smooth - exact).max() < 5e-4  # near, and not the same
assert exact.min() < -0.16  # it dips below 0
assert exact_slope.min() < -0.12  # and there it falls
assert exact_slope.max() > 1.12

# %% [markdown]
# For the rule, put the sigmoid in: $\frac12 (1 + \tanh u) = \sigma(2u)$, as we saw. With $s = \sigma(2u)$ this is
# $x \, s$, a product whose second factor is a chain:
#
# $$ \operatorname{gelu}'(x) = s + x \cdot s (1 - s) \cdot 2 u', \qquad
#    2 u' = 2\sqrt{2 / \pi} \; (1 + 3 \cdot 0.044715 \, x^2). $$
#
# Now the kernels. The gate is the sigmoid, and its two numbers are $2\sqrt{2 / \pi}$ and $0.044715$ times as much. In
# the slope stands three times the second.
#
# ```{literalinclude} /../forgenb/ops/gelu.py
# :pyobject: gate
# ```
#
# ```{literalinclude} /../forgenb/ops/gelu.py
# :pyobject: gelu_kernel
# ```
#
# ```{literalinclude} /../forgenb/ops/gelu.py
# :pyobject: gelu_grad_kernel
# ```
#
# A kernel for one number has no `if` but `select`, so that a loop can do several at once, as in chapter 5. Here it
# keeps the ends safe. At $-\infty$ the gate is $1/\infty = 0$, and infinity times 0 is not a number; far on both sides
# $x^2$ overflows, and in the slope it meets a factor 0. But beyond 30 the answer is known, so `select` takes that. In
# the slope another one hands the formula 0 instead of such an $x$, so that nothing overflows on the way.

# %%
u2 = 2 * np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)
gate = 1 / (1 + np.exp(-u2))
step = 2 * np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * z**2)
assert np.allclose(smooth, z * gate)
assert np.allclose(smooth_slope, gate + z * gate * (1 - gate) * step)
ends = np.array([-np.inf, -1e30, 1e30, np.inf], "float32")
assert slope_of(fnb.ops.gelu, ends)[0].tolist() == [0, 0, ends[2], np.inf]
assert slope_of(fnb.ops.gelu, ends)[1].tolist() == [0, 0, 1, 1]

# %% [markdown]
# ## All of them
#
# On the left the functions, on the right their slopes. Look for the kinks, for the flat ends, and for the dip.

# %% {"mystnb": {"image": {"alt": "Left: eight curves, two S-shaped, six like a bent line. Right: their slopes"}}}
styles = {"leaky_relu": ":", "gelu_erf": "--"}
bends = ["relu", "leaky_relu", "softplus", "silu", "gelu", "gelu_erf"]
family = ["sigmoid", "tanh", *bends]
near = np.linspace(-4, 4, 400)  # an even number of points: none of them is 0
_, axes = plt.subplots(1, 2, figsize=(9, 4))
for name in family:
    for part, curve in zip(axes, slope_of(getattr(fnb.ops, name), near), strict=True):
        part.plot(near, curve, styles.get(name, "-"), label=name)
axes[0].set(title="function", ylim=(-1.2, 3), xlabel="x")
axes[1].set(title="slope", xlabel="x")
axes[0].legend(fontsize="small")
plt.show()

for name in family:
    assert fnb.gradcheck(getattr(fnb.ops, name), near[::40])

# %% [markdown]
# Which one? Between the layers of a network GELU or silu are good choices: no kink, no flat right side, and a left side
# that shuts little by little. sigmoid and tanh are for numbers that *mean* a probability or a gate.
#
# ## Exercises
#
# Write the functions, and run the cell again: `fnb.course.check` tries them on inputs that you do not see.
#
# **08-1.** `softplus(x)`: $\log(1 + e^x)$ for each number of the NumPy array `x`, be it 1000 or $-40$, without overflow
# and with all digits. Hint: `np.log1p`.
#
# **08-2.** `elu_rule(dout, x, alpha)`: the backward rule of the *exponential linear unit*, with tensors. It is $x$
# where $x > 0$, and $\alpha (e^x - 1)$ elsewhere. `alpha` is a number; mind large $x$. `fnb.ops.where` chooses between
# two.
#
# **08-3.** `mish_rule(dout, x)`: the backward rule of $y = x \tanh(\operatorname{softplus}(x))$, with tensors.


# %%
def softplus(x):
    raise NotImplementedError


def elu_rule(dout, x, alpha):
    raise NotImplementedError


def mish_rule(dout, x):
    raise NotImplementedError


for number, answer in (("08-1", softplus), ("08-2", elu_rule), ("08-3", mish_rule)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 9 keeps the numbers where activations are not flat: layer normalisation.
