"""Factored models: compared with closed forms, numerical differences, and the predictions of a profile."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.profiles import charging, document
from support.sampled import examples

import smp
from smp._runtime.program.steps import SUMMARY
from smp.errors import FitError, ProfileError
from smp.kernels.costs import COST, costs_of
from smp.kernels.lists.lists import random_list
from smp.kernels.lists.wyllie import rank_wyllie
from smp.kernels.sorting.column import sort_column
from smp.microbench import calibrated, cross, impact, model_of
from smp.microbench.predictions.programs import Kernel, known_kernels
from smp.microbench.predictions.report_impact import impact_report, meaning
from smp.models.supersteps.cost import columns
from smp.models.supersteps.factored import Charge, Factored, between
from smp.models.supersteps.hybrid import Hybrid, calibrate
from smp.profiles.charges import BARRIERS, charged
from smp.profiles.profile import Profile

TIERS = (1_000.0, 50_000.0, math.inf)
FAMILIES = ("good", "bad", "random")
BARRIER = 1e-6


@pytest.fixture(scope="module")
def profile() -> Profile:
    """A profile for p = 2 and 4, with the runtime's overhead and with barriers."""
    return with_barriers(document())


def with_barriers(data: dict[str, Any], seconds: float = BARRIER) -> Profile:
    data["access"]["overhead_s"] = {"2": [5e-6, 9e-6], "4": [7e-6, 15e-6]}
    data["synchronisation"] = {"barrier_us": {p: {"compiled": 0.2, "python": seconds * 1e6} for p in ("2", "4")}}
    return Profile(data)


@st.composite
def counts(draw: st.DrawFn) -> NDArray[np.void]:
    """Draw the supersteps of a run: 32-bit and 64-bit elements, some in the cache, some beyond."""
    n = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = np.zeros(n, SUMMARY)
    rows["hr"], rows["hw"] = (rng.integers(0, 10 ** rng.integers(1, 7, n)) for _ in range(2))
    rows["m"] = (rows["hr"] + rows["hw"]) * rng.integers(1, 4, n)
    for name in ("hr", "hw", "m"):
        rows[name + "_bytes"] = rows[name] * rng.choice([4, 8])
    rows["compute"] = rng.uniform(BARRIER, 1e-3, n)
    return rows


@st.composite
def models(draw: st.DrawFn) -> Factored:
    """Draw an access function with tiers, whose L may be negative, and a charge for each superstep."""
    rows = draw(counts())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    _, terms = columns("HrHwM-c", 1, 1, 1, TIERS)
    prices = rng.uniform(0, 5e-9, len(terms)) * rng.integers(0, 2, len(terms))
    prices[0] = rng.uniform(-5e-5, 5e-5)
    access = Charge.accesses(
        {"terms": terms, "coefficients": prices}, rows["hr"], rows["hw"], rows["m"], TIERS, weights=rng.uniform(0, 1)
    )
    assume((abs(access.amounts @ access.prices) > 1e-9).all())  # away from zero, at which charges are cut
    return Factored([access, Charge.flat("barrier", 2e-6, [3] * len(rows))])


# ------------------------------------------------------------------------------------- prices and amounts


def test_a_model_is_the_sum_of_its_charges_superstep_by_superstep() -> None:
    access = Charge.accesses({"terms": ["L", "ghr", "ghw"], "coefficients": [1e-6, 2e-9, 3e-9]}, [10, 0], [0, 100], 0)
    model = Factored([access, Charge.flat("barrier", 5e-6, [1, 2])])
    assert model.terms == ("L", "ghr", "ghw", "barrier")
    assert model.seconds() == pytest.approx([1e-6 + 20e-9 + 5e-6, 1e-6 + 300e-9 + 10e-6])
    assert model.total() == pytest.approx(17e-6 + 320e-9)
    assert (model + model.scaled(0.5)).total() == pytest.approx(1.5 * model.total())


def test_a_function_is_split_at_its_own_knees() -> None:
    function = {"terms": ["ghr1", "ghr2"], "coefficients": [1.0, 10.0], "knees": [100.0]}
    assert Charge.accesses(function, [150], [0], [150], TIERS).seconds() == pytest.approx([100 + 500])
    assert Charge.accesses({**function, "knees": None}, [1_500], [0], [0], TIERS).seconds() == pytest.approx([6_000])


