"""Calibration and trials with a made-up clock: numbers of timings, fitted points, resumed files, and judgements.

Each task returns the seconds that it is supposed to have taken.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.libraries import Task, Told, interrupted, line, made_library
from support.placement import Moving

import smp
from smp._runtime.host.looking import Looker
from smp.errors import FitError, ModelError
from smp.models.fit.fitting import ModelWarning
from smp.models.fit.inputs import Input
from smp.selection import calibration as calibrating
from smp.selection import rounds, timings, trial
from smp.selection.implementation import Implementation, Parameter
from smp.selection.library import Library
from smp.selection.rounds import FAR, FEWEST, MOST, in_rounds, interval, ratio
from smp.selection.trial import Case, Trial, try_library

__all__ = ["interrupted"]  # a fixture


@pytest.fixture(autouse=True)
def made_up_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (timings, rounds):
        monkeypatch.setattr(module, "timed", lambda call: call())


def specified(task: Task, **options: Any) -> smp.Specification:
    return smp.Specification("line", {"n": "100..1e6 x 10"}, ["n"], task, **options)


# ------------------------------------------------------------------------------------------------------ timings


@pytest.mark.parametrize(
    ("factors", "count"),
    [
        ((1.0, 1.04, 1.09), 3),
        ((1.0, 1.0, 1.2, 1.0, 1.01), 5),  # one spike, which two more timings settle
        ((1.0, 1.2, 1.0, 1.2, 1.0, 1.2, 1.0), 7),  # never settled
    ],
)
def test_a_point_is_timed_three_or_five_or_seven_times(factors: tuple[float, ...], count: int) -> None:
    task = Told(line, factors)
    model = smp.calibrate(specified(task), verification=5)
    assert set(task.calls.values()) == {count}
    samples = model.samples
    assert samples is not None
    assert len(samples.seconds) == 15
    for n, seconds, raw in zip(samples.inputs["n"], samples.seconds, samples.raw, strict=True):
        assert raw == pytest.approx([line(n) * factor for factor in factors[:count]])
        assert seconds == min(raw)


def test_the_model_follows_the_timings() -> None:
    model = smp.calibrate(specified(Told(line)), verification=5)
    assert model.predict(5000) == pytest.approx(line(5000))
    assert model.quality.mre == pytest.approx(0, abs=1e-9)
    assert model.machine["cpus"]
    assert model.machine["smp"] == smp.__version__


def test_verification_points_are_random_and_not_fitted() -> None:
    grid = Input.parse("n", "100..1e6 x 10").grid

    def bent(n: float) -> float:
        return line(n) * (1 if n in grid else 1.05)

    model = smp.calibrate(specified(Told(bent)), verification=7)
    samples = model.samples
    assert samples is not None
    assert samples.inputs["n"][~samples.verification].tolist() == list(grid)
    assert samples.verification.sum() == model.quality.verified == 7
    assert model.predict(5000) == pytest.approx(line(5000))
    assert model.quality.mre == pytest.approx(1 - 1 / 1.05)
    again = smp.calibrate(specified(Told(bent)), verification=7)
    assert again.samples is not None
    assert again.samples.inputs["n"].tolist() == samples.inputs["n"].tolist()
    other = smp.calibrate(specified(Told(bent)), verification=7, seed=2)
    assert other.samples is not None
    assert other.samples.inputs["n"].tolist() != samples.inputs["n"].tolist()


def test_the_number_of_points_on_the_grid_can_be_limited() -> None:
    task = Told(line)
    model = smp.calibrate(specified(task, points=6), verification=4)
    assert len(task.calls) == 10
    assert model.quality.count == 6


def test_a_round_visits_every_point_once_in_random_order() -> None:
    order: list[int] = []

    def told(n: int) -> float:
        order.append(n)
        return line(n)

    smp.calibrate(specified(told), verification=5)
    visits = [order[15 * k : 15 * (k + 1)] for k in range(3)]
    assert len(order) == 45
    assert all(sorted(each) == sorted(visits[0]) for each in visits)
    assert visits[0] != visits[1] != sorted(visits[1])


def test_an_error_above_ten_per_cent_causes_a_warning() -> None:
    def curved(n: float) -> float:
        return 1e-9 * n**1.5

    with pytest.warns(ModelWarning, match="line predicts with a mean error of .* a term may be missing"):
        smp.calibrate(specified(curved), verification=20)


def test_progress_is_reported_and_grows() -> None:
    told: list[tuple[float, str]] = []
    smp.calibrate(
        specified(Told(line, (1.0, 1.2))), verification=5, progress=lambda done, text: told.append((done, text))
    )
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] == 1.0
    assert told[-1][1] == "fitting"
    assert all(text.startswith("line: n = ") for _, text in told[:-1])


# ------------------------------------------------------------------------------------- set-up, conditions, libraries


def test_set_up_and_cleanup_surround_every_visit() -> None:
    events: list[str] = []

    def setup(n: int, w: int) -> tuple[int, int]:
        assert isinstance(n, int)
        events.append("setup")
        return n, w

    def task(n: int, w: int, digit: int) -> float:
        events.append("task")
        assert digit in (2, 4)
        return 1e-9 * n * w / digit

    specification = smp.Specification(
        "t",
        {"n": "100..1e4 x 4", "w": "8, 32", "digit": "2, 4"},
        ["n * w / digit"],
        task,
        setup,
        lambda n, w: events.append("cleanup"),
        keywords=("digit",),
    )
    model = smp.calibrate(specification, verification=4)
    assert events == ["setup", "task", "cleanup"] * (3 * 20)
    assert model.predict(1000, 8, 2) == pytest.approx(4e-6)


def test_cleanup_also_follows_a_task_that_fails() -> None:
    cleaned: list[int] = []

    def fails(n: int) -> float:
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        smp.calibrate(specified(fails, cleanup=cleaned.append))
    assert len(cleaned) == 1


def test_nothing_is_timed_if_the_condition_fails() -> None:
    task = Told(line)
    model = smp.calibrate(specified(task, when="n >= 5000"), verification=20)
    assert min(task.calls) >= 5000
    assert model.predict(4999) == math.inf
    assert model.predict(5000) == pytest.approx(line(5000))
    assert model.quality.verified == 20, "points replace those at which it fails"


def test_inputs_may_be_derived_from_the_data() -> None:
    """The loops make the data, and the inputs of the model are derived from the data."""
    specification = smp.Specification(
        "t",
        {"length": "100..1e6", "half": "50..1e6 real"},
        ["length", "half"],
        lambda data: line(len(data)),
        lambda n: (range(n),),
        loops={"n": "100..1e6 x 10"},
        of=lambda data: (len(data), len(data) / 2),
        when="half >= 100",
    )
    model = smp.calibrate(specification, verification=5)
    assert model.names == ("length", "half")
    assert model.samples is not None
    assert (model.samples.inputs["half"] == model.samples.inputs["length"] / 2).all()
    assert model.samples.inputs["half"].min() >= 100
    assert model.predict(1000, 500) == pytest.approx(line(1000))


def test_as_many_inputs_must_be_derived_as_there_are() -> None:
    looped = smp.Specification("t", {"n": "1..9", "m": "1..9"}, ["n"], print, loops={"a": "1..9"}, of=lambda a: (a,))
    with pytest.raises(ModelError, match=r"of\(\) of t returned \(\d+,\), but its inputs are n, m"):
        smp.calibrate(looped)


def test_a_librarys_implementations_share_their_points() -> None:
    library, tasks = made_library()
    assert smp.calibrate(library, verification=5) is library
    assert tasks["straight"].calls == tasks["steep"].calls
    assert [library.choose(n) for n in (10, 110, 112, 10**6)] == ["steep", "steep", "straight", "straight"]


def test_a_parameter_is_a_loop_of_its_own_implementation_only() -> None:
    library, tasks = made_library()
    seen: set[tuple[int, int]] = set()

    def blocked(n: int, depth: int) -> float:
        seen.add((n, depth))
        return 1e-12 * n * (100 / depth + depth)

    depth = Parameter("depth", "powers 1..64", 0, 6, lambda step, n: 2**step)
    library.add(Implementation("blocked", blocked, ["n / depth", "n * depth"], parameter=depth))
    smp.calibrate(library, verification=5)
    assert len(seen) == 12 * 7 + 5
    assert library.best(1000).name == "blocked"
    assert library.best(1000).keywords == {"depth": 8}
    assert library.best(1000).seconds == pytest.approx(1e-9 * 20.5)
    assert set(tasks["steep"].calls) == set(tasks["straight"].calls)


def test_tasks_on_a_machine_are_programs() -> None:
    def program(proc: smp.Processor, data: smp.GlobalArray) -> None:
        with proc.superstep("read") as step:
            step.copy_in(data, slice(None))

    with smp.emulated(2) as machine, pytest.MonkeyPatch.context() as patch:
        patch.setattr(timings, "timed", lambda call: line(len(call().steps) * 1000))
        model = smp.calibrate(
            smp.Specification("t", {"n": "10..90"}, [], program, lambda on, n: (on.zeros(n),)), machine, verification=2
        )
    assert model.predict(50) == pytest.approx(line(2000))  # one superstep of two processors
    assert model.machine["processors"] == 2


# ------------------------------------------------------------------------------------------- interrupted and resumed


def test_timings_from_before_ctrl_c_are_not_repeated(interrupted: Path) -> None:
    library, tasks = made_library()
    smp.calibrate(library, verification=5, resume=interrupted)
    assert sum(tasks["steep"].calls.values()) == sum(tasks["straight"].calls.values()) == 51 - 26
    whole, _ = made_library()
    smp.calibrate(whole, verification=5)
    assert library.models["steep"].coefficients == pytest.approx(whole.models["steep"].coefficients)
    assert not interrupted.exists()


def test_timings_of_another_calibration_are_refused_and_kept(interrupted: Path) -> None:
    library, _ = made_library()
    with pytest.raises(ModelError, match="holds timings of another calibration: remove it, or give another file"):
        smp.calibrate(library, verification=5, seed=2, resume=interrupted)
    with pytest.raises(ModelError, match="another calibration"):
        smp.calibrate(specified(Told(line)), resume=interrupted)
    assert json.loads(interrupted.read_text())["taken"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"taken": []}'])
def test_a_file_that_cannot_be_resumed_is_refused(text: str, tmp_path: Path) -> None:
    kept = tmp_path / "under-way.json"
    kept.write_text(text)
    with pytest.raises(ModelError, match="cannot resume from"):
        smp.calibrate(specified(Told(line)), resume=kept)


def test_timings_that_cannot_be_fitted_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / "under-way.json"
    with pytest.raises(FitError, match="not above zero"):
        smp.calibrate(specified(lambda n: 0.0), resume=kept)
    assert kept.exists()


def test_timings_are_saved_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, seen = tmp_path / "under-way.json", list[int]()
    monkeypatch.setattr(calibrating, "SAVE_S", -1.0)

    def progress(done: float, text: str) -> None:
        if kept.exists():
            data = json.loads(kept.read_text())
            seen.append(sum(len(raw) for raw in data["taken"][0]["raw"][0]))

    smp.calibrate(specified(Told(line)), verification=5, resume=kept, progress=progress)
    assert seen == list(range(1, 46))


def test_too_few_points_are_reported_before_any_timing() -> None:
    task = Told(line)
    with pytest.raises(FitError, match="3 points cannot fit the 3 terms of line"):
        smp.calibrate(smp.Specification("line", {"n": "1, 2, 3"}, ["n", "n ** 2"], task))
    assert not task.calls


def test_a_library_without_implementations_is_refused() -> None:
    with pytest.raises(ModelError, match="the library none has no implementations to calibrate"):
        smp.calibrate(Library("none", {"n": "1..9"}, lambda n: (n,)))


# ---------------------------------------------------------------------------------------------------------- rounds


def taking(*seconds: float) -> Callable[[], float]:
    """Return a call that takes these times, one after another; a single time is repeated."""
    taken: Iterator[float] = iter(seconds * (MOST if len(seconds) == 1 else 1))
    return lambda: next(taken)


def test_the_interval_of_a_median_comes_from_order_statistics() -> None:
    """It spans all 3 rounds, all but one at each end of 9, all but six of 21: the binomial's 95% by the normal rule."""
    times = {"a": [1.0 + k for k in range(21)], "b": [1.0] * 21}
    for count, out in [(3, 0), (7, 0), (8, 1), (9, 1), (13, 2), (21, 6)]:
        some = {name: taken[:count] for name, taken in times.items()}
        assert interval(some, "a", "b") == (1.0 + out, count - out)
        assert ratio(some, "a", "b") == (count + 1) / 2


