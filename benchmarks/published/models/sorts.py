"""The sorts of Brewer's thesis as message programs, and their virtual time without sending a message.

    radix     begin + rounds * (clear + count + scan + broadcast + starts + place + keys * (send + receive))
    sample    begin + radix of the sample + 2 reductions + classify + keys * send + L * receive + sort of L keys

All processors send equally many keys, one after another, and then receive those that have come meanwhile.  So long as
some message waits at each receiver, no time is lost, and the sums above are the time of the program, to the picosecond.
L is the largest number of keys that come to one processor.  Collectives are measured on the emulated machine.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 4.5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import smp
from smp._runtime.emulated.local_work import Priced
from smp._runtime.emulated.message_machine.software import Software
from smp._runtime.emulated.virtual_time import SECOND, picoseconds
from smp.kernels.sorting.by_messages import (
    OVERSAMPLING,
    Keys,
    begin_radix,
    begin_sample,
    clear,
    count_digits,
    first_places,
    places_of,
    processors_of,
    sort_here,
    sort_radix_by_messages,
    sort_sample_by_messages,
)
from smp.machines import MachineFile

from .primitives import opened

SAMPLE_DIGIT = 8
"""Bits of a digit when the sample is sorted; its keys are sorted by 32 bits."""
FREE = {"start": 0, "per_word": 0}


def with_totals(machine: MachineFile) -> MachineFile:
    """Return a machine on which the totals of a scan come with it, if it combines in a tree of messages.

    The printed models of radix sort have a single combination of all buckets in a round on these machines.
    """
    assert machine.control is not None
    return machine.replace("control.broadcast", FREE) if machine.control.kind == "none" else machine


def keys_of(processors: int, keys: int, width: int, seed: int) -> Any:
    """Return random keys of a number of bits for each processor, shape (processors, keys) uint32."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << width, (processors, keys), np.uint64).astype(np.uint32)


def timed(proc: smp.Processor, sort: Callable[..., Keys], keys: Keys, how: dict[str, int]) -> float:
    """Sort keys on a machine (SPMD program); return the seconds that it takes."""
    proc.barrier()
    start = proc.clock()
    sort(proc, keys[proc.rank], **how)
    return proc.clock() - start


def collective(proc: smp.Processor, name: str, count: int) -> float:
    """Return the time of a collective on a number of words or keys."""
    counts = np.zeros(count, np.int32)
    calls: dict[str, Callable[[], Any]] = {
        "scan": lambda: proc.scan(counts),
        "broadcast": lambda: proc.broadcast(counts, root=proc.size - 1),
        "reduce": lambda: proc.reduce(counts),
    }
    proc.barrier()
    start = proc.clock()
    calls[name]()
    return proc.clock() - start


class Sorts:
    """Times of the sorts on one machine; see `with_totals`.

    Parameters
    ----------
    machine : MachineFile
    processors : int
    """

    def __init__(self, machine: MachineFile, processors: int) -> None:
        self.machine, self.processors = with_totals(machine), processors
        software = Software.of(self.machine)
        self._send, self._receive = software.reply, software.receiving(1)
        self._work = Priced(self.machine)
        self._collective = functools.cache(self._measured)
        self._fixed = functools.cache(self._of_values)
        self._loops: dict[tuple[Any, int], int] = {}

    def _measured(self, name: str, count: int) -> int:
        machine = opened(self.machine, self.processors)
        return round(max(machine.run(collective, name, count).results) * SECOND)

    def _of(self, cycles: float) -> int:
        return picoseconds(cycles, self.machine.clock.hz)

    def _cycles(self, loop: Any, *args: Any) -> int:
        return self._work.run(loop, args, {}).cycles

    def _of_values(self, values: int) -> int:
        """Return the time of a round that depends on the number of buckets alone, in ps."""
        counts, places = np.zeros(values, np.int32), np.zeros(values, np.int64)
        local = self._of(self._cycles(clear, counts)) + self._of(self._cycles(first_places, counts, counts, places))
        return local + self._collective("scan", values) + self._collective("broadcast", values)

    def _of_keys(self, loop: Any, count: int, *args: Callable[[int], Any]) -> int:
        """Return the time of a loop over a number of keys, in ps."""
        if (loop, count) not in self._loops:
            self._loops[loop, count] = self._of(self._cycles(loop, *(make(count) for make in args)))
        return self._loops[loop, count]

    def radix(self, keys: int, width: int, digit: int) -> float:
        """Return the virtual seconds of radix sort, for a number of keys of each processor."""
        return self._radix(keys, width, digit) / SECOND

    def _radix(self, keys: int, width: int, digit: int) -> int:
        counts, places = np.zeros(1, np.int32), np.zeros(1, np.int64)
        local = self._of_keys(count_digits, keys, _keys, _zero, _zero, lambda n: counts)
        local += self._of_keys(places_of, keys, _keys, _zero, _zero, lambda n: places, lambda n: np.zeros(n, np.int64))
        moved = keys * (self._send + self._receive)
        rounds = -(-width // digit)
        return self._of(self._cycles(begin_radix, keys)) + rounds * (self._fixed(1 << digit) + local + moved)

    def sample(self, keys: int, largest: int) -> float:
        """Return the virtual seconds of sample sort, if the largest part has a number of keys."""
        p = self.processors
        time = self._of(self._cycles(begin_sample, OVERSAMPLING)) + self._radix(OVERSAMPLING, 32, SAMPLE_DIGIT)
        time += 2 * self._collective("reduce", p)
        splitters, counts = np.zeros(p, np.uint32), np.zeros(p, np.int32)
        time += self._of_keys(
            processors_of, keys, _keys, lambda n: splitters, lambda n: np.zeros(n, np.int64), lambda n: counts
        )
        time += keys * self._send + largest * self._receive
        return (time + self._of_keys(sort_here, largest, _keys)) / SECOND

    def running(self, keys: Any, width: int, digit: int) -> float:
        """Return the virtual seconds of radix sort, or of sample sort if the digit is 0, of the program itself."""
        sort = sort_radix_by_messages if digit else sort_sample_by_messages
        how = {"digit": digit, "bits": width} if digit else {"digit": SAMPLE_DIGIT}
        return max(opened(self.machine, self.processors).run(timed, sort, keys, how).results)


def _keys(n: int) -> Any:
    return np.zeros(n, np.uint32)


def _zero(n: int) -> int:
    return 0


def largest_part(keys: int, processors: int, width: int, rng: np.random.Generator) -> int:
    """Return the number of keys in the largest part of sample sort, if keys of a number of bits are drawn at random."""
    top = 1 << width
    sample = np.sort(rng.integers(0, top, processors * OVERSAMPLING))
    floors = np.concatenate([[0], sample[OVERSAMPLING::OVERSAMPLING], [top]])
    return int(rng.multinomial(processors * keys, np.diff(floors) / top).max())
