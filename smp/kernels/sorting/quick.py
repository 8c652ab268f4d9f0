"""Parallel quicksort: a shared stack gives newly made sublists to free processors.

    main     pop a sublist ─▶ while it is longer than the cutoff:   select a pivot, swap it to the front
               ▲                                                    partition_list in two
               │                                                    push the longer half, go on with the shorter;
               │                                                    bubble_sort a half that is no longer than the cutoff
               ╰───────────── bubble_sort what is left ◀╯

    select, partition_list and bubble_sort work on one processor's own sublist: sublists on the stack and in hand
    are disjoint.  The stack orders all accesses to the same keys (see `smp.kernels.sorting.work_stack`).

The pivot is the median of three keys that lie a third of the sublist apart.  The place of the first of them follows
from the seed and the sublist.  So the division of the keys does not depend on which processor makes it, or when, and
the calls of all processors together are the same on every machine.  Whatever the keys, with a random seed the chance of
a pivot among the lowest tenth is at most 0.15, and the same holds for the highest tenth.  All keys are in place when
the stack is empty and all processors wait at it.

Exchanges of keys are made by `swap` or, as an improvement, by the loops themselves.  In that case `bubble_sort` carries
the greater key on (`carry`), and `partition_list` exchanges the two keys that it has just read.

Places where perturbation tuning inserts delays: `swap` and `bubble_sort`, each when it is called; `code1`, each time
that the loop of `main` divides a sublist; and those of the stack.

Every key is read by the primitive `load` and written by `store_release`.  On the host machine these are the plain
instructions; the emulated machine makes a step of each.

Source: Synthetic-perturbation tuning of MIMD programs, section 3.1, table 1; Hoare, Quicksort.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Processor, inline, stream
from smp._runtime.loops.atomics import load, store_release
from smp.compiled import delay

from .work_stack import END, GUARDS, Stack, pop, push, shared_stack

CUTOFF = 16
Keys = NDArray[Any]
TYPES = tuple(np.dtype(name) for name in ("int32", "int64", "uint32", "uint64", "float32", "float64"))
_PRIME, _FACTOR = (1 << 31) - 1, 48271  # of the minimal standard generator


class Calls(NamedTuple):
    """Number of calls that a processor made of each routine, and number of its waits for the guard.

    Attributes
    ----------
    s_lock, pop, push, swap, bubble_sort, select, partition_list : int
        As in table 1 of the source; s_unlock is called as often as s_lock. Exchanges without `swap` are not counted.
    waits : int
        Number of calls of s_lock that did not get the guard at once.
    """

    s_lock: int
    pop: int
    push: int
    swap: int
    bubble_sort: int
    select: int
    partition_list: int
    waits: int


@inline
def less(a: Any, b: Any) -> bool:
    """Return True if key ``a`` comes before key ``b``; NaN comes after all others."""
    return bool(a < b or (b != b and a == a))


@inline
def swap(keys: Keys, i: int, j: int) -> None:
    """Exchange two keys."""
    delay("swap")
    key = load(keys, i)
    store_release(keys, i, load(keys, j))
    store_release(keys, j, key)


@inline
def carry(keys: Keys, first: int, stop: int) -> int:
    """Move the greatest key to the end, as a pass of `bubble_sort` does; return the place from which all are in order.

    Of two neighbours, the greater key stays in a register, and the other one is written.
    """
    last = first
    carried = load(keys, first)
    for i in range(first + 1, stop):
        key = load(keys, i)
        passed = less(key, carried)
        store_release(keys, i - 1, key if passed else carried)
        carried = carried if passed else key
        last = i if passed else last
    store_release(keys, stop - 1, carried)
    return last


@inline
def bubble_sort(keys: Keys, first: int, stop: int, inline_swap: bool) -> int:
    """Sort a short sublist by exchanging neighbours; return the number of calls of swap."""
    delay("bubble_sort")
    swaps = 0
    while stop > first:
        if inline_swap:
            stop = carry(keys, first, stop)
            continue
        last = first
        for i in range(first + 1, stop):
            if less(load(keys, i), load(keys, i - 1)):
                swap(keys, i - 1, i)
                swaps += 1
                last = i
        stop = last
    return swaps


@inline
def select(keys: Keys, first: int, stop: int, seed: int) -> int:
    """Return the place of the pivot of a sublist, which is the median of three keys."""
    length = stop - first
    place = ((first + stop + seed) % _PRIME * _FACTOR) % _PRIME % length
    a, b, c = first + place, first + (place + length // 3) % length, first + (place + 2 * (length // 3)) % length
    if less(load(keys, b), load(keys, a)):
        a, b = b, a
    if less(load(keys, c), load(keys, b)):
        return a if less(load(keys, c), load(keys, a)) else c
    return b


@inline
def partition_list(keys: Keys, first: int, stop: int, inline_swap: bool) -> tuple[int, int]:
    """Divide a sublist by its first key, the pivot: no key of the front part is greater, no key of the rest is less.

    Returns
    -------
    middle : int
        Beginning of the second part; neither part is empty.
    swaps : int
        Number of calls of swap.
    """
    pivot = load(keys, first)
    i, j, swaps = first - 1, stop, 0
    while True:
        i += 1
        low = load(keys, i)
        while less(low, pivot):
            i += 1
            low = load(keys, i)
        j -= 1
        high = load(keys, j)
        while less(pivot, high):
            j -= 1
            high = load(keys, j)
        if i >= j:
            return j + 1, swaps
        if inline_swap:
            store_release(keys, i, high)
            store_release(keys, j, low)
        else:
            swap(keys, i, j)
            swaps += 1


@stream
def main(keys: Keys, stack: Stack, cutoff: int, seed: int, inline_swap: bool) -> Calls:
    """Sort, as one of the processors that share an empty stack; all keys are in place when it returns."""
    pops = pushes = swaps = bubbled = parted = waits = 0
    if stack.rank == 0:
        waits += push(stack, 0, len(keys))
        pushes += 1
    while True:
        first, stop, waited = pop(stack)
        pops += 1
        waits += waited
        if first == END:
            return Calls(pops + pushes, pops, pushes, swaps, bubbled, parted, parted, waits)
        while stop - first > cutoff:
            delay("code1")
            swap(keys, first, select(keys, first, stop, seed))
            middle, swapped = partition_list(keys, first, stop, inline_swap)
            parted += 1
            swaps += 1 + swapped
            start, end = first, middle
            if middle - first < stop - middle:
                first = middle
            else:
                start, end, stop = middle, stop, middle
            if end - start > cutoff:  # the shorter part; the longer one is from first to stop
                waits += push(stack, first, stop)
                pushes += 1
                first, stop = start, end
            else:
                swaps += bubble_sort(keys, start, end, inline_swap)
                bubbled += 1
        swaps += bubble_sort(keys, first, stop, inline_swap)
        bubbled += 1


def sort_quick(
    proc: Processor,
    keys: GlobalArray,
    *,
    cutoff: int = CUTOFF,
    guard: str = "lock",
    inline_swap: bool = False,
    seed: int = 0,
) -> Calls:
    """Sort a global array in place by a parallel quicksort (SPMD program).

    Parameters
    ----------
    proc : Processor
    keys : GlobalArray of shape (n,), int32, int64, uint32, uint64, float32 or float64
        NaN comes last.
    cutoff : int
        Largest number of keys in a sublist that is sorted by bubble sort, and is not given away.
    guard : {"lock", "cell"}
        Guard of the stack: a lock of compare-exchanges, or a full/empty cell that holds the balance of the stack.  A
        waiting processor gives up its CPU after a while.
    inline_swap : bool
        If True, the loops make the exchanges themselves, with fewer loads and stores; the bubble sort of random keys
        needs half as many. Then `swap` is called once per partition, for the pivot.
    seed : int
        Seed of the pivots.

    Returns
    -------
    Calls
        Calls of this processor.  Summed over the processors, all counts except for ``pop``, ``s_lock`` and ``waits``
        follow from the keys, the cutoff and the seed.  In the sums, ``pop`` is ``push`` plus one for each processor,
        and ``bubble_sort`` is ``partition_list`` plus one.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors alike, before any work.

    Notes
    -----
    A sort takes about 1.2 n log2 n comparisons.  Some 2n of them come one after another, however many processors there
    are, because the first partitions keep one processor busy while the others wait.

    A cell goes to its waiters in the order in which they came, while a lock goes to whichever processor runs.  If many
    processors want the guard, each transfer of the cell therefore waits until a sleeping processor runs again.  With 8
    processors on 2 CPUs, a sort was measured to take five times as long with the cell as with the lock.  With 2
    processors, both took the same time.

    The program is not bulk-synchronous.  It has no supersteps, and the accesses of a processor depend on the keys and
    on the order in which processors come to the stack.  So it has no cost function, and no interval.  When it returns,
    all keys are in place, and this processor sees them so.  The stack has room for n/(cutoff + 1) sublists of 16 bytes
    each.  That is enough, because the sublists on it are disjoint and longer than the cutoff.

    Examples
    --------
    >>> import smp
    >>> from smp.kernels.sorting.quick import sort_quick
    >>> with smp.emulated(2) as machine:
    ...     keys = machine.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
    ...     run = machine.run(sort_quick, keys, cutoff=2)
    ...     print(keys[:], sum(calls.partition_list for calls in run.results))
    [1. 1. 2. 3. 4. 5. 6. 9.] 4
    """
    if keys.dtype not in TYPES:
        raise TypeError(f"cannot sort keys of {keys.dtype}: quicksort takes {', '.join(map(str, TYPES))}")
    if keys.ndim != 1:
        raise ValueError(f"keys must be a one-dimensional global array, not one of shape {keys.shape}")
    longest = operator.index(cutoff)
    if longest < 1:
        raise ValueError(f"cutoff must be at least 1, not {cutoff}")
    if guard not in GUARDS:
        raise ValueError(f"unknown guard {guard!r}; choose {' or '.join(GUARDS)}")
    stack = shared_stack(proc, max(1, len(keys) // (longest + 1)), guard)
    return main(keys.view, stack, longest, operator.index(seed) % _PRIME, bool(inline_swap))
