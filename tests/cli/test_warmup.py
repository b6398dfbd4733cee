"""``forgenb warmup``."""

import json

from forgenb.backend import get_backend


def test_training_compiles_nothing_after_it(forgenb, tiny):
    done = forgenb("warmup", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert list(found) == ["kernels", "compiled", "seconds", "cache"]
    assert found["kernels"] >= found["compiled"] >= 0
    ready = len(get_backend("cpu").compiled())
    assert forgenb(*tiny, "--dropout", 0.1, "--out", "a").code == 0
    assert forgenb("generate", "--run", "a", "--tokens", 20).code == 0
    assert len(get_backend("cpu").compiled()) == ready


def test_text_and_backend(forgenb, refused):
    assert "kernels are ready" in forgenb("warmup", "--backend", "cpu").out
    assert "there is no backend 'cup'" in refused("warmup", "--backend", "cup")
