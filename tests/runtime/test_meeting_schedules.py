"""Two processors meet in the memory of their node under all schedules with few preemptions; each access is a step."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import smp
from smp._runtime.loops.atomics import load, store, store_release
from smp._runtime.memory.segment import Segment
from smp._runtime.nodes.collectives import meeting
from smp._runtime.nodes.collectives.rounds import Rounds
from smp._runtime.nodes.layout import Nodes
from smp._runtime.nodes.progress import Progress
from smp._runtime.shared_memory.layout import SETS, SLOT
from smp.errors import DeadlockError, ProcessorRaised

NODES = Nodes([0, 0, 1])
SIGN = 7
Words = NDArray[np.int64]


class Memory:
    """A node's memory; whoever reads or writes a word of it takes a step."""

    def __init__(self, words: Words, address: int, start: int, stop: int) -> None:
        self._words, self.address, self._start, self._stop = words, address, start, stop

    def bytes_at(self, start: int, nbytes: int) -> Memory:
        return self

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return Memory(self._words, self.address, self._start + (at.start or 0), self._start + at.stop)
        return int(load(self._words, self._start // 8 + at))

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, slice):
            for k, word in enumerate(np.frombuffer(value + bytes(-len(value) % 8), np.int64).tolist()):
                store(self._words, self._start // 8 + k, word)
        else:
            store(self._words, self._start // 8 + at, value)

    def cast(self, form: str) -> Memory:
        return self

    def __bytes__(self) -> bytes:
        nbytes = self._stop - self._start
        return b"".join(self[k].to_bytes(8, "little", signed=True) for k in range(-(-nbytes // 8)))[:nbytes]


class World:
    """The memory of the node, and the messages to its processors: those of the other node have come."""

    def __init__(self, machine: smp.Machine, count: int) -> None:
        nbytes = SETS * SLOT * NODES.count[0]
        self.words = np.zeros(nbytes // 8, np.int64)
        self.memory = Memory(self.words, 0, 0, nbytes)
        self.bells = machine.cells(2)  # "something new": a processor that waits empties its own
        self.mails: list[deque[tuple[Any, ...]]] = [deque(), deque()]
        for k in range(1, count + 1):
            self.mails[0].append(("round", 2, k, 1, (SIGN, 0), None, {1: [block(k, 2)]} if k % 2 else {}))

    # What `meeting` calls in machine code.

    def load_word(self, address: int) -> int:
        return int(load(self.words, address // 8))

    def store_word(self, address: int, value: int) -> None:
        store_release(self.words, address // 8, value)
        self.bells.writexf(0 if address % (2 * SLOT) else 1, 1)  # that of the other processor


class End:
    """The progress of one processor, with messages of rounds only."""

    def __init__(self, world: World, rank: int) -> None:
        self.lock, self._world, self._rank = threading.RLock(), world, rank
        self._actions: dict[str, Callable[..., object]] = {}
        self._also: Callable[[], object] = lambda: None

    def on(self, kind: str, action: Callable[..., object]) -> None:
        self._actions[kind] = action

    def on_look(self, action: Callable[[], object]) -> None:
        self._also = action

    def send(self, to: int, kind: str, *content: Any) -> None:
        if to < 2:
            self._world.mails[to].append((kind, self._rank, *content))
            self._world.bells.writexf(to, 1)

    def until(self, ready: Callable[[], bool]) -> None:
        while True:
            mail = self._world.mails[self._rank]
            while mail:
                kind, *content = mail.popleft()
                self._actions[kind](*content)
            self._also()
            if ready():
                return
            self._world.bells.readfe(self._rank)


def block(k: int, rank: int) -> bytes:
    return (10 * k + rank).to_bytes(8, "little")


def early(proc: smp.Processor, world: World, count: int) -> None:
    """Begin rounds as early as possible, and take each as late as possible; some bring bytes, and some do not."""
    end = End(world, proc.rank)
    own = Rounds(cast(Progress, end), proc.rank, NODES, cast(Segment, world.memory))
    for k in range(1, count + 4):
        if k > 3:
            number = k - 3
            end.until(lambda: own.passed(number))  # noqa: B023
            brought = [block(number, rank) for rank in range(3)] if number % 2 else []
            agreed, votes, blocks = own.taken(number)
            assert (agreed, votes, list(blocks)) == (True, 1 + number % 2, brought)
        if k <= count:
            vote = proc.rank == 0 or (proc.rank == 1 and k % 2 == 1)
            assert own.arrive(SIGN, vote, block(k, proc.rank) if k % 2 else b"") == k


def explored(monkeypatch: pytest.MonkeyPatch, count: int, sets: int = SETS, bound: int = 1) -> smp.Exploration:
    """Run a number of rounds with a number of sets of slots."""
    worlds: list[World] = []

    def setup(machine: smp.Machine) -> tuple[World, int]:
        worlds.append(World(machine, count))
        return worlds[-1], count

    monkeypatch.setattr(meeting, "core", lambda: worlds[-1])
    monkeypatch.setattr(meeting, "slots_at", lambda count: 0)
    monkeypatch.setattr(meeting, "SETS", sets)
    return smp.explore(early, 2, bound, setup=setup, limit=5000)


@pytest.mark.parametrize(("count", "sets", "bound"), [(1, SETS, 2), (5, SETS, 1), (5, 3, 1)])
def test_results_are_read_before_slots_are_overwritten(
    monkeypatch: pytest.MonkeyPatch, count: int, sets: int, bound: int
) -> None:
    found = explored(monkeypatch, count, sets, bound)
    assert found.failure is None, str(found)
    assert found.bound == bound


def test_two_sets_of_slots_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = explored(monkeypatch, 5, 2).failure
    assert failure is not None
    assert isinstance(failure.error, DeadlockError)


def test_a_number_that_is_stored_first_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def put(self: Any, number: int, sign: int, votes: int, data: bytes) -> bool:
        turn, place = number % SETS, self._place
        self._store(self._addresses[turn][place], number)
        return right(self, number, sign, votes, data)

    right = meeting.Meeting.put
    monkeypatch.setattr(meeting.Meeting, "put", put)
    failure = explored(monkeypatch, 2).failure
    assert failure is not None
    assert isinstance(failure.error, ProcessorRaised)
