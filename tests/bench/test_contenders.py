"""Each workload, shrunk, op by op and as a routine: the same bits, and losses that fall."""

from dataclasses import replace

import numpy as np
import pytest

from forgenb.bench import SPECS
from forgenb.bench.contenders import with_forgenb
from forgenb.bench.contenders.specs import MLP, STEPS, Transformer, Unsupported
from forgenb.bench.data import arrays, moons

STEPS_HERE = 12


def shrunk(spec):
    """The same workload with few rows and narrow layers."""
    if isinstance(spec, Transformer):
        return replace(spec, vocab=11, context=8, layers=2, width=8 * spec.heads, batch=2)
    if isinstance(spec, MLP):
        inner = tuple(min(size, 24) for size in spec.sizes[1:-1])
        return replace(spec, sizes=(spec.sizes[0], *inner, spec.sizes[-1]), batch=16, batches=min(spec.batches, 3))
    return replace(spec, repeats=3)


def losses(contender, name, spec):
    if name == "digits":
        pytest.importorskip("sklearn", reason="its images come with scikit-learn")
    step = with_forgenb.build(contender, spec, arrays(name, spec), 1)
    return [step.run().item() for _ in range(STEPS_HERE)]


@pytest.mark.parametrize("name", [name for name in SPECS if name != "chain"])
def test_a_routine_has_the_losses_of_the_ops(name):
    spec = shrunk(SPECS[name])
    eager, routine = (losses(contender, name, spec) for contender in ("forgenb-eager", "forgenb-routine"))
    assert eager == routine
    assert np.isfinite(eager).all()
    if isinstance(spec, Transformer) and not spec.training:
        assert len(set(eager)) == 1
    else:
        assert eager[-1] < eager[0]


def test_every_workload_has_its_steps_and_its_work():
    assert STEPS.keys() == SPECS.keys()
    assert [name for name, spec in SPECS.items() if not spec.flop] == ["chain"]


def test_the_chain_gives_the_gradient_of_numpy():
    spec = shrunk(SPECS["chain"])
    values = {name: array.astype(np.float64) for name, array in arrays("chain", spec).items()}
    step = with_forgenb.build("forgenb-eager", spec, values, 1)

    def loss(w):
        h = values["x"]
        for _ in range(spec.repeats):
            h = np.tanh(h * w + values["bias"]) - values["x"]
        return h.mean()

    assert step.run().item() == pytest.approx(loss(values["weight"]), rel=1e-12)
    ahead, behind = (loss(values["weight"] + change) for change in (1e-6, -1e-6))
    assert step.gradient() == pytest.approx((ahead - behind) / 2e-6, rel=1e-6)
    with pytest.raises(Unsupported, match="what one op costs by itself"):
        with_forgenb.build("forgenb-routine", spec, values, 1)


def test_work_of_a_step_is_that_of_its_products():
    assert MLP((3, 4, 5), "relu", 7, 1, 0.1).flop == 7 * (6 * (12 + 20) - 2 * 12)
    spec = Transformer(11, 8, 2, 2, 16, 3)
    linear, attention = 12 * 2 * 16 * 16 + 11 * 16, 2 * 8 * 16
    assert spec.flop == 3 * 2 * 3 * 8 * (linear + attention)
    assert replace(spec, training=False).flop == spec.flop // 3


def test_moons_are_two_half_circles():
    points, side = moons(400)
    assert points.dtype == np.float32
    upper, lower = points[side == 0], points[side == 1]
    assert np.abs(np.linalg.norm(upper, axis=1) - 1).max() < 0.5
    assert np.abs(np.linalg.norm(lower - [1, 0.5], axis=1) - 1).max() < 0.5
    assert points[:3].tolist() == moons(400)[0][:3].tolist()
