"""Measured counts and times of one suite of access patterns, one row per superstep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smp.errors import FitError

from .._types import BoolArray, FloatArray
from .cost import Others


@dataclass(frozen=True, eq=False)
class Measured:
    """Measured supersteps of one suite, n of them.

    Attributes
    ----------
    hr, hw, m : ndarray (n,) float64
        h_r and h_w, the most reads and the most writes of any processor, and M, the reads plus writes of all, in words.
    seconds : ndarray (n,) float64
        Measured times of copy-in and copy-out together, above zero.
    others : Others, optional
        Words of the processors other than the busiest; by default those of `Others.assumed`.

    Raises
    ------
    FitError
        Shapes that do not agree, a time that is not above zero, a negative count, or a number that is not finite.
    """

    hr: FloatArray
    hw: FloatArray
    m: FloatArray
    seconds: FloatArray
    others: Others | None = None

    def __post_init__(self) -> None:
        for name in ("hr", "hw", "m", "seconds"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        counts = (self.hr, self.hw, self.m)
        if self.seconds.ndim != 1 or any(c.shape != self.seconds.shape for c in counts):
            raise FitError(
                f"hr, hw, m of shapes {[c.shape for c in counts]} and seconds of shape {self.seconds.shape} "
                "do not agree: give one value of each for each superstep"
            )
        wrong = ~(self.seconds > 0.0) | ~np.isfinite(self.seconds)
        wrong |= np.any([~(c >= 0.0) | ~np.isfinite(c) for c in counts], axis=0)
        if wrong.any():
            raise FitError(
                f"{wrong.sum()} of {wrong.size} supersteps have a time that is not above zero, a negative "
                f"count, or NaN; the first is {wrong.argmax()}: leave out supersteps that could not be measured"
            )

    @property
    def h(self) -> FloatArray:
        """The larger of h_r and h_w, in words."""
        return np.maximum(self.hr, self.hw)

    def where(self, chosen: BoolArray) -> Measured:
        """Return the chosen supersteps."""
        others = None if self.others is None else Others(*(words[chosen] for words in self.others))
        return Measured(self.hr[chosen], self.hw[chosen], self.m[chosen], self.seconds[chosen], others)
