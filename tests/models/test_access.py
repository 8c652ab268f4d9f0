"""Suites, cost functions and their fits: compared with the paper's definitions, coefficients and errors."""

import json
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from smp.errors import FitError
from smp.models.supersteps.access import (
    FUNCTIONS,
    H0,
    H1,
    H2,
    PAPER_ERRORS,
    T_MAX,
    Measured,
    Pattern,
    columns,
    fit_family,
    paper_errors,
    predict,
    sizes,
    suite,
)

L2 = 2.0**19  # integers in the paper's second-level cache
TIERS = (L2, np.inf)
ONE = np.ones(1)

# Coefficients of tables 2 and 4 in microseconds: L, ghrc, ghrm, ghwc, ghwm, gM and L, ghr, ghw, gM.
GOOD_R0 = {
    4: (18, 0.0185, 0.0, 0.0084, 0.0, 0.00013),
    8: (140, 0.0184, 0.0, 0.0087, 0.0, 0.00005),
    12: (279, 0.0183, 0.0, 0.0087, 0.0, 0.00004),
}
GOOD_R1 = {
    4: (-2162, 0.0230, 0.0489, 0.0113, 0.0444, 0.00024),
    8: (0, 0.0202, 0.0492, 0.0082, 0.0444, 0.00027),
    12: (0, 0.0191, 0.0491, 0.0081, 0.0444, 0.00035),
}
BAD = {
    2: (10444, 0.5062, 1.0377, 0.0484),
    4: (16261, 0.4748, 1.0166, 0.0663),
    8: (16566, 0.4612, 0.7708, 0.1113),
    12: (16555, 0.2429, 0.5755, 0.1697),
}


def counts(patterns: Iterable[Pattern]) -> NDArray[np.float64]:
    return np.array([(a.hr, a.hw, a.m) for a in patterns], dtype=float).T


def good_seconds(
    p: int, hr: NDArray[np.float64], hw: NDArray[np.float64], m: NDArray[np.float64]
) -> NDArray[np.float64]:
    def part(c: tuple[float, ...]) -> NDArray[np.float64]:
        rc, wc = np.minimum(hr, L2), np.minimum(hw, L2)
        us = c[0] + c[1] * rc + c[2] * (hr - rc) + c[3] * wc + c[4] * (hw - wc) + c[5] * m
        return np.asarray(us * 1e-6)

    return np.where(np.maximum(hr, hw) <= L2, part(GOOD_R0[p]), part(GOOD_R1[p]))


def bad_seconds(
    p: int, hr: NDArray[np.float64], hw: NDArray[np.float64], m: NDArray[np.float64]
) -> NDArray[np.float64]:
    start, r, w, g = BAD[p]
    return (start + r * hr + w * hw + g * m) * 1e-6


def measured(family: str, p: int, mode: str = "default", noise: float = 0.0) -> dict[int, Measured]:
    rng = np.random.default_rng(p)
    seconds = good_seconds if family == "good" else bad_seconds
    suites = {}
    for number in (1, 2, 3):
        hr, hw, m = counts(suite(number, p, sizes(mode), rng))
        t = seconds(p, hr, hw, m) * np.exp(noise * rng.standard_normal(len(m)))
        suites[number] = Measured(hr, hw, m, t)
    return suites


# The suites


def test_the_sizes_of_each_mode_are_among_those_of_the_study() -> None:
    assert H0 == (5000, 10000, 15000, 20000, 25000, 30000, 35000, 40000, 45000, 50000)
    assert (H1[0], H1[-1], len(H1)) == (50_000, 500_000, 10)
    assert (H2[0], H2[1], H2[-1], len(H2)) == (550_000, 700_000, 1_900_000, 10)
    assert sizes("full") == tuple(sorted(set(H0) | set(H1) | set(H2)))
    assert len(sizes("full")) == 29
    for mode in ("quick", "default"):
        assert set(sizes(mode)) < set(sizes("full"))
        assert list(sizes(mode)) == sorted(set(sizes(mode)))
    assert len(sizes("quick")) < len(sizes("default")) < 29


