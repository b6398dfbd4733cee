"""Run the checks on a backend: `check_backend`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ..backend import get_backend, use
from ..errors import ArgumentError, DTypeError, OpUnsupported
from ..ops import TABLE
from .bounds import bound, gradient_bound
from .checks import Check, Failed, Setting, checks_of
from .samples import FLOATS, INTEGERS, SHAPE_CLASSES, Sample, samples_in

DTYPES = FLOATS + INTEGERS


@dataclass(frozen=True)
class Result:
    """What one check of one op in one dtype found on the samples of one shape class.

    `ok` is None where the backend does not support the op, or the op itself refuses integers; `max_ulp` is None where
    a check measures none.
    """

    op: str
    dtype: str
    shape_class: str
    check: str
    ok: bool | None
    max_ulp: float | None = None
    message: str = ""
    unsupported: bool = False


def check_backend(
    name: str,
    ops: Iterable[str] | None = None,
    dtypes: Iterable[str] = DTYPES,
    checks: Iterable[str] | None = None,
    largest: int | None = None,
) -> Iterator[Result]:
    """Run every check on a backend, one result at a time.

    Parameters
    ----------
    name : str
        The backend, as its plug-in announces it.
    ops, dtypes, checks : iterable of str, optional
        Only these.
    largest : int, optional
        Only samples whose operands have at most so many elements, for a backend that is slow on purpose.

    Yields
    ------
    Result
        In the order of the op table.

    Raises
    ------
    BackendError
        If there is no such backend, or it cannot be used.
    ArgumentError
        If an op is not in the table.
    """
    get_backend(name)
    wanted = None if checks is None else set(checks)
    return _run(name, known_ops(ops), tuple(dtypes), wanted, largest)


def known_ops(ops: Iterable[str] | None) -> list[str]:
    """The names of `ops`, or of the whole table.

    Raises
    ------
    ArgumentError
        If one is not in the table, naming the nearest.
    """
    names = list(TABLE if ops is None else ops)
    for name in names:
        if name not in TABLE:
            near = difflib.get_close_matches(name, TABLE, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ArgumentError(f"there is no op {name!r} in the table of {len(TABLE)} ops{hint}")
    return names


def _run(
    backend: str, ops: list[str], dtypes: tuple[str, ...], wanted: set[str] | None, largest: int | None
) -> Iterator[Result]:
    for name in ops:
        for dtype in dtypes:
            for shape_class in SHAPE_CLASSES:
                found = samples_in(name, dtype, shape_class)
                if largest is not None:
                    found = tuple(s for s in found if max(a.size for a in s.arrays) <= largest)
                for label, check in checks_of(name, dtype, shape_class, found).items() if found else ():
                    if wanted is None or label in wanted:
                        yield _result(backend, name, dtype, shape_class, label, check, found)


def _result(
    backend: str, name: str, dtype: str, shape_class: str, label: str, check: Check, found: tuple[Sample, ...]
) -> Result:
    setting = Setting(name, dtype, bound(name, backend), gradient_bound(name))
    largest, refused, floats = None, [], np.dtype(dtype).kind == "f"
    for sample in found:
        where = f"{name} in {dtype} on {backend}, {label} of {shape_class} operands {sample.shapes}"
        try:
            with use(backend):
                seen = check(setting, sample)
        except OpUnsupported as reason:
            return Result(name, dtype, shape_class, label, None, None, f"{where}: {reason}", True)
        except Failed as reason:
            return Result(name, dtype, shape_class, label, False, largest, f"{where}: {reason}")
        except Exception as reason:
            if not floats and isinstance(reason, (DTypeError, ArgumentError)):
                refused.append(f"{where}: {reason}")
                continue
            text = f"{where}: it raised {type(reason).__name__}: {reason}"
            return Result(name, dtype, shape_class, label, False, largest, text)
        if seen is not None:
            largest = max(seen, largest or 0.0)
    if len(refused) == len(found):
        return Result(name, dtype, shape_class, label, None, None, refused[0])
    return Result(name, dtype, shape_class, label, True, largest)


@dataclass
class Summary:
    """Counts of results, kept while they come in."""

    checks: int = 0
    failed: int = 0
    ops: dict[str, bool] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Count one result."""
        self.checks += result.ok is not None
        self.failed += result.ok is False
        self.ops[result.op] = self.ops.get(result.op, True) and not result.unsupported

    @property
    def total(self) -> int:
        """Ops that were asked for."""
        return len(self.ops)

    @property
    def implemented(self) -> int:
        """Ops that the backend does not decline in any dtype."""
        return sum(self.ops.values())

    def __str__(self) -> str:
        return f"implemented {self.implemented} of {self.total} ops, {self.failed} of {self.checks} checks failed"
