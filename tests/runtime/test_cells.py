"""Cells on the host: every scenario in compiled loops and in Python, with many processors and with all on one CPU."""

import contextlib
import copy
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cells_scenarios as scenarios_cells
from support import linearizability as linear
from support.cells_scenarios import (
    DTYPES,
    SCENARIOS,
    Way,
    every_operation,
    expected_of_every_operation,
    extremes,
    play,
    played,
)
from support.linearizability import WRITEEF
from support.machines import CPUS, PLACES, Machines, guarded
from support.sampled import each

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.protocols import cell, stream_slots
from smp.compiled import (
    fetch_add,
    fill,
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
from smp.errors import MachineError, ProcessorRaised, WaitTimeout

MANY_THREADS = "threads_in_any_order_all_finish"
SPINNING = ("each_value_is_consumed_once", "a_cell_is_a_fence", "a_lock_and_a_ticket")
"""Scenarios whose waits end soon, whatever the retry limit is."""
WAITING = (
    "one_producer_for_many_threads",
    "many_producers_for_one_thread",
    "a_poller_does_not_starve_the_one_that_fills",
    MANY_THREADS,
    "a_token_goes_round_a_ring",
    "a_stencil_by_cells_is_that_by_supersteps",
)
ORDERED = (
    "writexf_fills_whatever_it_was",
    "writeff_waits_until_it_is_full",
    "purge_releases_one_writer",
    "one_write_serves_all_readffs_and_one_readfe",
    "in_the_order_of_arrival",
    "readfes_first_come_first_served",
    "writeefs_first_come_first_served",
    "overtaking_is_bounded",
)
"""Scenarios that check which waiters are served, and in which order."""


@pytest.fixture(scope="module")
def loaded() -> None:
    """Load the loops in this process, for the processors that are forked from it."""
    with smp.host(1) as machine:
        cells, words, log = machine.cells(2, full=True), np.zeros(1, np.int64), np.zeros((0, 2), np.int64)
        play(cells, np.zeros((0, 3), np.int64), words, log, 0, 0)
        scenarios_cells.relay(cells, 0, 1, words, 1, 0, 0)
        scenarios_cells.poll(cells, 0, 1)
        scenarios_cells.publish(cells, words, 0, 1)
        scenarios_cells.inspect(cells, words, 0, 1, 0)


Place = Callable[[str], smp.Machine]


@pytest.fixture(scope="module")
def place(machines: Machines, loaded: None) -> Place:
    return lambda name: machines(**PLACES[name])


@pytest.mark.parametrize("name", each(2, SCENARIOS))
@pytest.mark.parametrize("where", PLACES)
def test_scenarios_hold_in_compiled_loops(place: Place, where: str, name: str) -> None:
    with guarded(place(where)) as machine:
        SCENARIOS[name](machine, Way(scale=100 if where == "two" else 30))


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_hold_in_python(place: Place, name: str) -> None:
    with guarded(place("two")) as machine:
        SCENARIOS[name](machine, Way(scale=30, compiled=False))


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("where", ["two", "oversubscribed"])
def test_scenarios_hold_with_random_delays(place: Place, where: str, name: str) -> None:
    with guarded(place(where)) as machine:
        SCENARIOS[name](machine, Way(scale=30, jitter=2000, seed=len(name)))


@pytest.mark.parametrize("name", ["nothing_tears", "each_value_is_consumed_once", "a_lock_and_a_ticket", MANY_THREADS])
def test_scenarios_hold_with_many_operations(place: Place, name: str) -> None:
    """Each processor does 1,000 operations, or 250 in the scenario with many threads."""
    with guarded(place("two")) as machine:
        SCENARIOS[name](machine, Way(scale=250 if name == MANY_THREADS else 1000))


@pytest.mark.parametrize(
    ("retries", "name"),
    [(few, name) for few in (0, 1, None) for name in (*SPINNING, *WAITING)] + [(1 << 40, name) for name in SPINNING],
)
@pytest.mark.parametrize("where", ["two", "pinned"])
def test_scenarios_hold_with_any_retry_limit(place: Place, where: str, retries: int | None, name: str) -> None:
    with guarded(place(where)) as machine:
        SCENARIOS[name](machine, Way(scale=16, retries=retries, jitter=100))


@pytest.mark.parametrize("retries", [0, 1])
@pytest.mark.parametrize("name", ORDERED)
def test_scenarios_of_the_order_hold_for_waiters_that_trap(place: Place, name: str, retries: int) -> None:
    with guarded(place("two")) as machine:
        SCENARIOS[name](machine, Way(retries=retries))


def test_threads_that_are_not_streams_may_use_cells(machines: Machines) -> None:
    """Threads that the processors start themselves, and one of the parent, use the same cells."""
    machine = machines(2)
    ask, reply = machine.cells(1), machine.cells(1)

    def server() -> None:
        for _ in range(40):
            reply.writeef(0, 2 * ask.readfe(0))

    def program(proc: smp.Processor) -> list[int]:
        seen: list[int] = []
        lock = machine_lock()

        def client(first: int) -> None:
            for k in range(first, first + 10):
                with lock:
                    turn.readfe(0)
                    ask.writeef(0, k)
                    seen.append(reply.readfe(0))
                    turn.writeef(0, 0)

        threads = [threading.Thread(target=client, args=(100 * proc.rank + 10 * k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(seen)

    turn, machine_lock = machine.cells(1, full=True), threading.Lock
    helper = threading.Thread(target=server)
    helper.start()
    with guarded(machine):
        results = machine.run(program).results
    helper.join()
    assert results == [[2 * (100 * rank + k) for k in range(20)] for rank in range(2)]


@smp.stream
def some_operations(cells, low, high):
    """Move values into a cell and out of it in each way."""
    writeef(cells, 0, low)
    before = fetch_add(cells, 0, high)
    done, after = try_readff(cells, 0)
    last = readfe(cells, 0)
    full, value = peek(cells, 0)
    return before, after, last, value, done, full


@smp.stream
def all_operations(cells, low, high):
    """Do the same operations as `scenarios_cells.every_operation`."""
    writeef(cells, 0, low)
    a = (readff(cells, 0), readxx(cells, 0), fetch_add(cells, 0, high), readfe(cells, 0), readxx(cells, 0))
    fill(cells, 0)
    writeff(cells, 0, high)
    b = (readff(cells, 0), fetch_add(cells, 0, high), peek(cells, 0), purge(cells, 0, low), peek(cells, 0))
    writexf(cells, 0, high)
    c = (try_readff(cells, 0), try_fetch_add(cells, 0, low), try_readfe(cells, 0))
    d = (try_readfe(cells, 0)[0], try_readff(cells, 0)[0], try_fetch_add(cells, 0, low)[0], try_writeff(cells, 0, low))
    e = (try_writeef(cells, 0, low), try_writeef(cells, 0, high), try_writeff(cells, 0, high), peek(cells, 0))
    return a, b, c, d, e, purge(cells, 0), peek(cells, 0)


def flat(values: Any) -> list[Any]:
    """Return the elements of nested tuples as a list."""
    return [x for value in values for x in flat(value)] if isinstance(values, tuple) else [values]


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float32"])
def test_values_of_several_dtypes_are_correct_in_loops(machines: Machines, dtype: str) -> None:
    cells, (low, high) = machines(1).cells(1, dtype), extremes(dtype)
    made = np.dtype(dtype).type
    both = expected_of_every_operation(dtype, low, high)[3]
    assert some_operations(cells, made(low), made(high)) == (low, both, both, both, True, False)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation_is_correct_in_loops(machines: Machines, dtype: str) -> None:
    machine, (low, high) = machines(1), extremes(dtype)
    made = np.dtype(dtype).type
    seen = flat(all_operations(machine.cells(1, dtype), made(low), made(high)))
    assert seen == expected_of_every_operation(dtype, low, high)
    assert seen == every_operation(machine.cells(1, dtype), low, high)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0, 5e-324])
def test_the_bits_of_special_values_are_kept(machines: Machines, value: float) -> None:
    cells = machines(1).cells(1, np.float64)
    cells.writeef(0, value)
    assert np.array([cells.readfe(0)]).tobytes() == np.array([value]).tobytes()


# Pairs of producers and consumers.


@smp.stream
def produce(cells, i, first, rounds):
    for k in range(rounds):
        writeef(cells, i, first + k)


@smp.stream
def consume(cells, i, rounds, seen):
    """Count how often each value arrives."""
    for _ in range(rounds):
        seen[readfe(cells, i)] += 1


def pairs(machine: smp.Machine, rounds: int, streams: int, shared: bool) -> None:
    """Check that six pairs over two processors, on one cell or on a cell each, consume each value once."""
    cells = machine.cells(1 if shared else 6)

    def program(proc: smp.Processor) -> Any:
        seen = [np.zeros(6 * rounds, np.int64) for _ in range(6)]
        with proc.streams(streams) as pool:
            for k in range(6):
                i = 0 if shared else k
                if (proc.rank + k) % 2:
                    pool.start(produce, cells, i, k * rounds, rounds)
                else:
                    pool.start(consume, cells, i, rounds, seen[k])
        return sum(seen)

    assert (sum(machine.run(program).results) == 1).all()
    assert not any(cells.peek(i)[0] for i in range(len(cells)))


CAMPAIGNS: dict[str, tuple[dict[str, Any], int]] = {
    "a stream each": ({}, 6),
    "four streams a CPU": ({}, 2 * CPUS),
    "pinned to one CPU": ({"pin": (usable_cpus()[0],) * 2}, 6),
    "one stream, pinned to one CPU": ({"pin": (usable_cpus()[0],) * 2}, 1),
}


@pytest.mark.parametrize("shared", [False, True], ids=["a cell each", "one cell"])
@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_six_pairs_consume_each_value_once(machines: Machines, campaign: str, shared: bool) -> None:
    options, streams = CAMPAIGNS[campaign]
    with guarded(machines(2, **options)) as machine:
        pairs(machine, 2_000, streams, shared)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["a cell each", "one cell"])
@pytest.mark.parametrize("campaign", CAMPAIGNS)
@pytest.mark.parametrize("repeat", range(3))
def test_six_pairs_consume_each_of_many_values_once(
    machines: Machines, campaign: str, shared: bool, repeat: int
) -> None:
    options, streams = CAMPAIGNS[campaign]
    with guarded(machines(2, **options), 300) as machine:
        pairs(machine, 100_000, streams, shared)


# Counters.


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 10, 100, 1024, 10_000])
def test_a_wait_retries_up_to_its_limit_before_it_traps(pair: smp.Machine, limit: int, compiled: bool) -> None:
    """In the program of figure 7, one processor waits at an empty cell, which is filled once the wait has trapped."""
    cells = pair.cells(1, retries=limit)

    def program(proc: smp.Processor) -> tuple[int, int]:
        before = proc.counters()
        base = scenarios_cells.traps(cells)
        proc.barrier()
        if proc.rank == 0:
            assert played(Way(compiled=compiled), 0, cells, [(linear.READFF, 0, 0)]) == [9]
        else:
            scenarios_cells.await_traps(cells, base + 1)
            cells.writeef(0, 9)
        after = proc.counters()[: len(before)] if len(before) else proc.counters()
        assert (after["rank"] == proc.rank).all()
        return tuple(int(after[name].sum() - before[name].sum()) for name in ("retries", "traps"))

    with guarded(pair):
        assert pair.run(program).results == [(limit, 1), (0, 0)]


