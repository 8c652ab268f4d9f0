"""Conclusions from effects: conditional effects, saturation, gains, ladders, searches, the next step, and plots."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from support import pictures
from support.tables import below

import smp
from smp.compiled import clock
from smp.perturb import confirm, delay, screen
from smp.perturb.analysis import figures, plots
from smp.perturb.analysis.advice import next_steps, steps_table
from smp.perturb.analysis.effects import analyse
from smp.perturb.analysis.interactions import alone, conditional, likely_pairs, saturations
from smp.perturb.analysis.ladders import ladder
from smp.perturb.analysis.speedups import gains, gains_table
from smp.perturb.analysis.table import effects_table
from smp.perturb.designs.by_name import fractional, screening
from smp.perturb.designs.orthogonal import orthogonal_array
from smp.perturb.designs.orthogonal import settings as delays_of
from smp.perturb.experiments.search import searched

PAPER = json.loads((Path(__file__).parents[1] / "data/perturb/paper.json").read_text())


KNOWN: tuple[dict[str, float], dict[str, float]] = ({}, {})
"""No factor's delay in a run is known, nor the time in its place, so an effect worth having is a share of the run."""


def table_2():
    """Return table 2, with replications that have its S of 0.10."""
    printed = PAPER["table 2"]
    spread = np.array([1, 0, -1])[:, None] * 0.3354 * np.where(np.arange(16) % 2, 1, -1)
    return analyse(
        fractional(printed["design"], printed["factors"]), np.array(printed["responses"]) + spread, "time", "s"
    )


def measured(made, response, noise=0.05, replications=3, seed=0):
    """Return the analysis of a program whose response is a function of the levels of its factors."""
    exact = np.array([response(dict(zip(made.factors, row > 0, strict=True))) for row in made.levels])
    return analyse(made, exact + np.random.default_rng(seed).normal(0, noise, (replications, made.trials)))


def test_conditional_effects_are_differences_of_means():
    made = fractional("2^3")
    responses = np.random.default_rng(0).normal(10, 2, (2, 8))
    found = analyse(made, responses)
    a, b = made.levels[:, 0] > 0, made.levels[:, 1] > 0
    at = conditional(found, "a", "b")
    assert at.without == pytest.approx(responses[:, a & ~b].mean() - responses[:, ~a & ~b].mean())
    assert at.beside == pytest.approx(responses[:, a & b].mean() - responses[:, ~a & b].mean())
    rng = np.random.default_rng(1)
    many = [conditional(analyse(made, rng.normal(0, 1, (2, 8))), "a", "b") for _ in range(500)]
    deviation = math.sqrt(np.mean([one.uncertainty**2 for one in many]))
    assert np.std([one.without for one in many]) == pytest.approx(deviation, rel=0.15)


def test_conditional_effects_need_an_unaliased_interaction():
    found = analyse(fractional("2^(3-1)"), np.random.default_rng(0).normal(size=(2, 4)))
    with pytest.raises(ValueError, match="a&b and the main effect of c cannot be separated"):
        conditional(found, "a", "b")
    with pytest.raises(ValueError, match="a&a and the mean cannot be separated"):
        conditional(found, "a", "a")
    with pytest.raises(ValueError, match="has no contrast for the interaction"):
        conditional(analyse(screening("abc", 12), np.arange(12.0)), "a", "b")


def test_in_table_2_swap_hides_all_other_effects():
    """Next to the delay of swap() the others do not show; the aliases of their interactions with it are named."""
    found = saturations(table_2())
    assert [one.hidden for one in found] == ["s_lock()", "code1", "pop()", "push()"]
    assert {one.by for one in found} == {"swap()"}
    assert found[0].without == pytest.approx(1.98 + 1.84, abs=0.02)
    assert found[0].beside == pytest.approx(1.98 - 1.84, abs=0.03)
    assert found[0].aliases == ("bubble_sort()&code1",)


def test_one_of_two_simultaneous_parts_hides_the_other():
    made = fractional("2^3", "left, right, after")
    found = measured(made, lambda on: max(10 + 2 * on["left"], 9 + 20 * on["right"]) + 3 * on["after"])
    (one,) = saturations(found)
    assert (one.hidden, one.by) == ("left", "right")
    assert one.without == pytest.approx(2, abs=0.2)
    assert one.beside == pytest.approx(0, abs=0.2)
    assert alone(found)["left"][0] == pytest.approx(2, abs=0.2)
    assert alone(found)["right"][0] == pytest.approx(19, abs=0.2)
    assert found.effect("right") == pytest.approx(18, abs=0.2)
    assert alone(found)["after"] == pytest.approx((found.effect("after"), found.uncertainty))
    assert not saturations(measured(made, lambda on: sum(5 * value for value in on.values())))


