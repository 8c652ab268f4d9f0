"""Plot of a model's residuals: a pattern in them is a term that is missing, a spike a measurement to look at.

One panel against the prediction, one against each input, on the same scale: measured - predicted, as a share
of the measured value (the relative error of Brewer's thesis, section 2.2.4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from smp._output.numbers import time
from smp.models.fit.fitting import TOLERATED
from smp.models.fit.linear import mean_relative_error

from ..output.axes import COLOURS, GREY, canvas, legend, log_powers

Inputs = Mapping[str, ArrayLike]
Verification = tuple[Inputs, ArrayLike, ArrayLike]

SPIKES = 4
"""How many are named, the largest."""
WIDE = 20.0
"""An input whose largest value is as many times its smallest is drawn on a logarithmic axis."""
EDGE = 50.0
"""Percent; what is further off is drawn there, so that it does not flatten the rest."""


class _Samples(NamedTuple):
    """A set of n samples: what they are called, how they are marked, and their numbers."""

    label: str
    marker: str
    colour: str
    inputs: dict[str, NDArray[np.float64]]
    measured: NDArray[np.float64]
    predicted: NDArray[np.float64]

    @property
    def off(self) -> NDArray[np.float64]:
        """Measured less predicted, in percent of measured."""
        return 100 * (self.measured - self.predicted) / self.measured

    def mean_error(self) -> str:
        return f"{mean_relative_error(np.abs(self.off) / 100):.1%} of {len(self.off)} {self.label} samples"


def residual_figure(
    name: str, inputs: Inputs, measured: ArrayLike, predicted: ArrayLike, verification: Verification | None = None
) -> Figure:
    """Draw relative residuals against the prediction and against each input; the largest are named.

    Parameters
    ----------
    name : str
        Of the model.
    inputs : mapping of name to array_like (n,)
        Of the samples that it was fitted to.
    measured, predicted : array_like (n,)
        Seconds; measured above zero.
    verification : tuple of inputs, measured, predicted, optional
        Of samples that it was not fitted to, in other marks.

    Returns
    -------
    Figure
    """
    sets = [_samples("fitted", "o", COLOURS[0], inputs, measured, predicted)]
    if verification is not None and np.size(verification[1]):
        sets.append(_samples("verification", "D", COLOURS[1], *verification))
    panels = 1 + len(inputs)
    rows = round(math.sqrt(panels)) if panels > 3 else 1
    worst = max(float(np.abs(one.off).max()) for one in sets)
    at_edge = f"; what is further off than {EDGE:.0f}% is drawn there" if worst > EDGE else ""
    figure, grid = canvas(
        f"{name}: how far measurements are from the model",
        f"mean relative error {', '.join(one.mean_error() for one in sets)}; dashed: {TOLERATED:.0%}{at_edge}",
        *(rows, math.ceil(panels / rows)),
        bottom=0.15,
        right=0.87,
        gap=0.08,
        sharey=True,
    )
    grid[0, 0].get_gridspec().update(hspace=0.15 * rows)
    figure.subplots_adjust()  # moves the axes to where that puts them
    reach = 1.15 * min(max(worst, 120.0 * TOLERATED), EDGE)
    grid[0, 0].set_ylim(-reach, reach)
    spikes = _spikes(sets)
    _panel(grid.flat[0], "predicted time (s)", sets, [one.predicted for one in sets], spikes)
    for axes, key in zip(grid.flat[1:panels], inputs, strict=True):
        _panel(axes, key, sets, [one.inputs[key] for one in sets], spikes)
    for axes in grid.flat[panels:]:
        axes.set_visible(False)
    figure.supylabel("measured - predicted (% of measured)", x=0.02, fontsize=10)
    legend(grid[0, -1])
    told = (f"{k}: {_told(sets[which], i)}" for k, (which, i) in enumerate(spikes, 1))
    figure.text(0.075, 0.022, "    ".join(told), fontsize=9, color="#444444", wrap=True)
    return figure


def _samples(
    label: str, marker: str, colour: str, inputs: Inputs, measured: ArrayLike, predicted: ArrayLike
) -> _Samples:
    own = {name: np.asarray(values, np.float64) for name, values in inputs.items()}
    return _Samples(label, marker, colour, own, np.asarray(measured, np.float64), np.asarray(predicted, np.float64))


def _spikes(sets: Sequence[_Samples]) -> list[tuple[int, int]]:
    """Return which samples are furthest off, beyond what is tolerated: (set, place in it), the worst first."""
    far = [(-abs(off), which, i) for which, one in enumerate(sets) for i, off in enumerate(one.off)]
    return [(which, i) for off, which, i in sorted(far)[:SPIKES] if -off > 100 * TOLERATED]


def _told(one: _Samples, i: int) -> str:
    """Return what there is to say of a spike."""
    place = ", ".join(f"{name} = {_number(values[i])}" for name, values in one.inputs.items())
    return f"{place} ({time(one.measured[i])}, {one.off[i]:+.0f}%)"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _panel(
    axes: Axes,
    label: str,
    sets: Sequence[_Samples],
    x: Sequence[NDArray[np.float64]],
    spikes: Sequence[tuple[int, int]],
) -> None:
    axes.axhline(0.0, color="black", linewidth=1.0)
    for line in (-100 * TOLERATED, 100 * TOLERATED):
        axes.axhline(line, color=GREY, linewidth=1.0, linestyle="--")
    for one, values in zip(sets, x, strict=True):
        shown = one.off.clip(-EDGE, EDGE)
        axes.plot(values, shown, one.marker, color=one.colour, markersize=5, alpha=0.75, label=one.label)
    for k, (which, i) in enumerate(spikes, 1):
        at = (x[which][i], float(np.clip(sets[which].off[i], -EDGE, EDGE)))
        axes.annotate(str(k), at, (5, 4), textcoords="offset points", fontsize=9, weight="bold")
    ends = np.concatenate(list(x))
    if ends.min() > 0 and ends.max() > WIDE * ends.min():
        log_powers(axes.xaxis)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=bool((ends == ends.round()).all())))
    axes.set_xlabel(label)
