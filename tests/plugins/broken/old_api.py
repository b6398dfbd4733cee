"""A plug-in for an older forgenb."""

API = 0


def available():
    raise AssertionError("asked before the API number was compared")


def create():
    raise AssertionError("created before the API number was compared")
