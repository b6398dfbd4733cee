# %% [markdown]
# # 9. Layernorm, derived in full
#
# A deep network multiplies by one matrix after another. If each makes its numbers one and a half times as large, forty
# of them make it ten million times, and if each halves them, nothing is left. **Layer normalisation** puts an end to
# that: it takes each row of numbers, moves its mean to 0 and its spread to 1, whatever they were. Forward is two lines.
# Backward has a name for being hard, and is not: it is chapter 2 with five steps.
#
# ## What it does to a row
#
# Let the row be $x_1, \dots, x_n$. Its mean, the distances from it, and the mean of their squares, the **variance**:
#
# $$ \mu = \frac{1}{n} \sum_k x_k, \qquad c_j = x_j - \mu, \qquad v = \frac{1}{n} \sum_k c_k^2. $$
#
# The root of the variance is the spread, also called *standard deviation*. Divide by it:
#
# $$ r = \frac{1}{\sqrt{v + \epsilon}}, \qquad \hat x_j = c_j \, r, \qquad y_j = \gamma_j \, \hat x_j + \beta_j. $$
#
# $\hat x$ is read *x hat*. $\epsilon$ is small, $10^{-5}$ unless you say otherwise. A row of equal numbers has variance
# 0, and $\epsilon$ keeps us from dividing by it. The *gain* $\gamma$ and the *shift* $\beta$ are parameters, one number
# for each column: if another mean and spread serve the network better, it can learn them.
#
# `fnb.ops.layernorm` is this function. Compare it with the formulas (`std` of NumPy is the spread):

# %%
import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

EPS = 1e-5
draws = np.random.default_rng(0)
values = draws.normal(3.0, 5.0, size=(4, 6))
gain, shift = draws.uniform(0.5, 2.0, 6), draws.normal(size=6)

mu = values.mean(axis=1, keepdims=True)
c = values - mu
v = (c * c).mean(axis=1, keepdims=True)
r = 1 / np.sqrt(v + EPS)
x_hat = c * r
assert np.allclose(x_hat.mean(axis=1), 0)
assert np.allclose(x_hat.std(axis=1), 1, atol=1e-5)

x, gamma, beta = (fnb.tensor(given, requires_grad=True) for given in (values, gain, shift))
y = fnb.ops.layernorm(x, gamma, beta)
assert np.allclose(y.numpy(), gain * x_hat + shift)
assert fnb.ops.layernorm(np.full((1, 6), 7.0), gain, shift).numpy().tolist() == [shift.tolist()]

# %% [markdown]
# The last line is the row of equal numbers: $\hat x$ is 0, and the shift is left.
#
# ## What it is good for
#
# Forty layers with weights drawn one and a half times too large, with normalisation between them and without.

# %% {"mystnb": {"image": {"alt": "On a logarithmic scale one line climbs to ten million, the other stays flat"}}}
weights = [1.5 * draws.normal(size=(64, 64)) / 8.0 for _ in range(40)]  # 8 is the root of 64
ones, zeros = np.ones(64), np.zeros(64)
plain = normed = draws.normal(size=(16, 64))
sizes = []
for weight in weights:
    plain = plain @ weight
    normed = fnb.ops.layernorm(normed @ weight, ones, zeros).numpy()
    sizes.append((plain.std(), normed.std()))
sizes = np.array(sizes)

_, axes = plt.subplots(figsize=(6, 3.5))
axes.semilogy(sizes[:, 0], label="as it comes")
axes.semilogy(sizes[:, 1], "--", label="normalised after each layer")
axes.set(xlabel="layer", ylabel="spread of the numbers")
axes.legend()
plt.show()

assert sizes[-1, 0] > 1e5
assert np.allclose(sizes[:, 1], 1, atol=1e-3)

# %% [markdown]
# ## The variance takes a second look
#
# There is a formula that needs one pass over the row, $v = \frac{1}{n} \sum_k x_k^2 - \mu^2$. On paper it is the same.
# But if the mean is far from 0, it subtracts two large numbers that are nearly equal, and the digits that make the
# difference have been rounded away before. So forgenb goes over the row twice, and squares only distances.