def test_a_change_multiplies_every_price_whose_name_matches() -> None:
    model = Factored([Charge.flat(name, price, [1.0]) for name, price in (("ghr1", 1.0), ("ghw1", 2.0), ("L", 4.0))])
    assert model.total({"ghr1": 3}) == pytest.approx(9)
    assert model.total({"gh*": 2}) == pytest.approx(10)
    assert model.total({"gh*": 2, "ghw?": 0.5}) == pytest.approx(2 + 2 + 4)
    assert model.impact({"L": 0.0}) == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    ("change", "says"),
    [({"barier": 0.5}, "there is no price 'barier'; the prices are barrier"), ({"barrier": -1}, "zero or more")],
)
def test_an_invalid_change_is_refused(change: dict[str, float], says: str) -> None:
    with pytest.raises(FitError, match=says):
        Factored([Charge.flat("barrier", 1.0, [1])]).impact(change)


def test_charges_of_different_supersteps_and_programs_that_take_no_time_are_refused() -> None:
    with pytest.raises(FitError, match=r"these are for \[1, 2\]"):
        Factored([Charge.flat("L", 1.0, [1]), Charge.flat("L", 1.0, [1, 1])])
    with pytest.raises(FitError, match="none"):
        Factored([])
    with pytest.raises(FitError, match="takes no time"):
        Factored([Charge.flat("L", 0.0, [1])]).impact({"L": 2})


def test_a_charge_cut_at_zero_has_no_part_in_the_derivatives() -> None:
    line = Charge(("L", "gh"), np.array([-1.0, 0.1]), np.array([[1, 5], [1, 30]]))  # -0.5 and 2
    model = Factored([line])
    assert model.seconds() == pytest.approx([0.0, 2.0])
    assert {each.term: (each.amount, each.share) for each in model.derivatives()} == {
        "gh": (30, pytest.approx(1.5)),
        "L": (1, pytest.approx(-0.5)),
    }
    assert model.impact({"L": 0.0}) == pytest.approx(3.5 / 2)  # a change that brings it above zero counts


@given(models(), st.integers(0, 10))
@settings(max_examples=examples(60), deadline=None)
def test_derivatives_equal_numerical_differences(model: Factored, at: int) -> None:
    term = model.terms[at % len(model.terms)]
    (mine,) = [each for each in model.derivatives() if each.term == term]

    def total(more: float) -> float:
        moved = [Charge(c.terms, c.prices + more * (np.array(c.terms) == term), c.amounts) for c in model.charges]
        return Factored(moved).total()

    step = 1e-16 if term != "L" and term != "barrier" else 1e-12  # seconds: too small a step to reach zero
    assert (total(step) - total(-step)) / (2 * step) == pytest.approx(mine.amount, rel=1e-3, abs=1e-3 * mine.amount + 1)
    assert model.impact({term: 1.0001}) - 1 == pytest.approx(mine.share * 1e-4, rel=1e-4, abs=1e-9)


@given(models())
@settings(max_examples=examples(60), deadline=None)
def test_shares_sum_to_one_and_come_in_order(model: Factored) -> None:
    rows = model.derivatives()
    assert sum(each.share for each in rows) == pytest.approx(1)
    assert sum(each.price * each.amount for each in rows) == pytest.approx(model.total())
    assert [abs(each.share) for each in rows] == sorted((abs(each.share) for each in rows), reverse=True)


def test_loc_interpolates_between_good_and_bad() -> None:
    good, bad = (Factored([Charge.flat(name, price, [1])]) for name, price in (("g", 1.0), ("b", 5.0)))
    assert [between(good, bad, loc).total() for loc in (1.0, 0.75, 0.0)] == [1.0, 2.0, 5.0]
    with pytest.raises(FitError, match=r"loc must be from 0 \(bad\) to 1 \(good\), not 1.5"):
        between(good, bad, 1.5)


# ------------------------------------------------------------------------------------- from a profile


