"""Emulated machines that are described: by a machine file, whose tables choose the parts, or by a profile.

a name, a path ending in .toml, a mapping, a MachineFile     a machine file
a path ending in .json, a Profile, a ThisComputer            this computer, with any number of processors

[primitives]                    fixed charges; messages take no time, or collide if the file has [message], too
[message]                       processors that send each other messages
[streams]                       processors with many streams
[memory], shared on a bus       caches that invalidate each other's lines
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
from .networks.kinds import ROOM, Congested, Ideal, Kind
from .parts import Parts
from .virtual_time import NANOSECOND, SECOND

WORD = 8
"""Bytes of a word of a message."""

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
        Makes the parts for a number of processors and a fidelity (see `smp.emulated`).
    """

    name: str
    processors: int
    parts: Callable[[int, str], Parts]


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

        return Description("this computer", computer.measured, lambda size, _: parts_of_computer(computer, size))
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


def parts_of(file: MachineFile, size: int, fidelity: str) -> Parts:
    """Return the parts of a machine with a number of processors.

    See `smp.emulated` for ``fidelity``.

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
        return replace(charges.parts(_network(file)), name=file.name)
    if file.message is not None:
        from .message_machine.parts import message_machine

        return message_machine(file, size, fidelity)
    if file.streams is not None:
        from .multithreaded.parts import multithreaded_machine

        return multithreaded_machine(file, size)
    if file.memory is not None and file.memory.shared == "bus":
        from .shared_memory_machine.parts import shared_memory_machine

        return shared_memory_machine(file)
    raise Unsupported(
        f"the machine {file.name!r} has shared memory of the form {file.memory.shared if file.memory else None!r}, "
        "which is described but not emulated; machines with the table [primitives], [message] or [streams] or with "
        "memory on a bus are"
    )


def _network(file: MachineFile) -> Kind:
    """Return the network of a machine with fixed charges: one on which packets collide, if it has messages at all."""
    if file.message is None:
        return Ideal(ROOM)
    assert file.interface is not None
    assert file.network is not None
    ns = SECOND / file.clock.hz / NANOSECOND
    link, packet = file.network.link_bandwidth, file.network.link_cycles_per_packet
    latency = (file.message.request + (packet or 0)) * ns
    per_word = WORD * SECOND / NANOSECOND / link[0] if link else 0
    return Congested(round(latency), round(per_word), round((file.interface.resend_after or 0) * ns))


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
