"""Experiments: the trials that are run, their order, their responses, and planted effects that must be found."""

import json
import mmap
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.placement import Moving

import smp
import smp._runtime.machine
from smp.compiled import clock, delay, fetch_add
from smp.perturb import Busy, Met, Sleep, Treatment, TrialFailed, Trials, Work, factor, screen, treated, treatment
from smp.perturb.analysis.advice import next_steps
from smp.perturb.analysis.report import sections
from smp.perturb.designs.by_name import design, fractional
from smp.perturb.designs.orthogonal import orthogonal_array
from smp.perturb.experiments import experiment
from smp.perturb.experiments.observed import Counts, Outcome
from smp.perturb.experiments.resuming import about_program
from smp.perturb.experiments.runners import counted as counted_by
from smp.perturb.places.treatments import Share

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import perturb_host

Machines = Callable[..., smp.Machine]
COST = 8  # virtual ns of a fetch_add


@pytest.fixture(scope="module")
def emulated() -> Iterator[smp.Machine]:
    """An emulated machine with three processors that runs in virtual time, so without noise."""
    with smp.emulated(3, schedule="clock") as machine:
        yield machine


def planted(proc: Any, passes: dict[str, int]) -> None:
    """Pass places on processor 0, each the given number of times."""
    if proc.rank == 0:
        clock()  # reading the clock takes virtual time
        for name, count in passes.items():
            for _ in range(count):
                with factor(name):
                    pass


def unequal(proc: Any, words: smp.GlobalArray) -> int:
    """Processor 0 has many times the work of the others; then all meet at a barrier."""
    with factor("long" if proc.rank == 0 else "short"):
        for _ in range(2000 if proc.rank == 0 else 10):
            fetch_add(words.view, 8 * proc.rank, 1)
    delay("before")
    proc.barrier()
    with factor("after"):
        return int(words.view[8 * proc.rank])


def plain() -> dict[str, float]:
    with factor("a"):
        pass
    delay("b")
    return {"depth": 3, "width": 1.5, "name": "x"}  # type: ignore[dict-item]


# Trials and their order.