@given(counts(), st.sampled_from([2, 3, 4, 9]), st.sampled_from(FAMILIES))
@settings(max_examples=examples(60), deadline=None)
def test_accesses_are_charged_as_the_profile_predicts_them(rows: NDArray[np.void], p: int, family: str) -> None:
    profile = Profile(document())
    costs = rows[["label", "hr", "hw", "m"]].astype(COST)
    for size in (4, 8):
        share = size / 8 if family == "good" else 1.0
        expected = profile.predict(family, p, *(costs[name] * share for name in ("hr", "hw", "m")))
        assert charged(profile, costs, p, family, size).seconds() == pytest.approx(expected)


@given(counts(), st.sampled_from([2, 3, 4, 9]))
@settings(max_examples=examples(40), deadline=None)
def test_measured_supersteps_are_charged_as_in_their_interval(rows: NDArray[np.void], p: int) -> None:
    for profile in (with_barriers(document()), Profile(document())):
        interval = profile.interval(rows, p)
        for family in FAMILIES:
            predicted = getattr(interval, family) + interval.compute
            assert charged(profile, rows, p, family).seconds() == pytest.approx(predicted)


def test_a_price_that_a_program_does_not_pay_changes_nothing(profile: Profile) -> None:
    assert impact(profile, "radix", 500, 2, {"ghr2": 0.5}) == 1.0  # all in the private cache
    assert impact(profile, "radix", 100_000, 2, {"ghr2": 0.5}) < 1.0


def test_accesses_that_just_fit_the_private_cache_are_charged_as_cached() -> None:
    profile, rows = Profile(document()), costs_of([("fits", 1_000, 0, 0), ("does not", 1_001, 0, 0)])
    assert charged(profile, rows, 2).seconds() == pytest.approx([1e-6 + 1_000 * 2e-9, 1_000 * 2e-9 + 4e-9])
    assert charged(profile, rows, 2).seconds() == pytest.approx(
        profile.predict("good", 2, rows["hr"], rows["hw"], rows["m"])
    )


def test_the_sets_r0_and_r1_apply_to_the_sizes_that_they_were_fitted_to() -> None:
    data = document()
    data["access"]["functions"] = [row for row in data["access"]["functions"] if row["set"] != "R1"]
    rows = costs_of([("small", 900, 0, 900), ("large", 5_000, 0, 5_000)])
    profile = Profile(data)
    model = charged(profile, rows, 2)
    assert model.seconds() == pytest.approx(profile.predict("good", 2, rows["hr"], rows["hw"], rows["m"]))
    assert model.seconds()[1] == pytest.approx(5.0 + 5_000 * 2e-9)  # "all" is used for the large ones


def test_the_runtime_overhead_includes_two_barriers_of_a_superstep(profile: Profile) -> None:
    rows = costs_of([("nothing", 0, 0, 0)] * 4)
    amounts = {each.term: (each.amount, each.price) for each in charged(profile, rows, 2).derivatives()}
    assert amounts["barrier"] == (4 * BARRIERS, pytest.approx(BARRIER))
    assert amounts["runtime"] == (4, pytest.approx(5e-6 - 2 * BARRIER))
    bare = Profile(document())
    assert charged(profile, rows, 2).total() - charged(bare, rows, 2).total() == pytest.approx(4 * (5e-6 + BARRIER))


def test_a_barrier_that_takes_longer_than_a_superstep_is_shortened() -> None:
    rows = costs_of([("nothing", 0, 0, 0)])
    prices = {each.term: each.price for each in charged(with_barriers(document(), 1e-3), rows, 2).derivatives()}
    assert (prices["barrier"], prices["runtime"]) == (pytest.approx(2.5e-6), pytest.approx(0.0))


@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_the_counts_of_a_run_give_the_model_of_the_closed_form(profile: Profile, p: int) -> None:
    keys = np.random.default_rng(p).integers(0, 1 << 32, 200, dtype=np.uint32)
    with smp.emulated(p) as machine:
        runs = {
            "column": machine.run(sort_column, machine.array(keys)),
            "wyllie": machine.run(rank_wyllie, machine.array(random_list(200)), machine.empty(200, np.int32)),
        }
    for name, run in runs.items():
        rows = run.summary()
        rows["compute"] = 0.0
        good, *others = (charged(profile, rows, p, family) for family in FAMILIES)
        assert model_of(profile, name, 200, p).seconds() == pytest.approx(good.seconds())
        worst = max(others, key=Factored.total)
        assert model_of(profile, name, 200, p, loc=0.0).seconds() == pytest.approx(worst.seconds())
        half = model_of(profile, name, 200, p, loc=0.5).total()
        assert half == pytest.approx((good.total() + worst.total()) / 2)
        found = cross(profile, name, 200, p)
        assert (found.good, found.bad) == pytest.approx((good.total(), worst.total()))


