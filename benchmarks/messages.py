"""Measure what collectives and messages cost, as ratios of one run, and next to MPI if it is installed.

    python benchmarks/messages.py [--bursts 60]

The two sides of each ratio are timed in neighbouring bursts, and the ratio is the median over the pairs of bursts.

    copy        a copy of an array of the same length from one private array into another
    hand-off    a thread that sleeps by a bare futex: from the store of another processor to its next instruction
    overlap     a barrier that is begun, work of a few barriers, and the wait, less the time of the work alone
    storm       requests to all others in turn, each with a reply; the ratio is that of messages per second

A processor is surely asleep when it is woken, because the other one looks at its clock half a millisecond after it has
said that it goes to sleep.  A line below the table has the schedules per second of `smp.explore`, for three processors
that send two requests to each other one, with room for one packet.

If mpi4py and its mpiexec are installed, MPI's calls are timed in processes of their own, before and after those of smp.
Their rows have the median time of smp's bursts divided by that of MPI's.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from bursts import NO_MPI, Act, Words, burst, compared, of_mpi, options, placed, ratio, rounds_of

import smp
from smp._runtime.loops.atomics import futex_wait, futex_wake, store_release
from smp._runtime.protocols.barriers import IN_A_LOOP, arrive, leave
from smp.compiled import await_packet, barrier, clock, load, try_poll, try_post

WORDS = (8, 10_000, 1_000_000)
WINDOW = 64
HANDED, PAUSE, SECOND = 20, 500_000, 10**9  # hand-offs in a burst; ns before each of them
SAID = 8  # index of a word on another line than the first
WORK = 2.5  # barriers
REQUESTS, STORMS = 500, 20  # of a processor in a storm; most storms
SCHEDULES, RATE = 5_000, 2_000  # that are explored, and target of those per second
Rows = list[tuple[str, list[float]]]

TARGETS = {
    "any / barrier": 1.1,
    "overlap / barrier": 0.4,
    "overlap / barrier, in loops": 0.4,
    "from asleep to a packet in a loop / hand-off": 1.5,
    "from asleep to a handler / hand-off": 1.5,
    "storm of 4 / storm of 2, messages per second": 0.3,
    "reduce of 1,000,000 words / copy": 3.0,
    "scan of 1,000,000 words / copy": 3.0,
}
MPI_TARGETS = {
    "request and reply": 1.2,
    "message and handler": 1.0,
    "reduce of 8 words": 1.0,
    "reduce of 10,000 words": 0.8,
    "reduce of 1,000,000 words": 1.0,
    "scan of 8 words": 1.0,
    "scan of 10,000 words": 0.8,
    "scan of 1,000,000 words": 1.0,
    "broadcast of 8 words": 2.0,
    "broadcast of 1,000,000 words": 1.0,
}


def times_of(words: int) -> int:
    """Return the number of calls in a burst."""
    return max(3, 200_000 // (words + 1000))


def collectives(proc: smp.Processor, bursts: int) -> Rows:
    barrier = proc.barrier
    found = [
        ("any / barrier", ratio(barrier, lambda: proc.any(False), barrier, 300, bursts)),
        ("split barrier and wait / barrier", ratio(barrier, lambda: proc.split.barrier().wait(), barrier, 300, bursts)),
    ]
    for n in WORDS:
        mine, out, other = np.arange(n) + 1.0 * proc.rank, np.zeros(n), np.zeros(n)

        def copy(mine: Any = mine, other: Any = other) -> None:
            other[:] = mine

        calls: dict[str, Act] = {
            "reduce": lambda mine=mine, out=out: proc.reduce(mine, out=out),
            "scan": lambda mine=mine, out=out: proc.scan(mine, out=out),
            "exclusive scan": lambda mine=mine, out=out: proc.scan(mine, exclusive=True, out=out),
            "broadcast": lambda mine=mine, out=out: proc.broadcast(mine, out=out),
        }
        against, name = (barrier, "barrier") if n < 1000 else (copy, "copy")
        for what, call in calls.items():
            found.append((f"{what} of {n:,} words / {name}", ratio(barrier, call, against, times_of(n), bursts)))
    return found


def messages(proc: smp.Processor, bursts: int) -> Rows:
    """Time messages of four numbers: there and back, and one way with a wait after each window."""
    count, windows = [0], [0]  # messages that have come, and windows that were begun
    others = [0]

    def came(message: smp.Message, a: int, b: int, c: int, d: float) -> None:
        count[0] += 1

    def pushed(message: smp.Message, a: int, b: int, c: int, d: float) -> None:
        others[0] += 1

    def asked(message: smp.Message, a: int, b: int, c: int, d: float) -> None:
        message.reply(arrived, a, b, c, d)

    arrived = proc.handler(came)
    wanted, stored = proc.handler(asked, replies=True), proc.handler(pushed)

    def there_and_back() -> None:
        if proc.rank == 0:
            due = count[0] + 1
            proc.request(1, wanted, 1, 2, 3, 4.0)
            proc.wait_until(lambda: count[0] == due)

    def window() -> None:
        windows[0] += 1  # the messages of this window may have begun to come in the barrier before
        if proc.rank == 0:
            for _ in range(WINDOW):
                proc.send(1, stored, 1, 2, 3, 4.0)
        else:
            proc.wait_until(lambda: others[0] == WINDOW * windows[0])
        proc.barrier()

    back = ratio(proc.barrier, there_and_back, proc.barrier, 100, bursts)
    one_way = ratio(proc.barrier, window, proc.barrier, 10, bursts)
    one_way = [*(each / WINDOW for each in one_way[:4]), one_way[4]]
    return [("request and reply / barrier", back), ("message and handler / barrier", one_way)]


@smp.stream
def works(ns: int) -> int:
    """Compute for a time; return the ns that it took."""
    began = clock()
    now = began
    while now - began < ns:
        now = clock()
    return now - began


@smp.stream
def works_often(ns: int, n: int) -> None:
    """Compute for a time, n times."""
    for _ in range(n):
        works(ns)


@smp.stream
def overlaps(sync: Words, ns: int, n: int) -> None:
    """Begin a barrier, compute for a time, and wait for the barrier, n times."""
    for _ in range(n):
        k = arrive(sync, IN_A_LOOP, 0)
        works(ns)
        leave(sync, k, 0)


@smp.stream
def barriers(sync: Words, n: int) -> None:
    """Wait at a barrier, n times."""
    for _ in range(n):
        barrier(sync)


def overlap(proc: smp.Processor, bursts: int) -> Rows:
    """Time barriers with work between their begin and their wait, that work alone, and barriers."""
    sync, n = proc.sync, 1000

    def both() -> None:
        ticket = proc.split.barrier()
        works(ns)
        ticket.wait()

    def row(name: str, acts: list[Act], times: int) -> tuple[str, list[float]]:
        together, alone, each = rounds_of(proc.barrier, acts, times, bursts).T
        return name, compared(together - alone, each)

    ns = _work(proc, proc.barrier, 300)
    of_python = row("overlap / barrier", [both, lambda: works(ns), proc.barrier], 300)
    ns = _work(proc, lambda: barriers(sync, n), 1) // n
    acts = [lambda: overlaps(sync, ns, n), lambda: works_often(ns, n), lambda: barriers(sync, n)]
    name, values = row("overlap / barrier, in loops", acts, 1)
    return [of_python, (name, [*values[:3], values[3] / n, values[4] / n])]


def _work(proc: smp.Processor, act: Act, times: int) -> int:
    """Return the ns to compute on all processors, by the time of barriers on the first."""
    act()
    seconds = float(np.median([burst(proc.barrier, act, times) for _ in range(9)]))
    return int(proc.broadcast(WORK * seconds * 1e9))


@smp.stream
def waits_for_sleeper(words: Words, turn: int) -> None:
    """Wait until the other processor goes to sleep, and for a time in which it falls asleep."""
    while load(words, SAID) != turn:
        pass
    works(PAUSE)


@smp.stream
def wakes_by_futex(words: Words, first: int, began: Words) -> None:
    """Wake the other processor by a futex, as often as there are words for the times before."""
    for k in range(len(began)):
        waits_for_sleeper(words, first + k)
        began[k] = clock()
        store_release(words, 0, first + k)
        futex_wake(words, 0, 1)


@smp.stream
def sleeps_by_futex(words: Words, first: int, ended: Words) -> None:
    """Sleep until the other processor wakes this one, as often as there are words for the times after."""
    for k in range(len(ended)):
        store_release(words, SAID, first + k)
        while load(words, 0) != first + k:
            futex_wait(words, 0, first + k - 1, SECOND)
        ended[k] = clock()


@smp.stream
def posts_to_sleeper(net: Any, words: Words, first: int, began: Words) -> None:
    """Post packets, each to a loop that sleeps."""
    for k in range(len(began)):
        waits_for_sleeper(words, first + k)
        began[k] = clock()
        try_post(net, smp.LEFT, 1, 0, k, 0, 0, 0)


@smp.stream
def sleeps_for_packets(net: Any, words: Words, first: int, ended: Words) -> None:
    """Take packets, and sleep before each."""
    for k in range(len(ended)):
        store_release(words, SAID, first + k)
        await_packet(net, smp.LEFT)
        while not try_poll(net, smp.LEFT)[0]:
            await_packet(net, smp.LEFT)
        ended[k] = clock()


@smp.stream
def says(words: Words, turn: int) -> None:
    """Say that this processor goes to sleep."""
    store_release(words, SAID, turn)


def asleep(proc: smp.Processor, array: Any, bursts: int) -> Any:
    """Return, for each burst, the ns at which 0 wakes 1, or 1 is awake: by a futex, by a packet, by a message."""
    words, net, stamps = array.view, proc.net, list[float]()
    handler = proc.handler(lambda message: stamps.append(proc.clock()))
    found = np.zeros((bursts + 1, 3, HANDED), np.int64)
    turn = 1
    for bare, packets, messages in found:
        proc.barrier()
        (sleeps_by_futex if proc.rank else wakes_by_futex)(words, turn, bare)
        turn += HANDED
        proc.barrier()
        (sleeps_for_packets if proc.rank else posts_to_sleeper)(net, words, turn, packets)
        turn += HANDED
        proc.barrier()
        stamps.clear()
        for k in range(HANDED):
            if proc.rank:
                says(words, turn)
                proc.wait_until(lambda k=k: len(stamps) > k)  # type: ignore[misc]
            else:
                waits_for_sleeper(words, turn)
                stamps.append(proc.clock())
                proc.send(1, handler)
            turn += 1
        messages[:] = np.array(stamps) * 1e9
    return found[1:]


def woken(machine: smp.Machine, bursts: int) -> Rows:
    """Compare the median times from asleep to handled, burst by burst."""
    began, ended = machine.run(asleep, machine.zeros(16, np.int64), bursts).results
    bare, packet, message = np.median(ended - began, axis=2).T * 1e-9
    return [
        ("from asleep to a packet in a loop / hand-off", compared(packet, bare)),
        ("from asleep to a handler / hand-off", compared(message, bare)),
    ]


def storm(proc: smp.Processor, requests: int) -> float:
    """Send requests to all others in turn, which reply; return the seconds from a barrier to the last reply."""
    came = [0]
    add = proc.handler(lambda message, k: came.__setitem__(0, came[0] + 1))
    ask = proc.handler(lambda message, k: message.reply(add, k), replies=True)
    proc.barrier()
    began = proc.clock()
    for k in range(requests):
        proc.request((proc.rank + 1 + k % (proc.size - 1)) % proc.size, ask, k)
    proc.wait_until(lambda: came[0] == requests)
    return proc.clock() - began


def storms(two: smp.Machine, four: smp.Machine, bursts: int) -> Rows:
    """Compare the seconds of a message in storms of two and of four processors, which share the same CPUs."""

    def seconds(machine: smp.Machine) -> float:
        return float(max(machine.run(storm, REQUESTS).results)) / (2 * REQUESTS * machine.size)

    pairs = np.array([(seconds(four), seconds(two)) for _ in range(min(bursts, STORMS) + 1)])[1:]
    rate = compared(1 / pairs[:, 0], 1 / pairs[:, 1])[:3]
    return [("storm of 4 / storm of 2, messages per second", [*rate, *np.median(pairs, axis=0).tolist()])]


def schedules() -> float:
    """Return the schedules per second of a storm of three processors with room for one packet."""
    began = time.perf_counter()
    found = smp.explore(storm, 3, 1, setup=lambda machine: 4, limit=SCHEDULES, network=smp.networks.ideal(room=1))
    assert found.failure is None, str(found)
    return found.schedules / (time.perf_counter() - began)


def program(proc: smp.Processor, bursts: int) -> Rows:
    return collectives(proc, bursts) + overlap(proc, bursts) + messages(proc, bursts)


def mpi_program(bursts: int) -> None:
    """Print the median seconds of MPI's calls as JSON."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    found: dict[str, float] = {}

    def timed(name: str, call: Act, times: int) -> None:
        found[name] = float(np.median([burst(world.Barrier, call, times) for _ in range(bursts)]))

    timed("barrier", world.Barrier, 300)
    for n in WORDS:
        mine, out = np.arange(n) + 1.0 * world.rank, np.zeros(n)
        timed(f"reduce of {n:,} words", lambda mine=mine, out=out: world.Allreduce(mine, out), times_of(n))
        timed(f"scan of {n:,} words", lambda mine=mine, out=out: world.Scan(mine, out), times_of(n))
        timed(f"exclusive scan of {n:,} words", lambda mine=mine, out=out: world.Exscan(mine, out), times_of(n))
        timed(f"broadcast of {n:,} words", lambda mine=mine: world.Bcast(mine), times_of(n))
    packet, buffers = np.zeros(4), np.zeros((WINDOW, 4))

    def there_and_back() -> None:
        if world.rank == 0:
            world.Send(packet, 1)
            world.Recv(packet, 1)
        else:
            world.Recv(packet, 0)
            world.Send(packet, 0)

    def window() -> None:
        if world.rank == 0:
            MPI.Request.Waitall([world.Isend(buffers[k], 1) for k in range(WINDOW)])
        else:
            MPI.Request.Waitall([world.Irecv(buffers[k], 0) for k in range(WINDOW)])
        world.Barrier()

    timed("request and reply", there_and_back, 100)
    timed("message and handler", window, 10)
    found["message and handler"] /= WINDOW
    if world.rank == 0:
        print(json.dumps(found))


