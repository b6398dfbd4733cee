# %% [markdown]
# # 2. A tape of closures in forty lines
#
# Chapter 1 paid for each slope with two runs of the function. This chapter gets all slopes from *one* run and one walk
# back over what it did. That takes a rule from school, the chain rule, and a list, and both fit into one small class.
# It is plain Python on plain numbers and uses nothing of forgenb. The rest of the library is this idea, made fast.
#
# ## The chain rule, from the back
#
# Here is a single *neuron*: it multiplies its input $x$ by a weight $w$, adds a bias $b$, and bends the result.
#
# $$ L = \tanh(w x + b). $$
#
# A computer takes this in steps, and each step has a result:
#
# $$ u = w x, \qquad v = u + b, \qquad L = \tanh v. $$
#
# Now go through the steps from the last to the first and ask of each number how $L$ depends on it. Write $\bar v$ for
# $\partial L / \partial v$, the slope of $L$ by $v$, and call it *the gradient of* $v$. It begins with $\bar L = 1$,
# since $L$ depends on itself with slope 1. The derivative of $\tanh v$ is $1 - \tanh^2 v$, which is $1 - L^2$ here.
# Then the chain rule says
#
# $$ \begin{aligned}
# L &= \tanh v  & \qquad \bar v &= \bar L \, (1 - L^2) \\
# v &= u + b    & \qquad \bar u &= \bar v, \quad \bar b = \bar v \\
# u &= w x      & \qquad \bar w &= \bar u \, x, \quad \bar x = \bar u \, w
# \end{aligned} $$
#
# Look at one row at a time. It needs the gradient of its own result and the numbers that were at hand when the step was
# computed, and nothing of the other steps. So every step can bring its own little function, its **backward rule**: the
# gradient of the result goes in, the gradients of the inputs come out.
#
# ## The class
#
# Python has just the thing for a function that remembers numbers: a **closure**, a function made inside another one,
# which keeps the variables that it uses. Each operation below computes its value, makes a closure, and appends an entry
# to a list. The list is the **tape**. `dout` is the gradient of the result.

# %%
import math
import random

import matplotlib.pyplot as plt

TAPE = []  # entries (result, inputs, rule), in the order of computation


def record(value, inputs, rule):
    out = Scalar(value)
    TAPE.append((out, inputs, rule))
    return out


class Scalar:
    def __init__(self, value):
        self.value, self.grad = float(value), 0.0

    def __add__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        return record(self.value + other.value, (self, other), lambda dout: (dout, dout))

    def __mul__(self, other):
        other = other if isinstance(other, Scalar) else Scalar(other)
        x, y = self.value, other.value
        return record(x * y, (self, other), lambda dout: (dout * y, dout * x))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other):
        return self + -1.0 * other

    def exp(self):
        out = math.exp(self.value)
        return record(out, (self,), lambda dout: (dout * out,))

    def tanh(self):
        out = math.tanh(self.value)
        return record(out, (self,), lambda dout: (dout * (1.0 - out * out),))

    def backward(self):
        self.grad = 1.0
        for out, inputs, rule in reversed(TAPE):
            for x, dx in zip(inputs, rule(out.grad), strict=True):
                x.grad += dx
        TAPE.clear()


# %% [markdown]
# The last method is the walk back. It goes over the tape from its end, hands each rule the gradient of its result, and
# adds what comes out to the gradients of the inputs. Then it clears the tape, for the next run. There is no more to it.
#
# Run the neuron, and look at the tape before it is gone. The full name of a closure has the method in it that made it.

# %%
w, x, b = Scalar(0.5), Scalar(-1.5), Scalar(0.25)
loss = (w * x + b).tanh()
for out, inputs, rule in TAPE:
    op = rule.__qualname__.split(".")[1].strip("_")
    print(f"{op:4} of {[number.value for number in inputs]} is {out.value:.4f}")
assert len(TAPE) == 3

loss.backward()
print(f"dw = {w.grad:.4f}, dx = {x.grad:.4f}, db = {b.grad:.4f}")
bend = 1 - loss.value * loss.value
assert (w.grad, x.grad, b.grad) == (bend * -1.5, bend * 0.5, bend)


# %% [markdown]
# Do the differences of chapter 1 agree? `compare` puts the two side by side for any function of scalars. It calls the
# function twice for every input; `backward` is called once.


