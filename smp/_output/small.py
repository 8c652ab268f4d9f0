"""Draws the first panel of a figure as a small SVG, without script and style, for the displays of notebooks.

Text has the colour of the notebook's text, so it can be read in light and dark themes.  The pointer shows the values of
a point or bar as its ``<title>``.  Lines, points, bars and their spreads are drawn, and nothing more: `drawing` draws
whole figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from .figure import BLACK, PALETTE, Axis, Figure, Panel, Series
from .numbers import number, size, time
from .page.ends import SCALES, Ends, ends_of

WIDTH, HEIGHT, ROW = 640, 170, 20
"""Width, and height of a panel without names along y, or of one row of a panel with them."""
TOP, BELOW, RIGHT, LETTER = 8, 34, 12, 6.2
"""Margins, and the width of a letter."""
GAPS = 4
"""Largest number of gaps between numbers along an axis."""
Place = Callable[[float], float]


def small_svg(figure: Figure) -> str:
    """Return a picture that is as wide as the page, with its title, the first panel, and a legend."""
    panel, (x_ends, y_ends) = figure.panels[0], ends_of(figure)[0]
    rows = len(panel.y.names)
    height = ROW * rows if rows else HEIGHT
    left = 14 + LETTER * max((len(_number(panel.y, tick)) for tick in _ticks(panel.y, y_ends)), default=1)
    x = _place(panel.x, x_ends, left, WIDTH - RIGHT)
    y = _place(panel.y, y_ends, TOP + height, TOP)
    legend, whole = _legend(panel, left, TOP + height + BELOW)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {whole:.0f}" width="100%" role="img" font-size="11" font-family="sans-serif" '
        f'fill="currentColor" style="max-width:{WIDTH}px"><title>{escape(figure.title)}</title>',
        *_axes(panel, x, y, (x_ends, y_ends), (left, TOP + height)),
        *(part for one in panel.series for part in _series(one, panel, x, y)),
        *legend,
        "</svg>",
    ]
    return "".join(parts)


def _place(axis: Axis, ends: Ends, first: float, last: float) -> Place:
    """Return the function from a value to its position, which lies between the ends."""
    forth = SCALES[axis.scale][0]
    low, high = map(forth, ends)

    def place(value: float) -> float:
        if axis.scale == "log" and value <= 0:
            return first
        at = first + (last - first) * (forth(value) - low) / (high - low or 1)
        return min(max(at, min(first, last)), max(first, last))

    return place


def _ticks(axis: Axis, ends: Ends) -> list[float]:
    if axis.names:
        return [float(k) for k in range(len(axis.names))]
    low, high = min(ends), max(ends)
    if axis.scale == "log":
        base = 2.0 if axis.unit == "bytes" else 10.0
        first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
        every = max(1, math.ceil((last - first) / GAPS))
        powers = [base**k for k in range(first, last + 1, every)]
        return powers if len(powers) > 1 else [low, high]
    step = 10.0 ** math.floor(math.log10((high - low) / GAPS or 1))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= GAPS)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _number(axis: Axis, value: float) -> str:
    if axis.names:
        return axis.names[round(value)]
    return time(value) if axis.unit == "s" else size(value) if axis.unit == "bytes" else number(value)


def _axes(panel: Panel, x: Place, y: Place, ends: tuple[Ends, Ends], corner: tuple[float, float]) -> Iterator[str]:
    left, bottom = corner
    yield f'<path d="M{left:.0f} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="currentColor" opacity=".5"/>'
    for tick in _ticks(panel.y, ends[1]):
        text = escape(_number(panel.y, tick))
        yield f'<text x="{left - 6:.0f}" y="{y(tick) + 4:.1f}" text-anchor="end">{text}</text>'
    for tick in _ticks(panel.x, ends[0]):
        text = escape(_number(panel.x, tick))
        yield f'<text x="{x(tick):.1f}" y="{bottom + 14}" text-anchor="middle">{text}</text>'
    unit = f" ({panel.x.unit})" if panel.x.unit not in ("", "s", "bytes") else ""
    label = escape(f"{panel.x.label}{unit}")
    yield f'<text x="{(left + WIDTH) / 2:.0f}" y="{bottom + 28}" text-anchor="middle">{label}</text>'


def _series(one: Series, panel: Panel, x: Place, y: Place) -> Iterator[str]:
    given: Any = one  # its numbers are lists
    colour, name = _colour(one), escape(one.name)
    points = [(k, a, b) for k, (a, b) in enumerate(zip(given.x, given.y, strict=False)) if not math.isnan(a + b)]
    if one.kind == "line" and points:
        path = "L".join(f"{x(a):.1f} {y(b):.1f}" for _, a, b in points)
        yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
    for k, a, b in points if one.kind != "line" or len(points) <= HEIGHT else ():
        about = f"<title>{name}: {escape(_number(panel.x, a))}, {escape(_number(panel.y, b))}</title>"
        if one.kind == "bar":
            start = given.start[k] if given.start else 0.0
            yield _bar(sorted((x(start), x(start + a))), y(b), colour, about)
            if given.low:
                yield _line(x(given.low[k]), y(b), x(given.high[k]), y(b), "currentColor")
        else:
            if given.low:
                yield _line(x(a), y(given.low[k]), x(a), y(given.high[k]), colour)
            yield f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="3" fill="{colour}">{about}</circle>'


def _bar(ends: list[float], middle: float, colour: str, about: str) -> str:
    size = f'width="{max(ends[1] - ends[0], 0.5):.1f}" height="{0.7 * ROW:.0f}"'
    return f'<rect x="{ends[0]:.1f}" y="{middle - 0.35 * ROW:.1f}" {size} fill="{colour}">{about}</rect>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}"/>'


def _legend(panel: Panel, first: float, top: float) -> tuple[list[str], float]:
    """Return the legend, of one line or more, and the height at which the picture ends."""
    names = {one.name: _colour(one) for one in panel.series if one.name}
    if len(names) < 2:
        return [], top + 6
    parts, left, line = [], first, top + 14
    for name, colour in names.items():
        wide = 30 + LETTER * len(name)
        if left > first and left + wide > WIDTH:
            left, line = first, line + 16
        parts.append(f'<rect x="{left:.0f}" y="{line - 9:.0f}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{left + 14:.0f}" y="{line:.0f}">{escape(name)}</text>')
        left += wide
    return parts, line + 8


def _colour(one: Series) -> str:
    return "currentColor" if one.colour == BLACK else PALETTE[one.colour % len(PALETTE)]
