"""Analysis of trials: compared with planted models, the paper's tables, SciPy, and simulated noise."""

import json
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import each, examples
from support.tables import below

from smp.perturb import compare
from smp.perturb.analysis.effects import Analysis, analyse, analyse_all
from smp.perturb.analysis.table import effects_table, trials_table
from smp.perturb.analysis.unreplicated import lenth
from smp.perturb.analysis.variances import anova, anova_table
from smp.perturb.analysis.versions import comparison_table, normalised, unperturbed
from smp.perturb.designs import words
from smp.perturb.designs.by_name import design, fractional, screening
from smp.perturb.designs.design import Design
from smp.perturb.experiments.order import blocked, schedule

PAPER = json.loads((Path(__file__).parents[1] / "data/perturb/paper.json").read_text())
TEXTS = ["2^1", "2^3", "2^(3-1)", "2^(6-2)", "2^(7-4)", "2^(8-4)", "PB12", "PB20"]


def of(printed):
    """Return the design of one of the paper's tables, and responses that have its effects."""
    made = fractional(printed["design"], printed["factors"])
    return made, printed["mean"] + made.matrix[:, 1:] @ np.array(printed["effects"]) / 2


def test_all_effects_of_table_2_are_as_printed():
    printed = PAPER["table 2"]
    found = analyse(fractional(printed["design"], printed["factors"]), printed["responses"])
    assert abs(found.mean - printed["mean"]) <= 0.015
    assert np.abs(found.effects - printed["effects"]).max() <= 0.015
    for source, effect in zip(printed["sources"], printed["effects"], strict=True):
        assert abs(found.effect(source.split(" OR ")[0]) - effect) <= 0.015


def test_uncertainties_of_table_2_are_those_of_three_replications():
    """The printed S of 0.10 means a deviation of 0.346 s between replications; S of the mean is half of S."""
    printed = PAPER["table 2"]
    noise = np.array([1, 0, -1])[:, None] * 0.10 * math.sqrt(48) / 2  # its standard deviation is exactly that
    flipped = noise * np.where(np.arange(16) % 2, 1, -1)  # no drift from one replication to the next
    made = fractional(printed["design"], printed["factors"])
    found = analyse(made, np.array(printed["responses"]) + flipped)
    assert found.uncertainty * math.sqrt(30 / 32) == pytest.approx(0.10)  # two degrees of freedom went to the blocks
    assert found.freedom == 30
    assert found.factor == 3
    marked = {source for source, flag in zip(found.sources, found.significant, strict=True) if flag}
    assert "swap()" in marked
    assert "bubble_sort()" not in marked
    text = str(trials_table(found))
    assert [line.split()[1:7] for line in below(text)[:16]] == [list(row) for row in printed["rows"]]
    assert "standard uncertainty of an effect: S = 0.10" in text


@pytest.mark.parametrize("table", ["table 2-B", "table 3"])
def test_the_printed_effects_are_recovered_from_responses_made_of_them(table):
    printed = PAPER[table]
    made, responses = of(printed)
    found = analyse(made, responses)
    assert found.mean == pytest.approx(printed["mean"])
    for source, effect in zip(printed["sources"], printed["effects"], strict=True):
        for word in source.split(" OR ") if "OR" in source else source.split("+"):
            assert found.effect(word) == pytest.approx(effect)


def test_the_table_of_effects_equals_table_3():
    printed = PAPER["table 3"]
    made, responses = of(printed)
    flip = 0.5 * math.sqrt(15 / 4) * np.where(np.arange(16) % 2, 1, -1)  # two replications have S = 0.5
    table = effects_table(analyse(made, [responses + flip, responses - flip], "response", "s"))
    assert str(table).splitlines()[0] == "response (s)"
    lines = below(table)
    assert lines[0].split() == ["mean", "26.75"]
    sources = [line.split()[0] for line in lines[1:16]]
    assert sources == printed["sources"]
    assert [float(line.split()[1]) for line in lines[1:16]] == printed["effects"]
    marked = [line.split()[0] for line in lines if line.endswith("*")]
    assert "c" in marked
    assert [line.split()[0] for line in below(effects_table(analyse(made, responses), largest=1))[1:2]] == ["c"]
    assert lines[16].startswith("standard uncertainty of an effect: S = 0.50 (2 replications, 15 degrees of freedom)")
    assert lines[17] == "standard uncertainty of the mean: 0.25"