# %%
def compare(f, *values, h=1e-5):
    def at(i, d):
        return f(*(Scalar(v + d if i == j else v) for j, v in enumerate(values))).value

    inputs = [Scalar(value) for value in values]
    f(*inputs).backward()
    for i, number in enumerate(inputs):
        by_differences = (at(i, h) - at(i, -h)) / (2 * h)
        assert abs(number.grad - by_differences) < 1e-8
    TAPE.clear()


compare(lambda w, x, b: (w * x + b).tanh(), 0.5, -1.5, 0.25)
compare(lambda x, y: (x * y - y).exp() * x.tanh(), 0.7, -0.4)

# %% [markdown]
# ## A value that is used twice
#
# In $y = w \cdot w$ the number $w$ is an input twice. If $w$ moves, both factors move, and what they do to $y$ adds up:
# the first contributes $\bar y\,w$, the second $\bar y\,w$, together $2 w \bar y$. It is the same when the two uses are
# far apart. If $L$ depends on $w$ through $u$ and through $v$, then
#
# $$ \frac{\partial L}{\partial w} = \frac{\partial L}{\partial u} \frac{\partial u}{\partial w}
#    + \frac{\partial L}{\partial v} \frac{\partial v}{\partial w}. $$
#
# **The gradient of a value is the sum over its uses.** That is why `backward` says `+=`. With `=` the use that is
# visited last would win, and the others would be lost. It is an easy mistake to make.

# %%
w = Scalar(3.0)
(w * w).backward()
print("dw =", w.grad)
assert w.grad == 6.0
compare(lambda w: w * w.tanh() + w * 2.0 + w.exp() * w, 0.3)

# %% [markdown]
# Because of `+=`, gradients also stay from one `backward` to the next. A training loop sets them to zero in between.
#
# ## Why backwards
#
# A rule may run only when the gradient of its result is complete, that is, after the rules of all entries that *used*
# the result. Those entries stand later on the tape, for nothing can be used before it is computed. So a walk from the
# end meets all uses of a value before the entry that made it. The order of the tape is the only order that is needed.
#
# In the other direction the first rule is handed a gradient that is still zero.

# %%
w = Scalar(3.0)
loss = (w * w).tanh() + w
loss.grad = 1.0
for out, inputs, rule in TAPE:
    for number, d in zip(inputs, rule(out.grad), strict=True):
        number.grad += d
TAPE.clear()
assert w.grad == 1.0  # only the last entry counted
compare(lambda w: (w * w).tanh() + w, 0.8)

# %% [markdown]
# And since it is a loop, not a function that calls itself, a long computation is no problem: Python refuses about a
# thousand nested calls, and this tape has twenty thousand entries.

# %%
x = Scalar(1.0)
y = x
for _ in range(10_000):
    y = y * 0.9999 + 0.0001
assert len(TAPE) == 20_000
y.backward()
assert math.isclose(x.grad, 0.9999**10_000, rel_tol=1e-9)

# %% [markdown]
# ## A network learns a curve
#
# Four neurons side by side, and a weighted sum of what they say: a network with 13 parameters.
#
# $$ f(x) = c + \sum_{k=1}^{4} a_k \tanh(w_k x + b_k) $$
#
# It shall learn a sine from 25 points. Loss and descent are those of chapter 1. New is where the gradient comes from:
# one run and one walk back for all 13.

# %% {"mystnb": {"image": {"alt": "Points on a sine: the untrained curve misses them, the trained one meets them"}}}
draws = random.Random(1)
parameters = [Scalar(draws.uniform(-1, 1)) for _ in range(13)]
points = [(x, math.sin(2 * x)) for x in (i / 8 - 1.5 for i in range(25))]


def network(x, parameters):
    total = parameters[12]
    for k in range(0, 12, 3):
        a, w, b = parameters[k : k + 3]
        total = total + a * (w * x + b).tanh()
    return total


def mean_squared_error(*parameters):
    total = Scalar(0.0)
    for x, y in points:
        error = network(x, parameters) - y
        total = total + error * error
    return total * (1 / len(points))


def curve():
    found = [network(x, parameters).value for x, _ in points]
    TAPE.clear()
    return found


