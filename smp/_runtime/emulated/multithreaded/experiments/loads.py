"""The bandwidth of loads, by streams and by depth of unrolling, with and without work between them.

    no work     load A[i], lookahead depth - 1, while the element loaded depth words before is added to a sum
    work        depth loads, which all end; then the instruction words of the work for each of their elements

Source: the study of the Tera MTA, section 3.4.2, figures 13 and 14.
"""

from __future__ import annotations

from smp.machines import MachineFile

from ..emulation import Emulation
from ..program import Label, Program, add, count_down, load, quit_stream
from ..settings import WORD_BYTES

WORK = 46
"""Instruction words of the work for an element with 40 iterations of the study's loop: set from figure 14, whose axis
for these ends at 45 MB/s."""


def read_bandwidth(
    machine: MachineFile, streams: int, depth: int, work: int = 0, elements: int = 400_000, processors: int = 1
) -> float:
    """Return the bytes per second that the streams load.

    Parameters
    ----------
    machine : MachineFile
    streams, depth : int
        Streams of each processor, and loads that each of them has under way: 1 to 8.
    work : int
        Instruction words of the work for each element.
    elements : int
        Elements that all streams load together, about.
    processors : int
    """
    program, start, into = _program(depth, work)
    at, left = into
    each = max(elements // (processors * streams * depth), 1)
    emulation = Emulation(machine, program, processors * streams * each * depth, processors=processors)
    for p in range(processors):
        for k in range(streams):
            emulation.start(start, {at: (p * streams + k) * each * depth, left: each}, processor=p)
    emulation.run()
    return processors * streams * each * depth * WORD_BYTES / emulation.seconds


def _program(depth: int, work: int) -> tuple[Program, Label, tuple[int, int]]:
    program = Program()
    at, left, total = program.registers(3)
    elements = program.registers(depth)
    start = program.label()
    for k, element in enumerate(elements):
        lookahead = depth - 1 if not work else depth - 1 - k
        parts = [load(element, at, offset=k, lookahead=lookahead)]
        if k < depth - 1:
            parts.append(add(total, total, element))
        else:
            parts.append(add(at, at, 0, depth))
            if not work:
                parts.append(count_down(left, start))
        program.word(*parts)
    for k, element in enumerate(elements if work else ()):
        program.words(work - 1, add(total, total, element))
        last = [count_down(left, start)] if k == depth - 1 else []
        program.word(add(total, total, element), *last)
    program.word(quit_stream())
    return program, start, (at, left)