def test_normalised_effects_equal_those_of_table_2c():
    two = PAPER["table 2"]
    before = analyse(fractional(two["design"], two["factors"]), two["responses"])
    made, responses = of({**PAPER["table 2-B"], "factors": [*two["factors"][:3], "bubble_sort()", "code1"]})
    after = analyse(made, responses)
    assert unperturbed(before) == 19.11
    printed = PAPER["table 2-C"]
    for factor, percent in printed["before"].items():
        if factor != "bubble_sort()":  # the paper took it from the line with the wrong source
            assert normalised(before)[factor] == pytest.approx(percent, abs=0.07)
    assert 100 * before.effect("pop()&swap()") / 19.11 == pytest.approx(printed["before"]["bubble_sort()"], abs=0.01)
    for factor, percent in printed["after"].items():
        assert normalised(after, 43.74)[factor] == pytest.approx(percent, abs=0.01)
    rows = {row.factor: row for row in compare(before, after, (None, 43.74))}
    assert list(rows) == two["factors"]
    assert math.isnan(rows["swap()"].after)
    assert not rows["swap()"].significant
    assert rows["push()"].change == pytest.approx(9.74 - 5.82, abs=0.01)
    assert below(comparison_table(list(rows.values())))[3].split() == ["swap()", "262.21", "-", "-", "-"]
    with pytest.raises(ValueError, match="no trial without delays"):
        normalised(after)
    with pytest.raises(ValueError, match="an unperturbed response above zero, not 0"):
        normalised(before, 0.0)


def test_a_change_between_versions_is_marked_if_it_exceeds_the_noise_of_both():
    rng = np.random.default_rng(4)
    made = fractional("2^3")
    slope = np.array([10.0, 5.0, 0.0]) / 2
    runs = [100 + 10 * faster + made.levels @ (slope * [1, scale, 1]) for faster, scale in ((1, 1), (0, 4))]
    before, after = (analyse(made, run + rng.normal(0, 0.3, (4, 8))) for run in runs)
    rows = compare(before, after)
    assert [row.significant for row in rows] == [True, True, False]
    given = compare(before, after, (100.0, 90.0))  # exact, so that only the effects are noisy
    assert given[0].uncertainty == pytest.approx(math.hypot(before.uncertainty, after.uncertainty / 0.9))


@pytest.mark.slow
def test_the_uncertainty_of_a_change_is_the_deviation_of_many_changes():
    """The effects are as large as the unperturbed response, so its own noise counts most."""
    rng = np.random.default_rng(5)
    made = fractional("2^(6-2)")
    exact = [10 + (made.levels > 0) @ slope for slope in ([30, 10, 5, 0, 1, 0], [12, 10, 0, 0, 1, 0])]
    many = [compare(*(analyse(made, run + rng.normal(0, 0.2, (3, 16))) for run in exact)) for _ in range(400)]
    for factor in range(6):
        deviation = np.std([rows[factor].change for rows in many])
        told = math.sqrt(np.mean([rows[factor].uncertainty ** 2 for rows in many]))
        assert told == pytest.approx(deviation, rel=0.15)


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(TEXTS), st.integers(0, 1000), st.integers(2, 4), st.booleans())
def test_a_planted_model_is_recovered_and_drift_between_replications_does_not_matter(text, seed, replications, fold):
    made = design(text, words.named(None, 11 if text == "PB20" else int(text[2:4]) - 1) if "PB" in text else None)
    made = made.folded() if fold else made
    rng = np.random.default_rng(seed)
    planted = rng.normal(0, 10, made.trials - 1)
    drift = rng.normal(0, 50, (replications, made.folds + 1))[:, made.blocks]
    found = analyse(made, 100 + made.matrix[:, 1:] @ planted / 2 + drift)
    own = ~found.lost
    signs = np.array([sign for _, sign in made.sources()])
    assert np.allclose((found.effects * signs)[own], planted[own])
    assert found.uncertainty < 1e-10
    assert found.significant[own].all()
    assert not found.significant[~own].any()
    assert found.lost.sum() == made.folds
    for factor, column, sign in zip(made.factors, made.columns, made.signs, strict=True):
        if made.regular or not fold:
            assert found.effect(factor) == pytest.approx(sign * planted[column - 1])
    assert np.allclose(made.matrix[:, 1:] @ np.where(own, planted, 0) / 2 + found.mean, found.predicted())


