"""Faults planted in the backward rules of the op table, to see whether its tests find them.

`score` plants every fault, one at a time, and runs the tests of the op; ``forgenb score`` prints what it found::

    for found in score(["softmax"]):
        print(found.op, found.planted, found.rejected, found.survivors)
"""

from .equivalent import EQUIVALENT
from .page import page, summary
from .plant import Fault
from .scores import Score, score

__all__ = ["EQUIVALENT", "Fault", "Score", "page", "score", "summary"]
