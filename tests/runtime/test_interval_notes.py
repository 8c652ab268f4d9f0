"""Notes on an interval: causes of its times other than accesses, and supersteps without an interval."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.profiles import linear

import smp
from smp._computer.page_faults import seconds_of_a_fault
from smp._runtime.emulated.port import EmulatedMemory
from smp._runtime.program.records import interval_notes
from smp._runtime.program.records.recorded import Repeat
from smp._runtime.program.run import Run
from smp._runtime.program.steps import FORGOTTEN, UNCOUNTED, Recorder
from smp.kernels.grids.programs import relax_red_black


def run_of(*supersteps: tuple[str, int, float, tuple[int, int, int]], warmup: int = 0, repeat: int = 1) -> Run:
    """Make a run of one processor from label, words read, seconds of copy-in, faults and marks of each superstep."""
    recorder = Recorder()
    for k, (label, words, seconds, seen) in enumerate(supersteps):
        recorder.add(k, label, (words, 0, 8 * words, 0, 8 * words, 0, 0), (0.0, *[seconds] * 6), seen)
    return Run([None], [Repeat([recorder.packed()], 1.0)] * repeat, warmup=warmup)


@pytest.fixture(autouse=True)
def price_of_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interval_notes, "seconds_of_a_fault", lambda: 1e-6)


def test_page_faults_that_explain_a_large_part_are_noted_with_advice() -> None:
    faulting = ("read", 100_000, 1e-3, (600, 0, 0)), ("calm", 100_000, 1e-3, (10, 0, 0))
    (note,) = run_of(*faulting).interval(linear()).notes
    assert note.startswith("page faults: 600 on a processor, about 60.0% of the time of the copies of 'read': ")
    assert "run with warmup=1" in note
    (note,) = run_of(*faulting, warmup=1).interval(linear()).notes
    assert "in every run; pass out= to copy_in" in note
    assert run_of(faulting[1]).interval(linear()).notes == ()


def test_local_work_in_copy_in_is_noted_if_compute_was_not_called() -> None:
    forgotten = (0, 0, FORGOTTEN)
    (note,) = run_of(("sort", 100_000, 20e-3, forgotten)).interval(linear()).notes
    assert note.startswith(
        "copy-in of 'sort' took 20.0 ms, more than its accesses explain, and step.compute() was not called"
    )
    assert run_of(("sort", 100_000, 20e-3, (0, 0, 0))).interval(linear()).notes == ()  # compute() was called
    assert run_of(("copy", 100_000, 0.9e-3, forgotten)).interval(linear()).notes == ()  # accesses explain it
    (note,) = run_of(("sort", 100_000, 20e-3, (15_000, 0, FORGOTTEN))).interval(linear()).notes
    assert note.startswith("page faults")  # these explain the time


def test_a_superstep_that_does_not_count_has_no_interval() -> None:
    interval = run_of(("all", 20_000, 1e-4, (0, 0, 0)), ("half", 20_000, 1e-4, (0, 0, UNCOUNTED))).interval(linear())
    for name in ("good", "bad", "random", "loc", "m_over_g"):
        assert np.isnan(getattr(interval, name)).tolist() == [False, True]
        assert math.isnan(getattr(interval.total, name)[0])
    assert interval.verdict.tolist() == ["half way", "not counted"]
    assert interval.notes == ("the counts of 'half' do not include all accesses, so there is no prediction",)
    row = next(line for line in str(interval).splitlines() if "half " in line and "not counted" in line)
    assert row.split().count("-") == 6  # good, bad, random, Loc, M/G, inside


def test_relaxation_in_the_shared_grid_has_no_interval() -> None:
    with smp.host(2) as machine:
        grid = machine.array(np.random.default_rng(0).random((300, 300)))
        interval = machine.run(relax_red_black, grid, layout="shared", iterations=2).interval(linear())
        assert set(interval.verdict) == {"not counted"}
        assert (interval.hw > 0).all()
        interval = machine.run(relax_red_black, grid, layout="horizontal", iterations=2).interval(linear())
        assert "not counted" not in interval.verdict


def test_the_interval_of_repeats_uses_their_medians() -> None:
    repeats = [run_of(("read", 100_000, seconds, (0, 0, 0))) for seconds in (1e-4, 3e-4, 5e-4, 4e-4, 2e-4)]
    run = Run([None], repeats, warmup=1)
    interval = run.interval(linear())
    assert interval.measured == pytest.approx([3e-4])
    assert interval.loc == pytest.approx([1 - 2e-4 / 9e-4])
    assert interval.spread == pytest.approx([2 / 3])  # quartiles 0.2 and 0.4 ms
    assert interval.total.measured == pytest.approx([3e-4])
    assert interval.total.spread == pytest.approx([2 / 3])
    head, *_, note = str(interval).splitlines()
    assert head.split()[-1] == "spread"
    assert note == "measured: medians of 5 repeats; spread: between their quartiles, over the median"
    assert "spread" not in str(repeats[0].interval(linear()))


def test_counts_that_differ_between_repeats_are_noted() -> None:
    run = Run([None], [run_of(("read", words, 1e-4, (0, 0, 0))) for words in (20_000, 30_000)])
    interval = run.interval(linear())
    assert interval.m.tolist() == [30_000]
    assert interval.notes == ("h_r, h_w, M of 'read' differ between the repeats: the last repeat's are shown",)


def gathering(proc: smp.Processor, data: smp.GlobalArray) -> None:
    mine = np.ones(9_000)
    with proc.superstep("in copy-in") as step:
        step.copy_in(data, proc.block(len(data)))
        proc.reduce(mine)
    with proc.superstep("in compute") as step:
        step.compute()
        proc.reduce(mine)
        proc.reduce(mine)
    proc.reduce(1.0)
    proc.gather(b"x" * 100)


@pytest.mark.parametrize("opened", [smp.host, smp.emulated])
def test_words_moved_by_collectives_count_in_the_phase_that_has_their_time(opened: Any) -> None:
    with opened(2) as machine:
        run = machine.run(gathering, machine.zeros(10))
        assert run.steps[["reads", "writes"]].tolist() == [(5 + 9_000, 9_000)] * 2 + [(0, 0)] * 2
        assert run.steps["bytes_read"].tolist() == [8 * 9_005] * 2 + [0] * 2
        rows = run.collectives
        assert rows["rank"].tolist() == [0] * 3 + [1] * 3
        assert [row.item()[:3] for row in rows[:3]] == [
            ("compute", "in compute", "reduce(add)"),
            ("outside", "", "reduce(add)"),
            ("outside", "", "gather"),
        ]
        assert rows[["times", "reads", "writes"]].tolist()[:2] == [(2, 18_000, 18_000), (1, 2, 1)]
        assert rows["bytes_written"].tolist()[:2] == [144_000, 8]
        assert 100 <= rows["bytes_written"][2] <= 200  # a pickle
        assert rows["writes"][2] == -(-rows["bytes_written"][2] // 8)
        assert (rows["seconds"] > 0).all()
        lines = str(run).splitlines()
        shown = next(line for line in lines if "compute of 'in compute'" in line)
        assert shown.split()[-6:-2] == ["2", "18,000", "18,000", "72,000"]
        (note,) = (note for note in run.interval(linear(run.kind)).notes if "collectives" in note)
        assert note.startswith(
            "collectives outside of copies are not counted in h_r, h_w, M: reduce(add) (compute of 'in compute'"
        )
        assert "gather" not in note  # gather moves next to nothing


def test_a_run_without_collectives_prints_none() -> None:
    with smp.host(1) as machine:
        run = machine.run(lambda proc: proc.barrier())
        assert len(run.collectives) == 0
        assert "collective" not in str(run)


def copying(proc: smp.Processor, data: smp.GlobalArray, times: int) -> None:
    for _ in range(times):
        with proc.superstep("large") as step:
            mine = step.copy_in(data)
            step.copy_in(data)
            step.compute()
            step.copy_out(data, ..., mine)
        with proc.superstep("small") as step:
            step.copy_in(data, slice(0, 10), out=np.empty(10))


def test_page_faults_are_counted_in_each_copy_phase_that_moves_much_data(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([10, 15, 15, 22, 30, 31, 31, 31, 40, 40])  # before and after each copy phase, until one has no faults
    monkeypatch.setattr(EmulatedMemory, "faults", lambda memory: next(looks))
    with smp.emulated(1) as machine:
        run = machine.run(copying, machine.zeros(1 << 14), 4)
    large = run.steps[run.steps["label"] == "large"]
    assert large["faults_in"].tolist() == [5, 1, 0, 0]
    assert large["faults_out"].tolist() == [7, 0, 0, 0]
    assert run.steps["faults_in"][run.steps["label"] == "small"].tolist() == [0] * 4
    assert next(looks, None) is None


def test_page_faults_are_counted_on_the_host_but_not_in_virtual_time() -> None:
    with smp.host(1) as machine:
        assert machine.run(copying, machine.zeros(1 << 20), 1).steps["faults_in"][0] > 0
    with smp.emulated(1) as machine:
        assert machine.run(copying, machine.zeros(1 << 20), 1).steps["faults_in"].tolist() == [0, 0]


def test_a_page_fault_takes_some_time() -> None:
    assert 0.0 < seconds_of_a_fault() < 1e-3