compare(mean_squared_error, *(number.value for number in parameters))
before, losses = curve(), []
for _ in range(600):
    loss = mean_squared_error(*parameters)
    loss.backward()
    losses.append(loss.value)
    for number in parameters:
        number.value -= 0.3 * number.grad
        number.grad = 0.0
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.5f} at last")
assert losses[-1] < 0.01 < losses[0]

_, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(*zip(*points, strict=True), "o", color="black", label="points")
axes.plot([x for x, _ in points], before, "--", label="before")
axes.plot([x for x, _ in points], curve(), label="after 600 steps")
axes.legend(loc="lower right")
plt.show()

# %% [markdown]
# ## The same in forgenb
#
# forgenb's ops have this shape too. Here is its hyperbolic tangent: it computes, makes a rule named `backward`, and
# calls `record`. `run_map` is what turns one number into an array of them; chapter 4 opens it. The line with `@` above
# it puts the function on the list of ops, with inputs and a formula for the tests, and `:math:` marks a formula.
#
# ```{literalinclude} /../forgenb/ops/activations.py
# :pyobject: tanh
# ```
#
# The rule of our class kept `out`. This one keeps nothing, and by `save_output=True` the tape hands it the result: a
# result holds its rule, and if the rule held the result too, neither would go by itself. Most other rules are closures
# as ours are, such as that of the product, which chapter 3 shows.
#
# One more thing differs. Our list is global, and one `backward` empties it. In forgenb a result knows its own entry, an
# entry knows those of its inputs, and entries are numbered: to go through them from the highest number to the lowest is
# to walk back. So there may be many tapes at once, and what no tensor needs any more is gone by itself.
#
# To look at a tape, compute inside `with fnb.Tape(keep=True) as tape:`. It notes what passes by. Here is the neuron
# again, with `fnb.tensor` for `Scalar` and `fnb.ops.tanh` for its method. The last line draws the list: a box for each
# entry, with its value and its gradient, and arrows from the entries that it reads.

# %% {"mystnb": {"image": {"alt": "Boxes for w, x and b, their product, sum and tanh, with values and gradients"}}}
import forgenb as fnb

w, x, b = (
    fnb.tensor(value, dtype="float64", requires_grad=True, name=name)
    for name, value in (("w", 0.5), ("x", -1.5), ("b", 0.25))
)
with fnb.Tape(keep=True) as tape:
    loss = fnb.ops.tanh(w * x + b)
    loss.backward()
bend = 1 - loss.item() ** 2
for number, slope in ((w, bend * -1.5), (x, bend * 0.5), (b, bend)):
    assert math.isclose(number.grad.item(), slope)
tape.draw()

# %% [markdown]
# `explore` gives the same list step by step. Move the slider, or click into the frame and press the arrow keys. The
# first half computes. In the second half the gradients come in the other order; watch which one a rule takes and which
# ones it gives, and read its source. The site and notebooks show what a cell ends with, but a script shows
# neither drawing nor slider. There, write `tape.draw().save("tape.svg")` and `tape.explore("tape.html")`, and open
# these files in a browser.

# %%
tape.explore()

# %% [markdown]
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 2`: a judge tries them on hidden inputs.
#
# **02-1.** `div_rule(dout, x, y)`: the backward rule of $x / y$, for plain numbers. Return the gradients of both.
#
# **02-2.** `sigmoid_rule(dout, out)`: the backward rule of $out = 1 / (1 + e^{-x})$. The rule has kept `out` alone, as
# that of `tanh` does, so write it without `x`. Return one number, or a tuple of one.
#
# **02-3.** `gradients(tape, root, inputs)`: what `backward` does, leaving no trace: the tape stays as it is. `tape` is
# a list of entries as above. Return a list that has, for each of `inputs`, the slope of `root` by it: 0.0 for one that
# it does not depend on. The numbers have no attribute `grad`; keep what you need in a dictionary, whose keys may be
# the numbers themselves.


# %%
def div_rule(dout, x, y):
    raise NotImplementedError


def sigmoid_rule(dout, out):
    raise NotImplementedError


def gradients(tape, root, inputs):
    raise NotImplementedError


for number, answer in (("02-1", div_rule), ("02-2", sigmoid_rule), ("02-3", gradients)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# A Python object for each number is slow. Chapter 3 puts arrays in the place of numbers and keeps everything else.
