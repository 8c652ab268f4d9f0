"""Compiled loops and programs for the tests, in a module that workers import quickly."""

import contextlib
import os
import signal
import sys
import time

import numpy as np

import smp
from smp._runtime.loops.atomics import peek
from smp.compiled import barrier, compare_exchange, exchange, fetch_add, load, pause, readff, store, wait, wake


@smp.stream
def tickets(counter, mine):
    for k in range(len(mine)):
        mine[k] = fetch_add(counter, 0, 1)


@smp.stream
def locked(lock, total, rounds):
    for _ in range(rounds):
        while compare_exchange(lock, 0, 0, 1) != 0:
            pause()
        total[0] = total[0] + 1  # a plain addition: exact only under the lock
        store(lock, 0, 0)


@smp.stream
def swapped(slot, mine):
    for k in range(len(mine)):
        mine[k] = exchange(slot, 0, mine[k])


@smp.stream
def rounds_entered(entered, sync, rank, size, first, rounds, jitter):
    """Enter barrier after barrier; return how often one let go although another processor had not entered it."""
    early = 0
    state = rank + 1
    for k in range(first, first + rounds):
        if jitter > 0:
            state = (state * 1103515245 + 12345) % 2147483648
            for _ in range(state % jitter):
                pause()
        store(entered, 8 * rank, k + 1)
        barrier(sync)
        for other in range(size):
            if load(entered, 8 * other) < k + 1:
                early += 1
    return early


@smp.stream
def ping_pong(words, rank, rounds, sync):
    """Let two processors write one word in turn, each blocked until its next turn."""
    for k in range(rounds):
        if k % 2 == rank:
            store(words, 0, k + 1)
            wake(words, 0, 1)
        else:
            while load(words, 0) == k:
                wait(words, 0, k, sync)
    return load(words, 0)


def early(
    proc: smp.Processor, entered: smp.GlobalArray, compiled: int, python: int, turns: int, jitter: int = 0
) -> int:
    """Pass barriers, in turn in compiled code and in Python; return how often one let go too early.

    There are ``turns`` turns, each with ``compiled`` rounds in compiled code and ``python`` rounds in Python.
    """
    words, count, k = entered.view, 0, 0
    for _ in range(turns):
        count += rounds_entered(words, proc.sync, proc.rank, proc.size, k, compiled, jitter)
        k += compiled
        for _ in range(python):
            words[8 * proc.rank] = k + 1
            proc.barrier()
            count += int((words[::8] < k + 1).sum())
            k += 1
    return count


@smp.stream
def wait_for_ever(words, sync):
    """Wait in compiled code for a word that a processor changes only if it ends normally."""
    while load(words, 0) == 0:
        wait(words, 0, 0, sync)


@smp.stream
def wait_on_a_cell(cells):
    """Wait in compiled code for a cell that a processor fills only if it ends normally."""
    return readff(cells, 0)


@smp.stream
def crash(words):
    """Read from an address at which there is no memory."""
    return peek(words[0])


@smp.stream
def wrong(words):
    """Raise an error in compiled code."""
    if words[0] == 0:
        raise ValueError("in a loop")
    return 0


class Guilty(Exception):
    """Error that the failing programs raise."""


SIGNALS = {
    "SIGTERM": signal.SIGTERM,
    "SIGKILL": signal.SIGKILL,
    "SIGSEGV": signal.SIGSEGV,
    "SIGABRT": signal.SIGABRT,
}


def fatal(
    proc: smp.Processor,
    how: str,
    victim: int,
    others: str,
    words: smp.GlobalArray,
    big: smp.GlobalArray,
    cells: smp.Cells,
) -> str:
    """End one processor in its second superstep, while the others are where ``others`` says."""
    if others == "waiting":
        wait_for_ever(np.ones(1, np.int64), proc.sync)  # loads the loop before a processor fails
    if others == "cell in a loop":
        wait_on_a_cell(proc.cells(1, full=True))
    with proc.superstep("peace"):
        pass
    if proc.rank == victim:
        if how == "return":
            words.view[0] = 1
            cells.writeef(0, 1)
            return "returned"
        if how == "SIGINT":
            os.kill(os.getpid(), signal.SIGINT)
            words.view[0] = 1
            cells.writeef(0, 1)
            return "returned"
        with proc.superstep("war") as step:
            step.copy_in(words)
            if how == "raise":
                raise Guilty("because")
            if how == "exit":
                sys.exit(3)
            if how == "_exit":
                os._exit(3)
            if how == "SIGABRT":
                os.abort()
            os.kill(os.getpid(), SIGNALS[how])
            time.sleep(60)
    elif others == "barrier":
        proc.barrier()
    elif others == "waiting":
        wait_for_ever(words.view, proc.sync)
    elif others == "cell":
        cells.readff(0)
    elif others == "cell in a loop":
        wait_on_a_cell(cells)
    elif others == "deaf":
        while not words.view[0]:
            with contextlib.suppress(BaseException):  # plain Python code is interrupted
                while not words.view[0]:
                    pass
    else:
        with proc.superstep("war") as step:
            for _ in range(30):
                step.copy_in(big)
    return "went on"


def fatal_thread(proc: smp.Processor, how: str, others: str, words: smp.GlobalArray, cells: smp.Cells) -> str:
    """End a thread of processor 1 next to another thread that waits; the other processors wait for them."""
    if how.endswith("loop"):
        (crash if how == "crash in a loop" else wrong)(np.full(1, proc.sync.ctypes.data))  # loads it before one fails
    proc.barrier()
    if proc.rank == 1:
        with proc.streams(2) as pool:
            pool.start(cells.readff, 0)
            pool.start(end, how, words, cells)
    elif others == "cell":
        cells.readff(0)
    proc.barrier()
    return "went on"


def end(how: str, words: smp.GlobalArray, cells: smp.Cells) -> None:
    """End in the given way. If the way is a normal one, fill the cell first."""
    if how in ("return", "SIGINT"):
        if how == "SIGINT":
            os.kill(os.getpid(), signal.SIGINT)
        cells.writeef(0, 1)
    elif how == "raise":
        raise Guilty("in a thread")
    elif how == "exit":
        sys.exit(4)
    elif how == "_exit":
        os._exit(4)
    elif how == "SIGABRT":
        os.abort()
    elif how == "crash in a loop":
        crash(words.view)
    elif how == "raise in a loop":
        wrong(words.view)
    else:
        os.kill(os.getpid(), SIGNALS[how])
        time.sleep(60)


def busy(proc: smp.Processor, shared: smp.GlobalArray, words: smp.GlobalArray, rounds: int) -> float:
    """Use a bit of everything: supersteps, collectives, allocation, and barriers in compiled code."""
    total = 0.0
    for k in range(rounds):
        with proc.superstep(f"step {k % 3}") as step:
            mine = step.copy_in(shared, proc.block(len(shared)))
            step.compute()
            step.copy_out(shared, proc.block(len(shared)), mine + 1)
        total += proc.reduce(float(mine[0])) + proc.scan(k)
        proc.broadcast(bytes(k % 7 * 20_000), k % proc.size)
        proc.gather(k)
        made = proc.zeros(1000)
        total += float(made.view[0])
        rounds_entered(words.view, proc.sync, proc.rank, proc.size, 20 * k, 20, 50)
    return total