@pytest.mark.parametrize(
    ("where", "limit"), [("two", 1024 if CPUS > 1 else 16), ("oversubscribed", 16), ("pinned", 16)]
)
def test_the_default_retry_limit_depends_on_the_cpus(place: Place, where: str, limit: int) -> None:
    machine = place(where)
    cells = machine.cells(1)

    def program(proc: smp.Processor) -> int:
        before = int(proc.counters()["retries"].sum())
        with contextlib.suppress(WaitTimeout):
            cells.readfe(0, timeout=0.01)
        return int(proc.counters()["retries"].sum()) - before

    assert machine.run(program).results == [limit] * machine.size


# Deadlines.


@pytest.mark.parametrize("name", ["readfe", "readff", "writeef", "writeff", "fetch_add"])
@pytest.mark.parametrize("timeout", [0.0, 0.01])
def test_a_wait_that_reaches_its_deadline_raises_and_leaves_the_queue(
    pair: smp.Machine, name: str, timeout: float
) -> None:
    cells = pair.cells(3, full=name == "writeef")
    arguments = () if name.startswith("read") else (5,)
    state = "empty" if name == "writeef" else "full"
    told = (
        rf"{name} of cell 2 waited {timeout} s and the cell did not become {state}; give it longer, or see which thread"
    )

    def wait() -> None:
        getattr(cells, name)(2, *arguments, timeout=timeout)

    pair.run(lambda proc: None)  # whatever happened before, no processor has failed now
    with pytest.raises(WaitTimeout, match=told):
        wait()
    with pytest.raises(ProcessorRaised, match=told):
        pair.run(lambda proc: wait())
    if name == "writeef":
        assert cells.readfe(2) == 0
        assert cells.peek(2) == (False, 0)  # no waiter is left in the queue
    else:
        cells.writeef(2, 7)
        assert cells.peek(2) == (True, 7)


