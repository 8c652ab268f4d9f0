"""Messages by which the parent notices that the network between two nodes is lost.

    first processor of a node  ── beat ──▶  first processor of the next node, of the last one to node 0
    both                       ── beats sent, beats heard ──▶  parent, with their answers to its probes

The service threads send the beats, also while programs compute.  The parent counts the time in which both processors
answer it, some beat is on its way, and none comes.  Any other silence is no sign of a loss: a processor in a call that
holds the interpreter lock sends and hears no beat, but it does not answer the parent either, however long the call is.
If a whole computer is lost, its lines to the parent end after the same time (see ``Line.give_up_after``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Real
from typing import NamedTuple

from .layout import Nodes
from .progress import Progress

PATIENCE = 30.0
"""Seconds for which a lost network is waited for, if the user does not say it."""
LEAST, MOST = 3.0, 86_400.0
"""Bounds of the same."""
BEAT, OFTEN = 5.0, 6
"""Seconds between two beats, and how many there are at least in the time for which a lost network is waited for."""
GAP = 1.0
"""Seconds that two answers of a processor are apart at most; if it is more, it did something else in between."""


def checked_patience(patience: float) -> float:
    """Return the seconds for which a lost network is waited for.

    Raises
    ------
    TypeError, ValueError
        If they are not a number of seconds that can be kept.
    """
    if isinstance(patience, bool) or not isinstance(patience, Real):
        raise TypeError(f"patience must be a number of seconds, not {patience!r}")
    if not LEAST <= patience <= MOST:
        raise ValueError(f"patience must be from {LEAST:.0f} to {MOST:.0f} seconds, not {patience}")
    return float(patience)


class Beats(NamedTuple):
    """Numbers of beats that a processor has sent and heard; both are 0 if it is not the first one of its node."""

    sent: int
    heard: int


class Heartbeat:
    """The beats of one processor.

    Parameters
    ----------
    key : str
        Name of the machine.  A beat of an earlier machine of the same ranks may come late.
    patience : float
        Seconds for which a lost network is waited for.

    Attributes
    ----------
    beats : Beats
    """

    def __init__(self, progress: Progress, rank: int, nodes: Nodes, key: str, patience: float) -> None:
        self._progress, self._key, self._every = progress, key, min(BEAT, patience / OFTEN)
        self.beats, self._next = Beats(0, 0), 0.0
        node = nodes.of[rank]
        self._to = nodes.first[(node + 1) % len(nodes.first)]
        progress.on("beat", self._came, of_a_run=False)
        if rank == nodes.first[node] != self._to:
            progress.in_service = self._beat

    def _beat(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._every
            with self._progress.lock:
                self._progress.send(self._to, "beat", self._key)
                self.beats = self.beats._replace(sent=self.beats.sent + 1)

    def _came(self, source: int, key: str) -> None:
        if key == self._key:
            self.beats = self.beats._replace(heard=self.beats.heard + 1)


class _Answer(NamedTuple):
    """The last answer of a processor: when it came, and its beats."""

    at: float
    beats: Beats


class Silences:
    """The time for which each node has heard no beat, as the parent counts it during one run.

    Parameters
    ----------
    nodes : Nodes
    patience : float
        Seconds for which a lost network is waited for.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, nodes: Nodes, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._first, self._patience, self._clock = nodes.first, patience, clock
        self._last: dict[int, _Answer] = {}  # by processor
        self._silence = dict.fromkeys(nodes.first, 0.0)  # of the processor that should hear

    def came(self, rank: int, beats: Beats) -> tuple[int, int] | None:
        """Note an answer; return the sender and the receiver of beats that have not come for too long, if any."""
        if rank not in self._silence:
            return None
        before, now = self._last.get(rank), self._clock()
        self._last[rank] = _Answer(now, beats)
        sender = self._first[self._first.index(rank) - 1]
        of_sender = self._last.get(sender)
        if before is None or of_sender is None:
            return None
        if beats.heard != before.beats.heard or beats.heard >= of_sender.beats.sent:
            self._silence[rank] = 0.0
        elif of_sender.at >= before.at:
            self._silence[rank] += min(now - before.at, GAP)
        return (sender, rank) if self._silence[rank] >= self._patience else None
