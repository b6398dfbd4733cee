# %% [markdown]
# # 21. Convolution, on real digits
#
# A handwritten 3 is still a 3 one pixel further to the right. A linear layer does not know that: it has a weight for
# each pixel, and has to learn each place anew. So take a small window of weights and *slide* it over the picture, with
# the same weights everywhere. This is **convolution**. Its backward rule turns out to be convolution again, twice.
#
# ## Along a line
#
# A **signal** $x$ of numbers and a **kernel** $w$ of $K$ weights (the word has nothing to do with kernels that are
# launched) give
#
# $$ y_i = \sum_{k=0}^{K-1} x_{i + k} \, w_k. $$
#
# If $x$ has $n$ numbers, the window has $n - K + 1$ places. `fnb.ops.conv1d` computes it, for several samples at once,
# and for several numbers at each place, called **channels**: it wants `[samples, channels, length]`, and weights
# `[out, in, width]`. Here there is one of each.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import forgenb as fnb


def slide(x, w):
    return np.array([x[i : i + len(w)] @ w for i in range(len(x) - len(w) + 1)])


draws = np.random.default_rng(0)
x, w = draws.normal(size=9), draws.normal(size=3)
y = slide(x, w)
assert y.shape == (7,)
assert np.allclose(y, fnb.ops.conv1d(x[None, None], w[None, None]).numpy())
moved = np.roll(x, 1)
assert np.allclose(slide(moved, w)[1:], y[:-1])  # what moves in x, moves in y

# %% [markdown]
# ## The rule, for the weights
#
# Every $w_k$ was used at every place $i$, so its gradient is a sum over places:
#
# $$ \bar w_k = \sum_i \bar y_i \frac{\partial y_i}{\partial w_k} = \sum_i x_{k + i} \, \bar y_i. $$
#
# Read this beside the definition. It is the same formula, with $\bar y$ for the weights: *slide the gradient over the
# input*.
#
# ## The rule, for the input
#
# The number $x_j$ was used in $y_i$ where $i + k = j$ for some $k$, with weight $w_k$. So
#
# $$ \bar x_j = \sum_k \bar y_{j - k} \, w_k, $$
#
# where $\bar y$ counts as 0 outside its range. Now the window goes the other way, $j - k$ for $j + k$. To slide it as
# before, turn it around. With $v_k = w_{K-1-k}$ for the weights, and $K - 1$ zeros put on both ends of $\bar y$, it is
# `slide(padded, v)`: *slide the turned kernel over the padded gradient*.

# %%
dout = draws.normal(size=7)
dw = slide(x, dout)
dx = slide(np.pad(dout, 2), w[::-1])

tx, tw = (fnb.tensor(v[None, None], requires_grad=True) for v in (x, w))
fnb.ops.conv1d(tx, tw).backward(fnb.tensor(dout[None, None]))
assert np.allclose(dw, tw.grad.numpy())
assert np.allclose(dx, tx.grad.numpy())

# %% [markdown]
# That both gradients are convolutions has a pleasant consequence. They are ops with rules themselves, and the rules
# need nothing new, so there are derivatives of any order. `fnb.gradcheck` with `order=2` looks at the second.
#
# ## Pictures
#
# A picture has two axes and, if it is coloured, three channels. What a layer makes of it has channels too: every output
# channel has a window of its own, over all input channels. With $n$ for the sample, $o$ and $c$ for channels of output
# and input, $i$ and $j$ for the place, and $k$ and $l$ for the place in the window,
#
# $$ y_{noij} = b_o + \sum_{c,k,l} x_{n,\,c,\,i s + k - p,\,j s + l - p} \, w_{ockl}. $$
#
# The **stride** $s$ is how far the window moves at a time. The **padding** $p$ says how many zeros are put around the
# picture, so that the window can reach over the edge. Along an axis of length $h$, a window of $K$ fits
#
# $$ \left\lfloor \frac{h + 2p - K}{s} \right\rfloor + 1 $$
#
# times. With $K = 3$, $p = 1$ and $s = 1$ that is $h$: the picture keeps its size. `fnb.ops.conv2d` is this op.

