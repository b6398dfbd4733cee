"""Activations and losses as modules, for `Sequential` and for settings that go with a model.

Imports the ops and `module`; nothing here has parameters.
"""

from __future__ import annotations

from typing import Any

from ..ops import losses
from ..ops.activations import relu, sigmoid, tanh
from ..ops.binary_loss import bce_with_logits
from ..ops.class_losses import nll_loss
from ..ops.cross_entropy import cross_entropy
from ..ops.error_function import gelu_erf
from ..ops.gelu import gelu
from ..ops.log_softmax import log_softmax
from ..ops.rectifiers import elu, leaky_relu, logsigmoid, silu, softplus
from ..ops.softmax import softmax
from ..tensor import Tensor
from .module import Module


class ReLU(Module):
    """The rectifier, element by element."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.relu`."""
        return relu(x)


class LeakyReLU(Module):
    """The rectifier that lets a share of negative numbers through, element by element.

    Parameters
    ----------
    slope : float
        That share.
    """

    def __init__(self, slope: float = 0.01):
        self.slope = slope

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.leaky_relu`."""
        return leaky_relu(x, self.slope)


class ELU(Module):
    """The exponential linear unit, element by element.

    Parameters
    ----------
    alpha : float
        Minus the limit towards minus infinity.
    """

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.elu`."""
        return elu(x, self.alpha)


class SiLU(Module):
    """The logistic function times its argument, element by element."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.silu`."""
        return silu(x)


class Softplus(Module):
    """The smooth rectifier, element by element."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.softplus`."""
        return softplus(x)


class LogSigmoid(Module):
    """The logarithm of the logistic function, element by element."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.logsigmoid`."""
        return logsigmoid(x)


class GELU(Module):
    """The Gaussian error linear unit, element by element.

    Parameters
    ----------
    exact : bool
        Whether by the error function; otherwise by a hyperbolic tangent, as in GPT-2.
    """

    def __init__(self, exact: bool = False):
        self.exact = exact

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.gelu` and `forgenb.ops.gelu_erf`."""
        return gelu_erf(x) if self.exact else gelu(x)


class Tanh(Module):
    """The hyperbolic tangent, element by element."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.tanh`."""
        return tanh(x)


class Sigmoid(Module):
    """The logistic function, element by element."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.sigmoid`."""
        return sigmoid(x)


class Softmax(Module):
    """Softmax over the last axis."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.softmax`."""
        return softmax(x)


class LogSoftmax(Module):
    """Log-softmax over the last axis."""

    def forward(self, x: Tensor) -> Tensor:
        """See `forgenb.ops.log_softmax`."""
        return log_softmax(x)


class CrossEntropyLoss(Module):
    """Mean cross entropy of logits.

    Parameters
    ----------
    label_smoothing : float
        How much of each label is shared out to all classes.
    ignore_index : int, optional
        A target that does not count.
    """

    def __init__(self, label_smoothing: float = 0.0, ignore_index: int | None = None):
        self.label_smoothing, self.ignore_index = label_smoothing, ignore_index

    def forward(self, logits: Tensor, targets: Any) -> Tensor:
        """See `forgenb.ops.cross_entropy`."""
        return cross_entropy(logits, targets, self.label_smoothing, self.ignore_index)


class NLLLoss(Module):
    """Mean negative log likelihood of log probabilities.

    Parameters
    ----------
    ignore_index : int, optional
        A target that does not count.
    """

    def __init__(self, ignore_index: int | None = None):
        self.ignore_index = ignore_index

    def forward(self, log_probs: Tensor, targets: Any) -> Tensor:
        """See `forgenb.ops.nll_loss`."""
        return nll_loss(log_probs, targets, self.ignore_index)


class BCEWithLogitsLoss(Module):
    """Mean binary cross entropy of logits."""

    def forward(self, logits: Tensor, targets: Any) -> Tensor:
        """See `forgenb.ops.bce_with_logits`."""
        return bce_with_logits(logits, targets)


class MSELoss(Module):
    """Mean squared error."""

    def forward(self, x: Tensor, y: Any) -> Tensor:
        """See `forgenb.ops.mse_loss`."""
        return losses.mse_loss(x, y)


class L1Loss(Module):
    """Mean absolute error."""

    def forward(self, x: Tensor, y: Any) -> Tensor:
        """See `forgenb.ops.l1_loss`."""
        return losses.l1_loss(x, y)


class HuberLoss(Module):
    """Mean of Huber's function of the error.

    Parameters
    ----------
    delta : float
        Where the square becomes a line.
    """

    def __init__(self, delta: float = 1.0):
        self.delta = delta

    def forward(self, x: Tensor, y: Any) -> Tensor:
        """See `forgenb.ops.huber_loss`."""
        return losses.huber_loss(x, y, self.delta)


class KLDivLoss(Module):
    """Kullback-Leibler divergence, its mean over rows."""

    def forward(self, log_probs: Tensor, targets: Any) -> Tensor:
        """See `forgenb.ops.kl_div`."""
        return losses.kl_div(log_probs, targets)