def test_every_replicate_has_all_trials_in_a_fresh_order() -> None:
    trials = screen(plain, "2^2", treatment="1us", replicates=4, seed=5)
    orders = trials.table["trial"].reshape(4, 4)
    assert np.array_equal(np.sort(orders), np.tile(np.arange(4), (4, 1)))
    assert len({tuple(order) for order in orders.tolist()}) > 1
    assert trials.table["replicate"].tolist() == [k // 4 for k in range(16)]
    assert np.array_equal(trials.table["levels"], trials.design.levels[trials.table["trial"]])
    again = screen(plain, "2^2", treatment="1us", replicates=4, seed=5)
    other = screen(plain, "2^2", treatment="1us", replicates=4, seed=6)
    assert np.array_equal(again.table["trial"], trials.table["trial"])
    assert not np.array_equal(other.table["trial"], trials.table["trial"])


def test_each_trial_has_its_treatments_and_no_other() -> None:
    from smp.perturb.places.settings import current

    seen = []

    def program() -> None:
        plain()
        seen.append({name: str(one) for name, one in current().items()})

    trials = screen(program, "2^2", treatment={"a": "3us", "b": "work:7"}, replicates=1)
    assert seen[:-4] == [{}] * (len(seen) - 4)  # the warm-up and the counted runs
    for given_, row in zip(seen[-4:], trials.table, strict=True):
        a, b = row["levels"]
        assert given_ == ({"a": "3000ns"} if a > 0 else {}) | ({"b": "work:7"} if b > 0 else {})
        assert given_ == {name: str(one) for name, one in trials.plan.settings(int(row["trial"])).items()}


def test_blocks_are_run_one_after_another() -> None:
    def program() -> None:
        for name in "abc":
            delay(name)

    trials = screen(program, "2^3", treatment="1us", replicates=2, blocks=2)
    for replicate in (0, 1):
        block = trials.table["block"][trials.table["replicate"] == replicate]
        assert np.count_nonzero(np.diff(block)) == 1
    assert trials.analyse().sources[6] == "block"  # abc
    folded = screen(program, fractional("2^(3-1)", "abc").folded(), treatment="1us", replicates=1)
    assert np.count_nonzero(np.diff(folded.table["block"])) == 1


def test_all_places_become_factors_by_default() -> None:
    trials = screen(plain, treatment="1us", replicates=1)
    assert trials.plan.factors == ("a", "b")
    assert trials.design.name == "2^2"
    assert (trials.met["a"].passes, trials.met["b"].passes) == (1, 1)


def test_new_arguments_can_be_made_for_each_run() -> None:
    made, called = [], []

    def fresh() -> tuple[list[int]]:
        made.append([3, 1, 2])
        return (made[-1],)

    def program(numbers: list[int]) -> float:
        called.append(numbers)
        with factor("sort"):
            assert numbers == [3, 1, 2]
            numbers.sort()
        return float(numbers[0])

    trials = screen(program, "2^1", treatment="1us", replicates=2, arguments=fresh)
    assert len(called) > 2 * 2
    assert [id(one) for one in made] == [id(one) for one in called]
    assert len({id(one) for one in made}) == len(made)
    assert trials.responses("result").tolist() == [[1, 1], [1, 1]]


# Responses.


def test_numbers_memory_and_throughput_are_responses() -> None:
    trials = screen(plain, "2^2", treatment="1us", replicates=2, work="depth")
    assert set(trials.names) == {"time", "memory", "throughput", "depth", "width"}
    assert (trials.responses("depth") == 3).all()
    assert (trials.responses("memory") > 1e6).all()
    assert np.allclose(trials.responses("throughput") * trials.responses("time"), 3)


def test_the_peak_memory_of_each_trial_is_its_own() -> None:
    def program() -> None:
        with factor("much"):
            memory = mmap.mmap(-1, 1 << 26, flags=mmap.MAP_PRIVATE)  # not from what the allocator has kept for later
            np.frombuffer(memory, np.uint8)[:] = 1

    def nothing() -> None:
        delay("little")

    much = screen(program, "2^1", treatment="1us", replicates=2).responses("memory")
    little = screen(nothing, "2^1", treatment="1us", replicates=2).responses("memory")
    assert much.min() - little.max() > 32 << 20


@settings(max_examples=8, deadline=None)
@given(
    passes=st.lists(st.integers(1, 6), min_size=4, max_size=4),
    delays=st.lists(st.integers(1, 5000), min_size=4, max_size=4),
    half=st.booleans(),
)
def test_planted_effects_are_found_exactly(
    passes: list[int], delays: list[int], half: bool, emulated: smp.Machine
) -> None:
    places = dict(zip("abcd", passes, strict=True))
    trials = screen(
        planted,
        "2^(4-1)" if half else "2^4",
        treatment={name: Busy(ns) for name, ns in zip("abcd", delays, strict=True)},
        factors="abcd",
        arguments=(places,),
        machine=emulated,
        replicates=2,
    )
    found = trials.analyse()
    for (name, count), ns in zip(places.items(), delays, strict=True):
        assert found.effect(name) == pytest.approx(count * ns * 1e-9, rel=1e-9)
        assert trials.delayed()[name] == pytest.approx(count * ns * 1e-9)  # on the only processor that passes it
    assert found.effect("ab") == pytest.approx(0, abs=1e-15)
    assert found.uncertainty == pytest.approx(0, abs=1e-15)


def test_a_delay_during_a_wait_costs_nothing(emulated: smp.Machine) -> None:
    words = emulated.zeros(24, np.int64)
    trials = screen(unequal, "2^4", treatment=Busy(50), arguments=(words,), machine=emulated, replicates=1)
    found = trials.analyse()
    assert found.effect("long") == pytest.approx(50e-9)
    assert found.effect("short") == pytest.approx(0, abs=1e-12)  # it waits for `long` anyway
    assert found.effect("after") == pytest.approx(50e-9)


def test_the_gain_of_a_place_is_its_time() -> None:
    def program(proc: Any, words: smp.GlobalArray) -> None:
        for name, count in (("much", 50), ("little", 5)):
            with factor(name):
                for _ in range(count):
                    fetch_add(words.view, 0, 1)

    with smp.emulated(1, schedule="clock") as machine:
        words = machine.zeros(8, np.int64)
        trials = screen(program, "2^2", treatment="1us", arguments=(words,), machine=machine, replicates=2)
    gains = {gain.factor: gain.gain for gain in trials.gains()}
    assert gains == pytest.approx({"much": 50 * COST * 1e-9, "little": 5 * COST * 1e-9})
    assert trials.gains()[0].factor == "much"


def test_an_array_of_levels_is_searched(emulated: smp.Machine) -> None:
    ladder = [None, "7us", "14us", "21us", "28us"]
    names = ("a", "b", "c", "d", "e", "f")
    trials = screen(
        planted,
        "OA25(5^6)",
        treatment=ladder,
        factors=names,
        arguments=(dict.fromkeys(names, 1),),
        machine=emulated,
        replicates=1,
    )
    assert np.array_equal(trials.plan.levels, orthogonal_array("OA25(5^6)"))
    expected = 7e-6 * trials.plan.levels.sum(axis=1)
    assert trials.responses() - trials.responses().min() == pytest.approx((expected - expected.min())[None, :])
    assert trials.best() == {}
    found = trials.search()
    assert found.settings.max() == pytest.approx(28e-6)
    assert found.setting == dict.fromkeys(names, 0.0)
    with pytest.raises(ValueError, match="an array of more than two levels"):
        trials.analyse()


def test_processors_of_the_host_are_treated_and_timed(pair: smp.Machine) -> None:
    def program(proc: Any) -> int:
        for _ in range(3):
            delay("both")
        if proc.rank == 1:
            delay("one")
        return int(proc.reduce(proc.rank))

    trials = screen(program, "2^2", treatment=Sleep(0.002), machine=pair, replicates=2)
    assert (trials.met["both"].passes, trials.met["one"].passes) == (6, 1)
    for row in trials.table:
        one, both = (row["levels"][trials.plan.factors.index(name)] > 0 for name in ("one", "both"))
        assert row["time"] >= 0.006 * both + 0.002 * one
    assert (trials.responses("result") == 1).all()


def test_runs_inside_a_treated_block_carry_its_treatments(pair: smp.Machine) -> None:
    def program(proc: Any) -> int:
        from smp._runtime.loops.places import PLACES

        return len(PLACES.orders())

    with treated({"a": "1us", "b": "cell"}):
        assert pair.run(program).results == [2, 2]
    assert pair.run(program).results == [0, 0]


@pytest.mark.parametrize(
    "name",
    [
        "many calls beside few",
        "the longest place waits",
        "a serial part",
        "a lock that is always held",
        "a slow first stage",
        "supersteps of unequal halves",
        "four at a lock",
    ],
)
def test_the_bottlenecks_of_the_benchmark_are_named_in_virtual_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perturb_host, "QUANTUM", 1000)
    case = perturb_host.CASES[name]
    how = perturb_host.How(replicates=1)
    with smp.emulated(max(case.processors, 1), schedule="clock") as machine:
        first, second = perturb_host.screened(case, machine, how).gains()[:2]
        before, after = (
            perturb_host.took(one, machine)
            for one in (case, case._replace(work=perturb_host.halved(case.work, first.factor)))
        )
    assert first.factor == case.planted
    assert first.significant
    assert first.gain > 1.5 * second.gain
    assert before - after == pytest.approx(first.gain / 2, rel=0.2)


