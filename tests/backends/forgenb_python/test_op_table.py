"""The conformance kit on the python backend, each check of each op on operands that an interpreter gets through."""

from forgenb.testing.conformance import BackendTests


class TestPython(BackendTests):
    backend_name = "python"
    largest = 150
