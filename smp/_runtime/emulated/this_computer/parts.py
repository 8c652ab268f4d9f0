"""The parts of a machine that is made from a profile."""

from __future__ import annotations

from functools import partial

from smp.profiles.this_computer import ThisComputer

from ..local_work import LoopWork
from ..measured_work import Measured
from ..networks.kinds import ROOM, Ideal
from ..parts import Parts
from .emulator import ComputerEmulator
from .in_place import InPlace
from .port import ComputerPort
from .recorded import Recorded
from .settings import Settings


def parts_of_computer(computer: ThisComputer, size: int) -> Parts:
    """Return the parts of this computer with a number of processors.

    Raises
    ------
    ValueError
        If the times of an earlier run are not of the right form.
    """
    recorded, settings = Recorded(computer.times), Settings(computer, size)
    slowdown = computer.slowdown(size) if computer.python else None
    once = Measured(computer.hz, recorded.loops)
    work: LoopWork = InPlace(computer.hz, recorded) if computer.python else once
    return Parts(
        settings.prices,
        work,
        Ideal(ROOM),
        port=partial(ComputerPort, settings=settings),
        name=computer.name(size),
        by_address=size > 1,
        timed=True,
        unknown=computer.unknown(size),
        times=lambda: recorded.times(once.table()),
        emulator=partial(ComputerEmulator, recorded=recorded, barriers=settings.barriers, slowdown=slowdown),
    )
