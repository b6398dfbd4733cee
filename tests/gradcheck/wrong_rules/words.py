"""Which words of the collection each name of the diagnosis stands for; written before the first score
(but for "mask-wrong" and "wrong-axis", which came with hypotheses of their own).

The collection has the plain words of a teacher, the diagnosis finer names. A name that stands for no word is right in
no case.
"""

from .case import (
    ARGUMENT,
    CHAIN,
    DROPPED,
    FACTOR,
    MASK,
    MEAN,
    NONE,
    OVERWRITTEN,
    SHIFT,
    SIGN,
    STALE,
    SWAPPED,
    TRANSPOSE,
    UNSUMMED,
    ZERO,
)

WORDS: dict[str | None, set[str]] = {
    "zero": {ZERO},
    "sign": {SIGN},
    "factor": {FACTOR},
    "factor-of-values": {CHAIN},
    "chain": {CHAIN},
    "ignores-incoming": {CHAIN},
    "changed-incoming": set(),
    "merged-incoming": {UNSUMMED},
    "mean-for-sum": {MEAN},
    "sum-for-mean": {MEAN},
    "operands-swapped": {SWAPPED},
    "wrong-argument": {ARGUMENT},
    "wrong-operand": {ARGUMENT},
    "output-for-input": {ARGUMENT},
    "input-for-output": {ARGUMENT},
    "negated-input": {ARGUMENT, SIGN},
    "transpose": {TRANSPOSE},
    "reversed": {TRANSPOSE},
    "off-by-one": {SHIFT},
    "wrong-index": {SHIFT},
    "broadcast": {UNSUMMED},
    "wrong-axis": {UNSUMMED},
    "not-spread": {UNSUMMED},
    "kept-axes": {UNSUMMED},
    "overwritten": {OVERWRITTEN},
    "output-left-out": {DROPPED},
    "mask-inverted": {MASK},
    "mask-missing": {MASK},
    "mask-wrong": {MASK},
    "stale": {STALE},
    "term-dropped": {DROPPED},
    "value-for-derivative": set(),
    "wrong-function": set(),
    None: {NONE},
}
