"""Training a character-level GPT: its configuration, its folder with checkpoints, and the loop.

`Trainer.start` and `Trainer.resume` give a run, whose `steps` trains it.

Imports its own modules; what a terminal shows is `forgenb.cli`.
"""

from forgenb.train.build import build_model, build_optimizer
from forgenb.train.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from forgenb.train.config import TrainConfig
from forgenb.train.corpus import Corpus, prepare
from forgenb.train.evaluate import evaluate
from forgenb.train.loop import DivergedError, StepReport, Trainer
from forgenb.train.metrics import read_metrics
from forgenb.train.run_folder import RunFolder, latest_run, next_run

__all__ = [
    "Checkpoint",
    "Corpus",
    "DivergedError",
    "RunFolder",
    "StepReport",
    "TrainConfig",
    "Trainer",
    "build_model",
    "build_optimizer",
    "evaluate",
    "latest_run",
    "load_checkpoint",
    "next_run",
    "prepare",
    "read_metrics",
    "save_checkpoint",
]
