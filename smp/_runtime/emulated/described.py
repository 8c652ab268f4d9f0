"""The parts of the emulated machine that a machine file describes: its tables choose them."""

from __future__ import annotations

from dataclasses import replace

from smp.errors import Unsupported
from smp.machines import MachineFile
from smp.machines.layout.processors import Primitives

from .costs import Charges
from .networks.kinds import ROOM, Ideal
from .parts import Parts
from .virtual_time import NANOSECOND, SECOND


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
        return replace(charges.parts(Ideal(ROOM)), name=file.name)
    if file.message is not None:
        from .message_machine.parts import message_machine

        return message_machine(file, size, fidelity)
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
