"""Samples of the op table that slow backends can work through."""

from forgenb.testing.samples import samples

SAMPLES, ELEMENTS = 6, 300


def small(name):
    """The first samples of a row that an interpreter can work through."""
    found = [s for s in samples(name) if sum(a.size for a in s.arrays) <= ELEMENTS]
    return found[:SAMPLES] or samples(name)[:1]
