"""Machines with caches on a bus in virtual time: what accesses to lines take, and the states of lines.

The small machine has a clock of 1 GHz, so that a cycle is a nanosecond, and lines of 16 words of int32.  A line from
memory takes 100 ns, of which it crosses the bus for 20 ns; one from another cache takes 200 ns.  A word takes 4 ns to
be read and 2 ns to be written.
"""

import contextlib
import functools
import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp import compiled, machines
from smp._runtime.emulated.caches.layout import MODIFIED, SHARED
from smp._runtime.emulated.caches.memory import Caches, Copy
from smp.kernels.sorting.functions import sort

OPS = dict.fromkeys(("load", "store", "int", "mul", "div", "flop", "fdiv", "branch", "call"), 0)
SMALL = machines.load(
    {
        "name": "small",
        "processors": 2,
        "clock": {"hz": 1e9},
        "processor": {"ops": OPS, "copy_per_byte": 1},
        "network": {"kind": "bus", "hop": 0, "link_bandwidth": [3.2e9]},
        "memory": {
            "shared": "bus",
            "line": 64,
            "cache": 1 << 16,
            "ways": 4,
            "local_miss": 100,
            "write_per_byte": 0.5,
        },
    }
)
MISS, TRANSFER, LINE, READ, WRITTEN = 100, 20, 16, 64, 32  # ns, ns, words; ns for the words of a line


def caches_of(machine: smp.Machine) -> Caches:
    processors: Any = machine._processors
    found: Caches = processors.ports[0]._accesses.caches
    return found


def nanoseconds(proc: smp.Processor, do: Callable[[], Any]) -> float:
    """Return the virtual time that something takes."""
    began = proc.clock()
    do()
    return round(1e9 * (proc.clock() - began), 3)


def in_one_phase(machine: smp.Machine, copies: list[Any], words: int = 4096) -> list[float]:
    """Return the times of copies by processor 0, one after another, while the others are idle."""

    def program(proc: smp.Processor, array: Any) -> list[float]:
        with proc.superstep() as step:
            return [nanoseconds(proc, lambda k=k: step.copy_in(array, k)) for k in copies if proc.rank == 0]

    found: list[float] = machine.run(program, machine.zeros(words, np.int32)).results[0]
    return found


def test_a_line_is_fetched_once_and_then_only_its_words_take_time() -> None:
    with smp.emulated(machine=SMALL) as machine:
        first, again, part, word, strided = in_one_phase(
            machine, [slice(0, 48), slice(0, 48), slice(40, 56), 64, slice(128, 256, 16)]
        )
    assert first == 3 * (MISS + READ)
    assert again == 3 * READ
    assert part == MISS + READ  # 8 words are there, 8 are on the next line
    assert word == MISS + READ / 16
    assert strided == 8 * (MISS + READ / 16)


def test_an_index_array_pays_for_each_line_that_it_comes_to() -> None:
    apart, together = np.array([0, 16, 32, 48]), np.array([64, 79, 65, 80, 66])
    with smp.emulated(machine=SMALL) as machine:
        times = in_one_phase(machine, [apart, together, together[::-1].copy(), np.zeros(0, np.int64)])
    assert times == [4 * MISS + 4 * 4, 2 * MISS + 5 * 4, 5 * 4, 0]


def test_a_full_set_loses_the_line_that_was_used_least_recently() -> None:
    pair = SMALL.replace("memory.ways", 2).replace("memory.cache", 128)  # one set of two lines
    with smp.emulated(machine=pair) as machine:
        times = in_one_phase(machine, [0, 16, 0, 32, 0, 16])
    assert [time - 4 for time in times] == [MISS, MISS, 0, MISS, 0, MISS]


def test_a_line_that_lies_across_an_element_is_fetched_for_it() -> None:
    wide = np.dtype([("a", "i8", (15,))])  # 120 bytes

    def program(proc: smp.Processor, array: Any) -> list[float]:
        with proc.superstep() as step:
            indices = (0, 1, np.array([3, 2]))
            return [nanoseconds(proc, lambda k=k: step.copy_in(array, k)) for k in indices if proc.rank == 0]

    with smp.emulated(machine=SMALL) as machine:
        times = machine.run(program, machine.zeros(8, wide)).results[0]
    assert times == [2 * MISS + 120, 2 * MISS + 120, 4 * MISS + 240]  # bytes 0:120, 120:240, 360:480 and 240:360


