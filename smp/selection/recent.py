"""The times of a library's recent calls: by how much an implementation takes longer than its model predicts.

    call      log of observed / predicted seconds --> mean and variance of the last calls, with weights that fade
    factor    exp of the mean if that is above three standard errors, else 1: it multiplies the prediction

A model describes a free computer.  While another program takes the second CPU, an implementation on two streams is
slower than predicted, and its factor grows until another implementation is chosen.  That one is then measured, and the
factor of the first fades within seconds, so that it is tried again.

An outlier raises the variance more than the mean, so it flips no choice, and a computer that is slow now and then flips
few.  A memory that fades is replaced by the prediction, as if a call had taken as long as predicted.  A factor below 1
would only strengthen the present choice, which would never be compared with the others again.

The clock is the caller's.  A memory is replaced as a whole and never changed, so threads need no lock: at worst, one of
two simultaneous calls is forgotten.
"""

from __future__ import annotations

import math
import os
from typing import NamedTuple

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
"""Seconds below which a call is not judged: to note it would take a hundredth of its time, and its time says little."""


class Memory(NamedTuple):
    """Recent calls of one implementation."""

    weight: float
    """Number of calls, of which older ones count less."""
    mean: float
    """Mean of the logarithms of observed / predicted."""
    spread: float
    """Weighted sum of the squared deviations from the mean."""
    at: float
    """Time of the last call, in seconds of the caller's clock."""
    seconds: float
    """Seconds in which the weight falls to 1/e."""

    def faded(self, now: float) -> tuple[float, float, float]:
        """Return weight, mean and spread now. What is missing to one call is a call as predicted."""
        left = math.exp((self.at - now) / self.seconds) if now > self.at else 1.0
        weight, mean, spread = self.weight * left, self.mean, self.spread * left
        if weight < 1:
            return 1.0, mean * weight, spread + weight * (1 - weight) * mean * mean
        return weight, mean, spread

    def factor(self, now: float) -> float:
        """Return the factor for predictions, which is 1 if nothing is known to be slower than predicted."""
        if self.mean <= 0:
            return 1.0
        weight, mean, spread = self.faded(now)
        variance = (WORTH * USUAL * USUAL + spread) / (WORTH + weight)
        return math.exp(mean) if mean > SURE * math.sqrt(variance / weight) else 1.0

    def noted(self, log: float, now: float, seconds: float) -> Memory:
        """Return the memory with one more call, which has ended now."""
        weight, mean, spread = self.faded(now)
        weight *= KEPT
        off = log - mean
        share = off / (weight + 1)
        return Memory(weight + 1, mean + share, spread * KEPT + weight * share * off, now, seconds)


class Recent:
    """Memories of the recent calls of several implementations, one for each.

    Examples
    --------
    >>> recent = Recent()
    >>> for call in range(10):
    ...     recent.note("two streams", predicted=0.01, observed=0.02, now=call / 10)
    >>> {name: round(factor, 1) for name, factor in recent.factors(now=1.0).items()}
    {'two streams': 1.9}
    >>> recent.factors(now=30.0)
    {}
    """

    def __init__(self) -> None:
        self._memories: dict[str, Memory] = {}
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
        if not (observed >= SHORTEST_S and 0 < predicted < math.inf):
            return
        memory = self._memories.get(name)
        if memory is None:
            memory = Memory(0.0, 0.0, 0.0, now, MEMORY_S)
        memory = memory.noted(math.log(observed / predicted), now, max(MEMORY_S, CALLS * predicted))
        self._memories[name] = memory
        if memory.factor(now) > 1:
            self.slow[name] = memory
        else:
            self.slow.pop(name, None)

    def factors(self, now: float) -> dict[str, float]:
        """Return the factors above 1, by the implementation's name."""
        found = {name: memory.factor(now) for name, memory in list(self.slow.items())}
        return {name: factor for name, factor in found.items() if factor > 1}

    def forget(self) -> None:
        """Forget all calls."""
        self._memories, self.slow = {}, {}


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
