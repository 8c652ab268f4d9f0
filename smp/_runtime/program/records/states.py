"""States of processors: what each one does, and from when to when, as its program says.

    proc.state("count")    proc.state("move")         end of the program
             ├──── count ─────────┼──────── move ────────────┤              two rows of STATE

A processor keeps the time of each change and the number of the state (`States`).  The run joins the changes of all
processors into the structured array that users see (`joined_states`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .clock_offsets import Drift

MOST = 256
"""Largest number of states of a processor."""
LIMIT = 1_000_000
"""Number of changes that a processor records in one run, at 10 bytes each; further ones are only counted."""
IDLE, BUSY = "idle", "busy"
UNRECORDED = -1
"""Stands for any state while a program records none."""

PackedStates = tuple[bytes, bytes, list[str], float, int]
"""Times of the changes and numbers of the states, names by number, end of the last state, changes not recorded."""
STATE = np.dtype([("rank", np.int32), ("state", "U32"), ("start", np.float64), ("end", np.float64)])


class State(str):
    """Name of the state that a processor had before a change.  At the end of a ``with`` block it is set again."""

    __slots__ = ("_number", "_states")
    _number: int
    _states: States

    def __new__(cls, name: str, number: int, states: States) -> State:
        made = super().__new__(cls, name)
        made._number, made._states = number, states
        return made

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self._states.set(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class States:
    """The states of one processor in one run, and its changes from one to another.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds.
    limit, most : int
        Largest numbers of changes that are recorded, and of states.
    """

    def __init__(self, clock: Callable[[], float], limit: int = LIMIT, most: int = MOST) -> None:
        self._clock, self._limit, self._most = clock, limit, most
        self._known: dict[str, State] = {}
        self._times, self._numbers = array("d"), array("h")
        self._end: float | None = None
        self._dropped = 0
        self._recording = True
        self._add(IDLE)
        self._current = self._add(BUSY)

    def change(self, name: str) -> State:
        """Begin a state, and return the one before."""
        try:
            state = self._known[name]
        except (KeyError, TypeError):
            state = self._add(name)
        return self.set(state)

    def set(self, state: State) -> State:
        """Begin a state that this processor knows, and return the one before."""
        before, self._current = self._current, state
        if self._recording:
            self._note(state._number)
        return before

    def record(self, on: bool) -> bool:
        """Record states from now on, or no longer; return whether they were recorded before."""
        before, self._recording = self._recording, on
        if on != before:
            self._note(self._current._number if on else UNRECORDED)
        return before

    def end(self, now: float | None = None) -> None:
        """End the last state that is recorded; it is ended once only."""
        if self._end is None:
            self._end = self._clock() if now is None else now

    def correct(self, drift: Drift) -> None:
        """Correct the times of states that have ended; see `Drift`."""
        assert self._end is not None
        times = np.frombuffer(self._times)
        times[:] = drift.corrected(times)
        self._end = float(drift.corrected(np.array([self._end]))[0])

    def packed(self) -> PackedStates:
        """Return the record of states that have ended."""
        assert self._end is not None
        return self._times.tobytes(), self._numbers.tobytes(), list(self._known), self._end, self._dropped

    def _add(self, name: str) -> State:
        if not isinstance(name, str):
            raise TypeError(f"the name of a state must be a string, not {name!r}")
        if not name:
            raise ValueError("a state needs a name, for the legend of its picture; this one is empty")
        if len(self._known) == self._most:
            raise ValueError(
                f"a processor can have at most {MOST} states, idle and busy among them, and {name!r} would be one "
                "more: use the same name for work of the same kind"
            )
        state = self._known[str(name)] = State(name, len(self._known), self)
        return state

    def _note(self, number: int) -> None:
        now = self._clock()
        if len(self._times) < self._limit:
            self._times.append(now)
            self._numbers.append(number)
        else:
            self.end(now)
            self._dropped += 1


def joined_states(packs: Sequence[PackedStates | None]) -> tuple[NDArray[np.void], int]:
    """Join the states of all processors.

    Parameters
    ----------
    packs : sequence
        Records of processors 0, 1, ...; None for one that has set no state.

    Returns
    -------
    states : STATE array
        A row from each change to the next one, ordered by rank, then time.
    dropped : int
        The largest number of changes that a processor did not record.
    """
    parts = [np.zeros(0, STATE)]
    for rank, pack in enumerate(packs):
        if pack is None:
            continue
        times, numbers = np.append(np.frombuffer(pack[0]), pack[3]), np.frombuffer(pack[1], np.int16)
        recorded = numbers != UNRECORDED
        part = np.zeros(np.count_nonzero(recorded), STATE)
        part["rank"], part["state"] = rank, np.array(pack[2])[numbers[recorded]]
        part["start"], part["end"] = times[:-1][recorded], times[1:][recorded]
        parts.append(part)
    return np.concatenate(parts), max((pack[4] for pack in packs if pack is not None), default=0)