@pytest.mark.parametrize("retries", [0, 10_000])
@pytest.mark.parametrize("op", [linear.READFE, linear.READFF, linear.WRITEEF, linear.FETCH_ADD], ids=linear.name)
def test_a_wait_outlasts_a_writer_that_loses_its_cpu_between_lock_and_release(
    pair: smp.Machine, op: int, retries: int
) -> None:
    """Processor 0 makes the changes of a quick writeef one by one, with a long rest after the first and the second."""
    cells = pair.cells(1, retries=retries)

    def program(proc: smp.Processor) -> tuple[int, ...]:
        words = np.asarray(cells._block).view(np.int64)
        if proc.rank == 0:
            words[0] = stream_slots.LOCKED
        proc.barrier()
        if proc.rank == 0:
            for at, word in ((1, 7), (0, cell.FULL + cell.VERSION)):
                time.sleep(0.02)
                words[at] = word
            return (cells.readfe(0),) if op == linear.WRITEEF else ()
        given = {linear.WRITEEF: 8, linear.FETCH_ADD: 8}.get(op, 0)
        return tuple(played(Way(), 0, cells, [(op, 0, given)]))

    with guarded(pair):
        first, second = pair.run(program).results
    assert (first, second) == (((7,), (0,)) if op == linear.WRITEEF else ((), (7,)))
    assert (
        cells.peek(0)
        == {
            linear.READFE: (False, 7),
            linear.READFF: (True, 7),
            linear.WRITEEF: (True, 8),
            linear.FETCH_ADD: (True, 15),
        }[op]
    )


