"""The parts of a machine with a shared memory on a bus, made from its machine file.

step on a shared word       processor.ops, and its line in the caches
pause between two looks     as long as a miss
waits                       nothing: a processor spins, and then fetches the line of the word
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from smp.machines import MachineFile

from ...loops import atomics
from ..local_work import Priced
from ..networks import queues
from ..parts import Parts
from ..port import Whole
from ..prices import Prices
from ..primitives import meaning_of
from ..virtual_time import picoseconds
from .accesses import Accesses
from .copying import carry_on
from .packets import LineKind
from .port import CachedPort


def shared_memory_machine(file: MachineFile) -> Parts:
    """Return the parts of a machine whose memory is shared on a bus."""
    memory = file.memory
    assert memory is not None
    assert memory.line
    assert memory.local_miss is not None
    miss = picoseconds(memory.local_miss, file.clock.hz)

    accesses = Accesses(file, whole=True)

    def connect(processors: Whole, rank: int) -> CachedPort:
        return CachedPort(processors, rank, accesses)

    return Parts(
        Prices(_steps(file, miss), 0, 0, file.clock.hz),
        Priced(file),
        LineKind(memory.line, miss, 2 * miss),
        port=connect,
        name=file.name,
    )


def _steps(file: MachineFile, miss: int) -> dict[Callable[..., Any], int]:
    """Return the prices of steps, but for the lines of their words."""
    ops = None if file.processor is None else file.processor.ops
    load, store = (0, 0) if ops is None else (picoseconds(cycles, file.clock.hz) for cycles in (ops.load, ops.store))
    by_name = {"load": load, "store_release": store, "store": store, "pause": miss, "futex_wait": 0, "futex_wake": 0}
    changes = ("exchange", "compare_exchange", "compare_exchange_pair", "fetch_add")
    steps = {meaning_of(getattr(atomics, name)): price for name, price in by_name.items()}
    steps.update({meaning_of(getattr(atomics, name)): load + store for name in changes})
    steps.update(dict.fromkeys((queues.look, queues.room_for, queues.poll, queues.poll_for_loop), load))
    return steps | {queues.post: store, carry_on: 0}