def test_an_effect_is_the_mean_with_the_delay_minus_the_mean_without():
    made = fractional("2^(5-1)")
    responses = np.random.default_rng(0).normal(10, 1, (3, 16))
    found = analyse(made, responses)
    for size in (1, 2, 3):
        for who in combinations(range(5), size):
            side = made.levels[:, list(who)].astype(int).prod(axis=1)
            difference = responses[:, side > 0].mean() - responses[:, side < 0].mean()
            assert found.effect(words.spelled(made.factors, who)) == pytest.approx(difference)
            assert found.effect(words.spelled(made.factors, who, -1)) == pytest.approx(-difference)


def test_negative_generators_reverse_the_sign_of_aliases_but_not_of_effects():
    made = fractional("2^(4-1)", generators=["d=-abc"])
    found = analyse(made, 10 + made.levels @ [1.0, 2.0, 3.0, 4.0])
    assert [found.effect(factor) for factor in "abcd"] == [2, 4, 6, 8]
    assert found.effects[6] == 8
    assert found.sources[6] == "d"
    assert found.effect("abc") == -8
    assert found.sources[2] == "ab-cd"


def test_several_responses_of_the_same_trials_are_analysed():
    made = fractional("2^(6-2)")
    rng = np.random.default_rng(1)
    time = 5 + made.levels @ [1, 0, 0, 0, 0, 0.0] + rng.normal(0, 0.01, (3, 16))
    memory = 900 + made.levels @ [0, 0, 0, 50, 0, 0.0] + rng.normal(0, 1, (3, 16))
    found = analyse_all(made, {"time": time, "memory": memory}, {"time": "s", "memory": "MiB"})
    assert [found["time"].is_significant(factor) for factor in "ad"] == [True, False]
    assert [found["memory"].is_significant(factor) for factor in "ad"] == [False, True]
    assert str(found["memory"]).startswith("memory (MiB)")


def test_drift_along_the_run_is_removed_if_blocks_are_run_one_after_another():
    """The machine slows down by far more than the noise, in jumps between successive blocks."""
    made = fractional("2^(6-2)")
    block, contrasts = blocked(made, 2)
    order = schedule(16, replications=4, seed=3, blocks=block)
    rng = np.random.default_rng(3)
    when = np.repeat(np.arange(8), 8)  # the block in time of each run
    runs = (10 + made.levels @ [1, 0, 0, 0, 0, 0.0])[order.trial] + 5.0 * when + rng.normal(0, 0.1, 64)
    responses = np.empty((4, 16))
    responses[order.replication, order.trial] = runs
    blind, seen = analyse(made, responses), analyse(made, responses, blocks=block)
    assert blind.uncertainty > 10 * seen.uncertainty
    assert seen.uncertainty == pytest.approx(2 * 0.1 / math.sqrt(64), rel=0.3)
    assert seen.is_significant("a")
    assert not any(seen.is_significant(factor) for factor in "bcdef")
    assert np.flatnonzero(seen.lost).tolist() == [contrast - 1 for contrast in contrasts]
    assert [source for source, lost in zip(seen.sources, seen.lost, strict=True) if lost] == ["block"]
    assert seen.freedom == 3 * 14


@pytest.mark.parametrize(("text", "replications"), each(3, [("2^3", 2), ("2^2", 2), ("2^(6-2)", 3)]))
def test_s_is_the_deviation_of_effects_and_fewer_than_one_in_a_hundred_null_effects_are_marked(text, replications):
    rng = np.random.default_rng(11)
    made = fractional(text)
    found = [analyse(made, rng.normal(50, 2, (replications, made.trials))) for _ in range(2000)]
    effects = np.concatenate([one.effects for one in found])
    assert np.mean([one.uncertainty**2 for one in found]) == pytest.approx(np.var(effects), rel=0.1)
    nominal = 2 * scipy.stats.t.sf(found[0].factor, found[0].freedom)
    assert nominal <= 0.01 + 1e-12
    assert np.mean([one.significant for one in found]) == pytest.approx(nominal, abs=0.004)
    p_values = np.concatenate([one.p_values for one in found])
    assert scipy.stats.kstest(p_values, "uniform").pvalue > 1e-3
    assert found[0].factor == max(3, scipy.stats.t.ppf(0.995, found[0].freedom))


