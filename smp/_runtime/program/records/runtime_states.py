"""The states of a processor in a run with a log: those that its program sets, and those of calls of the runtime.

    program      state("sort")
    calls               │         ├ barrier ──┬ a handler ─┬────── barrier ┤
    recorded            ├─ sort ──┤  barrier  │  handling  │    barrier    ├─ sort ──

A call covers the state of the program while it lasts, and calls may be nested.  If a handler sets another state, this
one is recorded until the handler ends, and again when the call in which the handler has run has ended.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .states import LIMIT, MOST, UNRECORDED, State, States

LOGGING, PRINTING, BROADCAST, COMBINE, BARRIER, SENDING, HANDLING = OWN = (
    "logging",
    "printing",
    "broadcast",
    "combine",
    "barrier",
    "sending",
    "handling",
)
"""Names of the states of calls."""


class _Call(NamedTuple):
    """A call that lasts: its state, the state of the program that it covers, and whether another call covered it."""

    state: State
    before: State
    covered: bool


class RuntimeStates(States):
    """The states of one processor, and those of calls of the runtime; see `States`.

    Parameters
    ----------
    on_a_stream : callable
        Returns True if the calling thread is another than the program's.  Such a thread has no states.
    """

    def __init__(self, clock: Callable[[], float], on_a_stream: Callable[[], bool], limit: int = LIMIT) -> None:
        super().__init__(clock, limit, MOST + len(OWN))
        self._on_a_stream = on_a_stream
        self._own = {name: self._add(name) for name in OWN}
        self._calls: list[_Call] = []
        self._show()

    def begin(self, name: str) -> None:
        """Begin a call, whose state has one of the names in OWN."""
        if not self._on_a_stream():
            self._calls.append(_Call(self._own[name], self._current, self._covered()))
            self._show()

    def finish(self) -> None:
        """End the call that began last."""
        if not self._on_a_stream():
            if self._calls.pop().covered:  # what was set in this call is covered by the call around it, too
                self._calls[-1] = self._calls[-1]._replace(before=self._current)
            self._show()

    @contextlib.contextmanager
    def during(self, name: str) -> Iterator[None]:
        """Record a block as a call."""
        self.begin(name)
        try:
            yield
        finally:
            self.finish()

    def set(self, state: State) -> State:
        before, self._current = self._current, state
        self._show()
        return before

    def record(self, on: bool) -> bool:
        before = self._recording
        if before and not on:
            self._note(UNRECORDED)
        self._recording = on
        self._show()
        return before

    def end(self, now: float | None = None) -> None:
        super().end(now)
        if now is None:  # the program has ended; the barrier that follows is no part of it
            self._recording = False

    def _show(self) -> None:
        """Record the present state, if it has changed."""
        shown = self._calls[-1].state if self._covered() else self._current
        if self._recording and (not self._numbers or self._numbers[-1] != shown._number):
            self._note(shown._number)

    def _covered(self) -> bool:
        """Return True if the state of the program is covered by that of a call."""
        return bool(self._calls) and self._calls[-1].before is self._current