@given(st.integers(1, 6), st.lists(st.integers(1, T_MAX), min_size=1, max_size=3, unique=True))
def test_suite_1_follows_its_definition(p: int, hs: list[int]) -> None:
    found = {(a.h, a.x, a.kind): a for a in suite(1, p, hs, np.random.default_rng())}
    assert len(found) == len(hs) * (3 * (p - 1) + 1)
    for h in hs:
        for x in range(1, p):
            few, every = [h] * x + [0] * (p - x), [(h * x) // p] * p
            gather, scatter = found[h, x, "like-gather"], found[h, x, "like-scatter"]
            vary = found[h, x, "vary"]
            assert (gather.reads.tolist(), gather.writes.tolist()) == (few, every)
            assert (scatter.reads.tolist(), scatter.writes.tolist()) == (every, few)
            assert (vary.reads.tolist(), vary.writes.tolist()) == (few, few)
            assert (gather.hr, gather.hw, gather.m) == (h, h * x // p, h * x + p * (h * x // p))
        assert found[h, p, "vary"].reads.tolist() == found[h, p, "vary"].writes.tolist() == [h] * p


@given(st.integers(1, 6), st.integers(1, T_MAX), st.integers(0, 2**32 - 1))
def test_suites_2_and_3_keep_the_maxima_and_the_total(p: int, h: int, seed: int) -> None:
    first, second, third = (suite(n, p, [h], np.random.default_rng(seed)) for n in (1, 2, 3))
    assert len(first) == len(second) == len(third) == 3 * (p - 1) + 1
    for one, two, three in zip(first, second, third, strict=True):
        assert (one.kind, one.x, one.h) == (two.kind, two.x, two.h) == (three.kind, three.x, three.h)
        assert (two.hr, two.hw) == (one.hr, one.hw)
        assert min(two.reads.min(), two.writes.min()) >= 0
        assert three.m == one.m
        assert min(three.reads.min(), three.writes.min()) >= 0
        assert max(three.hr, three.hw) <= T_MAX
        assert two.reads.shape == two.writes.shape == three.reads.shape == three.writes.shape == (p,)
    again = suite(2, p, [h], np.random.default_rng(seed))
    assert all((a.reads == b.reads).all() for a, b in zip(second, again, strict=True))


def test_suite_3_fills_every_processor_when_there_is_no_room_left() -> None:
    full = suite(3, 4, [T_MAX], np.random.default_rng(0))[-1]
    assert full.reads.tolist() == full.writes.tolist() == [T_MAX] * 4


def test_a_suite_may_have_larger_sizes_than_the_study() -> None:
    large = suite(3, 2, [4 * T_MAX], np.random.default_rng(0), most=4 * T_MAX)
    assert max(max(each.hr, each.hw) for each in large) > T_MAX
    assert max(max(each.hr, each.hw) for each in large) <= 4 * T_MAX
    assert large[-1].m == 16 * T_MAX


@pytest.mark.slow
def test_suites_2_and_3_favour_no_processor() -> None:
    rng = np.random.default_rng(5)
    p, h, repeats = 4, 1000, 2000
    second, third = (
        np.array([[a.reads, a.writes] for a in suite(number, p, [h] * repeats, rng) if a.x == p]) for number in (2, 3)
    )
    # In suite 2 one of four reads h, the others h / 2 on average; in suite 3 all share 2 p h equally. The standard
    # errors are at most 1% of h.
    assert second.mean(axis=0) == pytest.approx(h * (1 / 4 + 3 / 8), rel=0.05)
    assert (second == h).mean(axis=0) == pytest.approx(1 / 4, abs=0.03)
    assert third.mean(axis=0) == pytest.approx(h, rel=0.07)
    # If uniform cuts divide a total into 8 parts, a part exceeds a share of u with probability (1 - u)^7.
    assert (third > 0.25 * 8 * h).mean() == pytest.approx(0.75**7, abs=0.01)


# The functions


def test_the_papers_functions_equal_a_calculation_by_hand() -> None:
    # 2^19 integers fit the cache; 600,000 reads are 524,288 in it and 75,712 beyond.
    matrix, terms = columns("HrHwM-c", [600_000], [100_000], [1_500_000], TIERS)
    row = dict(zip(terms, matrix[0].tolist(), strict=True))
    assert row == {"L": 1, "ghr1": 524_288, "ghw1": 100_000, "ghr2": 75_712, "ghw2": 0, "gM": 1_500_000}
    for name, expected in {
        "H": {"L": 1, "gh": 600_000},
        "HM": {"L": 1, "gh": 600_000, "gM": 1_500_000},
        "HrHw": {"L": 1, "ghr": 600_000, "ghw": 100_000},
        "HrHwM": {"L": 1, "ghr": 600_000, "ghw": 100_000, "gM": 1_500_000},
    }.items():
        matrix, terms = columns(name, [600_000], [100_000], [1_500_000], TIERS)
        assert dict(zip(terms, matrix[0].tolist(), strict=True)) == expected


@given(
    st.lists(st.floats(1, 1e8), max_size=4, unique=True),
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=8),
)
def test_tiers_divide_the_words(capacities: list[float], words: list[tuple[float, float]]) -> None:
    hr, hw = np.array(words).T
    tiers = (*sorted(capacities), np.inf)
    matrix, terms = columns("HrHwM-c", hr, hw, hr + hw, tiers)
    reads = matrix[:, [t.startswith("ghr") for t in terms]]
    assert reads.shape == (len(words), len(tiers))
    assert reads.sum(axis=1) == pytest.approx(hr)
    assert (reads >= 0).all()
    assert (reads.cumsum(axis=1) <= np.array(tiers) * (1 + 1e-12)).all()
    # A tier fills before the next is used.
    assert ((reads[:, 1:] == 0) | (hr[:, None] > np.array(tiers)[:-1])).all()


def test_predictions_follow_the_papers_table_4() -> None:
    function = {"terms": ["L", "ghr", "ghw", "gM"], "coefficients": [c * 1e-6 for c in BAD[8]]}
    hand = (16566 + 0.4612 * 100_000 + 0.7708 * 50_000 + 0.1113 * 600_000) * 1e-6
    assert predict(function, [100_000], [50_000], [600_000]) == pytest.approx([hand])


def test_predictions_are_never_below_zero() -> None:
    function = {"terms": ["L", "ghr1", "ghw1", "ghr2", "ghw2"], "coefficients": [-2e-3, 1e-9, 0, 4e-9, 0]}
    found = predict(function, [0, 1e6, 1e9], [0, 0, 0], [0, 1e6, 1e9], TIERS)
    assert found == pytest.approx([0.0, max(0.0, -2e-3 + 1e-9 * L2 + 4e-9 * (1e6 - L2)), 3.99642], rel=1e-3)
    assert found[0] == 0.0


def test_the_last_tier_of_a_function_is_unbounded() -> None:
    function = {"terms": ["L", "ghr1", "ghw1"], "coefficients": [0.0, 1e-9, 2e-9]}
    assert predict(function, [3e6], [1e6], [4e6], (1e3, 1e5, np.inf)) == pytest.approx([5e-3])


# The fits


@pytest.mark.parametrize("p", [2, 4, 8, 12])
def test_fits_of_bad_accesses_recover_the_papers_coefficients(p: int) -> None:
    functions, validation = fit_family("bad", p, measured("bad", p))
    rows = {row["name"]: row for row in functions}
    assert tuple(rows) == FUNCTIONS["bad"]
    best = rows["HrHwM"]
    assert np.array(best["coefficients"]) * 1e6 == pytest.approx(BAD[p], rel=1e-6)
    assert (best["fit_suite"], best["set"], best["unidentified"]) == (2, "all", [])
    errors = {(row["name"], row["suite"]): row["average"] for row in validation}
    assert {number for _, number in errors} == {1, 3}
    for number in (1, 3):
        assert errors["HrHwM", number] < 1e-9
        assert min(errors[name, number] for name in ("H", "HM", "HrHw")) > 0.01


@pytest.mark.parametrize("p", [4, 8, 12])
def test_fits_of_good_accesses_recover_the_papers_coefficients(p: int) -> None:
    functions, validation = fit_family("good", p, measured("good", p), TIERS)
    rows = {(row["name"], row["set"]): row for row in functions}
    assert set(rows) == {(name, label) for name in FUNCTIONS["good"] for label in ("R0", "R1", "all")}
    cached, beyond = rows["HrHwM-c", "R0"], rows["HrHwM-c", "R1"]
    start, rc, rm, wc, wm, g = GOOD_R1[p]
    assert np.array(beyond["coefficients"]) * 1e6 == pytest.approx([start, rc, wc, rm, wm, g], rel=1e-5, abs=1e-5)
    start, rc, _, wc, _, g = GOOD_R0[p]
    assert cached["terms"] == ["L", "ghr1", "ghw1", "gM"]
    assert np.array(cached["coefficients"]) * 1e6 == pytest.approx([start, rc, wc, g], rel=1e-6)
    assert {row["fit_suite"] for row in functions} == {1}
    assert {row["suite"] for row in validation} == {2, 3}
    assert max(row["average"] for row in validation if (row["name"], row["set"]) == ("HrHwM-c", "R1")) < 1e-6
    assert cached["h_range"][1] <= L2 < beyond["h_range"][0]


def test_noise_stays_within_the_intervals_and_shows_in_the_errors() -> None:
    functions, validation = fit_family("bad", 4, measured("bad", 4, noise=0.02))
    best = functions[-1]
    low, high = np.array(best["low"]) * 1e6, np.array(best["high"]) * 1e6
    # Of four intervals of 95%, one may miss.
    inside = (low <= BAD[4]) & (high >= BAD[4])
    assert inside.sum() >= 3
    assert (high - low < 0.5 * np.array(BAD[4])).all()
    averages = [row["average"] for row in validation if row["name"] == "HrHwM"]
    # The mean of |N(0, 2%)| is 1.6%.
    assert averages == pytest.approx([0.016, 0.016], rel=0.25)


def test_rows_have_the_form_of_the_profiles_json() -> None:
    functions, validation = fit_family("good", 4, measured("good", 4, "quick", 0.02), TIERS)
    assert json.loads(json.dumps([functions, validation], allow_nan=False)) == [functions, validation]
    for row in functions:
        assert list(row) == [
            *("family", "p", "name", "set", "fit_suite", "terms", "coefficients", "low", "high"),
            *("unidentified", "condition", "count", "h_range"),
        ]
        assert len(row["terms"]) == len(row["coefficients"]) == len(row["low"]) == len(row["high"])
        assert all(a <= c <= b for a, c, b in zip(row["low"], row["coefficients"], row["high"], strict=True))
    for row in validation:
        assert list(row) == ["family", "p", "name", "set", "suite", "average", "maximum", "count"]


def test_validation_is_the_relative_error_on_the_other_suites() -> None:
    suites = measured("bad", 2, noise=0.05)
    functions, validation = fit_family("bad", 2, suites)
    assert len(validation) == 8
    for row in validation:
        (function,) = (f for f in functions if f["name"] == row["name"])
        part = suites[row["suite"]]
        matrix, _ = columns(row["name"], part.hr, part.hw, part.m)
        off = np.abs(matrix @ np.array(function["coefficients"]) / part.seconds - 1.0)
        assert row["average"] == pytest.approx(off.mean())
        assert row["maximum"] == pytest.approx(off.max())
        assert row["count"] == len(off) == 4 * len(sizes("default"))


def test_one_processor_is_fitted_on_suite_3_because_its_reads_equal_its_writes_in_the_others() -> None:
    rng = np.random.default_rng(0)
    suites = {}
    for number in (1, 2, 3):
        hr, hw, m = counts(suite(number, 1, sizes("default"), rng))
        assert (number == 3) == bool((hr != hw).any())
        assert (m == hr + hw).all()
        suites[number] = Measured(hr, hw, m, 1e-5 + 2e-9 * hr + 5e-9 * hw)
    functions, validation = fit_family("bad", 1, suites)
    rows = {row["name"]: row for row in functions}
    assert {name: row["fit_suite"] for name, row in rows.items()} == {"H": 2, "HM": 3, "HrHw": 3, "HrHwM": 3}
    for name in ("HrHw", "HrHwM"):
        assert rows[name]["terms"] == ["L", "ghr", "ghw"]  # M would only repeat their sum
        assert rows[name]["coefficients"] == pytest.approx([1e-5, 2e-9, 5e-9], rel=1e-6)
        assert rows[name]["unidentified"] == []
    assert {row["suite"] for row in validation if row["name"] == "HrHwM"} == {1, 2}
    assert max(row["maximum"] for row in validation if row["name"] == "HrHwM") < 1e-9
    # Without suite 3 the terms stay unidentified, and are named; their sum still predicts.
    functions, validation = fit_family("bad", 1, {1: suites[1], 2: suites[2]})
    assert functions[-1]["unidentified"] == ["ghr", "ghw"]
    assert functions[-1]["condition"] is None
    assert functions[-1]["high"][1] is None
    assert validation[-1]["maximum"] < 1e-9


def test_sets_are_divided_at_the_private_cache() -> None:
    suites = measured("good", 4)
    h = suites[1].h
    functions, _ = fit_family("good", 4, suites, (1e5, L2, np.inf), private=1e5)
    counted = {row["set"]: row["count"] for row in functions if row["name"] == "H"}
    assert counted == {"R0": (h <= 1e5).sum(), "R1": (h > 1e5).sum(), "all": len(h)}
    pairs = {row["set"]: len(row["terms"]) for row in functions if row["name"] == "HrHwM-c"}
    assert pairs == {"R0": 2 + 2, "R1": 2 + 6, "all": 2 + 6}
    functions, _ = fit_family("good", 4, suites)  # no cache is known, so the knee is found in the data
    assert {row["set"] for row in functions} == {"all"}
    assert any(abs(np.log(knee / L2)) < 0.25 for knee in functions[-1]["knees"])


def test_tiers_that_no_size_reaches_get_no_price_and_small_sets_are_omitted() -> None:
    suites = measured("good", 4, "quick")  # up to 550,000 words: a single size above 2^19
    functions, _ = fit_family("good", 4, suites, (L2, 5e6, np.inf), private=L2)
    pairs = {row["set"]: row["terms"][1:-1] for row in functions if row["name"] == "HrHwM-c"}
    assert pairs == {
        "R0": ["ghr1", "ghw1"],
        "R1": ["ghr1", "ghw1", "ghr2", "ghw2"],
        "all": ["ghr1", "ghw1", "ghr2", "ghw2"],
    }
    functions, _ = fit_family("good", 4, suites, (1e6, np.inf))
    assert {row["set"] for row in functions} == {"R0", "all"}


def test_no_access_and_no_small_superstep_has_a_negative_cost() -> None:
    suites = measured("good", 4)
    # Writes seem to save time, and the line would cross zero before the smallest size.
    odd = {
        number: Measured(s.hr, s.hw, s.m, 1e-8 * s.h + 1e-9 * s.m - 5e-10 * s.hw - 2e-5) for number, s in suites.items()
    }
    functions, _ = fit_family("good", 4, odd, TIERS)
    for row in functions:
        signed = dict(zip(row["terms"], row["coefficients"], strict=True))
        start = signed.pop("L")
        assert min(signed.values()) >= 0.0
        assert row["set"] == "R1" or start >= 0.0
    linear = {row["set"]: row for row in functions if row["name"] == "HM"}
    assert (linear["all"]["low"][0], linear["all"]["coefficients"][0], linear["all"]["high"][0]) == (0, 0, 0)
    assert linear["R1"]["coefficients"][0] < 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sizes("huge"), "no sizes for mode 'huge': choose one of quick, default, full"),
        (lambda: suite(4, 2, [10], np.random.default_rng()), "there is no suite 4"),
        (lambda: suite(1, 0, [10], np.random.default_rng()), "at least 1 processor, not 0"),
        (lambda: suite(1, 2, [T_MAX + 1], np.random.default_rng()), "h = 2000001 words is out of range"),
        (lambda: suite(1, 2, [0], np.random.default_rng()), "h = 0 words is out of range"),
        (lambda: columns("HH", [1], [1], [2]), "no cost function 'HH': choose one of H, HM, HrHw"),
        (lambda: columns("H", [1], [1], [2], (5.0, 3.0, np.inf)), "ascend"),
        (lambda: columns("H", [1], [1], [2], (3.0, 5.0)), "to infinity"),
        (lambda: columns("H", [1], [1], [2], (np.nan, np.inf)), "ascend"),
        (lambda: fit_family("ugly", 2, {}), "no access family 'ugly': choose one of good, bad"),
        (lambda: fit_family("bad", 2, {}), r"fitted on suite 2, but only suites \[\] were measured"),
        (lambda: Measured(ONE, ONE, np.ones(2), ONE), "do not agree"),
        (lambda: Measured(ONE, ONE, ONE, 0 * ONE), "1 of 1 supersteps"),
        (lambda: Measured(np.array([1.0, -1.0]), *[np.ones(2)] * 3), "first is 1"),
    ],
)
def test_errors_name_the_problem_and_the_remedy(call: Callable[[], object], message: str) -> None:
    with pytest.raises(FitError, match=message):
        call()