def after(first: str, then: str) -> tuple[float, list[int]]:
    """Return the time of an access by processor 1 after one by processor 0, and the states of the line after it."""

    def program(proc: smp.Processor, array: Any) -> float:
        times = []
        for rank, what in ((0, first), (1, then)):
            with proc.superstep("read") as step:
                if proc.rank == rank and "r" in what:
                    times.append(nanoseconds(proc, lambda step=step: step.copy_in(array, slice(0, 16))))
            if proc.rank == rank and "w" in what:  # a copy-out, without the barriers around it
                port: Any = proc._port  # type: ignore[attr-defined]
                proc.work(cycles=10_000)  # until the other waits, and the bus is free
                times.append(nanoseconds(proc, lambda port=port: port.put(array, slice(0, 16), 1)))
            proc.barrier()
        return sum(times)

    with smp.emulated(machine=SMALL) as machine:
        array = machine.zeros(16, np.int32)
        time = machine.run(program, array).results[1]
        return time, caches_of(machine).states(array._elements.block.offset // 64)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("first", "then", "time", "states"),
    [
        ("r", "r", MISS + READ, [SHARED, SHARED]),
        ("w", "r", 2 * MISS + READ, [SHARED, SHARED]),
        ("r", "w", MISS + WRITTEN, [0, MODIFIED]),
        ("w", "w", 2 * MISS + WRITTEN, [0, MODIFIED]),
        ("r", "rw", MISS + READ + MISS - TRANSFER + WRITTEN, [0, MODIFIED]),
        ("w", "rw", 2 * MISS + READ + MISS - TRANSFER + WRITTEN, [0, MODIFIED]),
    ],
)
def test_an_access_depends_on_the_state_of_the_line(first: str, then: str, time: float, states: list[int]) -> None:
    assert after(first, then) == (time, states)


def test_transfers_queue_on_the_bus() -> None:
    def program(proc: smp.Processor, array: Any) -> float:
        with proc.superstep() as step:
            return nanoseconds(proc, lambda: step.copy_in(array, slice(16 * proc.rank, 16 * proc.rank + 1)))

    with smp.emulated(4, machine=SMALL) as machine:
        times = machine.run(program, machine.zeros(64, np.int32)).results
    assert times == [MISS + k * TRANSFER + 4 for k in range(4)]


def words_of(p: int, words: int = 2048) -> float:
    """Return the ns in which p processors read words of lines of their own."""

    def program(proc: smp.Processor, array: Any) -> float:
        with proc.superstep() as step:
            return nanoseconds(proc, lambda: step.copy_in(array, slice(words * proc.rank, words * (proc.rank + 1))))

    with smp.emulated(p, machine=SMALL) as machine:
        return max(machine.run(program, machine.zeros(p * words, np.int32)).results)


def test_processors_are_independent_until_the_bus_is_full() -> None:
    times = {p: words_of(p) for p in (1, 2, 4, 8, 16, 32)}
    lines = 2048 // LINE
    assert times[1] == lines * (MISS + READ)
    for p, time in times.items():
        assert time >= max(times[1], p * lines * TRANSFER)
        assert time <= max(times[1], p * lines * TRANSFER) + p * TRANSFER + MISS + READ
    assert list(times.values()) == sorted(times.values())
    assert times[2] < 1.02 * times[1]
    assert times[32] > 3.8 * times[1]  # 8.2 processors fill the bus


# The same machine, written a second time.

Plan = list[tuple[int, list[tuple[bool, list[int]]]]]
"""For each processor: when it begins, in ps, and its copies: whether it writes, and the words."""
PS = {"miss": 100_003, "transfer": 20_011, "read": 4 * 1_009, "written": 4 * 503}
ODD = machines.load(
    {
        "name": "odd",
        "processors": 2,
        "clock": {"hz": 1e12},
        "processor": {"ops": OPS, "copy_per_byte": 1_009},
        "network": {"kind": "bus", "hop": 0, "link_cycles_per_packet": PS["transfer"]},
        "memory": {
            "shared": "bus",
            "line": 64,
            "cache": 512,
            "ways": 2,
            "local_miss": PS["miss"],
            "write_per_byte": 503,
        },
    }
)
SETS, WAYS = 4, 2


