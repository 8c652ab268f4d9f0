"""Offsets of a clock from that of processor 0, and the correction of the times in a record.

    clock of processor 0              answered                offset    answered - (sent + came) / 2
    own clock               sent ──────── · ──────── came     error     (came - sent) / 2

The answer is given at some moment between ``sent`` and ``came``.  If it is not the one in the middle, the offset is
wrong, by half the round trip at most.

Source: Cristian, "Probabilistic clock synchronization" (1989).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Offset(NamedTuple):
    """The seconds by which a clock is behind that of processor 0.

    Attributes
    ----------
    at : float
        Time of the measurement, on the clock itself.
    seconds : float
        Time to be added to that of the clock.
    error : float
        Largest error of these seconds.
    """

    at: float
    seconds: float
    error: float


def shortest(trips: Iterable[tuple[float, float, float]]) -> Offset:
    """Return the offset that the shortest of some round trips gives; each has the times sent, answered and came."""
    sent, answered, came = min(trips, key=lambda trip: trip[2] - trip[0])
    middle = (sent + came) / 2
    return Offset(middle, answered - middle, (came - sent) / 2)


class Drift(NamedTuple):
    """The offsets of a clock at the start and at the end of a run, in which times had the offset of the start.

    The errors below hold if the offset has changed evenly in between.
    """

    start: Offset
    end: Offset

    @property
    def error(self) -> float:
        """The largest error of a time of the run, before it is corrected or after."""
        return max(self.start.error, self.end.error + abs(self._seconds))

    def corrected(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return times of the run with the offset that the clock had then.

        If the errors of the two offsets can explain their difference, the times are right as they are.
        """
        if abs(self._seconds) <= self.start.error + self.end.error:
            return times
        since = times - (self.start.at + self.start.seconds)
        return times + since * (self._seconds / (self.end.at - self.start.at))

    @property
    def _seconds(self) -> float:
        return self.end.seconds - self.start.seconds
