"""The state of the process that a test could leave changed behind it."""

import os

import numpy as np

from forgenb import random, tape
from forgenb.backend import progress, registry, seam
from forgenb.nn import init


def cpu():
    """The CPU backend if something has loaded it; looking does not load it."""
    slot = registry._SLOTS.get("cpu")
    return slot.backend if slot is not None else None


def snapshot():
    """Name -> value of everything watched."""
    backend = cpu()
    return {
        "default backend": registry._CHOSEN.get(),
        "FORGENB_ variables": {k: v for k, v in os.environ.items() if k.startswith("FORGENB_")},
        "default seed": random.default_seed(),
        "recording": tape.is_recording(),
        "tapes": tape._LISTENERS.get(),
        "initial values are drawn": init._DRAWS.get(),
        "meters of memory": len(seam.METERS),
        "line that says what is compiled": (progress.STATE.shown, progress.STATE.tell.__name__),
        "NumPy's random state": np.random.get_state(legacy=False),
        "NumPy's error handling": np.geterr(),
        "threads of the cpu backend": None if backend is None else backend.threads,
    }


def differences(before, after):
    """Names of what changed. Threads may appear, with the backend, but not change."""
    return [
        name
        for name, value in before.items()
        if _comparable(value) != _comparable(after[name]) and not (name.startswith("threads") and value is None)
    ]


def _comparable(value):
    """`value` as what ``==`` decides on; the 624 words of NumPy's generator as bytes, which no one has to print."""
    if isinstance(value, dict) and "bit_generator" in value:
        return value["state"]["key"].tobytes(), value["state"]["pos"], value["has_gauss"], value["gauss"]
    return value


def restore(state):
    """Put everything back, so that one test's fault does not fail the next."""
    registry._CHOSEN.set(state["default backend"])
    for name in [k for k in os.environ if k.startswith("FORGENB_")]:
        del os.environ[name]
    os.environ.update(state["FORGENB_ variables"])
    random.seed(state["default seed"])
    tape._RECORDING.set(state["recording"])
    tape._LISTENERS.set(state["tapes"])
    init._DRAWS.set(state["initial values are drawn"])
    del seam.METERS[state["meters of memory"] :]
    progress.STATE.shown, progress.STATE.tell = state["line that says what is compiled"][0], progress.on_terminal
    np.random.set_state(state["NumPy's random state"])
    np.seterr(**state["NumPy's error handling"])
    if state["threads of the cpu backend"] is not None and cpu().threads != state["threads of the cpu backend"]:
        cpu().threads = state["threads of the cpu backend"]
