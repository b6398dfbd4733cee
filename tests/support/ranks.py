"""What the processes of a test of `forgenb.train.distributed` run, and how a test starts them.

``mpiexec -n N python ranks.py NAME...`` runs functions below in N processes; the first prints their results.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


def mpiexec():
    """The command that starts processes of the MPI that mpi4py finds; skips without them."""
    from forgenb.bench.scaling import launcher

    found, missing = launcher()
    if missing is not None:
        pytest.skip(missing)
    return found


def environment():
    """Of a process that imports this checkout, with one thread."""
    parts = [str(ROOT), str(ROOT / "backends"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(parts), "FORGENB_THREADS": "1"}


def start(count, *command):
    """A `Popen` of ``mpiexec -n count command``."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([mpiexec(), "-n", str(count), *command], env=environment(), **pipes)


def run(count, *names, code=0):
    """What the first process says of each function, one after another; `code` is the exit code that is expected."""
    job = start(count, sys.executable, __file__, *names)
    out, err = job.communicate(timeout=120)
    assert job.returncode == code, err
    return json.loads(out) if code == 0 else []


IDS = np.random.default_rng(0).integers(0, 11, (4, 6, 9))


def steps(world, dropout=0.0, samples=6, count=5):
    """Losses, norms and a hash of the parameters of some steps of a small GPT."""
    from forgenb import optim
    from forgenb.models import GPT, GPTConfig
    from forgenb.train import distributed

    model = GPT(GPTConfig(11, 8, 2, 2, 8, dropout), seed=3)
    optimizer = optim.AdamW(model.named_parameters(), lr=1e-2)
    step, seen = distributed.DistributedStep(model, optimizer, 0.5, world, samples, bucket=2000), []
    for number in range(count):
        model.dropout_seed = number
        ids = IDS[number % 4][:samples][step.part]
        loss, norm = step(ids[:, :-1], ids[:, 1:])
        seen.append((loss, norm.item()))
    whole = np.concatenate([p.numpy().ravel() for _, p in model.named_parameters()])
    world.agree("the parameters", whole.tobytes().hex())
    buckets = len(next(iter(step._made.values()))[2]._buckets)
    return {"seen": seen, "buckets": buckets, "sum": float(np.abs(whole).sum())}


def masked_steps(world):
    """The same with dropout, on 5 samples: uneven shares."""
    return steps(world, 0.3, 5)


def trained(world):
    """The losses of a trainer in each process, which is stopped and resumed halfway; the first of them writes."""
    from forgenb import optim
    from forgenb.data import Share
    from forgenb.models import GPT, GPTConfig
    from forgenb.train import Trainer, TrainingFolder, distributed, evaluate

    with tempfile.TemporaryDirectory() as own:
        place = world.text(own)
        for steps in (2, 4):
            model = GPT(GPTConfig(11, 8, 2, 2, 8, 0.2), seed=3)
            optimizer = optim.AdamW(model.named_parameters(), lr=1e-2)
            step = distributed.DistributedStep(model, optimizer, 0.5, world, 6)
            trainer = Trainer(
                step,
                Share(lambda step: (IDS[step % 4][..., :-1], IDS[step % 4][..., 1:]), step.part),
                steps=steps,
                validate=functools.partial(evaluate, model, IDS[0][:, :-1], IDS[0][:, 1:]),
                eval_every=1,
                folder=TrainingFolder(place, resume=True, write=world.first),
            )
            done = trainer.step
            trainer.run()
            world.agree("the best loss", repr(trainer.best_val))
        found = [(report.train_loss, report.val_loss) for report in trainer.history()]
        world.agree("the losses", repr(found))
        return {"losses": found, "done": done, "files": sorted(os.listdir(place))}


def messages(world):
    """Every way in which processes talk."""
    rank = world.rank
    numbers = np.arange(3.0) + rank
    world.sum(numbers)
    begun = np.full(4, rank + 1, "float32")
    world.begin_sum(begun).Wait()
    arrays = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.array(7), "none": np.zeros((0, 2), "float32")}
    got = world.arrays(arrays if world.first else {})
    for name, a in arrays.items():
        np.testing.assert_array_equal(got[name], a, strict=True)
    return {
        "sum": numbers.tolist(),
        "begun": begun.tolist(),
        "total": world.total(rank),
        "any": [world.any(rank == world.size - 1), world.any(False)],
        "text": world.text(f"\u00e9 of {rank}"),
        "neighbours": world.neighbours(),
        "first": world.first,
        "arrays": sorted(got),
    }


def disagreement(world):
    """All of them notice that one differs."""
    from forgenb.errors import ArgumentError

    world.agree("the width", "8")
    try:
        world.agree("the width", "8" if world.first else "9")
    except ArgumentError as error:
        assert world.total(1) == world.size
        return str(error)


def too_many(world):
    """More processes than samples."""
    from forgenb.errors import ArgumentError

    try:
        steps(world, samples=1)
    except ArgumentError as error:
        return str(error)


def staged(world):
    """Gradients in half precision, which MPI does not add, and those of a device, go by way of the host."""
    import forgenb as fnb
    from forgenb import train
    from forgenb.train.distributed import Reduction

    with fnb.use("python"):
        w = fnb.Parameter(fnb.tensor(np.array([1, 2], "float16"), name="w"))
        v = fnb.Parameter(fnb.tensor(np.array([1.0, 2.0], "float32"), name="v"))
        with fnb.capture():
            loss = (w * float(world.rank + 1)).sum() + (v * float(world.rank + 2)).sum()
        update = train.grad_update(loss)
        reduction = Reduction(world, update.arenas)
        train.to_routine(update, pauses=reduction.pauses()).run()
        reduction.finish()
        return {"w": w.grad.numpy().tolist(), "v": v.grad.numpy().tolist(), "late": len(reduction._late)}


def failure(world):
    """One process fails alone, and ends all of them."""
    if world.rank == 1:
        world.abort(7)
    world.any(True)


if __name__ == "__main__":
    from forgenb.train.distributed import world as started

    everybody = started()
    results = [globals()[name](everybody) for name in sys.argv[1:]]
    if everybody.first:
        print(json.dumps(results))
