"""Measure machines of MPI, as ratios to the machine of the host and to bare mpi4py, and as seconds.

    python benchmarks/mpi.py [--bursts 40]

The two sides of each ratio are timed in neighbouring bursts of one run, and the ratio is the median over the pairs.

    one node      `smp.mpi(2)` and `smp.host(2)` are open at the same time, and run a burst each by turns
    two nodes     both nodes are this computer, and their messages go by TCP; a program calls smp and bare mpi4py by
                  turns, in the same two processes, so that MPI is initialised in the same way for both

A copy-in is timed as the call alone: the other processor waits at the end of its copy-in meanwhile.  MPI has no call
that reads the memory of a processor which does something else, so it is compared with calls that both ranks make:

    8 bytes       a request of 8 bytes by Send and Recv, and an answer of 8 bytes, also by Send and Recv
    1, 16 MiB     one Send and Recv of the data, without a request

Both sides fill a new array each time, or both an old one (``out=``).  The time of a failure begins when the program
that fails is sent to the processors.  "Late" deadlocks begin after about two seconds of work.  The waits of smp yield
the CPU more readily than those of MPI, so other processes on the two CPUs change the ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from typing import Any

import numpy as np
from bursts import NO_MPI, Act, burst, compared, rounds_of
from numpy.typing import NDArray

import smp
from smp._runtime.memory.cells import Cells
from smp._runtime.mpi.jobs import mpiexec
from smp.compiled import clock, readfe, writeef
from smp.errors import DeadlockError, MachineError, ProcessorDied, ProcessorRaised, SmpError

NETWORK = ["-genv", "MPIR_CVAR_CH4_NETMOD", "ofi", "-genv", "FI_PROVIDER", "tcp"]
"""Words for the launcher: without them the library would notice that the nodes share memory, and would use it."""
ELEMENTS = 100_000  # of the array that is copied in on one node
SHORT = 3  # times as many pairs of bursts on one node, where they are short
CALLS, HANDED = 200, 2000  # in a burst on one node: calls from Python, and hand-offs in a loop
SMALL, LARGE = 1 << 20, 16 << 20  # bytes of long transfers
HALF = LARGE // 8  # elements of the array on each of the two nodes
WORKS, READS, REST = 1.5, 1.2, 0.003  # seconds: the owner computes, the other one reads, and rests after each read
FAILURES, OPENED = 5, 5  # times
LATE = (1.8, 2.0, 2.2, 2.4, 2.6)  # seconds of work before a deadlock: the parent looks once a second by then

Row = tuple[str, list[float], float | None]
"""What is compared, the quartiles of the ratio and the median seconds of both sides, and the bar of the median."""
Seconds = tuple[str, list[float], float]
"""What takes time, the seconds of each time, and the bar of their median."""


def two_nodes() -> smp.Machine:
    """Open a machine of two nodes with a processor each."""
    return smp.mpi(2, launcher=[mpiexec(), "-launcher", "fork", "-hosts", "node0:1,node1:1", *NETWORK])


# One node.


@smp.stream
def hand_offs(cells: Cells, me: int, n: int) -> int:
    """Return the ns in which values go to the other processor and back, in n hand-offs."""
    begun = clock()
    for k in range(n // 2):
        if me == 0:
            writeef(cells, 0, k)
            readfe(cells, 1)
        else:
            writeef(cells, 1, readfe(cells, 0))
    return clock() - begun


def empty_superstep(proc: smp.Processor) -> None:
    """Do nothing in a superstep."""
    with proc.superstep("empty") as step:
        step.compute()


def copies(proc: smp.Processor, array: smp.GlobalArray, times: int) -> float:
    """Return the seconds of a copy-in of a whole array."""
    with proc.superstep("copies") as step:
        seconds = burst(lambda: None, lambda: step.copy_in(array), times)
        step.compute()
    return seconds


def on_one_node(proc: smp.Processor, array: smp.GlobalArray, cells: Cells) -> list[float]:
    """Return the seconds of a barrier, of an empty superstep, of a hand-off, and of a copy-in, of a burst each."""
    found = []
    for act, times in ((proc.barrier, CALLS), (lambda: empty_superstep(proc), CALLS)):
        burst(proc.barrier, act, times // 10)
        found.append(burst(proc.barrier, act, times))
    for times in (HANDED // 10, HANDED):
        proc.barrier()
        handed = hand_offs(cells, proc.rank, times) / times * 1e-9
    return [*found, handed, copies(proc, array, CALLS // 4)]


def one_node(bursts: int) -> list[Row]:
    """Compare machines of one node, of which the parent runs one after the other."""
    names = ("barrier", "empty superstep", "hand-off of a cell, in a loop", f"copy-in of {ELEMENTS:,} float64")
    with smp.mpi(2) as mpi, smp.host(2) as host:
        given = [(machine, machine.array(np.ones(ELEMENTS)), machine.cells(2, padded=True)) for machine in (mpi, host)]
        pairs = np.array(
            [[machine.run(on_one_node, *args).results[0] for machine, *args in given] for _ in range(bursts + 1)]
        )
    return [(f"{name} / host", compared(*pairs[1:, :, k].T), 1.1) for k, name in enumerate(names)]


# Two nodes.


def synchronised(proc: smp.Processor, comm: Any, bursts: int) -> list[Row]:
    """Compare barriers, empty supersteps and reductions with those of MPI."""
    words, total = np.ones(3, np.int64), np.zeros(3, np.int64)

    def posted() -> None:
        comm.Iallreduce(words, total).Wait()

    def row(name: str, one: Act, other: Act, bar: float) -> Row:
        return name, compared(*rounds_of(proc.barrier, (one, other), 30, bursts + 1)[1:].T), bar

    return [
        row("barrier / Iallreduce of 3 words", proc.barrier, posted, 1.5),
        row("empty superstep / Iallreduce of 3 words", lambda: empty_superstep(proc), posted, 4.0),
        row("reduce(1.0) / pickled allreduce(1.0)", lambda: proc.reduce(1.0), lambda: comm.allreduce(1.0), 1.5),
    ]


class Transfers:
    """Transfers of some bytes from processor 1 to processor 0, in bursts by smp and by bare MPI.

    Parameters
    ----------
    out : ndarray or None
        Array of processor 0 that is filled each time; None for a new one.
    """

    def __init__(
        self, proc: smp.Processor, comm: Any, array: smp.GlobalArray, nbytes: int, out: NDArray[Any] | None
    ) -> None:
        self._proc, self._comm, self._array, self._n, self._out = proc, comm, array, nbytes // 8, out
        self._data, self._word = np.ones(self._n), np.zeros(1)

    def copied(self, times: int) -> float:
        """Return the seconds of a copy-in by processor 0, while processor 1 waits."""
        seconds, index = 0.0, slice(HALF, HALF + self._n)
        self._proc.barrier()
        with self._proc.superstep("transfers") as step:
            if self._proc.rank == 0:
                assert step.copy_in(self._array, index, out=self._out).all(), "the elements of the other node are ones"
                seconds = burst(lambda: None, lambda: step.copy_in(self._array, index, out=self._out), times)
            step.compute()
        return seconds

    def sent(self, times: int) -> float:
        """Return the seconds of one Send and Recv."""
        act = self._receive if self._proc.rank == 0 else lambda: self._comm.Send(self._data, 0)
        burst(self._proc.barrier, act, 1)
        return burst(self._proc.barrier, act, times)

    def asked(self, times: int) -> float:
        """Return the seconds of a request of 8 bytes and its answer."""
        act = self._ask if self._proc.rank == 0 else self._answer
        burst(self._proc.barrier, act, 1)
        return burst(self._proc.barrier, act, times)

    def exchanged(self, times: int) -> float:
        """Return the seconds of a Sendrecv between the two processors."""
        other, out = 1 - self._proc.rank, np.empty(self._n)
        return burst(self._proc.barrier, lambda: self._comm.Sendrecv(self._data, other, 0, out, other, 0), times)

    def _receive(self) -> None:
        self._comm.Recv(np.empty(self._n) if self._out is None else self._out, 1)

    def _ask(self) -> None:
        self._comm.Send(self._word, 1)
        self._receive()

    def _answer(self) -> None:
        self._comm.Recv(self._word, 0)
        self._comm.Send(self._data, 0)

    def pairs(self, other: Callable[[int], float], times: int, bursts: int) -> list[float]:
        """Compare copy-ins with what MPI does, and alternate between them."""
        return compared(*np.array([(self.copied(times), other(times)) for _ in range(bursts + 1)])[1:].T)


def transferred(proc: smp.Processor, comm: Any, array: smp.GlobalArray, bursts: int) -> list[Row]:
    """Compare copy-ins from the other node with transfers of MPI."""
    word = Transfers(proc, comm, array, 8, None)
    rows: list[Row] = [
        ("copy-in of 8 bytes / request and answer", word.pairs(word.asked, 30, bursts), 2.5),
        ("copy-in of 8 bytes / Sendrecv", word.pairs(word.exchanged, 30, bursts), None),
    ]
    for nbytes, times, bar in ((SMALL, 10, 1.3), (LARGE, 2, 1.1)):
        for what, out in (("", None), (", out=", np.empty(nbytes // 8))):
            each = Transfers(proc, comm, array, nbytes, out)
            name = f"copy-in of {nbytes >> 20} MiB{what} / Send and Recv"
            rows.append((name, each.pairs(each.sent, times, bursts), bar))
    return rows


def against_mpi(proc: smp.Processor, array: smp.GlobalArray, bursts: int) -> list[Row]:
    """Return all ratios of two nodes."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()
    rows = synchronised(proc, comm, bursts) + transferred(proc, comm, array, bursts)
    comm.Free()
    return rows