def by_hand(plan: Plan) -> list[list[int]]:
    """Return when each copy ends."""
    sets: list[list[OrderedDict[int, bool]]] = [[OrderedDict() for _ in range(SETS)] for _ in plan]
    ends: list[list[int]] = [[] for _ in plan]
    free = 0
    waiting = [(start, rank, iter(grouped(copies))) for rank, (start, copies) in enumerate(plan)]
    heapq.heapify(waiting)
    while waiting:
        now, rank, accesses = heapq.heappop(waiting)
        assume(not waiting or waiting[0][0] > now)  # of accesses at the same time, either may be the first
        found = next(accesses, None)
        if found is None:
            continue
        line, writes, words, last = found
        mine, k = sets[rank][line % SETS], line % SETS
        holders = [one[k] for other, one in enumerate(sets) if other != rank and line in one[k]]
        dirty = any(one[line] for one in holders)
        if line in mine and (mine[line] or not writes):
            mine.move_to_end(line)
        elif line in mine:
            now += PS["miss"] - PS["transfer"]
            mine[line] = True
            mine.move_to_end(line)
        else:
            crossings = 2 if dirty else 1
            now, free = max(now, free) + crossings * PS["miss"], max(now, free) + crossings * PS["transfer"]
            if len(mine) == WAYS and mine.popitem(last=False)[1]:
                free += PS["transfer"]
            mine[line] = writes
        for one in holders:
            if writes:
                del one[line]
            else:
                one[line] = False
        now += words * PS["written" if writes else "read"]
        if last:
            ends[rank].append(now)
        heapq.heappush(waiting, (now, rank, accesses))
    return ends


