"""Multithreaded processors keep time by closed forms, compute what their programs say, and lose no operation."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import each, examples

import smp
from smp._runtime.emulated.multithreaded.emulation import Emulation, Totals
from smp._runtime.emulated.multithreaded.program import (
    Label,
    Part,
    Program,
    add,
    add_too,
    clock,
    count_down,
    create,
    fetch_add,
    if_less,
    jump,
    load,
    multiply,
    purge,
    quit_stream,
    readfe,
    readff,
    spawn,
    store,
    subtract,
    writeef,
    writexf,
)
from smp.errors import DeadlockError, Unsupported

MTA = smp.machines.load("mta")
QUIET = MTA.replace("streams.background", 0)
SPACING, LATENCY, HOT = 21, 170, 115


def with_words(*words: tuple[Part, ...]) -> tuple[Program, Label]:
    program = Program()
    start = program.label()
    for parts in words:
        program.word(*parts)
    program.word(quit_stream())
    return program, start


def run(program: Program, start: Label, words: int = 64, machine: smp.machines.MachineFile = QUIET) -> Emulation:
    emulation = Emulation(machine, program, words, processors=1)
    emulation.start(start)
    assert emulation.run()
    return emulation


# Time.


@pytest.mark.parametrize("lookahead", each(2, [1, 0, *range(2, 8)]))
def test_loads_overlap_as_far_as_the_lookahead_allows(lookahead: int) -> None:
    """Load k + lookahead + 1 is issued when load k has ended, and no two words are closer than the pipeline."""
    count = 40
    program, start = with_words(*[(load(1, 0, offset=1000 * k, lookahead=lookahead),) for k in range(count)])
    quiet = QUIET.replace("memory.banks", 10_000)  # so that no two loads meet in a bank
    emulation = run(program, start, 1000 * count, quiet)
    issued = [1]
    for k in range(1, count):
        freed = issued[k - lookahead - 1] + LATENCY if k > lookahead else 0
        issued.append(max(issued[-1] + SPACING, freed))
    assert emulation.cycle == issued[-1] + LATENCY  # the last word waits for all loads


def test_the_window_of_outstanding_operations_is_that_of_the_machine() -> None:
    program, start = with_words(*[(store(0, 0, offset=1000 * k, lookahead=7),) for k in range(24)])
    taken = [
        run(program, start, 24_000, QUIET.replace("streams.outstanding", limit).replace("memory.banks", 10_000)).cycle
        for limit in (1, 2, 4)
    ]
    assert taken[0] == 1 + 24 * LATENCY
    assert taken[1] == pytest.approx(12 * LATENCY, rel=0.1)
    assert taken[2] == pytest.approx(6 * LATENCY, rel=0.15)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 30))
@settings(max_examples=examples(60), deadline=None)
def test_a_stream_among_background_streams_waits_as_in_a_plain_queue(loads: list[bool], background: int) -> None:
    """The reference serves the stream that is ready longest, cycle by cycle; the emulation skips idle stretches."""
    words = [(load(1, 0, offset=1 + k),) if cold else (add(2, 2),) for k, cold in enumerate(loads)]
    program, start = with_words(*words)
    machine = MTA.replace("streams.background", background).replace("memory.banks", 10_000)
    emulation = run(program, start, 100, machine)
    ready, queue, now, issues = 1, deque(range(background)), 0, 0
    for cold in [*loads, False]:
        while True:
            if ready <= now and (not queue or ready <= queue[0]):
                break
            if queue and queue[0] <= now:
                queue.popleft()
                queue.append(now + SPACING)
                issues += 1
            now += 1
        ended = now
        ready = now + (LATENCY if cold else SPACING)
        now += 1
    assert emulation.cycle == ended
    assert emulation.totals.background == issues


def test_a_word_of_a_hot_spot_comes_without_its_bank() -> None:
    program, start = with_words((load(1, 0),), (load(1, 0),), (store(1, 0),), (load(1, 0),))
    assert run(program, start).cycle == 1 + LATENCY + HOT + LATENCY + HOT


def test_additions_to_one_word_follow_one_another_in_its_bank() -> None:
    program, start = with_words((fetch_add(1, 0),))
    emulation = Emulation(QUIET, program, 1, processors=1)
    for _ in range(20):
        emulation.start(start, {1: 1})
    emulation.run()
    assert emulation.values[0] == 20
    assert emulation.cycle == 1 + 19 * 2 * 57 + LATENCY  # each is a read and a write of 57 cycles


@pytest.mark.parametrize("processors", [2, 4])
def test_a_module_takes_one_word_a_cycle(processors: int) -> None:
    """All processors load words of one module, so together they are as fast as its link."""
    machine = QUIET.replace("memory.hash", False).replace("memory.banks", 4096)
    program, start = with_words(*[(load(1, 2, offset=4 * k, lookahead=7),) for k in range(100)])
    emulation = Emulation(machine, program, processors * 64 * 400, processors=processors)
    for k in range(processors * 64):
        emulation.start(start, {2: 400 * k}, processor=k % processors)
    emulation.run()
    assert emulation.totals.operations == processors * 6_400
    assert processors * 6_400 <= emulation.cycle <= 1.1 * processors * 6_400


def test_a_run_in_pieces_is_the_same_run() -> None:
    def started() -> Emulation:
        program, start = with_words((fetch_add(1, 0, lookahead=2),), (load(2, 1),), (writexf(2, 0, offset=1),))
        emulation = Emulation(MTA, program, 40, processors=3)
        for k in range(60):
            emulation.start(start, {1: k % 5}, processor=k % 3, cycle=1 + k)
        return emulation

    whole, pieces = started(), started()
    whole.run()
    until = 0
    while not pieces.run(until):
        until += 37
    assert (whole.cycle, whole.totals) == (pieces.cycle, pieces.totals)
    assert (whole.values == pieces.values).all()


# Meaning.

VALUES = st.integers(-5, 5)
ACTS = st.lists(
    st.tuples(st.sampled_from(["add", "subtract", "multiply", "load", "store", "fetch_add", "too"]),
                          st.integers(1, 6), st.integers(0, 6), st.integers(0, 6), VALUES), max_size=40)  # fmt: skip


@given(ACTS)
@settings(max_examples=examples(60), deadline=None)
def test_a_program_computes_what_its_words_say(acts: list[tuple[str, int, int, int, int]]) -> None:
    """Programs without lookahead, against Python."""
    program, start = Program(), Label()
    program.place(start)
    registers, memory = [0] * 8, [7 * k for k in range(8)]
    for what, into, left, right, plus in acts:
        place = abs(plus)
        if what == "load":
            program.word(load(into, 0, offset=place))
            registers[into] = memory[place]
        elif what == "store":
            program.word(store(left, 0, offset=place))
            memory[place] = registers[left]
        elif what == "fetch_add":
            program.word(fetch_add(into, 0, offset=place))
            registers[into], memory[place] = memory[place], memory[place] + registers[into]
        else:
            made = {"add": add, "subtract": subtract, "multiply": multiply, "too": add_too}[what]
            program.word(made(into, left, right, plus))
            a, b = registers[left], registers[right]
            registers[into] = {"subtract": a - b, "multiply": a * b}.get(what, a + b) + plus
        registers[into] = max(min(registers[into], 10**9), -(10**9))
        if abs(registers[into]) == 10**9:
            return  # numbers of 64 bits are not the subject
    for k in range(1, 7):
        program.word(store(k, 0, offset=8 + k))
    program.word(quit_stream())
    emulation = Emulation(MTA, program, 16, processors=1)
    emulation.values[:8] = [7 * k for k in range(8)]
    emulation.start(start)
    emulation.run()
    assert emulation.values[:8].tolist() == memory
    assert emulation.values[9:15].tolist() == registers[1:7]


def test_parts_of_a_word_read_registers_before_any_part_writes_them() -> None:
    program, start = with_words(
        (add(1, 0, 0, 5),),
        (store(1, 0, lookahead=1), add(1, 1, 0, 1), add_too(2, 1)),
        (store(1, 0, offset=1), add(3, 2)),
        (store(3, 0, offset=2),),
    )
    assert run(program, start).values[:3].tolist() == [5, 6, 5]


def test_a_register_keeps_its_value_until_the_load_has_ended() -> None:
    program, start = with_words(
        (store(0, 0, offset=1), add(1, 0, 0, 3)), (load(1, 0, lookahead=1),), (store(1, 0, offset=1),)
    )
    emulation = Emulation(QUIET, program, 2, processors=1)
    emulation.values[0] = 9
    emulation.start(start)
    emulation.run()
    assert emulation.values[1] == 3


@given(st.integers(1, 4), st.integers(1, 30), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_additions_lose_nothing_and_give_each_number_once(processors: int, streams: int, times: int) -> None:
    program, start = Program(), Label()
    one, found, left, at = program.registers(4)
    program.place(start)
    program.word(add(found, one))
    program.word(fetch_add(found, 0))
    program.word(store(one, found, offset=1), count_down(left, start))
    program.word(quit_stream())
    total = processors * streams * times
    emulation = Emulation(MTA, program, 1 + total, processors=processors)
    for k in range(processors * streams):
        emulation.start(start, {one: 1, left: times, at: k}, processor=k % processors)
    emulation.run()
    assert emulation.values[0] == total
    assert (emulation.values[1:] == 1).all()
    assert emulation.totals.sent == emulation.totals.operations == 2 * total


@given(st.integers(1, 6), st.integers(1, 8), st.integers(1, 3), st.sampled_from([1, 3, 1024]), st.integers(0, 20))
@settings(max_examples=examples(40), deadline=None)
def test_values_pass_through_words_once_and_in_order(
    stages: int, values: int, processors: int, limit: int, background: int
) -> None:
    """Stage k empties word k, adds 1, and fills word k + 1, whether threads poll or trap."""
    program, source, stage, sink = Program(), Label(), Label(), Label()
    value, left, at, place = program.registers(4)
    program.place(source)
    program.word(add(value, value, 0, 10))
    program.word(writeef(value, 0), count_down(left, source))
    program.word(quit_stream())
    program.place(stage)
    program.word(readfe(value, at))
    program.word(add(value, value, 0, 1))
    program.word(writeef(value, at, offset=1), count_down(left, stage))
    program.word(quit_stream())
    program.place(sink)
    program.word(readfe(value, at))
    program.word(store(value, place), add_too(place, place, 0, 1))
    program.word(count_down(left, sink))
    program.word(quit_stream())
    machine = MTA.replace("streams.retries", limit).replace("streams.background", background)
    emulation = Emulation(machine, program, stages + 1 + values, processors=processors)
    emulation.make_empty(range(stages + 1))
    emulation.start(sink, {left: values, at: stages, place: stages + 1})
    for k in range(stages):
        emulation.start(stage, {left: values, at: k}, processor=k % processors)
    emulation.start(source, {left: values}, cycle=2_000)
    assert emulation.run()
    assert emulation.values[stages + 1 :].tolist() == [10 * (k + 1) + stages for k in range(values)]
    assert not any(emulation.is_full(k) for k in range(stages + 1))
    if limit == 1:
        assert emulation.totals.traps > 0
        assert emulation.totals.retries == 0


def test_a_fill_lets_all_trapped_threads_go_on_that_leave_the_word_full_and_then_one_that_empties_it() -> None:
    program, fill, look, take = Program(), Label(), Label(), Label()
    value, count = program.registers(2)
    program.place(fill)
    program.word(writeef(value, 0))
    program.word(quit_stream())
    program.place(look)
    program.word(readff(value, 0))
    program.word(fetch_add(count, 0, offset=1))
    program.word(quit_stream())
    program.place(take)
    program.word(readfe(value, 0))
    program.word(fetch_add(value, 0, offset=2))
    program.word(quit_stream())
    emulation = Emulation(MTA.replace("streams.retries", 1), program, 3, processors=1)
    emulation.make_empty(0)
    for _ in range(20):
        emulation.start(look, {count: 1})
    emulation.run(60_000)
    emulation.start(take, cycle=60_001)
    emulation.start(fill, {value: 6}, cycle=110_000)
    emulation.run()
    assert emulation.values[1:].tolist() == [20, 6]
    assert not emulation.is_full(0)
    assert emulation.totals.traps == 21


def test_a_load_of_a_trapped_word_is_forwarded() -> None:
    program, wait, look = Program(), Label(), Label()
    (value,) = program.registers(1)
    program.place(wait)
    program.word(readfe(value, 0))
    program.word(quit_stream())
    program.place(look)
    program.word(load(value, 0))
    program.word(store(value, 0, offset=1))
    program.word(writexf(value, 0))
    program.word(quit_stream())
    emulation = Emulation(QUIET.replace("streams.retries", 1), program, 2, processors=1)
    emulation.make_empty(0)
    emulation.values[0] = 4
    emulation.start(wait)
    emulation.start(look, cycle=60_000)
    emulation.run()
    assert emulation.values[1] == 4
    assert emulation.totals.handled == 1


def test_a_purge_empties_a_word_and_a_write_fills_it() -> None:
    program, start = with_words((purge(0, offset=1),), (writexf(0, 0),), (writeef(0, 0, offset=1),))
    emulation = Emulation(QUIET, program, 2, processors=1)
    emulation.values[:] = 8
    emulation.make_empty(0)
    emulation.start(start)
    emulation.run()
    assert emulation.is_full(0)
    assert emulation.is_full(1)
    assert emulation.values.tolist() == [0, 0]


# Threads and streams.


@given(st.integers(1, 12), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_threads_share_few_streams_and_all_end(threads: int, streams: int) -> None:
    """Each thread waits for the one that is created after it, so that most of them have to leave their streams."""
    program, main, thread = Program(), Label(), Label()
    one, number, value = program.registers(3)
    program.place(main)
    program.word(create(thread))
    program.word(count_down(number, main))
    program.word(writexf(one, 0, offset=1))
    program.word(quit_stream())
    program.place(thread)
    program.word(readff(value, number))
    program.word(writexf(one, number, offset=1))
    program.word(fetch_add(one, 0))
    program.word(quit_stream())
    emulation = Emulation(MTA.replace("streams.retries", 20), program, threads + 3, processors=1)
    emulation.make_empty(range(1, threads + 3))
    emulation.limit_streams(streams)
    emulation.start(main, {one: 1, number: threads})
    assert emulation.run()
    assert emulation.values[0] == threads
    if threads > streams:
        assert emulation.totals.remaps > 0


def test_a_deadlock_names_the_words_at_which_threads_wait() -> None:
    program, start = with_words((readfe(1, 0, offset=5),))
    emulation = Emulation(MTA, program, 8, processors=1)
    emulation.make_empty(5)
    emulation.start(start)
    with pytest.raises(DeadlockError, match=r"all 1 threads wait.*\[5\]"):
        emulation.run()


def test_retries_use_the_network_and_no_issue_slots_unless_the_machine_says_so() -> None:
    def found(issue: bool) -> Totals:
        program, start = with_words((readfe(1, 0),))
        emulation = Emulation(QUIET.replace("streams.retries_issue", issue), program, 1, processors=1)
        emulation.make_empty(0)
        for _ in range(100):
            emulation.start(start)
        emulation.run(1_000)
        return emulation.totals

    by_memory, by_processor = found(False), found(True)
    assert by_memory.words == by_processor.words == 100
    assert by_memory.retries > 400
    assert by_memory.sent == by_memory.retries + 100
    assert by_processor.retries == pytest.approx(by_memory.retries, rel=0.1)


# Refusals.


def test_programs_refuse_parts_that_do_not_fit() -> None:
    program = Program()
    with pytest.raises(ValueError, match="of one kind"):
        program.word(add(1, 2), subtract(2, 1))
    with pytest.raises(ValueError, match="write one register"):
        program.word(add(1, 2), clock(1))
    with pytest.raises(ValueError, match="lookahead=8"):
        load(1, 0, lookahead=8)
    with pytest.raises(ValueError, match="32 registers"):
        program.registers(32)
    with pytest.raises(ValueError, match="must quit or jump"):
        program.table()
    program.word(jump(Label()))
    with pytest.raises(ValueError, match="not placed"):
        program.table()


def test_machines_refuse_settings_and_starts_that_they_cannot_have() -> None:
    program, start = with_words((load(1, 0, offset=3),))
    with pytest.raises(Unsupported, match=r"\[streams\]"):
        Emulation(smp.machines.load("cm5"), program, 4)
    with pytest.raises(Unsupported, match=r"network\.hop"):
        Emulation(MTA.replace("network.hop", 2), program, 4)
    with pytest.raises(ValueError, match="whole cycles"):
        Emulation(MTA.replace("streams.issue_spacing", 20.5), program, 4)
    with pytest.raises(ValueError, match="processors=0"):
        Emulation(MTA, program, 4, processors=0)
    emulation = Emulation(MTA, program, 2, processors=1, threads=1)
    with pytest.raises(ValueError, match="processor=1"):
        emulation.start(start, processor=1)
    emulation.start(start)
    with pytest.raises(ValueError, match="room for 1 threads"):
        emulation.start(start)
    with pytest.raises(IndexError, match="outside the memory"):
        emulation.run()


def test_streams_and_threads_that_do_not_exist_are_refused() -> None:
    for part, streams, message in ((spawn, 1, "all streams"), (create, 2, "no room")):
        program, start = Program(), Label()
        program.place(start)
        program.word(part(start), add(1, 1, 0, 1))
        program.word(if_less(1, 2, start))
        program.word(quit_stream())
        emulation = Emulation(QUIET, program, 1, processors=1, threads=2)
        emulation.limit_streams(streams)
        emulation.start(start, {2: 5})
        with pytest.raises(RuntimeError, match=message):
            emulation.run()


def test_words_are_spread_evenly_over_the_modules() -> None:
    """Streams that read all addresses of one processor keep all four modules busy: no cycle is lost at a link."""
    program, start = with_words(*[(load(1, 2, offset=k, lookahead=7),) for k in range(50)])
    emulation = Emulation(QUIET, program, 6_400, processors=1)
    for k in range(128):
        emulation.start(start, {2: 50 * k})
    emulation.run()
    assert emulation.totals.held_up == 0
    assert emulation.cycle < 1.1 * 6_400
    assert np.count_nonzero(emulation.values) == 0
