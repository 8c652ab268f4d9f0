"""The times of a library's recent calls: by how much an implementation takes longer than its model predicts.

    call      log of observed / predicted seconds --> mean and variance of the last calls, with weights that fade
    time      the mean of an implementation that is not called fades towards the mean of the one that is, if it is above
    factor    exp of the mean if that is above three standard errors, else 1: it multiplies the prediction

A model describes a free computer.  While another program takes the second CPU, an implementation on two streams is
slower than predicted, and its factor grows until another implementation is chosen.  That one is as fast as predicted,
so the factor of the first fades within seconds, and it is tried again.

If the whole computer becomes slower, the implementation that is called has a factor first, and the others are tried.
They get factors as large, which then stay as long as it keeps its own: they are not tried again and again.

An outlier raises the variance more than the mean, so it flips no choice, and a computer that is slow now and then flips
few.  A factor below 1 would only strengthen the present choice, which would never be compared with the others again.

The clock is the caller's.  Threads need no lock: at worst, of two simultaneous calls one is forgotten in whole or in
part, and a mean stays between those that it had and that were observed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import exp, inf, log, sqrt

VARIABLE = "SMP_CORRECTION"
MEMORY_S, CALLS = 3.0, 40
"""Seconds in which the weight of a call falls to 1/e; for long calls, the seconds of that many calls."""
KEPT = 31 / 32
"""Share of its weight that a call keeps at the next one, so that at most 32 calls count."""
USUAL, WORTH = 0.1, 2.0
"""Standard deviation of the logarithms that is assumed beforehand, and how many calls this assumption is worth."""
SURE = 3.0
"""Standard errors above which the mean counts; with fewer than two, one outlier after a prediction would count.  The
mean is not reduced by them, because of two slow implementations the more erratic one would then look faster."""
SHORTEST_S = 1e-4
"""Seconds below which a call is not judged: to note it takes 2 us, with cold caches 10, and its time says little."""


@dataclass(slots=True)
class Memory:
    """Recent calls of one implementation. Before the first one, there was one call, which took as long as predicted."""

    at: float
    """Time of the last call, in seconds of the caller's clock."""
    weight: float = 1.0
    """Number of calls, of which older ones count less."""
    mean: float = 0.0
    """Mean of the logarithms of observed / predicted."""
    spread: float = 0.0
    """Weighted sum of the squared deviations from the mean."""
    seconds: float = MEMORY_S
    """Seconds in which the weight falls to 1/e, and below one call the mean as well."""
    factor: float = 1.0
    """Factor for predictions, which is 1 if nothing is known to be slower than predicted."""

    def add(self, log_ratio: float, now: float, seconds: float) -> None:
        """Add a call that has ended now."""
        weight = KEPT * max(1.0, self.weight * exp(min(0.0, self.at - now) / self.seconds))
        off = log_ratio - self.mean
        self.spread = self.spread * weight / self.weight + weight * off * off / (weight + 1)
        self.mean += off / (weight + 1)
        self.weight, self.at, self.seconds = weight + 1, now, seconds
        self._judge()

    def fade(self, least: float, since: float, now: float) -> None:
        """Let the mean fade to a smaller one, which another implementation has had since then."""
        since = max(since, self.at + self.seconds * log(self.weight))  # when the weight has fallen to one call
        self.mean = least + (self.mean - least) * exp(min(0.0, since - now) / self.seconds)
        self._judge()

    def _judge(self) -> None:
        self.factor = 1.0
        if self.mean > 0:
            variance = (WORTH * USUAL * USUAL + self.spread) / (WORTH + self.weight)
            if self.mean > SURE * sqrt(variance / self.weight):
                self.factor = exp(self.mean)


class Recent:
    """Memories of the recent calls of several implementations, one for each.

    Examples
    --------
    >>> recent = Recent()
    >>> for call in range(10):
    ...     recent.note("two streams", predicted=0.01, observed=0.02, now=call / 10)
    >>> {name: round(factor, 1) for name, factor in recent.factors(now=1.0).items()}
    {'two streams': 1.9}

    A call of another implementation takes as long as predicted, so the factor fades.

    >>> recent.note("one stream", predicted=0.015, observed=0.015, now=1.1)
    >>> {name: round(factor, 1) for name, factor in recent.factors(now=9.0).items()}
    {'two streams': 1.4}
    >>> recent.factors(now=60.0)
    {}
    """

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}
        self._last: Memory | None = None  # of the implementation that was called last
        self._faded = 0.0  # until when the others have faded
        self.slow: dict[str, Memory] = {}  # those with a factor above 1 at their last call: others get none by fading

    def note(self, name: str, predicted: float, observed: float, now: float) -> None:
        """Remember the time of a call.

        Parameters
        ----------
        name : str
            The implementation that was called.
        predicted : float
            Seconds that its model has predicted.
        observed : float
            Seconds that the call has taken.  Calls below `SHORTEST_S` are not judged.
        now : float
            Time at the end of the call, in seconds.
        """
        if not (observed >= SHORTEST_S and 0 < predicted < inf):
            return
        memory = self._memories.get(name)
        if memory is None:
            memory = self._memories[name] = Memory(now)
        self._fade(now)
        memory.add(log(observed / predicted), now, max(MEMORY_S, CALLS * predicted))
        self._last = memory
        if memory.factor > 1:
            self.slow[name] = memory
        elif name in self.slow:
            self.slow.pop(name, None)

    def factors(self, now: float) -> dict[str, float]:
        """Return the factors above 1, by the implementation's name."""
        self._fade(now)
        return {name: memory.factor for name, memory in list(self.slow.items()) if memory.factor > 1}

    def _fade(self, now: float) -> None:
        """Let the means fade towards that of the implementation that was called last."""
        if (last := self._last) is not None:
            for memory in list(self._memories.values()):
                if memory.mean > last.mean and memory.mean > 0:
                    memory.fade(max(last.mean, 0.0), self._faded, now)
        self._faded = now

    def forget(self) -> None:
        """Forget all calls."""
        self._memories, self._last, self.slow = {}, None, {}


def is_on() -> bool:
    """Return True unless the environment variable ``SMP_CORRECTION`` is 0.

    Raises
    ------
    ValueError
        If the variable has a value that it cannot have.
    """
    value = os.getenv(VARIABLE, "")
    if value not in ("", "0", "1"):
        raise ValueError(f"{VARIABLE} must be 0 or 1, not {value!r}: 0 lets libraries choose by their models alone")
    return value != "0"