# %%
far = (1000.0 + draws.uniform(-0.1, 0.1, 256)).astype("float32")
exact = far.astype("float64").var()
one_pass = float(np.mean(far * far) - np.mean(far) ** 2)
two_passes = float(np.mean((far - np.mean(far)) ** 2))
print(f"exact {exact:.6f}, one pass {one_pass:.6f}, two passes {two_passes:.6f}")
assert abs(one_pass / exact - 1) > 0.5
assert abs(two_passes / exact - 1) < 1e-3

# %% [markdown]
# Two functions look at a row, and the kernel calls them. `lanes`, `accumulate`, `lane_sum` and `fma` are those of
# chapter 4, and `rstd` is our $r$.
#
# ```{literalinclude} /../forgenb/ops/layernorm.py
# :pyobject: mean_of
# ```
#
# ```{literalinclude} /../forgenb/ops/layernorm.py
# :pyobject: variance_of
# ```
#
# ```{literalinclude} /../forgenb/ops/layernorm.py
# :pyobject: layernorm_kernel
# ```
#
# ## Backward, step by step
#
# A gradient $\bar y_j$ arrives. We walk back through the steps, and where a number was used several times, we add. The
# code calls $\bar x$ `dx`, $\bar v$ `dv` and so on, and what arrives `dout`.
#
# **Gain and shift.** $\gamma_j$ and $\beta_j$ are used once in every row $i$, so they get sums over the rows, as in
# chapter 3. What goes on to $\hat x_j$ gets the name $g_j$:
#
# $$ \bar\gamma_j = \sum_i \bar y_{ij} \, \hat x_{ij}, \qquad \bar\beta_j = \sum_i \bar y_{ij}, \qquad
#    g_j = \gamma_j \, \bar y_j. $$
#
# From here on one row is enough, since no row sees another.
#
# **The product** $\hat x_j = c_j \, r$. The distance $c_j$ gets $g_j \, r$. It will get more, so we keep that in mind.
# The number $r$ is used in all columns:
#
# $$ \bar r = \sum_k g_k \, c_k. $$
#
# **The root.** $r = (v + \epsilon)^{-1/2}$ has the slope $-\frac{1}{2} (v + \epsilon)^{-3/2} = -\frac{1}{2} r^3$, so
#
# $$ \bar v = -\frac{r^3}{2} \sum_k g_k \, c_k. $$
#
# **The variance.** $v$ is a mean of squares, and its slope for $c_j$ is $\frac{2}{n} c_j$. Together with what we kept
# in mind, and with $c_j \, r = \hat x_j$ put in twice:
#
# $$ \begin{aligned} \bar c_j &= g_j \, r + \frac{2}{n} \, c_j \, \bar v
#    = g_j \, r - \frac{r^3}{n} \, c_j \sum_k g_k \, c_k \\
#    &= r \Bigl( g_j - \hat x_j \, \frac{1}{n} \sum_k g_k \, \hat x_k \Bigr). \end{aligned} $$
#
# **The mean.** $c_j = x_j - \mu$ hands $\bar c_j$ to $x_j$, and $-\bar c_j$ to $\mu$. So $\bar\mu = -\sum_k \bar c_k$,
# and a mean gives each of its numbers one $n$-th of that:
#
# $$ \bar x_j = \bar c_j - \frac{1}{n} \sum_k \bar c_k. $$
#
# Now the mean of all $\bar c_k$. The second part of it has a factor $\sum_k \hat x_k$, which is 0. That leaves
# $r \cdot \frac{1}{n} \sum_k g_k$, and the whole rule is
#
# $$ \bar x_j = r \Bigl( g_j - \frac{1}{n} \sum_k g_k - \hat x_j \, \frac{1}{n} \sum_k g_k \, \hat x_k \Bigr). $$
#
# Here are the five steps in NumPy, then the short rule, and what forgenb says:

# %%
dout = draws.normal(size=values.shape)
g = gain * dout
dr = (g * c).sum(axis=1, keepdims=True)
dv = -0.5 * r**3 * dr
dc = g * r + 2 / 6 * c * dv
dx = dc - dc.mean(axis=1, keepdims=True)

