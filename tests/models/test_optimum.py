"""The best whole number by bisection, compared with an exhaustive search."""

import math
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

from smp.models.fit.optimum import integer_minimum, integer_root

STEPS = st.lists(st.integers(1, 9), max_size=60)


class Counted:
    """A function given by its values from `bottom` on, which counts its calls."""

    def __init__(self, bottom: int, values: list[float]) -> None:
        self.bottom, self.values, self.asked = bottom, values, 0

    def __call__(self, x: int) -> float:
        assert x >= self.bottom
        self.asked += 1
        return self.values[x - self.bottom]


@given(st.integers(-50, 50), STEPS, STEPS)
@settings(max_examples=examples(200), deadline=None)
def test_the_minimum_of_a_function_that_falls_and_then_rises_is_found(
    bottom: int, falls: list[int], rises: list[int]
) -> None:
    values = [*reversed(list(accumulate(falls))), 0.0, *accumulate(rises)]
    f = Counted(bottom, values)
    top = bottom + len(values) - 1
    assert integer_minimum(bottom, top, f) == bottom + len(falls)
    assert f.asked <= 2 * math.ceil(math.log2(len(values)))


@given(st.integers(-50, 50), st.lists(st.integers(0, 1), max_size=80), st.lists(st.integers(0, 1), max_size=80))
@settings(max_examples=examples(300), deadline=None)
def test_flat_pieces_do_not_stop_the_search(bottom: int, falls: list[int], rises: list[int]) -> None:
    values = [*reversed(list(accumulate(falls))), -0.5, *(0.25 + each for each in accumulate(rises))]
    assert integer_minimum(bottom, bottom + len(values) - 1, Counted(bottom, values)) == bottom + len(falls)


def test_infinity_towards_the_top_does_not_stop_the_search() -> None:
    assert integer_minimum(0, 1000, lambda x: 50 - x if x <= 31 else math.inf) == 31


def test_one_of_several_equal_minima_is_found() -> None:
    assert integer_minimum(0, 9, lambda x: max(3 - x, 0, x - 6)) in range(3, 7)


@given(st.integers(-50, 50), STEPS, STEPS, st.sampled_from([1, -1]))
@settings(max_examples=examples(200), deadline=None)
def test_the_root_is_the_last_before_the_sign_changes(
    bottom: int, before: list[int], after: list[int], sign: int
) -> None:
    descending = [*reversed(list(accumulate(before))), *(-each for each in accumulate(after))]
    if not descending:
        return
    f = Counted(bottom, [sign * each for each in descending])
    found = integer_root(bottom, bottom + len(descending) - 1, f)
    if before and after:
        assert found == bottom + len(before) - 1
    else:
        below = not before if sign > 0 else bool(before)
        assert found == (bottom - 1 if below else bottom + len(descending))
    assert f.asked <= 2 + math.ceil(math.log2(len(descending)))


@given(st.integers(0, 100), st.integers(0, 100))
@settings(max_examples=examples(100), deadline=None)
def test_an_exact_root_is_found(root: int, more: int) -> None:
    assert integer_root(0, root + more, lambda x: root - x) == root
    assert integer_root(0, root + more, lambda x: x - root) == root


@pytest.mark.parametrize("find", [integer_minimum, integer_root])
def test_an_empty_range_is_refused(find: object) -> None:
    with pytest.raises(ValueError, match="the range from 3 to 2 is empty"):
        find(3, 2, float)  # type: ignore[operator]


def radix(keys: int, digit: int, width: int) -> float:
    """Return the microseconds of radix sort by Brewer's model of the CM-5, equation 37 without the processors' term."""
    return 11.41 * 2**digit + 9.92 * -(-width // digit) * keys


@pytest.mark.parametrize(("keys", "digit"), [(1_000, 7), (10_000, 10), (1_000_000, 14)])
def test_the_best_digits_for_28_bit_keys_are_those_of_the_thesis(keys: int, digit: int) -> None:
    """Measurement 5.3: 7 bits around 1,000 keys, 10 above, 14 for large enough sorts; found by the number of passes."""
    assert -(-28 // integer_minimum(1, 28, lambda passes: radix(keys, -(-28 // passes), 28))) == digit


@pytest.mark.parametrize(("width", "keys"), [(16, 580), (24, 386), (32, 290)])
def test_the_crossovers_from_4_to_10_bits_are_those_of_the_thesis(width: int, keys: int) -> None:
    """Table 4-4 has the predicted crossovers of the CM-5; the printed coefficients have three or four digits."""
    found = integer_root(1, 10_000, lambda keys: radix(keys, 10, width) - radix(keys, 4, width))
    assert abs(found - keys) <= 1
