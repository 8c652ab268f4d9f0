"""The rows through which parts of a transpose pass: all schedules, too few barriers or rows, and many processors."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.machines import CPUS, Machines, guarded

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.program.collectives import relay

CASES: dict[str, tuple[int, int, Callable[[int, int], Any]]] = {
    "in slots": (1 << 15, 64, lambda rank, k: 10 * rank + k + np.arange(2)),
    "in several rounds": (16, 64, lambda rank, k: 100 * rank + k + np.arange(40).reshape(2, 20)),
    "lists": (1 << 15, 64, lambda rank, k: [np.full(rank + 2 * k + to, 10 * rank + to) for to in range(2)]),
    "lists in several rounds": (16, 64, lambda rank, k: [np.arange(20 * rank + k + to) for to in range(2)]),
}
"""Bytes of a slot and of a window, and the data of processor ``rank`` for its transpose number k."""


@pytest.fixture(params=CASES)
def data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], Any]:
    short, window, made = CASES[request.param]
    monkeypatch.setattr(relay, "SHORT", short)
    monkeypatch.setattr(relay, "WINDOW", window)
    return made


def lists_of(parts: Any) -> list[Any]:
    return [part.tolist() for part in parts]


def right(data: Callable[[int, int], Any], times: int) -> list[Any]:
    """Return the results of both processors."""
    sent = [[lists_of(data(rank, k)) for rank in (0, 1)] for k in range(times)]
    return [[[from_first[to], from_second[to]] for from_first, from_second in sent] for to in (0, 1)]


def everything_arrives(data: Callable[[int, int], Any], bound: int, limit: int, change: Any = None) -> Any:
    """Explore transposes in a row, of which the first makes the rows that ``change`` then spoils."""
    times = 2 if change is None else 3

    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for k in range(times):
            found.append(lists_of(proc.transpose(data(proc.rank, k))))
            if k == 0 and change is not None:
                change(proc._passing)
        return found

    expected = right(data, times)
    return smp.explore(program, 2, bound, check=lambda run: run.results == expected, limit=limit)


@pytest.mark.parametrize("limit", [800, pytest.param(20_000, marks=pytest.mark.slow)])
def test_two_transposes_in_a_row_under_all_schedules(
    request: pytest.FixtureRequest, data: Callable[[int, int], Any], limit: int
) -> None:
    found = everything_arrives(data, 2, limit)
    assert found.failure is None, str(found)
    assert not found.unseen
    all_tried = found.schedules < limit  # with at most 2 preemptions
    assert all_tried or (limit == 800 and "in several rounds" in request.node.name)


class WithoutBarrier:
    """A port whose barriers do not wait."""

    def __init__(self, port: Any) -> None:
        self._port = port

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def synchronise(self, description: str) -> None:
        pass


class OneSet:
    """Memory, and its slots, of which there is one set only."""

    def __init__(self, memory: Any) -> None:
        self.slots, self._set = self, memory.slots.next()

    def next(self) -> Any:
        return self._set


def leave_out_the_barrier(passing: Any) -> None:
    passing._port = WithoutBarrier(passing._port)


def use_one_set(passing: Any) -> None:
    passing._memory = OneSet(passing._memory)
    if passing._sets is not None:
        passing._sets = [passing._sets[0]] * 2


@pytest.mark.parametrize("change", [leave_out_the_barrier, use_one_set])
def test_the_barrier_and_the_second_set_cannot_be_left_out(data: Callable[[int, int], Any], change: Any) -> None:
    found = everything_arrives(data, 1, 2000, change)
    assert found.failure is not None
    assert isinstance(found.failure.error, smp.errors.CheckFailed)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_no_two_processors_read_the_same_row_first(size: int) -> None:
    ports: list[Any] = [SimpleNamespace(rank=rank, size=size) for rank in range(size)]
    first = [relay.Relay(port, port)._others[0].start for port in ports]
    assert first == smp.patterns.cyclic_shift(size, 1).tolist()


@pytest.mark.parametrize(
    "options", [{"processors": 4 * CPUS, "start": "fork"}, {"processors": 3, "pin": (usable_cpus()[0],) * 3}]
)
def test_many_transposes_in_a_row_by_many_processors(machines: Machines, options: dict[str, Any]) -> None:
    """Lengths in random order, so that slots and rows follow one another in all ways."""
    lengths = np.random.default_rng(2).permutation([1, 20, 500, 3000, 30_000] * 10).tolist()

    def program(proc: smp.Processor) -> list[int]:
        wrong = []
        for k, n in enumerate(lengths):
            got = proc.transpose(np.arange(proc.size * n).reshape(proc.size, n) + 1000 * proc.rank + k)
            first = proc.rank * n + 1000 * np.arange(proc.size)[:, None] + k
            parts = proc.transpose([np.full(n * (to % 2), proc.rank + k) for to in range(proc.size)])
            right = [np.full(n * (proc.rank % 2), source + k) for source in range(proc.size)]
            same = [np.array_equal(one, other) for one, other in zip(parts, right, strict=True)]
            if not (np.array_equal(got, first + np.arange(n)) and all(same)):
                wrong.append(k)
        return wrong

    with guarded(machines(**options)) as machine:
        assert machine.run(program).results == [[]] * machine.size
