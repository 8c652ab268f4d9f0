"""Noise by level: S and its degrees of freedom if the trials with a delay scatter more than those without."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from support.sampled import each

from smp.perturb.analysis.effects import Analysis, analyse
from smp.perturb.analysis.interactions import alone, conditional, ends
from smp.perturb.analysis.speedups import gains
from smp.perturb.analysis.table import effects_table
from smp.perturb.designs.by_name import fractional
from smp.perturb.designs.design import Design

SWAP, PUSH = 16.0, 1.0


def simulated(
    design: Design, count: int, scatter: float = SWAP, interaction: float = 0.0, replicates: int = 3, seed: int = 0
) -> Iterator[Analysis]:
    """Yield experiments in which the trials with the delay of the first factor scatter more, and a little else."""
    rng = np.random.default_rng(seed)
    signs = design.levels > 0
    spread = np.where(signs[:, 0], scatter, PUSH)
    exact = 100 + interaction * (signs[:, 0] & signs[:, 1])
    for _ in range(count):
        yield analyse(design, rng.normal(exact, spread, (replicates, design.trials)), unit="")


@pytest.mark.parametrize(("name", "replicates"), each(3, [("2^2", 5), ("2^3", 3), ("2^(4-1)", 3)]))
def test_noise_alone_is_rarely_called_an_effect(name: str, replicates: int) -> None:
    """With the degrees of freedom of all trials, it is called one in 1.9, 1.8 and 1.8% of cases."""
    made = fractional(name, ["swap", "push", "pop", "code"][: 2 + (name != "2^2") + ("-" in name)])
    found = list(simulated(made, 2_000, replicates=replicates))
    assert np.mean([one.significant.mean() for one in found]) < 0.015
    assert np.mean([one.scattering == ("swap",) for one in found]) > 0.7
    half = (replicates - 1) * made.trials / 2
    typical = [one.freedom for one in found if one.scattering == ("swap",)]
    assert all(0.9 * half <= freedom < 1.1 * half for freedom in typical)


@pytest.mark.slow
def test_equal_noise_is_pooled() -> None:
    made = fractional("2^3", "swap, push, pop")
    found = list(simulated(made, 1_000, scatter=PUSH))
    assert np.mean([bool(one.scattering) for one in found]) <= 0.015
    assert {one.freedom for one in found if not one.scattering} == {14}  # two went to the means of the replicates
    for one in found[:5]:
        assert one.error(one.weights("push")) == pytest.approx(one.uncertainty)
        assert conditional(one, "push", "swap").uncertainty == pytest.approx(math.sqrt(2) * one.uncertainty)


@pytest.mark.slow
def test_the_errors_of_effects_at_a_level_are_those_of_that_level() -> None:
    made = fractional("2^3", "swap, push, pop")
    found = [one for one in simulated(made, 1_000) if one.scattering == ("swap",)]
    pairs = [conditional(one, "push", "swap") for one in found]
    for effect, error in ("without", "uncertainty"), ("beside", "uncertainty_beside"):
        deviation = np.std([getattr(one, effect) for one in pairs])
        assert math.sqrt(np.mean([getattr(one, error) ** 2 for one in pairs])) == pytest.approx(deviation, rel=0.1)
    assert np.median([one.uncertainty_beside / one.uncertainty for one in pairs]) == pytest.approx(SWAP, rel=0.1)
    levels = [one.levels("swap") for one in found]
    for k in range(2):
        deviation = np.std([one[k][0] for one in levels])
        assert math.sqrt(np.mean([one[k][1] ** 2 for one in levels])) == pytest.approx(deviation, rel=0.1)


def test_both_ends_of_a_gain_have_their_own_errors() -> None:
    made = fractional("2^2", "swap, push")
    found = [one for one in simulated(made, 300, interaction=400.0, replicates=8) if one.scattering and ends(one)]
    assert len(found) > 150
    both = [ends(one)["push"] for one in found]
    assert np.std([one.without for one in both]) == pytest.approx(math.sqrt(2 / 8), rel=0.2)
    assert np.mean([one.uncertainty for one in both]) == pytest.approx(math.sqrt(2 / 8), rel=0.2)
    assert np.mean([one.uncertainty_beside for one in both]) == pytest.approx(SWAP * math.sqrt(2 / 8), rel=0.2)
    delayed, spent = dict.fromkeys(made.factors, 1.0), dict.fromkeys(made.factors, 1.0)
    (row,) = (row for row in gains(found[0], delayed, spent) if row.factor == "push")
    assert row.uncertainty == both[0].uncertainty_beside
    assert alone(found[0])["push"][1] == pytest.approx(conditional(found[0], "push", "swap").uncertainty)


def test_the_table_and_the_file_have_the_errors_of_both_levels() -> None:
    made = fractional("2^3", "swap, push, pop")
    one = next(one for one in simulated(made, 50) if one.scattering == ("swap",))
    text = str(effects_table(one))
    assert "the scatter differs by level: mean without the delay of swap" in text
    assert "the scatter differs" not in str(effects_table(next(simulated(made, 1, scatter=PUSH))))
    document = one.to_json()
    assert document["scattering"] == ["swap"]
    without, delayed = document["levels"]["swap"]
    assert delayed["uncertainty"] > 8 * without["uncertainty"]
    assert Analysis.from_json(document).scattering == ("swap",)


@pytest.mark.filterwarnings("error")
def test_trials_at_one_level_of_two_factors_may_have_no_scatter() -> None:
    """They are too few to be estimated by both factors, and no ratio to their scatter exists."""
    made = fractional("2^3", "swap, push, pop")
    responses = np.full((2, 8), 50.0)
    responses[:, (made.levels[:, :2] > 0).all(axis=1)] += [[-1.0, 1.0], [1.0, -1.0]]
    assert analyse(made, responses).scattering == ("swap",)


def test_trials_without_replicates_have_one_scatter() -> None:
    one = analyse(fractional("2^3"), np.random.default_rng(0).normal(10, 1, 8))
    assert not one.scattering
    assert one.error(one.weights("a")) == pytest.approx(one.uncertainty)