def main() -> None:
    bursts, mpi = options("Measure what collectives and messages cost, as ratios of one run.")
    if mpi:
        mpi_program(bursts)
        return
    before = of_mpi(__file__, bursts)
    with smp.host(2) as machine, smp.host(4) as four:
        run = machine.run(program, bursts)
        rows = run.results[0] + woken(machine, bursts) + storms(machine, four, bursts)
    after = of_mpi(__file__, bursts)
    print(f"{'2 processors':<46}{'1st':>8}{'median':>8}{'3rd':>8}{'target':>8}{'us':>11}{'other, us':>11}")
    for name, (low, middle, high, one, other) in rows:
        target = f"{TARGETS[name]:.1f}" if name in TARGETS else ""
        numbers = f"{low:>8.2f}{middle:>8.2f}{high:>8.2f}{target:>8}{one * 1e6:>11.2f}{other * 1e6:>11.2f}"
        print(f"{name:<46}{numbers}")
    print(f"{bursts} pairs of bursts for each ratio, at most {STORMS} of storms; {placed(run)}")
    print(f"{schedules():,.0f} schedules per second are explored; target: {RATE:,} or more")
    if before is None or after is None:
        print(NO_MPI)
        return
    print(f"\n{'smp / MPI':<46}{'before':>8}{'after':>8}{'':>8}{'target':>8}{'us':>11}{'MPI, us':>11}")
    times = {name.split(" / ")[0]: values[3] for name, values in rows}
    times["barrier"] = rows[0][1][4]
    for name, seconds in before.items():
        one, two = times[name] / seconds, times[name] / after[name]
        target = f"{MPI_TARGETS[name]:.1f}" if name in MPI_TARGETS else ""
        print(f"{name:<46}{one:>8.2f}{two:>8.2f}{'':>8}{target:>8}{times[name] * 1e6:>11.2f}{seconds * 1e6:>11.2f}")


if __name__ == "__main__":
    main()
