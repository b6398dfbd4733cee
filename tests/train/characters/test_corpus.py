"""A text, ready to be learned."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from forgenb.errors import ArgumentError
from forgenb.train import prepare


def test_parts_of_a_text(tiny, text):
    corpus = prepare(tiny)
    ids = corpus.tokenizer.encode(text.read_text())
    assert np.array_equal(corpus.train, ids[:360])
    assert corpus.inputs.shape == corpus.targets.shape == (4, 8)
    assert np.array_equal(corpus.inputs.reshape(-1), ids[360:392])
    assert np.array_equal(corpus.targets.reshape(-1), ids[361:393])
    assert (corpus.characters, corpus.sha256) == (400, hashlib.sha256(text.read_bytes()).hexdigest())


@pytest.mark.parametrize(("context", "fits"), [(39, True), (40, False), (400, False)])
def test_both_parts_need_a_window(tiny, context, fits):
    config = replace(tiny, context=context)
    if fits:
        assert prepare(config).inputs.shape == (1, 39)
        return
    with pytest.raises(ArgumentError, match=rf"shorter than a window: .* 400 .* 40 for .*{context + 1} in each"):
        prepare(config)
