"""Ops of the table that random graphs do not draw, each with its reason.

An op has a recipe or stands here; a test refuses a third.
"""

from __future__ import annotations

_BACKWARD = "the backward of {0}, without a rule of its own: every sweep through {0} runs it"
_IN_PLACE = "writes into its first operand: tests/properties/test_in_place.py writes into the values of random graphs"

LEFT_OUT: dict[str, str] = {
    **{
        f"{name}_grad": _BACKWARD.format(name)
        for name in (
            "attention", "batchnorm", "bce_with_logits", "cross_entropy", "gelu", "groupnorm", "gru_cell", "layernorm",
            "log_softmax", "lstm_cell", "rmsnorm", "softmax",
        )
    },
    **dict.fromkeys(("assign_", "kv_append", "scatter_add_"), _IN_PLACE),
}  # fmt: skip
"""Op -> why."""
