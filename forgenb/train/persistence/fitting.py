"""Whether a file of arrays holds what is needed: layouts first, which cost nothing, and then the values.

No model is made here, so sizes that nobody could allocate are compared like any others. Imports the sizes of a GPT and
of an optimiser; opening and closing files is for others.
"""

from itertools import islice

from forgenb.dtypes import FLOAT32
from forgenb.errors import CheckpointError
from forgenb.nn.module import misfits
from forgenb.optim import AdamW
from forgenb.optim.optimizer import state_layouts
from forgenb.storage.documents import listed
from forgenb.storage.finite import Layouts
from forgenb.train.characters.build import gpt_config
from forgenb.train.characters.config import TrainConfig
from forgenb.train.persistence.state import OPTIMIZER, both, under

__all__ = ["check_layouts", "needed_layouts"]


def needed_layouts(config: TrainConfig, vocabulary: int, stored: Layouts) -> Layouts:
    """What a checkpoint of a run holds, by the names that `save_checkpoint` gives: the model, and AdamW or nothing.

    Of a model with more parameters than `stored` has arrays, one more than that are listed, since these are enough to
    see that it does not fit.
    """
    shapes = islice(gpt_config(config, vocabulary).shapes(), len(stored) + 1)
    model = {name: (shape, FLOAT32) for name, shape in shapes}
    kept = under(OPTIMIZER, stored)
    return both(model, state_layouts(model, AdamW.slots, kept) if kept else {})


def check_layouts(place: str, needed: Layouts, stored: Layouts, model: str) -> None:
    """Compare what a checkpoint holds with what is needed; `model` says by whom, as in "this model".

    Raises
    ------
    CheckpointError
        Names, shapes or dtypes differ; the message has the first twenty differences.
    """
    names, shapes = misfits(needed, stored)
    if names or shapes:
        raise CheckpointError(f"The checkpoint {place!r} does not fit {model}: {listed(names + shapes)}.")
