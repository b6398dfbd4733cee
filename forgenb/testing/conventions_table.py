"""The rows of `forgenb.testing.conventions`: section -> its text, and (op, operands, value, gradients, keywords).

An operand is a number or nested lists; a value that is a string is the text of the error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

inf, nan = float("inf"), float("nan")
NO_ROWS = np.zeros((0, 3))

TIES: list[tuple] = [
    ("maximum", (1.0, 1.0), 1.0, (0.5, 0.5)),
    ("minimum", (1.0, 1.0), 1.0, (0.5, 0.5)),
    ("max", ([3.0, 1.0, 3.0],), 3.0, ([0.5, 0.0, 0.5],)),
    ("min", ([2.0, 2.0, 2.0],), 2.0, ([1 / 3, 1 / 3, 1 / 3],)),
    ("argmax", ([1.0, 3.0, 3.0],), 1),
    ("argmin", ([1.0, 0.0, 0.0],), 1),
    ("max_pool2d", ([[[[5.0, 5.0]]]],), [[[[5.0]]]], ([[[[1.0, 0.0]]]],), {"kernel": (1, 2)}),
]

KINKS: list[tuple] = [
    ("relu", (0.0,), 0.0, (0.0,)),
    ("leaky_relu", (0.0,), 0.0, (0.01,)),
    ("elu", (0.0,), 0.0, (2.0,), {"alpha": 2.0}),
    ("abs", (0.0,), 0.0, (0.0,)),
    ("sign", (0.0,), 0.0, (0.0,)),
    ("floor", (2.0,), 2.0, (0.0,)),
    ("clip", ([-2.0, -1.0, 1.0, 2.0],), [-1.0, -1.0, 1.0, 1.0], ([0.0, 1.0, 1.0, 0.0],), {"low": -1.0, "high": 1.0}),
    ("l1_loss", ([1.0], [1.0]), 0.0, ([0.0], [0.0])),
    ("norm", ([0.0, 0.0],), 0.0, ([0.0, 0.0],)),
    ("std", ([2.0, 2.0],), 0.0, ([0.0, 0.0],)),
]

ZEROS: list[tuple] = [
    ("div", (1.0, 0.0), inf, (inf, -inf)),
    ("div", (-1.0, 0.0), -inf, (inf, inf)),
    ("div", (0.0, 0.0), nan, (inf, nan)),
    ("div", ([1, -1], [0, 0]), [inf, -inf]),
    ("mul", (0.0, inf), nan, (inf, 0.0)),
    ("log", (0.0,), -inf, (inf,)),
    ("log2", (0.0,), -inf, (inf,)),
    ("log1p", (-1.0,), -inf, (inf,)),
    ("sqrt", (0.0,), 0.0, (inf,)),
    ("rsqrt", (0.0,), inf, (-inf,)),
    ("kl_terms", (-1.0, 0.0), 0.0, (0.0, 0.0)),
    ("prod", ([0.0, 2.0, 3.0],), 0.0, ([6.0, 0.0, 0.0],)),
    ("prod", ([0.0, 2.0, 0.0],), 0.0, ([0.0, 0.0, 0.0],)),
    ("layernorm", ([3.0, 3.0], [2.0, 2.0], [1.0, 5.0]), [1.0, 5.0], ([0.0, 0.0], [0.0, 0.0], [1.0, 1.0]), {"eps": 1.0}),
    ("rmsnorm", ([0.0, 0.0], [2.0, 2.0]), [0.0, 0.0], ([4.0, 4.0], [0.0, 0.0]), {"eps": 0.25}),
]

POWERS: list[tuple] = [
    ("pow", (0.0, 0.0), 1.0, (0.0, 0.0)),
    ("pow", (0.0, 1.0), 0.0, (1.0, 0.0)),
    ("pow", (0.0, 2.0), 0.0, (0.0, 0.0)),
    ("pow", (0.0, 0.5), 0.0, (inf, 0.0)),
    ("pow", (0.0, -1.0), inf, (-inf, -inf)),
    ("pow", (nan, 0.0), 1.0, (0.0, nan)),
    ("pow", (-2.0, -3.0), -0.125, (-0.1875, nan)),
    ("pow", (-2.0, 0.5), nan, (nan, nan)),
    ("pow", ([-3, 0],), [-27, 0], (), {"y": 3}),
    ("pow", ([2],), "negative exponent", (), {"y": -1}),
]

EDGES: list[tuple] = [
    ("log", (-1.0,), nan, (-1.0,)),
    ("sqrt", (-1.0,), nan, (nan,)),
    ("exp", ([-1000.0, 1000.0],), [0.0, inf], ([0.0, inf],)),
    ("sigmoid", ([-1000.0, 1000.0],), [0.0, 1.0], ([0.0, 0.0],)),
    ("tanh", ([-inf, inf],), [-1.0, 1.0], ([0.0, 0.0],)),
    ("softplus", ([-1000.0, 1000.0],), [0.0, 1000.0], ([0.0, 1.0],)),
    ("silu", ([-1000.0, 1000.0],), [0.0, 1000.0], ([0.0, 1.0],)),
    ("logsumexp", ([-inf, 0.0],), 0.0, ([0.0, 1.0],)),
    ("logsumexp", ([-inf, -inf],), -inf, ([0.0, 0.0],)),
    ("gelu_grad", ([-1000.0, 1000.0], [1.0, 1.0]), [0.0, 1.0], ([0.0, 0.0], [0.0, 1.0])),
    ("softmax", ([-inf, 0.0],), [0.0, 1.0], ([0.0, 0.0],)),
    ("softmax", ([-inf, -inf],), [nan, nan], ([nan, nan],)),
    ("log_softmax", ([1000.0, 0.0],), [0.0, -1000.0], ([-1.0, 1.0],)),
    ("cross_entropy", ([[0.0, -inf]], [0]), 0.0, ([[0.0, 0.0]],)),
    ("bce_with_logits", ([1000.0], [0.0]), 1000.0, ([1.0], [-1000.0])),
    ("bce_with_logits", ([], []), nan, ([], [])),
    ("cross_entropy", (NO_ROWS, np.zeros(0, int)), nan, (NO_ROWS,)),
    ("astype", ([-2.75, 2.75],), [-2, 2], (), {"dtype": "int32"}),
    ("astype", ([2049.0, 1e6],), [2048.0, inf], ([1.0, 1.0],), {"dtype": "float16"}),
    ("astype", ([0.0, nan],), [False, True], (), {"dtype": "bool"}),
]

NOT_NUMBERS: list[tuple] = [
    ("relu", (nan,), nan, (1.0,)),
    ("clip", (nan,), nan, (1.0,), {"low": 0.0, "high": 1.0}),
    ("maximum", (nan, 3.0), nan, (1.0, 1.0)),
    ("minimum", (3.0, nan), nan, (1.0, 1.0)),
    ("max", ([1.0, nan, 2.0],), nan, ([0.0, 0.0, 0.0],)),
    ("argmax", ([1.0, nan, 2.0],), 1),
    ("argmin", ([1.0, nan, 2.0],), 1),
    ("sign", (nan,), nan, (0.0,)),
    ("sum", ([1.0, nan],), nan, ([1.0, 1.0],)),
    ("equal", (nan, nan), False),
    ("not_equal", (nan, nan), True),
    ("less", (nan, 1.0), False),
    ("where", (True, 1.0, nan), 1.0, (1.0, 0.0)),
    ("any", ([0.0, nan],), True),
]

NOTHING: list[tuple] = [
    ("sum", ([],), 0.0, ([],)),
    ("prod", ([],), 1.0, ([],)),
    ("mean", ([],), nan, ([],)),
    ("var", ([],), nan, ([],)),
    ("norm", ([],), 0.0, ([],)),
    ("logsumexp", ([],), -inf, ([],)),
    ("any", ([],), False),
    ("all", ([],), True),
    ("max", ([],), "check for size 0"),
    ("min", ([],), "check for size 0"),
    ("argmax", ([],), "check for size 0"),
    ("argmin", ([],), "check for size 0"),
    ("mse_loss", ([], []), nan, ([], [])),
]

SECTIONS: dict[str, tuple[str, list[Any]]] = {
    "Ties": ("Equal extrema share the gradient; an index and a pooling take the first.", TIES),
    "Kinks": ("Where a slope jumps, the gradient is 0 or that of the side that the value belongs to.", KINKS),
    "Zeros": ("Division by zero, and what is divided or multiplied by zero on the way.", ZEROS),
    "Powers": ("Anything to the power 0 is 1. A base below 0 has no slope in its exponent.", POWERS),
    "Ends": ("The ends of domains and of the numbers that a dtype holds.", EDGES),
    "NaN": (
        "It is kept and wins every maximum and minimum; where it wins along an axis, the elements get no gradient.",
        NOT_NUMBERS,
    ),
    "Nothing": ("Reductions of no elements have the neutral element, where there is one.", NOTHING),
}
