"""Patterns of communication: shifts, exchanges, rounds that bring all pairs together, and collisions of targets."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp import patterns

SIZES = [*range(1, 20), 31, 32, 33, 64]


@given(st.integers(1, 100), st.integers(-(10**30), 10**30))
def test_a_shift_goes_to_the_processor_at_a_distance(size: int, k: int) -> None:
    assert patterns.cyclic_shift(size, k).tolist() == [(i + k) % size for i in range(size)]


@pytest.mark.parametrize("size", SIZES)
def test_an_exchange_needs_a_partner_for_each_processor(size: int) -> None:
    for bit in range(8):
        targets = [i ^ 2**bit for i in range(size)]
        if max(targets) < size:
            assert patterns.exchange(size, bit).tolist() == targets
        else:
            with pytest.raises(ValueError, match=rf"^{size} processors .* must be a multiple of 2\*\*{bit + 1}$"):
                patterns.exchange(size, bit)


@pytest.mark.parametrize("size", SIZES)
def test_rounds_bring_every_ordered_pair_together_once(size: int) -> None:
    found = patterns.rounds(size)
    assert all(patterns.is_permutation(targets) for targets in found)
    assert Counter((i, int(j)) for targets in found for i, j in enumerate(targets)) == Counter(
        (i, j) for i in range(size) for j in range(size)
    )
    assert found[0].tolist() == list(range(size))


@pytest.mark.parametrize("size", SIZES)
def test_rounds_are_exchanges_or_shifts(size: int) -> None:
    found = patterns.rounds(size)
    if math.log2(size).is_integer():
        assert all((targets[targets] == np.arange(size)).all() for targets in found)
        for bit in range(int(math.log2(size))):
            assert found[1 << bit].tolist() == patterns.exchange(size, bit).tolist()
    else:
        assert [each.tolist() for each in found] == [patterns.cyclic_shift(size, k).tolist() for k in range(size)]


@given(st.integers(0, 6).flatmap(lambda n: st.lists(st.integers(-1, n), min_size=n, max_size=n)))
def test_a_permutation_has_each_target_once(targets: list[int]) -> None:
    assert patterns.is_permutation(targets) is (sorted(targets) == list(range(len(targets))))


@given(st.integers(1, 9).flatmap(lambda n: st.lists(st.lists(st.integers(0, n), min_size=n, max_size=n), min_size=1)))
def test_collisions_are_counted_in_one_case_and_in_many(cases: list[list[int]]) -> None:
    expected = [max(Counter(targets).values()) for targets in cases]
    assert [patterns.worst_collisions(targets) for targets in cases] == expected
    assert patterns.worst_collisions(cases).tolist() == expected
    assert patterns.worst_collisions(np.array(cases, np.uint8)[:, None]).tolist() == [[each] for each in expected]


def at_most(m: int, n: int) -> float:
    """Return the probability that of n random targets among n at most m are the same.

    It is n! / n^n times the coefficient of x^n in (1 + x + x^2 / 2! + ... + x^m / m!)^n.
    """
    one = np.array([1 / math.factorial(k) if k <= m else 0.0 for k in range(n + 1)]) / math.e
    power = np.array([1.0])
    for _ in range(n):
        power = np.convolve(power, one)[: n + 1]  # divided by e^n, so that it does not become too large
    return float(power[n] * math.exp(n + math.lgamma(n + 1) - n * math.log(n)))


def test_collisions_of_random_targets_have_their_distribution() -> None:
    n, trials = 64, 100_000
    drawn = np.random.default_rng(30).integers(0, n, (trials, n), np.uint8)
    found = patterns.worst_collisions(drawn)
    below = [at_most(m, n) for m in range(n)]  # the mean is the sum of the probabilities of more than 0, 1, 2, ...
    mean = n - sum(below)
    assert (round(mean, 3), round(1 - below[2], 4)) == (3.958, 0.9993)  # as the docstring says
    assert found.mean() == pytest.approx(mean, abs=0.01)  # the standard error is 0.0025
    assert np.mean(found >= 3) == pytest.approx(1 - below[2], abs=0.0005)


BAD: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
    (patterns.cyclic_shift, (0, 1), ValueError, "number of processors must be at least 1, not 0"),
    (patterns.cyclic_shift, (4, 0.5), TypeError, "float"),
    (patterns.exchange, (-2, 0), ValueError, "at least 1, not -2"),
    (patterns.exchange, (8, -1), ValueError, "bit must be 0 or more, not -1"),
    (patterns.exchange, (8, 10**12), ValueError, "8 processors cannot exchange"),
    (patterns.rounds, (2.0,), TypeError, "float"),
    (patterns.rounds, (0,), ValueError, "at least 1, not 0"),
    (patterns.is_permutation, ([0.0, 1.0],), TypeError, "whole numbers, the ranks of processors, not float64"),
    (patterns.is_permutation, ([[0, 1]],), ValueError, r"one dimension, .* not the shape \(1, 2\)"),
    (patterns.worst_collisions, ([True, False],), TypeError, "whole numbers, .* not bool"),
    (patterns.worst_collisions, ([],), ValueError, r"a target for each processor, not the shape \(0,\)"),
    (patterns.worst_collisions, (3,), ValueError, r"not the shape \(\)"),
]


@pytest.mark.parametrize(("function", "args", "error", "said"), BAD)
def test_bad_input_is_refused(function: Any, args: tuple[Any, ...], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        function(*args)
