"""The interpreter plug-in of forgenb: kernel bodies run as the plain Python that they are.

Right before fast: an element costs microseconds where compiled code takes a nanosecond, so it is for small
sizes. In return a breakpoint inside a body stops there, coverage lands on the author's lines, every access
is checked against the bounds of its array, and `forgenb.backend.trace` writes down each assignment.

Imports nothing until `create` is called.
"""

API = 1


def available() -> str | None:
    """None: where forgenb is imported, Python and NumPy are there."""
    return None


def create():
    """The backend object."""
    from .plugin import PythonBackend

    return PythonBackend()