@pytest.mark.parametrize("fast", [1.0, 1.5])
def test_a_clear_case_takes_three_rounds(fast: float) -> None:
    times = in_rounds({"chosen": taking(1.0), "other": taking(fast * 1.1)}, "chosen", np.random.default_rng(0))
    assert len(times["chosen"]) == FEWEST
    slower = in_rounds({"chosen": taking(1.5), "other": taking(1.0)}, "chosen", np.random.default_rng(0))
    assert len(slower["chosen"]) == FEWEST


def test_an_unclear_case_takes_more_rounds() -> None:
    """The chosen one takes 1% less and 5% more, alternately: never clearly above 2%, nor below."""
    times = in_rounds(
        {"chosen": taking(*[0.99, 1.05] * MOST), "other": taking(1.0)}, "chosen", np.random.default_rng(0)
    )
    assert len(times["chosen"]) == len(times["other"]) == MOST


def test_an_implementation_that_is_far_behind_twice_is_not_timed_again() -> None:
    calls = {
        "chosen": taking(*[0.99, 1.05] * MOST),
        "near": taking(1.0),
        "far": taking(1.05 * FAR),
        "once": taking(10.0, *[1.0] * MOST),
    }
    times = in_rounds(calls, "chosen", np.random.default_rng(0))
    assert np.isfinite(times["far"]).tolist() == [True, True] + [False] * (MOST - 2)
    assert np.isfinite(times["once"]).sum() == np.isfinite(times["near"]).sum() == MOST


