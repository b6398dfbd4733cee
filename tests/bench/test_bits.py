"""50 steps of every workload that trains: op by op and as a routine, with one thread and with two, the same bits.

The small workloads have their real shapes; the larger ones keep launches that are split over threads.
`forgenb bench --check` does this at the real shapes.
"""

from dataclasses import replace

import numpy as np
import pytest

import forgenb as fnb
from forgenb.bench import SPECS
from forgenb.bench.contenders import with_forgenb
from forgenb.bench.contenders.specs import MLP, Transformer
from forgenb.bench.data import arrays

STEPS = 50
SMALLER = {
    "nanocpu": {"layers": 1, "width": 64, "batch": 8},
    "charsix": {"layers": 1, "heads": 2, "width": 128, "context": 128, "batch": 2},
    "mlp_wide": {"sizes": (64, 256, 256, 10), "batch": 128},
}
TRAINED = [
    name for name, spec in SPECS.items() if isinstance(spec, MLP) or (isinstance(spec, Transformer) and spec.training)
]


@pytest.fixture
def threads():
    before = fnb.settings.threads
    yield lambda number: setattr(fnb.settings, "threads", number)
    fnb.settings.threads = before


@pytest.mark.parametrize("name", TRAINED)
def test_losses_have_the_same_bits(name, threads):
    if name == "digits":
        pytest.importorskip("sklearn", reason="its images come with scikit-learn")
    spec = replace(SPECS[name], **SMALLER.get(name, {}))
    values = arrays(name, spec)
    found = {}
    for contender in ("forgenb-eager", "forgenb-routine"):
        for number in (1, 2):
            threads(number)
            step = with_forgenb.build(contender, spec, values, number)
            found[contender, number] = [step.run().item() for _ in range(STEPS)]
    first = found["forgenb-eager", 1]
    assert np.isfinite(first).all()
    assert min(first[-5:]) < first[0]
    for way, losses in found.items():
        assert losses == first, (
            f"{way} parts from op by op at step {next(i for i in range(STEPS) if losses[i] != first[i])}"
        )


def test_all_that_train_are_among_them():
    assert TRAINED == ["moons", "digits", "micro", "nanocpu", "charsix", "mlp_small", "mlp_wide"]
