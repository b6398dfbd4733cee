"""``forgenb train``: train a character-level GPT, or go on with a run.

Imports `forgenb.train` and `progress`; the loop itself is `forgenb.train.loop.trainer`.
"""

import os
import sys
from argparse import Namespace
from dataclasses import fields, replace
from pathlib import Path

from forgenb.backend import get_backend, use
from forgenb.cli.common import Commands, catch_stop, say
from forgenb.cli.failure import failed_together
from forgenb.cli.progress import Bar, Lines, Rows
from forgenb.errors import ArgumentError
from forgenb.models import generate
from forgenb.train import Callback, CharRun, EarlyStopping, LossPlot, RunFolder, TrainConfig, distributed, next_run
from forgenb.train.characters.starting import config_from
from forgenb.train.distributed import World

__all__ = ["add_to"]

SAMPLE_TOKENS = 200

OPTIONS = {
    "data": (str, "FILE", "a UTF-8 text; without it the help pages that every CPython carries"),
    "steps": (int, "N", "optimiser steps in all"),
    "layers": (int, "N", "transformer blocks"),
    "heads": (int, "N", "attention heads; they divide the width"),
    "width": (int, "N", "channels"),
    "context": (int, "N", "characters that the model looks back on"),
    "batch": (int, "N", "windows in a step"),
    "lr": (float, "X", "the highest learning rate"),
    "min_lr": (float, "X", "the learning rate at the end; a tenth of --lr where only that is given"),
    "warmup": (int, "N", "steps in which the rate rises"),
    "dropout": (float, "P", "share of activations dropped in training"),
    "decay": (float, "X", "weight decay of matrices"),
    "clip": (float, "X", "gradient norm above which gradients are scaled down"),
    "accumulate": (int, "N", "parts in which a batch passes through the model, for less memory; they divide the batch"),
    "seed": (int, "N", "of initial values, batches and dropout"),
    "seed_rule": (str, "RULE", "of dropout's masks: step, the same for any --accumulate, or pass, 1000 step + part"),
    "eval_every": (int, "N", "steps between evaluations, each of which saves a checkpoint"),
    "backend": (str, "NAME", "where it runs; forgenb backends lists them"),
}


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "train",
        help="train a character-level GPT",
        description="Train a character-level GPT on a text. A run is a folder with its choices, curve and "
        "checkpoints; it can be interrupted at any moment and resumed with the same result. Several processes train "
        "together by mpiexec -n N forgenb train.",
    )
    defaults = TrainConfig()
    for name, (kind, shown, text) in OPTIONS.items():
        default = getattr(defaults, name)
        text += f" (default {default})" if default is not None else ""
        parser.add_argument(_flag(name), type=kind, metavar=shown, help=text)
    parser.add_argument(
        "--from",
        dest="start",
        metavar="PATH",
        help="begin with the parameters and characters of another run, or of a checkpoint of one",
    )
    parser.add_argument(
        "--freeze-embeddings",
        action="store_true",
        default=None,
        help="leave the tables of characters and positions as they are; the first one is the head too",
    )
    parser.add_argument("--out", metavar="DIR", help="a new folder for the run (default runs/1, runs/2, ...)")
    parser.add_argument("--resume", metavar="DIR", help="go on with the run in this folder")
    parser.add_argument("--eager", action="store_true", help="run every step op by op instead of as one routine")
    parser.add_argument(
        "--recompute",
        action="store_true",
        help="keep only the input of each block and compute it again in backward: less memory, the same bits",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="of the CPU; results do not depend on it")
    parser.add_argument(
        "--streams",
        type=int,
        default=1,
        metavar="N",
        help="share every batch out over N streams, each on a core of its own; sums then round otherwise",
    )
    parser.add_argument("--patience", type=int, metavar="N", help="stop after N evaluations without improvement")
    parser.add_argument("--plot", metavar="FILE", help="draw the losses into an svg, png or pdf file; needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print one JSON object a step")
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Train until all steps are done or someone interrupts; of several processes each has a share of every batch."""
    if distributed.launched() == 1:
        return _run(arguments, None)
    world = distributed.world()
    try:
        world.agree("whether --resume goes on with a run", str(arguments.resume is not None))
        return _run(arguments, world)
    except BaseException as error:
        return failed_together("train", error, world)


def _run(arguments: Namespace, world: World | None) -> int:
    names = (*OPTIONS, "freeze_embeddings", "start")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    first = world is None or world.first
    if arguments.eager and (world is not None or arguments.streams > 1):
        raise ArgumentError(
            "--eager runs a step op by op in one piece: leave it out to share a batch out over streams or processes."
        )
    callbacks = _callbacks(arguments) if first else []
    if arguments.resume is not None:
        if first:
            _check_resume(arguments, given)
        training = CharRun.resume(arguments.resume, given.get("steps"), callbacks, arguments.streams, world)
        _use_threads(training.config.backend, arguments.threads, world)
    else:
        config = _config(given)
        _use_threads(config.backend, arguments.threads, world)
        out = (arguments.out or next_run()) if first else ""
        training = CharRun.start(config, out, callbacks, arguments.streams, world)
    try:
        training.eager = arguments.eager
        training.model.recompute_blocks = arguments.recompute
        return _train(training, arguments.json)
    finally:
        training.close()


def _flag(name: str) -> str:
    return "--from" if name == "start" else "--" + name.replace("_", "-")


def _config(given: dict) -> TrainConfig:
    if "lr" in given and "min_lr" not in given:
        given = {**given, "min_lr": given["lr"] / 10}
    if given.get("data"):
        given = {**given, "data": str(Path(given["data"]).absolute())}
    given.setdefault("backend", os.environ.get("FORGENB_BACKEND") or "cpu")
    start = given.pop("start", None)
    return TrainConfig(**given) if start is None else config_from(start, given)


def _check_resume(arguments: Namespace, given: dict) -> None:
    """Refuse options that contradict those of the run."""
    config = RunFolder.open(arguments.resume).config
    wanted = dict(given)
    for name in ("data", "start"):
        if wanted.get(name):
            wanted[name] = str(Path(wanted[name]).absolute())
    if config.start is not None and wanted.get("start") == str(Path(config.start).parent):
        wanted["start"] = config.start
    against = [
        f"{_flag(field.name)} {given[field.name]} (the run has {getattr(config, field.name)})"
        for field in fields(config)
        if field.name in given and field.name != "steps" and wanted[field.name] != getattr(config, field.name)
    ]
    if arguments.out is not None and Path(arguments.out).resolve() != Path(arguments.resume).resolve():
        against.append(f"--out {arguments.out} (the run goes on in its own folder)")
    if against:
        raise ArgumentError(
            f"The run in {arguments.resume!r} goes on with its own options, which contradict "
            f"{', '.join(against)}: leave these out, or train anew without --resume."
        )
    if "steps" in given:
        replace(config, steps=given["steps"])


def _use_threads(backend: str, threads: int | None, world: World | None) -> None:
    """Of this process; those on one machine share its cores unless they are told otherwise."""
    target = get_backend(backend)
    if threads is None and world is not None and hasattr(target, "threads"):
        threads = max(1, target.threads // world.neighbours())
    if threads is None:
        return
    if not hasattr(target, "threads"):
        raise ArgumentError(f"The backend {backend!r} has no threads to set; leave --threads out.")
    target.threads = threads


def _callbacks(arguments: Namespace) -> list[Callback]:
    """What shows, draws and stops the training; made before anything is written."""
    bar = Bar if sys.stdout.isatty() else Lines
    found: list[Callback] = [Rows() if arguments.json else bar()]
    if arguments.plot is not None:
        found.append(LossPlot(arguments.plot))
    if arguments.patience is not None:
        found.append(EarlyStopping(arguments.patience))
    return found


def _train(training: CharRun, as_json: bool) -> int:
    with catch_stop() as stop:
        for _ in training.steps():
            if stop.requested:
                training.stop("someone interrupted it")
    if training.folder is None:  # the first process tells
        return 130 if stop.requested and training.step < training.total else 0
    stream = sys.stderr if as_json else sys.stdout
    early = training.step < training.total
    if early and stop.requested:
        say(
            f"Stopped after step {training.step} of {training.total}, which is saved. Go on with: "
            f"forgenb train --resume {training.folder.path}",
            stream=sys.stderr,
        )
        return 130
    if early:
        say(f"Stopped after step {training.step} of {training.total}: {training.stopped}.", stream=stream)
    if not as_json:
        _sample(training)
    say(f"\nThe run is in {training.folder.path}", stream=stream)
    return 0


def _sample(training: CharRun) -> None:
    tokenizer = training.corpus.tokenizer
    start = "\n" if "\n" in tokenizer.characters else tokenizer.characters[0]
    say("\nA sample of what it writes:")
    with use(training.config.backend):
        ids = generate(training.model, tokenizer.encode(start).tolist(), SAMPLE_TOKENS, temperature=0.8, seed=1337)
        say(tokenizer.decode(ids))
