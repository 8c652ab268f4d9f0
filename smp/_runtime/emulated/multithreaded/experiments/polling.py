"""The load that waiting streams put on the network, and the best number of retries before a trap.

    work        streams that load words all the time, and could use all issue slots
    waiting     streams that each wait at a word of their own, again and again
    fills       at equal distances in time, a short thread fills such a word

A waiting stream sends a word into the network for each retry.  A thread that traps sends none, but the runtime takes
instruction words for the trap.  Both take from the work.  So for each length of the waits there is a best number of
retries.

The study leaves this question open (section 5): "The interplay between the maximum number of retries and the bandwidth
impact is interesting and deserves future study."
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from smp.machines import MachineFile

from ..emulation import Emulation, Totals
from ..program import (
    Label,
    Part,
    Program,
    add,
    add_too,
    clock,
    count_down,
    jump,
    load,
    quit_stream,
    readfe,
    store,
    subtract,
    writexf,
)

WORKERS, DEPTH = 40, 8
"""Streams that load words, and loads that each of them has under way: without others, they use all issue slots."""
_TURNS = 64  # turns of a worker's loop before it begins again at its first word


@dataclass(frozen=True)
class Interference:
    """Rates over a stretch of time.

    Attributes
    ----------
    work : float
        Words per cycle that the working streams have loaded.
    retries : float
        Words per cycle that retries have sent into the network.
    traps : float
        Traps per wait.
    delay : float
        Cycles from a fill until the waiting thread goes on; NaN if none did.
    """

    work: float
    retries: float
    traps: float
    delay: float


def interference(
    machine: MachineFile, waiting: int, wait: int, *, workers: int = WORKERS, cycles: int = 200_000
) -> Interference:
    """Measure what waiting streams take from working ones on one processor.

    Parameters
    ----------
    machine : MachineFile
        Its setting ``streams.retries`` is the number of accesses before a trap.
    waiting, workers : int
        Numbers of streams.
    wait : int
        Cycles between two fills of the word at which a stream waits; 0 for no fills.
    cycles : int
        Length of the stretch, at least; it is a whole number of waits.
    """
    program, worker, waiter, fill, registers = _program()
    at, base, cell, results = registers
    region, first_cell = DEPTH * _TURNS, 1
    words = first_cell + 3 * waiting + workers * region
    emulation = Emulation(machine, program, words, processors=1, threads=waiting + workers + 80)
    emulation.make_empty(range(first_cell, first_cell + waiting))
    for k in range(workers):
        place = first_cell + 3 * waiting + k * region
        emulation.start(worker, {at: place, base: place})
    for k in range(waiting):
        emulation.start(waiter, {cell: first_cell + k, results: first_cell + waiting + 2 * k}, cycle=1 + 7 * k)
    begin = 2 * wait if wait else 1000
    end = begin + (-(-cycles // wait) * wait if wait else cycles)
    fills = [(1 + wait + k * wait // waiting, first_cell + k) for k in range(waiting if wait else 0)]
    heapq.heapify(fills)
    seen: list[tuple[Totals, int, int]] = []
    for until in (begin, end):
        while fills and fills[0][0] < until:
            cycle, address = heapq.heappop(fills)
            emulation.run(cycle)
            emulation.start(fill, {cell: address}, cycle=cycle)
            heapq.heappush(fills, (cycle + wait, address))
        emulation.run(until)
        found = emulation.values[first_cell + waiting : first_cell + 3 * waiting].reshape(-1, 2).sum(axis=0)
        seen.append((emulation.totals, int(found[0]), int(found[1])))
    (before, woken_before, delay_before), (after, woken_after, delay_after) = seen
    woken, length = woken_after - woken_before, end - begin
    by_runtime = after.traps - before.traps + after.handled - before.handled
    fills_done = (end - begin) // wait * waiting if wait else 0
    others = 3 * woken + fills_done - by_runtime
    return Interference(
        work=(after.operations - before.operations - others) / length,
        retries=(after.retries - before.retries) / length,
        traps=(after.traps - before.traps) / max(fills_done, 1),
        delay=(delay_after - delay_before) / woken if woken else float("nan"),
    )


def _program() -> tuple[Program, Label, Label, Label, tuple[int, int, int, int]]:
    program = Program()
    at, base, left, sum_, cell, results, filled, now, woken, delay = program.registers(10)
    loaded = program.registers(DEPTH)
    worker = program.label()
    program.word(add(at, base), add_too(left, 0, 0, _TURNS))
    turn = program.label()
    for k in range(DEPTH):
        last: list[Part] = [add(at, at, 0, DEPTH), count_down(left, turn)]
        rest: list[Part] = [add(sum_, sum_, loaded[k])]
        program.word(load(loaded[k], at, offset=k, lookahead=DEPTH - 1), *(last if k == DEPTH - 1 else rest))
    program.word(jump(worker))
    waiter = program.label()
    program.word(readfe(filled, cell))
    program.word(clock(now), add(woken, woken, 0, 1))
    program.word(subtract(now, now, filled))
    program.word(store(woken, results, lookahead=2), add(delay, delay, now))
    program.word(store(delay, results, offset=1, lookahead=2), jump(waiter))
    fill = program.label()
    program.word(clock(filled))
    program.word(writexf(filled, cell))
    program.word(quit_stream())
    return program, worker, waiter, fill, (at, base, cell, results)
