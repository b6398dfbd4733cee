"""Convolutions and poolings as layers.

Imports the ops, `init` and `module`; a layer has no kernel of its own.
"""

from __future__ import annotations

from typing import Any

from .. import random
from ..errors import ArgumentError
from ..ops.conv import conv1d, conv2d
from ..ops.pooling import avg_pool2d, max_pool2d
from ..tensor import Tensor
from .init import constant, normal
from .module import Module


class _Conv(Module):
    """What both convolutions share: parameters, and settings for the op."""

    def __init__(
        self,
        c_in: int,
        c_out: int,
        kernel: tuple[int, ...],
        settings: dict[str, Any],
        bias: bool,
        seed: int | None,
        name: str | None,
        std: float | None,
        dtype: Any,
        backend: str | None,
    ):
        kind, groups = type(self).__name__, settings["groups"]
        if min(c_in, c_out, groups, *kernel) < 1 or c_in % groups or c_out % groups:
            raise ArgumentError(
                f"{kind} needs sizes of at least 1 and groups that divide both channels, got c_in={c_in}, "
                f"c_out={c_out}, kernel={kernel} and groups={groups}"
            )
        shape = c_out, c_in // groups, *kernel
        name = random.fresh_name(kind.lower()) if name is None else name
        taps = c_in // groups
        for side in kernel:
            taps *= side
        self.settings = settings
        self.weight = normal(f"{name}.weight", shape, taps**-0.5 if std is None else std, seed, dtype, backend)
        self.bias = constant(f"{name}.bias", (c_out,), 0.0, dtype, backend) if bias else None


class Conv1d(_Conv):
    r"""Convolution over one axis, ``[n, c_in, l]`` to ``[n, c_out, l']``; see `forgenb.ops.conv1d`.

    Parameters
    ----------
    c_in, c_out : int
        Channels of input and output.
    kernel, stride, padding, dilation, groups : int
        See the op.
    bias : bool
        Whether there is a bias.
    seed, name, dtype, backend : optional
        As for `Linear`.
    std : float, optional
        Of the initial weights; by default :math:`1/\sqrt{fan_{in}}`. The bias starts at zero.

    Attributes
    ----------
    weight : Parameter, ``(c_out, c_in / groups, kernel)``
    bias : Parameter, ``(c_out,)``, or None
    """

    def __init__(
        self,
        c_in: int,
        c_out: int,
        kernel: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        seed: int | None = None,
        name: str | None = None,
        std: float | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        super().__init__(c_in, c_out, (kernel,), settings, bias, seed, name, std, dtype, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve ``x[n, c_in, l]``."""
        return conv1d(x, self.weight, self.bias, **self.settings)


Sides = int | tuple[int, int]


class Conv2d(_Conv):
    r"""Convolution over two axes, ``[n, c_in, h, w]`` to ``[n, c_out, h', w']``; see `forgenb.ops.conv2d`.

    Parameters
    ----------
    c_in, c_out : int
        Channels of input and output.
    kernel, stride, padding, dilation : int or (int, int)
        See the op.
    groups : int
        See the op.
    bias : bool
        Whether there is a bias.
    seed, name, std, dtype, backend : optional
        As for `Conv1d`.

    Attributes
    ----------
    weight : Parameter, ``(c_out, c_in / groups, kh, kw)``
    bias : Parameter, ``(c_out,)``, or None
    """

    def __init__(
        self,
        c_in: int,
        c_out: int,
        kernel: Sides,
        stride: Sides = 1,
        padding: Sides = 0,
        dilation: Sides = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        seed: int | None = None,
        name: str | None = None,
        std: float | None = None,
        dtype: Any = None,
        backend: str | None = None,
    ):
        settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        super().__init__(c_in, c_out, sides, settings, bias, seed, name, std, dtype, backend)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve ``x[n, c_in, h, w]``."""
        return conv2d(x, self.weight, self.bias, **self.settings)


class MaxPool2d(Module):
    """The largest number under a window; see `forgenb.ops.max_pool2d`.

    Parameters
    ----------
    kernel, stride, padding : int or (int, int)
        See the op.
    """

    def __init__(self, kernel: Sides, stride: Sides | None = None, padding: Sides = 0):
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def forward(self, x: Tensor) -> Tensor:
        """Pool ``x[n, c, h, w]``."""
        return max_pool2d(x, self.kernel, self.stride, self.padding)


class AvgPool2d(Module):
    """The mean under a window; see `forgenb.ops.avg_pool2d`.

    Parameters
    ----------
    kernel, stride, padding : int or (int, int)
        See the op.
    """

    def __init__(self, kernel: Sides, stride: Sides | None = None, padding: Sides = 0):
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def forward(self, x: Tensor) -> Tensor:
        """Pool ``x[n, c, h, w]``."""
        return avg_pool2d(x, self.kernel, self.stride, self.padding)