@pytest.mark.parametrize("name", known_kernels())
@pytest.mark.parametrize("p", [1, 2, 3, 8])
def test_every_kernel_has_a_model(profile: Profile, name: str, p: int) -> None:
    small, large = (model_of(profile, name, n, p).total() for n in (10_000, 1_000_000))
    assert 0 < small < large
    assert 0 < known_kernels()[name].work(10_000, p) < known_kernels()[name].work(1_000_000, p)


def test_the_impact_of_a_faster_barrier_equals_its_closed_form(profile: Profile) -> None:
    def two_steps(n: int, p: int) -> Any:
        return costs_of([("read", n, 0, p * n)] * 2)

    before = 2 * (5e-6 + BARRIER + 1e-6 + 100 * 2e-9)  # the runtime's overhead, the third barrier, L, words
    assert model_of(profile, two_steps, 100, 2).total() == pytest.approx(before)
    assert impact(profile, two_steps, 100, 2, {"barrier": 0.5}) == pytest.approx(1 - 6 * BARRIER / 2 / before)
    assert impact(profile, two_steps, 100, 2, {"L": 0, "ghr1": 2}) == pytest.approx(
        1 + (2 * 100 * 2e-9 - 2e-6) / before
    )


def test_an_impact_between_the_ends_lies_between_theirs(profile: Profile) -> None:
    ratios = [impact(profile, "radix", 10_000, 2, {"*gh*": 0.5}, loc=loc) for loc in (0.0, 0.5, 1.0)]
    assert ratios == sorted(ratios)
    assert ratios[0] < ratios[-1]  # at the bad end accesses dominate


def test_without_cost_functions_of_bad_accesses_there_is_no_bad_end() -> None:
    data = document()
    data["access"]["functions"] = [row for row in data["access"]["functions"] if row["family"] == "good"]
    assert model_of(Profile(data), "radix", 100, 2).total() > 0
    with pytest.raises(ProfileError, match="no cost functions of bad accesses"):
        cross(Profile(data), "radix", 100, 2)


def test_unavailable_predictions_are_refused_with_the_reason(profile: Profile) -> None:
    with pytest.raises(ProfileError, match="--only synchronisation,access"):
        impact(charging(), "radix", 100, 2, {"barrier": 0.5})
    with pytest.raises(ValueError, match="no kernel 'bogo': choose from radix"):
        model_of(profile, "bogo", 100, 2)
    with pytest.raises(ValueError, match="no supersteps at n = 0"):
        model_of(profile, "radix", 0, 2)
    with pytest.raises(ValueError, match="p = 0"):
        model_of(profile, "radix", 100, 0)
    with pytest.raises(ProfileError, match="has no cost functions"):
        model_of(Profile({"machine": {}}), "radix", 100, 2)


# ------------------------------------------------------------------------------------- hybrid models


