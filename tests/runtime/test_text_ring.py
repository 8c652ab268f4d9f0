"""The ring of text: records come out whole and in order, or are counted as lost."""

import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import campaigns

import smp
from smp._runtime.loops.interpreter import here
from smp._runtime.protocols.text_ring import COUNT, FIRST, GAP, KIND, TEXT, put, take

CAPACITY = 16
LONGEST = CAPACITY // 4 - 2
Words = NDArray[np.int64]


def rings(*_: smp.Machine) -> tuple[Words, Words]:
    """Return an empty ring, and the words into which a reader takes records."""
    return np.zeros(FIRST + CAPACITY, np.int64), np.zeros(TEXT + 3 * LONGEST, np.int64)


def taken(ring: Words, found: Words) -> tuple[int, int, int, list[int]] | None:
    """Take records; return the lines lost before, the lines, the kind and the words, or None if nothing is left."""
    words = take(ring, CAPACITY, found, 3 * LONGEST)
    if words == 0:
        return None
    return int(found[GAP]), int(found[COUNT]), int(found[KIND]), found[TEXT : TEXT + words].tolist()


RECORDS = st.tuples(st.integers(1, LONGEST), st.integers(1, 5), st.integers(0, 1))


@settings(deadline=None)
@given(st.lists(RECORDS | st.none(), max_size=40))
def test_one_after_the_other_the_ring_is_a_queue_that_drops_its_oldest_records(
    calls: list[tuple[int, ...] | None],
) -> None:
    """The model is a queue of (number of the record, words, lines, kind); None in the calls stands for `take`."""
    ring, found = rings()
    model: deque[tuple[int, int, int, int]] = deque()
    lost = 0
    for number, call in enumerate([*calls, *[None] * CAPACITY]):
        if call is not None:
            put(ring, CAPACITY, np.full(LONGEST, number), *call)
            model.append((number, *call))
            while sum(2 + words for _, words, _, _ in model) > CAPACITY:
                lost += model.popleft()[2]
            continue
        expected: list[int] = []
        lines = 0
        kind = model[0][3] if model else 0
        while model and model[0][3] == kind and len(expected) + model[0][1] <= 3 * LONGEST:
            record, words, more, _ = model.popleft()
            expected += [record] * words
            lines += more
        assert taken(ring, found) == ((lost, lines, kind, expected) if expected else None)
        lost = 0 if expected else lost


@pytest.mark.parametrize("limit", [500, *campaigns(6_000)])
def test_under_all_schedules_records_are_whole_and_those_that_are_missing_are_counted(limit: int) -> None:
    """Four records fill the ring.  The words of record k are large numbers that end in k, and it has k lines."""
    before, written, looks = 4, 7, 2
    pieces: list[tuple[int, int, int, list[int]]] = []
    losses: set[int] = set()

    def words_of(k: int) -> list[int]:
        return [(1 << 50) + k] * (LONGEST if k <= before else 1 + k % LONGEST)

    def add(ring: Words, k: int) -> None:
        put(ring, CAPACITY, np.array(words_of(k)), len(words_of(k)), k, 0)

    def fill(machine: smp.Machine) -> tuple[Words, Words]:
        pieces.clear()
        ring, found = rings()
        for k in range(1, before + 1):
            add(ring, k)
        return ring, found

    def program(proc: smp.Processor, ring: Words, found: Words) -> None:
        if proc.rank == 0:
            for k in range(before + 1, written + 1):
                add(ring, k)
        else:
            pieces.extend(piece for _ in range(looks) if (piece := taken(ring, found)) is not None)

    def whole(run: smp.Run, ring: Words, found: Words) -> None:
        while (piece := taken(ring, found)) is not None:
            pieces.append(piece)
        number = 0
        for gap, lines, _, words in pieces:
            first = words[0] - (1 << 50)
            assert gap == sum(range(number + 1, first))
            number = first - 1
            while words:
                number += 1
                expected = words_of(number)
                assert words[: len(expected)] == expected
                words, lines = words[len(expected) :], lines - number
            assert lines == 0
        assert number == written
        losses.add(sum(gap for gap, *_ in pieces))

    found = smp.explore(program, 2, bound=2, setup=fill, check=whole, limit=limit)
    assert found.failure is None, found
    assert found.bound is None or found.bound >= 1
    assert len(losses) > 2, "in some schedules the reader is early, in some it is late"


class Dying:
    """Interpreter of a writer that dies after a number of steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self, meaning: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if self.left == 0:
            raise InterruptedError
        self.left -= 1
        return meaning(*args)


@pytest.mark.parametrize("old", [1, 3, 4])
def test_a_record_whose_writer_dies_does_not_exist_and_what_it_has_dropped_is_counted(
    old: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = set()
    for steps in range(40):
        ring, found = rings()
        for k in range(1, old + 1):
            put(ring, CAPACITY, np.full(LONGEST, k), LONGEST, 1, 0)
        died = True
        with monkeypatch.context() as patch, contextlib.suppress(InterruptedError):
            patch.setattr(here, "interpreter", Dying(steps))
            put(ring, CAPACITY, np.full(LONGEST, old + 1), LONGEST, 1, 0)
            died = False
        gap = lines = 0
        words: list[int] = []
        while (piece := taken(ring, found)) is not None:
            gap, lines, words = gap + piece[0], lines + piece[1], words + piece[3]
        assert gap + lines == old + (not died)
        assert words == [k for k in range(gap + 1, gap + lines + 1) for _ in range(LONGEST)]
        ends.add((died, gap))
    assert ends >= {(True, 0), (False, old // 4)}
