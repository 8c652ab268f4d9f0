"""The prediction interval of each superstep: measured, good, bad, and where it lies (SMP paper, section 5.2).

The models predict copy-in and copy-out only. Local computation is taken as measured on both sides, so the
measured time and all predictions here include it; it drops out of Loc, and draws M/G towards 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import FitError
from ._types import BoolArray, FloatArray
from .locality import inside, loc, m_over_g, verdict
from .table import aligned, ratio_text, time_text

__all__ = ["Accesses", "Interval", "inside", "interval", "loc", "m_over_g", "verdict"]

_ROWS = 40  # a longer table is printed without its middle
_COUNTS = ("step", "label", "h_r", "h_w", "M")
_TIMES = ("measured", "good", "bad", "random")
_PLACE = ("Loc", "M/G", "inside", "verdict")


@dataclass(frozen=True, eq=False)
class Accesses:
    """Global accesses of n supersteps, all in elements or all in bytes.

    Attributes
    ----------
    hr, hw : ndarray (n,)
        The most that any processor reads, writes.
    m : ndarray (n,)
        Reads plus writes of all processors.
    """

    hr: NDArray[Any]
    hw: NDArray[Any]
    m: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Interval:
    """Measured and predicted times of n supersteps; printed, a table with a total.

    Attributes
    ----------
    step : ndarray (n,) int64
        Number of the superstep; -1 in a total.
    label : ndarray (n,) str
    elements, bytes : Accesses
        h_r, h_w and M.
    copy_in, compute, copy_out : ndarray (n,) float64
        Measured seconds of each phase.
    measured, good, bad, random : ndarray (n,) float64
        Seconds of the whole superstep: the measured compute time is in all of them. `random` is NaN
        where it is not predicted.
    loc, m_over_g : ndarray (n,) float64
    inside : ndarray (n,) bool
    verdict : ndarray (n,) str
        As the functions of these names return them, with the larger of `bad` and `random` as the bad end:
        a machine that prefetches along lines can charge more for scattered words than for the bad pattern.
    notes : tuple of str
        What the predictions rest on, where that is not what was asked for.
    """

    step: NDArray[np.int64]
    label: NDArray[np.str_]
    elements: Accesses
    bytes: Accesses
    copy_in: FloatArray
    compute: FloatArray
    copy_out: FloatArray
    measured: FloatArray
    good: FloatArray
    bad: FloatArray
    random: FloatArray
    loc: FloatArray
    m_over_g: FloatArray
    inside: BoolArray
    verdict: NDArray[np.str_]
    notes: tuple[str, ...] = ()

    @property
    def hr(self) -> NDArray[Any]:
        """h_r in elements."""
        return self.elements.hr

    @property
    def hw(self) -> NDArray[Any]:
        """h_w in elements."""
        return self.elements.hw

    @property
    def m(self) -> NDArray[Any]:
        """M in elements."""
        return self.elements.m

    def __len__(self) -> int:
        return len(self.step)

    @property
    def total(self) -> "Interval":
        """All supersteps as one: counts, measured and predicted times summed (one row)."""

        def added(values: NDArray[Any]) -> NDArray[Any]:
            return np.atleast_1d(values.sum())

        return interval(
            step=[-1],
            label=["total"],
            elements=Accesses(*(added(a) for a in (self.hr, self.hw, self.m))),
            bytes=Accesses(*(added(a) for a in (self.bytes.hr, self.bytes.hw, self.bytes.m))),
            copy_in=added(self.copy_in),
            compute=added(self.compute),
            copy_out=added(self.copy_out),
            good=added(self.good - self.compute),
            bad=added(self.bad - self.compute),
            random=added(self.random - self.compute),
        )

    def noting(self, *notes: str) -> "Interval":
        """Return the same with further notes; empty ones are left out."""
        return replace(self, notes=(*self.notes, *(note for note in notes if note)))

    def __str__(self) -> str:
        if not len(self):
            return "no supersteps"
        head = [*_COUNTS, *_TIMES, *_PLACE]
        body = [self._cells(i) for i in range(len(self))]
        if len(body) > _ROWS:
            gap = ["..."] + [""] * (len(head) - 1)
            body = [*body[: _ROWS // 2], gap, *body[-_ROWS // 2 :]]
        rows = [head, *body, ["", *self.total._cells(0)[1:]]]
        if np.isnan(self.random).all():
            without = head.index("random")
            rows = [row[:without] + row[without + 1 :] for row in rows]
        return "\n".join([aligned(rows, words={1, len(rows[0]) - 1}), *self.notes])

    def _cells(self, i: int) -> list[str]:
        counts = [f"{int(a[i]):,}" for a in (self.hr, self.hw, self.m)]
        times = [time_text(float(a[i])) for a in (self.measured, self.good, self.bad, self.random)]
        ratios = [ratio_text(float(self.loc[i])), ratio_text(float(self.m_over_g[i]))]
        words = ["yes" if self.inside[i] else "no", str(self.verdict[i])]
        return [str(self.step[i]), str(self.label[i]), *counts, *times, *ratios, *words]


def interval(
    step: ArrayLike,
    label: Sequence[str] | NDArray[np.str_],
    elements: Accesses,
    bytes: Accesses,
    copy_in: ArrayLike,
    compute: ArrayLike,
    copy_out: ArrayLike,
    good: ArrayLike,
    bad: ArrayLike,
    random: ArrayLike | None = None,
) -> Interval:
    """Set the measured supersteps against their predictions.

    Parameters
    ----------
    step : array_like (n,) of int
    label : sequence of n str
    elements, bytes : Accesses
        Counts of the n supersteps.
    copy_in, compute, copy_out : array_like (n,)
        Measured seconds of each phase.
    good, bad, random : array_like (n,)
        Predicted seconds of copy-in and copy-out together. Without `random`, there is no such column.

    Returns
    -------
    Interval

    Raises
    ------
    FitError
        Arrays that are not all of the same length, or a time that is negative or NaN.
    """
    steps = np.asarray(step, dtype=np.int64)
    times = {
        name: np.asarray(values, dtype=np.float64)
        for name, values in {
            "copy_in": copy_in,
            "compute": compute,
            "copy_out": copy_out,
            "good": good,
            "bad": bad,
            "random": np.full(steps.shape, np.nan) if random is None else random,
        }.items()
    }
    labels = np.asarray(label, dtype=np.str_)
    counts = {
        f"{unit}.{name}": getattr(accesses, name)
        for unit, accesses in (("elements", elements), ("bytes", bytes))
        for name in ("hr", "hw", "m")
    }
    for name, values in {"label": labels, **counts, **times}.items():
        if steps.ndim != 1 or values.shape != steps.shape:
            raise FitError(
                f"{name} has shape {values.shape}, step has {steps.shape}: give one value for each superstep"
            )
        if name in times and name != "random" and not (values >= 0.0).all():
            raise FitError(f"{name}[{(~(values >= 0.0)).argmax()}] is negative or NaN: times are in seconds")

    measured = times["copy_in"] + times["compute"] + times["copy_out"]
    t_g, t_b, t_r = (times[name] + times["compute"] for name in ("good", "bad", "random"))
    worst = np.fmax(t_b, t_r)
    return Interval(
        step=steps,
        label=labels,
        elements=elements,
        bytes=bytes,
        copy_in=times["copy_in"],
        compute=times["compute"],
        copy_out=times["copy_out"],
        measured=measured,
        good=t_g,
        bad=t_b,
        random=t_r,
        loc=loc(measured, t_g, worst),
        m_over_g=m_over_g(measured, t_g),
        inside=inside(measured, t_g, worst),
        verdict=verdict(measured, t_g, worst, elements.m),
    )
