# %% [markdown]
# # 13. Optimisers, from SGD to AdamW
#
# A gradient says which way is downhill from here. It does not say how far to go, and it forgets what it said a step
# ago. What makes steps of gradients is called an **optimiser**. This chapter builds the usual ones, each in a few lines
# of NumPy out of the one before, and holds each against forgenb's.
#
# ## A narrow valley
#
# The smallest loss that makes trouble has two parameters and bends 25 times as much along one as along the other:
#
# $$ L = \tfrac12 (x_0^2 + 25 \, x_1^2), \qquad g = (x_0, \; 25 \, x_1). $$
#
# Its lowest point is 0. We write $p$ for the parameters, $g$ for their gradient, and $\eta$ for the learning rate `lr`.
# A rule of ours takes `p`, `g` and a dictionary that it may use as its memory, and returns the new `p`. `walk` takes
# steps and keeps the path.

# %%
import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

BEND = np.array([1.0, 25.0])
START = np.array([-4.0, 1.0])


def walk(rule, steps=50, scale=1.0, **settings):
    p, memory, path = START, {}, [START]
    for _ in range(steps):
        p = rule(p, scale * BEND * p, memory, **settings)
        path.append(p)
    return np.array(path)


# %% [markdown]
# forgenb's optimisers take *parameters*, tensors that are there to be trained: `fnb.Parameter` makes one of a tensor.
# (`decay=True` is for the last of our optimisers.) `step()` reads `grad` and overwrites the parameter. This is the same
# walk, with a gradient that comes from `backward`.


# %%
def library_walk(make, steps=50):
    p, path = fnb.Parameter(fnb.tensor(START), decay=True), [START]
    optimizer = make([p])
    for _ in range(steps):
        optimizer.zero_grad()
        (0.5 * BEND * p * p).sum().backward()
        optimizer.step()
        path.append(p.numpy().copy())
    return np.array(path)


# %% [markdown]
# ## SGD
#
# **Gradient descent** is chapter 1's: $p \leftarrow p - \eta g$, where the arrow says that the new $p$ is what stands
# on the right. It is called *stochastic* gradient descent, **SGD** for short, since in training each gradient is that
# of a few examples drawn by chance. In forgenb it is `fnb.optim.SGD`.


# %%
def sgd(p, g, memory, lr):
    return p - lr * g


descent = walk(sgd, lr=0.07)
assert np.allclose(descent, library_walk(lambda p: fnb.optim.SGD(p, lr=0.07)))

# %% [markdown]
# Here a step multiplies $x_0$ by $1 - \eta$ and $x_1$ by $1 - 25\eta$. If the second is below $-1$, each step lands
# higher on the other side: the learning rate must stay below $2 / 25 = 0.08$. The steep direction sets that limit, and
# the flat one pays: at 0.07 it loses only 7% of its way in a step.

# %%
assert np.allclose(descent[-1], START * [0.93**50, (-0.75) ** 50])
assert abs(walk(sgd, lr=0.079)[-1, 1]) < 1 < abs(walk(sgd, lr=0.081)[-1, 1])

# %% [markdown]
# ## Momentum
#
# Keep a running sum of gradients, $b$, which starts at 0, and forget a little of it each time. Across the valley
# gradients change their sign and cancel; along it they agree and add up.
#
# $$ b \leftarrow \mu b + g, \qquad p \leftarrow p - \eta b $$
#
# The number $\mu$ is the **momentum**. If $g$ stays the same, $b$ becomes
# $g (1 + \mu + \mu^2 + \dots) = g / (1 - \mu)$: with $\mu = 0.9$ the steps grow tenfold.


# %%
def momentum(p, g, memory, lr, mu):
    memory["b"] = mu * memory.get("b", 0.0) + g
    return p - lr * memory["b"]


heavy = walk(momentum, lr=0.02, mu=0.8)
assert np.allclose(heavy, library_walk(lambda p: fnb.optim.SGD(p, lr=0.02, momentum=0.8)))
memory = {}
for _ in range(200):
    momentum(0.0, 3.0, memory, lr=0.02, mu=0.9)