# ----------------------------------------------------------------------------------------------------------- trials


def case(chosen: str, predicted: float = 1.0, **times: float) -> Case:
    return Case({"n": 1.0}, chosen, predicted, {name: [seconds] * 3 for name, seconds in times.items()})


def test_a_trial_summarises_its_cases() -> None:
    """By hand: the choice is right twice (once the fastest, once 1% behind), and wrong twice, by 10% and 30%."""
    made = Trial(
        "two",
        [
            case("a", 1.1, a=1.0, b=2.0),
            case("a", 1.01, a=1.01, b=1.0),
            case("b", 1.1, a=1.0, b=1.1, c=4.0),
            case("b", 1.3, a=1.0, b=1.3),
        ],
    )
    assert [each.loss for each in made.cases] == pytest.approx([0.0, 0.01, 0.1, 0.3])
    assert [each.right for each in made.cases] == [True, True, False, False]
    assert [each.beaten for each in made.cases] == [False, True, True, True]
    assert (made.accuracy, made.fastest, made.loss) == pytest.approx((0.5, 0.25, 0.2))
    assert made.won() == {"a": (2, 3), "b": (2, 1), "c": (0, 0)}
    gains = made.gains()
    assert list(gains) == ["a", "b"]
    assert gains["a"] == pytest.approx(((1 / 1.1 / 1.3) ** 0.25, 1.0))
    assert gains["b"] == pytest.approx(((2 / 1.01) ** 0.25, 2.0))
    assert made.error() == pytest.approx(1.1**0.25 - 1)
    assert Trial("two", made.cases[:1]).loss == 0.0


