"""Phases at measured sizes and at others, and the parts of the time of a phase."""

import math

import numpy as np
import pytest

from smp.models.supersteps.factored import Charge, Factored
from smp.models.supersteps.phases import Doubt, Trend, doubt
from smp.models.supersteps.shares import Machine, share


def trend(*ratios: float) -> Trend:
    return Trend(np.arange(len(ratios), dtype=float), np.array(ratios))


def test_ratios_are_interpolated_between_sizes_and_constant_beyond() -> None:
    one = trend(1.0, 3.0, 2.0)
    assert [one.at(size) for size in (0.0, 0.5, 1.75, -4.0, 9.0)] == [1.0, 2.0, 2.25, 1.0, 2.0]


def test_a_straight_line_leaves_no_doubt_between_sizes_but_some_beyond() -> None:
    straight = [trend(0.0, 1.0, 2.0, 3.0)]
    assert doubt(straight, 1.0) == Doubt(0.0, math.inf)
    assert doubt(straight, 1.5) == Doubt(0.0, 2)
    assert doubt(straight, 5.0).error == pytest.approx(2.0)  # two sizes beyond, with a step of 1 from each to the next
    assert doubt(straight, -1.0).error == pytest.approx(1.0)


def test_doubt_is_the_distance_of_inner_sizes_from_the_line_of_their_neighbours() -> None:
    bent = [trend(0.0, 1.0, 0.0), trend(0.0, 0.0, 0.0)]
    assert doubt(bent, 0.5) == Doubt(pytest.approx(math.sqrt(0.5)), 2)
    assert doubt([trend(0.0, 1.0)], 0.5).error == 0.5
    assert doubt([trend(0.0)], 0.0).error == 0.0
    assert doubt([trend(0.0)], 0.5).error == math.inf


def machine(hidden: bool = False) -> Machine:
    """Return a machine with one superstep: accesses take 1 to 5 seconds, barriers 0.5, and the runtime adds 2 to 4."""
    good, bad = (Factored([Charge(("g", "w"), np.array([1.0, 1.0]) * f, np.array([[0.5, 0.5]]))]) for f in (1.0, 5.0))
    renamed = [Charge(("bad g", "bad w"), each.prices, each.amounts) for each in bad.charges]
    return Machine(good, Factored(renamed), 0.5, (2.0, 4.0), np.array([hidden]))


def test_copies_beyond_the_runtime_overhead_are_accesses() -> None:
    parts = machine().split(np.array([5.0]), np.array([2.0]))
    assert [float(each[0]) for each in parts] == [2.0, 1.5, 2.0, 1.5]
    assert parts.total == 7.0
    low = machine().split(np.array([5.0]), np.array([0.2]), added=4.0)
    assert [float(each[0]) for each in low] == [
        1.0,
        1.2,
        3.0,
        0.0,
    ]  # computation shorter than a barrier counts as a barrier


def test_hidden_accesses_lie_between_the_ends_and_take_no_more_than_the_copies() -> None:
    one = machine(hidden=True)
    assert [float(one.split(np.array([50.0]), np.array([1.0]), place=at).memory[0]) for at in (0, 0.5, 1)] == [1, 3, 5]
    assert float(one.split(np.array([2.5]), np.array([1.0]), place=1.0).memory[0]) == 2.5


@pytest.mark.parametrize("memory", [0.5, 1.0, 2.0, 5.0, 8.0])
def test_prices_account_for_the_seconds_of_the_accesses(memory: float) -> None:
    one = machine()
    parts = one.split(np.array([memory + 3.0]), np.array([1.5]))
    model = one.model(parts, work=10.0)
    assert model.total() == pytest.approx(memory + 4.5)
    found = one.by_price(parts.memory)
    assert sum(found.values()) == pytest.approx(memory)
    bad = float(found["bad g"] + found["bad w"])
    assert bad == pytest.approx({0.5: 0.0, 1.0: 0.0, 2.0: 1.25, 5.0: 5.0, 8.0: 8.0}[memory])
    doubled = one.by_price(parts.memory, {"g": np.array([2.0]), "bad g": np.array([2.0])})
    assert sum(doubled.values()) == pytest.approx(memory)  # the seconds are measured: a price only redistributes them
    assert doubled["g"] + doubled["bad g"] == pytest.approx(memory * 2 / 3)


def test_a_share_lies_in_its_interval() -> None:
    found = share(1.0, 4.0, np.linspace(0.3, 0.5, 1001))
    assert found == pytest.approx((0.25, 0.25, 0.495))
    assert found.determined
    assert not share(1.0, 4.0, np.linspace(0.0, 0.9, 1001)).determined
