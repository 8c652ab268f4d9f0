"""Stack of sublists that all processors share under a lock; a processor that finds it empty sleeps until it gets one.

    balance     > 0    number of sublists on the stack
                < 0    minus the number of processors that wait for one: then the stack is empty
                       if all p wait: there is nothing left to do, because no processor has work in hand

    word                 written by                          read by
    LOCK                 all, to take and to free the guard  all
    BALANCE              the holder of the guard             the holder
    top, a cell          LOCK and BALANCE in one, if the cell is the guard: readfe takes it, with the balance in it,
                         and writeef puts it back
    sublists[2k], [+1]   push, holding the guard: k is the   pop, holding the guard: k + 1 is the balance
                         balance
    waiting[k]           pop, holding the guard: -k is the   push, holding the guard: -k - 1 is the balance; the last
                         balance                             processor, once all others wait
    orders[2w], [2w+1]   the only processor that has taken   processor w, readfe: the only one, once it has put itself
                         w off the waiting list, writeef     on the waiting list

The guard is either LOCK or the cell ``top``.  Data written under the guard is read under it: freeing the guard is a
release, taking it an acquire.  An order is a pair of cells, each of which is a fence.  So a processor that gets a
sublist, from the stack or by an order, sees all earlier changes of the keys in it, and a processor that learns that
nothing is left sees all changes of any key.  A processor is taken off the waiting list once for each time that it has
put itself there, and it puts itself there again only after it has read its order.  So its two cells are empty when they
are written, and no writer waits.

LOCK is FREE, HELD, or AWAITED, which means held while another processor may sleep until it is free.  A processor that
has to wait writes AWAITED, and takes the lock with AWAITED as well, because others may still sleep.  Every wait ends
when a processor fails.

Places where perturbation tuning inserts delays: `s_lock`, `push` and `pop`, each when it is called, and so before it
tries to take the guard.

Source: Synthetic-perturbation tuning of MIMD programs, section 3.1; the names are those of its table 1.  The lock of
three states: Drepper, Futexes are tricky.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp import Processor, inline
from smp._runtime.loops.atomics import compare_exchange, exchange, load, store_release
from smp._runtime.memory.cells import Cells
from smp.compiled import delay, readfe, try_readfe, wait, wake, writeef

LOCK, BALANCE, WORDS = 0, 1, 2
FREE, HELD, AWAITED = 0, 1, 2
END = -1
"""Value in place of the beginning of a sublist when there is nothing left to do."""
GUARDS = ("lock", "cell")


class Stack(NamedTuple):
    """Data of the stack that the processors share, to be passed to a compiled loop, and the rank of its processor.

    Attributes
    ----------
    words : int64 array
        LOCK and BALANCE.
    top : Cells
        One cell, with the balance in it.
    by_cell : bool
        True if the cell is the guard, not the lock.
    sublists : int64 array
        Beginning and end of each sublist.
    waiting : int64 array, shape (p,)
        Ranks of the waiting processors.
    orders : Cells
        Two cells for each processor.
    rank, size : int
    sync : int64 array
        ``proc.sync``.
    """

    words: NDArray[np.int64]
    top: Cells
    by_cell: bool
    sublists: NDArray[np.int64]
    waiting: NDArray[np.int64]
    orders: Cells
    rank: int
    size: int
    sync: NDArray[np.int64]


def shared_stack(proc: Processor, capacity: int, guard: str) -> Stack:
    """Return an empty stack with room for ``capacity`` sublists; all processors call it alike.

    Parameters
    ----------
    proc : Processor
    capacity : int
        Largest number of sublists on the stack; `push` does not check it.
    guard : {"lock", "cell"}
    """
    words = proc.zeros(WORDS + proc.size + 2 * capacity, np.int64).view
    return stack_on(words, proc.cells(1, full=True, padded=True), proc.cells(2 * proc.size, padded=True), guard, proc)


def stack_on(words: NDArray[np.int64], top: Cells, orders: Cells, guard: str, proc: Processor) -> Stack:
    """Return a stack made of words that are zero, a full cell, and two empty cells for each processor."""
    common, waiting, sublists = np.split(words, [WORDS, WORDS + proc.size])
    return Stack(common, top, guard == "cell", sublists, waiting, orders, proc.rank, proc.size, proc.sync)


@inline
def s_lock(stack: Stack) -> tuple[int, int]:
    """Take the guard; return the balance, and the number of waits for the guard, 0 or 1."""
    delay("s_lock")
    if stack.by_cell:
        done, balance = try_readfe(stack.top, 0)
        return (balance, 0) if done else (readfe(stack.top, 0), 1)
    words = stack.words
    if compare_exchange(words, LOCK, FREE, HELD) == FREE:
        return load(words, BALANCE), 0
    while exchange(words, LOCK, AWAITED) != FREE:
        wait(words, LOCK, AWAITED, stack.sync)
    return load(words, BALANCE), 1


@inline
def s_unlock(stack: Stack, balance: int) -> None:
    """Set the balance, and free the guard."""
    if stack.by_cell:
        writeef(stack.top, 0, balance)
        return
    store_release(stack.words, BALANCE, balance)
    if exchange(stack.words, LOCK, FREE) == AWAITED:
        wake(stack.words, LOCK, 1)


@inline
def push(stack: Stack, first: int, stop: int) -> int:
    """Put the sublist from ``first`` to ``stop`` on the stack, or hand it to a waiting processor.

    Returns
    -------
    int
        Number of waits for the guard, 0 or 1.
    """
    delay("push")
    balance, waits = s_lock(stack)
    if balance < 0:
        free = load(stack.waiting, -balance - 1)
        s_unlock(stack, balance + 1)
        writeef(stack.orders, 2 * free, first)
        writeef(stack.orders, 2 * free + 1, stop)
    else:
        store_release(stack.sublists, 2 * balance, first)
        store_release(stack.sublists, 2 * balance + 1, stop)
        s_unlock(stack, balance + 1)
    return waits


@inline
def pop(stack: Stack) -> tuple[int, int, int]:
    """Take the sublist on top; if there is none, wait until one is pushed, or until all processors wait.

    Returns
    -------
    first, stop : int
        The sublist.  On all processors, ``first`` is END when there is nothing left to do.
    waits : int
        Number of waits for the guard, 0 or 1.
    """
    delay("pop")
    balance, waits = s_lock(stack)
    if balance > 0:
        first, stop = load(stack.sublists, 2 * balance - 2), load(stack.sublists, 2 * balance - 1)
        s_unlock(stack, balance - 1)
        return first, stop, waits
    if balance == 1 - stack.size:
        s_unlock(stack, balance)
        for k in range(stack.size - 1):
            writeef(stack.orders, 2 * load(stack.waiting, k), END)
        return END, END, waits
    store_release(stack.waiting, -balance, stack.rank)
    s_unlock(stack, balance - 1)
    first = readfe(stack.orders, 2 * stack.rank)
    stop = END if first == END else readfe(stack.orders, 2 * stack.rank + 1)
    return first, stop, waits
