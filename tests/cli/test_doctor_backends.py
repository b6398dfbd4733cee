"""What doctor says of a backend that cannot be used here: its own reason, and no advice to uninstall anything."""

import forgenb_cuda.choice
import pytest

from forgenb.backend import refresh


@pytest.fixture
def old_driver(monkeypatch):
    monkeypatch.delenv("FORGENB_CUDA_SIMULATOR", raising=False)
    monkeypatch.setattr(forgenb_cuda.choice, "driver_library", object)
    monkeypatch.setattr(forgenb_cuda.choice, "driver_version", lambda library: (11, 4))
    monkeypatch.setattr(forgenb_cuda.choice, "toolkit_version", lambda: (13, 5))
    refresh()
    yield
    monkeypatch.undo()
    refresh()


def test_a_driver_older_than_the_toolkit_is_named(forgenb, old_driver):
    pytest.importorskip("numba_cuda")
    shown = " ".join(forgenb("doctor").out.split())
    assert "cuda (not available: the NVIDIA driver supports CUDA 11.4" in shown
    assert "CUDA 13.5" in shown
    assert "The backend 'cuda' is broken" not in shown
