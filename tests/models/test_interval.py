"""The prediction interval: closed forms of Loc and M/G, verdicts, totals, and the printed table."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import below

from smp.errors import FitError
from smp.models.supersteps.intervals import Accesses, Interval, inside, interval, loc, m_over_g, verdict

seconds = st.floats(1e-9, 1e3)


def accesses(hr: Sequence[int], hw: Sequence[int], m: Sequence[int]) -> Accesses:
    return Accesses(np.array(hr), np.array(hw), np.array(m))


def example(**changes: Any) -> Interval:
    """Return three supersteps: inside the interval, faster than good, and too small to tell."""
    words = accesses([1_000_000, 500_000, 4], [64, 500_000, 2], [2_000_128, 2_000_000, 12])
    given: dict[str, Any] = {
        "step": [0, 1, 2],
        "label": ["count", "move", "sum"],
        "elements": words,
        "bytes": Accesses(*(8 * np.asarray(a) for a in (words.hr, words.hw, words.m))),
        "copy_in": [2e-3, 1e-3, 5e-6],
        "compute": [1e-3, 0.0, 1e-6],
        "copy_out": [1e-3, 1e-3, 4e-6],
        "good": [1e-3, 4e-3, 2e-6],
        "bad": [5e-3, 40e-3, 30e-6],
        "random": [4e-3, 20e-3, 20e-6],
    }
    return interval(**(given | changes))


@given(seconds, st.floats(1.01, 1e4), st.floats(-2.0, 3.0), st.floats(0.0, 1e3))
def test_loc_is_linear_between_the_ends(good: float, ratio: float, share: float, compute: float) -> None:
    bad = good * ratio
    assert loc(good, good, bad) == 1.0
    assert loc(bad, good, bad) == pytest.approx(0.0, abs=1e-12)
    measured = good + (1.0 - share) * (bad - good)
    assert loc(measured, good, bad) == pytest.approx(share, abs=1e-9)
    # Local computation on both sides drops out of Loc, except for the digits that it absorbs.
    swallowed = 1e-14 * (compute + bad) / (bad - good)
    assert loc(measured + compute, good + compute, bad + compute) == pytest.approx(share, abs=1e-9 + swallowed)


@given(st.floats(0.0, 1e3), st.lists(st.floats(0.0, 1e3), min_size=3, max_size=3))
def test_computation_changes_neither_loc_nor_m_over_g_nor_the_verdict(scale: float, compute: list[float]) -> None:
    table, longer = example(), example(compute=[scale * each for each in compute])
    for name in ("measured", "good", "bad", "random", "loc", "m_over_g"):
        assert np.array_equal(getattr(table, name), getattr(longer, name), equal_nan=True)
    assert longer.verdict.tolist() == table.verdict.tolist()
    assert longer.total.m_over_g == table.total.m_over_g
    for ours, theirs in zip(longer.whole, table.whole, strict=True):
        assert ours - theirs == pytest.approx(scale * sum(compute) - 1.001e-3)


def test_the_ends_are_inside_and_degenerate_intervals_have_no_loc() -> None:
    assert loc([2.0, 2.0], [2.0, 3.0], [2.0, 1.0]).tolist() == pytest.approx([np.nan, np.nan], nan_ok=True)
    assert m_over_g([1.0, 0.0], [0.0, 0.0]).tolist() == pytest.approx([np.inf, np.nan], nan_ok=True)
    assert inside([1.0, 2.0, 0.999, 2.001], 1.0, 2.0).tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("measured", "good", "bad", "m", "said"),
    [
        (5.0, 1.0, 9.0, 9_999, "too small to tell"),
        (5.0, 1.0, 9.0, 10_000, "half way"),
        (5.0, 2.0, 2.0, 10**6, "good and bad are alike"),
        (5.0, 3.0, 2.0, 10**6, "good and bad are alike"),
        (0.92, 1.0, 9.0, 10**6, "faster than good"),
        (0.94, 1.0, 9.0, 10**6, "as good as it gets"),
        (1.0, 1.0, 9.0, 10**6, "as good as it gets"),
        (1.24, 1.0, 9.0, 10**6, "as good as it gets"),
        (1.26, 1.0, 9.0, 10**6, "near the good end"),
        (1.10, 1.0, 1.1, 10**6, "near the bad end"),  # 10% above good, but all the way to bad
        (2.9, 1.0, 9.0, 10**6, "near the good end"),
        (3.1, 1.0, 9.0, 10**6, "half way"),
        (6.9, 1.0, 9.0, 10**6, "half way"),
        (7.1, 1.0, 9.0, 10**6, "near the bad end"),
        (9.5, 1.0, 9.0, 10**6, "near the bad end"),
        (9.7, 1.0, 9.0, 10**6, "beyond bad"),
    ],
)
def test_each_position_in_the_interval_has_its_verdict(
    measured: float, good: float, bad: float, m: int, said: str
) -> None:
    assert verdict(measured, good, bad, m) == said


def test_neither_measured_nor_predicted_times_include_the_computation() -> None:
    table = example()
    assert table.measured == pytest.approx([3e-3, 2e-3, 9e-6])
    assert table.good == pytest.approx([1e-3, 4e-3, 2e-6])
    assert table.bad == pytest.approx([5e-3, 40e-3, 30e-6])
    assert table.random == pytest.approx([4e-3, 20e-3, 20e-6])
    assert table.loc == pytest.approx([0.5, 1 + 2 / 36, np.nan], nan_ok=True)
    assert table.m_over_g == pytest.approx([3.0, 0.5, np.nan], nan_ok=True)
    assert table.inside.tolist() == [True, False, True]
    assert table.verdict.tolist() == ["half way", "faster than good", "too small to tell"]
    assert (table.hr[0], table.hw[0], table.m[0], table.bytes.m[0]) == (1_000_000, 64, 2_000_128, 16_001_024)
    assert len(table) == 3


def test_the_total_is_the_sum_of_the_supersteps() -> None:
    table = example()
    total = table.total
    assert len(total) == 1
    assert (total.hr[0], total.hw[0], total.m[0]) == (1_500_004, 500_066, 4_000_140)
    assert total.bytes.hr[0] == 8 * 1_500_004
    for name in ("copy_in", "compute", "copy_out", "measured", "good", "bad", "random"):
        assert getattr(total, name) == pytest.approx([getattr(table, name).sum()])
    assert total.loc == pytest.approx([1 - (5.009 - 5.002) / (45.030 - 5.002)])
    assert total.m_over_g == pytest.approx([5.009 / 5.002])
    assert total.inside.tolist() == [True]
    assert total.verdict.tolist() == ["as good as it gets"]
    assert total.total.measured == pytest.approx(total.measured)


def test_the_times_of_a_whole_program_include_its_computation() -> None:
    assert example().whole == pytest.approx((6.010e-3, 6.003e-3, 46.031e-3, 25.021e-3))
    assert np.isnan(example(random=None).whole.random)


times = st.floats(0, 10)


@given(st.lists(st.tuples(times, times, times, times, times), min_size=1, max_size=6))
def test_supersteps_inside_the_interval_have_a_total_inside(rows: list[tuple[float, ...]]) -> None:
    copy_in, compute, copy_out, less, more = np.array(rows).T
    both = copy_in + copy_out
    n = len(rows)
    count = Accesses(np.full(n, 10**5), np.full(n, 10**5), np.full(n, 4 * 10**5))
    good, bad = both / (1.001 + less), both * (1.001 + more) + 1e-6
    table = interval(range(n), ["s"] * n, count, count, copy_in, compute, copy_out, good, bad)
    assert table.total.inside.all()
    assert 0.0 <= table.total.loc[0] <= 1.0 + 1e-9
    assert np.isnan(table.total.random).all()


def test_the_table_is_aligned_and_has_units() -> None:
    lines = [str(example()).splitlines()[0], *below(example())]
    assert len(lines) == 6
    head = lines[0].split()
    assert " ".join(head) == "step label h_r h_w M compute measured good bad random Loc M/G inside verdict"
    cells = [re.split(r"  +", line.strip()) for line in lines[1:]]
    assert cells[0] == [
        *("0", "count", "1,000,000", "64", "2,000,128", "1.00 ms", "3.00 ms", "1.00 ms", "5.00 ms", "4.00 ms"),
        *("0.50", "3.00", "yes", "half way"),
    ]
    assert cells[2][5:] == ["1.00 us", "9.00 us", "2.00 us", "30.0 us", "20.0 us", "-", "-", "yes", "too small to tell"]
    assert cells[3][:6] == ["total", "1,500,004", "500,066", "4,000,140", "1.00 ms", "5.01 ms"]
    assert cells[4] == ["with compute", "6.01 ms", "6.00 ms", "46.0 ms", "25.0 ms"]
    # Numbers end where their heading ends.
    for name in ("h_r", "M", "measured", "bad", "Loc", "inside"):
        end = re.search(rf"\b{name}\b", lines[0])
        assert end is not None
        for line in lines[1:-1]:
            assert line[end.end() - 1] != " "
            assert line[end.end()] == " "


def test_without_random_predictions_there_is_no_such_column() -> None:
    table = example(random=None)
    assert np.isnan(table.random).all()
    assert "random" not in str(table)
    assert "random" in str(example(random=[1e-3, np.nan, np.nan]))
    assert below(table)[0].split()[-3:] == ["yes", "half", "way"]


def test_a_long_table_keeps_both_ends_and_the_total_of_all() -> None:
    n = 1000
    count = Accesses(*(np.full(n, v) for v in (7, 7, 20_000)))
    ones = np.ones(n)
    table = interval(np.arange(n), ["s"] * n, count, count, ones, ones, ones, ones, 3 * ones)
    lines = below(table)
    assert len(lines) == 20 + 1 + 20 + 2
    assert [line.split()[0] for line in lines[18:23]] == ["18", "19", "...", "980", "981"]
    assert lines[-2].split()[:4] == ["total", "7,000", "7,000", "20,000,000"]
    assert lines[-2].split()[4:8] == ["1,000", "s", "2,000", "s"]
    assert lines[-1].split() == ["with", "compute", "3,000", "s", "2,000", "s", "4,000", "s"]


def test_an_interval_without_supersteps_is_empty() -> None:
    none = accesses([], [], [])
    table = interval([], [], none, none, [], [], [], [], [])
    assert str(table) == "no supersteps"
    assert len(table) == 0
    assert table.total.measured.tolist() == [0.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"good": [1.0, 2.0]}, r"good has shape \(2,\), but step has \(3,\)"),
        ({"label": ["one"]}, r"label has shape \(1,\)"),
        ({"bytes": accesses([1], [1], [2])}, r"bytes.hr has shape \(1,\)"),
        ({"step": 0}, r"step has \(\)"),
        ({"copy_in": [1.0, -1.0, 1.0]}, r"copy_in\[1\] is negative or NaN"),
        ({"bad": [1.0, 1.0, np.nan]}, r"bad\[2\] is negative or NaN"),
    ],
)
def test_arguments_that_do_not_agree_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FitError, match=message):
        example(**changes)