def test_an_interaction_within_the_noise_of_conditional_effects_hides_nothing():
    found = replace(analyse(fractional("2^2"), np.ones((9, 4))), effects=np.array([0, 10, 3.6]), uncertainty=1.0)
    assert found.factor == 3
    assert likely_pairs(found) == [("a", "b")]
    assert not saturations(found)
    (one,) = saturations(replace(found, effects=np.array([-3.6, 10, 3.6])))
    assert (one.hidden, one.without, one.beside) == ("a", -7.2, 0.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_the_effect_alone_is_that_of_a_trial_with_one_delay(seed):
    """This is exact if no three factors interact, and if every interaction of two is significant or absent."""
    rng = np.random.default_rng(seed)
    made = fractional("2^4")
    mains, pairs = rng.uniform(5, 10, 4), np.triu(rng.choice([0.0, -3.0, 4.0], (4, 4)), 1)
    on = (made.levels > 0).astype(float)
    exact = 50 + on @ mains + ((on @ pairs) * on).sum(axis=1)
    found = analyse(made, exact + rng.normal(0, 1e-3, (2, 16)))
    for i, factor in enumerate(made.factors):
        assert alone(found)[factor][0] == pytest.approx(mains[i], abs=0.01)


def test_likely_pairs_prefer_factors_that_have_effects():
    made = fractional("2^(4-1)")
    found = measured(made, lambda on: 10 + 3 * on["a"] + 2 * on["c"] + 1.5 * (on["a"] and on["c"]), noise=0.01)
    assert likely_pairs(found) == [("a", "c")]  # not b and d, with which they are aliased


def test_the_gain_is_the_sensitivity_times_the_time_in_the_place():
    """Four parts of known times: two are always on the critical path, one is half of the time, and one never."""
    spent = {"a": 4.0, "b": 2.0, "c": 6.0, "d": 5.0}
    shares = {"a": 1.0, "b": 1.0, "c": 0.5, "d": 0.0}
    delayed = {"a": 0.4, "b": 0.4, "c": 0.2, "d": 0.8}
    made = fractional("2^(4-1)", "abcd")
    found = measured(made, lambda on: 10 + sum(shares[k] * delayed[k] * on[k] for k in spent), noise=0.002)
    for single in (False, True):
        rows = {row.factor: row for row in gains(found, delayed, spent, single)}
        for factor, share in shares.items():
            row = rows[factor]
            assert row.sensitivity == pytest.approx(share, abs=4 * row.uncertainty)
            assert row.gain == row.sensitivity * spent[factor]
            assert row.significant == (share > 0)
        assert next(iter(rows)) == "a"
    assert below(gains_table(gains(found, delayed, spent)))[0].startswith("a")
    for wrong in ({**delayed, "a": 0.0}, {"a": 1.0}):
        with pytest.raises(ValueError, match="needs a delay above zero and a time"):
            gains(found, wrong, spent)


def test_of_two_places_that_wait_for_each_other_the_effect_alone_promises_too_much():
    """Neither gains if it alone is faster: trials with the other delayed show that.  Alone, a delay costs in full."""
    found = measured(fractional("2^2"), lambda on: 10 + 2 * max(on["a"], on["b"]), noise=0.01)
    delayed, spent = {"a": 2.0, "b": 2.0}, {"a": 10.0, "b": 10.0}
    for single, promised in ((False, 0.0), (True, 10.0)):
        assert [row.gain for row in gains(found, delayed, spent, single)] == pytest.approx([promised] * 2, abs=0.2)
    for row in gains(found, delayed, spent):
        assert row.ends == pytest.approx((10.0, 0.0), abs=0.2)
    assert conditional(found, "a", "b").beside == pytest.approx(0, abs=0.05)


def test_next_steps_of_a_resolution_iv_screening():
    made = fractional("2^(6-2)", "swap, lock, idle, fast, hide, small")

    def response(on):
        parts = 40 * on["swap"] + 4 * on["lock"] - 2 * on["fast"] + 3 * on["small"]
        return 20 + parts

    steps = {(step.factor, step.action) for step in next_steps(measured(made, response), *KNOWN)}
    assert steps == {
        ("swap", "split"), ("lock", "keep"), ("idle", "drop"), ("fast", "search"), ("hide", "drop"), ("small", "keep"),
    }  # fmt: skip


def test_folding_over_is_advised_if_a_main_effect_may_be_an_interaction():
    made = fractional("2^(7-4)")  # a is aliased with bd, ce, fg
    found = measured(made, lambda on: 10 + 5 * on["b"] + 4 * on["d"] + 4 * (on["b"] and on["d"]))
    steps = [step for step in next_steps(found, *KNOWN) if step.action == "fold over"]
    assert ("a", "the effect may be that of bd instead") in [(step.factor, step.reason) for step in steps]
    folded = measured(made.folded(), lambda on: 10 + 5 * on["b"] + 4 * on["d"] + 4 * (on["b"] and on["d"]))
    assert not folded.is_significant("a")
    assert likely_pairs(folded) == [("b", "d")]
    assert {step.factor for step in next_steps(folded, *KNOWN) if step.action == "keep"} == {"b", "d"}


def test_a_smaller_delay_is_advised_if_its_trials_scatter_and_hide_small_effects():
    """The noise is proportional to the time, as with different data, so a small effect is lost next to a large one."""
    made, rng = fractional("2^(4-1)", "big, small, none, idle"), np.random.default_rng(1)
    exact = 1e-5 * np.array([1 + 30 * on[0] + 0.3 * on[1] for on in made.levels > 0])
    found = analyse(made, exact * rng.normal(1, 0.05, (3, 8)))
    steps = [step for step in next_steps(found, *KNOWN) if step.action == "smaller delay"]
    assert [step.factor for step in steps] == ["big"]
    assert "times as much as the others, which hides small effects" in steps[0].reason
    assert not found.is_significant("small")
    alike = analyse(made, exact + 1e-6 * rng.normal(0, 1, (3, 8)))
    assert all(step.action != "smaller delay" for step in next_steps(alike, *KNOWN))
    exactly = analyse(made, np.tile(exact, (2, 1)))
    assert all(step.action != "smaller delay" for step in next_steps(exactly, *KNOWN))


@pytest.mark.parametrize(("mean", "unit"), [(20.0, "s"), (0.02, "ms"), (2e-5, "us"), (2e-8, "ns"), (2e-12, "s")])
def test_times_are_shown_in_a_suitable_unit(mean, unit):
    made = fractional("2^2")
    responses = mean * (1 + 0.1 * np.random.default_rng(0).random((2, 4)))
    made = effects_table(analyse(made, responses, "time", "s"))
    assert str(made).splitlines()[0] == f"time ({unit})"
    assert made.columns[1].unit == unit
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    if mean > 1e-9:
        assert float(below(made)[0].split()[1]) == pytest.approx(scale * responses.mean(), rel=0.01)


def test_next_steps_of_table_2():
    found = next_steps(table_2(), *KNOWN)
    actions = {(step.factor, step.action): step.reason for step in found}
    assert ("swap()", "split") in actions
    assert ("bubble_sort()", "drop") in actions
    assert "push()&pop() instead" in actions["swap()", "fold over"]
    assert actions["swap()", "smaller delay"].count("has almost no effect") == 4
    assert str(steps_table(found)).splitlines()[0].split() == ["factor", "step", "reason"]


def test_a_factor_that_only_interacts_is_kept():
    found = measured(fractional("2^2"), lambda on: 10 + 4 * (on["a"] != on["b"]))
    assert {(step.factor, step.action) for step in next_steps(found, *KNOWN)} == {("a", "keep"), ("b", "keep")}


def test_figure_3a_is_linear():
    rng = np.random.default_rng(0)
    delays = np.array([1, 2, 5, 10, 20.0])
    main, other = (ladder(delays, slope * delays + rng.normal(0, 0.5, 5), 0.5) for slope in (3.0, 1.0))
    for found, slope in ((main, 3.0), (other, 1.0)):
        assert found.verdict == "linear"
        assert abs(found.slope - slope) < 4 * found.slope_uncertainty
        assert found.slope_uncertainty == pytest.approx(0.5 / math.sqrt((delays**2).sum()))
        scatter = (((found.effects - found.slope * delays) / 0.5) ** 2).sum()
        assert found.p_value == pytest.approx(scipy.stats.chi2.sf(scatter, 4))
        assert found.per_unit == pytest.approx(found.effects / delays)
        assert not found.faster


def test_in_figure_3b_small_delays_make_it_faster_and_the_large_end_is_trusted():
    found = ladder([10, 1, 5, 2, 20], [-0.3, -3.0, 0.1, -4.0, 0.2], 0.5)
    assert found.delays.tolist() == [1, 2, 5, 10, 20]
    assert found.verdict == "large delays"
    assert found.delays[found.trusted].tolist() == [5, 10, 20]
    assert abs(found.slope) < 3 * found.slope_uncertainty  # insignificant once delays reach five
    assert found.faster
    assert str(found).endswith("some delays make the program faster")


def test_the_small_end_is_trusted_if_large_delays_saturate():
    delays = np.array([1, 2, 4, 8, 16, 32.0])
    found = ladder(delays, np.minimum(3 * delays, 25), 0.2)
    assert found.verdict == "small delays"
    assert found.delays[found.trusted].tolist() == [1, 2, 4, 8]
    assert found.slope == pytest.approx(3)


def test_noise_and_rungs_that_never_agree_have_no_trusted_end():
    assert ladder([1, 2, 4], [0.2, -0.3, 0.1], 0.5).verdict == "noise"
    assert math.isnan(ladder([1, 2, 4], [0.2, -0.3, 0.1], 0.5).slope)
    found = ladder([1, 2, 4, 8, 16], [0.1, -0.2, 0.3, 50, 10], 0.2)  # the small rungs agree only because they are noise
    assert (found.verdict, found.delays[found.trusted].tolist()) == ("neither", [])
    found = ladder([1, 2, 4, 8], [5, 1, 9, -7], 0.1)
    assert found.verdict == "neither"
    assert str(found).splitlines()[-1].startswith("trust neither end")


def test_99_of_100_linear_ladders_are_called_linear():
    rng = np.random.default_rng(2)
    delays = np.array([1, 2, 5, 10, 20.0])
    linear = [ladder(delays, delays + rng.normal(0, 0.3, 5), 0.3).verdict == "linear" for _ in range(1000)]
    assert 0.98 <= np.mean(linear) <= 0.998


def test_the_search_of_table_4_finds_a_trial_that_is_twice_as_fast():
    printed = PAPER["table 4"]
    tried = delays_of("F1, F2, F3, F4, F5, F6", printed["levels"])
    responses = np.full(25, 55.0)  # the paper prints four of them
    for trial, seconds in printed["results"].items():
        responses[int(trial) - 1] = seconds
    found = searched("F1, F2, F3, F4, F5, F6", tried, responses)
    assert found.best == 15
    assert list(found.setting.values()) == [21, 0, 21, 7, 28, 14]
    assert found.speedup == 2.0
    assert below(found.table(2))[0].split() == [
        "16",
        "21",
        "0",
        "21",
        "7",
        "28",
        "14",
        "33",
        "2.00",
        "times",
        "as",
        "fast",
    ]
    assert below(found.table())[-1].split() == ["1", "0", "0", "0", "0", "0", "0", "66", "no", "delays"]


def test_level_means_of_a_balanced_search_show_each_factor_alone():
    tried = delays_of("abc", (0, 1, 2))
    rng = np.random.default_rng(3)
    slopes = {"a": -1.0, "b": 0.5, "c": 2.0}
    responses = 20 + tried @ list(slopes.values()) + rng.normal(0, 0.01, (4, 9))
    found = searched("abc", tried, responses)
    for factor, means in found.level_means().items():
        assert [means[level] - means[0.0] for level in (1.0, 2.0)] == pytest.approx(
            [slopes[factor], 2 * slopes[factor]], abs=0.03
        )
    assert found.uncertainty == pytest.approx(0.01 / 2, rel=0.3)
    assert found.significant
    assert not searched("abc", tried, 20 + rng.normal(0, 1, (4, 9))).significant


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: searched("ab", np.zeros((3, 3)), np.ones(3)), "a row of settings and a column"),
        (lambda: searched("ab", np.zeros((3, 2)), np.ones(4)), "a row of settings and a column"),
        (lambda: searched("ab", np.zeros((3, 2)), [1.0, math.nan, 2.0]), "a response is missing"),
        (lambda: ladder([1, 2], [1, 2], 0.1), "at least 3 delays"),
        (lambda: ladder([0, 1, 2], [1, 2, 3], 0.1), "must be above zero"),
        (lambda: ladder([1, 2, 3], [1, math.nan, 3], 0.1), "all numbers finite"),
    ],
)
def test_invalid_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_figures_show_the_given_numbers():
    found = table_2()
    figure = figures.half_normal(found)
    drawn = pictures.check(figure)
    dots = [x for one in figure.panels[0].series if one.kind == "points" for x in one.x]
    assert np.allclose(sorted(dots), np.sort(np.abs(found.effects)))
    assert {text.get_text() for text in drawn.axes[0].texts} >= {"swap()", "s_lock()"}
    figure = figures.effects(found)
    drawn = pictures.check(figure)
    bars = {y: x for one in figure.panels[0].series for x, y in zip(one.x, one.y, strict=True)}
    assert np.allclose([bars[k] for k in range(len(bars))], sorted(found.effects, key=lambda effect: -abs(effect)))
    assert drawn.axes[0].get_yticklabels()[0].get_text() == "swap()"
    assert drawn.axes[0].yaxis_inverted(), "the largest effect must be at the top"
    rungs = ladder([1, 2, 5, 10, 20], [-3.0, -4.0, 0.1, -0.3, 0.2], 0.5)
    figure = figures.ladders({"receive": rungs, "main loop": ladder([1, 2, 5], [3, 6, 15], 0.5)}, "s", "units")
    pictures.check(figure)
    assert np.allclose(figure.panels[0].series[0].y, rungs.per_unit)


