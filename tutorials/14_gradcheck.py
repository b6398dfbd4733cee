# %% [markdown]
# # 14. Checking gradients, and finding the mistake
#
# A wrong backward rule seldom crashes. The loss still falls, only more slowly, or not as far, and it looks like a bad
# learning rate. Chapter 1 has the means to find out: differences need no rule, so they can judge one. This chapter
# makes a check of them that can be trusted, and then lets the numbers say *which* mistake it is.
#
# ## A check of our own
#
# Let $y = f(x)$ be arrays. A backward rule takes the gradient of $y$, the *incoming gradient* or **cotangent**, and
# returns that of $x$. To have one number to differentiate, weigh the outputs by fixed numbers $w_k$ and add them up:
#
# $$ s(x) = \sum_k w_k \, y_k(x), \qquad \frac{\partial s}{\partial y_k} = w_k. $$
#
# So the rule, given the cotangent $w$, must return the slopes of $s$. That is the whole check.

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb


def slopes(f, x, w, h=1e-5):
    found = np.empty_like(x)
    for i in np.ndindex(x.shape):
        move = np.zeros_like(x)
        move[i] = h
        found[i] = np.sum(w * (f(x + move) - f(x - move))) / (2 * h)
    return found


def off_by(f, rule, x, w):
    return np.abs(rule(w, x) - slopes(f, x, w)).max()


draws = np.random.default_rng(0)
x = draws.normal(size=(3, 3))
ones, weights = np.ones((3, 3)), draws.normal(size=(3, 3))
assert off_by(np.sin, lambda dout, x: dout * np.cos(x), x, weights) < 1e-8

# %% [markdown]
# ## What a check of ones misses
#
# It is tempting to take $w = 1$ and check the plain sum of the outputs. Here are three wrong rules. The first does not
# turn a transposed gradient back. The second says that softmax has no gradient at all. The third forgets `dout`
# altogether.


# %%
def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


wrong = {
    "transpose": (np.transpose, lambda dout, x: dout),
    "softmax": (softmax, lambda dout, x: 0 * dout),
    "sine": (np.sin, lambda dout, x: np.cos(x)),
}
for name, (f, rule) in wrong.items():
    print(f"{name:9}  ones: {off_by(f, rule, x, ones):.0e}   random: {off_by(f, rule, x, weights):.0e}")
    assert off_by(f, rule, x, ones) < 1e-8
    assert off_by(f, rule, x, weights) > 0.1

# %% [markdown]
# With ones all three pass. A transposed array of ones is ones, the outputs of softmax add up to 1 whatever its inputs,
# and a factor 1 is not missed. **Random cotangents** find all of them, at the same price. `fnb.gradcheck` draws them
# between a half and one and a half, with either sign: a weight near 0 would hide an error in its output.
#
# ## Steps that fit
#
# Our step of $10^{-5}$ is good near 1. Where the input is $10^{-6}$ it jumps out of the domain of the logarithm, and
# where it is $10^{12}$ it is lost in rounding. So `fnb.gradcheck` begins with a step that suits the values, shrinks it
# where the function bends too much, and lets it grow where rounding disturbs. `fnb.ops.log` is the logarithm.

# %%
tiny, huge = np.array([1e-6, 3e-6]), np.array([1e12, 3e12])
with np.errstate(invalid="ignore"):
    assert np.isnan(slopes(np.log, tiny, np.ones(2))).any()
assert (slopes(lambda x: x * 1.0, huge, np.ones(2)) != 1).all()
assert fnb.gradcheck(fnb.ops.log, tiny)
assert fnb.gradcheck(lambda x: x * x, huge)

# %% [markdown]
# It also gets more out of its steps. Chapter 1 has the error of a central difference, call it $D(h)$, as a series in
# $h$. Write $f'$ for the slope, and the series for $h$ and for half of it:
#
# $$ D(h) = f' + a h^2 + b h^4 + \dots, \qquad D(\tfrac h2) = f' + \tfrac14 a h^2 + \tfrac1{16} b h^4 + \dots $$
#
# Four times the second minus the first has no $h^2$ left, and three times what we want:
#
# $$ \frac{4 \, D(h/2) - D(h)}{3} = f' - \tfrac14 b h^4 + \dots $$
#
# This is **extrapolation**. A step ten times smaller now has an error ten thousand times smaller, so that a large step,
# which rounding hardly touches, is good enough.