# Several runs of a trial.


def test_the_quickest_of_several_runs_counts_with_all_its_responses(emulated: smp.Machine) -> None:
    rng = np.random.default_rng(2)
    drawn: list[int] = []

    def fresh() -> tuple[smp.GlobalArray, int]:
        drawn.append(int(rng.integers(1, 100)))
        return words, drawn[-1]

    def program(proc: Any, words: smp.GlobalArray, steps: int) -> dict[str, int]:
        with factor("a"):
            for _ in range(steps):
                fetch_add(words.view, 8 * proc.rank, 1)
        delay("b")
        return {"steps": steps, "left": 100 - steps}

    words = emulated.zeros(24, np.int64)
    options: dict[str, Any] = {"treatment": "1us", "arguments": fresh, "machine": emulated}
    trials = screen(program, "2^2", replicates=2, runs=3, **options)
    least = np.array(drawn[2:]).reshape(2, 4, 3).min(axis=2)  # in the order of running
    expected = np.take_along_axis(least, np.argsort(trials.table["trial"][::3].reshape(2, 4)), axis=1)
    assert np.array_equal(trials.responses("steps"), expected)
    assert np.array_equal(trials.responses("left"), 100 - expected)  # that of the same run, although it is the largest
    assert (trials.replicates, trials.runs, len(trials.table)) == (2, 3, 24)
    assert trials.table["run"].tolist() == [0, 1, 2] * 8
    assert trials.table["steps"].tolist() == drawn[2:]
    levels = (trials.plan.levels > 0).sum(axis=1)
    assert trials.responses() - expected * COST * 1e-9 == pytest.approx(np.tile(levels * 1e-6, (2, 1)), abs=1e-7)
    back = Trials.from_json(json.loads(json.dumps(trials.to_json())))
    assert np.array_equal(back.table, trials.table)
    assert np.array_equal(back.responses("left"), trials.responses("left"))
    assert "8 in 2 replicates, each in a new random order; of 3 runs of a trial, the quickest counts" in str(
        next(sections(trials, ["time"]))
    )


