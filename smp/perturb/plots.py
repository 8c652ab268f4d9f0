"""Plots of effects: half-normal, in order of size, and a ladder of delays (figure 3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from scipy.special import ndtri

from .._canvas import COLOURS, GREY, canvas
from .effects import Analysis
from .ladder import Ladder

_NOISE, _MARKED = COLOURS[5], COLOURS[1]
_LABELS = 20  # characters of a source
_BARS = 40


def half_normal(analysis: Analysis) -> Figure:
    """Draw the sizes of all effects against the quantiles of half a normal distribution.

    Those that are noise lie on the line through zero of slope S; what stands off to the right is real.
    """
    figure, axes = _canvas(
        f"Effects on {analysis.name} that are not noise stand off the line, to the right",
        f"{analysis.design.name}; the line is what noise of S = {analysis.uncertainty:.3g} makes; marked beyond "
        f"{analysis.factor:.3g} S; (-): negative",
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
    axes.set_xlim(0, sizes[-1] * 1.05 or 1)
    axes.set_ylim(0, top)
    axes.set_xlabel(f"size of the effect{_in(analysis.unit)}")
    axes.set_ylabel("quantile of half a normal distribution (standard deviations)")
    axes.legend(loc="lower right", frameon=False)
    return figure


def effects(analysis: Analysis) -> Figure:
    """Draw the effects in order of size, the largest on top, and the band of noise."""
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


def ladders(found: dict[str, Ladder], unit: str = "s", delay: str = "units", sigmas: float = 3.0) -> Figure:
    """Draw effect per unit delay against delay (figure 3): flat where the program answers in proportion.

    Parameters
    ----------
    found : dict of Ladder
        Of each factor.
    unit, delay : str
        Of the responses, and of the delays.
    sigmas : float
        The bars and the band of noise reach so many standard uncertainties.
    """
    figure, axes = _canvas(
        "Effect per unit delay: flat where the program answers in proportion",
        f"bars and band: {sigmas:g} S; filled: the delays to trust",
    )
    noise: dict[float, float] = {}
    for (name, one), colour in zip(found.items(), _cycle(len(found)), strict=True):
        bars = sigmas * one.uncertainties / one.delays
        axes.errorbar(one.delays, one.per_unit, bars, fmt="-", color=colour, capsize=3, linewidth=1.2)
        inside = np.zeros(len(one.delays), np.bool_)
        inside[one.trusted] = True
        axes.plot(one.delays[~inside], one.per_unit[~inside], "o", color=colour, markerfacecolor="white")
        axes.plot(one.delays[inside], one.per_unit[inside], "o", color=colour, label=f"{name}: {one.verdict}")
        for where, bar in zip(one.delays.tolist(), bars.tolist(), strict=True):
            noise[where] = max(bar, noise.get(where, 0.0))
    places = sorted(noise)
    band = np.array([noise[place] for place in places])
    axes.fill_between(places, -band, band, color="#dddddd", zorder=0.5, label="noise")
    axes.axhline(0, color="black", linewidth=0.8)
    _log_delays(axes, places)
    axes.set_xlabel(f"delay ({delay})")
    axes.set_ylabel(f"effect per unit delay ({unit} / {delay})")
    axes.legend(loc="best", frameon=False)
    return figure


def _canvas(title: str, subtitle: str, left: float = 0.075) -> tuple[Figure, Axes]:
    figure, ((axes,),) = canvas(title, subtitle, left=left, top=0.88)
    return figure, axes


def _log_delays(axes: Axes, delays: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(delays)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _cycle(count: int) -> list[str]:
    return [COLOURS[i % len(COLOURS)] for i in range(count)]


def _clipped(source: str, length: int = _LABELS) -> str:
    return source if len(source) <= length else source[: length - 1] + "…"


def _in(unit: str) -> str:
    return f" ({unit})" if unit else ""