@pytest.mark.slow
def test_bursts_of_noise_mark_no_more_null_effects_if_each_replication_has_a_fresh_order():
    """The computer is slow for some twenty runs at a time, and now and then a run is held up.  Half of the replications
    are anything but independent, and the noise is far from normal."""
    rng = np.random.default_rng(3)
    made = fractional("2^(6-2)")
    marked = effects = 0
    for _ in range(700):
        slow = np.cumsum(rng.random(48) < 1 / 20) % 2
        held_up = rng.exponential(1.0, 48) * (rng.random(48) < 0.05)
        runs = (1 + 1.2 * slow) * (1 + held_up) * rng.normal(1, 0.01, 48)
        order = schedule(16, 3, int(rng.integers(1 << 30)))
        responses = np.empty((3, 16))
        responses[order.replication, order.trial] = runs
        found = analyse(made, responses)
        marked, effects = marked + found.significant.sum(), effects + len(found.effects)
    assert effects > 10_000
    assert marked < 0.01 * effects


def test_lenths_method_on_noise_and_on_sparse_effects():
    rng = np.random.default_rng(8)
    beyond = errors = both = marked = 0
    for _ in range(2000):
        effects = rng.normal(0, 1, 15)
        found = lenth(effects)
        errors += found.error / 2000
        beyond += (np.abs(effects) > found.margin).sum() / 30_000
        both += (np.abs(effects) > found.simultaneous).any() / 2000
        marked += (np.abs(effects) > max(3, scipy.stats.t.ppf(0.995, 5)) * found.error).sum() / 30_000
    assert errors == pytest.approx(1.0, rel=0.05)
    assert 0.025 < beyond < 0.035  # nominally 5%
    assert 0.02 < both < 0.06
    assert marked < 0.01
    sparse = [30.0, -20.0, 10.0, *rng.normal(0, 1, 12)]
    found = lenth(sparse)
    assert (np.abs(sparse) > found.margin).tolist() == [True] * 3 + [False] * 12


def test_lenths_method_follows_its_definition():
    effects = [0.5, -1.0, 1.5, -2.0, 2.5, 30.0, -40.0]
    s0 = 1.5 * 2.0
    kept = [0.5, 1.0, 1.5, 2.0, 2.5]
    assert max(kept) < 2.5 * s0
    found = lenth(effects)
    assert found.error == 1.5 * 1.5
    assert found.margin == pytest.approx(found.error * scipy.stats.t.ppf(0.975, 7 / 3))
    assert found.simultaneous == pytest.approx(found.error * scipy.stats.t.ppf((1 + 0.95 ** (1 / 7)) / 2, 7 / 3))
    assert lenth([0, 0, 0, 0, 5]).error == 0
    with pytest.raises(ValueError, match="2 effects are too few to estimate their noise"):
        lenth([1, 2])


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(TEXTS), st.integers(1, 4), st.integers(0, 1000), st.booleans())
def test_sums_of_squares_and_degrees_of_freedom_add_up(text, replications, seed, fold):
    made = design(text) if text != "2^1" else fractional("2^2")
    made = made.folded("a") if fold else made
    found = analyse(made, np.random.default_rng(seed).normal(5, 1, (replications, made.trials)))
    *parts, total = anova(found)
    assert sum(row.squares for row in parts) == pytest.approx(total.squares)
    assert sum(row.freedom for row in parts) == total.freedom == replications * made.trials - 1
    assert total.squares == pytest.approx(found.responses.var() * found.responses.size)


def test_anova_of_one_factor_equals_the_paired_t_test():
    responses = np.random.default_rng(2).normal(10, 1, (6, 2))
    row = anova(analyse(fractional("2^1"), responses))[0]
    expected = scipy.stats.ttest_rel(responses[:, 0], responses[:, 1])
    assert (row.ratio, row.p_value) == (pytest.approx(expected.statistic**2), pytest.approx(expected.pvalue))


