"""Compare the packet network of the emulated CM-5 with chapters 6 and 7 of Brewer's thesis."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from smp._runtime.emulated.interconnect import Blocks, Interconnect
from smp.errors import DeadlockError

from ..rows import Row
from .jobs import Job, Results
from .patterns import (
    CMMD,
    MATCHED,
    NODES,
    ONCE,
    OPEN,
    PAYLOAD,
    PLAIN,
    Loop,
    barriers,
    capacity,
    machine_of,
    random_targets,
    rate,
    rounds_of,
    send,
    shift,
    transpose,
    with_higher_levels,
)

SIZES = (16, 32, 64, 128, 256, 400, 1024, 4096)
BLOCK, LARGE = 4096, 1024
"""Bytes of a block: of most experiments; and one that is large, but has enough rounds in figures 7-6 and 7-9."""
CONGESTED = 1600
"""Bytes of a block in figure 7-7."""


def row(
    what: str,
    printed: float | None,
    ours: float,
    low: float,
    high: float | None,
    kind: str,
    unit: str = "",
    note: str = "",
) -> Row:
    """Return a row with a range as its target."""
    return Row("", what, "" if printed is None else printed, ours, unit, kind, low, high, note)


def about(what: str, printed: float, ours: float, part: float, kind: str, unit: str = "", note: str = "") -> Row:
    """Return a row whose target is the printed number, give or take a part of it."""
    return row(what, printed, ours, printed * (1 - part), printed * (1 + part), kind, unit, note)


def fact(what: str, holds: bool, note: str = "") -> Row:
    """Return a row for a statement, which is 1 if it holds and 0 if not."""
    return row(what, 1.0, float(holds), 1.0, 1.0, "pred", "", note)


def transposed(loop: Loop, size: int = BLOCK, every: int = 0, rounds: int = 0, together: int = 1) -> Job:
    return Job("transpose", rounds or rounds_of(size), size, loop, every, together)


def scattered(loop: Loop, size: int, together: int = 1) -> Job:
    return Job("random", rounds_of(size), size, loop, 0, together)


def wanted(quick: bool) -> Iterator[tuple[Job, int]]:
    """Yield the jobs, each with its number of seeds."""
    few, many, most = (1, 3, 10) if quick else (3, 10, 50)
    for loop in (PLAIN, MATCHED, ONCE, CMMD):
        yield Job("shift", 1, BLOCK, loop), many
        yield Job("exchange", 1, BLOCK, loop), many
        yield Job("random", 1, BLOCK, loop), most if quick else 50
        yield transposed(loop), many
        yield transposed(loop, every=1), most if loop in (PLAIN, MATCHED) else few
        yield transposed(loop, rounds=100), few
        for size in SIZES:
            yield transposed(loop, size), few
            yield transposed(loop, size, 1), few
    yield transposed(MATCHED, rounds=400), 1
    yield transposed(PLAIN, rounds=400), 1
    for size in SIZES:
        yield transposed(MATCHED, size, barriers(size)), few
        for loop in (PLAIN, MATCHED):
            yield scattered(loop, size), few
            yield scattered(loop, size, OPEN), few
            yield transposed(loop, size, together=OPEN), few
    for together in (2, 4, 16, 32, 64):
        yield transposed(PLAIN, LARGE, together=together), few


def limits() -> Iterator[Row]:
    n, both = 4096, np.array([[1], [0]])
    for name, printed, packets, loop in (("two-way", 5.93, [[n], [n]], ONCE), ("one-way", 8.52, [[n], [0]], MATCHED)):
        blocks = Blocks(targets=both, packets=packets, poll=loop.poll, wait=25 if name == "one-way" else 0)
        seconds = Interconnect("cm5", 2).run(blocks).seconds.max()
        yield about(f"limit of {name} transfers", printed, n * PAYLOAD / seconds / 1e6, 0.01, "set", "MB/s")


def capacities(seeds: int = 10) -> dict[int, float]:
    """Return the packets that a node puts into the network while none receives, by nodes."""
    machine = with_higher_levels(machine_of("cm5"))
    return {n: float(np.mean([capacity(n, seed, machine) for seed in range(seeds)])) for n in (4, 8, 16, 32, 64, 128)}


def collisions(trials: int) -> np.ndarray:
    """Return the most transfers to one of 64 nodes, for random targets, trial by trial (figure 7-4)."""
    return np.array([np.bincount(random_targets(1, seed).ravel(), minlength=NODES).max() for seed in range(trials)])


def deadlocks() -> bool:
    """Return True if a barrier in which nodes do not receive stops the machine, and the error names full queues."""
    try:
        options = {"barrier_every": 1, "barrier_after": "sent", "polls_in_barrier": False}
        send(transpose(8), BLOCK, PLAIN, 0, **options)
    except DeadlockError as error:
        return "wait in a barrier" in str(error) and "input queue of node" in str(error)
    return False


def congestion(loop: Loop, every: int) -> int:
    """Return the most packets in the network for one processor (figure 7-7)."""
    return send(transpose(NODES), CONGESTED, loop, 1, barrier_every=every).counters.most_bound


def all_rows(found: Results, quick: bool) -> Iterator[Row]:
    mean = found.mean
    yield from limits()
    held = capacities()
    yield about("capacity of 64 nodes", 10, held[64], 0.05, "set", "packets a node")
    yield row("capacity, 32 nodes less 16", None, held[32] - held[16], 0.0, 1.5, "set", "packets")
    yield row("capacity, 128 nodes less 64", None, held[128] - held[64], 0.0, 1.5, "set", "packets")
    yield from permutations(found)
    most = collisions(200 if quick else 1000)
    yield about("transfers to the busiest of 64 random targets", 4.3, most.mean(), 0.1, "pred", "", "exact: 3.955")
    yield row("at least 3 of them", 99, 100 * float((most >= 3).mean()), 99, 100, "pred", "%")
    yield from without_barriers(found)
    yield from with_barriers(found)
    yield from by_size(found)
    most_free, most_tamed = congestion(MATCHED, 0), congestion(MATCHED, 1)
    yield row("most packets for one processor, without barriers", 17, most_free, 12, 25, "pred")
    yield row("with barriers, matched", None, most_tamed, 1, 3, "pred")
    yield from interleaved(found)
    matched, cmmd, plain = (mean(transposed(one, every=1)) for one in (MATCHED, CMMD, PLAIN))
    yield row("matched over CMMD, both with barriers", 1.25, matched / cmmd, 1.15, 1.35, "pred")
    yield fact("without a wait, Strata is slower than CMMD", plain < cmmd)
    yield about("CMMD with barriers", 3.6, cmmd, 0.15, "pred", "MB/s")
    free = mean(transposed(CMMD, LARGE))
    yield about("CMMD without barriers, large blocks", 1.43, free, 0.15, "pred", "MB/s")
    yield fact("a barrier that does not poll is reported as a deadlock", deadlocks())


def permutations(found: Results) -> Iterator[Row]:
    value = rate(shift(4), BLOCK, PLAIN, spread=0.0)
    note = "all processors begin in the same cycle; in the rows below, at times within 30 cycles"
    yield row("cyclic shift by 4, no wait, in step", 5.3, value, 5.0, 5.6, "set", "MB/s", note)
    for pattern, name in (("shift", "cyclic shift by 4"), ("exchange", "exchange")):
        for loop in (PLAIN, MATCHED, ONCE):
            yield row(f"{name}, {loop.name}", 5.3, found.mean(Job(pattern, 1, BLOCK, loop)), 5.0, 5.6, "pred", "MB/s")
    for loop in (PLAIN, MATCHED, ONCE):
        longer = found.mean(Job("shift", 1, BLOCK, loop)) * float(np.mean(1 / found.of(Job("random", 1, BLOCK, loop))))
        yield row(f"random targets take longer, {loop.name}", 3.6, longer, 3.2, 4.0, "pred", "times")


def without_barriers(found: Results) -> Iterator[Row]:
    for loop in (PLAIN, MATCHED):
        for rounds, printed in ((32, 2.22), (100, 1.67)):
            value = found.mean(transposed(loop, rounds=rounds))
            yield about(
                f"transpose without barriers, {rounds} rounds, {loop.name}", printed, value, 0.15, "pred", "MB/s"
            )
        value = found.mean(transposed(loop, rounds=400))
        yield about(f"transpose without barriers, 400 rounds, {loop.name}", 1.67, value, 0.15, "pred", "MB/s",
                    "the printed asymptote for large blocks")  # fmt: skip
    falls = [found.mean(transposed(MATCHED, rounds=rounds)) for rounds in (32, 100, 400)]
    yield fact("it falls with the number of rounds", falls[0] > falls[1] > falls[2])
    falls = [found.mean(transposed(MATCHED, size)) for size in (64, 128, 256, 400)]
    yield fact("it falls with the size of a block, up to 400 bytes", falls == sorted(falls, reverse=True))
    yield fact("it rises again for the largest, of which there are few", found.mean(transposed(MATCHED)) > falls[-1])


def with_barriers(found: Results) -> Iterator[Row]:
    plain, matched, once = (found.mean(transposed(loop, every=1)) for loop in (PLAIN, MATCHED, ONCE))
    yield about("transpose with barriers, matched", 4.85, matched, 0.15, "pred", "MB/s", "printed: 10% below poll once")
    over = matched / found.mean(transposed(MATCHED, rounds=100))
    yield row("100 rounds: with barriers over without, matched", None, over, 2.0, 3.0, "pred", "times")
    late = matched / found.mean(transposed(MATCHED, rounds=400))
    yield row("400 rounds: with barriers over without, matched", None, late, 2.0, 3.0, "pred", "times")
    yield row("+ bandwidth matching", 1.3, matched / plain, 1.2, 1.4, "pred", "times")
    spread = [float(found.of(transposed(loop, every=1)).std(ddof=1)) for loop in (PLAIN, MATCHED)]
    yield row("its standard deviation is smaller", 50, spread[0] / spread[1], 20, None, "pred", "times")
    yield about("+ poll once", 5.33, once, 0.05, "pred", "MB/s")
    yield row("poll once over until empty", 1.1, once / matched, 1.05, 1.15, "pred", "times")


def by_size(found: Results) -> Iterator[Row]:
    free = {size: found.mean(transposed(MATCHED, size)) for size in SIZES}
    each = {size: found.mean(transposed(MATCHED, size, 1)) for size in SIZES}
    some = {size: found.mean(transposed(MATCHED, size, barriers(size))) for size in SIZES}
    yield row(
        "blocks of 64 bytes: a barrier each round over none", 1.0, each[64] / free[64], 0.8, 1.25, "pred", "times"
    )
    yield about("blocks of 128 bytes: a barrier each round over none", 2.0, each[128] / free[128], 0.3, "pred", "times")
    yield row(
        "blocks of 1 KB: a barrier each round over none", 2.5, each[LARGE] / free[LARGE], 2.0, 3.0, "pred", "times"
    )
    yield fact(
        "without barriers, a hump below 400 bytes", free[16] < free[32] and max(free[32], free[64]) > 1.2 * free[400]
    )
    best = all(some[size] > 0.97 * max(free[size], each[size]) for size in SIZES)
    yield fact("a barrier every 512 bytes is the best for small blocks", best)


def interleaved(found: Results) -> Iterator[Row]:
    mean = found.mean
    for name, job, large in (("random targets", scattered, 1.8), ("transpose", transposed, 2.1)):
        gain = {size: mean(job(PLAIN, size, together=OPEN)) / mean(job(PLAIN, size)) for size in SIZES}
        gain_large = float(np.mean([gain[size] for size in SIZES if size > 400]))
        gain_small = float(np.mean([gain[size] for size in SIZES if size <= 64]))
        yield about(f"{OPEN} transfers open, {name}, blocks over 400 bytes", large, gain_large, 0.2, "pred", "times")
        printed = 1.0 if name == "random targets" else 1.15
        yield about(f"{OPEN} transfers open, {name}, small blocks", printed, gain_small, 0.2, "pred", "times")
    several = {k: mean(transposed(PLAIN, LARGE, together=k)) for k in (2, 4, OPEN, 16, 32, 64)}
    even = max(several[k] for k in (4, OPEN, 16)) / min(several[k] for k in (4, OPEN, 16))
    yield row("4, 8 and 16 open: largest over smallest rate", 1.0, even, 1.0, 1.1, "pred", "times")
    yield row("2 open over 8 open", None, several[2] / several[OPEN], 0.0, 0.95, "pred", "times")
    dip = mean(transposed(PLAIN, 128, together=OPEN))
    beside = min(mean(transposed(PLAIN, size, together=OPEN)) for size in (64, 256))
    yield fact(
        "a dip at 128 bytes", dip < beside, "printed as an effect of the library's overhead, which is not printed"
    )
