"""A network between two nodes that carries no messages any more, and what only looks like it."""

import ctypes
import time
from collections.abc import Callable

import pytest
from support.nodes import on_nodes

import smp
from smp._runtime.nodes.heartbeat import BEAT, GAP, Beats, Silences
from smp._runtime.nodes.layout import Nodes
from smp.errors import MachineClosed, ProcessorDied

PATIENCE = 10.0
STEP = 0.5
"""Seconds between two answers of a processor."""


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def lost_after(
    seconds: float, beats: Callable[[float, int], tuple[int, int] | None], nodes: list[int] | None = None
) -> tuple[float, tuple[int, int]] | None:
    """Return when a loss is found and between which processors, if it is.

    ``beats(time, rank)`` returns how many beats a processor has sent and heard; None if it does not answer.
    """
    placed, clock = Nodes([0, 0, 1, 1] if nodes is None else nodes), Clock()
    silences = Silences(placed, PATIENCE, clock)
    while clock.now < seconds:
        for rank, node in enumerate(placed.of):
            found = beats(clock.now, rank) if rank in placed.first else (0, 0)
            lost = None if found is None else silences.came(rank, Beats(*found))
            if lost is not None:
                assert node == placed.of[lost[1]]
                return clock.now, lost
        clock.now += STEP
    return None


def of_time(seconds: float) -> int:
    """Return the number of beats that a processor has sent by then."""
    return 1 + int(seconds / BEAT)


def test_beats_that_come_are_no_loss() -> None:
    assert lost_after(1000.0, lambda now, rank: (of_time(now), of_time(now - 0.1))) is None


@pytest.mark.parametrize(("nodes", "expected"), [([0, 0, 1, 1], (0, 2)), ([0, 1, 2, 2], (1, 2))])
def test_a_loss_is_found_after_the_patience(nodes: list[int], expected: tuple[int, int]) -> None:
    """What processor 2 should hear comes no more from the twelfth second on."""
    heard = [of_time(12.0)]
    found = lost_after(
        1000.0, lambda now, rank: (of_time(now), min(of_time(now), *heard) if rank == 2 else of_time(now)), nodes
    )
    assert found is not None
    at, between = found
    assert between == expected
    assert 12.0 + PATIENCE <= at <= 12.0 + PATIENCE + BEAT + STEP


def test_a_processor_that_answers_nobody_is_not_lost() -> None:
    """It is in a call that holds the interpreter lock: it sends no beats and hears none, for a hundred seconds."""

    def beats(now: float, rank: int) -> tuple[int, int] | None:
        busy = 20.0 <= now < 120.0
        if rank == 2 and busy:
            return None
        return of_time(now), of_time(20.0) if busy or (now < 121.0 and rank == 2) else of_time(now)

    assert lost_after(1000.0, beats) is None


def test_the_time_between_two_late_answers_counts_little() -> None:
    answers = [0]

    def beats(now: float, rank: int) -> tuple[int, int] | None:
        if now % 50.0:
            return None
        answers[0] += 1
        return of_time(now), 1

    assert lost_after(50.0 * (PATIENCE / GAP - 1), beats) is None
    assert answers[0] > 10


@pytest.mark.parametrize("patience", [2.9, 1e6, float("nan"), -1.0])
def test_a_patience_that_cannot_be_kept_is_refused(patience: float) -> None:
    with pytest.raises(ValueError, match="patience must be from 3 to 86400 seconds"):
        smp.mpi(2, patience=patience)
    with pytest.raises(TypeError, match="patience must be a number of seconds, not '30'"):
        smp.mpi(2, patience="30")  # type: ignore[arg-type]


@pytest.mark.mpi
def test_a_node_that_no_beat_reaches_is_lost_and_not_one_that_holds_the_interpreter_lock() -> None:
    def busy(proc: smp.Processor) -> None:
        if proc.rank == 1:
            ctypes.PyDLL(None).sleep(5)  # no thread of this process can run meanwhile
        proc.barrier()

    def deaf(proc: smp.Processor) -> None:
        from smp._runtime.nodes.holders import holders

        if proc.rank == 1:
            progress = next(iter(holders.values())).progress
            progress.on("beat", lambda source, key: None, of_a_run=False)
        time.sleep(60)

    with on_nodes(1, 1, patience=3.0) as machine:
        machine.run(busy)
        began = time.monotonic()
        with pytest.raises(ProcessorDied, match=r"between processors 0 and 1 of 2 for 3 s \(patience\)") as caught:
            machine.run(deaf)
        assert time.monotonic() - began >= 3.0
        assert caught.value.rank == 1
        with pytest.raises(MachineClosed, match="was lost"):
            machine.run(busy)
