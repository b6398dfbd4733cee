"""Random graphs from Hypothesis, which shrinks those that fail, and what the properties of graphs share."""

import tempfile

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from forgenb.testing.graphs import build
from forgenb.testing.graphs.run import by_references

_FOLDER = tempfile.TemporaryDirectory(prefix="hypothesis-")
set_hypothesis_home_dir(_FOLDER.name)  # else it leaves a folder where the tests are started


def examples(count):
    """The same few examples in every run."""
    return settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@st.composite
def graphs(draw, least=2, most=9, names=None, recordable=False):
    """A graph of a few ops."""
    seed = draw(st.integers(0, 2**16))
    return build(lambda below: draw(st.integers(0, below - 1)), seed, least, most, names, recordable)


def slopes(graph, gradients):
    """The slope of the loss along a random line: by gradients, by differences of the references, and its scale."""
    rng = np.random.default_rng(graph.seed)
    lines = {leaf.number: rng.uniform(-1, 1, leaf.array.shape) for leaf in graph.tracked}

    def at(t):
        return by_references(graph, {leaf.number: leaf.array + t * lines[leaf.number] for leaf in graph.tracked})

    wide, narrow = ((at(h) - at(-h)) / (2 * h) for h in (2e-5, 1e-5))
    terms = [gradients[number] * line for number, line in lines.items() if gradients[number] is not None]
    found, scale = sum(term.sum() for term in terms), sum(np.abs(term).sum() for term in terms)
    return found, (4 * narrow - wide) / 3, scale
