"""The stencils of Brewer's thesis as message programs, and the virtual time of an iteration.

    uniprocessor    one processor relaxes the whole grid; the others do nothing
    square          8 x 8 blocks on 64 processors: an inner one sends 8 blocks in an iteration
    strips          1 x 64 blocks: 4 blocks in an iteration, of the whole height

Each iteration of the parallel layouts ends with a reduction of the largest change, by which the program finds that it
has converged.  So all processors begin each iteration at the same time, and all iterations take equally long.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 4.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import smp
from smp._runtime.emulated.local_work import Priced
from smp._runtime.emulated.message_machine.control import Control
from smp._runtime.emulated.message_machine.software import WORD, Software
from smp._runtime.emulated.message_machine.times import Times
from smp._runtime.emulated.virtual_time import SECOND, picoseconds
from smp._runtime.loops.counted.pricing import Pricing
from smp.kernels.grids.by_blocks import Edges, copy_edge, relax_once
from smp.kernels.grids.layouts import rectangles
from smp.kernels.grids.red_black import relax_rectangle
from smp.machines import MachineFile

from .timetable import COMPUTE, KIND, SEND, TAG, WAIT, WIDTH, A, B, D, E, run

LAYOUTS = ("uniprocessor", "square", "strips")
CELL = 8
"""Bytes of a cell."""
DEGREE = 1.87
"""Over-relaxation of the thesis, section 4.4."""
OPS = 28
"""Most operations of a processor in an iteration."""


@smp.local(
    name="stencil.alone", terms={"point": "(block.shape[0] - 2) * (block.shape[1] - 2) / 2"}, cost="0", oblivious=True
)
def relax_alone(block: Any, colour: int, quarter: float, keep: float) -> float:
    """Relax a grid that one processor has for itself, and that does not fit into its cache."""
    return relax_rectangle(block, 1, block.shape[0] - 1, 1, block.shape[1] - 1, colour, quarter, keep)


def blocks_in(layout: str, processors: int) -> tuple[int, int]:
    """Return the numbers of block rows and block columns of a layout."""
    if layout == "uniprocessor":
        return 1, 1
    fewer = max(n for n in range(1, math.isqrt(processors) + 1) if processors % n == 0)
    return (1, processors) if layout == "strips" else (fewer, processors // fewer)


def allowed(layout: str, width: int, height: int, processors: int) -> bool:
    """Return True if all blocks have two columns or more, and two rows, as the programs of the thesis need."""
    high, wide = blocks_in(layout, processors)
    return width >= 2 * wide * (wide > 1) and height >= 2 * high * (high > 1)


def stencil(
    proc: smp.Processor, width: int, height: int, layout: str, iterations: int, extra: tuple[int, int] = (0, 0)
) -> float:
    """Relax a grid of width x height points (SPMD program); return the seconds that all iterations take.

    ``extra`` has the extra rows and columns of the outermost blocks.
    """
    if layout == "uniprocessor":
        grid = np.zeros((height + 2, width + 2))
        start = proc.clock()
        for _ in range(iterations if proc.rank == 0 else 0):
            for colour in (0, 1):
                relax_alone(grid, colour, DEGREE / 4, 1 - DEGREE)
        return proc.clock() - start
    shape, blocks = (height + 2, width + 2), blocks_in(layout, proc.size)
    sharing = rectangles(
        shape, proc.size, layout="rectangular", blocks=blocks, extra_rows=extra[0], extra_columns=extra[1]
    )
    mine = sharing[proc.rank]
    block = np.zeros((mine.bottom - mine.top + 2, mine.right - mine.left + 2))
    edges = Edges(proc, shape, sharing, blocks[1], block)
    proc.barrier()
    start = proc.clock()
    for _ in range(iterations):
        change = relax_once(edges, block, mine, DEGREE)
        proc.reduce(np.array([change], np.float32), np.maximum)
    return proc.clock() - start


class Stencils:
    """Times of the stencils on one machine.

    Parameters
    ----------
    machine : MachineFile
    processors : int
    longest : int
        The largest width and height.

    Attributes
    ----------
    reduction, barrier : float
        Seconds of a reduction of one word, and of a barrier.
    """

    def __init__(self, machine: MachineFile, processors: int, longest: int = 2000) -> None:
        self.machine, self.processors, self._hz = machine, processors, machine.clock.hz
        software, times = Software.of(machine), Times(machine, processors)
        self._software, cells = software, longest // 2 + 2
        control = Control.of(machine, processors, times.message(0, processors - 1, WORD))
        self._reduction = control.time("reduce", WORD)
        self.reduction, self.barrier = self._reduction / SECOND, control.barrier / SECOND
        work = Priced(machine)
        self._pricing = Pricing.of_file(machine)
        ranks = range(processors)
        self._hops = np.array([[times.hops(source, to) for to in ranks] for source in ranks], np.int64)
        pairs = {times.hops(source, to): (source, to) for source in ranks for to in ranks}
        line = np.zeros(cells)
        self._copying = np.array([self._of(work.run(copy_edge, (line, line[:n]), {}).cycles) for n in range(cells)])
        self._sending = np.array([software.sending_block(CELL * n) for n in range(cells)])
        self._receiving = np.array([software.receiving_block(CELL * n) for n in range(cells)])
        self._wires = np.zeros((max(pairs) + 1, cells), np.int64)
        for distance, pair in pairs.items():
            self._wires[distance] = [times.block(*pair, CELL * n) for n in range(cells)]
        self._table = np.zeros((processors * OPS, WIDTH), np.int64)
        self._starts = np.zeros(processors + 1, np.int64)

    def _of(self, cycles: float) -> int:
        return picoseconds(cycles, self._hz)

    def _price(self, loop: Any, *args: Any) -> int:
        """Return the time of a declared loop, in ps."""
        price = self._pricing.declared(loop)
        assert price is not None
        return self._of(round(price.cycles(args, {})))

    def seconds(
        self, width: int, height: int, layout: str, iterations: int = 1, extra: tuple[int, int] = (0, 0)
    ) -> float:
        """Return the virtual time of `stencil`, without running it."""
        if layout == "uniprocessor":
            grid = np.broadcast_to(0.0, (height + 2, width + 2))
            return iterations * 2 * self._price(relax_alone, grid, 0, 0.0, 0.0) / SECOND
        blocks = blocks_in(layout, self.processors)
        sharing = rectangles(
            (height + 2, width + 2),
            self.processors,
            layout="rectangular",
            blocks=blocks,
            extra_rows=extra[0],
            extra_columns=extra[1],
        )
        tops = np.array([(one.top, one.bottom, one.left, one.right) for one in sharing])
        sizes = {(one.bottom - one.top, one.right - one.left): one for one in sharing}
        sweeps = {
            size: self._price(relax_rectangle, None, 1, size[0] + 1, 1, size[1] + 1, 0, 0.0, 0.0) for size in sizes
        }
        relaxing = np.array([sweeps[one.bottom - one.top, one.right - one.left] for one in sharing])
        count = _fill(
            self._table, self._starts, tops, blocks[1], relaxing, self._hops, self._wires,
            self._copying, self._sending, self._receiving,
        )  # fmt: skip
        ends = run(self._table[:count], self._starts, self._software)
        return iterations * (int(ends.max()) + self._reduction) / SECOND


@smp.inline
def _line(first: int, end: int, other: int, colour: int) -> int:
    """Return the number of cells of a colour in a piece of a row or column."""
    start = first + (first + other + colour) % 2
    return max(0, (end - start + 1) // 2)


@smp.local
def _fill(
    table: Any, starts: Any, places: Any, wide: int, relaxing: Any, hops: Any, wires: Any,
    copying: Any, sending: Any, receiving: Any,
) -> int:  # fmt: skip
    """Write the operations of an iteration into a table; return their number."""
    n, high = 0, len(places) // wide
    around = np.zeros((4, 2), np.int64)  # for each neighbour: its rank, and the cells that come from it
    for k in range(len(places)):
        starts[k] = n
        top, bottom, left, right = places[k]
        row, column = k // wide, k % wide
        for colour in range(2):
            table[n, KIND], table[n, A] = COMPUTE, relaxing[k]
            n += 1
            count = 0
            for side in range(4):
                i = row + (-1 if side == 0 else 1 if side == 1 else 0)
                j = column + (-1 if side == 2 else 1 if side == 3 else 0)
                if not (0 <= i < high and 0 <= j < wide):
                    continue
                if side < 2:
                    inside = _line(left, right, top if side == 0 else bottom - 1, colour)
                    outside = _line(left, right, top - 1 if side == 0 else bottom, colour)
                else:
                    inside = _line(top, bottom, left if side == 2 else right - 1, colour)
                    outside = _line(top, bottom, left - 1 if side == 2 else right, colour)
                to, sent = i * wide + j, max(1, inside)
                table[n, KIND], table[n, A] = COMPUTE, copying[inside]
                n += 1
                table[n, KIND], table[n, A], table[n, B], table[n, TAG] = SEND, to, sending[sent], colour
                table[n, D], table[n, E] = wires[hops[k, to], sent], receiving[sent]
                n += 1
                around[count, 0], around[count, 1] = to, outside
                count += 1
            if count > 0:
                table[n, KIND], table[n, A], table[n, TAG] = WAIT, count, colour
                n += 1
            for one in range(count):
                table[n, KIND], table[n, A] = COMPUTE, copying[around[one, 1]]
                n += 1
    starts[len(places)] = n
    return n
