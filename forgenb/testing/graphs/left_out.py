"""Ops of the table and keywords that random graphs do not draw, each with its reason.

An op has a recipe or stands here, and so does each of its keywords; a test refuses a third.
"""

from __future__ import annotations

_BACKWARD = "the backward of {0}: every sweep through {0} runs it; tests/ops/test_second_order.py has its own rule"
_IN_PLACE = "writes into its first operand: tests/properties/test_in_place.py writes into the values of random graphs"

LEFT_OUT: dict[str, str] = {
    **{
        f"{name}_grad": _BACKWARD.format(name)
        for name in (
            "attention", "batchnorm", "bce_with_logits", "cross_entropy", "gelu", "groupnorm", "gru_cell", "layernorm",
            "log_softmax", "lstm_cell", "rmsnorm", "softmax",
        )
    },
    **dict.fromkeys(("assign_", "kv_append", "kv_put", "scatter_add_"), _IN_PLACE),
    "cached_attention": "has no gradient and reads a cache: tests/ops/test_cached_attention.py has attention",
}  # fmt: skip
"""Op -> why."""

_RANDOM = (
    "dropout of weights that the op does not hand out; the op dropout is drawn, and attention has tests of its own"
)

KEYWORDS_LEFT_OUT: dict[tuple[str, str], str] = {
    **{("attention", keyword): _RANDOM for keyword in ("p", "seed", "offset")},
    ("attention", "weights"): "hands out what has no gradient: tests/ops/test_attention_weights.py",
    ("batchnorm", "running"): "a state that the op moves in place: tests/nn has steps of it against PyTorch",
    ("batchnorm", "momentum"): "how far running moves",
    ("unfused_attention", "weights"): "hands out a softmax, which is drawn as an op",
}
"""(op, keyword) -> why."""