def test_missing_runs_are_reported() -> None:
    trials = screen(plain, "2^2", treatment="1us", replicates=1, runs=2)
    with pytest.raises(ValueError, match="1 of 8 runs of trials are missing"):
        Trials(**{**vars(trials), "table": trials.table[:-1]}).responses()


class Noisy:
    """A runner that passes `a` twice in each run, for its share of ``seconds``, and `seldom` only in the third run."""

    def __init__(self, virtual: bool, seconds: list[float]) -> None:
        self.virtual, self.seconds, self.runs = virtual, seconds, 0

    def trial(self, treatments: Mapping[str, Treatment]) -> Outcome:
        return Outcome(1.0, 1.0, {})

    def count(self) -> Counts:
        inside = self.seconds[self.runs]
        self.runs += 1
        met = {"a": Met(2, inside), **({"seldom": Met(1, 0.1)} if self.runs == 3 else {})}
        return Counts(Outcome(5 * inside, 1.0, {}), met, self.virtual)


@pytest.mark.parametrize(
    ("seconds", "most", "runs"),
    [
        ([0.3, 0.3, 0.3], 1, 1),
        ([0.9, 0.31, 0.3], 2, 2),
        ([0.9, 0.31, 0.8, 0.3, 0.7, 0.5, 0.9], 7, 7),  # the three shortest are 0.3, 0.31, 0.5
        ([0.32, 0.9, 0.8, 0.31, 0.7, 0.3, 0.9], 7, 7),  # these agree, but `seldom` was met only once
    ],
)
def test_the_shortest_time_in_a_place_over_the_counted_runs_is_kept(seconds: list[float], most: int, runs: int) -> None:
    runner = Noisy(False, seconds)
    found = counted_by(runner, most)
    assert runner.runs == runs
    assert found.met["a"] == Met(2, min(seconds[:runs]))
    assert found.outcome.time == 5 * min(seconds[:runs])
    assert ("seldom" in found.met) == (runs >= 3)


def test_runs_are_counted_until_three_agree_but_only_one_in_virtual_time() -> None:
    alike = Noisy(False, [0.0] * 3 + [0.9, 0.31, 0.8, 0.3, 0.32, 0.1])
    alike.runs = 3
    assert counted_by(alike, 9).met == {"a": Met(2, 0.3)}
    assert alike.runs == 3 + 5
    points = Noisy(False, [0.0, 0.0])
    assert counted_by(points, 9).met == {"a": Met(2, 0.0)}
    assert points.runs == 1
    emulated = Noisy(True, [0.9, 0.3])
    assert counted_by(emulated, 9).met == {"a": Met(2, 0.9)}  # runs differ by their data, not by noise
    assert emulated.runs == 1


# Shares of the time in a place.


def nested(proc: Any) -> None:
    """Pass places that take 400 and 40,000 ns, and one around both."""
    for _ in range(2):
        with factor("outer"):
            passed(np.zeros(100))
            with factor("short"):
                passed(np.zeros(500))
            with factor("long"):
                passed(np.zeros(50_000))


@smp.local
def passed(numbers: Any) -> int:
    """Let virtual time pass: 0.8 ns for each number, on an emulated machine."""
    return int(numbers.size)


