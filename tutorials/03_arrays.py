# %% [markdown]
# # 3. From scalars to arrays
#
# Chapter 2 had a Python object for each number. A layer of a small network has thousands of numbers, which is why that
# tape is slow. So let an object hold an *array*, and let one entry of the tape, with one rule, serve all of its
# elements. From here on the objects are forgenb's tensors: `fnb.tensor` makes one from numbers. Most rules stay as they
# were, element by element. One thing is new, and it is the subject of this chapter: **broadcasting**.

# %%
import numpy as np

import forgenb as fnb

x = fnb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype="float64", requires_grad=True, name="x")
b = fnb.tensor([10.0, 20.0, 30.0], dtype="float64", requires_grad=True, name="b")
y = x + b
print(y.numpy())
assert y.shape == (2, 3)

# %% [markdown]
# `b` has three numbers and `x` six. Addition repeated `b` for each row of `x`. Nothing was copied, but in the formula
# the second operand is the matrix
#
# $$ B_{ij} = b_j, \qquad y_{ij} = x_{ij} + b_j. $$
#
# ## What backward has to do about it
#
# Call the gradient that arrives $\bar y_{ij} = \partial L / \partial y_{ij}$. The number $b_j$ was used once in every
# row, and chapter 2 has said what happens to a value that is used several times: its gradient is the *sum* over its
# uses. So
#
# $$ \bar b_j = \sum_i \frac{\partial L}{\partial y_{ij}} \frac{\partial y_{ij}}{\partial b_j} = \sum_i \bar y_{ij},
#    \qquad \bar x_{ij} = \bar y_{ij}. $$
#
# Repeat forward, sum backward. That is the whole rule, and it is the same for every op that broadcasts. To see it, we
# say ourselves what arrives: `backward` of a tensor that is no single number takes the gradient $\bar y$ as its
# argument. The picture is that of `fnb.Tape`; in a script, `tape.draw().save("tape.svg")` writes it.

# %% {"mystnb": {"image": {"alt": "Boxes for x and b above their sum; the gradient of b is the sum over rows"}}}
dout = np.array([[1.0, 0.0, 2.0], [3.0, 5.0, 7.0]])
with fnb.Tape(keep=True) as tape:
    (x + b).backward(fnb.tensor(dout))
print("db =", b.grad.numpy())
assert np.array_equal(b.grad.numpy(), dout.sum(axis=0))
assert np.array_equal(x.grad.numpy(), dout)
tape.draw()

# %% [markdown]
# ## Which axes were repeated
#
# NumPy's rule, which forgenb follows: line the shapes up at their *last* axes. An axis that is missing in front, or
# that has length 1 where the other operand has more, is repeated.
#
#     x          (4, 2, 3)
#     b             (2, 1)      the first axis is missing, the last has length 1
#     x * b      (4, 2, 3)
#
# Backward sums over exactly these axes: a missing one disappears, one of length 1 stays with length 1.

# %%
x = fnb.tensor(np.arange(24.0).reshape(4, 2, 3), requires_grad=True)
b = fnb.tensor([[2.0], [3.0]], dtype="float64", requires_grad=True)
(x * b).sum().backward()
by_hand = x.numpy().sum(axis=0).sum(axis=-1, keepdims=True)
assert b.grad.shape == (2, 1)
assert np.allclose(b.grad.numpy(), by_hand)

# %% [markdown]
# `forgenb.ops.reduction.sum_to` does this for every op. Here is where multiplication calls it:
#
# ```{literalinclude} /../forgenb/ops/arithmetic.py
# :pyobject: mul
# ```
#
# ## A check that needs no trust
#
# Differences know nothing of rules. `fnb.gradcheck` compares the two. For the gradient that arrives, which is also
# called a *cotangent*, it takes random numbers. Here is a product of a column and a row, where *both* operands are
# repeated.

# %%
assert fnb.gradcheck(lambda u, v: u * v, np.ones((3, 1)) * 2.0, np.linspace(1.0, 2.0, 4))

# %% [markdown]
# And this is what it says of the commonest mistake, a rule that forgets to sum. `fnb.custom_op` makes an op of a
# forward function and a rule of your own; where the rule is wrong, the check raises `fnb.errors.GradcheckError`.

# %%
forgetful = fnb.custom_op(lambda x, b: x + b, lambda dout, x, b: (dout, dout))
try:
    fnb.gradcheck(forgetful, np.ones((2, 3)), np.ones(3))
except fnb.errors.GradcheckError as error:
    mistake = error.mistake
    print(error)
assert mistake == "broadcast"

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 3`: a judge tries them on hidden inputs. A verdict
# says what is wrong, and never how it is right.
#
# **03-1.** `sum_to(dout, shape)`: sum the NumPy array `dout` back to the shape of an operand that was broadcast to it.
#
# **03-2.** `outer_rule(dout, x, y)`: the backward rule of `x[:, None] * y[None, :]`, with tensors. Return both
# gradients.
#
# **03-3.** `mean_rule(dout, x)`: the backward rule of `x.mean(0)`, for a tensor `x` of two axes. `fnb.ops.broadcast_to`
# repeats a tensor until it has a shape.


# %%
def sum_to(dout, shape):
    raise NotImplementedError


def outer_rule(dout, x, y):
    raise NotImplementedError


def mean_rule(dout, x):
    raise NotImplementedError


for number, answer in (("03-1", sum_to), ("03-2", outer_rule), ("03-3", mean_rule)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# Chapter 4 opens an op and shows the kernel in it: one Python function for the interpreter, the CPU and the GPU.
