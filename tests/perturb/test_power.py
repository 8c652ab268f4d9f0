"""Power of trials: a place is dropped only if an effect that would be worth having is excluded."""

import collections
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.load import busy_cpus
from support.machines import Emulated
from support.sampled import each, examples
from support.tables import below
from support.virtual_work import burn

from smp.perturb import climb, factor, screen
from smp.perturb.analysis.advice import next_steps
from smp.perturb.analysis.detectable import WORTH, power, worth_having
from smp.perturb.analysis.effects import analyse
from smp.perturb.designs.by_name import fractional

DESIGN = fractional("2^(4-1)", "parse, store, sort, wait")
RUN = 0.1
SPENT = {"parse": 0.02, "store": 0.02, "sort": 0.04, "wait": 0.02}
"""Seconds in each place, in a run of 0.1 s; ``wait`` is off the critical path, all others are on it."""


def simulated(delayed: dict[str, float], noise: float, replicates: int, seed: int) -> Any:
    """Return simulated trials with a known truth: each delay lengthens the run in full, except for that of ``wait``."""
    full = [0.0 if name == "wait" else delayed[name] for name in DESIGN.factors]
    exact = RUN + (DESIGN.levels > 0) @ full
    return analyse(DESIGN, exact + np.random.default_rng(seed).normal(0, noise, (replicates, DESIGN.trials)))


def actions(analysis: Any, delayed: dict[str, float], spent: dict[str, float] = SPENT) -> dict[str, str]:
    steps = [step for step in next_steps(analysis, delayed, spent) if step.action != "smaller delay"]
    return {step.factor: step.action for step in steps}


def test_the_effect_worth_having_is_that_of_a_place_that_would_save_the_share() -> None:
    """The saving is the sensitivity times the time spent, and the sensitivity is the effect over the delay."""
    worth = worth_having(RUN, 0.01, 0.02)
    assert worth / 0.01 * 0.02 == pytest.approx(WORTH * RUN)
    assert worth_having(RUN, 0.01, 0.02, share=0.1) == pytest.approx(2 * worth)
    assert (
        worth_having(RUN, 0.01, 0.0) == worth_having(RUN, 0.01, math.nan) == pytest.approx(worth_having(RUN, 0.01, RUN))
    )
    assert worth_having(RUN, math.nan, 0.02) == pytest.approx(WORTH * RUN)


def test_places_that_matter_are_not_dropped_after_trials_that_could_not_show_it() -> None:
    """Delays are 0.4 ms per run under noise of 1.3 ms; the three places that matter take 20 to 40% of the run."""
    delayed = dict.fromkeys(SPENT, 0.4e-3)
    found = [action for seed in range(50) for action in actions(simulated(delayed, 1.3e-3, 3, seed), delayed).values()]
    assert "drop" not in found
    assert found.count("undecided") > 0.9 * len(found)


@pytest.mark.parametrize("seed", range(20))
def test_with_enough_power_places_off_the_critical_path_are_dropped_and_the_others_kept(seed: int) -> None:
    delayed = {name: seconds / 2 for name, seconds in SPENT.items()}
    found = actions(simulated(delayed, 0.5e-3, 3, seed), delayed)
    assert found == {"parse": "keep", "store": "keep", "sort": "keep", "wait": "drop"}


def test_a_short_place_is_dropped_if_even_its_whole_time_is_not_worth_having() -> None:
    """A place of 0.1% of the run may be dropped without a visible delay; one of unknown time counts as a whole run."""
    delayed = {**{name: seconds / 2 for name, seconds in SPENT.items()}, "wait": 0.05e-3}
    analysis = simulated(delayed, 0.5e-3, 3, seed=1)
    assert actions(analysis, delayed, {**SPENT, "wait": 0.1e-3})["wait"] == "drop"
    assert actions(analysis, delayed, {**SPENT, "wait": 0.0})["wait"] == "undecided"
    assert actions(analysis, {}, {})["wait"] == "drop"  # unknown delays: compared with 5 ms, 5% of the run


