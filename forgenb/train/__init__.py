"""Training: a loop for any model with callbacks, metrics and checkpoints, and the character-level GPT as one use of it.

`Trainer` is the loop, `TrainStep` what it does in a step. `CharRun.start` and `CharRun.resume` give a run of
``forgenb train``.

Imports its own modules; what a terminal shows is `forgenb.cli`.
"""

from forgenb.train import distributed
from forgenb.train.build import build_model, build_optimizer
from forgenb.train.callback import Callback
from forgenb.train.callbacks import BestCheckpoint, EarlyStopping, JsonLines
from forgenb.train.char_run import CharRun
from forgenb.train.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from forgenb.train.config import TrainConfig
from forgenb.train.corpus import Corpus, prepare
from forgenb.train.descent import sgd_one, sgd_update
from forgenb.train.evaluate import evaluate
from forgenb.train.folder import TrainingFolder
from forgenb.train.loops import round_robin, round_robin_dry_run, sequential_loop, tree_schedule
from forgenb.train.loss_plot import LossPlot
from forgenb.train.metrics import read_metrics
from forgenb.train.modes import retain_all, set_hosted, set_materialized, set_on_host, set_virtual
from forgenb.train.once import forward_and_forget, forward_once
from forgenb.train.parallel import ParallelUpdate, parallel_update, suggest_streams
from forgenb.train.parameters import diff_or_error, is_param, parameters
from forgenb.train.params import LoadedParams, load_params, save_params
from forgenb.train.programs import Update, forward, grad_update, grad_update_nochecks, sequence, to_routine
from forgenb.train.progress_bar import ProgressBar
from forgenb.train.report import DivergedError, StepReport
from forgenb.train.run_folder import RunFolder, latest_run, next_run
from forgenb.train.shards import ShardedStep
from forgenb.train.share import shares
from forgenb.train.train_loop import train_loop
from forgenb.train.train_result import BatchReport, EpochReport, TrainResult
from forgenb.train.train_step import TrainStep
from forgenb.train.trainer import Trainer

__all__ = [
    "BatchReport",
    "BestCheckpoint",
    "Callback",
    "CharRun",
    "Checkpoint",
    "Corpus",
    "DivergedError",
    "EarlyStopping",
    "EpochReport",
    "JsonLines",
    "LoadedParams",
    "LossPlot",
    "ParallelUpdate",
    "ProgressBar",
    "RunFolder",
    "ShardedStep",
    "StepReport",
    "TrainConfig",
    "TrainResult",
    "TrainStep",
    "Trainer",
    "TrainingFolder",
    "Update",
    "build_model",
    "build_optimizer",
    "diff_or_error",
    "distributed",
    "evaluate",
    "forward",
    "forward_and_forget",
    "forward_once",
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
    "retain_all",
    "round_robin",
    "round_robin_dry_run",
    "save_checkpoint",
    "save_params",
    "sequence",
    "sequential_loop",
    "set_hosted",
    "set_materialized",
    "set_on_host",
    "set_virtual",
    "sgd_one",
    "sgd_update",
    "shares",
    "suggest_streams",
    "to_routine",
    "train_loop",
    "tree_schedule",
]
