"""Intervals of whole programs: programs without supersteps, or with supersteps that do not count their accesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.message_machine import message_machine
from support.profiles import linear

import smp
from smp._runtime.program.records.whole_program import row_of
from smp.errors import ProcessorRaised
from smp.kernels.grids.programs import relax_red_black

NO_REQUEST = "hardware counters were not requested: run with counters=True"


def sources(run: Any, rank: int = 0) -> dict[str, tuple[int, ...]]:
    rows = run.accesses[run.accesses["rank"] == rank]
    return {str(row["source"]): row[["reads", "writes", "bytes_read", "bytes_written"]].item() for row in rows}


def hand_over(proc: smp.Processor, cells: smp.Cells, times: int) -> None:
    for k in range(times):
        if proc.rank == 0:
            cells.writeef(0, k)
        else:
            assert cells.readfe(0) == k


@pytest.mark.parametrize("opened", [smp.host, smp.emulated])
def test_a_program_with_cells_has_an_interval_as_a_whole(opened: Any) -> None:
    with opened(2) as machine:
        run = machine.run(hand_over, machine.cells(1), 50, warmup=1, repeat=3)
        interval = run.interval(linear(run.kind))
    assert [sources(run, rank)["cells"] for rank in (0, 1)] == [(0, 50, 0, 400), (50, 0, 400, 0)]
    assert (interval.label.tolist(), interval.hr.tolist(), interval.hw.tolist()) == (["whole program"], [50], [50])
    assert interval.m.tolist() == [100]
    assert interval.measured == pytest.approx([np.median([repeat.seconds.max() for repeat in run.repeats])])
    assert (run.seconds > 0).all()
    assert "counted: cells 100" in interval.notes
    assert NO_REQUEST in interval.notes
    assert "total" not in str(interval)


def test_all_operations_on_cells_from_python_are_counted_but_not_those_of_earlier_runs() -> None:
    def program(proc: smp.Processor, cells: smp.Cells, fail: bool) -> None:
        cells.writexf(0, 1)
        cells.readff(0)
        cells.readxx(0)
        cells.try_readff(0)
        cells.try_writeff(0, 2)
        cells.fetch_add(0, 1)
        cells.purge(0)
        with proc.streams(2) as pool:
            pool.map(lambda k: cells.readxx(0), range(10))
        assert not fail

    with smp.host(1) as machine:
        cells = machine.cells(1)
        with pytest.raises(ProcessorRaised):
            machine.run(program, cells, True)
        run = machine.run(program, cells, False)
    assert sources(run)["cells"] == (13, 4, 104, 32)


@smp.stream
def take(cells, times):  # type: ignore[no-untyped-def]
    for _ in range(times):
        smp.compiled.readxx(cells, 0)


def test_cells_in_compiled_loops_are_not_counted_and_the_interval_says_so() -> None:
    with smp.host(1) as machine:
        run = machine.run(lambda proc, cells: take(cells, 10), machine.cells(1))
    interval = run.interval(linear())
    assert run.loops_with_cells == 1
    assert interval.verdict.tolist() == ["not counted"]
    assert np.isnan([*interval.good, *interval.bad, *interval.loc]).all()
    assert "no accesses were counted, so there is no prediction" in interval.notes
    assert any(
        note.startswith("not counted: operations on cells in 1 call of compiled loops") for note in interval.notes
    )


@smp.local
def summed(values, first, last):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(first, last):
        total += values[k]
    return total


def streams(proc: smp.Processor, data: smp.GlobalArray) -> float:
    """Sum this processor's share in four threads on its streams; return the total over all processors."""
    mine, view = proc.block(len(data)), data.view
    ends = np.linspace(mine.start, mine.stop, 5).astype(int)
    total = sum(proc.team.map(lambda k: summed(view, ends[k], ends[k + 1]), range(4)))
    proc.count_accesses(reads=mine.stop - mine.start, itemsize=data.dtype.itemsize)
    return float(proc.reduce(total))


def test_a_program_of_streams_states_its_accesses() -> None:
    with smp.host(2, streams=2) as machine:
        data = machine.full(100_000, 1.0, np.float32)
        run = machine.run(streams, data, warmup=1)
    assert run.results == [100_000.0] * 2
    assert sources(run)["stated"] == (50_000, 0, 200_000, 0)
    assert sources(run)["collectives"] == (2, 1, 16, 8)
    interval = run.interval(linear())
    assert interval.m.tolist() == [100_006]
    assert interval.good == pytest.approx([50_006e-9])  # by bytes: two float32 are a word
    assert "counted: collectives 6, stated 100,000" in interval.notes


def test_relaxation_in_the_shared_grid_has_an_interval_as_a_whole() -> None:
    with smp.host(2) as machine:
        grid = machine.array(np.random.default_rng(0).random((300, 300)))
        run = machine.run(relax_red_black, grid, layout="shared", iterations=3, warmup=1)
        inside = run.interval(linear())
        interval = run.interval(linear(), whole=True)
    assert set(inside.verdict) == {"not counted"}
    written = 3 * 298 * 298
    assert sources(run)["stated"][0] + sources(run, 1)["stated"][0] == 5 * written
    assert interval.m[0] == 6 * written + run.collectives[["reads", "writes"]].tolist()[0][0] * 2 + 2
    assert interval.good[0] > 0
    assert interval.verdict[0] != "not counted"
    assert interval.notes[2].startswith("not counted: the reads of supersteps with counted=False")


def test_a_note_says_how_much_of_a_time_beyond_the_bad_end_accesses_explain() -> None:
    with smp.host(1) as machine:
        run = machine.run(lambda proc: (proc.count_accesses(reads=1000), sum(range(100_000)))[1])
    assert (
        run.interval(linear())
        .notes[0]
        .endswith("local work and waits; the counted accesses take at most 10.0 us of it")
    )


def test_hardware_counters_are_reported_or_a_reason_is_given() -> None:
    with smp.host(2) as machine:
        run = machine.run(lambda proc: sum(range(100_000)), counters=True, repeat=2)
        assert run.results == [4_999_950_000] * 2
        (note,) = (note for note in run.interval(linear()).notes if note.startswith("hardware counters: "))
        for counts, missing in (each for each in run.hardware if each is not None):
            assert {*counts, *missing} == {"cycles", "instructions", "cache misses"}
            assert all(name in note for name in (*counts, *missing))
            assert all(why in note for why in missing.values())
        with pytest.raises(TypeError, match=r"counters= is an option of machine\.run"):
            machine.run(lambda proc, counters=1: counters, counters=True)
    with smp.emulated(2) as machine:
        run = machine.run(lambda proc: proc.count_accesses(reads=1), counters=True)
        assert "not counted: virtual time has no hardware counters" in run.interval(linear("emulated")).notes[-1]
    with message_machine(2) as machine:
        assert machine.run(lambda proc: 1, counters=True).hardware == [None, None]


def test_the_chains_of_all_supersteps_add_up_for_the_whole_program() -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> None:
        for chain in (3, 4):
            with proc.superstep() as step:
                step.copy_in_by(lambda a, chain: (10, chain), array, chain + proc.rank)

    with smp.emulated(2) as machine:
        run = machine.run(program, machine.zeros(10))
    (whole,) = row_of(run)
    assert (whole["hr"], whole["m"], whole["chain"]) == (20, 40, 9)
