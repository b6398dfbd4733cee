"""The conformance kit on the python backend."""

from forgenb.testing.conformance import BackendTests


class TestPython(BackendTests):
    backend_name = "python"