def test_a_second_visit_counts_as_much_as_the_first() -> None:
    first = Case({"n": 1.0}, "a", 1.0, {"a": [1.2] * 3, "b": [1.0] * 3, "far": [9.0, 9.0, math.nan]})
    calm = Case({"n": 1.0}, "a", 1.0, {"a": [1.0] * 4, "b": [1.1] * 4, "far": [9.0, 9.0, math.nan, math.nan]})
    assert first.close
    assert not case("a", a=1.0, b=1.2).close
    both = first.together(calm)
    assert [len(times) for times in both.times.values()] == [7, 7, 7]
    assert first.loss == pytest.approx(0.2)
    assert both.loss == 0.0, "it is ahead in four of the seven rounds"
    assert ratio(both.times, "far", "a") == pytest.approx(np.median([9 / 1.2, 9 / 1.2, 9.0, 9.0]))


def test_the_ratio_within_a_round_survives_a_slow_moment() -> None:
    slow = Case({"n": 1.0}, "a", 1.0, {"a": [1.0, 9.0, 1.0], "b": [1.1, 9.9, 1.1]})
    assert slow.loss == 0
    assert ratio(slow.times, "a", "b") == pytest.approx(1 / 1.1)


@pytest.mark.parametrize("placed", [True, False])
def test_timings_are_those_of_the_main_placement_of_the_cpus(placed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """For nearly half of the time the task takes 50% longer. The least of the timings is of the main placement even if
    no look takes place, but only the looks find the other placement and say so."""
    computer = Moving(lambda at: at % 3 > 1.65)
    monkeypatch.setattr(calibrating, "Looker", computer.looker if placed else lambda: Looker(lambda: math.nan))
    task = smp.Specification("task", {"n": "1e3..1e6 x 30"}, ["n"], lambda n: computer.work(0.02 + 1e-7 * n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = smp.calibrate(task, verification=10)
    off = [abs(model.predict(n) / (0.02 + 1e-7 * n) - 1) for n in (2e3, 2e4, 2e5, 9e5)]
    assert max(off) < 0.02, off
    assert ("placement" in model.machine) is placed
    if placed:
        assert "30 ns" in model.machine["placement"]


def test_a_round_with_another_placement_of_the_cpus_is_repeated() -> None:
    """In the other placement, one implementation takes 50% longer, so that the other seems better."""
    computer = Moving(lambda at: at % 3 > 1.9)
    calls = {"near": lambda: computer.work(0.010), "steady": lambda: computer.work(0.012, slower=1.0)}
    looker = computer.looker()
    found = [in_rounds(calls, "near", np.random.default_rng(k), looker) for k in range(60)]
    wrong = sum(ratio(times, "steady", "near") < 1 for times in found)
    assert wrong <= 3
    assert looker.again > 10


def calibrated() -> Library:
    library, _ = made_library()
    smp.calibrate(library, verification=5)
    return library


def test_a_trial_finds_a_right_library_right() -> None:
    told: list[float] = []
    found = try_library(calibrated(), 40, progress=lambda done, text: told.append(done))
    assert len(found.cases) == 40
    assert found.accuracy == found.fastest == 1.0
    assert found.loss == 0.0
    assert found.error() == pytest.approx(0, abs=1e-9)
    close = sum(each.close for each in found.cases)
    assert told[:40] == [k / 80 for k in range(40)], "every case once"
    assert len(told) == 40 + close, "the close cases once more"
    assert {len(each.times["steep"]) for each in found.cases if not each.close} == {FEWEST}
    n = [each.inputs["n"] for each in found.cases]
    assert found.won()["steep"] == (sum(each < 111 for each in n),) * 2
    assert [each.inputs["n"] for each in try_library(calibrated(), 40).cases] == n
    assert [each.inputs["n"] for each in try_library(calibrated(), 40, seed=3).cases] != n


def test_a_trial_finds_a_wrong_library_wrong() -> None:
    library = calibrated()
    library.models["steep"], library.models["straight"] = library.models["straight"], library.models["steep"]
    found = try_library(library, 40)
    expected = []
    for each in found.cases:
        n = each.inputs["n"]
        chosen, other = (line(n), 10e-9 * n) if n < 111 else (10e-9 * n, line(n))
        expected.append(chosen / other - 1)
        assert each.predicted == pytest.approx(other)
    assert [each.loss for each in found.cases] == pytest.approx(expected)
    assert found.accuracy == np.mean([loss <= 0.02 for loss in expected])


def test_only_applicable_implementations_take_part_and_a_rule_may_decide() -> None:
    library = Library("two", {"n": "10..1e6 x 30"}, lambda n: (n,), rule=lambda n: "steep")
    library.add(
        Implementation("straight", line, ["n"], "n > 1000"),
        Implementation("steep", lambda n: 10e-9 * n, ["n"], "n < 50"),
    )
    smp.calibrate(library, verification=30)
    found = try_library(library, 40)
    for each in found.cases:
        n = each.inputs["n"]
        assert list(each.times) == (["straight"] if n > 1000 else ["steep"])
        assert math.isnan(each.predicted) == (50 <= n <= 1000)


def test_ctrl_c_leaves_the_cases_of_a_trial_so_far() -> None:
    made: list[Case] = []

    def ctrl_c(done: float, text: str) -> None:
        if len(made) == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        try_library(calibrated(), 40, progress=ctrl_c, into=made)
    assert Trial("two", made).accuracy == 1.0


def test_a_trial_needs_models() -> None:
    with pytest.raises(ModelError, match="the library two has no models to try: calibrate it first"):
        try_library(made_library()[0], 5)


def test_a_trial_cleans_up_after_every_case() -> None:
    cleaned: list[int] = []
    library = Library("one", {"n": "10..1e6 x 12"}, lambda n: (n,), cleanup=cleaned.append)
    library.add(Implementation("only", line, ["n"]))
    smp.calibrate(library, verification=5)
    cleaned.clear()
    found = try_library(library, 6)
    assert cleaned == [each.inputs["n"] for each in found.cases]
    assert trial.random_cases(library, np.random.default_rng(2), 2)[0] == {"n": cleaned[0]}


def test_a_library_that_fits_causes_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrated()
