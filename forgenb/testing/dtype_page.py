"""The page of result dtypes, as Markdown: ``python -m forgenb.testing.dtype_page > docs/dtypes.md``.

Everything on it is asked of `forgenb.dtypes` and of the op table; nothing is listed here.
"""

from __future__ import annotations

from ..dtypes import DEFAULT, FLOAT64, INT64, ORDER, RULES, compute_dtype, result_dtype, scalar_dtype
from ..ops import TABLE
from .markdown import table

HEAD = f"""\
# Dtypes

Python floats and lists of them become {DEFAULT}, ints {INT64}, bools bool; NumPy arrays keep their dtype. With
`dtype=`, or as a list beside a {FLOAT64} tensor, numbers are not rounded to {DEFAULT} on their way. `astype` converts.
Targets, ids and indices may be int32 or int64; a gradient belongs to floats only.

Kernels that work element by element compute in the dtype of the second row and convert where they read and write, so
float16 is a way to store numbers, and integers of 32 bits wrap around where they are stored, as in NumPy.

{{computed}}

## Two tensors

Of two dtypes the one that comes later in this order wins, so an integer never widens a float:
{{order}}.

{{pairs}}

## A tensor and a Python number

A Python number never promotes a tensor. It takes the tensor's dtype, but a float beside integers gives {DEFAULT}, and
an int beside bools {INT64}. Arrays and NumPy's own numbers count as tensors.

{{numbers}}

## Training in float16

Parameters and activations in float16 take half the memory, and every kernel computes in float32. Sums, norms,
statistics and the moments of optimisers are float32 as well. Small gradients would still be lost where they are stored,
so the loss is scaled, in float32, and the update divides by the scale again. A step with a gradient that is not finite
changes no parameter, no moment and no count; it halves the scale. It works alike in a routine, where the scale is asked
for before each run.

```python
optimizer, scaler = fnb.optim.AdamW(model.parameters(), lr=1e-2), fnb.optim.LossScaler()


def step(x, y):
    optimizer.zero_grad()
    loss = fnb.ops.cross_entropy(model(x).astype("float32"), y)
    scaler(loss).backward()
    return loss, optimizer.step(clip_norm=1.0, scaler=scaler)


run = fnb.compile(step)
for x, y in data:
    loss, norm = run(x, y)
```

Gradients stay scaled where they lie; `step` returns the norm of those that are not. A weight in float16 has 11 bits, so
an update below 1/4000 of a weight is lost: where the learning rate is that small, keep the parameters in float32.

## Every op

Which rule an op follows stands in its row of the op table, and the conformance kit checks it on every backend. Ids,
targets, masks and conditions are not counted among the operands. What a rule leaves out raises a `DTypeError`.

{{ops}}

Written by `python -m forgenb.testing.dtype_page` from `forgenb/dtypes.py`.
"""


def page() -> str:
    """The page."""
    names = [dtype.name for dtype in ORDER]
    kinds = {"bool": "b", "int": "i", "float": "f"}
    return HEAD.format(
        order=", ".join(f"`{name}`" for name in names),
        computed=table(["stored", *names], [["computed in", *(compute_dtype(d).name for d in ORDER)]]),
        pairs=table(["", *names], [[x.name, *(result_dtype(x, y).name for y in ORDER)] for x in ORDER]),
        numbers=table(
            ["", *names], [[name, *(scalar_dtype(kind, d).name for d in ORDER)] for name, kind in kinds.items()]
        ),
        ops=table(["the result is", "of"], [[rule.text, _ops(name)] for name, rule in RULES.items()]),
    )


def _ops(rule: str) -> str:
    return " ".join(f"`{name}`" for name, row in sorted(TABLE.items()) if row.dtypes == rule)


if __name__ == "__main__":
    print(page(), end="")