def grouped(copies: list[tuple[bool, list[int]]]) -> list[tuple[int, bool, int, bool]]:
    """Return the accesses of some copies: line, whether it is written, words, whether it is the copy's last."""
    found: list[tuple[int, bool, int, bool]] = []
    for writes, words in copies:
        lines: list[list[int]] = []
        for word in words:
            if lines and lines[-1][0] == word // LINE:
                lines[-1][1] += 1
            else:
                lines.append([word // LINE, 1])
        found += [(line, writes, count, k == len(lines) - 1) for k, (line, count) in enumerate(lines)]
    return found


def copied(proc: smp.Processor, plan: Plan, base: int) -> list[int]:
    start, copies = plan[proc.rank]
    port: Any = proc._port  # type: ignore[attr-defined]
    proc.work(cycles=start)
    ends = []
    for writes, words in copies:
        port._accesses.copy(proc.rank, Copy(writes, base, 4, np.array(words, np.intp)))
        ends.append(round(1e12 * proc.clock()))
    proc.work(cycles=1_000_000_000)  # so that the end of the program disturbs no other's copies
    return ends


COPIES = st.lists(
    st.tuples(st.booleans(), st.lists(st.integers(0, 16 * LINE - 1), min_size=1, max_size=20)), max_size=5
)
PLANS = st.lists(st.tuples(st.integers(1_000_000, 3_000_000), COPIES), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def odd() -> Iterator[Callable[[int], tuple[smp.Machine, int]]]:
    """``odd(p)`` is a machine of p processors and the offset of 16 lines; the tests of this module share it."""
    with contextlib.ExitStack() as stack:
        arrays = []

        @functools.cache
        def opened(p: int) -> tuple[smp.Machine, int]:
            machine = stack.enter_context(smp.emulated(p, machine=ODD))
            arrays.append(machine.zeros(16 * LINE, np.int32))
            elements: Any = arrays[-1]._elements
            return machine, elements.block.offset

        yield opened


@settings(max_examples=examples(300), deadline=None)
@given(PLANS)
def test_copies_take_the_times_of_a_machine_written_a_second_time(
    odd: Callable[[int], tuple[smp.Machine, int]], plan: Plan
) -> None:
    machine, base = odd(len(plan))
    assert machine.run(copied, plan, base).results == by_hand(plan)
    for line in range(base // 64, base // 64 + 16):
        states = caches_of(machine).states(line)
        assert states.count(MODIFIED) <= 1
        assert MODIFIED not in states or SHARED not in states


# Steps on shared words.


@smp.stream
def adding(words: Any, times: int, waits: Any, rank: int) -> None:
    """Add in turn with the other processor, and note the time of each addition."""
    for k in range(times):
        while compiled.load(words, 0) % 2 != rank:
            compiled.pause()
        began = compiled.clock()
        compiled.fetch_add(words, 0, 1)
        waits[k] = compiled.clock() - began


def alternating(proc: smp.Processor, words: Any) -> list[int]:
    waits = np.zeros(4, np.int64)
    adding(words.view, len(waits), waits, proc.rank)
    proc.barrier()
    return waits.tolist()


def adding_alone(proc: smp.Processor, words: Any) -> list[int]:
    waits = np.zeros(4, np.int64)
    for k in range(4):
        began = compiled.clock()
        compiled.fetch_add(words.view, 16 * proc.rank, 1)
        waits[k] = compiled.clock() - began
    return waits.tolist()


def test_a_word_of_one_processor_costs_a_miss_once() -> None:
    with smp.emulated(2, machine=SMALL) as machine:
        words = machine.zeros(32, np.int64)
        times = machine.run(adding_alone, words).results
    assert [each[1:] for each in times] == [[0, 0, 0]] * 2
    assert sorted(each[0] for each in times) == [MISS, MISS + TRANSFER]


def test_an_atomic_operation_has_to_take_the_line_from_the_processor_that_looks_at_it() -> None:
    with smp.emulated(2, machine=SMALL) as machine:
        times = machine.run(alternating, machine.zeros(1, np.int64)).results
    assert {time for each in times for time in each} <= {MISS - TRANSFER, MISS, 2 * MISS}
    assert times[0][1:] == times[1][:-1] == [MISS - TRANSFER] * 3  # the look has fetched the line, which is shared


def test_loops_make_the_same_steps_in_the_same_time_when_their_source_is_interpreted() -> None:
    def steps(interpreted: bool) -> tuple[Any, ...]:
        with smp.emulated(2, machine=SMALL, trace=interpreted) as machine:
            emulator: Any = machine._processors.emulator  # type: ignore[attr-defined]
            record = emulator.record(4_000)
            found = machine.run(alternating, machine.zeros(1, np.int64)).results
            return found, emulator.steps, record.tobytes(), caches_of(machine).counts()

    assert steps(interpreted=True) == steps(interpreted=False)


# Programs.


def moved(proc: smp.Processor, keys: Any) -> float:
    mine, other = proc.block(len(keys)), proc.block(len(keys))
    for _ in range(2):
        with proc.superstep() as step:
            local = step.copy_in(keys, mine)
            step.compute()
            step.copy_out(keys, slice(len(keys) - other.stop, len(keys) - other.start), local[::-1])
        proc.scan(1)
    return proc.clock()


@pytest.mark.parametrize("name", ["powerchallenge", "balance"])
def test_supersteps_collectives_and_messages_have_the_results_of_any_machine(name: str) -> None:
    def program(proc: smp.Processor, keys: Any) -> tuple[int, list[int]]:
        came: list[int] = []
        note = proc.handler(lambda message, number: came.append(number))
        proc.send((proc.rank + 1) % proc.size, note, proc.rank)
        proc.wait_until(lambda: bool(came))
        moved(proc, keys)
        return proc.reduce(proc.rank), came

    with smp.emulated(4, machine=name) as machine:
        keys = machine.array(np.arange(1000))
        results = machine.run(program, keys).results
        assert keys[:].tolist() == list(range(1000))  # reversed twice
        assert results == [(6, [(rank - 1) % 4]) for rank in range(4)]


def test_a_run_repeats_to_the_picosecond_and_the_name_is_that_of_the_file() -> None:
    def once() -> tuple[Any, ...]:
        with smp.emulated(8, machine="powerchallenge") as machine:
            runs = [machine.run(moved, machine.array(np.arange(5000))) for _ in range(2)]
            assert runs[0].machine == "powerchallenge"
            return tuple(tuple(run.results) for run in runs)

    first = once()
    assert first == once()
    assert first[0] == first[1]


@pytest.mark.parametrize("algorithm", ["radix", "sample", "column"])
def test_sorting_programs_sort(algorithm: str) -> None:
    keys = np.random.default_rng(3).integers(0, 1 << 30, 4_000, dtype=np.int32)
    with smp.emulated(4, machine="powerchallenge") as machine:
        assert np.array_equal(sort(keys, machine=machine, algorithm=algorithm), np.sort(keys))


@compiled.local
def every_other(words: Any) -> int:
    for k in range(0, len(words), 2):
        words[k] = 1
    return len(words) // 2


@compiled.local
def summed(words: Any, count: int) -> tuple[int, int]:
    total = 0
    for k in range(count):
        total += words[k]
    return count, total - total + count // 2


def test_loops_on_global_arrays_pay_for_the_lines_that_they_write_and_for_as_many_as_they_have_read() -> None:
    def program(proc: smp.Processor, array: Any) -> tuple[float, float]:
        with proc.superstep() as step:
            reading = nanoseconds(proc, lambda: step.copy_in_by(summed, array, 64)) if proc.rank == 0 else 0
        writing = 0.0
        if proc.rank == 0:
            port: Any = proc._port  # type: ignore[attr-defined]
            writing = nanoseconds(proc, lambda: port.call(every_other, (array,), ()))
        return reading, writing

    with smp.emulated(2, machine=SMALL) as machine:
        reading, writing = machine.run(program, machine.zeros(256 * LINE, np.int32)).results[0]
    assert reading == (32 + 2) * MISS  # a chain of 32 words, on lines of their own; the others lie on two further lines
    assert writing == pytest.approx(256 * MISS, rel=0.15)  # those that were read are upgraded


def test_the_machine_needs_the_order_of_virtual_time() -> None:
    with pytest.raises(ValueError, match='needs schedule="clock"'):
        smp.emulated(machine="powerchallenge", schedule="seeded")


def test_a_failure_during_the_copies_of_others_ends_the_run() -> None:
    def program(proc: smp.Processor, array: Any) -> None:
        with proc.superstep() as step:
            if proc.rank == 1:
                proc.work(cycles=5_000)
                raise KeyError("in the middle")
            step.copy_in(array)

    with smp.emulated(4, machine=SMALL) as machine:
        array = machine.zeros(1 << 14, np.int32)
        with pytest.raises(smp.errors.ProgramError, match="in the middle"):
            machine.run(program, array)
        with smp.emulated(4, machine=SMALL) as other:
            assert other.size == 4


# Memory with a directory.

ALEWIFE = machines.load("alewife")


def on_lines(proc: smp.Processor, words: Any, acts: list[tuple[int, int, bool]]) -> list[float]:
    """Carry out acts one after another, each by one processor on one line; return their cycles."""
    times = []
    for rank, line, write in acts:
        if proc.rank == rank:
            began = proc.clock()
            if write:
                compiled.store(words.view, 2 * line, 1)
            else:
                compiled.load(words.view, 2 * line)
            times.append((proc.clock() - began) * ALEWIFE.clock.hz - ALEWIFE.processor.ops.load)
        proc.barrier()
    return times


def cycles_of(acts: list[tuple[int, int, bool]], p: int = 8) -> list[float]:
    """Return the cycles of acts on lines, which are numbered so that the home of line 0 is processor 0."""
    with smp.emulated(p, machine=ALEWIFE) as machine:
        words = machine.zeros(8 * p, np.int64)
        assert words._elements.block.offset // 16 % p == 0  # type: ignore[attr-defined]
        results = machine.run(on_lines, words, acts).results
    return [round(results[rank].pop(0), 2) for rank, _, _ in acts]


def test_a_directory_asks_for_the_home_of_a_line_and_for_the_cache_that_has_it() -> None:
    memory = ALEWIFE.memory
    assert cycles_of([(0, 0, False), (1, 0, False), (1, 0, False)]) == [memory.local_miss, memory.remote_clean, 0]
    assert cycles_of([(2, 1, True), (3, 1, False)]) == [memory.remote_clean, memory.remote_dirty3]
    assert cycles_of([(1, 1, True), (3, 1, False)]) == [memory.local_miss, memory.remote_dirty2]
    assert cycles_of([(3, 1, True), (1, 1, False)]) == [memory.remote_clean, memory.remote_dirty2]


def test_more_copies_than_pointers_are_a_matter_for_software() -> None:
    memory = ALEWIFE.memory
    reads = cycles_of([(rank, 0, False) for rank in range(8)])
    pointers = memory.directory_pointers
    assert reads == [memory.local_miss] + [memory.remote_clean] * pointers + [memory.software_trap] * (7 - pointers)
    assert cycles_of([(1, 0, False), (1, 0, True)])[1] == memory.remote_clean  # nobody else has it
    assert cycles_of([*((rank, 0, False) for rank in range(7)), (7, 0, True)])[7] == memory.software_trap


def test_cells_and_loops_on_arrays_go_through_the_directory() -> None:
    def program(proc: smp.Processor, array: Any, cells: Any) -> tuple[int, float, float]:
        proc.barrier()
        began = proc.clock()
        taken = cells.readfe(0) + 1
        cells.writeef(0, taken)
        middle = proc.clock()
        proc.barrier()
        with proc.superstep() as step:
            last = proc.clock()
            step.copy_in_by(summed, array, 64)
            reading = proc.clock() - last
        return taken, middle - began, reading

    with smp.emulated(4, machine=ALEWIFE) as machine:
        cells = machine.cells(1, full=True)
        results = machine.run(program, machine.zeros(1024, np.int32), cells).results
        assert sorted(taken for taken, _, _ in results) == [1, 2, 3, 4]
    assert min(time for _, time, _ in results) > ALEWIFE.memory.local_miss / ALEWIFE.clock.hz
    lines = 64 // 4 // 2 + 32  # half of the reads are a chain, on lines of their own
    for _, _, reading in results:
        assert reading * ALEWIFE.clock.hz > 0.7 * lines * ALEWIFE.memory.local_miss