def test_a_share_is_a_delay_in_proportion_to_the_time_in_each_place(emulated: smp.Machine) -> None:
    trials = screen(nested, "2^3", treatment="25%", machine=emulated, replicates=1)
    expected = {"long": 10_000, "outer": 10_120, "short": 100}  # inner places are part of the outer
    assert trials.plan.settings(7) == {name: Busy(ns) for name, ns in expected.items()}
    assert trials.about["shares"] == dict.fromkeys(expected, "25%")
    for name, ns in expected.items():
        assert trials.analyse().effect(name) == pytest.approx(2 * ns * 1e-9)
    gains = {row.factor: row.gain for row in trials.gains()}
    assert gains == pytest.approx({name: 8 * ns * 1e-9 for name, ns in expected.items()})
    assert "25% of the time in each place: long 10000ns, outer 10120ns" in str(next(sections(trials, ["time"])))


def test_shares_can_be_mixed_with_other_treatments_and_in_ladders(emulated: smp.Machine) -> None:
    given_: dict[str, Any] = {"long": "1%", "short": Share(200), "outer": "7us"}
    trials = screen(nested, "2^3", treatment=given_, factors=tuple(given_), machine=emulated, replicates=1)
    assert trials.plan.settings(7) == {"long": Busy(400), "short": Busy(800), "outer": Busy(7000)}
    assert trials.about["shares"] == {"long": "1%", "short": "200%"}
    ladder = [None, "10%", "1us", "0.01%"]
    found = screen(nested, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), treatment=ladder, factors=("long", "short"),
                   machine=emulated, replicates=1)  # fmt: skip
    assert found.plan.treatments == {
        "long": (None, Busy(4000), Busy(1000), Busy(4)),
        "short": (None, Busy(40), Busy(1000), Busy(1)),  # at least 1 ns
    }
    assert found.about["shares"] == dict.fromkeys(("long", "short"), "10%, 0.01%")


def test_a_share_on_the_host_is_at_least_a_microsecond() -> None:
    def program() -> None:
        with factor("empty"):
            pass
        with factor("asleep"):
            time.sleep(0.002)

    trials = screen(program, "2^2", treatment="10%", replicates=1)
    found = trials.plan.settings(3)
    assert found["empty"].seconds >= 1e-6
    assert found["asleep"].seconds == pytest.approx(0.1 * trials.met["asleep"].inside, abs=1e-9)
    assert found["asleep"].seconds >= 2e-4


def test_shares_have_a_text_form() -> None:
    for text in ("20%", "0.5%", "150%"):
        assert str(treatment(text)) == text
    assert treatment("12.50 %") == Share(12.5)
    with (
        pytest.raises(ValueError, match=r"only an experiment measures the time in a place, .*: give a length"),
        treated({"a": "20%"}),
    ):
        pass
    with pytest.raises(ValueError, match="not a treatment"):
        treatment("busy:20%")
    with pytest.raises(ValueError, match="Share takes 0 to"):
        Share(-1.0)
    with pytest.raises(TypeError, match="Share takes a number of percent"):
        Share("20")  # type: ignore[arg-type]


# Saving and resuming.


def test_trials_are_saved_and_read(tmp_path: Path) -> None:
    trials = screen(plain, "2^2", treatment={"a": Work(10), "b": "2us"}, replicates=2, work=5)
    trials.save(tmp_path / "trials.json")
    back = Trials.load(tmp_path / "trials.json")
    assert np.array_equal(back.table, trials.table)
    assert back.table.dtype == trials.table.dtype
    assert back.met == trials.met
    assert back.plan.settings(3) == trials.plan.settings(3) == {"a": Work(10), "b": Busy(2000)}
    assert back.analyse("depth").effects.tolist() == trials.analyse("depth").effects.tolist()
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(ValueError, match="holds no trials"):
        Trials.load(tmp_path / "other.json")


pause: dict[str, float] = {}
"""Pause of a program, which counts as the same program whatever the pause is."""