def test_the_parent_can_wait_after_a_failed_run(pair: smp.Machine) -> None:
    cells = pair.cells(1)
    with pytest.raises(ProcessorRaised):
        pair.run(lambda proc: 1 // 0)
    with pytest.raises(WaitTimeout):
        cells.readfe(0, timeout=0.01)
    filler = threading.Timer(0.05, cells.writeef, (0, 3))
    filler.start()
    assert cells.readfe(0, timeout=10) == 3
    filler.join()


def test_waiters_that_give_up_do_not_change_the_order_of_the_others(pair: smp.Machine) -> None:
    """Every second one of eight readers gives up, in the middle of the queue and at its ends."""
    cells = pair.cells(1)

    def program(proc: smp.Processor, early: int) -> list[Any] | None:
        base = scenarios_cells.traps(cells)
        proc.barrier()
        if proc.rank == 0:
            scenarios_cells.await_traps(cells, base + 8)
            proc.barrier()
            proc.barrier()
            for k in range(4):
                cells.writeef(0, k)
            return None
        with proc.streams(8) as pool:
            threads = []
            for j in range(8):
                scenarios_cells.await_traps(cells, base + j)
                threads.append(pool.start(cells.readfe, 0, timeout=0.3 if j % 2 == early else None))
            scenarios_cells.await_traps(cells, base + 8)
            proc.barrier()
            for thread in threads[early::2]:
                with pytest.raises(WaitTimeout):
                    thread.result()
            proc.barrier()
            return [thread.result() for thread in threads[1 - early :: 2]]

    for early in range(2):
        with guarded(pair):
            assert pair.run(program, early).results[1] == [0, 1, 2, 3]


def test_no_value_is_lost_when_a_deadline_and_a_fill_coincide(pair: smp.Machine) -> None:
    """Each value is either read, or still there for the next read, whichever comes first."""
    cells = pair.cells(1)
    count = 300

    def program(proc: smp.Processor) -> list[int]:
        if proc.rank == 0:
            for k in range(count):
                cells.writeef(0, k)
            return []
        seen = []
        while len(seen) < count:
            with contextlib.suppress(WaitTimeout):
                seen.append(cells.readfe(0, timeout=len(seen) % 7 * 1e-6))
        return seen

    with guarded(pair):
        assert pair.run(program).results[1] == list(range(count))


@pytest.mark.parametrize("timeout", [-1.0, float("nan")])
def test_an_invalid_timeout_is_refused(pair: smp.Machine, timeout: float) -> None:
    with pytest.raises(ValueError, match="a timeout must be a number of seconds, 0 or more"):
        pair.cells(1).readfe(0, timeout=timeout)


# Operations one after the other follow the specification.


OPERATIONS = st.lists(
    st.tuples(st.sampled_from([*linear.WAITING, *linear.READY]), st.integers(0, 2), st.integers(-4, 4)), max_size=30
)


@settings(max_examples=60, deadline=None)
@given(script=OPERATIONS)
def test_operations_one_after_the_other_follow_the_specification(
    machines: Machines, script: list[tuple[int, int, int]]
) -> None:
    """An operation that would have to wait is replaced by the one that only tries."""
    states, lines, expected = [linear.State()] * 3, [], []
    for op, i, value in script:
        possible = list(linear.meaning(op, value, states[i]))
        if not possible:
            op += linear.TRY
            possible = list(linear.meaning(op, value, states[i]))
        result, states[i] = possible[0]
        lines.append((op, i, value))
        expected.append(result)
    for compiled in (True, False):
        cells = machines(1).cells(3)
        assert played(Way(compiled=compiled), 0, cells, lines) == expected
        assert [cells.peek(i) for i in range(3)] == [state[:2] for state in states]


# Making cells, and using them in the parent and on processors.


def test_cells_begin_empty_or_full_and_know_their_length(machines: Machines) -> None:
    machine = machines(2)
    cells, padded = machine.cells(5), machine.cells(5, np.float32, full=True, padded=True)
    assert (len(cells), cells.dtype, repr(cells)) == (5, np.int64, "Cells(5, dtype=int64)")
    assert (len(padded), padded.dtype, repr(padded)) == (5, np.float32, "Cells(5, dtype=float32)")
    assert [cells.peek(i) for i in range(5)] == [(False, 0)] * 5
    assert [padded.peek(i) for i in range(5)] == [(True, 0.0)] * 5
    assert len(machine.cells(0)) == 0
    cells.writeef(-1, 3)
    assert cells.peek(4) == (True, 3)


def test_padded_cells_do_not_affect_each_other(pair: smp.Machine) -> None:
    cells = pair.cells(4, padded=True)

    def program(proc: smp.Processor) -> list[int]:
        return played(Way(), proc.rank, cells, [(WRITEEF, i, 10 * i) for i in range(proc.rank, 4, 2)])

    pair.run(program)
    assert [cells.peek(i) for i in range(4)] == [(True, 10 * i) for i in range(4)]


def test_processors_make_cells_together(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[int, Any]:
        cells, full = proc.cells(2), proc.cells(3, np.float64, full=True, padded=True)
        assert [full.peek(i) for i in range(3)] == [(True, 0.0)] * 3
        cells.writeef(proc.rank, 5 + proc.rank)
        return cells.readfe(1 - proc.rank), cells

    (a, kept), (b, _) = pair.run(program).results
    assert (a, b) == (6, 5)
    kept.writeef(0, 4)  # the parent may go on using them
    assert pair.run(lambda proc, cells: cells.readff(0), kept).results == [4, 4]


def test_the_parent_and_the_processors_share_cells(pair: smp.Machine) -> None:
    cells = pair.cells(2)
    cells.writeef(0, 11)

    def program(proc: smp.Processor, given: smp.Cells) -> int:
        if proc.rank == 0:
            given.writeef(1, cells.readfe(0) + 1)
        return int(given.readff(1))

    assert pair.run(program, cells).results == [12, 12]
    assert (cells.peek(0), cells.readfe(1)) == ((False, 11), 12)


def test_cells_of_another_machine_are_refused(pair: smp.Machine) -> None:
    with smp.host(1) as other:
        cells = other.cells(1)
        with pytest.raises((MachineError, smp.SmpError), match="another machine"):
            pair.run(lambda proc, cells: cells.peek(0), cells)


def test_a_cell_is_not_purged_with_no_number(pair: smp.Machine) -> None:
    cells = pair.cells(1, np.float64)
    with pytest.raises(TypeError, match="a cell holds a number, not None"):
        cells.purge(0, None)
    assert cells.peek(0) == (False, 0.0)


@pytest.mark.parametrize("index", [3, -4, 1 << 60])
def test_an_index_out_of_bounds_is_refused(pair: smp.Machine, index: int) -> None:
    cells = pair.cells(3)
    for name in ("readfe", "readff", "readxx", "fill", "try_readfe", "try_readff", "peek", "purge"):
        with pytest.raises(IndexError, match=f"cell {index} is out of bounds: the number of cells is 3"):
            getattr(cells, name)(index)
    for name in ("writeef", "writeff", "writexf", "fetch_add", "try_writeef", "try_writeff", "try_fetch_add"):
        with pytest.raises(IndexError, match=f"cell {index} is out of bounds: the number of cells is 3"):
            getattr(cells, name)(index, 1)


def test_values_that_a_cell_cannot_hold_are_refused(pair: smp.Machine) -> None:
    cells, octets = pair.cells(1), pair.cells(1, np.uint8)
    with pytest.raises(TypeError, match="integer"):
        cells.peek(0.5)  # type: ignore[arg-type]
    for name in ("writeef", "writexf", "try_writeef"):
        with pytest.raises(TypeError, match="a cell holds a number, not None"):
            getattr(cells, name)(0, None)
    with pytest.raises(OverflowError, match="a cell of uint8 holds 0 to 255, not an integer of 102 bits"):
        octets.writeef(0, 1 << 101)
    assert (cells.peek(0), octets.peek(0)) == ((False, 0), (False, 0))


CUT: list[tuple[type, Any, type[Exception], str]] = [
    (np.int64, 1.5, TypeError, r"a cell of int64 cannot hold the float 1\.5: convert it first, with int or round"),
    (np.int64, 2.0, TypeError, "the float 2.0"),
    (np.int32, np.float32(7), TypeError, "the float32 7.0"),
    (np.int64, "7", TypeError, "a cell of int64 cannot hold a str: convert it to a number first"),
    (np.float64, "7", TypeError, "a cell of float64 cannot hold a str"),
    (np.float64, 1j, TypeError, "cannot hold a complex"),
    (np.int64, [1], TypeError, "cannot hold a list"),
    (np.bool_, 0.5, TypeError, "a cell of bool cannot hold the float 0.5: convert it first, with bool"),
    (np.bool_, "yes", TypeError, "a cell of bool cannot hold a str"),
    (np.bool_, 2, TypeError, "a cell of bool cannot hold the int 2"),
    (np.int64, 1 << 63, OverflowError, r"a cell of int64 holds -9223372036854775808 to 9223372036854775807, not 92233"),
    (np.uint8, -1, OverflowError, "a cell of uint8 holds 0 to 255, not -1"),
    (np.uint8, np.int64(256), OverflowError, "a cell of uint8 holds 0 to 255, not 256"),
    (np.uint8, 1 << 10_000, OverflowError, "not an integer of 10001 bits"),
]


@pytest.mark.parametrize(("dtype", "value", "error", "says"), CUT)
def test_a_value_that_a_cell_would_cut_is_refused(
    pair: smp.Machine, dtype: type, value: Any, error: type[Exception], says: str
) -> None:
    cells = pair.cells(1, dtype)
    for name in ("writeef", "writexf", "try_writeef", "purge"):
        with pytest.raises(error, match=says):
            getattr(cells, name)(0, value)
    cells.fill(0)
    for name in ("writeff", "fetch_add", "try_fetch_add"):
        with pytest.raises(error, match=says):
            getattr(cells, name)(0, value)
    assert cells.peek(0) == (True, 0)


@pytest.mark.parametrize(
    ("dtype", "value", "held"),
    [
        (np.int64, True, 1),
        (np.int64, np.bool_(True), 1),
        (np.uint8, np.int64(255), 255),
        (np.int64, np.array(5), 5),
        (np.bool_, 1, True),
        (np.bool_, np.int64(0), False),
        (np.float32, np.float64(0.5), 0.5),
        (np.float64, 1 << 70, 2.0**70),
        (np.float64, np.uint64(3), 3.0),
        (np.float64, np.array(0.25), 0.25),
    ],
)
def test_a_value_that_fits_is_held(pair: smp.Machine, dtype: type, value: Any, held: Any) -> None:
    cells = pair.cells(1, dtype)
    cells.writeef(0, value)
    assert cells.peek(0) == (True, held)


@smp.stream
def filling(cells: Any, value: Any) -> None:
    smp.compiled.writexf(cells, 0, value)


def test_a_compiled_loop_that_would_cut_a_value_is_refused(pair: smp.Machine) -> None:
    cells = pair.cells(1, np.int64)
    with pytest.raises(Exception, match="a cell of int64 cannot hold a float64: convert it first, with int or round"):
        filling(cells, 1.5)
    filling(cells, 2)
    assert cells.peek(0) == (True, 2)


def test_cells_and_arrays_are_not_copied_without_their_memory(pair: smp.Machine) -> None:
    for shared in (pair.cells(1), pair.zeros(1)):
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"the same memory: .*machine\.(cells|array)"):
                copied(shared)


def test_values_stay_as_they_are_during_long_waits(pair: smp.Machine) -> None:
    """A main thread returns to Python every 50 ms of a wait; neither its value nor the one that comes is lost then."""

    def program(proc: smp.Processor, cells: smp.Cells) -> list[int]:
        found = []
        for k in range(8):
            if k % 2 == proc.rank:
                time.sleep(0.12)  # the other one waits, to read or to write
            cells.writeef(proc.rank, k + 1)
            if k % 3 == 0:
                time.sleep(0.12)
            found.append(int(cells.readfe(1 - proc.rank)))
        return found

    assert pair.run(program, pair.cells(2, np.int64)).results == [list(range(1, 9))] * 2


def test_a_writer_keeps_its_value_during_a_long_wait(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: smp.Cells) -> Any:
        if proc.rank == 0:
            cells.writeef(0, 1)
            cells.writeef(0, 77)  # waits until the 1 was read
            return None
        time.sleep(0.2)
        return cells.readfe(0), cells.readfe(0)

    assert pair.run(program, pair.cells(1, np.int64)).results == [None, (1, 77)]


def test_the_parent_keeps_its_value_during_a_long_wait(pair: smp.Machine) -> None:
    cells = pair.cells(2, np.int64)
    cells.writeef(0, 1)
    seen: list[Any] = []

    def slow(proc: smp.Processor, cells: smp.Cells) -> Any:
        if proc.rank:
            return None
        time.sleep(0.3)
        return cells.readfe(0), cells.readfe(0)

    runner = threading.Thread(target=lambda: seen.extend(pair.run(slow, cells, helpers=True).results))
    runner.start()
    cells.writeef(0, 77)  # waits in the main thread until a processor has read the 1
    runner.join()
    assert seen == [(1, 77), None]


def test_a_processors_own_signal_handler_runs_while_it_waits_for_a_cell(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Any) -> int:
        import signal

        if proc.rank == 0:
            signal.signal(signal.SIGALRM, lambda number, frame: cells.writexf(1, 7))
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            return int(cells.readfe(0))
        value = cells.readff(1)  # which only that handler fills
        cells.writeef(0, value + 1)
        return int(value)

    assert pair.run(program, pair.cells(2), timeout=30, helpers=True).results == [8, 7]


def test_a_handler_leaves_the_value_of_the_wait_that_it_interrupts_alone(pair: smp.Machine) -> None:
    """The handler runs on the thread that waits, while other threads read and replace the value of the wait."""

    def program(proc: smp.Processor, cells: Any, way: str) -> Any:
        import signal
        import time

        def handle(number: int, frame: object) -> None:
            cells.writexf(0, 7)
            time.sleep(0.2)  # the other processor reads, and changes the cell that the wait is at
            assert [cells.readxx(0), cells.peek(0), cells.try_readff(0)] == [7, (True, 7), (True, 7)]

        if proc.rank == 0:
            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            return cells.readfe(1) if way == "readfe" else cells.writeef(2, 5)
        cells.readff(0)
        if way == "readfe":
            return cells.writeef(1, 8)
        time.sleep(0.3)
        return [cells.readfe(2), cells.readfe(2)]

    cells = pair.cells(3)
    assert pair.run(program, cells, "readfe", timeout=30, helpers=True).results == [8, None]
    cells.purge(0)
    cells.writeef(2, 4)
    assert pair.run(program, cells, "writeef", timeout=30, helpers=True).results == [None, [4, 5]]


def test_no_value_is_lost_while_handlers_interrupt_operations_all_the_time(machines: Machines) -> None:
    """Processors pass numbers round, also four on each CPU, and a timer interrupts each every half millisecond."""

    def program(proc: smp.Processor, cells: Any, rounds: int) -> tuple[bool, int]:
        import signal

        calls = []

        def handle(number: int, frame: object) -> None:
            before = cells.fetch_add(proc.size, 1)  # a handler may interrupt a handler, so nothing else is shared
            assert cells.readxx(proc.size) > before
            calls.append(number)

        right = True
        signal.signal(signal.SIGALRM, handle)
        signal.setitimer(signal.ITIMER_REAL, 5e-4, 5e-4)
        try:
            for k in range(rounds):
                if proc.rank == 0:
                    cells.writeef(0, 1_000_000 + k)
                right &= cells.readfe(proc.rank) == 1_000_000 + k
                cells.writeef((proc.rank + 1) % proc.size, 1_000_000 + k)
                if proc.rank == 0:
                    right &= cells.readfe(0) == 1_000_000 + k
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return right, len(calls)

    for processors, rounds in ((2, 3_000), (4 * CPUS, 300)):
        machine = machines(processors)
        cells = machine.cells(processors + 1)
        cells.writexf(processors, 0)
        results = machine.run(program, cells, rounds, timeout=60, helpers=True).results
        assert all(right for right, _ in results)
        assert cells.readxx(processors) == sum(count for _, count in results) > 0


def test_an_operation_gives_its_record_back_wherever_a_handler_raises_an_exception(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Any) -> tuple[int, bool]:
        import signal
        import time

        def handle(number: int, frame: object) -> None:
            raise TimeoutError

        raised, end = 0, time.monotonic() + 0.5
        signal.signal(signal.SIGALRM, handle)
        while time.monotonic() < end:
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4)
                while True:
                    cells.writexf(proc.rank, 1)
                    cells.peek(proc.rank)
                    cells.try_readfe(proc.rank)
            except TimeoutError:
                raised += 1
        own = proc._port.memory.threads.own()  # type: ignore[attr-defined]
        return raised, own.in_use or own.is_spare

    for raised, stuck in pair.run(program, pair.cells(2), timeout=30, helpers=True).results:
        assert raised > 100
        assert not stuck


