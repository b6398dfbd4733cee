# %% [markdown]
# # 7. From scores to a loss: softmax and cross entropy
#
# A network that chooses among classes ends in a row of numbers, one score for each class, called **logits**. This
# chapter goes from there to the loss. The formulas are short, and two of them are traps: they are right on paper and
# break in floating point. What saves them is one idea: *do not leave the logarithm*.
#
# ## Reductions
#
# Everything below adds up rows, so first the rules of that. In $y_i = \sum_j x_{ij}$ each number is used once and with
# slope 1, so each gets the gradient of its sum: $\bar x_{ij} = \bar y_i$. It is chapter 3 turned round: there forward
# repeats and backward sums, here forward sums and backward repeats. A mean of $n$ numbers divides by $n$, forward and
# backward. A maximum has slope 1 at the element that it took and 0 elsewhere; where several are equal, forgenb gives
# each an equal share.

# %%
import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

rows = np.array([[1.0, 5.0, 5.0], [4.0, 0.0, 2.0]])
dout = fnb.tensor(np.array([10.0, 1.0]))
gradients = {}
for name in ("sum", "mean", "max"):
    x = fnb.tensor(rows, requires_grad=True)
    getattr(x, name)(axis=1).backward(dout)
    gradients[name] = x.grad.numpy()
    print(f"{name}:\n{gradients[name]}")
assert gradients["sum"].tolist() == [[10, 10, 10], [1, 1, 1]]
assert np.allclose(gradients["mean"], gradients["sum"] / 3)
assert gradients["max"].tolist() == [[0, 5, 5], [1, 0, 0]]

# %% [markdown]
# Here is the kernel of a sum along rows. It adds up one block of a row, 1024 numbers at most, and the sums of the
# blocks are then added up in the same way.
#
# ```{literalinclude} /../forgenb/ops/reduction.py
# :pyobject: sum_row_kernel
# ```
#
# The blocks are for two reasons. They do not depend on how many threads there are, so neither do the bits of the
# result. And they are kinder to small numbers: one that is added to a large running total loses its last digits, over
# and over. Here are a quarter of a million times 0.1 in `float32`, in one running total and in blocks.

# %%
many = np.full(2**18, 0.1, "float32")
exact = many.astype("float64").sum()
running = abs(float(np.cumsum(many)[-1]) - exact)
blocks = abs(fnb.tensor(many).sum().item() - exact)
print(f"of {exact:.1f}, a running total is off by {running:.4f}, blocks by {blocks:.4f}")
assert blocks < running / 100

# %% [markdown]
# ## Softmax
#
# We want probabilities: positive, with the sum 1, and larger for a larger score. The exponential makes everything
# positive, and dividing by the sum does the rest.
#
# $$ p_j = \frac{e^{x_j}}{\sum_k e^{x_k}} $$
#
# This is **softmax**, and the first trap. In `float32` already $e^{89}$ is infinite, as `fnb.ops.exp` will tell, and
# infinity divided by infinity is not a number. But add the same $c$ to all scores, and nothing changes:
#
# $$ \frac{e^{x_j + c}}{\sum_k e^{x_k + c}} = \frac{e^c \, e^{x_j}}{e^c \sum_k e^{x_k}} = p_j. $$
#
# So take $c = -m$, where $m$ is the largest score. Now the largest exponent is 0. Nothing overflows, and the sum is at
# least 1, so nothing is divided by 0.

# %%
scores = fnb.tensor([1000.0, 1001.0, 999.0])
powers = fnb.ops.exp(scores)
as_it_stands = (powers / powers.sum()).numpy()
shifted = fnb.ops.softmax(scores).numpy()
print(as_it_stands, shifted)
assert np.isinf(fnb.ops.exp(fnb.tensor(89.0)).item())
assert np.isnan(as_it_stands).all()
assert np.allclose(shifted, fnb.ops.softmax(scores - 1000.0).numpy())
assert abs(shifted.sum() - 1) < 1e-6

