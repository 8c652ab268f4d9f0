"""Scenarios of cells as programs, which are the same on the host and emulated, in compiled loops and in Python.

Each scenario takes a machine and the `Way` to run it, and asserts its results. The operations at the cells are listed
in *scripts*, which are arrays with a line (operation, cell, value) for each of them. The loop `play` carries them out.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import smp
from smp._runtime.loops.compiler import inline
from smp.compiled import (
    clock,
    fetch_add,
    fill,
    pause,
    peek,
    purge,
    readfe,
    readff,
    readxx,
    try_fetch_add,
    try_readfe,
    try_readff,
    try_writeef,
    try_writeff,
    writeef,
    writeff,
    writexf,
)
from support.linearizability import (
    FETCH_ADD,
    FILL,
    MISSED,
    PEEK,
    PURGE,
    READFE,
    READFF,
    READXX,
    TRY,
    WRITEEF,
    WRITEFF,
    WRITEXF,
)


class Way(NamedTuple):
    """How to run a scenario.

    Attributes
    ----------
    scale : int
        Size of the scenario: approximate number of operations of each stream.
    compiled : bool
        True to run the loops compiled; False to run them as Python code, which calls the methods of the cells.
    jitter : int
        Longest rest before an operation, in pauses.
    retries : int or None
        Limit of retries that the cells are made with.
    seed : int
    """

    scale: int = 4
    compiled: bool = True
    jitter: int = 0
    retries: int | None = None
    seed: int = 0

    def loop(self, made: Callable[..., Any]) -> Callable[..., Any]:
        return made if self.compiled else made.__wrapped__  # type: ignore[attr-defined]

    def random(self, *who: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, *who))


@inline
def rest(state, jitter):
    """Pause for a random time; return the state of the generator."""
    if jitter > 0:
        state = (state * 1103515245 + 12345) % 2147483648
        for _ in range((state >> 8) % jitter):
            pause()
    return state


@inline
def act(cells, op, i, given):
    """Carry out an operation; return its result as a number (see ``linearizability``)."""
    if op == READFE:
        return readfe(cells, i)
    if op == READFF:
        return readff(cells, i)
    if op == READXX:
        return readxx(cells, i)
    if op == PURGE:
        return purge(cells, i, given)
    if op == FETCH_ADD:
        return fetch_add(cells, i, given)
    if op == PEEK:
        full, value = peek(cells, i)
        return 2 * value + (1 if full else 0)
    if op == TRY + READFE:
        done, value = try_readfe(cells, i)
        return value if done else MISSED
    if op == TRY + READFF:
        done, value = try_readff(cells, i)
        return value if done else MISSED
    if op == TRY + FETCH_ADD:
        done, value = try_fetch_add(cells, i, given)
        return value if done else MISSED
    if op == TRY + WRITEEF:
        return 0 if try_writeef(cells, i, given) else MISSED
    if op == TRY + WRITEFF:
        return 0 if try_writeff(cells, i, given) else MISSED
    if op == WRITEEF:
        writeef(cells, i, given)
    if op == WRITEFF:
        writeff(cells, i, given)
    if op == WRITEXF:
        writexf(cells, i, given)
    if op == FILL:
        fill(cells, i)
    return 0


@smp.stream
def play(cells, script, results, times, state, jitter):
    """Carry out a script; note the results, and the times if there is room for them."""
    for k in range(len(script)):
        state = rest(state, jitter)
        if len(times) > 0:
            times[k, 0] = clock()
        results[k] = act(cells, script[k, 0], script[k, 1], script[k, 2])
        if len(times) > 0:
            times[k, 1] = clock()


@smp.stream
def relay(cells, j, n, total, rounds, state, jitter):
    """In each round take the token from cell ``j``, count it by a plain addition, and pass it to the next of ``n``."""
    for _ in range(rounds):
        token = readfe(cells, j)
        count = total[0]
        state = rest(state, jitter)
        total[0] = count + 1
        writeef(cells, (j + 1) % n, token + 1)


@smp.stream
def publish(cells, data, readers, rounds):
    """In each round write all of the data, signal each reader, and wait until each reader has seen the data."""
    for k in range(1, rounds + 1):
        for j in range(len(data)):
            data[j if k % 2 else len(data) - 1 - j] = k
        for r in range(readers):
            writeef(cells, r, k)
        for r in range(readers):
            readfe(cells, readers + r)


@smp.stream
def inspect(cells, data, r, readers, rounds):
    """Wait for each round's flag, blocked or by trying, and ignore its value; return the number of stale words."""
    stale = 0
    for k in range(1, rounds + 1):
        if k % 3 == 0:
            readfe(cells, r)
        else:
            while not try_readfe(cells, r)[0]:
                pause()
        for j in range(len(data)):
            if data[j if k % 4 < 2 else len(data) - 1 - j] != k:
                stale += 1
        writeef(cells, readers + r, k)
    return stale


