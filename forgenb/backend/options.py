"""What a user may set: the object behind ``fnb.settings``.

It stores nothing, so there is one place where each setting lives: the backend in use, or the module that heeds it.
Imports the registry and the progress line; a setting that changes results does not belong here.
"""

from __future__ import annotations

from .progress import STATE
from .registry import get_backend


class Settings:
    """Settings of the backend that creations use now (see `forgenb.use`); an unknown name is refused.

    ``fnb.settings.threads = 4`` sets how many threads a large launch of that backend uses, the calling one included.
    Results do not depend on it. It starts as ``FORGENB_THREADS``, else the cores that the process may run on.

    ``fnb.settings.progress = False`` leaves out the line that a terminal shows while kernels are compiled.
    """

    __slots__ = ()

    @property
    def threads(self) -> int:
        """Threads that a large launch uses.

        Raises
        ------
        ArgumentError
            On setting a number below 1.
        """
        return get_backend().threads

    @threads.setter
    def threads(self, number: int) -> None:
        get_backend().threads = number

    @property
    def progress(self) -> bool:
        """Whether a terminal says which kernel is being compiled, where that takes longer than a second."""
        return STATE.shown

    @progress.setter
    def progress(self, shown: bool) -> None:
        STATE.shown = bool(shown)

    def __repr__(self) -> str:
        return f"<settings of backend {get_backend().name}: threads={self.threads}>"


settings = Settings()
