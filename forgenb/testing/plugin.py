"""pytest's side of the kit: ``-p forgenb.testing.plugin`` adds ``--forgenb-backend NAME`` (once or more).

It chooses the backends of `forgenb.testing.conformance` and prints how many ops each implements. No entry point loads
it, since that would import forgenb into every run of pytest.
"""

from __future__ import annotations

import pytest

from ..backend import get_backend
from ..errors import ForgeError
from . import conformance


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("forgenb")
    group.addoption(
        "--forgenb-backend", action="append", default=[], metavar="NAME", help="run the conformance kit on this backend"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the kit's own class once for every backend that was asked for."""
    if metafunc.cls is not conformance.TestConformance:
        return
    names = metafunc.config.getoption("--forgenb-backend")
    if not names:
        raise pytest.UsageError("the conformance kit needs a backend: add --forgenb-backend NAME")
    for name in names:
        try:
            get_backend(name)
        except ForgeError as reason:
            raise pytest.UsageError(str(reason)) from None
    metafunc.parametrize("backend", names)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many ops each backend implements."""
    for name, summary in conformance.SUMMARIES.items():
        terminalreporter.write_line(f"backend {name}: {summary}")
