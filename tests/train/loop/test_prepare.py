"""What a model needs before a step."""

import forgenb as fnb
from forgenb import random
from forgenb.backend import get_backend
from forgenb.train.loop.prepare import Prepared


def test_masks_depend_on_the_seed_and_the_step():
    model = fnb.nn.Sequential(fnb.nn.Dropout(0.5), fnb.nn.Tanh(), fnb.nn.Sequential(fnb.nn.Dropout(0.5)))
    x, ready, drawn = fnb.tensor([[1.0] * 64]), Prepared(model), {}
    for seed, step in [(1, 0), (1, 1), (2, 0), (1, 0)]:
        ready.begin(seed, step)
        wanted = int(random.integers(random.generator(seed, "dropout", step), 2**32, 1)[0])
        assert [model[0].seed, model[2][0].seed] == [wanted, wanted]
        mask = model(x).numpy().tobytes()
        assert drawn.setdefault((seed, step), mask) == mask
    assert len(set(drawn.values())) == 3


def test_a_module_that_keeps_its_own_seed(fake):
    model = fake()
    Prepared(model).begin(1, 2)
    assert model.dropout_seed == int(random.integers(random.generator(1, "dropout", 2), 2**32, 1)[0])


def test_training_mode_comes_back():
    model = fnb.nn.Sequential(fnb.nn.Tanh(), fnb.nn.Sequential(fnb.nn.Tanh()))
    ready = Prepared(model)
    for changed in (model, model[1]):
        changed.eval()
        ready.begin(0, 0)
        assert all(module.training for module in model.modules())


def test_the_place_is_that_of_the_parameters():
    with Prepared(fnb.nn.Linear(2, 2, backend="python")).place():
        assert get_backend().name == "python"
    for other in (None, fnb.nn.Tanh()):
        with Prepared(other).place():
            assert get_backend().name == "cpu"