@smp.stream
def poll(cells, i, wanted):
    """Look at a cell, without waiting, until it has the wanted value; return the number of looks."""
    looks = 1
    while readxx(cells, i) != wanted:
        looks += 1
    return looks


def played(way: Way, who: int, cells: smp.Cells, script: Sequence[tuple[int, ...]]) -> list[int]:
    """Carry out a script; return its results."""
    lines = np.array(script, np.int64).reshape(-1, 3)
    results = np.zeros(len(lines), np.int64)
    way.loop(play)(cells, lines, results, np.zeros((0, 2), np.int64), way.seed + 7 * who + 1, way.jitter)
    return results.tolist()


def traps(cells: smp.Cells) -> int:
    """Return the number of waits that have trapped so far."""
    return int(cells.counters()["traps"].sum())


def await_traps(cells: smp.Cells, count: int) -> None:
    """Look until the given number of waits have trapped at cell 0 and are in its queue."""
    while traps(cells) < count:
        cells.peek(0)
    cells.peek(0)  # a trapping wait holds the lock of the cell from when it is counted until it is in the queue


def waiters(
    proc: smp.Processor, way: Way, cells: smp.Cells, scripts: Sequence[tuple[int, int, int]]
) -> tuple[smp.Pool | None, list[smp.Thread[list[int]]]]:
    """Let one thread for each operation trap at cell 0, one after the other, on all processors but the first.

    When it returns on any processor, all threads of all processors wait.
    """
    base, threads = traps(cells), []
    proc.barrier()
    pool = None
    if proc.rank > 0:
        pool = proc.streams(len(scripts))
        for j, script in enumerate(scripts):
            if j % (proc.size - 1) == proc.rank - 1:
                await_traps(cells, base + j)
                threads.append(pool.start(played, way, j, cells, [script]))
    await_traps(cells, base + len(scripts))
    proc.barrier()
    return pool, threads


def served(
    proc: smp.Processor,
    way: Way,
    cells: smp.Cells,
    scripts: Sequence[tuple[int, int, int]],
    actions: Sequence[tuple[int, int, int]],
) -> list[list[int]]:
    """Let operations trap in their order, then let the first processor act; return all results of this processor."""
    _, threads = waiters(proc, way, cells, scripts)
    if proc.rank == 0:
        return [played(way, 0, cells, actions)]
    return [thread.result() for thread in threads]


DTYPES = ("int8", "int32", "int64", "uint8", "uint32", "uint64", "bool", "float32", "float64")


