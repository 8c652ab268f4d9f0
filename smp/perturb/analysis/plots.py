"""Plots: effects, half-normal and in order of size, ladders of delays (figure 3), a response (figure 4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike
from scipy.special import ndtri

from smp._output.canvas import COLOURS, GREY, MARKERS, canvas

from .effects import Analysis
from .ladders import Ladder

_NOISE, _MARKED = COLOURS[5], COLOURS[1]
_LABELS = 20  # characters of a source
_BARS = 40


def half_normal(analysis: Analysis) -> Figure:
    """Draw the sizes of all effects against the quantiles of half a normal distribution.

    Those that are noise lie on the line through zero of slope S; what stands off to the right is real.
    """
    analysis = analysis.readable()
    figure, axes = _canvas(
        f"Effects on {analysis.name} that are not noise stand off the line, to the right",
        f"{analysis.design.name}; the line is what noise of S = {analysis.uncertainty:.3g} {analysis.unit}".rstrip()
        + f" makes; marked beyond {analysis.factor:.3g} S; (-): negative",
    )
    kept = np.flatnonzero(~analysis.lost)
    order = kept[np.argsort(np.abs(analysis.effects[kept]))]
    sizes, marked = np.abs(analysis.effects[order]), analysis.significant[order]
    quantiles = ndtri(0.5 + 0.5 * (np.arange(len(order)) + 0.5) / len(order))
    top = quantiles[-1] * 1.08
    axes.plot([0, analysis.uncertainty * top], [0, top], "-", color=GREY, linewidth=1, label="noise")
    axes.axvline(analysis.expanded, color=GREY, linewidth=1, linestyle="--", label=f"{analysis.factor:.3g} S")
    axes.plot(sizes[~marked], quantiles[~marked], "o", color=_NOISE, label="within the noise")
    axes.plot(sizes[marked], quantiles[marked], "o", color=_MARKED, label="significant")
    middle = sizes[-1] / 2
    for i, size, quantile in zip(order[marked], sizes[marked], quantiles[marked], strict=True):
        side = 1 if size < middle else -1
        axes.annotate(
            _clipped(analysis.sources[i]) + (" (-)" if analysis.effects[i] < 0 else ""),
            (size, quantile),
            (9 * side, 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=9,
        )
    axes.set_xlim(0, max(sizes[-1], analysis.expanded) * 1.05 or 1)
    axes.set_ylim(0, top)
    axes.set_xlabel(f"size of the effect{_in(analysis.unit)}")
    axes.set_ylabel("quantile of half a normal distribution (standard deviations)")
    axes.legend(loc="lower right", frameon=False)
    return figure


def effects(analysis: Analysis) -> Figure:
    """Draw the effects in order of size, the largest on top, and the band of noise."""
    analysis = analysis.readable()
    order = np.argsort(-np.abs(analysis.effects), kind="stable")[:_BARS]
    names = [_clipped(analysis.sources[i], 2 * _LABELS) for i in order]
    left = len(analysis.effects) - len(order)
    figure, axes = _canvas(
        f"What {analysis.name} is sensitive to",
        f"{analysis.design.name}: effect of each contrast; the band is the noise, {analysis.factor:.3g} S = "
        f"{analysis.expanded:.3g}" + (f"; {left} smaller effects are left out" if left else ""),
        left=max(0.075, 0.03 + 0.0075 * max(map(len, names))),
    )
    places = np.arange(len(order))
    colours = [_MARKED if marked else _NOISE for marked in analysis.significant[order]]
    axes.axvspan(-analysis.expanded, analysis.expanded, color="#dddddd", zorder=0.5)
    axes.barh(places, analysis.effects[order], color=colours, height=0.7)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, names, fontsize=10 if len(order) < _BARS else 8)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"effect{_in(analysis.unit)}")
    return figure


def ladders(found: dict[str, Ladder], unit: str = "s", delay: str = "s") -> Figure:
    """Draw effect per unit delay against delay (figure 3): flat where the program answers in proportion.

    Parameters
    ----------
    found : dict of Ladder
        Of each factor.
    unit, delay : str
        Of the responses, and of the delays; ``s`` are drawn as us, ms, ...
    """
    figure, axes = _canvas(
        "Effect per unit delay: flat where the program answers in proportion",
        f"bars and band: noise, {max(one.sigmas for one in found.values()):.3g} S; filled: the delays to trust; "
        "dotted: their line, where it does not go through zero",
    )
    noise: dict[float, float] = {}
    for i, (name, one) in enumerate(found.items()):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        bars = one.sigmas * one.uncertainties / one.delays
        axes.errorbar(one.delays, one.per_unit, bars, fmt="-", color=colour, capsize=3, linewidth=1.2)
        inside = np.zeros(len(one.delays), np.bool_)
        inside[one.trusted] = True
        axes.plot(one.delays[~inside], one.per_unit[~inside], marker, color=colour, markerfacecolor="white")
        axes.plot(one.delays[inside], one.per_unit[inside], marker, color=colour, label=f"{name}: {one.verdict}")
        if one.offset:
            between = np.geomspace(one.delays[one.trusted][0], one.delays[-1])
            axes.plot(between, one.slope + one.offset / between, ":", color=colour, linewidth=1.2)
        for where, bar in zip(one.delays.tolist(), bars.tolist(), strict=True):
            noise[where] = max(bar, noise.get(where, 0.0))
    places = sorted(noise)
    band = np.array([noise[place] for place in places])
    axes.fill_between(places, -band, band, color="#dddddd", zorder=0.5, label="noise")
    axes.axhline(0, color="black", linewidth=0.8)
    _log(axes, places, delay)
    axes.set_xlabel("delay" if delay == "s" else f"delay ({delay})")
    axes.set_ylabel("effect per unit delay" + (f" ({unit} / {delay})" if unit else ""))
    axes.legend(loc="best", frameon=False)
    return figure


def response(
    values: Sequence[float], responses: dict[str, ArrayLike], parameter: str, name: str = "time", unit: str = "s"
) -> Figure:
    """Draw a response against a parameter of the program (figure 4), a panel for each version of the program.

    Parameters
    ----------
    values : sequence of float (k,)
        Of the parameter, above zero.
    responses : dict of array_like (replications, k) or (k,)
        Of each version, by name.
    parameter, name, unit : str
        What is drawn against, and the response.
    """
    title = f"{name.capitalize()} against {parameter}: where it is erratic, effects will not be in proportion to delays"
    figure, panels = canvas(title, "line: mean; dots: single runs", rows=len(responses), top=0.84, sharex=True)
    for i, (axes, (label, given)) in enumerate(zip(panels[:, 0], responses.items(), strict=True)):
        runs = np.atleast_2d(np.asarray(given, np.float64))
        scales = {"us": 1e-6, "ms": 1e-3} if unit == "s" else {}
        shown = next((small for small, scale in scales.items() if runs.max() < 1000 * scale), unit)
        runs = runs / scales.get(shown, 1.0)
        axes.plot(values, runs.mean(axis=0), "-", color=COLOURS[i % len(COLOURS)], linewidth=1.2)
        axes.plot(values, runs.T, "o", color=COLOURS[i % len(COLOURS)], markersize=4, alpha=0.6)
        _log(axes, values)
        axes.set_title(label, loc="left", fontsize=11)
        axes.set_ylabel(name + _in(shown))
    panels[-1, 0].set_xlabel(parameter)
    return figure


def _canvas(title: str, subtitle: str, left: float = 0.075) -> tuple[Figure, Axes]:
    figure, ((axes,),) = canvas(title, subtitle, left=left, top=0.88)
    return figure, axes


def _log(axes: Axes, places: Sequence[float], unit: str = "") -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(places)))
    axes.xaxis.set_minor_locator(NullLocator())
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_major_formatter(EngFormatter("s") if unit == "s" else plain)


def _clipped(source: str, length: int = _LABELS) -> str:
    return source if len(source) <= length else source[: length - 1] + "…"


def _in(unit: str) -> str:
    return f" ({unit})" if unit else ""
