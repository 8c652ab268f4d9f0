"""Handlers of a processor's own signals run while its program waits.

Processor 1 comes only after the handler of processor 0 has run, and the handler sets the flag that says so.  So a
program whose handler waits for the end of the wait does not end, and the time limit of the run fails the test.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smp

LATER = 0.1  # seconds after which the signal comes: the processor has slept for some slices by then
SOON = 1e-4
Wait = Callable[[smp.Processor], object]


def barrier(proc: smp.Processor) -> None:
    proc.barrier()


def reduction(proc: smp.Processor) -> None:
    assert proc.reduce(1, np.add) == 2


def ticket(proc: smp.Processor) -> None:
    assert proc.split.any(proc.rank == 1).wait()


def message(proc: smp.Processor) -> None:
    came: list[int] = []
    handler = proc.handler(lambda message, number: came.append(number))
    if proc.rank == 0:
        proc.wait_until(lambda: came == [7])
    else:
        proc.send(0, handler, 7)


def messages_at_a_barrier(proc: smp.Processor) -> None:
    proc.handler(lambda message: None)
    proc.barrier()


WAITS = [barrier, reduction, ticket, message, messages_at_a_barrier]


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("delay", [SOON, LATER])
def test_a_handler_runs_during_a_wait(pair: smp.Machine, wait: Wait, delay: float) -> None:
    flag = pair.zeros(1, np.int64)

    def program(proc: smp.Processor) -> float:
        if proc.rank == 0:
            signal.signal(signal.SIGALRM, lambda number, frame: flag.view.__setitem__(0, 1))
            signal.setitimer(signal.ITIMER_REAL, delay)
        else:
            while not flag.view[0]:
                time.sleep(1e-3)
        wait(proc)
        proc.barrier()
        return 1.0

    assert pair.run(program, timeout=30).results == [1.0, 1.0]


@pytest.mark.parametrize("wait", WAITS)
def test_an_exception_of_a_handler_ends_the_run_and_no_more(pair: smp.Machine, wait: Wait) -> None:
    def alarm(number: int, frame: object) -> None:
        raise TimeoutError("the alarm rang")

    def program(proc: smp.Processor) -> None:
        if proc.rank == 0:
            signal.signal(signal.SIGALRM, alarm)
            signal.setitimer(signal.ITIMER_REAL, LATER)
            wait(proc)
        else:
            time.sleep(600)

    with pytest.raises(smp.errors.ProcessorRaised, match="the alarm rang"):
        pair.run(program, timeout=30)
    pair.run(barrier)  # the machine goes on


def test_the_next_barrier_follows_one_whose_wait_a_handler_ended(pair: smp.Machine) -> None:
    def alarm(number: int, frame: object) -> None:
        raise TimeoutError

    flag = pair.zeros(1, np.int64)

    def program(proc: smp.Processor) -> list[int]:
        if proc.rank == 0:
            signal.signal(signal.SIGALRM, alarm)
            signal.setitimer(signal.ITIMER_REAL, LATER)
            with pytest.raises(TimeoutError):
                proc.barrier()  # the arrival counts
            flag.view[0] = 1
        else:
            while not flag.view[0]:
                time.sleep(1e-3)
            proc.barrier()
        return [int(proc.reduce(proc.rank + k, np.add)) for k in range(10)]

    sums = [1 + 2 * k for k in range(10)]
    assert pair.run(program, timeout=30).results == [sums, sums]


@pytest.mark.parametrize("delay", [0.005, LATER])
def test_a_wait_that_a_handler_ended_is_not_taken_for_a_deadlock(pair: smp.Machine, delay: float) -> None:
    """The signal comes in the first slice of the sleep, or in a later one."""

    def alarm(number: int, frame: object) -> None:
        raise TimeoutError

    def program(proc: smp.Processor, cells: Any) -> int:
        if proc.rank == 0:
            signal.signal(signal.SIGALRM, alarm)
            signal.setitimer(signal.ITIMER_REAL, delay)
            with pytest.raises(TimeoutError):
                proc.barrier()
            time.sleep(1.5)  # the parent looks for deadlocks meanwhile
            cells.writeef(0, 7)
        value = int(cells.readfe(0)) if proc.rank else 0
        proc.barrier()
        if proc.rank:
            proc.barrier()  # in place of that which processor 0 left by the exception
        return value

    assert pair.run(program, pair.cells(1), timeout=30).results == [0, 7]


@pytest.mark.parametrize("delay", [0.005, LATER])
def test_a_cell_goes_on_after_a_handler_has_ended_a_wait(pair: smp.Machine, delay: float) -> None:
    def alarm(number: int, frame: object) -> None:
        raise TimeoutError

    def program(proc: smp.Processor, cells: Any) -> int:
        if proc.rank:
            return 0
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, delay)
        with pytest.raises(TimeoutError):
            cells.readfe(0)
        cells.writeef(0, 5)
        return int(cells.readfe(0, timeout=5))

    assert pair.run(program, pair.cells(1), timeout=30, helpers=True).results == [5, 0]


def test_a_deadlock_at_a_barrier_and_for_a_message_is_found_though_waits_come_back(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> Any:
        return barrier(proc) if proc.rank == 0 else proc.wait_until(lambda: False)

    with pytest.raises(smp.errors.DeadlockError):
        pair.run(program, timeout=30)