def extremes(dtype: str) -> tuple[Any, Any]:
    """Return the lowest and the highest value of a type, as Python's numbers."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return False, True
    info = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    return kind.type(info.min).item(), kind.type(info.max).item()


def every_operation(cells: smp.Cells, low: Any, high: Any) -> list[Any]:
    """Return the results of all operations on cell 0 with the lowest and the highest value of its type."""
    cells.writeef(0, low)
    seen = [cells.readff(0), cells.readxx(0), cells.fetch_add(0, high), cells.readfe(0), cells.readxx(0)]
    cells.fill(0)
    cells.writeff(0, high)
    seen += [cells.readff(0), cells.fetch_add(0, high), *cells.peek(0), cells.purge(0, low), *cells.peek(0)]
    cells.writexf(0, high)
    seen += [*cells.try_readff(0), *cells.try_fetch_add(0, low), *cells.try_readfe(0)]
    seen += [cells.try_readfe(0)[0], cells.try_readff(0)[0], cells.try_fetch_add(0, low)[0], cells.try_writeff(0, low)]
    seen += [cells.try_writeef(0, low), cells.try_writeef(0, high), cells.try_writeff(0, high), *cells.peek(0)]
    return [*seen, cells.purge(0), *cells.peek(0)]


def expected_of_every_operation(dtype: str, low: Any, high: Any) -> list[Any]:
    """Return the expected results of `every_operation`, with sums by NumPy."""

    def sum_of(a: Any, b: Any) -> Any:
        with np.errstate(over="ignore"):
            return (np.array([a], dtype) + np.array([b], dtype))[0].item()

    both, twice = sum_of(low, high), sum_of(high, high)
    seen = [low, low, low, both, both, high, high, True, twice, 0, False, low]
    seen += [True, high, True, high, True, both, False, False, False, False]
    return [*seen, True, False, True, True, high, 0, False, np.zeros(1, dtype)[0].item()]


def by_turns(results: Sequence[list[list[int]]], count: int) -> list[int]:
    """Return the results of `served` on the processors from the second on, in the order of the waiters."""
    others = len(results) - 1
    return [results[1 + j % others][j // others][0] for j in range(count)]


# The scenarios.

SCENARIOS: dict[str, Callable[[smp.Machine, Way], None]] = {}
"""All scenarios, by their names."""


def scenario(check: Callable[[smp.Machine, Way], None]) -> Callable[[smp.Machine, Way], None]:
    """Add a function to the scenarios."""
    SCENARIOS[check.__name__] = check
    return check


@scenario
def readxx_leaves_the_state_alone(machine: smp.Machine, way: Way) -> None:
    cells = machine.cells(machine.size, retries=way.retries)
    script = [(PURGE, 5), (READXX, 0), (PEEK, 0), (READXX, 0), (WRITEEF, 45), (READXX, 0), (PEEK, 0), (READXX, 0)]

    def program(proc: smp.Processor) -> list[int]:
        return played(way, proc.rank, cells, [(op, proc.rank, given) for op, given in script])

    assert machine.run(program).results == [[0, 5, 2 * 5, 5, 0, 45, 2 * 45 + 1, 45]] * machine.size


@scenario
def purge_leaves_a_value_and_empty(machine: smp.Machine, way: Way) -> None:
    cells = machine.cells(machine.size, retries=way.retries)
    script = [(WRITEEF, 45), (PURGE, 0), (PEEK, 0), (WRITEEF, 45), (PURGE, 17), (PEEK, 0), (PURGE, -3), (PEEK, 0)]

    def program(proc: smp.Processor) -> list[int]:
        return played(way, proc.rank, cells, [(op, proc.rank, given) for op, given in script])

    assert machine.run(program).results == [[0, 0, 0, 0, 0, 2 * 17, 0, 2 * -3]] * machine.size


@scenario
def writexf_fills_whatever_it_was(machine: smp.Machine, way: Way) -> None:
    cells = machine.cells(1, retries=way.retries)
    asked = [(READFF, 0, 0), (READFE, 0, 0), (READFF, 0, 0), (READFE, 0, 0)]
    acts = [(WRITEXF, 0, 45), (WRITEXF, 0, 50), (PEEK, 0, 0), (WRITEXF, 0, 55), (PEEK, 0, 0)]
    results = machine.run(served, way, cells, asked, acts).results
    assert by_turns(results, 4) == [45, 45, 45, 50]  # the first wakes waiters as fill does, the second the next readfe
    assert results[0] == [[0, 0, 2 * 50, 0, 2 * 55 + 1]]
    assert cells.peek(0) == (True, 55)


@scenario
def writeff_waits_until_it_is_full(machine: smp.Machine, way: Way) -> None:
    cells = machine.cells(1, retries=way.retries)
    results = machine.run(served, way, cells, [(WRITEFF, 0, 55)], [(WRITEEF, 0, 35), (PEEK, 0, 0)]).results
    assert results[0] == [[0, 2 * 55 + 1]]
    assert cells.peek(0) == (True, 55)


@scenario
def purge_releases_one_writer(machine: smp.Machine, way: Way) -> None:
    cells, writers = machine.cells(1, full=True, retries=way.retries), 4
    asked = [(WRITEEF, 0, 100 + j) for j in range(writers)]
    acts = [(PURGE, 0, 9), (PEEK, 0, 0)] * (writers + 1)
    [seen] = machine.run(served, way, cells, asked, acts).results[0]
    assert seen[::2] == [1, 1, 1, 1, 0]
    assert seen[1::2] == [2 * (100 + j) + 1 for j in range(writers)] + [2 * 9]


@scenario
def nothing_tears(machine: smp.Machine, way: Way) -> None:
    """A full cell has all bits zero or all one, an empty cell holds 7. No other value or combination is seen."""
    cells = machine.cells(1, retries=way.retries)
    cells.purge(0, 7)

    def program(proc: smp.Processor) -> list[tuple[int, int]]:
        draw = way.random(proc.rank)
        ops = (WRITEXF, PURGE) if proc.rank % 2 == 0 else (PEEK, READXX)
        script = [
            (int(op), 0, int(draw.integers(-1, 1)) if op == WRITEXF else 7)
            for op in draw.choice(ops, size=way.scale, p=(0.7, 0.3))
        ]
        return [
            (op, seen)
            for (op, _, _), seen in zip(script, played(way, proc.rank, cells, script), strict=True)
            if op in (PEEK, READXX)
        ]

    allowed = {(PEEK, 1), (PEEK, 2 * -1 + 1), (PEEK, 2 * 7), (READXX, 0), (READXX, -1), (READXX, 7)}
    results = machine.run(program).results
    assert sum(map(len, results)) == way.scale * (machine.size // 2)
    assert {seen for result in results for seen in result} <= allowed


@scenario
def each_value_is_consumed_once(machine: smp.Machine, way: Way) -> None:
    cells, size, count = machine.cells(1, retries=way.retries), machine.size, way.scale
    producers, consumers = (size + 1) // 2, size // 2

    def program(proc: smp.Processor) -> list[int]:
        if proc.rank % 2 == 0:
            played(way, proc.rank, cells, [(WRITEEF, 0, proc.rank * 1_000_000 + k) for k in range(count)])
            return []
        share = range(proc.rank // 2, count * producers, consumers)
        return played(way, proc.rank, cells, [(READFE, 0, 0)] * len(share))

    results = machine.run(program).results
    made = [rank * 1_000_000 + k for rank in range(0, size, 2) for k in range(count)]
    assert sorted(value for result in results for value in result) == made
    for result in results:
        for rank in range(0, size, 2):
            mine = [value for value in result if value // 1_000_000 == rank]
            assert mine == sorted(mine)  # the values of one producer, in its order
    assert cells.peek(0)[0] is False


@scenario
def a_cell_is_a_fence(machine: smp.Machine, way: Way) -> None:
    """After a wait for the flag alone, no data is stale, read forwards or backwards: 128 KiB, less in a small run."""
    readers, rounds = machine.size - 1, max(3, way.scale // 8)
    cells = machine.cells(2 * readers, retries=way.retries)
    data = machine.zeros((1 << 17) // 8 if way.scale > 10 else 8, np.int64)

    def program(proc: smp.Processor) -> int:
        if proc.rank == 0:
            way.loop(publish)(cells, data.view, readers, rounds)
            return 0
        return int(way.loop(inspect)(cells, data.view, proc.rank - 1, readers, rounds))

    assert machine.run(program).results == [0] * machine.size


@scenario
def one_write_serves_all_readffs_and_one_readfe(machine: smp.Machine, way: Way) -> None:
    cells = machine.cells(1, retries=way.retries)
    asked = [(op, 0, 0) for op in (READFE, READFF, READFE, READFF, READFF, READFE)]
    acts = [(WRITEEF, 0, 7), (PEEK, 0, 0), (WRITEEF, 0, 8), (PEEK, 0, 0), (WRITEEF, 0, 9), (PEEK, 0, 0)]
    results = machine.run(served, way, cells, asked, acts).results
    assert by_turns(results, 6) == [7, 7, 8, 7, 7, 9]
    assert results[0] == [[0, 2 * 7, 0, 2 * 8, 0, 2 * 9]]  # the write serves the readfe: the cell is never seen full


@scenario
def in_the_order_of_arrival(machine: smp.Machine, way: Way) -> None:
    """Operations that leave the cell full are served in the order of arrival; then one readfe gets the final value."""
    cells = machine.cells(1, retries=way.retries)
    asked = [(READFE, 0, 0), (READFF, 0, 0), (FETCH_ADD, 0, 10), (WRITEFF, 0, 50), (FETCH_ADD, 0, 1), (READFF, 0, 0)]
    results = machine.run(served, way, cells, asked, [(FILL, 0, 0), (PEEK, 0, 0)]).results
    assert by_turns(results, 6) == [51, 0, 0, 0, 50, 51]
    assert results[0] == [[0, 2 * 51]]


@scenario
def readfes_first_come_first_served(machine: smp.Machine, way: Way) -> None:
    cells, n = machine.cells(1, retries=way.retries), 6
    acts = [(WRITEEF, 0, 10 + j) for j in range(n + 1)]
    results = machine.run(served, way, cells, [(READFE, 0, 0)] * n, acts).results
    assert by_turns(results, n) == [10 + j for j in range(n)]
    assert cells.peek(0) == (True, 10 + n)


@scenario
def writeefs_first_come_first_served(machine: smp.Machine, way: Way) -> None:
    cells, n = machine.cells(1, full=True, retries=way.retries), 6
    acts = [(READFE, 0, 0)] * (n + 1)
    results = machine.run(served, way, cells, [(WRITEEF, 0, 10 + j) for j in range(n)], acts).results
    assert results[0] == [[0] + [10 + j for j in range(n)]]
    assert cells.peek(0) == (False, 10 + n - 1)


@scenario
def overtaking_is_bounded(machine: smp.Machine, way: Way) -> None:
    """One thread waits. Another fills and empties as fast as it can, and wins at most until the first has trapped."""
    cells = machine.cells(1, retries=way.retries)
    turns = [(TRY + WRITEEF, 0, 5), (TRY + READFE, 0, 0)] * 10

    def program(proc: smp.Processor) -> tuple[list[int], bool]:
        base = traps(cells)
        proc.barrier()
        if proc.rank == 1:
            return played(way, 1, cells, [(READFE, 0, 0)]), False
        trapped, lost = proc.rank > 1, []
        while not (lost or trapped):
            trapped = traps(cells) > base
            seen = played(way, 0, cells, turns)
            lost = [k for k, result in enumerate(seen) if result == MISSED]
        return lost, trapped

    before = cells.counters()["retries"].sum()
    (lost, trapped), (got, _), *_ = machine.run(program).results
    assert got == [5]
    assert len(lost) == 1
    assert lost == [1] or not trapped  # a value put in after the trap goes to the waiter
    if way.retries is not None:
        assert cells.counters()["retries"].sum() - before <= way.retries


@scenario
def a_lock_and_a_ticket(machine: smp.Machine, way: Way) -> None:
    """A total that is counted under readfe and writeef is exact; fetch_add gives each number to one caller."""
    locks, tickets = machine.cells(1, full=True, retries=way.retries), machine.cells(1, full=True, retries=way.retries)
    total = machine.zeros(1, np.int64)

    def program(proc: smp.Processor) -> list[int]:
        way.loop(relay)(locks, 0, 1, total.view, way.scale, proc.rank + way.seed, max(2, way.jitter))
        return played(way, proc.rank, tickets, [(FETCH_ADD, 0, 1)] * way.scale)

    results, count = machine.run(program).results, machine.size * way.scale
    assert total[0] == count
    assert locks.peek(0) == (True, count)
    assert sorted(ticket for result in results for ticket in result) == list(range(count))
    assert all(result == sorted(result) for result in results)


@scenario
def one_producer_for_many_threads(machine: smp.Machine, way: Way) -> None:
    cells, n = machine.cells(5, retries=way.retries), 5

    def program(proc: smp.Processor) -> list[list[tuple[bool, int]]]:
        def seen() -> list[tuple[bool, int]]:
            return [cells.peek(i) for i in range(n)]

        with proc.streams(2) as pool:
            threads = [pool.start_when(cells, range(n), seen) for _ in range(3)]
            if proc.rank == 0:
                order = way.random().permutation(n)
                played(way, 0, cells, [(WRITEEF, int(i), int(i) + 20) for i in order])
            return [thread.result() for thread in threads]

    assert machine.run(program).results == [[[(True, i + 20) for i in range(n)]] * 3] * machine.size


@scenario
def many_producers_for_one_thread(machine: smp.Machine, way: Way) -> None:
    size = machine.size
    cells = machine.cells(size, retries=way.retries)

    def program(proc: smp.Processor) -> list[tuple[bool, int]] | None:
        def seen() -> list[tuple[bool, int]]:
            return [cells.peek(i) for i in range(size)]

        with proc.streams(1) as pool:
            thread = pool.start_when(cells, range(size), seen) if proc.rank == 0 else None
            played(way, proc.rank, cells, [(READXX, 0, 0), (WRITEEF, proc.rank, 100 + proc.rank)])
            return thread.result() if thread is not None else None

    assert machine.run(program).results[0] == [(True, 100 + i) for i in range(size)]


@scenario
def every_dtype_through_every_operation(machine: smp.Machine, way: Way) -> None:
    """The first processor calls the operations from Python; the others read a cell."""
    for dtype in DTYPES:
        cells = machine.cells(2, dtype, retries=way.retries)
        low, high = extremes(dtype)

        def program(proc: smp.Processor, cells: smp.Cells = cells, low: Any = low, high: Any = high) -> Any:
            if proc.rank == 0:
                seen = every_operation(cells, low, high)
                cells.writeef(1, high)
                return seen
            return cells.readff(1)

        seen, *others = machine.run(program).results
        expected = expected_of_every_operation(dtype, low, high)
        assert seen == expected, (dtype, seen, expected)
        assert [type(value) for value in seen] == [type(value) for value in expected]
        assert others == [high] * (machine.size - 1)


@scenario
def a_poller_does_not_starve_the_one_that_fills(machine: smp.Machine, way: Way) -> None:
    cells = machine.cells(machine.size, retries=way.retries)

    def program(proc: smp.Processor) -> bool:
        with proc.streams(1) as pool:
            pollers = [pool.start(way.loop(poll), cells, proc.rank, 3) for _ in range(2)]
            pool.start(played, way, proc.rank, cells, [(WRITEEF, proc.rank, 3)])
            return all(poller.result() > 1 for poller in pollers)

    assert all(machine.run(program).results)


@scenario
def threads_in_any_order_all_finish(machine: smp.Machine, way: Way) -> None:
    """As many readers as writers, each with one operation, all finish on few streams."""
    cells, n = machine.cells(1, retries=way.retries), 2 * (way.scale // 2)
    order = way.random().permutation(n).tolist()

    def program(proc: smp.Processor) -> list[int]:
        with proc.streams(2) as pool:
            mine = [j for j in order if j % proc.size == proc.rank]
            scripts = [[(WRITEEF, 0, j) if j < n // 2 else (READFE, 0, 0)] for j in mine]
            threads = [pool.start(played, way, j, cells, script) for j, script in zip(mine, scripts, strict=True)]
            return [thread.result()[0] for j, thread in zip(mine, threads, strict=True) if j >= n // 2]

    results = machine.run(program).results
    assert sorted(value for result in results for value in result) == list(range(n // 2))
    assert cells.peek(0)[0] is False


@scenario
def a_token_goes_round_a_ring(machine: smp.Machine, way: Way) -> None:
    """In a large run each of 500 threads passes the token on 20 times, 10,000 times in all; in a small run, twice."""
    n = 500 if way.scale >= 100 else max(2, way.scale)
    rounds = 20 if way.scale >= 100 else 2
    cells, total = machine.cells(n, retries=way.retries), machine.zeros(1, np.int64)

    def program(proc: smp.Processor) -> None:
        with proc.streams(2) as pool:
            for j in range(proc.rank, n, proc.size):
                pool.start(way.loop(relay), cells, j, n, total.view, rounds, j, way.jitter)
            if proc.rank == 0:
                cells.writeef(0, 1000)

    machine.run(program)
    assert total[0] == n * rounds
    assert cells.peek(0) == (True, 1000 + n * rounds)


@scenario
def a_stencil_by_cells_is_that_by_supersteps(machine: smp.Machine, way: Way) -> None:
    size, steps = machine.size, max(3, way.scale // 4)
    begin = way.random().standard_normal(4 * size)
    edges = machine.cells(2 * size, np.float64, retries=way.retries)  # at the left and the right of each processor
    old, new = machine.array(begin), machine.zeros(len(begin))

    def relaxed(u: Any) -> Any:
        return u[1:-1] + 0.3 * (u[:-2] - 2.0 * u[1:-1] + u[2:])

    def by_cells(proc: smp.Processor) -> Any:
        left, right = (proc.rank - 1) % size, (proc.rank + 1) % size
        u = begin[proc.block(len(begin))].copy()
        for _ in range(steps):
            edges.writeef(2 * left + 1, u[0])
            edges.writeef(2 * right, u[-1])
            u = relaxed(np.concatenate(([edges.readfe(2 * proc.rank)], u, [edges.readfe(2 * proc.rank + 1)])))
        return u

    def by_supersteps(proc: smp.Processor) -> Any:
        mine = proc.block(len(begin))
        indices = np.arange(mine.start - 1, mine.stop + 1) % len(begin)
        source, target = old, new
        for _ in range(steps):
            with proc.superstep() as step:
                u = step.copy_in(source, indices)
                step.compute()
                step.copy_out(target, mine, relaxed(u))
            source, target = target, source
        with proc.superstep() as step:
            return step.copy_in(source, mine)

    one, other = (np.concatenate(machine.run(program).results) for program in (by_cells, by_supersteps))
    assert one.tobytes() == other.tobytes()
    assert not np.allclose(one, begin)
