"""The prediction interval of each superstep: measured, good, bad, and where it lies (SMP paper, section 5.2).

Measured and predicted times are of communication, copy-in and copy-out: the models predict nothing else. The
measured time of local computation stands next to them. Only for the time of a whole program it is added, to the
measured time and to all predictions alike (figure 3 of the paper).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp._output.table import Column, Row, counted, ratio, text
from smp._output.terminal import Printed
from smp.errors import FitError

from .._types import BoolArray, FloatArray
from .locality import inside, loc, m_over_g, place, verdict

__all__ = ["Accesses", "Interval", "inside", "interval", "loc", "m_over_g", "verdict"]

_ROWS = 40  # a longer table is printed without its middle
_TIMES = ("compute", "measured", "good", "bad", "random")
_COLUMNS = (
    *(counted("step"), text("label"), counted("h_r"), counted("h_w"), counted("M")),
    *(Column(name, form="time") for name in _TIMES),
    *(ratio("Loc"), ratio("M/G"), counted("inside"), text("verdict")),
)


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


class Whole(NamedTuple):
    """Seconds of a whole program, its measured local computation included in each (figure 3 of the SMP paper).

    Attributes
    ----------
    measured, good, bad, random : float
        `random` is NaN where it is not predicted.
    """

    measured: float
    good: float
    bad: float
    random: float


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
    measured : ndarray (n,) float64
        Seconds of copy-in and copy-out.
    good, bad, random : ndarray (n,) float64
        Seconds predicted for the same. `random` is NaN where it is not predicted.
    loc, m_over_g : ndarray (n,) float64
        NaN, and printed as "-", where M < 10^4: see `smp.models.supersteps.locality.place`.
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
            good=added(self.good),
            bad=added(self.bad),
            random=added(self.random),
        )

    @property
    def whole(self) -> Whole:
        """The program with its local computation: the sums of measured and predicted times, each with the compute time.

        Loc is the same with and without it; M/G is of communication alone, as everywhere.
        """
        return Whole(*(float((t + self.compute).sum()) for t in (self.measured, self.good, self.bad, self.random)))

    def noting(self, *notes: str) -> "Interval":
        """Return the same with further notes; empty ones are left out."""
        return replace(self, notes=(*self.notes, *(note for note in notes if note)))

    def table(self) -> Printed:
        """Return a row for each superstep, the middle of many left out, a total, and that with local computation."""
        rows = [self._cells(i) for i in range(len(self))]
        if len(rows) > _ROWS:
            gap: Row = ["...", *[""] * (len(_COLUMNS) - 1)]
            rows = [*rows[: _ROWS // 2], gap, *rows[-_ROWS // 2 :]]
        rows += [["", *self.total._cells(0)[1:]], ["", "with compute", *[""] * 4, *self.whole, *[""] * 4]]
        predicted = not np.isnan(self.random).all()
        shown = [i for i, column in enumerate(_COLUMNS) if predicted or column.name != "random"]
        columns = [_COLUMNS[i] for i in shown]
        return Printed("", columns, [[row[i] for i in shown] for row in rows], self.notes)

    def __str__(self) -> str:
        return str(self.table()) if len(self) else "no supersteps"

    def _cells(self, i: int) -> Row:
        times = (float(getattr(self, name)[i]) for name in _TIMES)
        counts = (self.step[i], str(self.label[i]), self.hr[i], self.hw[i], self.m[i])
        return [*counts, *times, self.loc[i], self.m_over_g[i], bool(self.inside[i]), str(self.verdict[i])]


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

    measured = times["copy_in"] + times["copy_out"]
    worst = np.fmax(times["bad"], times["random"])
    return Interval(
        step=steps,
        label=labels,
        elements=elements,
        bytes=bytes,
        copy_in=times["copy_in"],
        compute=times["compute"],
        copy_out=times["copy_out"],
        measured=measured,
        good=times["good"],
        bad=times["bad"],
        random=times["random"],
        **place(measured, times["good"], worst, elements.m)._asdict(),
    )
