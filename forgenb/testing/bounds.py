"""How close is close: the most ulps that an op may be off, by kind, with a reason wherever one is loosened.

An op that only moves or chooses numbers is exact; one rounding of an exact result is half an ulp; everything else that
works element by element has `ELEMENT`. Where terms of both signs are added, cancellation leaves no bound in ulps of the
element, so these count in ulps of the largest number among operands and results. Gradients in float16 and float32 are
measured against those in float64, in ulps of the largest entry.
"""

from __future__ import annotations

from typing import NamedTuple


class Bound(NamedTuple):
    """The most ulps, and of what they are: the "element" or the "largest" number."""

    ulps: float
    of: str = "element"
    reason: str = ""


EXACT = Bound(0.0)
ROUNDED = Bound(0.51, reason="one rounding, and that of the reference itself")
ELEMENT = Bound(2.0)
SUM = Bound(8.0, "largest", "up to 2500 terms of both signs, in an order that the backend chooses")
GRADIENT = Bound(4.0, "largest")

_KINDS = {
    EXACT: """
        abs abs_grad argmax argmin assign_ astype broadcast_to clip clip_grad concat equal expand_dims flip getitem
        greater greater_equal kv_append less less_equal max max_pool2d maximum maximum_grad merge_heads min minimum
        moveaxis neg not_equal relu relu_grad reshape split split_heads squeeze stack swapaxes take transpose
        unmerge_heads unslice unsplit_head unsplit_heads where
    """,
    ROUNDED: "add sub mul div scale sqrt square square_grad dropout embedding",
    SUM: """
        attention attention_grad avg_pool2d avg_pool2d_grad batchnorm batchnorm_inference bce_with_logits
        bce_with_logits_grad conv1d conv2d conv2d_input_grad conv2d_weight_grad cross_entropy cross_entropy_grad
        groupnorm groupnorm_grad gru_cell gru_cell_grad huber_loss kl_div kl_terms l1_loss layernorm layernorm_grad
        log_softmax_grad lstm_cell lstm_cell_grad matmul mean mse_loss nll_loss rmsnorm rmsnorm_grad rope
        smoothed_cross_entropy smoothed_cross_entropy_grad softmax_grad sum sum_rows sumsq trailing_layernorm
        unfused_attention
    """,
}

RESULTS: dict[str, Bound] = {
    **{name: kind for kind, names in _KINDS.items() for name in names.split()},
    "batchnorm_grad": Bound(32.0, "largest", "1500 terms of both signs in one number"),
    "gelu": Bound(32.0, reason="a cubic before the exponential, which multiplies its error by its argument"),
    "gelu_grad": Bound(24.0, "largest", "see gelu; the slope changes its sign at x = -0.75"),
    "log_softmax": Bound(4.0, "largest", "a sum and a logarithm after the exponential"),
    "scatter_add": Bound(32.0, "largest", "200 terms, one after another"),
    "scatter_add_": Bound(32.0, "largest", "200 terms, one after another"),
    "sigmoid": Bound(4.0, reason="an addition and a division after the exponential"),
    "softmax": Bound(4.0, reason="a sum and a division after the exponential"),
}

GRADIENTS: dict[str, Bound] = {
    "batchnorm": Bound(32.0, "largest", "1500 terms of both signs in one number"),
    "batchnorm_inference": Bound(32.0, "largest", "1500 terms of both signs in one number"),
    "gelu": Bound(8.0, "largest", "see gelu_grad"),
    "gru_cell": Bound(16.0, "largest", "1 - n^2 and 1 - r of numbers that are rounded already"),
    "lstm_cell": Bound(16.0, "largest", "1 - g^2 and 1 - i of numbers that are rounded already"),
    "rmsnorm": Bound(8.0, "largest", "g - xhat mean(g xhat), of which little may be left"),
    "sigmoid": Bound(16.0, "largest", "1 - out from an out that is rounded already"),
    "softmax": Bound(8.0, "largest", "dout - sum(out dout) from an out that is rounded already"),
    "tanh": Bound(8.0, "largest", "1 - out^2 from an out that is rounded already"),
    "unfused_attention": Bound(16.0, "largest", "see softmax"),
}

BACKENDS: dict[tuple[str, str], Bound] = {}
"""(op, backend) -> the bound of its results there, where the backend's arithmetic needs another one."""


def bound(name: str, backend: str) -> Bound:
    """The bound of an op's results on a backend."""
    return BACKENDS.get((name, backend)) or RESULTS.get(name, ELEMENT)


def gradient_bound(name: str) -> Bound:
    """The bound of an op's gradients in short dtypes."""
    return GRADIENTS.get(name, GRADIENT)
