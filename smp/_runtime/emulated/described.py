"""Emulated machines that are described: by a machine file, whose tables choose the parts, or by a profile.

a name, a path ending in .toml, a mapping, a MachineFile     a machine file
a path ending in .json, a Profile, a ThisComputer            this computer, with any number of processors
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from smp.errors import Unsupported
from smp.machines import MachineFile, load
from smp.machines.layout.processors import Primitives

from .costs import Charges
from .networks.kinds import ROOM, Ideal
from .parts import Parts
from .virtual_time import NANOSECOND, SECOND

if TYPE_CHECKING:
    from smp.profiles import Profile, ThisComputer

    Described = str | os.PathLike[str] | Mapping[str, Any] | MachineFile | Profile | ThisComputer


class Description(NamedTuple):
    """A machine that is described.

    Attributes
    ----------
    name : str
    processors : int
        Number of its processors, if no other is given.
    parts : callable
        Makes the parts for a number of processors.
    """

    name: str
    processors: int
    parts: Callable[[int], Parts]


def description_of(machine: Described) -> Description:
    """Return the description of a machine.

    Raises
    ------
    MachineFileError, ProfileError
        If there is no such machine, file or profile, or if it is not valid.
    """
    computer = _computer_of(machine)
    if computer is not None:
        from .this_computer.parts import parts_of_computer

        return Description("this computer", computer.measured, partial(parts_of_computer, computer))
    file = load(machine)  # type: ignore[arg-type]  # or it raises
    return Description(file.name, file.processors, partial(parts_of, file))


def _computer_of(machine: Described) -> ThisComputer | None:
    """Return the machine that is made from a profile; None if it is made from a machine file."""
    if isinstance(machine, Mapping | MachineFile):
        return None
    path = os.fspath(machine) if isinstance(machine, str | os.PathLike) else None
    if path is not None and not str(path).endswith(".json"):
        return None
    from smp.profiles import Profile, ThisComputer

    if isinstance(machine, ThisComputer):
        return machine
    if path is not None:
        return ThisComputer(Profile.load(path))
    return ThisComputer(machine) if isinstance(machine, Profile) else None


def parts_of(file: MachineFile, size: int) -> Parts:
    """Return the parts of a machine with a number of processors.

    Raises
    ------
    Unsupported
        If the file describes a kind of machine that is not emulated.
    MachineFileError
        If its network cannot have that many nodes.
    """
    file = file if size == file.processors else file.replace("processors", size)
    if file.primitives is not None:
        charges = _charges(file.primitives, file.clock.hz)
        return replace(charges.parts(Ideal(ROOM)), name=file.name)
    if file.message is not None:
        from .message_machine.parts import message_machine

        return message_machine(file, size)
    raise Unsupported(
        f"the machine {file.name!r} has shared memory of the form {file.memory.shared if file.memory else None!r}, "
        "which is described but not emulated; machines with the table [primitives] or [message] are"
    )


def _charges(primitives: Primitives, hz: float) -> Charges:
    """Return the charges of a table, which are whole ns but for those of bytes."""
    ns = SECOND / hz / NANOSECOND
    names = primitives.__dataclass_fields__
    return Charges(
        **{
            name: getattr(primitives, name) * ns if name.endswith("_byte") else round(getattr(primitives, name) * ns)
            for name in names
        }
    )
