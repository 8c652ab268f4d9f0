"""Libraries correct their predictions by the times of recent calls.  Clock and times are made up."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.libraries import use

from smp.kernels.grids import functions as grids
from smp.kernels.grids.choice import relaxations
from smp.kernels.grids.layout_choice import layouts
from smp.kernels.grids.red_black import CHECK
from smp.kernels.lists.choice import programs
from smp.kernels.sorting import choice as sorting
from smp.kernels.sorting.programs import program_library
from smp.selection.edges import ExtrapolationWarning
from smp.selection.implementation import Choice, Implementation
from smp.selection.library import Library
from smp.selection.recent import MEMORY_S, SHORTEST_S, Recent
from smp.selection.trial import try_library

ONE, TWO = "one stream", "two streams"
PREDICTED = {ONE: 0.018, TWO: 0.01}
"""Seconds of a call on a free computer, which are also the predictions."""


class Computer:
    """A computer whose time passes only in calls and pauses, with a library of two implementations."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, correct: bool = True) -> None:
        self.now, self.slower, self.calls = 1000.0, {ONE: 1.0, TWO: 1.0}, list[str]()
        monkeypatch.setattr("smp.selection.library.perf_counter", lambda: self.now)
        self.library = Library("work", {"n": "1..1e6"}, lambda n: (n,), correct=correct)
        self.library.add(*(Implementation(name, self._runs(name), ["n"]) for name in PREDICTED))
        use(self.library, {name: {"1": seconds} for name, seconds in PREDICTED.items()})

    def _runs(self, name: str) -> Callable[[int], None]:
        def run(n: int) -> None:
            self.now += PREDICTED[name] * self.slower[name]
            self.calls.append(name)

        return run

    def works(self, calls: int) -> list[str]:
        """Call the library that many times, and return what it has called."""
        before = len(self.calls)
        for _ in range(calls):
            self.library(100)
        return self.calls[before:]


@pytest.fixture
def computer(monkeypatch: pytest.MonkeyPatch) -> Computer:
    return Computer(monkeypatch)


# ---------------------------------------------------------------------------------------------------- the choice


@pytest.mark.parametrize(("before", "slower", "most"), [(0, 2.2, 15), (0, 3.0, 8), (1000, 2.2, 50), (1000, 3.0, 30)])
def test_a_form_that_becomes_twice_as_slow_is_left(computer: Computer, before: int, slower: float, most: int) -> None:
    """The more calls were as predicted, the more slow ones are needed; at most 32 of them count."""
    assert computer.works(before) == [TWO] * before
    computer.slower[TWO] = slower
    assert ONE in computer.works(most)
    assert computer.works(100).count(TWO) <= 10


def test_the_slow_form_is_rarely_tried_while_it_is_slow(computer: Computer) -> None:
    computer.slower[TWO] = 3.0
    assert computer.works(3000).count(TWO) < 60  # in a minute, of more than 3000 calls if all were fast


def test_choices_are_better_than_any_single_form_while_the_load_comes_and_goes(computer: Computer) -> None:
    alone = {ONE: 0.0, TWO: 0.0}
    for _ in range(5000):
        computer.slower[TWO] = 3.0 if computer.now % 20 < 10 else 1.0
        for name, seconds in alone.items():
            alone[name] = seconds + PREDICTED[name] * computer.slower[name]
        computer.works(1)
    assert computer.now - 1000.0 < 0.9 * min(alone.values())


def test_a_computer_that_is_slow_now_and_then_costs_little(computer: Computer) -> None:
    """Spells of three calls on average, in which all are three times as slow, should hardly change the choice."""
    rng, spell, alone = np.random.default_rng(1), False, 0.0
    for chance in rng.random(5000):
        spell = chance < (0.67 if spell else 0.03)
        computer.slower = dict.fromkeys(PREDICTED, 3.0 if spell else 1.0)
        alone += PREDICTED[TWO] * computer.slower[TWO]
        computer.works(1)
    assert computer.now - 1000.0 < 1.03 * alone


def test_the_form_is_chosen_again_once_the_memory_has_faded(computer: Computer) -> None:
    computer.slower[TWO] = 3.0
    assert computer.works(30)[-1] == ONE
    computer.slower[TWO] = 1.0
    began = computer.now
    while computer.works(1) == [ONE]:
        assert computer.now < began + 5 * MEMORY_S
    assert computer.works(50) == [TWO] * 50


def test_after_a_pause_nothing_is_remembered(computer: Computer) -> None:
    computer.slower[TWO] = 3.0
    assert computer.works(20)[-1] == ONE
    computer.now += 60
    assert computer.library.choose(100) == TWO
    assert str(computer.library.best(100)) == "two streams: 0.01 s predicted"


