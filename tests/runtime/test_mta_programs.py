"""Programs on an emulated machine with multithreaded processors: what steps, waits, traps and local work take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp._runtime.emulated.multithreaded.emulation import Emulation
from smp._runtime.emulated.multithreaded.program import Label, Program, clock, quit_stream, readfe, store, writeef
from smp._runtime.emulated.multithreaded.settings import settings_of
from smp._runtime.emulated.multithreaded.waits import end_of_wait
from smp.compiled import fetch_add, load

MTA = smp.machines.load("mta")
SETTINGS = settings_of(MTA)
RETRIES, TRAP = 170 + 1023 * 115, 1010 * 30


def cycles(seconds: float) -> float:
    return seconds * MTA.clock.hz


def taken(proc: smp.Processor, act: Callable[[], object]) -> float:
    begun = proc.clock()
    act()
    return cycles(proc.clock() - begun)


def test_a_first_load_takes_170_cycles_and_the_next_115() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> list[float]:
        return [taken(proc, lambda k=k: load(words.view, k)) for k in (3, 3, 9, 3, 9)]  # type: ignore[misc]

    with smp.emulated(1, machine="mta") as machine:
        found = machine.run(program, machine.zeros(16, np.int64)).results[0]
    assert found == pytest.approx([170, 115, 170, 115, 115], abs=0.01)


@pytest.mark.parametrize("processors", [4, 32])
def test_additions_to_one_word_are_114_cycles_apart_on_all_processors_together(processors: int) -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> float:
        proc.barrier()
        return taken(proc, lambda: [fetch_add(words.view, 0, 1) for _ in range(40)])

    with smp.emulated(processors, machine="mta") as machine:
        words = machine.zeros(1, np.int64)
        found = machine.run(program, words).results
    assert words[0] == 40 * processors
    assert max(found) == pytest.approx(40 * processors * 114, rel=0.1)


def waited(length: float, fill: str = "writeef") -> float:
    """Return the cycles that a processor waits for a cell; another one fills it after the given number of cycles."""

    def program(proc: smp.Processor, cells: Any) -> float:
        if proc.rank == 0:
            proc.work(cycles=length)
            getattr(cells, fill)(0, 7)
            return 0.0
        return taken(proc, lambda: cells.readfe(0))

    with smp.emulated(2, machine="mta") as machine:
        return float(machine.run(program, machine.cells(1)).results[1])


@pytest.mark.parametrize("length", [50_000, RETRIES + TRAP - 1_000, RETRIES + 2 * TRAP])
def test_a_wait_is_as_long_whichever_operation_fills_the_cell(length: float) -> None:
    assert waited(length, "writexf") == pytest.approx(waited(length), abs=2)


def test_a_waiting_stream_retries_and_then_traps() -> None:
    assert waited(50_000) - 50_000 == pytest.approx(170 + 170, abs=120)
    short_of_a_trap = waited(RETRIES - 600) - RETRIES
    assert -600 < short_of_a_trap < 0
    for length in (RETRIES + 200, RETRIES + TRAP - 1_000):
        assert waited(length) == pytest.approx(RETRIES + TRAP + 170, abs=2)
    assert waited(RETRIES + 2 * TRAP) == pytest.approx(RETRIES + 2 * TRAP + 170 + 115 + 21, abs=2)


@given(st.integers(500, 120_000))
@settings(max_examples=examples(40), deadline=None)
def test_the_end_of_a_wait_is_that_of_instruction_words(fill: int) -> None:
    """The rule for programs, against a waiting and a filling stream on the machine that is emulated cycle by cycle."""
    program, write, wait = Program(), Label(), Label()
    value, now = program.registers(2)
    program.place(write)
    program.word(writeef(value, 0))
    program.word(quit_stream())
    program.place(wait)
    program.word(readfe(value, 0))
    program.word(clock(now))
    program.word(store(now, 0, offset=1))
    program.word(quit_stream())
    emulation = Emulation(MTA.replace("streams.background", 0), program, 2, processors=1)
    emulation.make_empty(0)
    emulation.start(wait)
    emulation.start(write, cycle=fill)
    emulation.run()
    expected, retries = end_of_wait(SETTINGS, 1 + 170, fill + 170)
    if abs(fill - RETRIES) > 300:
        assert emulation.values[1] == pytest.approx(expected, abs=116)  # one retry earlier or later
        assert emulation.totals.retries == pytest.approx(retries, abs=1)


def test_an_operation_on_a_cell_is_one_access_whatever_the_runtime_does() -> None:
    def program(proc: smp.Processor, cells: Any) -> list[float]:
        return [taken(proc, lambda: cells.writeef(1, 5)), taken(proc, lambda: cells.readfe(1))]

    with smp.emulated(1, machine="mta") as machine:
        found = machine.run(program, machine.cells(4)).results[0]
    assert found == pytest.approx([170, 170], abs=60)  # the read may find the bank busy with the write


@smp.local
def summed(values: Any) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def test_local_work_takes_a_pipeline_for_each_instruction_word() -> None:
    def program(proc: smp.Processor, n: int) -> float:
        return taken(proc, lambda: summed(np.ones(n)))

    with smp.emulated(1, machine="mta") as machine:
        short, long = (machine.run(program, n) for n in (1_000, 2_000))
    words = long.charges[0].cycles / 21.25 - short.charges[0].cycles / 21.25
    assert long.results[0] - short.results[0] == pytest.approx(21.25 * words, rel=0.01)
    assert words % 1_000 == pytest.approx(0, abs=1)  # the same number of words for each element


def test_programs_have_the_results_of_the_host_and_repeat_to_the_picosecond() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray, counts: smp.GlobalArray) -> tuple[float, float]:
        with proc.superstep("sum") as step:
            mine = step.copy_in(array, proc.block(len(array)))
            step.compute()
            fetch_add(counts.view, 0, int(mine.sum()))
            step.copy_out(array, proc.block(len(array)), 2 * mine)
        return float(proc.reduce(float(mine.sum()))), proc.clock()

    def run() -> tuple[Any, Any, Any]:
        with smp.emulated(4, machine="mta") as machine:
            array, counts = machine.array(np.arange(100.0)), machine.zeros(1, np.int64)
            results = machine.run(program, array, counts).results
            return results, array[:].tolist(), int(counts[0])

    results, array, count = run()
    assert [total for total, _ in results] == [4950.0] * 4
    assert array == (2 * np.arange(100.0)).tolist()
    assert count == 4950
    assert run() == (results, array, count)


def test_a_machine_without_prices_by_address_keeps_its_times() -> None:
    """The same program on the machine "flat", whose prices know no address: each step takes what its table says."""

    def program(proc: smp.Processor, words: smp.GlobalArray) -> list[float]:
        acts = [lambda: load(words.view, 0), lambda: fetch_add(words.view, 0, 1)]
        begun = [proc.clock()]
        for act in acts:
            act()
            begun.append(proc.clock())
        return np.diff(begun).tolist()

    charges = smp.Charges()
    with smp.emulated(2, machine="flat") as machine:
        found = machine.run(program, machine.zeros(1, np.int64)).results
    assert found == [pytest.approx([1e-9 * charges.load, 1e-9 * charges.fetch_add])] * 2