@settings(max_examples=examples(200), deadline=None)
@given(
    seed=st.integers(0, 1000),
    noise=st.floats(1e-6, 1e-2),
    delays=st.lists(st.floats(1e-6, 0.05), min_size=4, max_size=4),
    replicates=st.integers(1, 5),
    share=st.floats(0.001, 0.5),
)
def test_nothing_is_dropped_while_the_half_width_exceeds_the_effect_worth_having(
    seed: int, noise: float, delays: list[float], replicates: int, share: float
) -> None:
    delayed = dict(zip(SPENT, delays, strict=True))
    analysis = simulated(delayed, noise, replicates, seed)
    for step in next_steps(analysis, delayed, SPENT, share):
        worth = share * analysis.means.min() * delayed[step.factor] / SPENT[step.factor]
        if step.action == "drop":
            assert analysis.expanded < worth
            assert abs(analysis.effect(step.factor)) + analysis.expanded < worth
        elif step.action == "undecided":
            assert not analysis.is_significant(step.factor)
            assert 2 * analysis.expanded >= worth


@pytest.mark.parametrize("way", each(2, ["replicates", "times"]))
@pytest.mark.parametrize(
    ("sensitivity", "wanted"), each(3, [(0.12, {"drop", "keep"}), (0.0, {"drop"}), (0.5, {"keep"})])
)
def test_following_the_advice_leads_to_a_decision(way: str, sensitivity: float, wanted: set[str]) -> None:
    """Places have no effect, half of the effect that is worth having, or twice that effect."""
    full, outcomes = np.array([sensitivity, 1.0, 1.0, 1.0]), []
    assert worth_having(RUN, 1.0, SPENT["parse"]) == pytest.approx(0.25)
    for seed in range(200):
        rng = np.random.default_rng(seed)

        def trials(length: float, replicates: int, rng: np.random.Generator = rng) -> Any:
            exact = RUN + (DESIGN.levels > 0) @ (full * length)
            return analyse(DESIGN, exact + rng.normal(0, 1.3e-3, (replicates, DESIGN.trials)))

        first = trials(2e-3, 3)
        found = power(first, "parse", 2e-3, SPENT["parse"])
        if not found.excluded and not first.is_significant("parse"):
            length, more = (2e-3, int(found.replicates)) if way == "replicates" else (2e-3 * found.times, 0)
            outcomes.append(actions(trials(length, 3 + more), dict.fromkeys(SPENT, length))["parse"])
    assert len(outcomes) > 50
    assert sum(outcome in wanted for outcome in outcomes) > 0.9 * len(outcomes)


def test_the_advised_replicates_reduce_the_half_width_to_half_of_the_effect_worth_having() -> None:
    delayed = dict.fromkeys(SPENT, 2e-3)
    analysis = simulated(delayed, 1.3e-3, 2, seed=0)
    found = power(analysis, "wait", delayed["wait"], SPENT["wait"])
    count = 2 + int(found.replicates)
    assert analysis.freedom == 7
    cautious = 3 * analysis.uncertainty * math.sqrt(7 / 2.833)  # a tenth of chi-squared lies below 2.833
    assert cautious * math.sqrt(2 / count) <= found.worth / 2
    assert cautious * math.sqrt(2 / (count - 1)) > found.worth / 2
    (step,) = [step for step in next_steps(analysis, delayed, SPENT) if step.factor == "wait"]
    assert step.action == "undecided"
    assert f"; {found.replicates:,} more replicates or a delay " in step.reason
    assert step.reason.endswith("times as long would decide")