# %%
pictures, weights = draws.normal(size=(2, 3, 7, 5)), draws.normal(size=(4, 3, 3, 3))
assert fnb.ops.conv2d(pictures, weights, padding=1).shape == (2, 4, 7, 5)
assert fnb.ops.conv2d(pictures, weights, stride=2).shape == (2, 4, 3, 2)
few = pictures[:1, :, :4, :4], weights[:2]
assert fnb.gradcheck(lambda x, w: fnb.ops.conv2d(x, w, stride=2, padding=1), *few)
assert fnb.gradcheck(fnb.ops.conv2d, few[0][:, :1, :3, :3], few[1][:1, :1, :2, :2], order=2)

# %% [markdown]
# ## A product after all
#
# That formula is seven nested loops, and they are slow. Chapter 6 has something that is fast: matrix products. So copy
# what the window sees at each place into a column of its own. Then one row of weights times this matrix gives all
# places at once.

# %%
seen = np.lib.stride_tricks.sliding_window_view(x, 3).T
print(seen.shape)  # a row for each weight, a column for each place
assert seen.shape == (3, 7)
assert np.allclose(w @ seen, y)

# %% [markdown]
# This is called **unfolding**. Each number is copied up to $K$ times, and up to $K^2$ times for pictures. That is the
# price, and so forgenb unfolds only as many samples at a time as a cache can hold. The kernel that copies has a row for
# each weight, called a *tap*, of each *plane*, one channel of one sample. What lies beyond the edges becomes 0.
#
# ```{literalinclude} /../forgenb/ops/windows.py
# :pyobject: unfold_kernel
# ```
#
# Backward goes the same way back. The gradient of the columns is the transposed matrix of weights times $\bar y$, and
# each number of a picture *gathers* from the columns what was copied from it, in a fixed order. Chapter 10 has told why
# it gathers rather than lets the columns scatter: no two rows of the launch write to one place.
#
# ## Digits
#
# scikit-learn brings 1797 pictures of handwritten digits, 8 by 8 pixels each, from 0 to 16. We keep 400 of them aside,
# to see how the network does on pictures that it has not been trained with.

# %%
digits = load_digits()
images, labels = (digits.images[:, None] / 16).astype("float32"), digits.target
order = draws.permutation(len(images))
train, test = order[400:], order[:400]
print(images.shape, len(train), len(test))
assert images.shape == (1797, 1, 8, 8)
assert (digits.images.min(), digits.images.max()) == (0, 16)

# %% [markdown]
# The network has two layers of convolution. Each is followed by relu and by **pooling**: of every 2 by 2 numbers the
# largest is taken, so that pictures have half their width, and a small shift matters less. The rule of pooling hands
# the gradient to the number that was taken. The pictures are 8, 4 and then 2 wide, at last with 16 channels. From these
# 64 numbers a linear layer makes ten scores.
#
# The layers are `fnb.nn.Conv2d`, `fnb.nn.ReLU`, `fnb.nn.MaxPool2d`, `fnb.nn.Flatten` and `fnb.nn.Linear`, in a
# `fnb.nn.Sequential`. Beside it we train a single linear layer, the same way: `fnb.ops.cross_entropy` for the loss,
# `fnb.optim.AdamW` for the steps, `fnb.compile` to make one a routine, and batches of 32 from `fnb.data.Batches`, which
# shuffles anew in each *epoch*, one pass over all pictures.


# %%
def accuracy(model, pictures):
    with fnb.no_grad():
        read = model(fnb.tensor(pictures)).numpy().argmax(axis=1)
    return float(np.mean(read == labels[test]))


def train_on(model, epochs=20):
    optimizer = fnb.optim.AdamW(model.named_parameters(), lr=0.01)
    batches = fnb.data.Batches((images[train], labels[train]), 32)

    @fnb.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = fnb.ops.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    for number in range(epochs * batches.steps_per_epoch):
        loss = step(*batches(number))
        if number in (0, 100) or number == epochs * batches.steps_per_epoch - 1:
            share = accuracy(model, images[test])
            print(f"step {number}: loss {loss.item():.3f}, right {share:.1%}")


