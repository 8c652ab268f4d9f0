"""Times MPI's messages and collectives; each process of ``mpiexec`` runs this file, and process 0 prints JSON.

    mpiexec -n p python -P under_mpiexec.py '{"cpus": [0, 1], "seconds": 0.02, "tasks": [["reduce", 8, 30], ...]}'

A task is the name of an operation, the words of its vector, and the operations in a burst.  All bursts begin after a
barrier.  The answer has the name of the library and, for each task and process, the stamps of the bursts: start, end,
CPU time, operations.  This file imports nothing of smp, so that it starts quickly.
"""

import json
import os
import sys
import time
from typing import Any

import numpy as np

WINDOW = 64
"""Messages that are under way at a time, in the task ``message``."""


def burst_of(mpi: Any, what: str, words: int, times: int) -> Any:
    """Return a function that does a task's operation the given number of times."""
    world = mpi.COMM_WORLD
    me, p, each = world.rank, world.size, times // (world.size - 1)
    if what == "request":  # 32 bytes there and back between processes 0 and 1
        packet = np.ones(4, np.int64)
        calls = (world.Send, world.Recv) if me == 0 else (world.Recv, world.Send)
        return lambda: [call(packet, 1 - me) for _ in range(times) for call in calls] if me < 2 else None
    if what == "message":  # 32 bytes one way, from all others to process 0
        packets = np.ones((p, WINDOW, 4), np.int64)

        def messages() -> None:
            for first in range(0, each, WINDOW):
                count = min(WINDOW, each - first)
                if me == 0:
                    waiting = [world.Irecv(packets[k, i], k) for i in range(count) for k in range(1, p)]
                else:
                    waiting = [world.Isend(packets[me, i], 0) for i in range(count)]
                mpi.Request.Waitall(waiting)

        return messages
    if what in ("block", "block both ways"):  # one way: from process 1 to process 0
        data, port = np.ones((2, words))
        if me > 1:
            return lambda: None
        if what == "block both ways":
            return lambda: [world.Sendrecv(data, 1 - me, recvbuf=port, source=1 - me) for _ in range(times)]
        move, array = (world.Recv, port) if me == 0 else (world.Send, data)
        return lambda: [move(array, 1 - me) for _ in range(times)]
    mine, out = np.ones((2, max(1, words)))
    flag, any_flag = np.zeros((2, 1), np.int32)
    parts, transposed = np.ones((2, p, max(1, words // p)))
    call = {
        "barrier": world.Barrier,
        "any": lambda: world.Allreduce(flag, any_flag, mpi.LOR),
        "reduce": lambda: world.Allreduce(mine, out),
        "scan": lambda: world.Scan(mine, out),
        "exclusive scan": lambda: world.Exscan(mine, out),
        "broadcast": lambda: world.Bcast(mine, p - 1),
        "transpose": lambda: world.Alltoall(parts, transposed),
    }[what]
    return lambda: [call() for _ in range(times)]


def stamps_of(mpi: Any, burst: Any, operations: int, seconds: float) -> list[list[int]]:
    """Take bursts until the time is over on process 0, three or more; return their stamps but the first."""
    world, deadline, found = mpi.COMM_WORLD, time.monotonic() + seconds, list[list[int]]()
    while not world.bcast(len(found) > 2 and time.monotonic() > deadline, 0):
        world.Barrier()
        cpu, start = time.thread_time_ns(), time.monotonic_ns()
        burst()
        end = time.monotonic_ns()
        found.append([start, end, time.thread_time_ns() - cpu, operations])
    return found[1:]


def main() -> None:
    from mpi4py import MPI

    world, job = MPI.COMM_WORLD, json.loads(sys.argv[1])
    os.sched_setaffinity(0, {job["cpus"][world.rank]})
    mine = [stamps_of(MPI, burst_of(MPI, *task), task[2], job["seconds"]) for task in job["tasks"]]
    every = world.gather(mine, 0)
    if world.rank == 0:
        name, version = MPI.get_vendor()
        library = f"{name} {'.'.join(map(str, version))}"
        print(json.dumps({"library": library, "stamps": list(zip(*(every or ()), strict=True))}))


if __name__ == "__main__":
    main()
