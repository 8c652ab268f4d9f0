"""Parameters that models set: extra rows and columns of the outermost blocks, and the digit of radix sort.

    iteration   reduction + largest of the blocks
    block       cell * cells + sum over its edges of (message + element * length)

The three charges come from the model of the square layout, which was calibrated without extra rows and columns, on
blocks in the middle, which have four edges.  A choice is right if no other one is faster by more than half a percent.

Source: E. A. Brewer, Portable High-Performance Supercomputing, sections 5.2 and 5.3.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from smp.kernels.grids.layouts import rectangles

from ..models.stencil import blocks_in
from . import sorting, stencils

SWING = 0.005
MOST_EXTRA = 12
DIGITS = range(1, 17)
Extra = tuple[int, int]


@dataclass(frozen=True)
class Charges:
    """Seconds of a cell in an iteration, of a message to a neighbour and one back, and of an element of an edge."""

    reduction: float
    cell: float
    message: float
    element: float


def charges(choosing: stencils.Choosing) -> Charges:
    """Return the charges of a machine, from its model of square blocks at sizes from 16 to 64 cells."""
    model, p = choosing.models["square"], choosing.processors
    high, wide = blocks_in("square", p)
    sides = np.array([16, 32, 64])
    across, down = np.meshgrid(sides, sides)
    times = model.of({"width": wide * across.ravel(), "height": high * down.ravel()})
    terms = np.stack([np.ones(len(times)), (across + down).ravel(), (across * down).ravel()], axis=1)
    alone, along, cell = np.linalg.lstsq(terms, times, rcond=None)[0]
    reduction = choosing.times.reduction
    return Charges(reduction, float(cell), float(alone - reduction) / 4, float(along) / 2)


def predicted(known: Charges, width: int, height: int, processors: int, extra: Extra) -> float:
    """Return the predicted time of an iteration."""
    high, wide = blocks_in("square", processors)
    sharing = rectangles(
        (height + 2, width + 2),
        processors,
        layout="rectangular",
        blocks=(high, wide),
        extra_rows=extra[0],
        extra_columns=extra[1],
    )
    longest = 0.0
    for k, one in enumerate(sharing):
        down, across = one.bottom - one.top, one.right - one.left
        row, column = divmod(k, wide)
        beside, above = 2 - (column == 0) - (column == wide - 1), 2 - (row == 0) - (row == high - 1)
        edges = (beside + above) * known.message + (beside * down + above * across) * known.element
        longest = max(longest, known.cell * down * across + edges)
    return known.reduction + longest


def extra_losses(choosing: stencils.Choosing, count: int, rng: np.random.Generator) -> list[tuple[Extra, Extra, float]]:
    """Return predicted and best extra rows and columns for random grids, and what the prediction loses."""
    high, wide = blocks_in("square", choosing.processors)
    known, found = charges(choosing), []
    for width, height in np.exp(rng.uniform(np.log(4 * wide), np.log(600), (count, 2))).astype(int).tolist():
        most = min(MOST_EXTRA, (height - high) // 2), min(MOST_EXTRA, (width - wide) // 2)
        some = list(itertools.product(range(most[0] + 1), range(most[1] + 1)))
        guess = min(some, key=lambda extra: predicted(known, width, height, choosing.processors, extra))
        true = {extra: choosing.times.seconds(width, height, "square", extra=extra) for extra in some}
        best = min(some, key=true.__getitem__)
        found.append((guess, best, true[guess] / true[best] - 1))
    return found


def digit_losses(choosing: sorting.Choosing, count: int, rng: np.random.Generator) -> list[tuple[int, int, float]]:
    """Return predicted and best digits for random sorts, and what the prediction loses."""
    found = []
    for _ in range(count):
        keys, width = round(np.exp(rng.uniform(np.log(10), np.log(1e6)))), int(rng.integers(8, 33))
        times = {digit: choosing.times.radix(keys, width, digit) for digit in DIGITS}
        guess = min(
            DIGITS, key=lambda digit: choosing.radix.predict(keys=keys, bins=1 << digit, rounds=-(-width // digit))
        )
        best = min(DIGITS, key=times.__getitem__)
        found.append((guess, best, times[guess] / times[best] - 1))
    return found
