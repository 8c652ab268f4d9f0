"""Records of a run: the placement of the CPUs, the words of every processor, and the footprint of supersteps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.machines import Machines

import smp
from smp._computer.limits import usable_cpus
from smp.models.supersteps.cost import Others, others_of
from smp.profiles.moved import moved_note
from smp.profiles.profile import Profile

CPUS = len(usable_cpus())


def nothing(proc: Any) -> None:
    pass


@pytest.mark.skipif(CPUS < 2, reason="two CPUs hand lines over")
def test_runs_record_the_placement_of_the_cpus(machines: Machines) -> None:
    seen = np.array([machines(2).run(nothing).placement for _ in range(40)])
    assert np.isfinite(seen[:, 1]).sum() > 10, "after a run all processors have passed its last barrier"
    assert (seen[np.isfinite(seen)] > 1).all()


@pytest.mark.parametrize("processors", [1, CPUS + 1])
def test_runs_without_a_placement_record_none(machines: Machines, processors: int) -> None:
    assert all(math.isnan(ns) for ns in machines(processors).run(nothing).placement)


def test_virtual_time_has_no_placement() -> None:
    with smp.emulated(2) as machine:
        assert all(math.isnan(ns) for ns in machine.run(nothing).placement)


def uneven(proc: Any, given: Any, out: Any) -> None:
    with proc.superstep("uneven") as step:
        step.copy_in(given, slice(0, 10 * (proc.rank + 1)))
        step.copy_in(given, slice(0, 5))
        step.compute()
        if proc.rank != 1:
            step.copy_out(out, slice(proc.rank, proc.rank + 1), [1.0])
    with proc.superstep("nothing"):
        pass


def test_a_summary_has_the_words_of_processors_other_than_the_busiest(machines: Machines) -> None:
    three = machines(3)
    given, out = three.zeros(100), three.zeros(3)
    rows = three.run(uneven, given, out).summary()
    words = Others.of([[15, 25, 35], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]])
    found = others_of(rows)
    assert found is not None
    assert [each.tolist() for each in found] == [each.tolist() for each in words]
    assert rows["footprint"].tolist() == [given.nbytes + out.nbytes, 0]


def profile(**state: float | None) -> Profile:
    states = [{"ns": 70.0, "low_ns": 50.0, "high_ns": 140.0, "share": 0.9} | state]
    return Profile({"access": {"functions": [{"p": 2}], "placement": {"2": states}}})


def test_an_interval_notes_that_the_cpus_were_placed_differently() -> None:
    assert moved_note(profile(), 2, [(69.0, 71.0)]) == ""
    assert moved_note(profile(), 2, [(math.nan, math.nan)]) == ""
    assert moved_note(profile(), 4, [(280.0, 280.0)]) == "", "nothing is known about four processors"
    said = moved_note(profile(), 2, [(70.0, 280.0)])
    assert "took 70 ns then, but 280 ns before or after the run" in said
    said = moved_note(profile(high_ns=None), 2, [(70.0, 71.0), (30.0, 31.0), (72.0, 33.0)])
    assert "but 31 ns before or after 2 of 3 runs" in said
