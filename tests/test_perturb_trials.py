"""Experiments: which trials are run, in which order, what they measure, and that planted effects are found."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
import smp.machine
from smp.compiled import clock, delay, fetch_add
from smp.perturb import Busy, Sleep, TrialFailed, Trials, Work, factor, screen, treated
from smp.perturb.designs import design, fractional
from smp.perturb.orthogonal import orthogonal_array

Machines = Callable[..., smp.Machine]
COST = 8  # virtual ns of a fetch_add


@pytest.fixture(scope="module")
def emulated() -> Iterator[smp.Machine]:
    """An emulated machine of three processors that goes by virtual time: no noise."""
    with smp.emulated(3, schedule="clock") as machine:
        yield machine


def planted(proc: Any, passes: dict[str, int]) -> None:
    """Pass places on processor 0, so many times each."""
    if proc.rank == 0:
        clock()  # which takes virtual time
        for name, count in passes.items():
            for _ in range(count):
                with factor(name):
                    pass


def unequal(proc: Any, words: smp.GlobalArray) -> int:
    """Processor 0 has many times the work of the others, and all meet."""
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


# What is run.


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
    from smp.perturb.factors import current

    seen = []

    def program() -> None:
        plain()
        seen.append({name: str(one) for name, one in current().items()})

    trials = screen(program, "2^2", treatment={"a": "3us", "b": "work:7"}, replicates=1)
    assert seen[:2] == [{}, {}]  # the warm-up, and the run that is counted
    for given_, row in zip(seen[2:], trials.table, strict=True):
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


def test_all_places_become_factors_by_themselves() -> None:
    trials = screen(plain, treatment="1us", replicates=1)
    assert trials.plan.factors == ("a", "b")
    assert trials.design.name == "2^2"
    assert (trials.met["a"].passes, trials.met["b"].passes) == (1, 1)


def test_arguments_can_be_made_anew_for_each_run() -> None:
    made = []

    def fresh() -> tuple[list[int]]:
        made.append([3, 1, 2])
        return (made[-1],)

    def program(numbers: list[int]) -> float:
        with factor("sort"):
            assert numbers == [3, 1, 2]
            numbers.sort()
        return float(numbers[0])

    trials = screen(program, "2^1", treatment="1us", replicates=2, arguments=fresh)
    assert len(made) == len({id(one) for one in made}) == 6
    assert trials.responses("result").tolist() == [[1, 1], [1, 1]]


# What is measured.


def test_numbers_memory_and_throughput_are_responses() -> None:
    trials = screen(plain, "2^2", treatment="1us", replicates=2, work="depth")
    assert set(trials.names) == {"time", "memory", "throughput", "depth", "width"}
    assert (trials.responses("depth") == 3).all()
    assert (trials.responses("memory") > 1e6).all()
    assert np.allclose(trials.responses("throughput") * trials.responses("time"), 3)


def test_the_peak_of_memory_is_that_of_each_trial() -> None:
    def program() -> None:
        with factor("much"):
            np.ones(1 << 23).sum()  # 64 MiB: more than the allocator keeps for later

    def nothing() -> None:
        delay("little")

    much = screen(program, "2^1", treatment="1us", replicates=1).responses("memory")
    little = screen(nothing, "2^1", treatment="1us", replicates=1).responses("memory")
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
        assert trials.delayed()[name] == pytest.approx(count * ns * 1e-9 / 3)  # a third of it by each processor
    assert found.effect("ab") == pytest.approx(0, abs=1e-15)
    assert found.uncertainty == pytest.approx(0, abs=1e-15)


def test_a_delay_where_others_wait_costs_nothing(emulated: smp.Machine) -> None:
    words = emulated.zeros(24, np.int64)
    trials = screen(unequal, "2^4", treatment=Busy(50), arguments=(words,), machine=emulated, replicates=1)
    found = trials.analyse()
    assert found.effect("long") == pytest.approx(50e-9)
    assert found.effect("short") == pytest.approx(0, abs=1e-12)  # it waits for `long` anyway
    assert found.effect("after") == pytest.approx(50e-9)


def test_the_gain_of_a_place_is_the_time_that_it_takes() -> None:
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
    with pytest.raises(ValueError, match="more levels"):
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


@pytest.mark.skipif(not hasattr(smp.machine, "carried"), reason="machines do not carry treatments by themselves yet")
def test_runs_inside_treated_carry_the_treatments(pair: smp.Machine) -> None:
    def program(proc: Any) -> int:
        from smp import _treatments

        return len(_treatments.orders())

    with treated({"a": "1us", "b": "cell"}):
        assert pair.run(program).results == [2, 2]
    assert pair.run(program).results == [0, 0]


# What is kept.


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


def test_an_interrupted_experiment_goes_on(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    runs = 0

    def interrupted() -> None:
        nonlocal runs
        runs += 1
        if runs == 2 + 5:
            raise KeyboardInterrupt
        delay("a")
        delay("b")

    def experiment(seed: int = 0) -> Trials:
        return screen(interrupted, "2^2", treatment="1us", replicates=3, resume=kept, seed=seed)

    with pytest.raises(KeyboardInterrupt):
        experiment()
    before = json.loads(kept.read_text())["rows"]
    assert len(before) == 4
    with pytest.raises(ValueError, match="trials of another experiment"):
        experiment(seed=1)
    runs = 100
    trials = experiment()
    assert runs == 100 + 2 + 8
    assert trials.table["time"][:4].tolist() == [row[0] for row in before]
    assert not kept.exists()
    kept.write_text("{")
    with pytest.raises(ValueError, match="cannot resume"):
        experiment()


# What is refused.


def test_a_failing_trial_ends_the_experiment_and_is_told() -> None:
    from smp.perturb.factors import current

    def program() -> None:
        delay("a")
        delay("b")
        if {"a", "b"} <= set(current()):
            raise RuntimeError("both at once")

    with pytest.raises(TrialFailed, match=r"trial 4 of replicate 1 failed \(a = 1000ns, b = 1000ns\): both at once"):
        screen(program, "2^2", treatment="1us", replicates=1)


def test_numbers_that_come_and_go_are_told() -> None:
    results = iter([{"x": 1.0}, {"x": 1.0}, {"x": 1.0}, {"y": 2.0}])

    def program() -> dict[str, float]:
        delay("a")
        return next(results)

    with pytest.raises(TrialFailed, match="returned memory, time, y; the first run returned memory, time, x"):
        screen(program, "2^1", treatment="1us", replicates=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factors": ["a", "nowhere"]}, "never passes nowhere; it passes a, b"),
        ({"factors": []}, "no factors"),
        ({"factors": ["a", "a"]}, "more than one factor of that name"),
        ({"design": "2^5"}, r"2 factors \(a, b\) for a design of 5"),
        ({"design": "2-3"}, "no design of two levels"),
        ({"design": "OA25"}, "no orthogonal array"),
        ({"design": np.zeros((3, 5), int), "treatment": [None]}, "levels of shape"),
        ({"design": np.ones((3, 2), int), "treatment": [None]}, "1 treatments for them"),
        ({"design": design("2^2", "xy")}, "never passes x, y"),
        ({"design": design("2^2", "ba"), "factors": "ab"}, "the design is of b, a"),
        ({"treatment": "soon"}, "no treatment"),
        ({"treatment": {"a": "1us"}}, "treatments of a; the factors are a, b"),
        ({"replicates": 0}, "0 replicates"),
        ({"blocks": 3}, "3 blocks"),
        ({"work": "weight"}, "weight"),
    ],
)
def test_what_makes_no_sense_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        screen(plain, **options)


def test_arguments_of_other_types_are_told() -> None:
    with pytest.raises(TypeError, match="a sequence of treatments"):
        screen(plain, np.zeros((3, 2), int), treatment="1us")
    with pytest.raises(TypeError, match="takes one treatment"):
        screen(plain, "2^2", treatment=[None, "1us"])
    with pytest.raises(TypeError, match="a function or the path of a script"):
        screen(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="passes no factor"):
        screen(lambda: None)
    with pytest.raises(ValueError, match="a number called 'time'"):
        screen(lambda: {"time": 3})


# Scripts.


def script(folder: Path, text: str) -> Path:
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text))
    return file


def test_each_trial_of_a_script_is_a_process_of_its_own(tmp_path: Path) -> None:
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
        ("raise ValueError('not that')", "ValueError: not that; it said:\nbefore"),
        ("sys.exit(3)", "SystemExit: 3; it said:\nbefore"),
        ("os._exit(4)", "exit code 4; it said:\nbefore"),
        ("os.kill(os.getpid(), 9)", "signal SIGKILL; it said:\nbefore"),
        ("responses = {'order': 3}", "a number called 'order'"),
    ],
)
def test_a_script_that_fails_is_told_with_what_it_said(tmp_path: Path, ending: str, message: str) -> None:
    file = script(tmp_path, f"import os, sys\nfrom smp.perturb import delay\ndelay('a')\nprint('before')\n{ending}\n")
    with pytest.raises(TrialFailed, match=message):
        screen(file)


def test_a_script_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        screen(tmp_path / "nowhere.py")
    with pytest.raises(SyntaxError):
        screen(script(tmp_path, "def"))
    with pytest.raises(TypeError, match="opens its machines itself"), smp.emulated(1) as machine:
        screen(script(tmp_path, "pass"), machine=machine)


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
    trials = screen(file, "2^1", treatment=Busy(2_000_000), replicates=1)
    treated_ = trials.table["levels"][:, 0] > 0
    assert (trials.table["result"][treated_] >= 0.006).all()
    assert trials.table["result"][treated_].min() > trials.table["result"][~treated_].max()


def test_the_package_is_imported_without_scipy_and_numba() -> None:
    code = "import sys, smp.perturb; print([name for name in ('scipy', 'numba', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