def test_plots_draw_the_figures(tmp_path):
    found = ladder([1, 2, 5], [3, 6, 15], 0.5)
    made = [
        plots.half_normal(table_2()),
        plots.effects(table_2()),
        plots.ladders({"receive": found}, "s", "units"),
        plots.response([1, 2], {"smooth": [1.0, 2.0]}, "grain"),
    ]
    for drawn, title in zip(
        made, ("14 of 15 effects on time", "What is", "Are effects in proportion", "Time against grain"), strict=True
    ):
        assert drawn.texts[0].get_text().startswith(title)
    made[0].savefig(tmp_path / "half-normal.png")
    assert (tmp_path / "half-normal.png").stat().st_size > 1000


@pytest.mark.parametrize("text", ["2^2", "2^(64-57)"])
def test_few_and_many_effects_are_plotted(text):
    made = fractional(text)
    found = measured(made, lambda on: 5 + sum(on.values()) % 3)
    pictures.check(figures.half_normal(found))
    pictures.check(figures.effects(found))


def test_a_search_survives_json_and_shows_delays_in_units():
    rng = np.random.default_rng(0)
    seconds = delays_of("abcdef", (0, 7, 14, 21, 28)) * 2e-6
    for replications in (1, 3):
        found = searched("abcdef", seconds, rng.uniform(1, 2, (replications, 25)))
        again = type(found).from_json(json.loads(json.dumps(found.to_json())))
        for one, other in zip(found, again, strict=True):
            np.testing.assert_equal(one, other)
    lines = below(found.table(unit=2e-6))
    assert {int(number) for line in lines for number in line.split()[1:7]} == {0, 7, 14, 21, 28}


