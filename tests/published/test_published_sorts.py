"""The sorts of Brewer's thesis: the sums of their times are the virtual time of the programs themselves."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smp import machines
from smp.kernels.sorting.by_messages import OVERSAMPLING, draws

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from published.models.sort_tables import CROSSINGS, crossing, time_of
from published.models.sorts import Sorts, keys_of, largest_part

NAMES = ("cm5", "alewife", "paragon", "atm")
MANY = 20
"""Keys of a processor from which some message always waits at each receiver."""


@settings(max_examples=8, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    processors=st.sampled_from([2, 4, 9]),
    keys=st.integers(MANY, 80),
    width=st.integers(1, 20),
    digit=st.integers(2, 11),
    seed=st.integers(0, 99),
)
def test_the_sum_of_radix_sort_is_the_time_of_the_program(
    name: str, processors: int, keys: int, width: int, digit: int, seed: int
) -> None:
    times = Sorts(machines.load(name), processors)
    program = times.running(keys_of(processors, keys, width, seed), width, digit)
    assert times.radix(keys, width, digit) == pytest.approx(program, abs=2e-12 * (width // digit + 1))


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(NAMES), st.sampled_from([2, 4, 9]), st.integers(MANY, 80), st.integers(0, 99))
def test_the_sum_of_sample_sort_is_the_time_of_the_program(name: str, processors: int, keys: int, seed: int) -> None:
    times, made = Sorts(machines.load(name), processors), keys_of(processors, keys, 32, seed)
    program = times.running(made, 32, 0)
    sample = np.sort(np.concatenate([draws(made[rank], OVERSAMPLING, 0, rank) for rank in range(processors)]))
    owners = np.searchsorted(sample[::OVERSAMPLING], made.ravel(), side="right") - 1
    largest = int(np.bincount(owners.clip(0), minlength=processors).max())
    assert times.sample(keys, largest) == pytest.approx(program, abs=1e-11)


def test_with_few_keys_the_program_takes_a_little_longer() -> None:
    """Then a receiver waits for the last messages, and polls in vain meanwhile."""
    times = Sorts(machines.load("cm5"), 4)
    for keys in (1, 2, 5):
        program = times.running(keys_of(4, keys, 8, 1), 8, 4)
        assert 0.98 * program < times.radix(keys, 8, 4) <= program


@pytest.mark.parametrize("name", ["alewife", "paragon", "atm"])
def test_the_fastest_sort_of_32_bits_changes_where_the_thesis_says(name: str) -> None:
    """Table 4-4; the costs of keys were set from this width."""
    times = Sorts(machines.load(name), 64)
    ((_, _, printed),) = CROSSINGS[name][32]
    found = crossing(lambda keys: times.radix(keys, 32, 4), lambda keys: time_of(times, "sample", keys, 32))
    assert found == pytest.approx(printed, rel=0.02)


def test_the_largest_part_grows_with_the_processors_and_needs_keys_of_many_bits() -> None:
    rng = np.random.default_rng(1)
    means = [np.mean([largest_part(1000, p, 32, rng) for _ in range(50)]) for p in (4, 16, 64)]
    assert 1000 < means[0] < means[1] < means[2] < 1500
    assert np.mean([largest_part(1000, 64, 8, rng) for _ in range(50)]) > means[2]