# %% [markdown]
# The kernel works on a row, as in chapter 4: largest score, exponentials and their sum, division. `lane_max` does for a
# maximum what `lane_sum` does for a sum; at `lane_barrier` the lanes wait until each has put what it has. `queries`,
# `off` and `stretch` hide a part of the row, which attention will need in chapter 12. Without it `seen` and `wide` are
# both `n`.
#
# ```{literalinclude} /../forgenb/ops/softmax.py
# :pyobject: softmax_kernel
# ```
#
# ## Its backward rule
#
# Every output depends on every score, since every score is in the sum. Call that $S = \sum_k e^{x_k}$; its slope is
# $\partial S / \partial x_k = e^{x_k}$. With the rule of the quotient, where $\delta_{jk}$ is 1 if $j = k$ and 0
# otherwise:
#
# $$ \frac{\partial p_j}{\partial x_k}
#    = \frac{\delta_{jk} \, e^{x_j} S - e^{x_j} e^{x_k}}{S^2}
#    = \frac{e^{x_j}}{S} \left( \delta_{jk} - \frac{e^{x_k}}{S} \right)
#    = p_j \, (\delta_{jk} - p_k). $$
#
# The gradient of a score is the sum over all its uses, that is, over all $j$:
#
# $$ \bar x_k = \sum_j \bar p_j \, p_j \, (\delta_{jk} - p_k) = \bar p_k \, p_k - p_k \sum_j \bar p_j \, p_j
#    = p_k \Bigl( \bar p_k - \sum_j p_j \, \bar p_j \Bigr). $$
#
# The matrix of all these slopes need not be made, one sum a row will do. The sum is the mean of the gradients, weighted
# by the probabilities: a score is pushed by how far its own gradient is from that mean. And the rule needs $p$ but not
# $x$, so the output, called `y` in the kernel, is all that is saved.
#
# ```{literalinclude} /../forgenb/ops/softmax.py
# :pyobject: softmax_grad_kernel
# ```

# %%
draws = np.random.default_rng(0)
x = fnb.tensor(draws.normal(size=4), requires_grad=True)
p = fnb.ops.softmax(x)
dp = draws.normal(size=4)
p.backward(fnb.tensor(dp))
matrix = np.diag(p.numpy()) - np.outer(p.numpy(), p.numpy())  # all slopes of all outputs
assert np.allclose(x.grad.numpy(), matrix @ dp)
assert abs(x.grad.numpy().sum()) < 1e-12
assert fnb.gradcheck(fnb.ops.softmax, draws.normal(size=(2, 5)))

# %% [markdown]
# That the gradients of a row add up to 0 is no surprise: shifting all scores changes nothing. And if all $\bar p_j$ are
# equal, the gradient vanishes, since the probabilities always add up to 1. A check that starts backward from ones would
# take *any* rule with this property for right, even one that returns nothing but zeros. That is why `fnb.gradcheck`
# starts from random numbers, as chapter 3 said.

# %%
x = fnb.tensor(draws.normal(size=4), requires_grad=True)
fnb.ops.softmax(x).sum().backward()
assert np.abs(x.grad.numpy()).max() < 1e-14

# %% [markdown]
# ## Cross entropy
#
# Let $y$ now be the number of the right class. The network gave it the probability $p_y$, and the loss is
# $L = -\log p_y$, the **cross entropy**: 0 for certainty, $\log n$ for knowing nothing of $n$ classes, and without
# limit for being sure of something wrong. The loss of several rows is the mean of theirs. Put softmax into it:
#
# $$ L = -\log \frac{e^{x_y}}{\sum_k e^{x_k}} = \log \sum_k e^{x_k} - x_y. $$
#
# The exponential of $x_y$ and the logarithm have cancelled, and no probability is left. What remains is the
# **log-sum-exp** of the row. It is made safe with the same shift, which comes out of the logarithm as a sum:
#
# $$ \log \sum_k e^{x_k} = m + \log \sum_k e^{x_k - m}. $$
#
# The kernels share a function for it, which returns the two parts of this sum:
#
# ```{literalinclude} /../forgenb/ops/log_softmax.py
# :pyobject: log_sum_of
# ```
#
# Its slope is an old friend: $\frac{\partial}{\partial x_k} \log S = \frac{e^{x_k}}{S} = p_k$. So the loss has the
# shortest rule of this course, *what the network said minus what is right*:
#
# $$ \bar x_k = (p_k - \delta_{ky}) \, \bar L. $$
#
# That is for one row, where $\bar L$ is what the row's own loss gets. A mean over rows gives each of them its share,
# which is the kernel's `scale`.
#
# There is one kernel for each direction. Besides the logits, one number a row is saved, its log-sum-exp: `exp(x - lse)`
# makes the probabilities again. As in chapter 5, what leaves no steps in between to memory is called *fused*. And
# $x_y - m$ is taken first, since $m$ may be large and the difference small.
#
# ```{literalinclude} /../forgenb/ops/cross_entropy.py
# :pyobject: cross_entropy_kernel
# ```
#
# ```{literalinclude} /../forgenb/ops/cross_entropy.py
# :pyobject: cross_entropy_grad_kernel
# ```

