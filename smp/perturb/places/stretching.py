"""Stretched places: each pass ends with a delay in proportion to the time that it took.

    enter ── work ── enter ─ work ─ leave ▒▒ ── work ── leave ▒▒▒▒▒▒▒▒
    outer            inner            50% of the inner pass    50% of the outer pass, without ▒▒

The delays of places inside a pass are no part of its time. A place inside itself is delayed once, at its last end.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple, cast

from smp._runtime.loops.interpreter import here
from smp._runtime.loops.places import PLACES, now

_mine = threading.local()
"""Passes that this thread is in, for each stream of an emulated machine (`_passes`)."""


class _Pass(NamedTuple):
    name: str
    stretched: Stretched
    entered: int
    """Nanoseconds."""
    delayed: list[int]
    """Nanoseconds of each delay inside."""


class Stretched:
    """The end of a place whose passes are stretched.

    Parameters
    ----------
    share : float
        Length of the delay, as a share of the time of the pass.
    """

    def __init__(self, share: float) -> None:
        self._share = share

    def enter(self, name: str) -> None:
        """Note that a thread enters the place."""
        passes = _passes()
        passes[:] = [one for one in passes if PLACES.ends.get(one.name) is one.stretched]  # treatments may have changed
        passes.append(_Pass(name, self, now(), []))

    def leave(self, name: str) -> None:
        """End the latest pass of this place, which need not be the latest of all, and delay the thread."""
        passes = _passes()
        at = next((i for i in reversed(range(len(passes))) if passes[i].stretched is self), None)
        if at is None:  # it was entered before the treatment was set
            return
        ended = passes.pop(at)
        outer = passes[at - 1] if at else None
        inside = sum(ended.delayed)
        if all(one.stretched is not self for one in passes[:at]):
            began = now()
            _keep_busy(round(self._share * max(began - ended.entered - inside, 0)))
            inside += now() - began
        if outer is not None:
            outer.delayed.append(inside)


def _passes() -> list[_Pass]:
    running = getattr(here.interpreter, "running", None)
    streams: dict[int, list[_Pass]] = vars(_mine).setdefault("streams", {})
    return streams.setdefault(-1 if running is None else running.number, [])


def _keep_busy(ns: int) -> None:
    if here.interpreter is not None:
        cast("Any", here.interpreter).pass_time(ns)
        return
    end = time.monotonic_ns() + ns
    while time.monotonic_ns() < end:
        pass