def lengths_of_delays(proc, seed, wanted):
    """Return by how many virtual ns the delays of a and b differ from the wanted ones, plus 100 and noise of 0 to 2."""
    found = []
    for place in "abc":
        began = clock()
        delay(place)
        found.append(clock() - began)
    return {"far": 100 + sum(abs(one - found[2] - want) for one, want in zip(found, wanted, strict=False)) + seed % 3}


@pytest.mark.parametrize("wanted", [(20, 10), (0, 0)])
def test_the_best_trial_of_a_search_is_repeated_next_to_trials_without_delays(wanted):
    seeds = iter(range(1000))
    with smp.emulated(1, schedule="clock") as machine:
        options = {"machine": machine, "arguments": lambda: (next(seeds), wanted)}
        levels = np.pad(orthogonal_array("OA9(3^2)"), ((0, 0), (0, 1)))  # c is never treated
        trials = screen(
            lengths_of_delays, levels, factors="abc", treatment=[None, "10ns", "20ns"], replicates=2, **options
        )
        if wanted == (0, 0):
            with pytest.raises(ValueError, match="there is nothing to confirm"):
                confirm(trials, lengths_of_delays, "far", **options)
            return
        before = next(seeds)
        again = confirm(trials, lengths_of_delays, "far", replicates=6, **options).search("far")
    assert again.setting == {"a": pytest.approx(20e-9), "b": pytest.approx(10e-9), "c": 0}
    assert again.settings.tolist()[0] == [0, 0, 0]
    assert (again.unperturbed, again.results[1]) == (pytest.approx(131, abs=1), pytest.approx(101, abs=1))
    assert again.significant
    assert next(seeds) == before + 2 + 12 + 1  # a warm-up, a counted run, and six of each setting
