"""The kit as tests: `BackendTests` for a plug-in's own suite, and what ``pytest --pyargs`` collects here.

In a plug-in's repository three lines are enough::

    from forgenb.testing.conformance import BackendTests

    class TestMine(BackendTests):
        backend_name = "mine"
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..ops import TABLE
from .checks import checks_of
from .kit import DTYPES, Summary, check_backend
from .samples import SHAPE_CLASSES, samples_in

__all__ = ["BackendTests"]

SUMMARIES: dict[str, Summary] = {}
"""What each backend has shown so far in this run."""


def cases() -> Iterator[tuple[str, str, str]]:
    """(op, dtype, check) of everything that the kit checks, in the order of the table."""
    for name in TABLE:
        for dtype in DTYPES:
            classes = {c: samples_in(name, dtype, c) for c in SHAPE_CLASSES}
            found = [checks_of(name, dtype, c, samples) for c, samples in classes.items() if samples]
            yield from ((name, dtype, check) for check in dict.fromkeys(label for labels in found for label in labels))


class BackendTests:
    """Every check of every op in every dtype, a test each, on the backend `backend_name`.

    A test fails with the list of what failed, by shape class and shapes, and is skipped where the backend declines the
    op by `OpUnsupported`. A backend that is slow on purpose may set `largest`, the most elements of an operand.
    """

    backend_name = ""
    largest: int | None = None

    @pytest.fixture
    def backend(self) -> str:
        """The name of the backend."""
        return self.backend_name

    @pytest.mark.parametrize(("op", "dtype", "check"), [pytest.param(*c, id="-".join(c)) for c in cases()])
    def test_conforms(self, backend: str, op: str, dtype: str, check: str) -> None:
        """One check of one op in one dtype, on all shape classes."""
        results = list(check_backend(backend, [op], [dtype], [check], self.largest))
        for result in results:
            SUMMARIES.setdefault(backend, Summary()).add(result)
        failures = [r.message for r in results if r.ok is False]
        if failures:
            pytest.fail("\n".join(failures), pytrace=False)
        if all(r.unsupported for r in results):
            pytest.skip(results[0].message if results else f"no sample has at most {self.largest} elements")


class TestConformance(BackendTests):
    """The kit on the backends of ``--forgenb-backend``, see `forgenb.testing.plugin`."""
