"""Confidence intervals from one long run, by the means of batches that are taken as independent (batch means)."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import stdtrit  # the t quantile; scipy.stats would take half a second to import

from .._types import FloatArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval (Student t over the batches)."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval, relative to the mean; 0 for a mean of 0."""
        return (self.high - self.low) / 2.0 / self.mean if self.mean else 0.0

    @classmethod
    def of(cls, batches: FloatArray) -> Estimate:
        """Estimate a mean from the means of two or more batches."""
        mean, count = float(batches.mean()), len(batches)
        reach = float(stdtrit(count - 1, (1.0 + CONFIDENCE) / 2.0)) * float(batches.std(ddof=1)) / count**0.5
        return cls(mean, mean - reach, mean + reach)
