"""Supersteps outside their interval are listed with an explanation."""

from typing import Any

import pytest
from support.profiles import charging

from smp.microbench.sections.programs.exceptions import outside
from smp.microbench.sections.programs.rows import Counted


def step(measured: float, **given: Any) -> Counted:
    ends = {"good_s": 10e-6, "bad_s": 100e-6, "random_s": 200e-6}
    counts = {"p": 2, "label": "a", "hr": 10_000, "hw": 10_000, "m": 40_000, "footprint": 1 << 24}
    inside = 10e-6 <= measured <= 200e-6
    return Counted(**({**counts, **ends, "measured_s": measured, "inside": inside} | given))


@pytest.mark.parametrize(
    ("one", "because"),
    [
        (step(9.5e-6), "at the good end, within the error of the functions"),
        (step(5e-6, hw=0), "it stores nothing of what it reads, whereas Good copies"),
        (step(5e-6), "not explained"),
        (step(210e-6), "at the bad end, within the error of the functions"),
        (step(225e-6), "2.50 ns more per word, which the loop itself may take"),
        (step(1e-3, faults=600), "600 page faults"),
        (step(2e-3), "not explained"),
    ],
)
def test_each_superstep_outside_its_interval_is_explained(one: Counted, because: str) -> None:
    (table,) = outside([one, step(50e-6)], charging(), lambda step: step.label)
    assert [row[-1] for row in table.rows] == [because]
    assert "1 of 2 supersteps" in table.notes[0]


def test_the_farthest_superstep_of_each_kind_is_shown() -> None:
    steps = [step(300e-6), step(900e-6), step(500e-6), step(5e-6, hw=0), step(60e-6, m=100)]
    (table,) = outside(steps, charging(), lambda step: step.label)
    assert [(row[2], row[4]) for row in table.rows] == [(3, 900e-6), (1, 5e-6)]
    assert "0 of 4 supersteps" in table.notes[0]


def test_there_is_no_table_if_all_supersteps_lie_inside() -> None:
    assert list(outside([step(50e-6)], charging(), lambda step: step.label)) == []
