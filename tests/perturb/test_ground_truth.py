"""Predicted gains are true: places of emulated programs are really made faster, in exact virtual time."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Emulated

import smp
from smp.perturb import Trials, counted, factor, screen
from smp.perturb.analysis.interactions import conditional
from smp.perturb.analysis.speedups import Gain
from smp.perturb.experiments.observed import OnMachine

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import random_programs
from balanced_programs import KINDS, balanced
from ground_truth import studied, true_gains, verdict
from random_programs import Phase, Place, Program, Stage, burn, drawn, spmd

US = 1000
Works = Mapping[str, int]
"""Nanoseconds of one pass of each place."""


def serial(proc: Any, works: Works) -> None:
    """Pass one place after another."""
    for name, ns in works.items():
        with factor(name):
            burn(ns)


def branches(proc: Any, works: Works) -> None:
    """Processor 0 passes the first place while the others pass the second; then all pass the third."""
    left, right, after = works
    with factor(left if proc.rank == 0 else right):
        burn(works[left if proc.rank == 0 else right])
    proc.barrier()
    with factor(after):
        burn(works[after])


def locked(proc: Any, works: Works, lock: smp.Cells) -> None:
    """All processors want the lock at the same time, and continue in the order in which they get it."""
    inside, after = works
    lock.readfe(0)
    with factor(inside):
        burn(works[inside])
    lock.writeef(0, 0)
    proc.barrier()
    with factor(after):
        burn(works[after])


def time_of(machine: smp.Machine, program: Callable[..., None], works: Works, *more: Any) -> float:
    """Return the virtual seconds of a run."""
    return OnMachine(machine, program, (works, *more)).trial({}).time


def screened(machine: smp.Machine, program: Callable[..., None], works: Works, *more: Any) -> Trials:
    """Delay each place by a fifth of its pass."""
    treatment = {name: f"{ns // 5}ns" for name, ns in works.items()}
    return screen(program, treatment=treatment, arguments=(works, *more), machine=machine, replicates=2)


def by_name(trials: Trials) -> dict[str, Gain]:
    return {gain.factor: gain for gain in trials.gains()}


def faster(works: Works, name: str, share: float) -> Works:
    return {**works, name: round(works[name] * (1 - share))}


@settings(max_examples=12, deadline=None)
@given(
    p=st.sampled_from([1, 2, 3, 5]),
    lengths=st.lists(st.integers(10, 300), min_size=2, max_size=4),
    share=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_a_serial_program_gains_the_time_of_the_faster_place(
    p: int, lengths: list[int], share: float, emulated: Emulated
) -> None:
    works = {name: length * US for name, length in zip("abcd", lengths, strict=False)}
    machine = emulated(p)
    trials = screened(machine, serial, works)
    as_it_is = time_of(machine, serial, works)
    for name, gain in by_name(trials).items():
        true = as_it_is - time_of(machine, serial, faster(works, name, share))
        assert true == pytest.approx(share * works[name] * 1e-9)
        assert share * gain.gain == pytest.approx(true)
        assert gain.significant
    assert [works[gain.factor] for gain in trials.gains()] == sorted(works.values(), reverse=True)


def test_making_the_longer_of_two_branches_faster_pays_until_it_is_the_shorter(emulated: Emulated) -> None:
    works = {"long": 100 * US, "short": 60 * US, "tail": 20 * US}
    machine = emulated(3)
    found = by_name(screened(machine, branches, works))
    as_it_is = time_of(machine, branches, works)

    def gained(name: str, share: float) -> float:
        return as_it_is - time_of(machine, branches, faster(works, name, share))

    for share in (0.1, 0.25):
        for name, gain in found.items():
            assert share * gain.gain == pytest.approx(gained(name, share), abs=1e-10)
    assert gained("long", 1.0) == pytest.approx(40e-6, abs=3e-6)  # no more: then it waits for the short branch
    assert found["long"].gain == pytest.approx(100e-6)
    assert (found["short"].gain, found["short"].significant) == (pytest.approx(0, abs=1e-10), False)
    assert found["tail"].gain == pytest.approx(20e-6)


def test_delaying_all_other_places_shows_the_faster_place_in_slow_motion(emulated: Emulated) -> None:
    """If all places but one are twice as slow, the other one is twice as fast in a program at half the speed."""
    works = {"long": 100 * US, "short": 80 * US, "tail": 20 * US}
    machine = emulated(3)
    twice = {name: f"{ns}ns" for name, ns in works.items()}
    found = screen(branches, treatment=twice, arguments=(works,), machine=machine, replicates=2).analyse()
    true = time_of(machine, branches, works) - time_of(machine, branches, faster(works, "long", 0.5))
    effect = conditional(found, "long", "short")
    assert true == pytest.approx(20e-6, abs=3e-6)
    assert effect.beside / 2 == pytest.approx(true, abs=3e-6)
    assert effect.without / 2 == pytest.approx(50e-6)  # the cost if it were slower


@pytest.mark.parametrize("p", [2, 3, 5])
def test_a_faster_lock_that_all_want_gains_one_pass_for_each_processor(p: int, emulated: Emulated) -> None:
    works = {"inside": 40 * US, "after": 100 * US}
    machine = emulated(p)
    lock = machine.cells(1, full=True, retries=0)
    found = by_name(screened(machine, locked, works, lock))
    as_it_is = time_of(machine, locked, works, lock)
    for share in (0.1, 0.5):
        true = as_it_is - time_of(machine, locked, faster(works, "inside", share), lock)
        assert true == pytest.approx(share * p * works["inside"] * 1e-9, rel=1e-3)
        assert share * found["inside"].gain == pytest.approx(true, rel=1e-3)
    assert found["inside"].spent == pytest.approx(40e-6)  # all that a profile sees of it
    assert found["after"].gain == pytest.approx(100e-6, rel=1e-3)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_gains_of_random_programs_rank_like_the_true_gains(seed: int) -> None:
    """They rank better than the time spent in the places; ``benchmarks/ground_truth.py`` has a hundred programs."""
    case = studied(seed, "50%", repeats=4, shares=(0.25,), many=2)
    found = {method: case.verdict(method, 0.25) for method in case.predicted}
    screened_ = found["screening, 50% of a pass"]
    assert screened_.rank > 0.8
    assert screened_.place <= 2
    assert screened_.rank > found["profile"].rank


# The true gains themselves.


def test_the_same_seed_gives_the_same_program_and_the_same_run() -> None:
    one, again, other = drawn(5), drawn(5), drawn(6)
    assert repr(one) == repr(again) != repr(other)
    work = one.work(1)
    assert all(np.array_equal(a, b) for a, b in zip(work, one.work(1), strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(work, one.work(2), strict=True))


def test_a_faster_place_has_less_work_and_the_other_places_have_the_same() -> None:
    program = drawn(7)
    before, after = program.work(1), program.work(1, {"b": 0.25})
    for name, old, new in zip(program.names, before, after, strict=True):
        assert new == pytest.approx(old * (0.75 if name == "b" else 1.0), abs=1)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_pass_all_their_places_and_leave_their_cells_as_they_were(seed: int) -> None:
    program = drawn(seed)
    with Stage(program) as stage, counted() as met:
        for run in range(2):
            stage.machine.run(spmd, *stage.arguments(run))
    assert set(met) == set(program.names)
    for place, name in zip(program.places, program.names, strict=True):
        assert met[name].passes == 2 * program.rounds * sum(place.passes)


@pytest.mark.parametrize("seed", range(8))
def test_places_of_balanced_programs_that_work_at_the_same_time_are_within_a_fifth_of_each_other(seed: int) -> None:
    program, kind = balanced(seed), KINDS[seed % 4]
    groups = {"forks": ("abc", "def"), "pipeline": ("abc", "def"), "stencil": ("abcd",), "holders": ("abcd", "efgh")}
    places = dict(zip(program.names, program.places, strict=True))
    for group in groups[kind]:
        works = [float(places[name].work.sum()) for name in group]
        assert max(works) * 0.8 <= min(works)
        assert [np.flatnonzero(places[name].passes).tolist() for name in group] == [[k] for k in range(len(group))]
    with Stage(program) as stage, counted() as met:
        stage.machine.run(spmd, *stage.arguments(0))
        stage.machine.run(spmd, *stage.arguments(1))  # the cells are as they were
    last = program.names[-1]
    assert {name: met[name].by for name in program.names} == {**dict.fromkeys(places, 1), last: program.processors}
    assert met["a"].passes == 2 * program.rounds * (8 if kind == "pipeline" else 1)


def test_a_faster_stage_gains_for_each_item_only_if_it_is_the_slowest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_programs, "_VARIATION", 0.0)
    items, lengths = 8, {"a": 80 * US, "b": 100 * US, "c": 90 * US}
    stages = [
        Place(
            name, "stage", 0, tuple(items * (k == one) for one in range(3)), np.full(items, float(ns)), k == 0, k == 2
        )
        for k, (name, ns) in enumerate(lengths.items())
    ]
    with Stage(Program(3, 1, tuple(stages), (Phase((0, 1, 2), True),))) as stage:
        gains = true_gains(stage, (0.05,), range(1))[0.05]
    assert gains == pytest.approx({"a": 4e-6, "b": 5e-6 * items, "c": 4.5e-6}, rel=0.02)


def test_verdicts_compare_predicted_with_true_gains() -> None:
    true = {"a": 3.0, "b": 2.0, "c": 0.0, "d": 0.0}
    assert verdict({"a": 9, "b": 5, "c": 0, "d": 0}, true) == (pytest.approx(1.0), 1)
    assert verdict({"a": 5, "b": 9, "c": 1, "d": 0}, true).place == 2
    assert verdict({"a": 1, "b": 1, "c": 1, "d": 1}, true) == (0.0, 4)  # equal predictions say nothing


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_gains_of_balanced_programs_rank_like_the_true_gains(seed: int) -> None:
    """Passes that take twice as long show a place that takes half its time."""
    program = balanced(seed)
    with Stage(program) as stage:
        runs = iter(range(10**6, 10**7))
        trials = screen(
            spmd,
            "speedup",
            treatment="stretch:100%",
            factors=program.names,
            arguments=lambda: stage.arguments(next(runs)),
            machine=stage.machine,
            replicates=24,
        )
        true = true_gains(stage, (0.5,), range(16))[0.5]
    found = verdict({row.factor: row.gain for row in trials.gains()}, true)
    assert found.rank > 0.75
    assert found.place <= 2
