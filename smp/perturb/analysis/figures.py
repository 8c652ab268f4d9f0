"""Figures: effects (half-normal, and in order of size), ladders of delays (figure 3), and a response (figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from smp._output.figure import COLOURS, GREY, MARKERS, Axis, Figure, Mark, Panel, Series

from .effects import Analysis
from .ladders import Ladder

_NOISE, _MARKED = 5, 1  # colours
_LABELS = 20  # characters of a source that are shown
_BARS = 40


def half_normal(analysis: Analysis) -> Figure:
    """Return a figure of the sizes of all effects against the quantiles of half a normal distribution.

    Effects that are noise lie on the line through zero with slope S. Effects to the right of that line are real.
    """
    analysis = analysis.readable()
    kept = np.flatnonzero(~analysis.lost)
    order = kept[np.argsort(np.abs(analysis.effects[kept]))]
    sizes, marked = np.abs(analysis.effects[order]), analysis.significant[order]
    quantiles = ndtri(0.5 + 0.5 * (np.arange(len(order)) + 0.5) / len(order))
    top = quantiles[-1] * 1.08
    notes = [_clipped(analysis.sources[i]) + (" (-)" if analysis.effects[i] < 0 else "") for i in order[marked]]
    series = [
        Series("noise", [0, analysis.uncertainty * top], [0, top], colour=GREY),
        Series("within the noise", sizes[~marked], quantiles[~marked], "points", colour=_NOISE),
        Series("significant", sizes[marked], quantiles[marked], "points", colour=_MARKED, notes=notes),
    ]
    beyond = Mark(analysis.expanded, text=f"{analysis.factor:.3g} S", colour=GREY, dash="dashed")
    high = float(max(sizes[-1], analysis.expanded) * 1.05 or 1)
    x = Axis("size of the effect", analysis.unit, low=0, high=high)
    y = Axis("quantile of the half-normal distribution", "standard deviations", low=0, high=top)
    return Figure(
        f"half-normal-{analysis.name}",
        f"{int(marked.sum())} of {len(order)} effects on {analysis.name} exceed the noise",
        f"{analysis.design.name}; line: noise of S = {analysis.uncertainty:.3g} {analysis.unit}".rstrip()
        + f"; effects beyond {analysis.factor:.3g} S are marked; (-): negative",
        [Panel(x, y, series, marks=[beyond])],
        legend_at="lower right",
    )


def effects(analysis: Analysis) -> Figure:
    """Return a figure of the effects in order of size, the largest first, with the band of noise."""
    analysis = analysis.readable()
    order = np.argsort(-np.abs(analysis.effects), kind="stable")[:_BARS]
    names = [_clipped(analysis.sources[i], 2 * _LABELS) for i in order]
    left = len(analysis.effects) - len(order)
    found, marked = analysis.effects[order], np.asarray(analysis.significant[order], np.bool_)
    bars = [
        Series(name, found[of], np.flatnonzero(of), "bar", colour=colour)
        for name, of, colour in (("significant", marked, _MARKED), ("within the noise", ~marked, _NOISE))
        if of.any()
    ]
    noise = Mark(-analysis.expanded, analysis.expanded, colour=GREY)
    return Figure(
        f"effects-{analysis.name}",
        f"What is {analysis.name} sensitive to?",
        f"{analysis.design.name}: effect of each contrast; band: noise, {analysis.factor:.3g} S = "
        f"{analysis.expanded:.3g}" + (f"; {left} smaller effects are left out" if left else ""),
        [Panel(Axis("effect", analysis.unit), Axis(names=names), bars, marks=[noise, Mark(0.0)])],
        legend_at="lower right",
    )


def ladders(found: Mapping[str, Ladder], unit: str = "s", delay: str = "s", id: str = "ladder") -> Figure:
    """Return a figure of effect per unit delay against delay (figure 3): flat if effects are in proportion to delays.

    Parameters
    ----------
    found : mapping of Ladder
        Ladder of each factor, by name.
    unit, delay : str
        Units of the responses and of the delays; ``s`` is shown as us, ms, ...
    id : str
        Identifier of the figure.
    """
    series: list[Series] = []
    noise: dict[float, float] = {}
    for i, (name, one) in enumerate(found.items()):
        colour, marker = i % COLOURS, i % MARKERS
        bars = one.sigmas * one.uncertainties / one.delays
        inside = np.zeros(len(one.delays), np.bool_)
        inside[one.trusted] = True
        low, high = one.per_unit - bars, one.per_unit + bars
        series.append(Series("", one.delays, one.per_unit, low=low, high=high, spread="bars", colour=colour))
        for label, of in (("", ~inside), (f"{name}: {one.verdict}", inside)):
            x, y = one.delays[of], one.per_unit[of]
            series.append(Series(label, x, y, "points", colour=colour, marker=marker, hollow=not label))
        if one.offset:
            between = np.geomspace(one.delays[one.trusted][0], one.delays[-1])
            series.append(Series("", between, one.slope + one.offset / between, dash="dotted", colour=colour))
        for where, bar in zip(one.delays.tolist(), bars.tolist(), strict=True):
            noise[where] = max(bar, noise.get(where, 0.0))
    places = sorted(noise)
    band = np.array([noise[place] for place in places])
    series.append(Series("noise", places, kind="band", low=-band, high=band, colour=GREY))
    across = Axis("delay", delay, "log", ticks=places)
    up = Axis("effect per unit delay", f"{unit} / {delay}" if unit else "")
    return Figure(
        id,
        "Are effects in proportion to delays? If so, the effect per unit delay is constant",
        f"bars and band: noise, {max(one.sigmas for one in found.values()):.3g} S; filled: trusted delays; "
        "dotted: their line, if it does not go through zero",
        [Panel(across, up, series, marks=[Mark(0.0, axis="y")])],
        legend_at="best",
    )


def response(
    values: Sequence[float],
    responses: Mapping[str, ArrayLike],
    parameter: str,
    name: str = "time",
    unit: str = "s",
) -> Figure:
    """Return a figure of a response against a parameter of the program (figure 4), with a panel for each version.

    Parameters
    ----------
    values : sequence of float (k,)
        Values of the parameter, above zero.
    responses : mapping of array_like (replications, k) or (k,)
        Responses of each version, by name.
    parameter, name, unit : str
        Name of the parameter, and name and unit of the response.
    """
    panels = []
    for i, (label, given) in enumerate(responses.items()):
        runs, colour = np.atleast_2d(np.asarray(given, np.float64)), i % COLOURS
        series = [
            Series("", values, runs.mean(axis=0), colour=colour),
            Series("", np.tile(values, len(runs)), runs.ravel(), "points", colour=colour),
        ]
        panels.append(Panel(Axis(parameter, scale="log", ticks=values), Axis(name, unit), series, label))
    return Figure(
        f"response-{name}",
        f"{name.capitalize()} against {parameter}: if it is erratic, effects are not in proportion to delays",
        "line: mean; dots: single runs",
        panels,
        columns=1,
        share_x="all",
    )


def _clipped(source: str, length: int = _LABELS) -> str:
    return source if len(source) <= length else source[: length - 1] + "…"
