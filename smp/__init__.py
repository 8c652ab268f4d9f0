"""One SPMD program on this computer as a shared-memory machine, and what the machine charges for shared memory.

    host        open this computer as a machine     emulated    processors that take turns, in virtual time
    explore     run a small program under all schedules         replay      run it once more under one of them
    local       compile a loop over local data          stream      one that touches shared words
    compiled    cells, barrier and atomics for such loops
    Cells       words with a full/empty bit             Pool, Thread   streams of a processor, and their work
    Profile     what was measured of a machine          errors      everything that smp raises

``python -m smp.microbench`` measures the machine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
from ._compile import local, stream
from .arrays import GlobalArray
from .cells import Cells
from .errors import SmpError
from .machine import Machine, emulated, host
from .processor import Processor
from .run import Run
from .streams import Pool, Thread

if TYPE_CHECKING:
    from . import compiled
    from .exploration import explore, replay
    from .microbench.profile import Profile

__version__ = "0.1.0"
__all__ = [
    "Cells",
    "GlobalArray",
    "Machine",
    "Pool",
    "Processor",
    "Profile",
    "Run",
    "SmpError",
    "Thread",
    "compiled",
    "emulated",
    "errors",
    "explore",
    "host",
    "local",
    "replay",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name == "compiled":  # imports Numba
        return importlib.import_module(".compiled", __name__)
    if name in ("explore", "replay"):  # imports greenlet
        return getattr(importlib.import_module(".exploration", __name__), name)
    if name == "Profile":  # imports SciPy
        return importlib.import_module(".microbench.profile", __name__).Profile
    raise AttributeError(f"module 'smp' has no attribute {name!r}")