# The paper's tables


def test_tables_5_to_8_add_up() -> None:
    # Sums over the printed tables, taken from the paper's text: averages, maxima.
    sums = {
        ("good", 2): (3.814, 19.244),
        ("good", 3): (2.373, 12.596),
        ("bad", 1): (2.289, 8.126),
        ("bad", 3): (1.350, 6.8233),
    }
    rows = [row for p in (2, 4, 8, 12) for row in paper_errors(p)]
    assert len(rows) == 4 * len(PAPER_ERRORS) == 96
    for (family, number), (averages, maxima) in sums.items():
        table = [row for row in rows if (row["family"], row["suite"]) == (family, number)]
        assert sum(row["average"] for row in table) == pytest.approx(averages)
        assert sum(row["maximum"] for row in table) == pytest.approx(maxima)
    assert paper_errors(3) == []


def test_tables_5_to_8_confirm_the_papers_text() -> None:
    errors = {
        (row["family"], row["name"], row["set"], row["suite"], row["p"]): row["average"]
        for p in (2, 4, 8, 12)
        for row in paper_errors(p)
    }
    for (family, name, label, number, p), average in errors.items():
        if name.startswith("HrHwM"):
            assert average <= 0.07
            assert average <= errors[family, "H", label, number, p]
    for number in (1, 3):
        for p in (2, 4, 8, 12):
            better, worse = ("HrHw", "HM") if p <= 4 else ("HM", "HrHw")
            assert errors["bad", better, "all", number, p] < errors["bad", worse, "all", number, p]


@settings(max_examples=10)
@given(st.just("bad"), st.integers(0, 2**32 - 1))
def test_the_true_form_beats_the_simpler_ones(family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    suites = {
        number: Measured(s.hr, s.hw, s.m, s.seconds * np.exp(0.01 * rng.standard_normal(len(s.m))))
        for number, s in measured("bad", 4, "quick").items()
    }
    _, validation = fit_family(family, 4, suites)
    average = {(row["name"], row["suite"]): row["average"] for row in validation}
    for number in (1, 3):
        assert average["HrHwM", number] < 0.02
        assert average["HrHwM", number] < min(average[name, number] for name in ("H", "HM", "HrHw"))
