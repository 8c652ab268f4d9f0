"""Prediction interval of each superstep, from good to bad, and the measured time in it (SMP paper, section 5.2).

Measured and predicted times are of communication alone, copy-in and copy-out: the models predict nothing else. The
measured time of local computation is listed next to them. It is added only for the time of a whole program, to the
measured time and to all predictions alike (figure 3 of the paper).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp._output.figure import Figure
from smp._output.frames import frame
from smp._output.notebook import displayed
from smp._output.table import Column, Part, Row, counted, ratio, text
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
_SPREAD = ratio("spread")


@dataclass(frozen=True, eq=False)
class Accesses:
    """Global accesses of n supersteps, all in elements or all in bytes.

    Attributes
    ----------
    hr, hw : ndarray (n,)
        h_r and h_w: the most that any processor reads and writes.
    m : ndarray (n,)
        M: the reads plus the writes of all processors.
    """

    hr: NDArray[Any]
    hw: NDArray[Any]
    m: NDArray[Any]


class Whole(NamedTuple):
    """Seconds of a whole program, all with the measured local computation (figure 3 of the SMP paper).

    Attributes
    ----------
    measured, good, bad, random : float
        Measured and predicted seconds; `random` is NaN if it is not predicted.
    """

    measured: float
    good: float
    bad: float
    random: float


@dataclass(frozen=True, eq=False)
class Interval:
    """Measured and predicted times of n supersteps; printed as a table with a total.

    Attributes
    ----------
    step : ndarray (n,) int64
        Number of the superstep; -1 in a total, and for a program that is recorded as a whole.
    label : ndarray (n,) str
    elements, bytes : Accesses
        h_r, h_w and M in elements and in bytes.
    copy_in, compute, copy_out : ndarray (n,) float64
        Measured seconds of each phase.
    measured : ndarray (n,) float64
        Seconds of copy-in and copy-out together; the median if there are several repeats.
    good, bad, random : ndarray (n,) float64
        Seconds predicted for copy-in and copy-out together. `random` is NaN if it is not predicted. All three are NaN,
        and printed as "-", if the counts do not hold all accesses.
    loc, m_over_g : ndarray (n,) float64
        Degree of locality, and measured over good. NaN, and printed as "-", if M < 10^4 or there is no prediction: see
        `smp.models.supersteps.locality.place`.
    inside : ndarray (n,) bool
    verdict : ndarray (n,) str
        As the functions of these names in `smp.models.supersteps.locality` return them. The bad end, also for `loc`, is
        the larger of `bad` and `random`: a machine that prefetches along lines can charge more for scattered words than
        for the bad pattern.
    notes : tuple of str
        The basis of the predictions, if it is not the one that was asked for, and other explanations of the times.
    samples : ndarray (r, n) float64, optional
        Seconds of copy-in and copy-out together in each of r repeats.
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
    samples: FloatArray | None = None

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
        """All supersteps as one row: the sums of the counts and of the measured and predicted times."""

        def added(values: NDArray[Any]) -> NDArray[Any]:
            return np.atleast_1d(values.sum())

        summed = interval(
            step=[-1],
            label=["total"],
            elements=Accesses(*(added(a) for a in (self.hr, self.hw, self.m))),
            bytes=Accesses(*(added(a) for a in (self.bytes.hr, self.bytes.hw, self.bytes.m))),
            copy_in=added(self.copy_in),
            compute=added(self.compute),
            copy_out=added(self.copy_out),
            good=added(np.nan_to_num(self.good)),
            bad=added(np.nan_to_num(self.bad)),
            random=added(self.random),
        ).without(np.atleast_1d(np.isnan(self.good).any()))
        return summed if self.samples is None else summed.repeated(self.samples.sum(axis=1, keepdims=True))

    @property
    def spread(self) -> FloatArray:
        """The distance between the quartiles of the measured times, divided by their median; NaN without repeats."""
        if self.samples is None:
            return np.full(len(self), np.nan)
        low, middle, high = np.quantile(self.samples, (0.25, 0.5, 0.75), axis=0)
        return np.asarray((high - low) / np.where(middle > 0.0, middle, np.nan))

    @property
    def whole(self) -> Whole:
        """The program with its local computation: the sums of measured and predicted times, each with the compute time.

        Loc is the same with and without the compute time; M/G is of communication alone, as everywhere.
        """
        return Whole(*(float((t + self.compute).sum()) for t in (self.measured, self.good, self.bad, self.random)))

    def repeated(self, samples: FloatArray) -> "Interval":
        """Return the interval with the medians of several repeats as the measured times.

        Parameters
        ----------
        samples : ndarray (r, n) float64
            Seconds of copy-in and copy-out together in each repeat.
        """
        return replace(self, samples=samples, measured=np.median(samples, axis=0))._placed()

    def without(self, rows: BoolArray) -> "Interval":
        """Return the interval without predictions for the given supersteps, whose counts do not hold all accesses."""
        good, bad, random = (np.where(rows, np.nan, seconds) for seconds in (self.good, self.bad, self.random))
        return replace(self, good=good, bad=bad, random=random)._placed()

    def _placed(self) -> "Interval":
        """Return the interval with Loc, M/G, inside and verdict found again from its times."""
        worst = np.fmax(self.bad, self.random)
        return replace(self, **place(self.measured, self.good, worst, self.m)._asdict())

    def noting(self, *notes: str) -> "Interval":
        """Return the interval with further notes; empty ones are left out."""
        return replace(self, notes=(*self.notes, *(note for note in notes if note)))

    def plot(self) -> Any:
        """Draw the measured time of each superstep in its predicted interval.

        Returns
        -------
        matplotlib.figure.Figure
            Notebooks show it; ``savefig`` writes it to a file.  Of many supersteps it shows those that took the most
            time.

        Raises
        ------
        ValueError
            If there is no superstep to draw.
        """
        if not len(self):
            raise ValueError("there is no superstep to draw: the run recorded none")
        from smp._output.drawing import draw  # imported late, like Matplotlib

        return draw(self.figure())

    def figure(self) -> Figure:
        """Describe the figure that `plot` draws."""
        from .bars_figure import interval_figure

        names = [
            f"{number if number >= 0 else ''} {label}".strip()
            for number, label in zip(self.step, self.label, strict=True)
        ]
        return interval_figure(names, self.measured, self.good, np.fmax(self.bad, self.random), self.samples)

    def to_frame(self) -> Any:
        """Return the interval as a ``pandas.DataFrame``: a row for each superstep, with times in seconds.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        names = ("step", "label", "hr", "hw", "m", *_TIMES, "loc", "m_over_g", "inside", "verdict", "spread")
        return frame({name: getattr(self, name) for name in names})

    def table(self) -> Printed:
        """Return a table: each superstep (of many, the first and the last ones), the total, and the whole program."""
        gap: Row = ["...", *[""] * (len(_COLUMNS) - 1)]
        rows = _few([self._cells(i) for i in range(len(self))], gap)
        if (self.step >= 0).any():
            rows += [self.total._cells(0), ["", "with compute", *[""] * 4, *self.whole, *[""] * 4]]
        predicted = not np.isnan(self.random).all()
        shown = [i for i, column in enumerate(_COLUMNS) if predicted or column.name != "random"]
        columns, cells, notes = [_COLUMNS[i] for i in shown], [[row[i] for i in shown] for row in rows], self.notes
        if self.samples is not None:
            columns.append(_SPREAD)
            spreads = _few(list(self.spread), "")
            for row, spread in zip(cells, [*spreads, float(self.total.spread[0]), ""], strict=False):
                row.append(spread)
            spread_of = (
                f"measured: medians of {len(self.samples)} repeats; spread: between their quartiles, over the median"
            )
            notes = (spread_of, *notes)
        return Printed("", columns, cells, notes)

    def __str__(self) -> str:
        return str(self.table()) if len(self) else "no supersteps"

    def _repr_html_(self) -> str:
        return displayed([Part("", [self.table()])], self.figure() if len(self) else None)

    def _cells(self, i: int) -> Row:
        times = (float(getattr(self, name)[i]) for name in _TIMES)
        number = "" if self.step[i] < 0 else int(self.step[i])
        counts = (number, str(self.label[i]), self.hr[i], self.hw[i], self.m[i])
        inside = None if np.isnan(self.good[i]) else bool(self.inside[i])
        return [*counts, *times, self.loc[i], self.m_over_g[i], inside, str(self.verdict[i])]


def _few(rows: list[Any], gap: Any) -> list[Any]:
    """Return the rows; of more than `_ROWS`, only the first and the last, with a gap between them."""
    return rows if len(rows) <= _ROWS else [*rows[: _ROWS // 2], gap, *rows[-_ROWS // 2 :]]


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
    """Compare measured supersteps with their predictions.

    Parameters
    ----------
    step : array_like (n,) of int
    label : sequence of n str
    elements, bytes : Accesses
        Counts of the n supersteps, in elements and in bytes.
    copy_in, compute, copy_out : array_like (n,)
        Measured seconds of each phase.
    good, bad, random : array_like (n,)
        Predicted seconds of copy-in and copy-out together. Without `random`, the table has no such column.

    Returns
    -------
    Interval

    Raises
    ------
    FitError
        Arrays that are not all of the same length, or a time, except for `random`, that is negative or NaN.
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
                f"{name} has shape {values.shape}, but step has {steps.shape}: give one value for each superstep"
            )
        if name in times and name != "random" and not (values >= 0.0).all():
            raise FitError(f"{name}[{(~(values >= 0.0)).argmax()}] is negative or NaN: give seconds, zero or more")

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
