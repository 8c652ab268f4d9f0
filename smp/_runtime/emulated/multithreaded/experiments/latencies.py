"""The latency of a memory access by the number of distinct words, and of an instruction word by streams.

Source: the study of the Tera MTA, section 3.1, figures 3 and 4.
"""

from __future__ import annotations

import numpy as np

from smp.machines import MachineFile

from ..emulation import Emulation
from ..program import Program, add, clock, count_down, load, quit_stream, store, subtract
from ..settings import WORD_BYTES

_WARM, _MEASURED = 4_000, 4_000  # accesses


def memory_latency(machine: MachineFile, size: int, stride: int) -> float:
    """Return the cycles of a load whose address is the result of the load before.

    Parameters
    ----------
    machine : MachineFile
    size, stride : int
        Bytes of the array through which the loads go again and again, and bytes between two loads; a stride that is
        equal to the size loads the same word each time.

    Notes
    -----
    The caches are warm: at least as many loads as the array has words, or 4,000, are not counted.
    """
    program = Program()
    at, left, begin, end = program.registers(4)
    start = program.label()
    program.word(load(at, at), count_down(left, start))
    program.word(add(left, 0, 0, _MEASURED), clock(begin))
    again = program.label()
    program.word(load(at, at), count_down(left, again))
    program.word(clock(end))
    program.word(subtract(end, end, begin))
    program.word(store(end, 0))
    program.word(quit_stream())
    step, count = max(stride // WORD_BYTES, 1), max(size // max(stride, WORD_BYTES), 1)
    result = 1 + count * step  # word 0 is for the result
    emulation = Emulation(machine, program, result, processors=1)
    chain = 1 + np.arange(count) * step
    emulation.values[chain] = np.roll(chain, -1)
    emulation.start(start, {at: 1, left: max(min(count, _WARM), 2)})
    emulation.run()
    return (int(emulation.values[0]) - 1) / _MEASURED


def word_latency(machine: MachineFile, streams: int, words: int = 8192) -> float:
    """Return the cycles from one instruction word of a stream to the next, with a number of streams that never wait.

    Parameters
    ----------
    machine : MachineFile
    streams, words : int
        Number of streams, and number of words that each of them measures.
    """
    program = Program()
    begin, end, place = program.registers(3)
    start = program.label()
    program.word(clock(begin))
    program.words(words, clock(end))
    program.word(subtract(end, end, begin))
    program.word(store(end, place))
    program.word(quit_stream())
    emulation = Emulation(machine, program, streams, processors=1)
    for k in range(streams):
        emulation.start(start, {place: k})
    emulation.run()
    return float(emulation.values.mean()) / words
