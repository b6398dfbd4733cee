"""What the machine reaches at most, through forgenb itself: products in float32, and copies of large arrays."""

from __future__ import annotations

from forgenb.backend import get_backend
from forgenb.routine.peaks import measure_peaks

__all__ = ["limits"]


def limits() -> dict[str, float]:
    """GFLOP/s of the best among a few products, and GB/s read and written by a large copy."""
    found = measure_peaks(get_backend())
    return {"sgemm_gflops": found.gflops, "copy_gb_s": found.copy_gb_s}