def test_anova_equals_that_of_a_linear_model_with_a_term_for_each_replication():
    made = fractional("2^3")
    responses = np.random.default_rng(5).normal(10, 1, (3, 8))
    rows = {row.source: row for row in anova(analyse(made, responses))}
    full = np.hstack([np.tile(made.matrix, (3, 1)), np.repeat(np.eye(3)[:, 1:], 8, axis=0)])

    def left(columns):
        return np.linalg.lstsq(columns, responses.ravel(), rcond=None)[1].sum()

    noise = left(full)
    assert rows["noise"].squares == pytest.approx(noise)
    assert rows["noise"].freedom == 24 - 10
    for contrast, (source, _) in enumerate(made.sources(), start=1):
        lost = left(np.delete(full, contrast, axis=1)) - noise
        assert rows[source].squares == pytest.approx(lost)
        assert rows[source].ratio == pytest.approx(lost / (noise / 14))
        assert rows[source].p_value == pytest.approx(scipy.stats.f.sf(lost / (noise / 14), 1, 14))
    lines = below(anova_table(analyse(made, responses)))
    assert len(lines) == 7 + 3
    shown = [float(line.split()[1]) for line in lines[:7]]
    assert shown == sorted(shown, reverse=True)


def test_exact_responses_mark_real_effects_and_no_rounding_errors():
    made = fractional("2^4")
    exact = np.array([0.1 + 0.2 * (level > 0) for level in made.levels[:, 1]])
    found = analyse(made, [exact, exact, exact])
    assert [factor for factor in "abcd" if found.is_significant(factor)] == ["b"]
    assert found.significant.sum() == 1
    assert "* exceeds 3 S = 0.000" in str(found)
    exact = 0.1 + (made.levels > 0) @ [1 / 3, 1 / 7, 0.0, 1 / 11]
    found = analyse(made, [exact, exact])
    assert found.uncertainty == 0
    assert np.count_nonzero(found.effects) > 3  # rounding errors
    assert [source for source, flag in zip(found.sources, found.significant, strict=True) if flag] == ["a", "b", "d"]


def test_contrasts_without_a_factor_estimate_the_noise_of_a_screening():
    made = screening("abcdefgh")
    rng = np.random.default_rng(6)
    found = analyse(made, 10 + made.levels @ [3, 0, 0, 2, 0, 0, 0, 0.0] + rng.normal(0, 0.1, 12))
    assert [factor for factor in "abcdefgh" if found.is_significant(factor)] == ["a", "d"]
    assert found.sources == (*"abcdefgh", "-", "-", "-")
    assert found.freedom == pytest.approx(11 / 3)


def test_an_analysis_survives_json():
    made = fractional("2^(7-4)").folded()
    found = analyse(made, np.random.default_rng(0).normal(5, 1, (2, 16)), "memory", "MiB", order=3)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    again = Analysis.from_json(data)
    assert again.to_json() == found.to_json()
    assert str(again) == str(found)
    assert {entry["source"] for entry in data["effects"]} >= {*"abcdefg", "block"}
    assert isinstance(again.design, Design)


@pytest.mark.parametrize(
    ("responses", "options", "message"),
    [
        (np.ones(7), {}, "need 8 columns, one for each trial of the design"),
        (np.ones((8, 3)), {}, "need 8 columns, one for each trial of the design"),
        ([[1.0, 2, 3, math.nan, 5, 6, 7, 8]], {}, "trial 3 in replication 0 is nan, .*: run the trial again"),
        ([[1.0] * 8, [1, 2, 3, 4, 5, 6, math.inf, 8]], {}, "trial 6 in replication 1 is inf"),
        (np.ones((2, 8)), {"blocks": np.zeros(4, int)}, "blocks of shape"),
    ],
)
def test_invalid_responses_are_refused(responses, options, message):
    with pytest.raises(ValueError, match=message):
        analyse(fractional("2^3"), responses, **options)


def test_too_few_trials_to_estimate_the_noise_are_refused():
    with pytest.raises(ValueError, match="replicate the trials"):
        analyse(fractional("2^1"), [1.0, 2.0])
