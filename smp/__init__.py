"""smp runs SPMD programs on the cores of this computer and measures what shared memory costs there.

    host        open this computer as a machine     emulated    open one whose processors take turns, in virtual time
    run         run one program on this computer        map         call a function for many items on it
    Charges     charges of an emulated machine, in virtual nanoseconds
    explore     run a small program under all schedules         replay      run it once more under one of them
    local       compile a loop over local data          stream      compile one that touches shared words
    inline      let compiled loops call a function
    compiled    cells, barrier and atomics for such loops
    Cells       words with a full/empty bit             Pool, Thread   streams of a processor, and their work
    Ticket      a collective that is begun now and waited for later
    patterns    permutations: which processor sends to which
    networks    networks that an emulated machine can have
    machines    descriptions of machines, in files
    NONE, ELEMENT, ARRAY   boundaries between processors, for scans in segments
    Message     a message, as its handler gets it
    LEFT, RIGHT, BOTH, EITHER   networks of messages              ONCE, EMPTY, FIRST_LEFT, FIRST_RIGHT   ways to poll
    last_entries   read the log of a run
    Profile     measurements of a machine               errors      all exceptions of smp, also imported here
    calibrate   measure a task and fit a Model to it    Specification  what to measure, and which terms to fit
    Library     implementations, and the choice of the one predicted to be the fastest; Implementation, Parameter
    measure     measure this computer              compare     show profiles side by side
    placement   measure how the CPUs are placed now

The command ``smp`` measures the machine, and shows what was measured.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
from ._computer import commands as commands  # the first: it handles Ctrl-C while a command of smp is being imported
from ._computer.lazy import handed_on
from ._computer.version import VERSION
from ._runtime.emulated.networks import kinds as networks
from ._runtime.kinds import emulated, host, mpi
from ._runtime.loops.compiler import inline, local, stream
from ._runtime.machine import Machine, current_machine
from ._runtime.memory.arrays import GlobalArray
from ._runtime.memory.cells import Cells
from ._runtime.one_call.mapping import map
from ._runtime.one_call.running import run
from ._runtime.program.collectives import patterns
from ._runtime.program.collectives.segments import ARRAY, ELEMENT, NONE, Boundary
from ._runtime.program.collectives.tickets import Ticket
from ._runtime.program.messages.message import Message
from ._runtime.program.messages.networks import BOTH, EITHER, EMPTY, FIRST_LEFT, FIRST_RIGHT, LEFT, ONCE, RIGHT
from ._runtime.program.processor import Processor
from ._runtime.program.records.log import last_entries
from ._runtime.program.run import Run
from ._runtime.program.streams import Pool, Thread
from .errors import (
    Aborted,
    CheckFailed,
    CollectiveMismatch,
    DeadlockError,
    ExperimentError,
    FitError,
    HandlerError,
    InvalidList,
    LivelockError,
    MachineClosed,
    MachineError,
    MachineFileError,
    ModelError,
    NotConverged,
    NotPicklable,
    OutOfSharedMemory,
    PhaseError,
    ProcessorDied,
    ProcessorRaised,
    ProfileError,
    ProgramError,
    RaceError,
    ScheduleError,
    SmpError,
    TrialFailed,
    Unsupported,
    WaitTimeout,
)

if TYPE_CHECKING:
    from . import compiled, machines
    from ._runtime.emulated.costs import Charges
    from ._runtime.exploring.exploration import explore, replay
    from .microbench.from_python import measure
    from .microbench.predictions.comparison import compare
    from .microbench.report.opening import open_page
    from .microbench.sections.placement.now import placement
    from .models.fit.model import Model
    from .models.fit.specification import Specification
    from .profiles.profile import Profile
    from .selection.calibration import calibrate
    from .selection.implementation import Implementation, Parameter
    from .selection.library import Library

__version__ = VERSION
__all__ = [
    "ARRAY",
    "BOTH",
    "EITHER",
    "ELEMENT",
    "EMPTY",
    "FIRST_LEFT",
    "FIRST_RIGHT",
    "LEFT",
    "NONE",
    "ONCE",
    "RIGHT",
    "Aborted",
    "Boundary",
    "Cells",
    "Charges",
    "CheckFailed",
    "CollectiveMismatch",
    "DeadlockError",
    "ExperimentError",
    "FitError",
    "GlobalArray",
    "HandlerError",
    "Implementation",
    "InvalidList",
    "Library",
    "LivelockError",
    "Machine",
    "MachineClosed",
    "MachineError",
    "MachineFileError",
    "Message",
    "Model",
    "ModelError",
    "NotConverged",
    "NotPicklable",
    "OutOfSharedMemory",
    "Parameter",
    "PhaseError",
    "Pool",
    "Processor",
    "ProcessorDied",
    "ProcessorRaised",
    "Profile",
    "ProfileError",
    "ProgramError",
    "RaceError",
    "Run",
    "ScheduleError",
    "SmpError",
    "Specification",
    "Thread",
    "Ticket",
    "TrialFailed",
    "Unsupported",
    "WaitTimeout",
    "calibrate",
    "compare",
    "compiled",
    "current_machine",
    "emulated",
    "errors",
    "explore",
    "host",
    "inline",
    "last_entries",
    "local",
    "machines",
    "map",
    "measure",
    "mpi",
    "networks",
    "open_page",
    "patterns",
    "placement",
    "replay",
    "run",
    "stream",
]

_LATER = {
    "Charges": "._runtime.emulated.costs",
    "explore": "._runtime.exploring.exploration",  # imports greenlet
    "replay": "._runtime.exploring.exploration",
    "Profile": ".profiles.profile",  # imports SciPy, as the following modules do
    "calibrate": ".selection.calibration",
    "compare": ".microbench.predictions.comparison",
    "measure": ".microbench.from_python",
    "open_page": ".microbench.report.opening",
    "placement": ".microbench.sections.placement.now",
    "Implementation": ".selection.implementation",
    "Library": ".selection.library",
    "Parameter": ".selection.implementation",
    "Model": ".models.fit.model",
    "Specification": ".models.fit.specification",
}
"""Public names whose modules take a while to import. They are imported when they are first used."""


_found = handed_on(__name__, _LATER)


def __getattr__(name: str) -> Any:
    if name in ("compiled", "machines"):  # the first imports Numba, the second is needed by few programs
        return importlib.import_module(f".{name}", __name__)
    return _found(name)


def __dir__() -> list[str]:
    return sorted(__all__)
