"""Answers to the exercises of chapter 02."""

import math
from collections import defaultdict


def div_rule(dout, x, y):
    return dout / y, -dout * x / y**2


def sigmoid_rule(dout, out):
    return dout * out * (1 - out)


def swept(entries, root, inputs):
    grads = defaultdict(float, {root: 1.0})
    for out, operands, rule in entries:
        for x, dx in zip(operands, rule(grads[out]), strict=True):
            grads[x] += dx
    return [grads[x] for x in inputs]


def gradients(tape, root, inputs):
    return swept(reversed(tape), root, inputs)


RIGHT = {"02-1": div_rule, "02-2": sigmoid_rule, "02-3": gradients}


def overwriting(tape, root, inputs):
    grads = defaultdict(float, {root: 1.0})
    for out, operands, rule in reversed(tape):
        grads.update(zip(operands, rule(grads[out]), strict=True))
    return [grads[x] for x in inputs]


def unseeded(tape, root, inputs):
    grads = defaultdict(float)
    for out, operands, rule in reversed(tape):
        for x, dx in zip(operands, rule(grads[out]), strict=True):
            grads[x] += dx
    return [grads[x] for x in inputs]


def writing(tape, root, inputs):
    root.grad = 1.0


def strict(tape, root, inputs):
    grads = {root: 1.0}
    for out, operands, rule in reversed(tape):
        for x, dx in zip(operands, rule(grads.get(out, 0.0)), strict=True):
            grads[x] = grads.get(x, 0.0) + dx
    return [grads[x] for x in inputs]


def logistic_again(dout, out):
    return sigmoid_rule(dout, 1 / (1 + math.exp(-out)))


def popping(tape, root, inputs):
    found = gradients(tape, root, inputs)
    tape.clear()
    return found


def taking(tape, root, inputs):
    grads = {root: 1.0}
    for out, operands, rule in reversed(tape):
        if out in grads:
            for x, dx in zip(operands, rule(grads.pop(out)), strict=True):
                grads[x] = grads.get(x, 0.0) + dx
    return [grads.get(x, 0.0) for x in inputs]


def by_number(tape, root, inputs):
    return dict(zip(inputs, gradients(tape, root, inputs), strict=True))


WRONG = [
    ("02-3", "takes gradients out", taking, "loses its gradient when its own entry is used"),
    ("02-2", "returns a tuple, and forgets dout", lambda dout, out: (out * (1 - out),), "dout is left out"),
    ("02-2", "returns two", lambda dout, out: (dout, out), "the result has shape (2,), and should have ()"),
    ("02-3", "clears the tape", popping, "the tape is no longer what it was"),
    ("02-3", "returns a dictionary", by_number, "it returns a dictionary"),
    ("02-1", "swaps the gradients", lambda dout, x, y: div_rule(dout, x, y)[::-1], "in the wrong order"),
    ("02-1", "forgets the minus", lambda dout, x, y: (dout / y, dout * x / y**2), "sign of the second gradient"),
    ("02-1", "forgets dout", lambda dout, x, y: (1 / y, -x / y**2), "dout is left out"),
    ("02-1", "divides by y once", lambda dout, x, y: (dout / y, -dout * x / y), "divided by y once"),
    ("02-1", "writes the rule of mul", lambda dout, x, y: (dout * y, dout * x), "the rule of a product"),
    ("02-1", "returns one", lambda dout, x, y: dout / y, "the result has shape (), and should have (2,)"),
    ("02-2", "forgets dout", lambda dout, out: out * (1 - out), "dout is left out"),
    ("02-2", "takes out for x", logistic_again, "the function has been applied already"),
    ("02-2", "writes the rule of tanh", lambda dout, out: dout * (1 - out**2), "the rule of tanh"),
    ("02-2", "takes the other sign", lambda dout, out: dout * out * (out - 1), "the sign is wrong"),
    ("02-3", "overwrites", overwriting, "has the gradient of one use"),
    ("02-3", "walks forward", swept, "walked from its beginning"),
    ("02-3", "forgets the seed", unseeded, "the gradient of the root by itself"),
    (
        "02-3",
        "starts at the end",
        lambda tape, root, xs: gradients(tape, tape[-1][0], xs),
        "starts from the last entry",
    ),
    ("02-3", "writes into the numbers", writing, "has no attribute 'grad'"),
    ("02-3", "has no zero for what is not used", strict, "raises KeyError: the number 0.6"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