def test_a_handler_may_not_use_cells_in_the_middle_of_an_operation_on_an_emulated_machine() -> None:
    def program(proc: smp.Processor, cells: Any) -> None:
        own = proc._port.memory.threads.own()  # type: ignore[attr-defined]
        own.in_use = True  # as while a handler runs
        try:
            cells.writexf(0, 1)
        finally:
            own.in_use = False
        cells.writexf(0, 1)

    with smp.emulated(2) as machine, pytest.raises(ProcessorRaised, match="a handler of a signal cannot use cells"):
        machine.run(program, machine.cells(1))


def test_a_handler_may_wait_while_it_interrupts_a_wait(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Any, way: str) -> Any:
        import signal

        def handle(number: int, frame: object) -> None:
            cells.writeef(0, 7)
            cells.writeef(2, cells.readfe(1) + loop(cells))

        answers: list[int] = []
        answered = proc.handler(lambda message, value: answers.append(value))
        if proc.rank == 0:
            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            if way == "cell":
                return cells.readfe(2)
            proc.wait_until(lambda: answers)
            return answers[0]
        cells.writeef(1, cells.readfe(0) + 1)
        cells.writeef(3, 100)
        if way == "message":
            proc.send(0, answered, cells.readfe(2))
        return None

    @smp.stream
    def loop(cells: Any) -> int:
        return readfe(cells, 3)

    cells = pair.cells(4)
    for way in ("cell", "message"):
        assert pair.run(program, cells, way, timeout=30, helpers=True).results == [108, None]


