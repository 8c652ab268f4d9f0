"""Cells and streams: a pipeline through two processors, without a barrier.

Processor 0 makes numbers, and the streams of processor 1 work on them.  A cell is full or empty.  A thread that finds
it in the wrong state waits, and gives its stream to another thread meanwhile.
"""

import smp
from smp.compiled import fetch_add, readfe, writeef


@smp.stream
def make(belt, n):
    for k in range(1, n + 1):
        writeef(belt, 0, k)  # waits until the previous number has been taken


@smp.stream
def take(belt, total, n):
    for _ in range(n):
        fetch_add(total, 0, readfe(belt, 0) ** 2)


def program(proc, belt, total, n):
    if proc.rank == 0:
        make(belt, n)
        proc.barrier()
    else:
        with proc.streams(2) as pool:
            for _ in range(4):  # four threads on two streams
                pool.start(take, belt, total, n // 4)
        proc.barrier()
    return total.readff(0)


with smp.host(2) as machine:
    belt, total = machine.cells(1), machine.cells(1, full=True)
    print(machine.run(program, belt, total, 10_000).results)
    print(sum(k**2 for k in range(1, 10_001)))

    try:
        machine.run(program, belt, machine.cells(1), 4)  # no processor ever fills the second cell
    except smp.errors.DeadlockError as error:
        print(str(error).splitlines()[0])  # the lines below it show which thread waits for which cell
