"""The model and the optimiser that the choices of a run describe.

Imports models and optimisers; nothing is trained here.
"""

from forgenb.models import GPT, GPTConfig
from forgenb.optim import AdamW, Optimizer
from forgenb.train.characters.config import TrainConfig

__all__ = ["build_model", "build_optimizer", "gpt_config"]


def gpt_config(config: TrainConfig, vocabulary: int) -> GPTConfig:
    """The sizes of a run's model, for so many different characters; nothing is allocated."""
    c = config
    return GPTConfig(vocabulary, c.context, c.layers, c.heads, c.width, c.dropout)


def build_model(config: TrainConfig, vocabulary: int) -> GPT:
    """Return the model of a run, with the initial values of its seed, on the backend in use; frozen where it says so.

    Parameters
    ----------
    config
        The run's choices.
    vocabulary
        How many characters its text has.
    """
    model = GPT(gpt_config(config, vocabulary), seed=config.seed)
    if config.freeze_embeddings:
        model.wte.freeze()
        model.wpe.freeze()
    return model


def build_optimizer(config: TrainConfig, model: GPT) -> Optimizer:
    """Return the optimiser of a run: AdamW, which lets matrices decay and nothing else."""
    c = config
    return AdamW(model.named_parameters(), lr=c.lr, betas=c.betas, weight_decay=c.decay)