@pytest.mark.parametrize("runs", [1, 2])
def test_an_interrupted_experiment_resumes(tmp_path: Path, runs: int) -> None:
    kept = tmp_path / "kept.json"
    pause["asleep"] = 0.0
    told: list[float] = []

    def program() -> None:
        with factor("a"):
            time.sleep(pause["asleep"])
        delay("b")

    def interrupted(done: float, text: str) -> None:
        if round(done * 12 * runs) == 5:
            raise KeyboardInterrupt

    def experiment(progress: Callable[[float, str], None], seed: int = 0) -> Trials:
        options: dict[str, Any] = {"resume": kept, "seed": seed, "progress": progress}
        return screen(program, "2^2", treatment={"a": "10%", "b": "1us"}, replicates=3, runs=runs, **options)

    with pytest.raises(KeyboardInterrupt):
        experiment(interrupted)
    before = json.loads(kept.read_text())
    assert len(before["rows"]) == 5  # with two runs of each trial, in the middle of a trial
    with pytest.raises(ValueError, match="trials of another experiment"):
        experiment(interrupted, seed=1)
    pause["asleep"] = 0.002
    trials = experiment(lambda done, _: told.append(done))
    assert [round(done * 12 * runs) for done in told if done] == list(range(5, 12 * runs + 1))
    assert trials.table["time"][:5].tolist() == [row[0] for row in before["rows"]]
    assert trials.plan.to_json() == before["plan"]  # its share was measured before the interruption
    assert trials.met["a"].inside >= 0.002
    assert not kept.exists()
    kept.write_text("{")
    with pytest.raises(ValueError, match="cannot resume"):
        experiment(interrupted)


# Errors.


def test_a_failing_trial_ends_the_experiment_and_is_reported() -> None:
    from smp.perturb.places.settings import current

    def program() -> None:
        delay("a")
        delay("b")
        if {"a", "b"} <= set(current()):
            raise RuntimeError("both at once")

    with pytest.raises(TrialFailed, match=r"trial 4 of replicate 1 failed \(a = 1000ns, b = 1000ns\): both at once"):
        screen(program, "2^2", treatment="1us", replicates=1)


def test_a_run_with_another_placement_of_the_cpus_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    computer = Moving(lambda at: at % 3 > 2)
    monkeypatch.setattr(experiment, "Looker", computer.looker)

    def program() -> dict[str, float]:
        plain()
        return {"seconds": computer.work(0.05)}

    trials = screen(program, "2^2", treatment="1us", replicates=100)
    assert np.mean(trials.table["seconds"] > 0.05) < 0.05
    assert len(trials.table) == 400
    assert "taken again" in trials.about["placement"]
    assert trials.about["placement"] in " ".join(str(trials).split())
    assert Trials.from_json(trials.to_json()).about == trials.about


