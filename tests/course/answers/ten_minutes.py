"""Answers to the exercises of chapter 00."""

import forgenb as fnb


def gradient_of(f, x):
    x = fnb.tensor(x, requires_grad=True)
    f(x).backward()
    return x.grad.numpy()


def descend(f, x, rate, steps):
    for _ in range(steps):
        x = x - rate * gradient_of(f, x)
    return x


def cube_rule(dout, x):
    return dout * 3.0 * x * x


RIGHT = {"00-1": gradient_of, "00-2": descend, "00-3": cube_rule}


def of_the_result(f, x):
    loss = f(fnb.tensor(x, requires_grad=True))
    loss.backward()
    return loss.grad


def without_backward(f, x):
    x = fnb.tensor(x, requires_grad=True)
    f(x)
    return x.grad


def untracked(f, x):
    x = fnb.tensor(x)
    f(x).backward()
    return x.grad


def never_cleared(f, x, rate, steps):
    p = fnb.Parameter(fnb.tensor(x))
    optimizer = fnb.optim.SGD([p], lr=rate)
    for _ in range(steps):
        f(p).backward()
        optimizer.step()
    return p.numpy()


def stuck(f, x, rate, steps):
    slopes = gradient_of(f, x)
    for _ in range(steps):
        x = x - rate * slopes
    return x


def still_a_tensor(f, x):
    x = fnb.tensor(x, requires_grad=True)
    f(x).backward()
    return x.grad


def asks_the_loss(f, x):
    loss = f(fnb.tensor(x, requires_grad=True))
    loss.backward()
    return loss.grad.numpy()


def of_a_result(f, x, rate, steps):
    x = fnb.tensor(x, requires_grad=True)
    for _ in range(steps):
        f(x).backward()
        x = x - rate * x.grad
    return x.numpy()


def in_place(f, x, rate, steps):
    for _ in range(steps):
        x -= rate * gradient_of(f, x)
    return x


WRONG = [
    ("00-1", "returns a tensor", still_a_tensor, "a NumPy array is asked for, and this is a Tensor"),
    ("00-1", "makes an array of None", asks_the_loss, "only a tensor that you make has a grad"),
    ("00-2", "takes the grad of a result", of_a_result, "only a tensor that you make has a grad"),
    ("00-2", "walks in the caller's array", in_place, "x is no longer what it was"),
    ("00-2", "returns a tensor", lambda *a: fnb.tensor(descend(*a)), "a NumPy array is asked for"),
    ("00-3", "returns two", lambda dout, x: (dout * 3.0 * x * x, None), "it returns 2 gradients, where one is asked"),
    ("00-3", "returns an array", lambda dout, x: (dout * 3.0 * x * x).numpy(), "a gradient must be a tensor"),
    ("00-1", "returns the value", lambda f, x: f(fnb.tensor(x)), "this is the value of the function"),
    ("00-1", "loses digits", lambda f, x: gradient_of(f, x.astype("float32")), "precision of float32"),
    ("00-1", "asks the result", of_the_result, "a tensor that backward did not reach"),
    ("00-1", "calls no backward", without_backward, "a tensor that backward did not reach"),
    ("00-1", "does not ask for a gradient", untracked, "requires_grad=True"),
    ("00-1", "adds up", lambda f, x: gradient_of(f, x).sum(), "summed to one number"),
    ("00-2", "walks uphill", lambda f, x, rate, steps: descend(f, x, -rate, steps), "it walks uphill"),
    ("00-2", "never clears gradients", never_cleared, "the gradients of all steps before"),
    ("00-2", "takes one gradient", stuck, "the gradient at the start"),
    ("00-2", "takes a step too few", lambda f, x, rate, steps: descend(f, x, rate, steps - 1), "one step is missing"),
    ("00-2", "forgets the rate", lambda f, x, rate, steps: descend(f, x, 1.0, steps), "the learning rate is not used"),
    ("00-3", "forgets the 3", lambda dout, x: dout * x * x, "a factor 3 is missing"),
    ("00-3", "forgets dout", lambda dout, x: 3.0 * x * x, "leaves out the incoming gradient"),
    ("00-3", "writes the value", lambda dout, x: dout * x * x * x, "1/3 times input 0 is too much"),
    ("00-3", "forgets a power", lambda dout, x: dout * 3.0 * x, "a factor input 0 is missing"),
    ("00-3", "returns nothing", lambda dout, x: None, "returns None"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
