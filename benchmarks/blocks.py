"""Measure how fast blocks move, as ratios to a private copy of the same size in the same run.

    python benchmarks/blocks.py [--bursts 60]

A block is sent from an array of processor 0 to a port of processor 1, or both processors send at the same time.  The
copy is from a private array into another private array, by processor 0 or by both.  The two sides of each ratio are
timed in neighbouring bursts, and the ratio, that of the bytes per second, is the median over the pairs of bursts.  A
burst begins and ends with a barrier.

If mpi4py and its mpiexec are installed, MPI's Send and Recv are measured in the same way, in processes of its own.
Then the quotient of the two ratios is printed, too.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from bursts import NO_MPI, Act, of_mpi, options, placed, quartiles, rounds_of

import smp

SIZES = (4 << 10, 64 << 10, 1 << 20)
TARGETS = {4 << 10: (0.6, None), 64 << 10: (0.9, 3.0), 1 << 20: (0.9, 1.7)}
"""Ratios to a copy and to MPI that blocks are built for, by bytes."""
PROCESSORS = 2


def ratio(barrier: Act, one: Act, other: Act, nbytes: int, bursts: int) -> list[float]:
    """Return the quartiles of the ratio of the speeds, and the median speeds of both in GB/s."""
    times = max(30, (8 << 20) // (nbytes + (16 << 10)))
    mine, others = rounds_of(barrier, (one, other), times, bursts, closed=True).T
    return [*quartiles(others / mine), *(nbytes / float(np.median(each)) / 1e9 for each in (mine, others))]


def nothing() -> None:
    """Do nothing, on the processor that does not send."""


def program(proc: smp.Processor, nbytes: int, bursts: int) -> list[list[float]]:
    """Return the ratio of one way, and that of both ways."""
    data, out = np.ones(nbytes // 8), np.zeros(nbytes // 8)
    port = proc.port(nbytes // 8)

    def send() -> None:
        proc.send_block(1 - proc.rank, port, data)

    def copy() -> None:
        out[...] = data

    found = []
    for senders in (1, 2):
        acts = (send, copy) if proc.rank < senders else (nothing, nothing)
        found.append(ratio(proc.barrier, *acts, nbytes, bursts))
    return found


def mpi_program(bursts: int) -> None:
    """Print the ratios of MPI for each size, as JSON."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    found = []
    for nbytes in SIZES:
        data, out, port = np.ones(nbytes // 8), np.zeros(nbytes // 8), np.zeros(nbytes // 8)

        def copy(data: Any = data, out: Any = out) -> None:
            out[...] = data

        def send(data: Any = data) -> None:
            world.Send(data, 1)

        def receive(port: Any = port) -> None:
            world.Recv(port, 0)

        def both(data: Any = data, port: Any = port) -> None:
            world.Sendrecv(data, 1 - world.rank, recvbuf=port, source=1 - world.rank)

        one_way = (send, copy) if world.rank == 0 else (receive, nothing)
        found.append([ratio(world.Barrier, *acts, nbytes, bursts) for acts in (one_way, (both, copy))])
    if world.rank == 0:
        print(json.dumps(found))


def row(name: str, values: list[float], target: float | None = None) -> str:
    low, middle, high, one, other = values
    shown = "" if target is None else f"{target:.1f}"
    return f"{name:<34}{low:>15.2f}{middle:>9.2f}{high:>9.2f}{shown:>9}{one:>9.1f}{other:>13.1f}"


def main() -> None:
    bursts, mpi = options("Measure how fast blocks move, as ratios of one run.")
    if mpi:
        mpi_program(bursts)
        return
    by_mpi = of_mpi(__file__, bursts)
    print(
        f"{'2 processors':<34}{'first quartile':>15}{'median':>9}{'third':>9}{'target':>9}{'GB/s':>9}{'copy, GB/s':>13}"
    )
    with smp.host(PROCESSORS) as machine:
        for number, nbytes in enumerate(SIZES):
            to_copy, to_mpi = TARGETS[nbytes]
            run = machine.run(program, nbytes, bursts)
            for ways, values in enumerate(run.results[0]):
                print(row(f"{nbytes >> 10:,} KiB, {('one way', 'both ways')[ways]} / copy", values, to_copy))
                if by_mpi is not None:
                    theirs = by_mpi[number][ways]
                    print(row("  MPI / copy", theirs))
                    print(f"{'  block / MPI':<49}{values[1] / theirs[1]:>9.2f}{'' if to_mpi is None else to_mpi:>18}")
    print(f"{bursts} pairs of bursts for each ratio; {placed(run)}")
    if by_mpi is None:
        print(NO_MPI)


if __name__ == "__main__":
    main()