# %%
values, right = draws.normal(size=(1, 5)), np.array([3])
x = fnb.tensor(values, requires_grad=True)
loss = fnb.ops.cross_entropy(x, right)
loss.backward()
probabilities = np.exp(values) / np.exp(values).sum()
assert np.isclose(loss.item(), -np.log(probabilities[0, 3]))
assert np.allclose(x.grad.numpy(), probabilities - np.eye(5)[right])
assert np.isclose(fnb.ops.cross_entropy(np.zeros((1, 5)), right).item(), np.log(5))
three = draws.normal(size=(3, 4))
assert fnb.gradcheck(lambda x: fnb.ops.cross_entropy(x, [0, 2, 2]), three)

# %% [markdown]
# ## Why not through probabilities
#
# The second trap is to compute $p$ first, and then the logarithm of the right one. On paper it is the same. But a score
# that is far below the largest has a probability that `float32` rounds to 0. Then the loss is infinite, and its
# gradient, infinity times 0, is not a number. The gradient of a weight is a sum over rows, so one such row ruins every
# weight of the network. And it is the row that there was most to learn from.
#
# Watch both ways as the right score falls behind the other one. `fnb.ops.logsumexp` has the shift in it; here it makes
# a loss for each row. `fnb.ops.log` of `fnb.ops.softmax` is the way through probabilities.

# %% {"mystnb": {"image": {"alt": "Two lines rise together; the one through probabilities ends at a gap of about 100"}}}
gaps = np.linspace(0, 150, 151).astype("float32")
logits = np.stack([np.zeros_like(gaps), -gaps], axis=1)  # class 1 is right, and behind
found = {}
for name, losses in (
    ("from logits", lambda x: fnb.ops.logsumexp(x, 1) - x[:, 1]),
    ("through probabilities", lambda x: -fnb.ops.log(fnb.ops.softmax(x)[:, 1])),
):
    x = fnb.tensor(logits, requires_grad=True)
    each = losses(x)
    each.sum().backward()
    found[name] = each.numpy(), x.grad.numpy()[:, 1]

_, axes = plt.subplots(figsize=(6, 3.5))
for (name, (loss, _)), style in zip(found.items(), ("-", "--"), strict=True):
    axes.plot(gaps, loss, style, linewidth=3, label=name)
axes.set(xlabel="how far the right score is behind", ylabel="loss")
axes.legend()
plt.show()

loss, slope = found["from logits"]
assert np.allclose(loss, np.logaddexp(0, gaps.astype("float64")), rtol=1e-6)
assert slope[-1] == -1.0  # full strength, upwards
loss, slope = found["through probabilities"]
assert np.isinf(loss[gaps > 104]).all()
assert np.isnan(slope[gaps > 104]).all()

# %% [markdown]
# `fnb.ops.cross_entropy` therefore takes logits, and forgenb has no loss that takes probabilities.
#
# ## Exercises
#
# **07-1.** `log_sum_exp(x)`: the log-sum-exp of each row of the NumPy array `x`, along its last axis, for scores of any
# size.
#
# **07-2.** `log_softmax_rule(dout, x)`: the backward rule of $y_j = x_j - \log \sum_k e^{x_k}$ along the last axis of
# `x`, with tensors. Derive it as above: every output depends on every score.
#
# **07-3.** `cross_entropy_rule(dout, x, targets)`: the backward rule of `fnb.ops.cross_entropy`, for logits `x` of
# shape `(rows, classes)` and a NumPy array of right classes. `dout` is a tensor of one number.


# %%
def log_sum_exp(x):
    raise NotImplementedError


def log_softmax_rule(dout, x):
    raise NotImplementedError


def cross_entropy_rule(dout, x, targets):
    raise NotImplementedError


for number, answer in (("07-1", log_sum_exp), ("07-2", log_softmax_rule), ("07-3", cross_entropy_rule)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 8 bends: what stands between two layers, and why the smooth GELU took the place of the corner at 0.