@given(st.floats(0, 1e-3), st.floats(0.5, 20), st.floats(1e-10, 1e-8), st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_planted_coefficients_are_recovered(alpha: float, beta: float, gamma: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    factored, work = rng.uniform(1e-5, 1e-3, 12), rng.uniform(1e4, 1e6, 12)
    model = calibrate(factored, alpha + beta * factored + gamma * work, work)
    assert [model.alpha, model.beta, model.gamma] == pytest.approx([alpha, beta, gamma], rel=1e-6, abs=1e-9)
    assert model.predict(factored, work) == pytest.approx(alpha + beta * factored + gamma * work)
    assert model.mre < 1e-6
    assert Hybrid.from_json(json.loads(json.dumps(model.to_json(), allow_nan=False))) == model


def test_without_work_gamma_is_zero_and_no_coefficient_is_negative() -> None:
    model = calibrate([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 5.0, 7.0])  # 2 x - 1
    assert (model.alpha, model.gamma, model.count) == (0.0, 0.0, 4)
    assert model.predict(2.0, work=1e9) == pytest.approx(2 * model.beta)


def test_an_invalid_hybrid_model_is_refused() -> None:
    with pytest.raises(FitError, match="not a hybrid model"):
        Hybrid.from_json({"alpha": 1.0})


def test_a_hybrid_model_is_also_a_factored_model(profile: Profile) -> None:
    hybrid = calibrate([1.0, 2.0, 4.0, 5.0], [3e-3, 5e-3, 9e-3, 13e-3], [1e3, 1e3, 1e3, 3e3])
    work, plain = known_kernels()["sample"].work(10_000, 2), model_of(profile, "sample", 10_000, 2)
    model = model_of(profile, "sample", 10_000, 2, hybrid=hybrid)
    assert model.total() == pytest.approx(hybrid.predict(plain.total(), work))
    assert cross(profile, "sample", 10_000, 2, hybrid).seconds == pytest.approx(model.total())
    shares = {each.term: each.share for each in model.derivatives()}
    assert shares["local work"] == pytest.approx(hybrid.gamma * work / model.total())


def planted(profile: Profile, processors: dict[int, tuple[float, float, float]]) -> Profile:
    """Return a profile whose sorts took the times of hybrid models, one model for each p."""
    rows = [
        {
            "algorithm": "sample",
            "n": n,
            "p": p,
            "measured_s": alpha
            + beta * model_of(profile, "sample", n, p).total()
            + gamma * known_kernels()["sample"].work(n, p),
        }
        for p, (alpha, beta, gamma) in processors.items()
        for n in (1_000, 10_000, 100_000, 1_000_000)
    ]
    return Profile(profile.data | {"sorting": {"rows": [*rows, {"algorithm": "radix", "n": 10, "p": 2}]}})


def test_a_hybrid_model_is_calibrated_with_the_runs_of_its_p(profile: Profile) -> None:
    source = planted(profile, {2: (1e-4, 2.0, 1e-9), 4: (2e-4, 3.0, 2e-9)})
    for p, expected in ((2, (1e-4, 2.0, 1e-9)), (4, (2e-4, 3.0, 2e-9))):
        found = calibrated(source, "sample", p)
        assert (found.alpha, found.beta, found.gamma) == pytest.approx(expected, rel=1e-6)
        assert found.count == 4
    assert calibrated(source, "sample", 3).count == 8  # p = 3 has no run, so the runs of every p are used


def test_too_few_runs_are_reported_with_the_section_to_measure(profile: Profile) -> None:
    source = planted(profile, {2: (0.0, 1.0, 0.0)})
    with pytest.raises(ProfileError, match=r"this profile has 0 measured runs of radix sort, .* --only access,sorting"):
        calibrated(source, "radix", 2)
    with pytest.raises(ProfileError, match="0 measured runs"):
        calibrated(source, Kernel("mine", known_kernels()["radix"].cost), 2)


# ------------------------------------------------------------------------------------- the report


def printed(*args: Any, **options: Any) -> str:
    return impact_report(*args, **options)


def test_the_report_shows_the_gain_of_halving_a_price(profile: Profile) -> None:
    text = printed(profile, "radix", 1_000, 2)
    less = 100 * (1 - impact(profile, "radix", 1_000, 2, {"barrier": 0.5}))
    assert f"Halving the price of the barrier saves {less:.1f}% of the time of radix sort at n = 1,000, p = 2" in text
    assert "Local computation is not included" in text
    (row,) = [line for line in text.splitlines() if line.startswith("barrier")]
    assert row.split()[-1] == f"{less:.1f}"
    assert float(row.split()[-2]) == pytest.approx(2 * less, abs=0.1)


def test_the_report_names_its_assumptions(profile: Profile) -> None:
    hybrid = calibrate([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    text = printed(profile, "wyllie", 1_000, 3, hybrid=hybrid)
    assert "p = 3 was not measured: predicted from p = 2 and 4" in text
    assert "times beta, 2.00" in text
    assert "Local computation is not included" not in text


def test_prices_are_described_in_words(profile: Profile) -> None:
    assert meaning("barrier", profile) == "the barrier"
    assert meaning("ghr1", profile) == "a word read (L2)"
    assert meaning("bad ghw", profile) == "a word written, bad"
