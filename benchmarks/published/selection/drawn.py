"""Maps of the implementations that the models choose, and of their errors (figures 4-7, 4-8 and 4-14)."""

from __future__ import annotations

import numpy as np

from smp._output.figure import BLACK, Axis, Cells, Figure, Panel, Series

from .outcomes import Outcome
from .sorting import ALGORITHMS, MOST, WIDTHS
from .sorting import Choosing as Sorts
from .stencils import LAYOUTS, LONGEST, SHORTEST
from .stencils import Choosing as Stencils

CELLS = 60
NAMES = {"uniprocessor": "one processor", "square": "square blocks", "strips": "strips", "sample": "sample sort"}


def layouts(found: dict[str, tuple[Stencils, Outcome]]) -> Figure:
    """Return the map of layouts that the models choose, with the grids for which they are wrong."""
    sides = np.geomspace(SHORTEST, LONGEST, CELLS)
    width, height = np.meshgrid(sides.astype(int), sides.astype(int))
    grids = np.stack([width.ravel(), height.ravel()], axis=1)
    panels = []
    for name, (choosing, outcome) in found.items():
        best = np.argmin(choosing.predicted(grids), axis=0).reshape(width.shape)
        wrong = outcome.losses > 0
        right = 100 * (1 - wrong.mean())
        errors = Series(
            "wrong choice",
            outcome.inputs["width"][wrong],
            outcome.inputs["height"][wrong],
            "points",
            colour=BLACK,
            marker=0,
        )
        panels.append(
            Panel(
                Axis("width", "points", "log", SHORTEST, LONGEST),
                Axis("height", "points", "log", SHORTEST, LONGEST),
                [*_legend(LAYOUTS), errors],
                f"{name}: {right:.2f}% right of {len(wrong):,}",
                cells=Cells(sides, sides, best, named=True),
            )
        )
    return Figure(
        "selection-layouts",
        "Layout that the models choose for a stencil on 64 processors (figures 4-7 and 4-8)",
        "Two thirds of the grids lie within 10% of a boundary. At a point, another layout is faster.",
        panels,
        columns=2,
    )


def algorithms(found: dict[str, Sorts]) -> Figure:
    """Return the map of sorts that the models choose."""
    keys = np.geomspace(1, MOST, CELLS)
    panels = []
    for name, choosing in found.items():
        best = np.stack([np.argmin(choosing.predicted(keys.astype(np.int64), width), axis=0) for width in WIDTHS])
        panels.append(
            Panel(
                Axis("keys of a processor", scale="log"),
                Axis("width", "bits", ticks=WIDTHS),
                _legend(ALGORITHMS),
                name,
                cells=Cells(keys, WIDTHS, best, named=True),
            )
        )
    return Figure(
        "selection-sorts",
        "Sort that the models choose on 64 processors (figure 4-14)",
        "Numbers are those of bits in a digit of radix sort.",
        panels,
        columns=2,
    )


def _legend(names: tuple[str, ...]) -> list[Series]:
    """Return series without points, which name the colours."""
    return [
        Series(NAMES.get(name, f"{name} bits"), [np.nan], [np.nan], "points", colour=k) for k, name in enumerate(names)
    ]
