"""STREAM: copy, scale, add and triad over long vectors, by many streams of each processor.

Each loop is unrolled four times.  Every instruction word holds one operation on memory; the arithmetic, the addresses
and the branch are in the other parts of these words.  Each processor starts as many streams as the compiler of the
Tera MTA chose for the list ranking of the study's section 4.4.1.

Source: the study of the Tera MTA, section 3.4.1, table 4; J. D. McCalpin, STREAM.
"""

from __future__ import annotations

import numpy as np

from smp.machines import MachineFile

from ..emulation import Emulation
from ..program import Label, Part, Program, add, add_too, count_down, load, multiply, quit_stream, store
from ..settings import WORD_BYTES

STREAMS = 120
KERNELS = {"copy": 1, "scale": 1, "add": 2, "triad": 2}
"""The kernels, with the number of vectors that each loads."""
_UNROLLED, _FACTOR = 4, 3
Registers = tuple[int, ...]


def stream_bandwidth(
    machine: MachineFile, kernel: str, processors: int, elements: int = 200_000, streams: int = STREAMS
) -> float:
    """Return the bytes per second that a kernel of STREAM loads and stores.

    Parameters
    ----------
    machine : MachineFile
    kernel : str
        One of `KERNELS`.
    processors, streams : int
        Number of processors, and streams of each.
    elements : int
        Elements of a vector for each processor, about.

    Raises
    ------
    ArithmeticError
        If a result is wrong.
    """
    sources = KERNELS[kernel]
    program, start, (first, second, into, left, factor) = _program(kernel)
    turns = max(elements // (streams * _UNROLLED), 1)
    length = processors * streams * turns * _UNROLLED
    emulation = Emulation(machine, program, (sources + 1) * length, processors=processors)
    vectors = emulation.values.reshape(sources + 1, length)
    vectors[:sources] = np.arange(length) % 1000
    for k in range(processors * streams):
        at = k * turns * _UNROLLED
        registers = {first: at, second: length + at, into: sources * length + at, left: turns, factor: _FACTOR}
        emulation.start(start, registers, processor=k % processors)
    emulation.run()
    a, b = vectors[0], vectors[sources - 1]
    if (vectors[-1] != {"copy": a, "scale": _FACTOR * a, "add": a + b, "triad": a + _FACTOR * b}[kernel]).any():
        raise ArithmeticError(f"the {kernel} of STREAM has a wrong result")
    return (sources + 1) * length * WORD_BYTES / emulation.seconds


def _program(kernel: str) -> tuple[Program, Label, tuple[int, ...]]:
    program = Program()
    first, second, into, left, factor = inputs = program.registers(5)
    (i,) = program.registers(1)
    a, b, c = (program.registers(_UNROLLED) for _ in range(3))
    start = program.label()
    loads = [(a, first)] if KERNELS[kernel] == 1 else [(a, first), (b, second)]
    last = _UNROLLED * len(loads) - 1  # the word of the last load, in which the first element is computed
    for word in range(last + 1):
        k, which = divmod(word, len(loads))
        element, base = loads[which]
        ahead = last + k - word - (2 if kernel == "triad" else 1)
        program.word(load(element[k], base, i, k, ahead), *_computed(kernel, word - last, a, b, c, factor))
    for k in range(_UNROLLED):
        ends = [add(i, i, 0, _UNROLLED), count_down(left, start)] if k == _UNROLLED - 1 else []
        program.word(store(c[k], into, i, k, 7), *_computed(kernel, k + 1, a, b, c, factor), *ends)
    program.word(quit_stream())
    return program, start, inputs


def _computed(kernel: str, k: int, a: Registers, b: Registers, c: Registers, factor: int) -> list[Part]:
    """Return the parts that compute element ``k``, and for the triad also the product of the next one."""
    parts = []
    if 0 <= k < _UNROLLED:
        parts += {
            "copy": [add(c[k], a[k])],
            "scale": [multiply(c[k], a[k], factor)],
            "add": [add(c[k], a[k], b[k])],
            "triad": [add_too(c[k], a[k], c[k])],
        }[kernel]
    if kernel == "triad" and 0 <= k + 1 < _UNROLLED:
        parts.append(multiply(c[k + 1], b[k + 1], factor))
    return parts