# %%
def central(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


def extrapolated(f, x, h):
    return (4 * central(f, x, h / 2) - central(f, x, h)) / 3


exact = np.cos(1.0)
assert 99 < (central(np.sin, 1.0, 0.1) - exact) / (central(np.sin, 1.0, 0.01) - exact) < 101
assert 9_900 < (extrapolated(np.sin, 1.0, 0.1) - exact) / (extrapolated(np.sin, 1.0, 0.01) - exact) < 10_100

# %% {"mystnb": {"image": {"alt": "Error against step: the extrapolated one is steeper, and lowest at a larger step"}}}
steps = np.logspace(-8, 0, 100)
_, axes = plt.subplots(figsize=(6, 3.5))
for slope, style in ((central, "-"), (extrapolated, "--")):
    axes.loglog(steps, np.abs(slope(np.sin, 1.0, steps) - exact) + 1e-17, style, label=slope.__name__)
axes.set(xlabel="step h", ylabel="error of the slope")
axes.legend()
plt.show()

assert abs(extrapolated(np.sin, 1.0, 2e-3) - exact) < 1e-12 < 1e-7 < abs(central(np.sin, 1.0, 2e-3) - exact)

# %% [markdown]
# ## Kinks
#
# Chapter 8 has met the kink of `fnb.ops.relu` at 0, where a central difference answers a half. To call a rule wrong
# there would be unjust, and to call it right would be luck. So the check looks at both sides, and where they differ it
# raises `fnb.errors.ArgumentError`: try another point. Beside a kink it makes its steps small enough.

# %%
assert central(lambda x: max(x, 0.0), 0.0, 1e-5) == 0.5
try:
    fnb.gradcheck(fnb.ops.relu, np.array([1.0, 0.0, -1.0]))
except fnb.errors.ArgumentError as error:
    told = str(error)
print(textwrap.fill(told, 88))
assert "not differentiable here: at entry (1,)" in told
assert fnb.gradcheck(fnb.ops.relu, np.array([1.0, 1e-6, -1.0]))

# %% [markdown]
# ## From "wrong" to "why"
#
# A rule that fails leaves two arrays, its own gradient and that of the differences. How they differ is a clue. If one
# is twice the other, a factor is missing. If one is the other with its axes exchanged, a transpose is missing.
# `fnb.gradcheck` goes through a list of such mistakes. For each it works out what the numbers *would* be if just this
# mistake had been made, and names it only if every number agrees.
#
# Here are ten planted mistakes. `fnb.custom_op` makes an op of a function and a rule, and the check raises
# `fnb.errors.GradcheckError`, whose attribute `mistake` is the name. `fnb.ops.tanh` is that of chapter 8, and
# `fnb.ops.broadcast_to` repeats an array to a shape.

# %%
a, b = draws.uniform(0.5, 2.0, (2, 3)), draws.uniform(0.5, 2.0, (2, 3))
signed = a * [[1, -1, 1], [-1, 1, -1]]
square = draws.normal(size=(3, 3))
planted = [
    ("zero", lambda x: x * x, lambda dout, x: 0.0 * x, [a]),
    ("sign", lambda x: 1.0 / x, lambda dout, x: dout / (x * x), [a]),
    ("factor", lambda x: x * x, lambda dout, x: dout * x, [a]),
    ("sum-for-mean", lambda x: x.mean(0), lambda dout, x: fnb.ops.broadcast_to(dout, x.shape), [a]),
    ("broadcast", lambda x, y: x + y, lambda dout, x, y: (dout, dout), [a, b[0]]),
    ("operands-swapped", lambda x, y: x * y, lambda dout, x, y: (dout * x, dout * y), [a, b]),
    ("transpose", lambda x: x.T, lambda dout, x: dout, [square]),
    ("ignores-incoming", lambda x: x * x * x, lambda dout, x: 3.0 * x * x, [a]),
    ("mask-inverted", fnb.ops.relu, lambda dout, x: dout * (x.numpy() < 0), [signed]),
    ("input-for-output", fnb.ops.tanh, lambda dout, x: dout * (1.0 - x * x), [a]),
]


def mistake_of(f, rule, *inputs, **settings):
    try:
        fnb.gradcheck(fnb.custom_op(f, rule), *inputs, **settings)
    except fnb.errors.GradcheckError as error:
        print(textwrap.fill(f"{error.mistake}:{str(error).partition('The usual mistake:')[2]}", 88))
        return error.mistake
    return "right"


for name, f, rule, inputs in planted:
    assert mistake_of(f, rule, *inputs) == name

# %% [markdown]
# [The page on the check](../gradcheck.md) lists all names, and says how often the right one was found among rules that
# were written wrong by hand. A rule without a name is rejected just the same. Two mistakes at once often have none, or
# one that fits both together: mend what is named, and check again.
#
# ## The gradient of a gradient
#
# A gradient can be differentiated again, to see how a slope changes, or to make a loss of it. For this the *rule* must
# be made of ops that the tape sees. The rule below has the right numbers. But `detach` gives the numbers of `x` without
# their place on the tape, and so the gradient does not know that it depends on `x`. With `order=2` the check compares
# the gradient of the gradient with differences of the gradient.


# %%
def cut(dout, x):
    return dout * 2.0 * x.detach()


assert mistake_of(lambda x: x * x, cut, a) == "right"
assert mistake_of(lambda x: x * x, cut, a, order=2) == "zero"
assert mistake_of(lambda x: x * x, lambda dout, x: dout * 2.0 * x, a, order=2) == "right"

# %% [markdown]
# ## What it cannot see
#
# A check compares the rule with the function *as written, at these inputs*. If the function is wrong and the rule fits
# it, they agree, as for a mean of six numbers below that divides by five. And a branch that no input takes is not
# checked: the rule of `fnb.ops.relu` below is wrong for negative numbers, and `a` has none. Choose inputs that go
# everywhere, with shapes whose lengths differ, since a square matrix forgives much.


# %%
def handed_on(dout, x):
    return dout * 1.0


assert mistake_of(lambda x: x.sum() / 5.0, lambda dout, x: dout * np.full((2, 3), 0.2), a) == "right"
assert mistake_of(fnb.ops.relu, handed_on, a) == "right"
assert mistake_of(fnb.ops.relu, handed_on, signed) == "mask-missing"

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 14`: a judge tries them on hidden inputs.
#
# **14-1.** `better_slope(f, x, h)`: the *one-sided* difference is $E(h) = (f(x + h) - f(x)) / h$, which is
# $f' + a h + b h^2 + \dots$ Extrapolate it from $E(h)$ and $E(h/2)$, so that no $a h$ is left. `f` takes a number.
#
# **14-2.** `disagreement(f, rule, x, w, h)`: the largest distance between an entry of `rule(w, x)` and the central
# difference for it, of the outputs weighed by `w`. All NumPy; `f` may return another shape than that of `x`.
# Leave `x` as it was.
#
# **14-3.** `rms_rule(dout, x)`: find the mistakes. For $y = x / r$ with $r = \sqrt{\frac1n \sum_j x_j^2}$ along the
# last axis somebody wrote the rule `dout / r + x * (dout * x).sum(-1, keepdims=True) / r**3`. It has two. Write the
# right one, with tensors.


# %%
def better_slope(f, x, h):
    raise NotImplementedError


def disagreement(f, rule, x, w, h):
    raise NotImplementedError


def rms_rule(dout, x):
    raise NotImplementedError


for number, answer in (("14-1", better_slope), ("14-2", disagreement), ("14-3", rms_rule)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Gradients can now be trusted. Chapter 15 makes them fast: it records a whole step of training, and plans it once.
