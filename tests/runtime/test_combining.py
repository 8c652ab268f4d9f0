"""The stage on which long arrays are combined: all schedules, too few rows, its traffic, and many processors."""

from typing import Any

import numpy as np
import pytest
from support.machines import CPUS, Machines, guarded

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.program.collectives import stage
from smp._runtime.program.collectives.stage import LEAST


def combined(proc: smp.Processor) -> list[Any]:
    """Reduce, broadcast from two roots in turn, scan and reduce, with nothing in between."""
    mine = np.arange(2) + 10 * proc.rank
    found = [proc.reduce(mine)]
    found += [proc.broadcast(mine, root) for root in (0, 1)]
    found += [proc.scan(mine), proc.reduce(mine, np.maximum)]
    return [each.tolist() for each in found]


def expected(size: int) -> list[list[Any]]:
    rows = np.array([np.arange(2) + 10 * rank for rank in range(size)])
    common = [rows.sum(0), rows[0], rows[1]]
    return [[x.tolist() for x in (*common, rows[: rank + 1].sum(0), rows.max(0))] for rank in range(size)]


@pytest.fixture
def all_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let arrays of any length be staged."""
    monkeypatch.setattr(stage, "LEAST", 1)


@pytest.mark.usefixtures("all_long")
@pytest.mark.parametrize("processors", [2, 3])
@pytest.mark.parametrize("limit", [500, pytest.param(50_000, marks=pytest.mark.slow)])
def test_arrays_are_combined_under_many_schedules(processors: int, limit: int) -> None:
    right = expected(processors)
    found = smp.explore(combined, processors, 1, check=lambda run: run.results == right, limit=limit)
    assert found.failure is None, str(found)


class Skipping:
    """A port that skips one of the two barriers of each combination."""

    def __init__(self, port: Any, skipped: int) -> None:
        self._port, self._skipped, self._calls = port, skipped, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def synchronise(self, description: str, vote: bool = False) -> int:
        self._calls += 1
        return int(self._port.synchronise(description, vote=vote)) if self._calls % 2 != self._skipped else 0


@pytest.mark.usefixtures("all_long")
@pytest.mark.parametrize("skipped", [0, 1])
def test_neither_barrier_can_be_left_out(skipped: int) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        stage = proc._combining.stage
        first = proc.reduce(np.arange(2)).tolist()  # makes the stage
        stage._port = Skipping(stage._port, skipped)
        return [first, *(proc.reduce(np.arange(2) + k + proc.rank).tolist() for k in range(3))]

    right = [[[0, 2], *([2 * k + 1, 2 * k + 3] for k in range(3))]] * 2
    found = smp.explore(program, 2, 1, check=lambda run: run.results == right, limit=2000)
    assert found.failure is not None
    assert isinstance(found.failure.error, smp.errors.CheckFailed)


@pytest.mark.parametrize(
    "options", [{"processors": 4 * CPUS, "start": "fork"}, {"processors": 3, "pin": (usable_cpus()[0],) * 3}]
)
def test_long_arrays_are_combined_by_many_processors(machines: Machines, options: dict[str, Any]) -> None:
    def program(proc: smp.Processor) -> list[float]:
        mine, found = np.arange(LEAST) + proc.rank, []
        for k in range(20):
            found += [
                float(proc.reduce(mine)[k]),
                float(proc.scan(mine)[-1 - k]),
                float(proc.broadcast(mine, k % 3)[0]),
            ]
        return found

    with guarded(machines(**options)) as machine:
        size, results = machine.size, machine.run(program).results
    for rank in range(size):
        wanted = []
        for k in range(20):
            ranks = rank * (rank + 1) / 2
            wanted += [size * k + size * (size - 1) / 2, (rank + 1) * (LEAST - 1 - k) + ranks, k % 3]
        assert results[rank] == wanted


def test_the_traffic_of_long_arrays_is_recorded(pair: smp.Machine) -> None:
    n = LEAST

    def program(proc: smp.Processor) -> None:
        proc.reduce(np.zeros(n))
        proc.scan(np.zeros(n))
        proc.broadcast(np.zeros(n), 1)

    found = {str(row["name"]): row for row in pair.run(program).collectives if row["rank"] == 0}
    expected = {"reduce(add)": (n, n), "scan(add)": (2 * n, 2 * n)}
    for name, words in expected.items():
        assert (found[name]["times"], found[name]["reads"], found[name]["writes"]) == (1, *words)
    assert sum(row["times"] for row in found.values()) == 3


@pytest.mark.parametrize("shift", [-3, 0, 3])
@pytest.mark.parametrize("strided", [False, True])
def test_the_result_may_lie_on_the_value(pair: smp.Machine, shift: int, strided: bool) -> None:
    n = 3 * LEAST

    def program(proc: smp.Processor) -> bool:
        both = np.arange(2.0 * (n + 6)) * (proc.rank + 1)
        part = both[::2] if strided else both[: n + 6]
        value, out = part[3 : 3 + n], part[3 + shift : 3 + shift + n]
        wanted = value.copy() / (proc.rank + 1) * 3
        assert proc.reduce(value, out=out) is out
        return bool(np.array_equal(out, wanted))

    assert pair.run(program).results == [True, True]