def test_a_deadlock_is_found_although_a_handler_has_waited_during_a_wait(pair: smp.Machine) -> None:
    def program(proc: smp.Processor, cells: Any) -> None:
        import signal

        if proc.rank == 0:
            signal.signal(signal.SIGALRM, lambda number, frame: cells.readfe(0))
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            cells.readfe(1)
        time.sleep(0.3)
        cells.writeef(0, 7)
        cells.readfe(2)

    with pytest.raises(smp.DeadlockError, match=r"readfe of cell 1(.|\n)*readfe of cell 2"):
        pair.run(program, pair.cells(3), timeout=30)


def test_impossible_cells_are_refused(pair: smp.Machine) -> None:
    with pytest.raises(ValueError, match="the number of cells must be 0 or more, not -1"):
        pair.cells(-1)
    with pytest.raises(TypeError, match="a cell cannot hold int16, only int8, int32"):
        pair.cells(1, np.int16)
    with pytest.raises(TypeError, match="a cell cannot hold complex128"):
        pair.cells(1, complex)
    with pytest.raises(ValueError, match="the number of retries must be 0 or more, not -1"):
        pair.cells(1, retries=-1)


def test_a_cell_takes_sixteen_bytes(pair: smp.Machine) -> None:
    cells, padded = pair.cells(1000), pair.cells(1000, padded=True)
    assert (cells._block.nbytes, padded._block.nbytes) == (16_000, 64_000)