assert np.isclose(memory["b"], 3.0 / (1 - 0.9))

# %% [markdown]
# ## Nesterov
#
# A heavy ball overshoots. But part of the next step is known before the gradient is: $-\eta \mu b$. Nesterov's idea is
# to go there first, to $q = p - \eta \mu b$, and take the gradient *there*. Networks have their gradient where their
# parameters are, so let the parameters be $q$. With $b' = \mu b + g$ for the new sum, the next $q$ is
#
# $$ q' = (p - \eta b') - \eta \mu b' = q + \eta \mu b - \eta (\mu b + g) - \eta \mu b' = q - \eta \, (g + \mu b'). $$


# %%
def nesterov(p, g, memory, lr, mu):
    memory["b"] = mu * memory.get("b", 0.0) + g
    return p - lr * (g + mu * memory["b"])


ahead = walk(nesterov, lr=0.02, mu=0.8)
assert np.allclose(ahead, library_walk(lambda p: fnb.optim.SGD(p, lr=0.02, momentum=0.8, nesterov=True)))

p, b = START, 0.0  # the idea as it was said: look ahead, take the gradient there
for q in ahead:
    assert np.allclose(q, p - 0.02 * 0.8 * b)
    b = 0.8 * b + BEND * (p - 0.02 * 0.8 * b)
    p = p - 0.02 * b

# %% [markdown]
# forgenb does all of it in one pass over the memory. `factor` is there for *clipping*, which shortens a gradient that
# is too long; a negative one, for gradients that are not finite, leaves everything as it was. `l2` is weight decay,
# which comes at the end of this chapter.
#
# ```{literalinclude} /../forgenb/optim/sgd.py
# :pyobject: nesterov_kernel
# ```
#
# ## RMSprop
#
# One rate for all is what made the valley hard. So give each parameter its own: divide its gradient by the size that
# its gradients usually have. That size is the root of a *running mean* of their squares, in which older ones count less
# and less. `fnb.optim.RMSprop` does this.
#
# $$ v \leftarrow \alpha v + (1 - \alpha) g^2, \qquad p \leftarrow p - \eta \frac{g}{\sqrt{v} + \epsilon} $$
#
# $v$ starts at 0. The little $\epsilon$, here $10^{-8}$, keeps a parameter with gradient 0 from dividing by 0.


# %%
def rmsprop(p, g, memory, lr, alpha, eps=1e-8):
    memory["v"] = alpha * memory.get("v", 0.0) + (1 - alpha) * g * g
    return p - lr * g / (np.sqrt(memory["v"]) + eps)


scaled = walk(rmsprop, lr=0.1, alpha=0.9)
assert np.allclose(scaled, library_walk(lambda p: fnb.optim.RMSprop(p, lr=0.1, alpha=0.9)))

# %% [markdown]
# Whatever multiplies the gradient, divides it again. A loss a thousand times as large gives the same path, but for the
# little $\epsilon$.

# %%
assert np.allclose(scaled, walk(rmsprop, scale=1000.0, lr=0.1, alpha=0.9), atol=1e-5)

# %% [markdown]
# ## Adam
#
# **Adam** has both memories: a running mean $m$ of gradients, for momentum, and $v$ of their squares, for size. And it
# mends their beginning; forgenb has it as `fnb.optim.Adam`. Both means start at 0, and so they are too small at first.
# After $t$ steps the weights in $m$ are
#
# $$ (1 - \beta) \, (1 + \beta + \dots + \beta^{t-1}) = 1 - \beta^t, $$
#
# where a mean should have weights that add up to 1. So divide by what they do add up to: this is **bias correction**.
#
# $$ \begin{aligned}
# m &\leftarrow \beta_1 m + (1 - \beta_1) \, g \\
# v &\leftarrow \beta_2 v + (1 - \beta_2) \, g^2 \\
# p &\leftarrow p - \eta \, \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}
# \end{aligned} $$