@pytest.mark.parametrize("before", [0, 1, 2, 50])
@pytest.mark.parametrize("pause", [0.0, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("factor", [1.5, 3.0, 1000.0])
def test_one_outlier_flips_no_choice(computer: Computer, before: int, pause: float, factor: float) -> None:
    computer.works(before)
    computer.now += pause
    computer.slower[TWO] = factor
    assert computer.works(1) == [TWO]
    computer.slower[TWO] = 1.0
    assert computer.works(20) == [TWO] * 20


def test_if_all_are_slower_the_best_stays_chosen(computer: Computer) -> None:
    computer.slower = {ONE: 2.0, TWO: 2.0}
    assert computer.works(1000).count(TWO) > 970


def test_if_all_stay_slower_the_others_are_not_tried_again_and_again(computer: Computer) -> None:
    """Neither while calls follow each other, nor after pauses: only the first ones try them."""
    computer.slower = {ONE: 2.0, TWO: 2.0}
    for _ in range(100):
        computer.works(20)
        computer.now += 10.0
    assert computer.calls.count(ONE) < 10
    assert computer.works(2000) == [TWO] * 2000


def test_times_as_noisy_as_usual_change_no_choice(computer: Computer) -> None:
    rng = np.random.default_rng(1)
    for factor in rng.lognormal(0, 0.15, 2000):
        computer.slower[TWO] = factor
        assert computer.works(1) == [TWO]


def test_a_form_that_is_faster_than_predicted_does_not_hold_the_choice(computer: Computer) -> None:
    """Otherwise the one that is called would look better and better than those that are not."""
    computer.slower = {ONE: 0.5, TWO: 0.5}
    computer.works(20)
    assert computer.library.best(100) == Choice(TWO, {}, pytest.approx(0.01))  # type: ignore[arg-type]


def test_the_printed_choice_says_what_recent_calls_have_shown(computer: Computer) -> None:
    computer.slower[TWO] = 2.2
    computer.works(20)
    chosen = computer.library.best(100)
    assert str(chosen).startswith(
        "one stream: 0.018 s predicted; recent calls took longer than predicted: 'two streams' "
    )
    assert 1.7 < chosen.factors[TWO] <= 2.2
    assert computer.library.predictions(100)[TWO].seconds == pytest.approx(0.01)  # the model's own


def test_outside_the_ranges_the_choice_is_corrected_too(computer: Computer) -> None:
    computer.slower[TWO] = 2.2
    computer.works(20)
    with pytest.warns(ExtrapolationWarning):
        assert computer.library.best(10**9).name == ONE


def test_calls_outside_the_ranges_are_not_judged(computer: Computer) -> None:
    computer.slower[TWO] = 3.0
    with pytest.warns(ExtrapolationWarning):
        computer.library(10**9)
    for _ in range(20):
        computer.library(10**9)
    assert computer.calls == [TWO] * 21


# --------------------------------------------------------------------------------------- no effect, and turned off


def test_without_models_nothing_is_remembered(computer: Computer) -> None:
    library = Library("rule", {"n": "1..1e6"}, lambda n: (n,), rule=lambda n: TWO)
    library.add(*computer.library.implementations.values())
    computer.slower[TWO] = 5.0
    for _ in range(20):
        library(100)
    assert computer.calls == [TWO] * 20
    assert str(library.best(100)) == "two streams: by the rule"
    use(library, {name: {"1": seconds} for name, seconds in PREDICTED.items()})
    assert library.choose(100) == TWO


def test_new_models_forget_the_calls(computer: Computer) -> None:
    computer.slower[TWO] = 3.0
    computer.works(8)
    use(computer.library, {name: {"1": seconds} for name, seconds in PREDICTED.items()})
    assert computer.library.choose(100) == TWO


def test_a_trial_is_of_the_models_alone(computer: Computer) -> None:
    computer.slower[TWO] = 3.0
    computer.works(8)
    assert {case.chosen for case in try_library(computer.library, 2).cases} == {TWO}


def test_the_correction_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    computer = Computer(monkeypatch, correct=False)
    computer.slower[TWO] = 3.0
    assert computer.works(20) == [TWO] * 20
    computer.library.correct = True
    assert computer.works(20)[-1] == ONE
    computer.library.correct = False
    assert computer.works(20) == [TWO] * 20


def test_the_environment_turns_the_correction_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMP_CORRECTION", "0")
    computer = Computer(monkeypatch)
    computer.slower[TWO] = 3.0
    assert computer.works(20) == [TWO] * 20
    monkeypatch.setenv("SMP_CORRECTION", "1")
    assert Computer(monkeypatch).library.correct
    monkeypatch.setenv("SMP_CORRECTION", "off")
    with pytest.raises(ValueError, match=r"SMP_CORRECTION must be 0 or 1, not 'off'"):
        Computer(monkeypatch)


def test_libraries_whose_results_could_differ_are_not_corrected() -> None:
    """The order of equal keys, and runs on emulated machines, are the same whenever a call is repeated."""
    dtype = np.dtype(np.int64)
    fixed = [sorting.argsort_library(dtype, 2), program_library(dtype, 2), programs(2), layouts("float64", 2)]
    assert not any(library.correct for library in fixed)
    assert sorting.sort_library(dtype, 2).correct
    assert relaxations("float64", 2).correct


def test_a_call_that_raises_is_not_remembered(computer: Computer) -> None:
    def fails(n: int) -> None:
        computer.now += 1
        raise ValueError("this call fails")

    library = Library("fails", {"n": "1..1e6"}, lambda n: (n,))
    library.add(Implementation("first", fails, ["n"]), Implementation("other", fails, ["n"]))
    use(library, {"first": {"1": 0.01}, "other": {"1": 0.02}})
    for _ in range(5):
        with pytest.raises(ValueError, match="this call fails"):
            library(1)
    assert library.best(1) == Choice("first", {}, 0.01)


def test_relaxation_is_corrected_by_the_time_of_an_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[tuple[str, float]] = []
    library = relaxations.__wrapped__("float64", 2)
    use(library, {name: {"1": 0.01 * (k + 1)} for k, name in enumerate(library.implementations)})
    monkeypatch.setattr("smp.kernels.grids.choice.relaxations", lambda kind, streams: library)
    monkeypatch.setattr(Library, "note", lambda self, chosen, seconds: noted.append((chosen.name, seconds)))
    ticks = iter([5.0, 7.0])
    monkeypatch.setattr(grids, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(grids, "relax_here", lambda *arguments, **how: (64, 0.0))
    grids.relax(np.zeros((1000, 1000)), tolerance=1e-9)
    assert noted == [("sweeps", pytest.approx(2.0 * CHECK / 64))]


# ------------------------------------------------------------------------------------------------------ the memory


def test_short_calls_and_useless_predictions_are_not_judged() -> None:
    recent = Recent()
    for predicted, observed in [(1e-6, SHORTEST_S / 2), (math.nan, 1.0), (0.0, 1.0), (math.inf, 1.0), (-1.0, 1.0)]:
        for k in range(5):
            recent.note("a", predicted, observed, k / 10)
    assert recent.factors(0.5) == {}


@given(st.lists(st.tuples(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9), st.floats(0, 100)), max_size=60))
def test_factors_are_at_least_one_and_within_what_was_observed(calls: list[tuple[float, float, float]]) -> None:
    recent, now = Recent(), 0.0
    for predicted, observed, pause in calls:
        now += pause
        recent.note("a", predicted, observed, now)
        factors = recent.factors(now)
        assert all(1 < factor <= 1.000001 * max(o / p for p, o, _ in calls) for factor in factors.values())
    if factors := recent.factors(now):
        faded = [recent.factors(now + s).get("a", 1.0) for s in np.linspace(0, 100, 20)]
        assert faded == sorted(faded, reverse=True)


def test_calls_of_seconds_are_remembered_for_some_calls() -> None:
    recent = Recent()
    for k in range(20):
        recent.note("long", 10.0, 20.0, 20.0 * k)
    assert recent.factors(20.0 * 20)["long"] > 1.6
    recent.note("other", 10.0, 10.0, 20.0 * 20)
    assert recent.factors(20.0 * 21)["long"] > 1.6
    assert recent.factors(20.0 * 20 + 3600.0) == {}


def test_the_memory_has_one_small_record_for_each_implementation() -> None:
    recent = Recent()
    for k in range(10_000):
        recent.note(f"form {k % 3}", 0.01, 0.02, k / 100)
    assert sorted(recent._memories) == sorted(recent.slow) == ["form 0", "form 1", "form 2"]


def test_threads_may_note_calls_at_the_same_time() -> None:
    recent, failed = Recent(), list[BaseException]()

    def works(name: str) -> None:
        try:
            for k in range(3000):
                recent.note(name, 0.01, 0.02, k / 1000)
                recent.note("all", 0.01, 0.02, k / 1000)
                assert all(1 < factor < 2.001 for factor in recent.factors(k / 1000).values())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=works, args=(str(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(recent.factors(3.0)) == ["0", "1", "2", "3", "all"]


def test_of_two_slow_implementations_the_more_erratic_one_does_not_look_faster(computer: Computer) -> None:
    rng = np.random.default_rng(2)
    used = dict.fromkeys(PREDICTED, 0)
    for _ in range(2000):
        computer.slower = {ONE: 1.5, TWO: 3.5 * rng.lognormal(0, 0.8)}
        used[computer.works(1)[0]] += 1
    assert used[ONE] > 5 * used[TWO]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(0.01, 100), st.floats(0, 5)), max_size=60),
    st.lists(st.floats(0, 20), max_size=5),
)
def test_no_memory_gets_a_factor_by_fading(calls: list[tuple[str, float, float]], pauses: list[float]) -> None:
    """So a library looks only at those that had one at their last call; compared with a look at all."""
    recent, now = Recent(), 0.0
    for name, ratio, pause in calls:
        now += pause
        recent.note(name, 0.01, 0.01 * ratio, now)
    for pause in [0.0, *pauses]:
        now += pause
        factors = recent.factors(now)
        assert factors == {name: memory.factor for name, memory in recent._memories.items() if memory.factor > 1}
