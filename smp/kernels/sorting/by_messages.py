"""Radix sort and sample sort by messages: each key goes to its place in a message of its own.

    radix     for each digit: count the own keys of each value                       counts[digit]
                              scan the counts over the processors, and pass on the totals
                              send each key to the processor and the place where it belongs
                              wait until as many keys have come as were there before
    sample    sort a sample of all keys by radix sort; a key of each processor is a splitter
              find the processor of each key by binary search, and send the key there
              wait until all keys have come, and sort them

Every processor has equally many keys, in its own memory.  Radix sort leaves it with equally many.  No barrier separates
the digits: a scan ends only after all processors have begun it, and so have all their keys.

Source: E. A. Brewer, Portable High-Performance Supercomputing, sections 4.5.1 and 4.5.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp import Message, Processor, local

from .keys import check_number

WIDEST = 16
OVERSAMPLING = 64
Keys = NDArray[np.uint32]
Counts = NDArray[np.int32]


@local(name="clear", terms={"byte": "counts.nbytes"}, oblivious=True)
def clear(counts: Counts) -> None:
    """Set counts to zero."""
    counts[:] = 0


@local(name="radix.count", terms={"key": "len(keys)"}, oblivious=True)
def count_digits(keys: Keys, shift: int, mask: int, counts: Counts) -> None:
    """Count the keys of each value of a digit."""
    for i in range(len(keys)):
        counts[(keys[i] >> np.uint32(shift)) & np.uint32(mask)] += 1


@local(name="radix.starts", terms={"bucket": "len(total)"}, oblivious=True)
def first_places(total: Counts, before: Counts, places: NDArray[np.int64]) -> None:
    """Compute the place in the order of all keys at which the own keys of each value begin."""
    start = 0
    for k in range(len(total)):
        places[k] = start + before[k]
        start += total[k]


@local(name="radix.place", terms={"key": "len(keys)"}, oblivious=True)
def places_of(keys: Keys, shift: int, mask: int, places: NDArray[np.int64], into: NDArray[np.int64]) -> None:
    """Find the place of each key."""
    for i in range(len(keys)):
        digit = (keys[i] >> np.uint32(shift)) & np.uint32(mask)
        into[i] = places[digit]
        places[digit] += 1


@local(name="radix.begin", terms={}, cost="0", oblivious=True)
def begin_radix(n: int) -> int:
    """Stand for the work before the first digit: a machine file says how long it takes."""
    return n


@local(name="sample.begin", terms={}, cost="0", oblivious=True)
def begin_sample(n: int) -> int:
    """Stand for the work before the sample is sorted: a machine file says how long it takes."""
    return n


@local(name="sample.find", terms={"key": "len(keys)", "step": "len(keys) * log2(max(1, len(splitters)))"})
def processors_of(keys: Keys, splitters: Keys, into: NDArray[np.int64], counts: Counts) -> None:
    """Find the processor of each key by binary search: the last one whose splitter is not above the key."""
    for i in range(len(keys)):
        low, high = 0, len(splitters)
        while high - low > 1:
            middle = (low + high) >> 1
            if splitters[middle] <= keys[i]:
                low = middle
            else:
                high = middle
        into[i] = low
        counts[low] += 1


@local(name="sample.sort", terms={"key": "len(keys)"}, cost="10 * len(keys) * log2(max(2, len(keys)))")
def sort_here(keys: Keys) -> None:
    """Sort keys in a processor's own memory."""
    keys.sort()


class Exchange:
    """The keys that come to a processor, in messages of a place and a key, or of a key alone.

    Attributes
    ----------
    keys : uint32 array
        Memory for the keys that come.
    came : int
        Number of keys that have come since the memory was given.
    """

    def __init__(self, proc: Processor) -> None:
        self.proc, self.keys, self.came = proc, np.zeros(0, np.uint32), 0
        self._placed, self._appended = proc.handler(self._place), proc.handler(self._append)

    def into(self, keys: Keys) -> None:
        """Let the next keys come into other memory.  No processor may send them before the next collective."""
        self.keys, self.came = keys, 0

    def _place(self, message: Message, at: int, key: int) -> None:
        self.keys[at] = key
        self.came += 1

    def _append(self, message: Message, key: int) -> None:
        if self.came == len(self.keys):
            self.keys = np.resize(self.keys, 2 * len(self.keys) + 1)
        self.keys[self.came] = key
        self.came += 1

    def send(self, to: list[int], keys: list[int], at: list[int] | None = None) -> None:
        """Send each key to its processor, and to a place there if places are given."""
        send = self.proc.send
        if at is None:
            for target, key in zip(to, keys, strict=True):
                send(target, self._appended, key)
        else:
            for target, place, key in zip(to, at, keys, strict=True):
                send(target, self._placed, place, key)

    def wait(self, count: int) -> None:
        """Wait until a number of keys have come."""
        self.proc.wait_until(lambda: self.came == count)