def test_responses_that_only_some_runs_have_are_reported() -> None:
    from smp.perturb.places.settings import current

    def program() -> dict[str, float]:
        delay("a")
        return {"y": 2.0} if current() else {"x": 1.0}

    with pytest.raises(TrialFailed, match="returned memory, time, y, but the first run returned memory, time, x"):
        screen(program, "2^1", treatment="1us", replicates=2)
    with pytest.raises(TrialFailed, match="returned memory, time, y, but the first run returned memory, throughput, t"):
        screen(program, "2^1", treatment="1us", replicates=2, work="x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factors": ["a", "nowhere"]}, "never passes nowhere; it passes a, b"),
        ({"factors": []}, "no factors"),
        ({"factors": ["a", "a"]}, "more than one factor has this name"),
        ({"design": "2^5"}, "a design of 5 factors cannot take 2: a, b"),
        ({"design": "2-3"}, "not a design of two levels"),
        ({"design": "OA25"}, "not an orthogonal array"),
        ({"design": np.zeros((3, 5), int), "treatment": [None]}, "levels of shape"),
        ({"design": np.ones((3, 2), int), "treatment": [None]}, "do not fit 1 treatments"),
        ({"design": design("2^2", "xy")}, "never passes x, y"),
        ({"design": design("2^2", "ba"), "factors": "ab"}, "the design has the factors b, a"),
        ({"treatment": "soon"}, "not a treatment"),
        ({"treatment": {"a": "1us"}}, "treatments of a, but the factors are a, b"),
        ({"replicates": 0}, "0 replicates of 1 runs"),
        ({"runs": 0}, "3 replicates of 0 runs"),
        ({"seed": -1}, "seed -1: give at least one of each, and a seed from 0"),
        ({"treatment": None}, "there is no treatment: give what is done"),
        ({"design": "2^2", "replicates": 1, "blocks": 2}, "4 trials in 2 blocks, without replicates"),
        ({"treatment": "20%"}, "in 'b' is not a delay, because no time was measured there: it is a point"),
        ({"treatment": {"a": "1us", "b": "5%"}}, "5% of the time in 'b'"),
        ({"blocks": 3}, "3 blocks"),
        ({"work": "weight"}, "weight"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        screen(plain, **options)


@pytest.mark.parametrize(
    ("after", "message"),
    [(0, "ended in a run without treatments: it exited with 3"), (20, r"trial . of replicate .*it exited with 3")],
)
def test_a_program_that_exits_is_reported_and_ends_nothing_else(after: int, message: str) -> None:
    calls = 0

    def leaving() -> None:
        nonlocal calls
        delay("a")
        calls += 1
        if calls > after:
            sys.exit(3)

    with pytest.raises(TrialFailed, match=message):
        screen(leaving, "2^1", treatment="1ns", replicates=20)


def test_treatments_set_outside_do_not_apply_to_factors() -> None:
    """Level -1 means no treatment, whatever is set around the experiment; other places keep their treatments."""
    with smp.emulated(1, schedule="clock") as machine, treated({"a": "5us", "b": "3us"}):
        found = screen(two_places, "2^1", factors=["a"], treatment="1us", replicates=2, machine=machine)
    assert found.responses().T.tolist() == [[pytest.approx(3e-6)] * 2, [pytest.approx(4e-6)] * 2]


def two_places(proc: Any) -> None:
    with factor("a"), factor("b"):
        pass


class Holder:
    def __init__(self, n: Any) -> None:
        self.n = n

    def run(self) -> None:
        delay("a")

    __call__ = run


def test_a_program_is_recognised_by_the_values_that_it_is_bound_to() -> None:
    def made(n: Any) -> Callable[[], None]:
        return lambda: None if n is None else delay("a")

    def about(program: Any, *arguments: Any) -> str:
        return json.dumps(about_program(program, arguments))

    large, other = np.arange(5000), np.arange(5000)
    other[1000] = 0
    for form in (made, Holder, lambda n: Holder(n).run, lambda n: partial(plain, n), lambda n: partial(plain, n=n)):
        assert about(form(1)) == about(form(1))
        assert about(form(1)) != about(form(100))
        assert about(form(large)) == about(form(large.copy())) != about(form(other))
    assert about(plain, large) != about(plain, other)
    assert about(plain, object()) == about(plain, object())  # its address does not matter
    assert "made anew" in json.dumps(about_program(plain, lambda: (1,)))


def test_numpy_numbers_and_fewer_factors_than_an_array_has_are_accepted(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    with smp.emulated(1, schedule="clock") as machine:
        trials = screen(
            two_places,
            "OA4(2^3)",
            treatment=[None, "1\u00b5s"],
            machine=machine,
            replicates=np.int64(2),
            seed=np.int64(3),
            resume=kept,
        )
    assert Trials.from_json(json.loads(json.dumps(trials.to_json()))).plan.factors == ("a", "b")
    assert sorted(map(tuple, trials.plan.levels.tolist())) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert trials.responses().mean(axis=0).max() == pytest.approx(2e-6)
    assert str(trials).count("times as fast") == 0  # delays make nothing faster
    assert repr(trials) == "<8 runs of 4 trials of a, b>"


def test_more_throughput_is_better(emulated: smp.Machine) -> None:
    def program(proc: Any) -> None:
        clock()
        with factor("a"), factor("b"):
            proc.barrier()

    trials = screen(program, "2^2", treatment="1us", machine=emulated, replicates=2, work=10)
    found = trials.analyse("throughput")
    assert found.effect("a") < 0
    assert all(step.action != "search" for step in next_steps(found, {}, {}))
    for search in (trials.search, trials.best):
        with pytest.raises(ValueError, match=r"the best throughput is the largest, .*: search by time"):
            search("throughput")
    assert "a" in str(trials.gains())


@pytest.mark.parametrize("what", ["arguments", "source"])
def test_trials_of_another_program_are_not_resumed(what: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    text = """
        import pathlib
        from smp.perturb import delay
        for place in "ab":
            delay(place)
        if pathlib.Path("{}").exists():
            raise SystemExit(7)
        """
    stop = tmp_path / "stop"
    file = script(tmp_path, text.format(stop))

    def run(*arguments: str) -> Trials:
        def progress(done: float, _: str) -> None:
            if done > 0.5 and not stop.with_suffix(".once").exists():
                stop.touch()

        return screen(file, "2^2", treatment="1ns", arguments=arguments, resume=kept, progress=progress)

    with pytest.raises(TrialFailed, match="SystemExit: 7"):
        run("5")
    assert kept.exists()
    stop.unlink()
    stop.with_suffix(".once").touch()
    if what == "source":
        script(tmp_path, text.format(stop) + "\n        x = 1")
    with pytest.raises(ValueError, match="of the program before it was changed"):
        run("5" if what == "source" else "6")


def test_arguments_of_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError, match="a sequence of treatments"):
        screen(plain, np.zeros((3, 2), int), treatment="1us")
    with pytest.raises(TypeError, match="needs one treatment"):
        screen(plain, "2^2", treatment=[None, "1us"])
    with pytest.raises(TypeError, match="a function or the path of a script"):
        screen(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        screen(plain, replicates=2.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"arguments must be a sequence, such as \['ab'\], not 'ab'"):
        screen(plain, arguments="ab")

    def generator() -> Iterator[None]:
        yield

    async def coroutine() -> None:
        pass

    for program in (generator, coroutine):
        with pytest.raises(TypeError, match="does not run when it is called"):
            screen(program)
    with pytest.raises(ValueError, match="passes no factor"):
        screen(lambda: None)
    with pytest.raises(ValueError, match="a number called 'time'"):
        screen(lambda: {"time": 3})


# Scripts.


def script(folder: Path, text: str) -> Path:
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text))
    return file


def test_each_trial_of_a_script_runs_in_its_own_process(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        """
        import os, sys, time
        from smp.perturb import factor
        import smp.perturb as package

        assert __name__ == "__main__" and sys.argv[1:] == ["7"], sys.argv
        package.visits = getattr(package, "visits", 0) + 1
        began = time.monotonic()
        with factor("sleep"):
            print("not to be seen")
        responses = {"process": os.getpid(), "visits": package.visits, "asleep": time.monotonic() - began}
        """,
    )
    trials = screen(file, "2^1", treatment=Sleep(0.01), arguments=["7"], replicates=2)
    assert len(set(trials.table["process"])) == 4
    assert os.getpid() not in trials.table["process"]
    assert (trials.table["visits"] == 1).all()
    treated_ = trials.table["levels"][:, 0] > 0
    assert (trials.table["asleep"][treated_] >= 0.01).all()
    assert trials.met["sleep"].passes == 1


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("raise ValueError('not that')", "ValueError: not that; the end of its output:\nbefore"),
        ("sys.exit(3)", "SystemExit: 3; the end of its output:\nbefore"),
        ("os._exit(4)", "exit code 4; the end of its output:\nbefore"),
        ("os.kill(os.getpid(), 9)", "signal SIGKILL; the end of its output:\nbefore"),
        ("responses = {'order': 3}", "a number called 'order'"),
    ],
)
def test_a_failing_script_is_reported_with_its_output(tmp_path: Path, ending: str, message: str) -> None:
    file = script(tmp_path, f"import os, sys\nfrom smp.perturb import delay\ndelay('a')\nprint('before')\n{ending}\n")
    with pytest.raises(TrialFailed, match=message):
        screen(file)


def test_an_invalid_script_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        screen(tmp_path / "nowhere.py")
    with pytest.raises(SyntaxError):
        screen(script(tmp_path, "def"))
    with pytest.raises(TypeError, match="must open its machines itself"), smp.emulated(1) as machine:
        screen(script(tmp_path, "pass"), machine=machine)


@pytest.mark.slow
def test_machines_of_a_script_are_treated(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        """
        import time
        import smp
        from smp.compiled import delay

        @smp.local
        def loop(n):
            for _ in range(n):
                delay("swap")

        def program(proc):
            loop(1)
            began = time.monotonic()
            loop(3)
            return time.monotonic() - began

        loop(1)
        with smp.host(2) as machine:
            responses = min(machine.run(program).results)
        """,
    )
    trials = screen(file, "2^1", treatment=Busy(2_000_000), replicates=2)
    treated_ = trials.table["levels"][:, 0] > 0
    assert (trials.table["result"][treated_] >= 0.006).all()
    assert trials.table["result"][treated_].min() > trials.table["result"][~treated_].max()


def test_the_package_is_imported_without_scipy_numba_and_matplotlib() -> None:
    code = "import sys, smp.perturb; print([name for name in ('scipy', 'numba', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