# %%
def adam(p, g, memory, lr, betas=(0.9, 0.999), eps=1e-8, corrected=True):
    memory["t"] = t = memory.get("t", 0) + 1
    memory["m"] = betas[0] * memory.get("m", 0.0) + (1 - betas[0]) * g
    memory["v"] = betas[1] * memory.get("v", 0.0) + (1 - betas[1]) * g * g
    of_m, of_v = (1 - betas[0] ** t, 1 - betas[1] ** t) if corrected else (1.0, 1.0)
    return p - lr * (memory["m"] / of_m) / (np.sqrt(memory["v"] / of_v) + eps)


both = walk(adam, lr=0.3)
assert np.allclose(both, library_walk(lambda p: fnb.optim.Adam(p, lr=0.3)))

# %% [markdown]
# The first step shows what the correction is for. With it $m$ counts as $g$ and $v$ as $g^2$, so every parameter moves
# by $\eta$ (or not at all, where $g$ is 0). Without it the step is $0.1 / \sqrt{0.001}$ times as long, more than three
# times, just when the least is known. The two numbers are $1 - \beta$ for $\beta_1 = 0.9$ and $\beta_2 = 0.999$, the
# usual choice.

# %%
first = walk(adam, steps=1, lr=0.3)[1] - START
rash = walk(adam, steps=1, lr=0.3, corrected=False)[1] - START
assert np.allclose(first, [0.3, -0.3])
assert np.allclose(rash / first, 0.1 / np.sqrt(0.001))

# %% [markdown]
# ## AdamW: decay that is not part of the gradient
#
# Smaller weights often serve better on data not seen before. **Weight decay** shrinks them a little at each step. The
# old way adds $\lambda p$ to the gradient. With SGD that is a shrinking by $\eta \lambda p$. With Adam it is not, since
# it is divided by $\sqrt{v}$ as all of the gradient is. If there is no other gradient, nothing of $\lambda$ is left:
# $\lambda p / \sqrt{(\lambda p)^2}$ is a sign. `fnb.optim.AdamW` takes decay out of the gradient, *decouples* it:
#
# $$ p \leftarrow p - \eta \, \frac{\hat m}{\sqrt{\hat v} + \epsilon} - \eta \lambda p, $$
#
# where $\hat m$ and $\hat v$ are the corrected means.


# %%
def adamw(p, g, memory, lr, decay, **settings):
    return adam(p, g, memory, lr, **settings) - lr * decay * p


def one_step(make, value, slope, steps=1):
    p = fnb.Parameter(fnb.tensor([value], dtype="float64"), decay=True)
    optimizer, found = make([p]), []
    for _ in range(steps):
        p.grad = fnb.tensor([slope], dtype="float64")
        optimizer.step()
        found.append(p.item())
    return found


for decay in (0.1, 0.001):
    added = one_step(lambda p, decay=decay: fnb.optim.Adam(p, lr=0.01, weight_decay=decay), 1.0, 0.0)
    apart = one_step(lambda p, decay=decay: fnb.optim.AdamW(p, lr=0.01, weight_decay=decay), 1.0, 0.0)
    print(f"decay {decay}: Adam {added[0]:.6f}, AdamW {apart[0]:.6f}")
    assert np.allclose(added, 0.99, atol=1e-6)  # by the learning rate, whatever the decay
    assert np.allclose(apart, 1 - 0.01 * decay)

# %% [markdown]
# Three steps can be done by hand. Start at $p = 1$ with $\eta = 0.01$, $\lambda = 0.1$ and a gradient that is always
# 0.5. Then $\hat m = 0.5$ and $\hat v = 0.25$ at every step, the first part is 0.01, and the rest is
# $0.001 \, p$:
#
# $$ \begin{aligned}
# 1 - 0.01 - 0.001 &= 0.989 \\
# 0.989 - 0.01 - 0.000989 &= 0.978011 \\
# 0.978011 - 0.01 - 0.000978011 &= 0.967032989
# \end{aligned} $$

# %%
three = one_step(lambda p: fnb.optim.AdamW(p, lr=0.01, betas=(0.9, 0.999), weight_decay=0.1), 1.0, 0.5, steps=3)
print(three)
assert np.allclose(three, [0.989, 0.978011, 0.967032989], atol=1e-8, rtol=0)
shrunk = walk(adamw, lr=0.3, decay=0.1)
assert np.allclose(shrunk, library_walk(lambda p: fnb.optim.AdamW(p, 0.3, (0.9, 0.999), weight_decay=0.1)))
assert fnb.Parameter(fnb.tensor(np.ones((2, 2)))).decay  # a matrix
assert not fnb.Parameter(fnb.tensor(np.ones(2))).decay

