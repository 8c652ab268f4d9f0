"""States of the placement are found in the readings of a simulated machine that has three, whatever their levels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import examples

from smp.models.placement import NONE, Placement, find_states

HAND_OVER = np.array([71.0, 282.0, 34.0])  # ns in each state of the simulated machine
WORD = np.array([1.9, 4.1, 1.2])  # ns of a contended word
SHARES = np.array([0.55, 0.4, 0.05])


def simulated(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return states, readings, and costs of words between readings, of a machine whose states last some 30 readings."""
    rng = np.random.default_rng(seed)
    spells = rng.choice(3, size=n // 10 + 1, p=SHARES)
    states = np.repeat(spells, rng.geometric(1 / 30, len(spells)))[: n + 1]
    readings = HAND_OVER[states] * np.exp(0.05 * rng.standard_normal(len(states)))
    costs = WORD[states[:-1]] * np.exp(0.1 * rng.standard_normal(len(states) - 1))
    moved = states[:-1] != states[1:]
    costs[moved] = (WORD[states[:-1]] + WORD[states[1:]])[moved] / 2
    return states, readings, costs


@pytest.mark.parametrize("seed", range(5))
def test_the_states_of_a_simulated_machine_are_found(seed: int) -> None:
    states, readings, _ = simulated(4_000, seed)
    found = find_states(readings)
    assert len(found.states) == 3
    for state in found.states:
        true = int(np.argmin(np.abs(np.log(HAND_OVER / state.ns))))
        assert state.ns == pytest.approx(HAND_OVER[true], rel=0.02)
        assert state.share == pytest.approx((states == true).mean(), abs=0.01)
    assert [state.share for state in found.states] == sorted((state.share for state in found.states), reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_a_median_over_the_main_state_is_right_when_the_plain_median_is_off(seed: int) -> None:
    states, readings, costs = simulated(4_000, seed)
    found = find_states(readings)
    main = np.bincount(states).argmax()
    chosen = found.is_main(readings[:-1], readings[1:])
    assert np.median(costs[chosen]) == pytest.approx(WORD[main], rel=0.02)
    # a pattern measured half of the time in the other state, which happens in a short campaign
    few = np.concatenate([costs[states[:-1] == 1][:60], costs[states[:-1] == 0][:50]])
    assert abs(np.median(few) / WORD[0] - 1) > 0.2


def test_readings_between_two_states_have_no_state() -> None:
    found = find_states([70.0] * 30 + [280.0] * 10)
    assert found.label([69, 71, 281, 3]).tolist() == [0, 0, 1, 0]
    assert found.between([70, 70, 280, np.nan], [71, 280, 281, 70]).tolist() == [0, NONE, 1, NONE]
    assert found.is_main([70, 70, 280], [70, 280, 280]).tolist() == [True, False, False]


def test_without_readings_all_measurements_count() -> None:
    for found in (Placement(), find_states([]), find_states([np.nan])):
        assert found.main is None
        assert found.is_main([np.nan, 1.0], [np.nan, 1.0]).all()


def test_shares_are_those_of_the_time_if_readings_have_weights() -> None:
    readings = [70.0] * 90 + [280.0] * 10
    weights = [0.01] * 90 + [0.09] * 10
    main, other = find_states(readings, weights).states
    assert (main.share, other.share) == pytest.approx((0.5, 0.5))


def test_a_few_distant_readings_are_not_a_state() -> None:
    rng = np.random.default_rng(0)
    readings = np.concatenate([70 * np.exp(0.06 * rng.standard_normal(2_000)), [9_000.0, 11_000.0, 40_000.0]])
    (only,) = find_states(readings).states
    assert only.ns == pytest.approx(70, rel=0.01)
    assert find_states(readings).label([9_000.0]).tolist() == [NONE]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.floats(1.0, 1e5), min_size=1, max_size=200))
def test_any_readings_have_states_without_overlap(readings: list[float]) -> None:
    found = find_states(readings)
    assert found.count == len(readings)
    labels = found.label(readings)
    for k, state in enumerate(found.states):
        mine = np.array(readings)[labels == k]
        assert state.low <= mine.min() <= state.ns <= mine.max() < state.high
        assert state.share == pytest.approx(len(mine) / len(readings))
