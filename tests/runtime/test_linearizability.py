"""Recorded histories of one cell are linearizable, and the checker finds histories that are not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import linearizability as linear
from support.cells_scenarios import play
from support.linearizability import (
    FETCH_ADD,
    FILL,
    MISSED,
    PEEK,
    PURGE,
    READFE,
    READFF,
    READXX,
    READY,
    TRY,
    WAITING,
    WRITEEF,
    WRITEFF,
    WRITEXF,
    Operation,
    State,
    linearizable,
    stuck,
    told,
)
from support.machines import PLACES, Machines, guarded

import smp

Program = tuple[tuple[int, int], ...]

# The checker.


def one(op: int, given: int, result: int, start: int, end: int) -> list[Operation]:
    """Return the history of a stream that does one operation."""
    return [Operation(op, given, result, start, end)]


RIGHT: dict[str, tuple[list[list[Operation]], State]] = {
    "a read after a write": ([one(WRITEEF, 5, 0, 0, 1), one(READFE, 0, 5, 2, 3)], State()),
    "a read that began before the write": ([one(WRITEEF, 5, 0, 3, 4), one(READFE, 0, 5, 0, 9)], State()),
    "two values to two readers, either way": (
        [one(WRITEEF, 5, 0, 0, 9), one(WRITEEF, 6, 0, 0, 9), one(READFE, 0, 6, 0, 9), one(READFE, 0, 5, 0, 9)],
        State(),
    ),
    "a writer that was let go on by a purge": ([one(WRITEEF, 5, 0, 0, 9), one(PURGE, 0, 1, 3, 4)], State(True, 1)),
    "a miss before, a hit after": (
        [
            [Operation(TRY + READFE, 0, MISSED, 0, 1), Operation(TRY + READFE, 0, 5, 4, 5)],
            one(WRITEXF, 5, 0, 1, 4),
        ],
        State(),
    ),
    "all who wait are given it, then one takes it": (
        [one(WRITEEF, 5, 0, 5, 6), one(READFF, 0, 5, 0, 9), one(READFF, 0, 5, 1, 9), one(READFE, 0, 5, 2, 9)],
        State(),
    ),
    "tickets": ([one(FETCH_ADD, 1, 3, 0, 5), one(FETCH_ADD, 1, 4, 0, 5)], State(True, 3)),
}
WRONG: dict[str, tuple[list[list[Operation]], State]] = {
    "a value read twice": (
        [one(WRITEEF, 5, 0, 0, 1), one(READFE, 0, 5, 0, 9), one(READFE, 0, 5, 0, 9)],
        State(),
    ),
    "a value that nobody wrote": ([one(WRITEEF, 5, 0, 0, 1), one(READFE, 0, 6, 0, 9)], State()),
    "a read that ended before the write began": ([one(WRITEEF, 5, 0, 3, 4), one(READFE, 0, 5, 0, 2)], State()),
    "a stale read": (
        [
            [Operation(WRITEXF, 1, 0, 0, 1), Operation(WRITEXF, 2, 0, 2, 3)],
            [Operation(READXX, 0, 1, 4, 5)],
        ],
        State(),
    ),
    "new, then old": (
        [[Operation(WRITEXF, 2, 0, 0, 9)], [Operation(READXX, 0, 2, 1, 2), Operation(READXX, 0, 1, 3, 4)]],
        State(True, 1),
    ),
    "a state with the value of another": ([one(PURGE, 0, 0, 0, 9), one(PEEK, 0, 2 * 5, 1, 2)], State(True, 5)),
    "two writes into one emptiness": ([one(WRITEEF, 5, 0, 0, 9), one(WRITEEF, 6, 0, 0, 9)], State()),
    "a write that was lost": (
        [one(WRITEEF, 5, 0, 0, 1), one(TRY + READFE, 0, MISSED, 2, 3)],
        State(),
    ),
    "a miss with nobody there to take it": (
        [[Operation(WRITEXF, 1, 0, 0, 1), Operation(TRY + READFF, 0, MISSED, 2, 3)], one(READFE, 0, 1, 4, 5)],
        State(),
    ),
    "a purge that released nobody and says one": ([one(PURGE, 0, 1, 0, 1), one(READXX, 0, 0, 2, 3)], State(True, 1)),
    "a purge of an empty cell that released one": ([one(PURGE, 0, 1, 3, 4), one(WRITEEF, 5, 0, 0, 9)], State()),
    "the writer it released came too late": ([one(PURGE, 0, 1, 0, 1), one(WRITEEF, 5, 0, 2, 3)], State(True, 1)),
    "a ticket twice": ([one(FETCH_ADD, 1, 3, 0, 5), one(FETCH_ADD, 1, 3, 0, 5)], State(True, 3)),
    "an addition that was lost": (
        [one(FETCH_ADD, 1, 3, 0, 1), one(FETCH_ADD, 1, 4, 0, 1), one(READFF, 0, 4, 2, 3)],
        State(True, 3),
    ),
    "a fill with another value": ([one(FILL, 0, 0, 0, 1), one(READFF, 0, 8, 2, 3)], State(False, 7)),
    "a writeff of an empty cell": ([one(WRITEFF, 5, 0, 0, 1), one(WRITEXF, 6, 0, 2, 3)], State()),
    "a stream's own order": (
        [[Operation(WRITEXF, 1, 0, 0, 1), Operation(WRITEXF, 2, 0, 1, 2), Operation(READXX, 0, 1, 2, 3)]],
        State(),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_linearizable_histories_are_accepted(name: str) -> None:
    history, begin = RIGHT[name]
    assert linearizable(history, begin)


@pytest.mark.parametrize("name", WRONG)
def test_histories_that_are_not_linearizable_are_rejected(name: str) -> None:
    history, begin = WRONG[name]
    assert not linearizable(history, begin)


def test_the_final_state_belongs_to_the_history() -> None:
    history = [one(WRITEXF, 1, 0, 0, 9), one(WRITEXF, 2, 0, 0, 9)]
    assert linearizable(history, State(), State(True, 1))
    assert linearizable(history, State(), State(True, 2))
    assert not linearizable(history, State(), State(False, 2))
    assert not linearizable(history, State(), State(True, 3))


OPS = st.tuples(st.sampled_from([*WAITING, *READY]), st.integers(1, 3))


@given(st.lists(st.lists(OPS, max_size=4), min_size=1, max_size=4), st.randoms(use_true_random=False), st.booleans())
def test_a_sequential_history_is_accepted_but_not_with_another_final_state(
    programs: list[list[tuple[int, int]]], random: Any, full: bool
) -> None:
    """Operations are done in a random order, and their times surround the moments at which they are done."""
    state, moment = State(full, 9), 0
    begin, history = state, [[] for _ in programs]
    while True:
        ahead = [k for k, ops in enumerate(programs) if len(history[k]) < len(ops)]
        able = [(k, r) for k in ahead for r in linear.meaning(*programs[k][len(history[k])], state) if not r[1].owed]
        if not able:
            break
        k, (result, state) = random.choice(able)
        moment += 10
        start = max(moment - random.randint(0, 40), history[k][-1].end + 1 if history[k] else 0)
        history[k].append(Operation(*programs[k][len(history[k])], result, min(start, moment), moment))
    later = [[o._replace(end=o.end + random.randint(0, 9)) for o in ops] for ops in history]
    assert linearizable(later, begin, state)
    assert not linearizable(later, begin, State(not state.full, 1000))
    assert bool(ahead) <= stuck(programs, begin)


def test_programs_that_can_get_stuck_are_recognised() -> None:
    assert stuck([((READFE, 0),)], State())
    assert not stuck([((READFE, 0),), ((WRITEEF, 1),)], State())
    assert stuck([((READFE, 0), (WRITEEF, 1))], State())
    assert stuck([((READFF, 0),), ((READFE, 0),), ((WRITEEF, 1),)], State())  # when the readfe comes first
    assert not stuck([((READFF, 0),), ((READFE, 0),)] * 1 + [((WRITEEF, 1), (WRITEEF, 2))], State())
    assert stuck([((TRY + READFE, 0), (WRITEEF, 1)), ((FILL, 0),)], State())


# Histories of the host.


def drawn(random: np.random.Generator, streams: int, length: int) -> tuple[list[Program], State]:
    """Draw operations for each stream, none of which can be left waiting for ever, in whatever order they come."""
    begin = State(bool(random.integers(2)), 50)
    while True:
        some = random.choice([*WAITING, *WAITING, *READY], size=(streams, length))  # often operations that wait
        if random.integers(3) == 0:
            some = random.choice(READY, size=(streams, length))
        programs = [tuple((int(op), int(100 * (k + 1) + j)) for j, op in enumerate(ops)) for k, ops in enumerate(some)]
        if not stuck(programs, begin):
            return programs, begin


def recorded(
    machine: smp.Machine, streams: int, histories: int, length: int, seed: int, jitter: int
) -> list[tuple[list[list[Operation]], State, State]]:
    """Play many histories, each on its own cell; before each one, its streams synchronise through other cells.

    Parameters
    ----------
    streams : int
        Number of streams of each processor.
    """
    random, crowd = np.random.default_rng(seed), machine.size * streams
    games = [drawn(random, crowd, length) for _ in range(histories)]
    cells = machine.cells(3 * histories)  # those of the histories, and two for each one to synchronise
    for h, (_, begin) in enumerate(games):
        cells.purge(h, begin.value)
        if begin.full:
            cells.fill(h)
    scripts = [[script(games, k, crowd, h) for h in range(histories)] for k in range(crowd)]

    def stream(k: int) -> tuple[Any, Any]:
        lines = np.array([line for part in scripts[k] for line in part], np.int64)
        results, times = np.zeros(len(lines), np.int64), np.zeros((len(lines), 2), np.int64)
        play(cells, lines, results, times, seed + k, jitter)
        return results, times

    def program(proc: smp.Processor) -> list[tuple[Any, Any]]:
        if streams == 1:
            return [stream(proc.rank)]
        with proc.streams(streams) as pool:
            return pool.map(stream, range(proc.rank * streams, (proc.rank + 1) * streams))

    played = [one for result in machine.run(program).results for one in result]
    found = []
    for h, (programs, begin) in enumerate(games):
        history = []
        for k, ops in enumerate(programs):
            at = sum(len(part) for part in scripts[k][: h + 1]) - length
            results, times = (values[at : at + length] for values in played[k])
            history.append(
                [
                    Operation(op, given, int(result), int(start), int(end))
                    for (op, given), result, (start, end) in zip(ops, results, times, strict=True)
                ]
            )
        found.append((history, begin, State(*cells.peek(h))))
    return found


def script(games: Sequence[tuple[list[Program], State]], k: int, crowd: int, h: int) -> list[tuple[int, int, int]]:
    """Return the lines of one stream for one history: it synchronises with the others, then does the operations."""
    came, go = len(games) + 2 * h, len(games) + 2 * h + 1
    meet = [(READFE, came, 0)] * (crowd - 1) + [(WRITEEF, go, 1)] if k == 0 else [(WRITEEF, came, 1), (READFF, go, 0)]
    return meet + [(op, h, given) for op, given in games[h][0][k]]


def overlap(history: Sequence[Sequence[Operation]]) -> int:
    """Return the number of pairs of operations that were under way at the same time."""
    every = [o for ops in history for o in ops]
    return sum(a.start <= b.end and b.start <= a.end for j, a in enumerate(every) for b in every[:j])


CASES = {
    "two processors": ({"processors": 2}, 1, 5),
    "three processors": ({"processors": 3, "start": "fork"}, 1, 4),
    "two streams": ({"processors": 1, "pin": False}, 2, 5),
    "two streams each of two": ({"processors": 2, "pin": False}, 2, 3),
    "one CPU": (PLACES["pinned"], 1, 4),
}


@pytest.mark.parametrize("jitter", [10, pytest.param(0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_histories_of_the_host_are_linearizable(
    machines: Machines, record_property: Any, case: str, jitter: int
) -> None:
    record_property("at the same time", check(machines, case, jitter, 600 if case.startswith("two p") else 300, 1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("case", CASES)
def test_many_histories_of_the_host_are_linearizable(machines: Machines, case: str, seed: int) -> None:
    check(machines, case, (0, 10, 100, 1000)[seed % 4], 1000, 2 + seed)


def check(machines: Machines, case: str, jitter: int, histories: int, seed: int) -> int:
    """Record histories and check them; return the number of pairs of their operations that overlapped in time."""
    options, streams, length = CASES[case]
    with guarded(machines(**options)) as machine:
        found = recorded(machine, streams, histories, length, seed, jitter)
    for history, begin, end in found:
        assert linearizable(history, begin, end), f"{begin} to {end}:\n{told(history)}"
    return sum(overlap(history) for history, _, _ in found)
