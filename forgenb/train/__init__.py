"""Training a character-level GPT: its configuration, its folder with checkpoints, and the loop.

`Trainer.start` and `Trainer.resume` give a run, whose `steps` trains it.

Imports its own modules; what a terminal shows is `forgenb.cli`.
"""

from forgenb.train import distributed
from forgenb.train.build import build_model, build_optimizer
from forgenb.train.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from forgenb.train.config import TrainConfig
from forgenb.train.corpus import Corpus, prepare
from forgenb.train.descent import sgd_one, sgd_update
from forgenb.train.evaluate import evaluate
from forgenb.train.loop import DivergedError, StepReport, Trainer
from forgenb.train.loops import round_robin, round_robin_dry_run, sequential_loop, tree_schedule
from forgenb.train.metrics import read_metrics
from forgenb.train.parallel import ParallelUpdate, parallel_update, suggest_streams
from forgenb.train.parameters import diff_or_error, is_param, parameters
from forgenb.train.params import LoadedParams, load_params, save_params
from forgenb.train.programs import Update, forward, grad_update, grad_update_nochecks, sequence, to_routine
from forgenb.train.run_folder import RunFolder, latest_run, next_run
from forgenb.train.shards import ShardedStep
from forgenb.train.share import shares

__all__ = [
    "Checkpoint",
    "Corpus",
    "DivergedError",
    "LoadedParams",
    "ParallelUpdate",
    "RunFolder",
    "ShardedStep",
    "StepReport",
    "TrainConfig",
    "Trainer",
    "Update",
    "build_model",
    "build_optimizer",
    "diff_or_error",
    "distributed",
    "evaluate",
    "forward",
    "grad_update",
    "grad_update_nochecks",
    "is_param",
    "latest_run",
    "load_checkpoint",
    "load_params",
    "next_run",
    "parallel_update",
    "parameters",
    "prepare",
    "read_metrics",
    "round_robin",
    "round_robin_dry_run",
    "save_checkpoint",
    "save_params",
    "sequence",
    "sequential_loop",
    "sgd_one",
    "sgd_update",
    "shares",
    "suggest_streams",
    "to_routine",
    "tree_schedule",
]