short = r * (g - g.mean(axis=1, keepdims=True) - x_hat * (g * x_hat).mean(axis=1, keepdims=True))
assert np.allclose(short, dx)

y.backward(fnb.tensor(dout))
assert np.allclose(x.grad.numpy(), dx)
assert np.allclose(gamma.grad.numpy(), (dout * x_hat).sum(axis=0))
assert np.allclose(beta.grad.numpy(), dout.sum(axis=0))

# %% [markdown]
# And differences, the judge who knows no rules: `fnb.gradcheck` tries all three inputs.

# %%
assert fnb.gradcheck(fnb.ops.layernorm, values, gain, shift)

# %% [markdown]
# ## Reading the rule
#
# It takes two things away from $g$. Adding the same number to all $x_j$ changes nothing, so the gradient must not pull
# that way: its mean is taken out. Stretching the distances changes nothing either, but for the small $\epsilon$: the
# part along $\hat x$ is taken out. What is left points along neither.

# %%
assert np.allclose(dx.sum(axis=1), 0)
assert np.abs((dx * x_hat).sum(axis=1)).max() < 1e-5
moved = fnb.ops.layernorm(values * 10.0 + 3.0, gain, shift).numpy()
assert np.allclose(moved, y.numpy(), atol=1e-4)

# %% [markdown]
# ## Three sums in one pass
#
# The kernel needs three sums over the row, besides the mean: of the squared distances, of $g$, and of $g$ times the
# distance. It gathers them in one pass as `v`, `a` and `b`. A last pass writes $\bar x$, where `d` is the distance
# $c_j$; $\hat x_j \hat x_k = c_j c_k r^2$ puts the square of `rstd` into `b`. Nothing was saved but `x` and `gamma`:
# mean and variance are made again. The row has to be read anyway, and waits in a cache for the second look.
#
# ```{literalinclude} /../forgenb/ops/layernorm.py
# :pyobject: layernorm_grad_kernel
# ```
#
# $\bar\gamma$ and $\bar\beta$ are sums over rows, and rows are what threads share out. If all threads added to the same
# numbers, they would get in each other's way, as chapter 10 shows. So a block of 32 rows has sums of its own, and these
# are added up at the end: one `row` of this kernel is such a block. The blocks are the same for any number of threads,
# and so are the bits of the result.

# %%
many = draws.normal(size=(500, 64))
threads, found = fnb.settings.threads, set()
for number in (1, 2, 3):
    fnb.settings.threads = number
    gamma = fnb.tensor(np.ones(64), requires_grad=True)
    fnb.ops.layernorm(many, gamma, zeros).backward(fnb.tensor(many))
    found.add(gamma.grad.numpy().tobytes())
fnb.settings.threads = threads
assert len(found) == 1

# %% [markdown]
# ## Exercises
#
# Write the functions, and run the cell again: `fnb.course.check` tries them on inputs that you do not see.
#
# **09-1.** `normalize(x, eps)`: $\hat x$ along the last axis of the NumPy array `x`, for rows with any mean, and for
# rows of equal numbers.
#
# **09-2.** `variance_rule(dout, x)`: the backward rule of the variance along the last axis of `x`, with tensors. `x`
# has shape `(rows, n)` and `dout` shape `(rows,)`.
#
# **09-3.** `rms_norm_rule(dout, x, gamma)`: many models leave the mean where it is and divide by the root of the mean
# *square*: $r = 1 / \sqrt{\frac{1}{n} \sum_k x_k^2 + \epsilon}$ and $y_j = \gamma_j \, x_j \, r$. Derive the rule as
# above, and return both gradients; $\epsilon$ is $10^{-5}$ and `x` has two axes.


# %%
def normalize(x, eps):
    raise NotImplementedError


def variance_rule(dout, x):
    raise NotImplementedError


def rms_norm_rule(dout, x, gamma):
    raise NotImplementedError


for number, answer in (("09-1", normalize), ("09-2", variance_rule), ("09-3", rms_norm_rule)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 10 turns words into rows of numbers, and adds up gradients where many threads want the same row.