def test_treatments_that_add_nothing_or_have_no_length_get_their_own_reasons() -> None:
    analysis = simulated(dict.fromkeys(SPENT, 0.0), 5e-3, 3, seed=0)
    lengths = {"parse": 0.0, "store": math.nan, "sort": 1e-3, "wait": 1e-3}
    reasons = {step.factor: step.reason for step in next_steps(analysis, lengths, SPENT)}
    assert reasons["parse"].endswith("the treatment adds nothing to a run")
    assert reasons["store"].endswith(" more replicates would decide")
    assert reasons["wait"].endswith(" times as long would decide")  # and more replicates than could be run
    assert "replicates" not in reasons["wait"]


@pytest.mark.parametrize("share", [0.0, -1.0, math.nan, math.inf])
def test_an_invalid_share_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="worth must be a share of a run above 0"):
        next_steps(simulated(SPENT, 1e-3, 3, seed=0), SPENT, SPENT, share)


def branches(proc: Any) -> None:
    """Processor 0 spends a long time in its place, while processor 1 spends a short time in the other and waits."""
    with factor("long" if proc.rank == 0 else "short"):
        for _ in range(10 if proc.rank == 0 else 1):
            burn(1_000)
    proc.barrier()


def test_trials_know_the_time_in_their_places(emulated: Emulated) -> None:
    """An emulated machine has no noise, so every missing effect is excluded."""
    trials = screen(branches, treatment="1us", machine=emulated(2), replicates=2)
    assert [(step.factor, step.action) for step in trials.next_steps()] == [("long", "split"), ("short", "drop")]
    assert str(trials).endswith(
        "\nthe effect to exclude: that of a place that would save 5% of a run if it took no time"
    )


def noisy(steps: Any) -> dict[str, float]:
    with factor("place"):
        pass
    return {"steps": float(next(steps))}


def test_a_place_whose_ladder_is_noise_is_not_dropped() -> None:
    rng = np.random.default_rng(0)
    found = climb(
        noisy, ("1us", "2us", "5us"), arguments=lambda: (iter([100 + rng.normal(0, 50)]),), factors=("place",)
    )
    assert found.ladders("steps")["place"].verdict == "noise"
    assert below(found.table("steps"))[0].endswith("undecided: take longer delays")


PLANTED = ("large", "middle", "small", "tiny")


def planted(seed: int) -> tuple[Callable[[], None], dict[str, float]]:
    """Return a program of four places in turn, and the share of its work that each place does."""
    rng = np.random.default_rng(seed)
    work = rng.uniform([0.35, 0.15, 0.01, 0.005], [0.6, 0.3, 0.03, 0.02])
    rest = 1 - work.sum()
    loops = [round(share * 100_000) for share in work]
    passes = [int(count) for count in rng.choice([1, 5, 20], len(PLANTED))]

    def program() -> None:
        for name, count, times in zip(PLANTED, loops, passes, strict=True):
            for _ in range(times):
                with factor(name):
                    for _ in range(count // times):
                        pass
        for _ in range(round(max(rest, 0.0) * 100_000)):
            pass

    return program, dict(zip(PLANTED, (work / (work.sum() + max(rest, 0.0))).tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("delay", ["50%", "400%", "20us"])
def test_no_place_worth_improving_is_dropped_next_to_other_work(delay: str, others: int) -> None:
    """All work is in sequence, so a place that took no time would save just its share of a run.

    ``others`` is the number of other programs for each CPU, which do nothing but compute.
    """
    found: collections.Counter[tuple[bool, str]] = collections.Counter()
    wrong = []
    with busy_cpus(others * (os.cpu_count() or 1)):
        for seed in range(40):
            program, shares = planted(seed)
            trials = screen(program, "2^(4-1)", treatment=delay, factors=PLANTED, replicates=3, seed=seed)
            for step in trials.next_steps():
                worth = shares[step.factor] > 2 * WORTH
                found[worth, step.action] += 1
                if worth and step.action == "drop":
                    wrong.append((seed, step, shares[step.factor]))
    print(f"delays of {delay}, {others} other programs a CPU: (worth improving, advice): {dict(found)}")
    assert not wrong
