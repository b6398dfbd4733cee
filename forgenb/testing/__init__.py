"""The conformance kit: what any plug-in runs on itself, generated from the op table.

`check_backend` yields a result for every op, dtype, shape class and check. ``forgenb check-backend NAME`` prints them;
`forgenb.testing.conformance` makes them tests, for ``pytest -p forgenb.testing.plugin --pyargs
forgenb.testing.conformance --forgenb-backend NAME`` or for a plug-in's own suite::

    from forgenb.testing.conformance import BackendTests

    class TestMine(BackendTests):
        backend_name = "mine"
"""

from .kit import DTYPES, Result, Summary, check_backend

__all__ = ["DTYPES", "Result", "Summary", "check_backend"]