# Seconds.


def read_from_busy(proc: smp.Processor, array: smp.GlobalArray) -> list[float]:
    """Return the seconds of each copy-in of 8 bytes by processor 0, while processor 1 computes."""
    seconds = list[float]()
    proc.barrier()
    began = time.perf_counter()
    with proc.superstep("reads") as step:
        if proc.rank == 0:
            while time.perf_counter() - began < READS:
                seconds.append(burst(lambda: time.sleep(REST), lambda: step.copy_in(array, slice(HALF, HALF + 1)), 1))
        else:
            works(WORKS)
        step.compute()
    return seconds


def works(seconds: float) -> int:
    """Compute in plain Python for some seconds."""
    end, found = time.perf_counter() + seconds, 0
    while time.perf_counter() < end:
        for k in range(1000):
            found += k & 3
    return found


def raises(proc: smp.Processor) -> None:
    """Raise an exception on one processor, while the other one waits."""
    if proc.rank:
        raise ValueError("on purpose")
    proc.barrier()


def dies(proc: smp.Processor) -> None:
    """End one processor by a signal, while the other one waits."""
    if proc.rank:
        os.kill(os.getpid(), signal.SIGKILL)
    proc.barrier()


def waits_for_ever(proc: smp.Processor, seconds: float) -> None:
    """Wait for what never comes, after some seconds of work."""
    works(seconds)
    proc.wait_until(lambda: False)


