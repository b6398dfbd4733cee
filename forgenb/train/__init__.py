"""Training: a loop for any model with callbacks, metrics and checkpoints, and the character-level GPT as one use of it.

`Trainer` is the loop, `TrainStep` what it does in a step. `CharRun.start` and `CharRun.resume` give a run of
``forgenb train``.

`steps` has the programs of a step, `workers` what shares a batch out, `persistence` the files, `loop` the trainer, and
`characters` the runs of a GPT of characters; `distributed` has several processes. All names that others use are here.
Imports its own modules; what a terminal shows is `forgenb.cli`.
"""

from forgenb.train import distributed
from forgenb.train.characters.build import build_model, build_optimizer
from forgenb.train.characters.char_run import CharRun
from forgenb.train.characters.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from forgenb.train.characters.config import TrainConfig
from forgenb.train.characters.corpus import Corpus, prepare
from forgenb.train.characters.quantizing import QuantizedRun, quantize_run
from forgenb.train.characters.run_folder import RunFolder, latest_run, next_run
from forgenb.train.loop.callback import Callback
from forgenb.train.loop.callbacks import BestCheckpoint, EarlyStopping, JsonLines
from forgenb.train.loop.evaluate import evaluate
from forgenb.train.loop.loss_plot import LossPlot
from forgenb.train.loop.progress_bar import ProgressBar
from forgenb.train.loop.report import DivergedError, StepReport
from forgenb.train.loop.train_step import TrainStep
from forgenb.train.loop.trainer import Trainer
from forgenb.train.persistence.folder import TrainingFolder
from forgenb.train.persistence.metrics import read_metrics
from forgenb.train.persistence.params import LoadedParams, load_params, save_params
from forgenb.train.steps.descent import sgd_one, sgd_update
from forgenb.train.steps.modes import retain_all, set_hosted, set_materialized, set_on_host, set_virtual
from forgenb.train.steps.once import forward_and_forget, forward_once
from forgenb.train.steps.parameters import diff_or_error, is_param, parameters
from forgenb.train.steps.programs import Update, forward, grad_update, grad_update_nochecks, sequence, to_routine
from forgenb.train.workers.accumulated import AccumulatedStep
from forgenb.train.workers.loops import round_robin, round_robin_dry_run, sequential_loop, tree_schedule
from forgenb.train.workers.parallel import ParallelUpdate, parallel_update, suggest_streams
from forgenb.train.workers.shards import ShardedStep
from forgenb.train.workers.share import shares
from forgenb.train.workers.train_loop import train_loop
from forgenb.train.workers.train_result import BatchReport, EpochReport, TrainResult

__all__ = [
    "AccumulatedStep",
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
    "QuantizedRun",
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
    "quantize_run",
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
