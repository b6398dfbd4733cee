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
        abs abs_grad argmax argmin assign_ astype broadcast_to clip clip_grad concat diagonal equal expand_dims flip
        floor getitem greater greater_equal kv_append kv_put less less_equal logical_and logical_not logical_or
        logical_xor max max_pool2d maximum maximum_grad merge_heads min minimum moveaxis neg not_equal pad relu
        relu_grad reshape roll sign split split_heads squeeze stack swapaxes take take_along_axis transpose tril triu
        undiagonal unmerge_heads unslice unsplit_head unsplit_heads where
    """,
    ROUNDED: "add sub mul div outer scale sqrt square square_grad dropout embedding",
    SUM: """
        attention attention_grad avg_pool2d avg_pool2d_grad batchnorm batchnorm_grad batchnorm_inference bce_with_logits
        bce_with_logits_grad cached_attention
        conv1d conv2d conv2d_input_grad conv2d_weight_grad cross_entropy cross_entropy_grad cumsum
        dot einsum groupnorm groupnorm_grad gru_cell gru_cell_grad huber_loss kl_div kl_terms l1_loss layernorm
        layernorm_grad log_softmax_grad logsumexp lstm_cell lstm_cell_grad matmul mean mse_loss nll_loss norm rmsnorm
        rmsnorm_grad rope softmax_grad std sum sum_rows sumsq
        unfused_attention var
    """,
}

RESULTS: dict[str, Bound] = {
    **{name: kind for kind, names in _KINDS.items() for name in names.split()},
    "cosh": Bound(2.5, reason="an exponential and its inverse added"),
    "elu_grad": Bound(2.5, reason="two products after the exponential"),
    "gelu": Bound(32.0, reason="a cubic before the exponential, which multiplies its error by its argument"),
    "gelu_erf": Bound(4.0, "largest", "1 + erf cancels below 0"),
    "gelu_erf_grad": Bound(4.0, "largest", "1 + erf cancels below 0"),
    "gelu_grad": Bound(24.0, "largest", "see gelu; the slope changes its sign at x = -0.75"),
    "log_softmax": Bound(4.0, "largest", "a sum and a logarithm after the exponential"),
    "logsigmoid": Bound(4.0, reason="a logarithm of an exponential, and an addition"),
    "prod": Bound(8.0, reason="up to 60 factors, each product rounded"),
    "rsqrt_grad": Bound(2.5, reason="four products, each rounded"),
    "scatter_add": Bound(32.0, "largest", "200 terms, one after another"),
    "scatter_add_": Bound(32.0, "largest", "200 terms, one after another"),
    "scatter_add_along_axis": Bound(2.0, "largest", "a few terms of both signs"),
    "sigmoid": Bound(4.0, reason="an addition and a division after the exponential"),
    "silu": Bound(4.0, reason="a product after the logistic function"),
    "silu_grad": Bound(8.0, "largest", "the slope changes its sign at x = -1.28"),
    "sinh": Bound(3.0, reason="a quotient and a sum after the exponential"),
    "softmax": Bound(4.0, reason="a sum and a division after the exponential"),
    "softplus": Bound(4.0, reason="a logarithm of an exponential, and an addition"),
    "tan": Bound(3.0, reason="a quotient of a sine and a cosine"),
}

GRADIENTS: dict[str, Bound] = {
    "batchnorm_grad": Bound(8.0, "largest", "second derivatives are sums of sums of both signs"),
    "batchnorm": Bound(32.0, "largest", "2000 terms of both signs in one number"),
    "batchnorm_inference": Bound(32.0, "largest", "2000 terms of both signs in one number"),
    "bce_with_logits_grad": Bound(32.0, "largest", "a sum of sigmoid(z) - y, of which little may be left"),
    "gelu": Bound(8.0, "largest", "see gelu_grad"),
    "gelu_erf_grad": Bound(16.0, "largest", "2 - x^2 and 1 + erf cancel"),
    "gelu_grad": Bound(16.0, "largest", "see gelu; the curvature changes its sign at x = -1.41 and 1.41"),
    "groupnorm_grad": Bound(16.0, "largest", "see layernorm_grad"),
    "gru_cell": Bound(16.0, "largest", "1 - n^2 and 1 - r of numbers that are rounded already"),
    "gru_cell_grad": Bound(16.0, "largest", "see gru_cell"),
    "layernorm_grad": Bound(16.0, "largest", "g - mean(g) - xhat mean(g xhat), of which little may be left"),
    "logsumexp": Bound(16.0, "largest", "exp of a difference multiplies the rounding of both by its argument"),
    "lstm_cell": Bound(16.0, "largest", "1 - g^2 and 1 - i of numbers that are rounded already"),
    "prod": Bound(8.0, "largest", "up to 60 factors, each product rounded"),
    "rmsnorm": Bound(8.0, "largest", "g - xhat mean(g xhat), of which little may be left"),
    "rmsnorm_grad": Bound(16.0, "largest", "see rmsnorm"),
    "sigmoid": Bound(16.0, "largest", "1 - out from an out that is rounded already"),
    "silu_grad": Bound(16.0, "largest", "two terms of both signs, which cancel where the slope is 0"),
    "softmax": Bound(8.0, "largest", "dout - sum(out dout) from an out that is rounded already"),
    "std": Bound(16.0, "largest", "x less a mean that is rounded, over a root"),
    "tanh": Bound(8.0, "largest", "1 - out^2 from an out that is rounded already"),
    "unfused_attention": Bound(16.0, "largest", "see softmax"),
    "var": Bound(16.0, "largest", "x less a mean that is rounded"),
}

BACKENDS: dict[tuple[str, str], Bound] = {}
"""(op, backend) -> the bound of its results there, where the backend's arithmetic needs another one."""


def bound(name: str, backend: str) -> Bound:
    """The bound of an op's results on a backend."""
    return BACKENDS.get((name, backend)) or RESULTS.get(name, ELEMENT)


def gradient_bound(name: str) -> Bound:
    """The bound of an op's gradients in short dtypes."""
    return GRADIENTS.get(name, GRADIENT)
