"""Statistics of lists of numbers, compared with exact fractions and with the definition of the median."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._runtime.program.collectives.statistics import largest, mean, median, smallest, variance

NAN, INF = math.nan, math.inf
LONG = np.longdouble


def rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return INF if exact > 0 else -INF


def exact_mean(numbers: Sequence[Any]) -> Fraction:
    return sum((Fraction(*x.as_integer_ratio()) for x in numbers), Fraction()) / len(numbers)


def exact_variance(numbers: Sequence[Any]) -> Fraction:
    """Return the sample variance by its two-pass definition."""
    middle = exact_mean(numbers)
    squares = [(Fraction(*x.as_integer_ratio()) - middle) ** 2 for x in numbers]
    return sum(squares, Fraction()) / max(len(numbers) - 1, 1)


def one_pass(numbers: Sequence[float]) -> float:
    """Return the variance by the form of the source, computed in floats."""
    n = len(numbers)
    return (sum(x * x for x in numbers) - sum(numbers) ** 2 / n) / (n - 1)


def finite(width: Any) -> Any:
    return st.floats(allow_nan=False, allow_infinity=False, width=width)


INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 2**64 - 1)
NUMBERS = [
    INTEGERS,
    st.booleans(),
    finite(16),
    finite(32),
    finite(64),
    st.integers(0, 1000).map(lambda k: 1e9 + k),
    st.integers(0, 1000).map(lambda k: 1e16 + 2 * k),
    finite(64).map(lambda x: LONG(x) + LONG("1e-30")),
    finite(64).map(lambda x: LONG(x) * LONG("1e3000")),
]


@given(st.one_of([st.lists(numbers, min_size=1, max_size=12) for numbers in NUMBERS]))
def test_mean_and_variance_are_those_of_fractions_rounded_once(numbers: list[Any]) -> None:
    assert mean(numbers) == rounded(exact_mean(numbers))
    assert variance(numbers) == rounded(exact_variance(numbers))


@pytest.mark.parametrize("numbers", [[1e9, 1e9 + 1, 1e9 + 2], [1e16, 1e16 + 2, 1e16 + 4], [1e16, 1.0, -1e16]])
def test_variance_keeps_its_digits_where_the_form_of_the_source_cancels(numbers: list[float]) -> None:
    exact = exact_variance(numbers)
    assert abs(Fraction(variance(numbers)) - exact) <= exact / 10**15
    if min(numbers) > 0:
        assert abs(Fraction(one_pass(numbers)) - exact) > exact / 10


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=20), st.integers(-(2**62), 2**62))
def test_variance_does_not_depend_on_an_offset_of_integers(numbers: list[int], offset: int) -> None:
    assert variance([x + offset for x in numbers]) == variance(numbers)
    assert variance(numbers) == pytest.approx(np.var(numbers, ddof=1), rel=1e-12, abs=1e-12)


def test_no_sum_overflows() -> None:
    assert mean([2**63 - 1] * 3) == 2.0**63
    assert mean([1.5e308, 1.5e308]) == 1.5e308
    assert mean([LONG("1e4000"), LONG("-1e4000"), LONG(3)]) == 1.0
    assert variance([1e200, -1e200]) == INF
    assert [mean([LONG("-1e400")]), mean([LONG("1e400")])] == [-INF, INF]


@pytest.mark.parametrize("x", [7, 0.1, True, LONG("0.1"), 2**63])
def test_statistics_of_one_number(x: Any) -> None:
    assert [smallest([x]), largest([x]), median([x]), mean([x]), variance([x])] == [x, x, x, float(x), 0.0]


@pytest.mark.parametrize("n", range(1, 7))
def test_median_of_every_multiset_is_the_smaller_one_in_the_middle(n: int) -> None:
    for numbers in itertools.product(range(4), repeat=n):
        found = median(numbers)
        assert found in numbers
        assert sum(x < found for x in numbers) < math.ceil(n / 2) <= sum(x <= found for x in numbers)


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce")
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_infinite_numbers_are_those_of_numpy(n: int) -> None:
    for numbers in itertools.product([-INF, -1.5, 2.0, INF], repeat=n):
        assert [smallest(numbers), largest(numbers)] == [np.min(numbers), np.max(numbers)]
        assert median(numbers) == np.quantile(numbers, 0.5, method="inverted_cdf")
        assert np.array_equal(mean(numbers), np.mean(numbers), equal_nan=True)
        assert math.isnan(variance(numbers)) == (not np.all(np.isfinite(numbers)))


@pytest.mark.parametrize("nan", [NAN, LONG("nan")])
@pytest.mark.parametrize("others", [[1.0, 2.0, 3.0], [INF, -INF], [LONG(1)], []])
def test_one_nan_gives_nan(nan: Any, others: list[Any]) -> None:
    for place in range(len(others) + 1):
        numbers = [*others[:place], nan, *others[place:]]
        for statistic in (smallest, largest, median, mean, variance):
            assert math.isnan(statistic(numbers))
        for statistic in (smallest, largest, median):
            assert type(statistic(numbers)) is type(nan)


def test_of_equal_numbers_the_first_stands() -> None:
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        for statistic in (smallest, largest, median):
            assert math.copysign(1, statistic(zeros)) == math.copysign(1, zeros[0])
