"""The placement probe times hand-offs, ends whatever its partner does, and never takes an old turn for a new one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.machines import Machines

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.protocols import placement
from smp._runtime.protocols.barriers import IN_A_LOOP, synchronise
from smp._runtime.protocols.placement import PAIRS, PATIENCE, UNKNOWN, hand_over, probe

CPUS = len(usable_cpus())


@smp.stream
def probed(sync: NDArray[np.int64], rank: int, size: int, found: NDArray[np.int64]) -> int:
    for k in range(len(found)):
        if synchronise(sync, IN_A_LOOP, 0, False) != 0:
            return -1
        found[k] = probe(sync, rank, size)
    return 0


@smp.stream
def handed(sync: NDArray[np.int64], pair: int, side: int, number: int) -> int:
    return hand_over(sync, pair, side, number)


def probes(proc: Any, count: int) -> list[int]:
    found = np.zeros(count, np.int64)
    assert probed(proc.sync, proc.rank, proc.size, found) == 0
    return list(found)


@pytest.mark.skipif(CPUS < 2, reason="two CPUs hand lines over")
def test_neighbours_hand_over_a_line_in_a_plausible_time(machines: Machines) -> None:
    first, second = machines(2).run(probes, 200).results
    both = [max(pair) for pair in zip(first, second, strict=True) if min(pair) != UNKNOWN]
    assert len(both) > 20  # of 200; a busy computer loses some
    assert 1_000 < np.median(both) < 10_000_000  # ps


def test_one_processor_has_no_neighbour(machines: Machines) -> None:
    assert machines(1).run(probes, 3).results == [[UNKNOWN] * 3]


@pytest.mark.parametrize("processors", [3, 4 * CPUS])
def test_every_probe_ends_with_more_processors_than_cpus(machines: Machines, processors: int) -> None:
    for found in machines(processors).run(probes, 20).results:
        assert len(found) == 20
        assert all(each == UNKNOWN or each > 0 for each in found)


def test_every_probe_ends_on_one_cpu(machines: Machines) -> None:
    for found in machines(2, pin=(usable_cpus()[0],) * 2).run(probes, 50).results:
        assert all(each == UNKNOWN or each > 0 for each in found)


def alone(proc: Any, side: int) -> tuple[int, float]:
    handed(proc.sync, PAIRS, 0, 0)  # loads the loop
    start = time.perf_counter()
    found = handed(proc.sync, 0, side, 5) if proc.rank == side else UNKNOWN
    return found, time.perf_counter() - start


@pytest.mark.parametrize("side", [0, 1])
def test_a_missing_partner_costs_the_reading_and_little_time(machines: Machines, side: int) -> None:
    found, seconds = machines(2).run(alone, side).results[side]
    assert found == UNKNOWN
    assert seconds < 100 * PATIENCE * 1e-9


@smp.stream
def handed_after_one_that_failed(sync: NDArray[np.int64], side: int, found: NDArray[np.int64]) -> int:
    """Let side 0 begin a probe to which side 1 does not come; then let both probe, each time after a barrier."""
    if side == 0:
        hand_over(sync, 0, 0, 0)
    for k in range(len(found)):
        if synchronise(sync, IN_A_LOOP, 0, False) != 0:
            return -1
        found[k] = hand_over(sync, 0, side, k + 1)
    return 0


def out_of_step(proc: Any) -> list[int]:
    found = np.zeros(200, np.int64)
    assert handed_after_one_that_failed(proc.sync, proc.rank, found) == 0
    return list(found)


@pytest.mark.skipif(CPUS < 2, reason="two CPUs hand lines over")
def test_probes_succeed_after_one_that_failed(machines: Machines) -> None:
    first, second = machines(2).run(out_of_step).results
    assert sum(a > 0 and b > 0 for a, b in zip(first, second, strict=True)) > 20


def once(proc: Any) -> list[int]:
    return [handed(proc.sync, 0, proc.rank, number) for number in range(2)]


def test_on_an_emulated_machine_every_probe_ends_and_most_time_a_hand_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under many schedules, each side has a reading or none, and never one of an earlier turn."""
    monkeypatch.setattr(placement, "BLOCKS", 1)
    monkeypatch.setattr(placement, "TRIPS", 2)
    seen = 0
    for seed in range(30):
        with smp.emulated(2, seed=seed) as machine:
            results = machine.run(once).results
        assert all(each == UNKNOWN or each > 0 for found in results for each in found)
        seen += sum(min(pair) > 0 for pair in zip(*results, strict=True))
    assert seen > 30  # of 60


@pytest.mark.parametrize("preemptions", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_under_all_schedules_with_few_preemptions_every_probe_ends(
    preemptions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The patience is a few steps, so that either side may give up at any place, and the next probe begins."""
    for name, value in (("BLOCKS", 1), ("TRIPS", 1), ("LOOKS", 1), ("PATIENCE", 20)):
        monkeypatch.setattr(placement, name, value)
    found = smp.explore(once, 2, preemptions, check=ends)
    assert found.failure is None, str(found)
    assert found.schedules > 1


def ends(run: Any) -> bool:
    return all(each == UNKNOWN or each > 0 for found in run.results for each in found)