def failing(machine: smp.Machine, error: type[SmpError], program: Callable[..., Any], *args: float) -> float:
    """Return the seconds from the start of a run to its error."""
    began = time.perf_counter()
    with suppress(error):
        machine.run(program, *args)
        raise AssertionError(f"{program.__name__} has not failed")
    return time.perf_counter() - began - sum(args)


def failures(machine: smp.Machine) -> list[Seconds]:
    """Time failures of a machine of two nodes that stays open, and deaths of others."""

    def death() -> float:
        with (
            redirect_stdout(StringIO()),
            redirect_stderr(StringIO()),
            two_nodes() as another,
        ):  # not the launcher's words
            another.run(empty_superstep)
            return failing(another, ProcessorDied, dies)

    raised = [failing(machine, ProcessorRaised, raises) for _ in range(FAILURES)]
    stuck = [failing(machine, DeadlockError, waits_for_ever, 0.0) for _ in range(FAILURES)]
    late = [failing(machine, DeadlockError, waits_for_ever, seconds) for seconds in LATE]
    return [
        ("exception to error in the parent", raised, 0.2),
        ("SIGKILL to error in the parent", [death() for _ in range(FAILURES)], 1.0),
        ("deadlock to error in the parent", stuck, 1.0),
        ("late deadlock to error in the parent", late, 1.0),
    ]