# %% [markdown]
# Adam and AdamW share one kernel: `l2` is decay of the old kind, `shrink` is $\eta \lambda$. What is the same for all
# elements is computed once, outside: `rate` is $\eta / (1 - \beta_1^t)$, `rest1` is $1 - \beta_1$, and `root` is
# $1 / \sqrt{1 - \beta_2^t}$. Parameters with a single axis, such as biases and gains, have no decay unless you ask for
# it; above we asked, with `decay=True`.
#
# ```{literalinclude} /../forgenb/optim/adam.py
# :pyobject: adam_kernel
# ```
#
# ## The paths
#
# Four of them in the same valley. SGD zigzags across and creeps along. Momentum swings and arrives.
# RMSprop and Adam, which give each direction its own size, first move as far along as across, as if the valley were
# round.

# %% {"mystnb": {"image": {"alt": "Paths in a narrow valley: a zigzag, a swing, and two diagonals that bend"}}}
paths = {"SGD": descent, "momentum": heavy, "RMSprop": scaled, "Adam": both}
across, up = np.meshgrid(np.linspace(-4.5, 2.5, 60), np.linspace(-1.4, 1.4, 60))
heights = (across**2 + 25 * up**2) / 2
figure, maps = plt.subplots(2, 2, figsize=(8, 5), sharex=True, sharey=True, layout="constrained")
for axes, (name, path) in zip(maps.flat, paths.items(), strict=True):
    axes.contour(across, up, heights, levels=np.geomspace(0.1, 40, 9), cmap="viridis", linewidths=0.7)
    axes.plot(*path.T, "o-", color="crimson", markersize=2.5, linewidth=1)
    axes.set_title(name)
plt.show()

left = {name: float(np.sum(BEND * path[-1] ** 2) / 2) for name, path in paths.items()}
print({name: f"{loss:.1e}" for name, loss in left.items()})
assert min(left, key=left.get) == "momentum"
slant = (scaled[1] - scaled[0], both[1] - both[0])
assert all(np.isclose(abs(step[0]), abs(step[1])) for step in slant)

# %% [markdown]
# No optimiser wins everywhere: in this valley, and with these learning rates, momentum comes closest. For networks with
# many kinds of layers, whose gradients differ in size by far more than 25, AdamW is the usual first choice.
#
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 13`: a judge tries them on hidden inputs. All three
# are NumPy.
#
# **13-1.** `running_mean(gradients, beta)`: the running mean of a list of arrays, oldest first, as Adam keeps it, with
# bias correction after the last one.
#
# **13-2.** `train_adamw(p, gradient, steps, lr, beta1, beta2, eps, decay)`: start at the array `p`, take steps of
# AdamW, and return where they end. `gradient(p)` gives the gradient at `p`. Here and in 13-3 leave `p` as it was.
#
# **13-3.** `train_lion(p, gradient, steps, lr, beta1, beta2, decay)`: one that forgenb does not have. *Lion* (Chen and
# others, 2023) has one memory, $m$, from 0, and steps of one size:
#
# $$ c = \beta_1 m + (1 - \beta_1) \, g, \qquad p \leftarrow p - \eta \, (\operatorname{sign}(c) + \lambda p), \qquad
#    m \leftarrow \beta_2 m + (1 - \beta_2) \, g. $$


# %%
def running_mean(gradients, beta):
    raise NotImplementedError


def train_adamw(p, gradient, steps, lr, beta1, beta2, eps, decay):
    raise NotImplementedError


def train_lion(p, gradient, steps, lr, beta1, beta2, decay):
    raise NotImplementedError


for number, answer in (("13-1", running_mean), ("13-2", train_adamw), ("13-3", train_lion)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# An optimiser believes every gradient that it is handed. Chapter 14 is about not believing them.
