"""Two map kernels as one: a kernel whose body is a call of one body inside the other.

The value in between is rounded to the kernel's dtype as a store would round it, so that one loop gives the bits of
two. Imports kernels only; which statements are put together is decided in `fuse`.
"""

from __future__ import annotations

import linecache
from functools import cache
from types import FunctionType
from typing import NamedTuple

from ..kernel import Kernel, map_kernel
from ..kernel.primitives import real


class Composed(NamedTuple):
    """A kernel made of two, and where its operands come from: (0, number) of the first, (1, number) of the second."""

    kernel: Kernel
    order: tuple[tuple[int, int], ...]


@cache
def composed(first: Kernel, second: Kernel, slot: int, same: tuple[int | None, ...]) -> Composed:
    """The kernel that computes `second` with its operand number `slot` replaced by the result of `first`.

    Parameters
    ----------
    first, second : Kernel
        Map kernels; `first` has one result and updates nothing in place.
    slot : int
        Among the operands of `second`.
    same : tuple
        For each operand of `first`, the number of the operand of `second` that is the same data, or None.
    """
    sides = [(1, n, o) for n, o in enumerate(second.operands) if n != slot]
    sides += [(0, n, o) for n, o in enumerate(first.operands) if o.reads and same[n] is None]
    shared = {other for other in same if other is not None}
    read = [side for side in sides if side[2].reads or (side[0] == 1 and side[1] in shared)]
    names = {(which, n): f"{'xy'[which]}{n}" for which, n, _ in sides}
    origin = [(0, n) if other is None else (1, other) for n, other in enumerate(same)]
    inputs = [names[origin[n]] for n, o in enumerate(first.operands) if o.reads]
    outer, inner = ([f"{letter}{n}" for n in range(len(k.scalars))] for letter, k in (("b", second), ("a", first)))
    value = f"first({', '.join((['index'] if first.indexed else []) + inputs + inner)})"
    value = f"real({value})" if second.operands[slot].kind == "real" else value
    taken = [value if n == slot else names[1, n] for n, o in enumerate(second.operands) if o.reads]
    call = f"second({', '.join((['index'] if second.indexed else []) + taken + outer)})"
    parameters = ["index"] if first.indexed or second.indexed else []
    parameters += [names[which, n] for which, n, _ in read] + outer + inner
    name = f"{first.name.removesuffix('_kernel')}_{second.name}"
    text = f"def {name}({', '.join(parameters)}):\n    return {call}\n"
    scalars = zip(outer + inner, second.scalars + first.scalars, strict=True)
    after = [side for side in sides if side[2].writes]
    declaration = (
        f"{' '.join(f'{names[w, n]}:{o.kind}' for w, n, o in read)} -> "
        f"{' '.join(f'{names[w, n]}:{o.kind}' for w, n, o in after)}; {' '.join(f'{n}:{s.kind}' for n, s in scalars)}"
    )
    order = tuple(dict.fromkeys((which, n) for which, n, _ in read + after))
    return Composed(map_kernel(declaration)(_function(name, text, first, second)), order)


def _function(name: str, text: str, first: Kernel, second: Kernel) -> FunctionType:
    """The body that `text` defines; its source can be read as that of any other function."""
    file = f"<{name} {abs(hash((first, second, text))):x}>"
    space = {"first": first.body, "second": second.body, "real": real, "__name__": __name__}
    exec(compile(text, file, "exec"), space)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    return space[name]
