"""``forgenb warmup``."""

import json
import string
from pathlib import Path

from forgenb.backend import get_backend


def test_training_compiles_nothing_after_it(forgenb):
    done = forgenb("warmup", "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert list(found) == ["kernels", "compiled", "seconds", "cache"]
    assert found["kernels"] >= found["compiled"] >= 0
    ready = len(get_backend("cpu").compiled())
    Path("text").write_text(string.ascii_letters * 30)
    for dropout in (0, 0.2):
        assert forgenb("train", "--data", "text", "--steps", 2, "--dropout", dropout, "--out", f"{dropout}").code == 0
    assert forgenb("generate", "--run", "0.2", "--tokens", 20).code == 0
    assert len(get_backend("cpu").compiled()) == ready


def test_text_and_backend(forgenb, refused):
    assert "kernels are ready" in forgenb("warmup", "--backend", "cpu").out
    assert "there is no backend 'cup'" in refused("warmup", "--backend", "cup")
