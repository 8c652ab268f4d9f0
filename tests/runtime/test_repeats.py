"""Programs that are run repeatedly: the record of each repeat, and the medians over all repeats."""

from __future__ import annotations

import functools
import weakref
from typing import Any

import numpy as np
import pytest
from support.message_machine import message_machine

import smp
from smp._runtime.program.answers import Done
from smp._runtime.program.records.recorded import Repeat
from smp._runtime.program.records.repeats import repeated
from smp._runtime.program.run import Run
from smp._runtime.program.steps import SUMMARY, Recorder
from smp.errors import ProgramError

KINDS = {"host": smp.host, "emulated": smp.emulated, "messages": message_machine}


def counting(proc: smp.Processor, counter: smp.GlobalArray) -> int:
    with proc.superstep("count") as step:
        before = int(step.copy_in(counter, 0))
        step.compute()
        if proc.rank == 0:
            step.copy_out(counter, 0, before + 1)
    return before


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_runs_as_often_as_asked_and_returns_the_last_results(kind: str) -> None:
    with KINDS[kind](2) as machine:
        counter = machine.zeros(1, np.int64)
        run = machine.run(counting, counter, warmup=2, repeat=3)
        assert run.results == [4, 4]
        assert counter[0] == 5
        assert (run.warmup, len(run.repeats)) == (2, 3)
        assert [repeat.steps["label"].tolist() for repeat in run.repeats] == [["count"] * 2] * 3
        once = machine.run(counting, counter)
        assert (once.results, once.warmup, len(once.repeats)) == ([5, 5], 0, 1)


def test_arrays_of_runs_whose_results_are_not_kept_end_with_the_run() -> None:
    class Arrays:
        pass

    made: list[weakref.ref[Arrays]] = []

    def once() -> tuple[list[Done], object]:
        assert [one() for one in made] == [None] * len(made)
        arrays = Arrays()
        made.append(weakref.ref(arrays))
        return [Done(b"", Recorder().packed())], arrays

    _, arrays, records = repeated(once, 2, 3)
    assert (len(made), len(records)) == (5, 3)
    assert made[-1]() is arrays


def recorded(seconds: list[tuple[float, float, float]], label: str = "x") -> Repeat:
    """Make a repeat of one processor whose supersteps take the given seconds in each phase, without waiting."""
    recorder, clock = Recorder(), 0.0
    for k, phases in enumerate(seconds):
        stamps = [clock]
        for each in phases:
            clock += each
            stamps += [clock, clock]
        recorder.add(k, f"{label} {k}", (10_000, 0, 80_000, 0, 80_000, 0, 0), stamps)
    return Repeat([recorder.packed()], 1.0)


REPEATS = [recorded([(k, 1.0, 9.0 - k)]) for k in (1.0, 2.0, 8.0, 3.0, 4.0)]


def test_the_summary_has_medians_and_the_spread_has_quartiles_of_each_phase() -> None:
    run = Run([None], REPEATS)
    (row,) = run.summary()
    assert run.summary().dtype == SUMMARY
    assert (row["copy_in"], row["compute"], row["copy_out"], row["m"]) == pytest.approx((3.0, 1.0, 6.0, 10_000))
    spread = {str(row["phase"]): (row["low"], row["median"], row["high"]) for row in run.spread()}
    assert spread["copy_in"] == pytest.approx((2.0, 3.0, 4.0))
    assert spread["copy_out"] == pytest.approx((5.0, 6.0, 7.0))
    assert spread["communication"] == pytest.approx((9.0, 9.0, 9.0))  # one copy gains the time that the other loses
    assert spread["superstep"] == pytest.approx((10.0, 10.0, 10.0))
    assert [float(repeat.summary()["copy_in"][0]) for repeat in run.repeats] == pytest.approx([1.0, 2.0, 8.0, 3.0, 4.0])


def test_a_run_of_several_repeats_prints_their_number_and_spread() -> None:
    slow, quick = recorded([(3.0, 0.0, 0.0)]), recorded([(1.0, 0.0, 0.0)])
    run = Run([None], [quick, quick, slow, slow, slow], warmup=2)
    title, head, _, row, note = str(run).splitlines()
    assert title == "run on 1 processor: median 1.00 s, quartiles 1.00 s and 1.00 s, of 5 repeats after 2 warm-up runs"
    assert head.split()[-1] == "spread"
    assert row.split()[-1] == "0.67"  # quartiles 1 and 3 s, median 3 s
    assert note == "times are medians; spread is the distance between the quartiles of a superstep, over its median"
    assert "spread" not in str(Run([None], [quick]))


def test_repeats_with_different_supersteps_are_refused_at_the_first_difference() -> None:
    def program(proc: smp.Processor, counter: smp.GlobalArray, renamed: bool) -> None:
        done = counting(proc, counter)
        for k in range(3):
            with proc.superstep(f"after {done if renamed and k == 1 else k}"):
                pass
        for _ in range(0 if renamed else done):
            with proc.superstep("more"):
                pass

    with smp.host(2) as machine:
        counter = machine.zeros(1, np.int64)
        with pytest.raises(
            ProgramError, match=r"repeat 0 has superstep 2 \('after 0'\), repeat 1 has superstep 2 \('after 1'\)"
        ):
            machine.run(program, counter, True, repeat=5)
        assert counter[0] == 2  # the difference was found at once
        counter[0] = 0
        with pytest.raises(ProgramError, match=r"repeat 0 has no superstep, repeat 1 has superstep 4 \('more'\)"):
            machine.run(program, counter, False, repeat=3)
        assert machine.run(counting, counter).results == [2, 2]


def with_names(proc: smp.Processor, warmup: int = 1, repeat: int = 2) -> tuple[int, int]:
    return warmup, repeat


def test_parameters_of_a_program_may_have_the_names_of_options_of_run() -> None:
    with smp.host(1) as machine:
        assert machine.run(with_names, 10, 20, repeat=2, warmup=1).results == [(10, 20)]
        assert machine.run(with_names).results == [(1, 2)]
        with pytest.raises(
            TypeError, match=r"repeat= is an option of machine\.run.* pass the program's argument by position"
        ):
            machine.run(with_names, 10, repeat=2)
        inner = functools.partial(lambda proc, **named: named, other=1)
        assert machine.run(inner, repeat=2).results == [{"other": 1}]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"repeat": 0}, ValueError, "repeat must be at least 1, not 0"),
        ({"warmup": -1}, ValueError, "warmup must be at least 0, not -1"),
        ({"warmup": 1.5}, TypeError, "warmup must be a whole number of runs, not 1.5"),
        ({"warmup": 0.0}, TypeError, "warmup must be a whole number of runs, not 0.0"),
        ({"repeat": True}, TypeError, "repeat must be a whole number of runs, not True"),
        ({"repeat": False}, TypeError, "repeat must be a whole number of runs, not False"),
    ],
)
def test_invalid_numbers_of_runs_are_refused(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with smp.host(1) as machine, pytest.raises(error, match=said):
        machine.run(lambda proc: None, **given)
