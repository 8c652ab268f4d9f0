"""Figure of a model's residuals, where a pattern shows a missing term, and a spike shows a measurement to look at.

One panel shows the residuals against the prediction, and one against each input, all on the same scale. A residual
is measured - predicted, as a share of the measured value (the relative error of Brewer's thesis, section 2.2.4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp._output.figure import GREY, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import time
from smp.models.fit.fitting import TOLERATED
from smp.models.fit.linear import mean_relative_error

Inputs = Mapping[str, ArrayLike]
Verification = tuple[Inputs, ArrayLike, ArrayLike]

SPIKES = 4
"""Number of spikes that are named, the largest first."""
WIDE = 20.0
"""An input whose largest value is more than this many times its smallest is on a logarithmic axis."""
EDGE = 50.0
"""Largest residual shown, in percent; larger ones are shown there, so that they do not flatten the rest."""


class _Samples(NamedTuple):
    """A set of n samples: their label, their marker, and their numbers."""

    label: str
    marker: int
    inputs: dict[str, NDArray[np.float64]]
    measured: NDArray[np.float64]
    predicted: NDArray[np.float64]

    @property
    def off(self) -> NDArray[np.float64]:
        """Measured minus predicted, in percent of measured."""
        return 100 * (self.measured - self.predicted) / self.measured

    def mean_error(self) -> str:
        return f"{mean_relative_error(np.abs(self.off) / 100):.1%} of {len(self.off)} {self.label} samples"


def residual_figure(
    id: str,
    name: str,
    inputs: Inputs,
    measured: ArrayLike,
    predicted: ArrayLike,
    verification: Verification | None = None,
    left_out: Verification | None = None,
) -> Figure:
    """Describe relative residuals against the prediction and against each input; the largest are named.

    Parameters
    ----------
    id, name : str
        Id of the figure, and name of the model.
    inputs : mapping of name to array_like (n,)
        Inputs of the samples that the model was fitted to.
    measured, predicted : array_like (n,)
        Measured and predicted seconds; the measured ones are above zero.
    verification : tuple of inputs, measured, predicted, optional
        Samples that the model was not fitted to, shown with other markers.
    left_out : tuple of inputs, measured, predicted, optional
        Samples that were left out of the fit because they were slow, likewise.

    Returns
    -------
    Figure
    """
    sets = [_samples("fitted", 0, inputs, measured, predicted)]
    if verification is not None and np.size(verification[1]):
        sets.append(_samples("verification", 3, *verification))
    if left_out is not None and np.size(left_out[1]):
        sets.append(_samples("left out", 2, *left_out))
    worst = max(float(np.abs(one.off).max()) for one in sets)
    at_edge = f"; residuals beyond {EDGE:.0f}% are shown at the edge" if worst > EDGE else ""
    spikes, reach = _spikes(sets), 1.15 * min(max(worst, 120.0 * TOLERATED), EDGE)
    y = Axis("measured - predicted", "% of measured", low=-reach, high=reach)
    panels = [_panel(Axis("predicted time", "s"), y, sets, [one.predicted for one in sets], spikes)]
    panels += [_panel(Axis(key), y, sets, [one.inputs[key] for one in sets], spikes) for key in inputs]
    rows = round(math.sqrt(len(panels))) if len(panels) > 3 else 1
    said = (f"{k}: {_described(sets[which], i)}" for k, (which, i) in enumerate(spikes, 1))
    return Figure(
        id,
        f"{name}: how far are the measurements from the model?",
        f"mean relative error {', '.join(one.mean_error() for one in sets)}; dashed: {TOLERATED:.0%}{at_edge}",
        panels,
        columns=math.ceil(len(panels) / rows),
        share_y="all",
        remarks="    ".join(said),
    )


def _samples(label: str, marker: int, inputs: Inputs, measured: ArrayLike, predicted: ArrayLike) -> _Samples:
    own = {name: np.asarray(values, np.float64) for name, values in inputs.items()}
    return _Samples(label, marker, own, np.asarray(measured, np.float64), np.asarray(predicted, np.float64))


def _spikes(sets: Sequence[_Samples]) -> list[tuple[int, int]]:
    """Return the samples that are furthest off, beyond the tolerance, as (set, place in it), the worst first."""
    far = [(-abs(off), which, i) for which, one in enumerate(sets) for i, off in enumerate(one.off)]
    return [(which, i) for off, which, i in sorted(far)[:SPIKES] if -off > 100 * TOLERATED]


def _described(one: _Samples, i: int) -> str:
    """Return a text on a spike: its inputs, its time, and its residual."""
    place = ", ".join(f"{name} = {_number(values[i])}" for name, values in one.inputs.items())
    return f"{place} ({time(one.measured[i])}, {one.off[i]:+.0f}%)"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _panel(
    x: Axis,
    y: Axis,
    sets: Sequence[_Samples],
    values: Sequence[NDArray[np.float64]],
    spikes: Sequence[tuple[int, int]],
) -> Panel:
    numbers = {spike: str(k) for k, spike in enumerate(spikes, 1)}
    series = []
    for which, (one, at) in enumerate(zip(sets, values, strict=True)):
        notes = [numbers.get((which, i), "") for i in range(len(at))]
        shown = one.off.clip(-EDGE, EDGE)
        series.append(Series(one.label, at, shown, "points", notes=notes, colour=which, marker=one.marker))
    marks = [Mark(0.0, axis="y")]
    marks += [Mark(sign * 100 * TOLERATED, axis="y", colour=GREY, dash="dashed") for sign in (-1, 1)]
    ends = np.concatenate(list(values))
    wide = ends.min() > 0 and ends.max() > WIDE * ends.min()
    return Panel(Axis(x.label, x.unit, "log" if wide else "linear"), y, series, marks=marks)