def sort_radix_by_messages(proc: Processor, keys: Keys, *, digit: int = 8, bits: int = 32) -> Keys:
    """Sort the keys of all processors by radix sort, with a message for each key (SPMD program).

    Parameters
    ----------
    proc : Processor
    keys : uint32 array of shape (k,)
        Keys of this processor; k is the same on all processors.
    digit : int
        Number of bits to sort by in a round, 1 to 16.
    bits : int
        Number of bits to sort by: keys are from 0 to 2**bits - 1.

    Returns
    -------
    uint32 array of shape (k,)
        The keys of rank r are the r-th part of the sorted keys.

    Raises
    ------
    TypeError, ValueError
        If the keys are not uint32, or a number is out of range.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.kernels.sorting.by_messages import sort_radix_by_messages
    >>> def program(proc):
    ...     return sort_radix_by_messages(proc, np.array([7 - proc.rank, proc.rank], np.uint32), bits=3).tolist()
    >>> with smp.emulated(3, machine="cm5") as machine:
    ...     machine.run(program).results
    [[0, 1], [2, 5], [6, 7]]
    """
    return radix(Exchange(proc), _checked(keys), digit, bits)


def radix(exchange: Exchange, keys: Keys, digit: int, bits: int) -> Keys:
    """Sort keys by radix sort; see `sort_radix_by_messages`."""
    width, last = check_number("digit", digit, 1, WIDEST), check_number("bits", bits, 1, 32)
    proc, k = exchange.proc, len(keys)
    values, mask = 1 << width, (1 << width) - 1
    counts, places = np.zeros(values, np.int32), np.zeros(values, np.int64)
    order = np.empty(k, np.int64)
    begin_radix(k)
    for shift in range(0, last, width):
        target = np.empty(k, np.uint32)
        exchange.into(target)
        clear(counts)
        count_digits(keys, shift, mask, counts)
        before = proc.scan(counts)
        total = proc.broadcast(before, root=proc.size - 1)
        first_places(total, before - counts, places)
        places_of(keys, shift, mask, places, order)
        exchange.send((order // k).tolist(), keys.tolist(), (order % k).tolist())
        exchange.wait(k)
        keys = target
    return keys


def sort_sample_by_messages(
    proc: Processor, keys: Keys, *, oversampling: int = OVERSAMPLING, digit: int = 8, seed: int = 0
) -> Keys:
    """Sort the keys of all processors by sample sort, with a message for each key (SPMD program).

    Parameters
    ----------
    proc : Processor
    keys : uint32 array of shape (k,)
        Keys of this processor; k is the same on all processors, and at least 1.
    oversampling : int
        Number of keys that each processor draws, with replacement.
    digit : int
        Number of bits of the digits by which the sample is sorted.
    seed : int
        Seed of the draws, from 0.

    Returns
    -------
    uint32 array
        The sorted keys of one range of values: those of a rank are not above those of the next rank.

    Raises
    ------
    TypeError, ValueError
        If the keys are not uint32, there are none, or a number is out of range.
    """
    if not len(_checked(keys)):
        raise ValueError("sample sort draws from the keys of each processor, but this one has none")
    exchange = Exchange(proc)
    return partition(exchange, keys, draws(keys, oversampling, seed, proc.rank), digit)


def draws(keys: Keys, oversampling: int, seed: int, rank: int) -> Keys:
    """Return the keys that a processor draws for the sample."""
    count = check_number("oversampling", oversampling, 1)
    return np.random.default_rng((check_number("seed", seed, 0), rank)).choice(keys, count)


def partition(exchange: Exchange, keys: Keys, drawn: Keys, digit: int) -> Keys:
    """Sort keys by sample sort; see `sort_sample_by_messages`."""
    proc = exchange.proc
    begin_sample(len(drawn))
    splitters = np.zeros(proc.size, np.uint32)
    splitters[proc.rank] = radix(exchange, drawn, digit, 32)[0]
    splitters = proc.reduce(splitters)
    to, counts = np.empty(len(keys), np.int64), np.zeros(proc.size, np.int32)
    exchange.into(np.empty(2 * len(keys), np.uint32))
    processors_of(keys, splitters, to, counts)
    expected = int(proc.reduce(counts)[proc.rank])
    exchange.send(to.tolist(), keys.tolist())
    exchange.wait(expected)
    mine = exchange.keys[:expected].copy()
    sort_here(mine)
    return mine


def _checked(keys: Keys) -> Keys:
    if not isinstance(keys, np.ndarray) or keys.dtype != np.uint32 or keys.ndim != 1:
        found = f"{keys.dtype}{list(keys.shape)}" if isinstance(keys, np.ndarray) else type(keys).__name__
        raise TypeError(f"the keys must be a one-dimensional array of uint32, not {found}")
    return keys
