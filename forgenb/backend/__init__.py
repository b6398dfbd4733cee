"""The plug-in contract: interface, registry, and the seam that every launch passes through.

Imports `forgenb.kernel` and `forgenb.errors`; no tensor and no op is known here.
"""

from ..kernel import declare
from .interface import API, Backend
from .metering import PeakMemory, peak_memory
from .options import Settings, settings
from .registry import backends, compiled, get_backend, refresh, use
from .seam import Stats, stats
from .streams import Stream
from .tracing import trace

__all__ = [
    "API",
    "Backend",
    "PeakMemory",
    "Settings",
    "Stats",
    "Stream",
    "backends",
    "compiled",
    "get_backend",
    "peak_memory",
    "refresh",
    "settings",
    "stats",
    "trace",
    "use",
]

declare._BACKENDS[:] = [get_backend]
