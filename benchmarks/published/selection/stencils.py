"""Choices among the layouts of the stencil, by models that are calibrated on the emulated machine.

    uniprocessor    width x height points
    square, strips  the largest block has bw x bh points; it sends edges of bw / 2 and bh / 2 cells, in packets

The models describe one iteration, since all take equally long.  Their terms know the sizes of the blocks and the number
of packets in a message, as a programmer does, and none of the machine's costs.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 4.4.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import smp
from smp.machines import MachineFile

from ..models.stencil import LAYOUTS, Stencils, allowed, blocks_in
from ..models.stencil_tables import shared_memory
from .outcomes import Outcome

LONGEST, SHORTEST = 2000, 8
SIDES = 7
"""Widths, and heights, of the calibration; so it has 49 grids, and 20 others that verify the model."""
NEAR = 0.1
"""Part by which two predicted times differ at most, near a boundary."""
Grids = NDArray[np.int64]


def terms_of(machine: MachineFile, layout: str, processors: int) -> list[str]:
    """Return the terms on which the time of an iteration may depend; a constant is added."""
    if layout == "uniprocessor":
        return ["width * height"]
    high, wide = blocks_in(layout, processors)
    bw, bh = f"ceil(width / {wide})", f"ceil(height / {high})"
    assert machine.message is not None
    cell = machine.network.cell if machine.network else None
    payload = cell.payload if cell is not None else machine.message.payload
    beside, above = (f"(2 - {_only_first(name, count)})" for name, count in (("width", wide), ("height", high)))
    edges = [(bh, beside)] if layout == "strips" else [(bh, beside), (bw, above)]
    lengths = [f"{length} * {number}" for length, number in edges]
    packets = [f"ceil(4 * {length} / {payload}) * {number}" for length, number in edges]
    return [*(number for _, number in edges), *lengths, *packets, f"{bw} * {bh}"]


def _only_first(name: str, count: int) -> str:
    """Return an expression that is 1 if only the first of the blocks is larger than the others, and otherwise 0.

    The largest block then lies at the border, and has a neighbour less.
    """
    return f"(ceil({name} / {count}) - ceil(({name} - 1) / {count}))"


class Choosing:
    """The layouts of one machine, their models and their times.

    Parameters
    ----------
    machine : MachineFile
    processors : int
    """

    def __init__(self, machine: MachineFile, processors: int) -> None:
        self.machine, self.processors = machine, processors
        self.times = Stencils(machine, processors, LONGEST)
        shared = machine.memory is not None and machine.memory.shared == "directory"
        self.names: tuple[str, ...] = (*LAYOUTS, "shared") if shared else LAYOUTS
        self.models = {name: self._calibrated(name) for name in self.names}

    def seconds(self, layout: str, width: int, height: int) -> float:
        """Return the virtual time of an iteration; infinite if the layout cannot be used."""
        if layout == "shared":
            return shared_memory(self.times, width, height)
        return self.times.seconds(width, height, layout) if allowed(layout, width, height, self.processors) else np.inf

    def _calibrated(self, layout: str) -> smp.Model:
        form = "square" if layout == "shared" else layout
        high, wide = blocks_in(form, self.processors)
        alone = layout == "uniprocessor"
        narrowest, lowest = SHORTEST if alone else 2 * wide, max(SHORTEST, 2 * high)
        specification = smp.Specification(
            layout,
            {"width": f"{narrowest}..{LONGEST} x {SIDES}", "height": f"{lowest}..{LONGEST} x {SIDES}"},
            terms_of(self.machine, form, self.processors),
            functools.partial(self.seconds, layout),
            when="" if alone else f"width >= {2 * wide} and height >= {2 * high * (high > 1)}",
            clocked=True,
        )
        return smp.calibrate(specification)

    def predicted(self, grids: Grids) -> NDArray[np.float64]:
        """Return the predicted time of each layout for grids of shape (n, 2)."""
        return np.stack([self.models[name].of({"width": grids[:, 0], "height": grids[:, 1]}) for name in self.names])

    def cases(self, count: int, near: int, rng: np.random.Generator) -> Grids:
        """Return random grids, log-uniform in both directions, of which ``near`` are near a predicted boundary.

        If ``near`` is not 0, the others are away from it.  No grid is a point of the calibration.
        """
        known = {tuple(point) for model in self.models.values() for point in _points(model)}
        found: list[tuple[int, int]] = []
        beside: list[tuple[int, int]] = []
        ends = np.log(SHORTEST), np.log(LONGEST + 1)
        while len(found) < count - near or len(beside) < near:
            drawn = np.exp(rng.uniform(*ends, (4000, 2))).astype(np.int64)
            two = np.sort(self.predicted(drawn), axis=0)[:2]
            for grid, closest in zip(map(tuple, drawn.tolist()), two[1] / two[0] - 1 < NEAR, strict=True):
                if grid not in known:
                    known.add(grid)
                    (beside if closest and len(beside) < near else found).append(grid)
        return np.array(found[: count - near] + beside[:near])

    def outcome(self, grids: Grids) -> Outcome:
        """Let all layouts relax the grids, and compare the fastest ones with the models' choices."""
        true = [[self.seconds(name, width, height) for width, height in grids.tolist()] for name in self.names]
        return Outcome(self.names, {"width": grids[:, 0], "height": grids[:, 1]}, self.predicted(grids), np.array(true))


def _points(model: smp.Model) -> Sequence[tuple[int, int]]:
    assert model.samples is not None
    return [
        (int(width), int(height))
        for width, height in zip(model.samples.inputs["width"], model.samples.inputs["height"], strict=True)
    ]