near = fnb.nn.Conv2d(1, 8, 3, padding=1, seed=1, name="near")
far = fnb.nn.Conv2d(8, 16, 3, padding=1, seed=1, name="far")
head = fnb.nn.Linear(64, 10, seed=1, name="head")
layers = [near, fnb.nn.ReLU(), fnb.nn.MaxPool2d(2), far, fnb.nn.ReLU(), fnb.nn.MaxPool2d(2)]
sliding = fnb.nn.Sequential(*layers, fnb.nn.Flatten(), head)
alone = fnb.nn.Linear(64, 10, seed=1, name="alone")
linear = fnb.nn.Sequential(fnb.nn.Flatten(), alone)
print(sum(p.size for p in sliding.parameters()), "numbers to learn")
train_on(sliding)
train_on(linear)
assert accuracy(sliding, images[test]) > 0.94
assert accuracy(linear, images[test]) > 0.9

# %% [markdown]
# On pictures like those that it has seen, the linear layer is only a little worse. Now move the held-out digits by one
# pixel, to the right or to the left, which neither has been trained for.


# %%
def shifted(pictures, by):
    return np.pad(pictures, ((0, 0), (0, 0), (0, 0), (1, 1)))[..., 1 - by : 9 - by]


found = {}
for name, model in (("convolution", sliding), ("linear", linear)):
    left, right = (accuracy(model, shifted(images[test], by)) for by in (-1, 1))
    print(f"{name:11}  to the left {left:.0%}, to the right {right:.0%}")
    found[name] = left, right
assert min(found["convolution"]) > 0.6
assert max(found["linear"]) < 0.5

# %% [markdown]
# The linear layer now misreads more than it reads. The convolutions see the same strokes, at another place; what still
# depends on the place is the pooling and the last layer. Let us look at what was learned: the eight windows of the
# first layer, white for positive weights, and below them digits that were misread where they were.

# %% {"mystnb": {"image": {"alt": "Above, eight windows of 3 by 3 weights, some like edges; below, misread digits"}}}
with fnb.no_grad():
    read = sliding(fnb.tensor(images[test])).numpy().argmax(axis=1)
mistakes = np.flatnonzero(read != labels[test])[:8]
_, rows = plt.subplots(2, 8, figsize=(9, 2.8), layout="constrained")
for axes in rows.flat:
    axes.axis("off")
for axes, weights in zip(rows[0], near.weight.numpy()[:, 0], strict=True):
    axes.imshow(weights, cmap="gray", vmin=-1, vmax=1)
for axes, place in zip(rows[1], mistakes, strict=False):
    axes.imshow(images[test[place], 0], cmap="gray_r")
    axes.set_title(f"{labels[test[place]]} as {read[place]}", fontsize=9)
plt.show()

assert 0 < np.sum(read != labels[test]) < 24

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 21`: a judge tries them on hidden inputs. All three
# are NumPy.
#
# **21-1.** `places(size, window, stride, padding, dilation)`: how many places a window has along an axis of length
# `size`. A *dilation* $d$ spreads the weights: they are $d$ apart, so that a window of $K$ reaches over
# $d (K - 1) + 1$ entries.
#
# **21-2.** `conv_rule(dout, x, w)`: both gradients, `dx` and `dw`, of `y[i] = sum(x[i + k] * w[k] for k in range(K))`
# for all `i` at which the window fits. Three arrays of one axis; any lengths that go together.
#
# **21-3.** `unfold(x, window)`: the columns of a picture `x` of shape `(h, w)` for `window = (kh, kw)`, stride 1 and no
# padding. The result has a row for each weight and a column for each place, both row by row, so that
# `weights.ravel() @ unfold(x, window)` is the convolution.


# %%
def places(size, window, stride, padding, dilation):
    raise NotImplementedError


def conv_rule(dout, x, w):
    raise NotImplementedError


def unfold(x, window):
    raise NotImplementedError


for number, answer in (("21-1", places), ("21-2", conv_rule), ("21-3", unfold)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# A trained network is worth keeping. Chapter 22 saves it, goes on from where it stopped, and gets the same bits again.
