"""Table of other settings of the CM-5's queues: what they hold, and how fast they make permutations and transposes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from smp._output.table import Column, Table, text

from .patterns import MATCHED, ONCE, PLAIN, capacity, machine_of, rates, shift, transpose, with_higher_levels

QUEUES = ((1, 1, 1), (1, 1, 3), (1, 2, 2), (1, 3, 1), (2, 1, 1), (2, 1, 2), (3, 1, 1))
"""Packets on a link, in the output queue, and in the input queue of a channel."""
WIRE = (20, 16)
"""Bytes of a packet of which the printed bandwidth is counted: the whole packet, or its data."""
Setting = tuple[int, int, int, int, bool]


def settings() -> Iterator[Setting]:
    for wire in WIRE:
        for drawn_first in (False, True):
            for queues in QUEUES:
                yield (*queues, wire, drawn_first)


def row(setting: Setting) -> list[float | str]:
    """Return the row of a setting."""
    buffers, output, into, wire, drawn_first = setting
    machine = with_higher_levels(machine_of("cm5"))
    for name, value in (
        ("network.buffers", buffers),
        ("interface.out_fifo", output),
        ("interface.in_fifo", into),
        ("network.cell.size", 25 if wire == 20 else 20),  # the file's bandwidths are those of data, times 20 / 16
    ):
        machine = machine.replace(name, value)
    held = [
        np.mean([capacity(n, seed, machine, drawn_first=drawn_first) for seed in range(4)]) for n in (16, 32, 64, 128)
    ]
    options = {"machine": machine, "drawn_first": drawn_first}
    alone = [rates(shift(4), 4096, loop, 2, **options).mean() for loop in (PLAIN, MATCHED, ONCE)]
    free = [rates(transpose(rounds), 4096, PLAIN, 2, **options).mean() for rounds in (32, 100)]
    tamed = [rates(transpose(32), 4096, loop, 1, barrier_every=1, **options).mean() for loop in (PLAIN, MATCHED, ONCE)]
    return [buffers, output, into, wire, "drawn" if drawn_first else "free", *held, *alone, *free, *tamed]


COLUMNS = (
    *map(Column, ("link", "out", "in", "bytes")),
    text("choice"),
    *(Column(f"held, {n} nodes", digits=3) for n in (16, 32, 64, 128)),
    *(Column(f"shift, {loop.name}", "MB/s", digits=3) for loop in (PLAIN, MATCHED, ONCE)),
    *(Column(f"transpose, {rounds} rounds", "MB/s", digits=3) for rounds in (32, 100)),
    *(Column(f"with barriers, {loop.name}", "MB/s", digits=3) for loop in (PLAIN, MATCHED, ONCE)),
)


def table(processes: int) -> Table:
    """Return a table of all settings."""
    with ProcessPoolExecutor(processes) as pool:
        return Table("other settings of the queues", COLUMNS, list(pool.map(row, settings())))