def up_and_down() -> list[Seconds]:
    """Time the opening and the closing of a machine of four processors on one node."""
    stamps = []
    for _ in range(OPENED):
        began = time.perf_counter()
        machine = smp.mpi(4)
        up = time.perf_counter()
        machine.close()
        stamps.append((up - began, time.perf_counter() - up))
    up_seconds, down_seconds = np.array(stamps).T.tolist()
    return [("smp.mpi(4) up", up_seconds, 1.5), ("smp.mpi(4) down", down_seconds, 0.5)]


# Tables.


def verdict(value: float, bar: float | None) -> str:
    """Return whether a bar is met, for the last column."""
    return "" if bar is None else "met" if value <= bar else "missed"


def print_ratios(title: str, rows: Sequence[Row]) -> None:
    """Print the quartiles of each ratio, its bar, and the median times of both sides."""
    print(f"{title:<46}{'1st':>8}{'median':>8}{'3rd':>8}{'bar':>7}  {'':<8}{'us':>11}{'other, us':>11}")
    for name, (low, middle, high, mine, other), bar in rows:
        goal = "" if bar is None else f"{bar:.1f}"
        met = verdict(middle, bar)
        print(
            f"{name:<46}{low:>8.2f}{middle:>8.2f}{high:>8.2f}{goal:>7}  {met:<8}{mine * 1e6:>11.2f}{other * 1e6:>11.2f}"
        )


def print_seconds(rows: Sequence[Seconds]) -> None:
    """Print the median and the largest of the seconds of each row, and its bar."""
    print(f"{'seconds':<46}{'':>8}{'median':>8}{'most':>8}{'bar':>7}  {'':<8}{'times':>11}")
    for name, seconds, bar in rows:
        middle, most = float(np.median(seconds)), max(seconds)
        print(f"{name:<46}{'':>8}{middle:>8.3f}{most:>8.3f}{bar:>7g}  {verdict(middle, bar):<8}{len(seconds):>11}")


def is_installed() -> bool:
    """Return True if mpi4py and its launcher are installed."""
    try:
        return importlib.util.find_spec("mpi4py") is not None and bool(mpiexec())
    except MachineError:
        return False


def main() -> None:
    line = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    line.add_argument("--bursts", type=int, default=40, help="pairs of bursts for each ratio (default: 40)")
    bursts = line.parse_args().bursts
    if not is_installed():
        print(NO_MPI)
        return
    print_ratios("smp.mpi(2) on one node / smp.host(2)", one_node(SHORT * bursts))
    with two_nodes() as machine:
        array = machine.zeros(2 * HALF)
        array[:] = 1.0
        print()
        print_ratios("two nodes by TCP, smp / mpi4py", machine.run(against_mpi, array, bursts).results[0])
        busy = machine.run(read_from_busy, array).results[0]
        seconds = [("copy-in of 8 bytes while its owner computes", busy, 0.01), *failures(machine)]
    print()
    print_seconds([*seconds, *up_and_down()])
    print(f"{bursts} pairs of bursts for each ratio, and {SHORT * bursts} on one node; a bar is one for the median")


if __name__ == "__main__":
    main()
