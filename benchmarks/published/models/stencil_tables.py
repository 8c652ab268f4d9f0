"""Stencils on emulated machines next to what Brewer's thesis prints of them (sections 4.4 and 5.2)."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from typing import Any

import numpy as np

import smp
from smp import machines
from smp._runtime.loops.counted.pricing import Pricing
from smp.kernels.grids.extra_choice import filled
from smp.kernels.grids.layouts import rectangles
from smp.kernels.grids.red_black import relax_rectangle
from smp.machines import MachineFile

from ..rows import Part, Row, near
from .regained import Printed, compared
from .stencil import LAYOUTS, Stencils, allowed, blocks_in

PROCESSORS = 64
MACHINES = ("alewife", "paragon", "atm")
GRIDS = (300, 300), (1000, 1000), (2000, 200)
ITERATION = {
    "alewife": ((5.3, 7.8), (48.2, 56.6), (23.6, 20.2)),
    "paragon": ((5.5, 8.7), (49.6, 64.7), (24.7, 22.5)),
    "atm": ((10.7, 11.0), (76.7, 82.0), (55.7, 28.8)),
}
"""Milliseconds of an iteration, square blocks and strips, by the printed models (figures 4-9 and 4-10)."""
AREAS = {"alewife": (1, 12, 87), "paragon": (1, 10, 89), "atm": (1, 40, 59)}
"""Percent of the grids up to 1000 x 1000 that a layout wins by the printed models: uniprocessor, strips, square."""
GAINS = {"alewife": 8, "paragon": 21, "cm5": 11, "atm": 90}
"""Percent that the choice gains over always square blocks (table 4-3)."""
EXTRA = {
    "alewife": (200, (1, 1), 1.6, 1.4),
    "cm5": (200, (2, 1), 3.1, 2.5),
    "atm": (50, (9, 2), 8.9, 8.1),
    "paragon": (200, (3, 1), 3.3, 2.6),
}
"""Side of the grid, the best extra rows and columns, and their gain in percent: predicted by equation 41, and measured
(table 5-1)."""
INPUTS = {"width": "16..2000 x 8", "height": "16..2000 x 8", "iterations": "10, 100"}
SMOOTH = [
    "width", "height", "width * height", "iterations", "iterations * width", "iterations * height",
    "iterations * width * height",
]  # fmt: skip
"""Terms of the thesis, equation 33; the constant is added."""
MODELS: dict[str, dict[str, Printed]] = {
    "alewife": {
        "uniprocessor": Printed({"iterations * width * height": 4.1}, 6.839),
        "strips": Printed({"iterations * height": 12.16, "iterations * width * height": 0.04393}, 2.341),
        "square": Printed(
            {"iterations * width": 2.716, "iterations * height": 1.205, "iterations * width * height": 0.04406}, 1.004
        ),
    },
    "paragon": {
        "uniprocessor": Printed({"iterations * width * height": 3.98}, 4.176),
        "strips": Printed({"iterations * height": 13.82, "iterations * width * height": 0.05118}, 1.989),
        "square": Printed(
            {"iterations * width": 3.013, "iterations * height": 0.9967, "iterations * width * height": 0.04531}, 1.403
        ),
    },
    "atm": {
        "uniprocessor": Printed({"iterations * width * height": 3.932}, 4.285),
        "strips": Printed({"iterations * height": 15.86, "iterations * width * height": 0.06819}, 1.703),
        "square": Printed({"iterations * width": 15.08, "iterations * width * height": 0.0621}, 1.366),
    },
}
"""Coefficients in us; those of the CM-5 contradict each other."""
CLOSEST = 110
"""Cycles to copy an element of an edge, on either side, with which most times of an iteration are as printed."""


@functools.cache
def stencils(machine: MachineFile, processors: int = PROCESSORS, longest: int = 2000) -> Stencils:
    """Return the times of stencils on a machine, which are kept."""
    return Stencils(machine, processors, longest)


def tables(quick: bool) -> list[Part]:
    """Return all tables on stencils."""
    made = [iterations(), areas(300 if quick else 3000), gains(20 if quick else 200), extra_rows()]
    return [*made, *(models(name) for name in MACHINES)]


def iterations() -> Part:
    """Return the times of an iteration."""
    rows = []
    for name in MACHINES:
        times = stencils(machines.load(name))
        for (width, height), printed in zip(GRIDS, ITERATION[name], strict=True):
            for layout, time in zip(("square", "strips"), printed, strict=True):
                ours = 1e3 * times.seconds(width, height, layout)
                rows.append(near("", f"{name}, {width} x {height}, {layout}", time, ours, "ms", "pred", 0.15))
    return Part("stencils: time of an iteration", rows, remarks=closest())


def closest() -> list[str]:
    """Return how the times of an iteration are if the elements of edges take more time to copy."""
    lines = []
    for cycles in (None, CLOSEST):
        errors = []
        for name in MACHINES:
            machine = machines.load(name)
            times = stencils(machine if cycles is None else with_loop(machine, "stencil.edge", {"per_element": cycles}))
            for (width, height), printed in zip(GRIDS, ITERATION[name], strict=True):
                for layout, time in zip(("square", "strips"), printed, strict=True):
                    errors.append(1e3 * times.seconds(width, height, layout) / time - 1)
        inside = sum(abs(error) <= 0.15 for error in errors)
        what = "counted operations" if cycles is None else f"{cycles} cycles for each element, at both ends"
        lines.append(f"copies of edges by {what}: {inside} of {len(errors)} within 15%")
    return lines


def with_loop(machine: MachineFile, name: str, terms: dict[str, float]) -> MachineFile:
    """Return a machine with another price of a loop."""
    return machine.replace("loops", {**{one: dict(price) for one, price in machine.loops.items()}, name: terms})


def winners(times: Stencils, grids: Any) -> list[str]:
    """Return the fastest layout for each (width, height)."""
    found = []
    for width, height in grids:
        usable = [layout for layout in LAYOUTS if allowed(layout, width, height, times.processors)]
        found.append(min(usable, key=lambda layout: times.seconds(width, height, layout)))
    return found


def areas(count: int) -> Part:
    """Return the part of the grids that each layout wins, from random grids."""
    grids = np.random.default_rng(11).integers(1, 1001, (count, 2)).tolist()
    rows = []
    for name in MACHINES:
        times = stencils(machines.load(name))
        won = Counter(winners(times, grids))
        for layout, printed in zip(("uniprocessor", "strips", "square"), AREAS[name], strict=True):
            ours = 100 * won[layout] / count
            rows.append(Row("", f"{name}, {layout}", printed, ours, "%", "pred", printed - 5, printed + 5))
    shared = sum(
        shared_memory(stencils(machines.load("alewife")), width, height)
        < stencils(machines.load("alewife")).seconds(width, height, layout)
        for (width, height), layout in zip(grids, winners(stencils(machines.load("alewife")), grids), strict=True)
    )
    rows.append(Row("", "alewife, shared memory", 0, 100 * shared / count, "%", "pred", 0, 0))
    remark = "shared memory is estimated from the misses of [memory]: the machine's directory is not emulated"
    return Part(f"stencils: grids up to 1000 x 1000 that a layout wins ({count} random ones)", rows, remarks=[remark])


def shared_memory(times: Stencils, width: int, height: int) -> float:
    """Return an estimate of an iteration in shared memory, with the blocks of the square layout; infinite if too small.

    In each half, a processor fetches the lines that its neighbours have written at their edges, and fetches those of
    its own edges again, which the neighbours have read.  Two barriers keep the halves apart.
    """
    memory, control, p = times.machine.memory, times.machine.control, times.processors
    high, wide = blocks_in("square", p)
    if memory is None or memory.shared != "directory" or not allowed("square", width, height, p):
        return float("inf")
    assert control is not None
    sharing = rectangles((height + 2, width + 2), p, layout="rectangular", blocks=(high, wide))
    largest = max(sharing, key=lambda one: one.cells)
    down, across = largest.bottom - largest.top, largest.right - largest.left
    cells = (memory.line or 16) // 8
    lines = 2 * (down / 2 + across / cells)
    price = Pricing.of_file(times.machine).declared(relax_rectangle)
    assert price is not None
    sweep = price.cycles((None, 1, down + 1, 1, across + 1, 0, 0.0, 0.0), {})
    misses = lines * ((memory.remote_dirty2 or 0) + (memory.remote_clean or 0))
    return (2 * (sweep + misses) / times.machine.clock.hz) + 2 * times.barrier + times.reduction


def gains(count: int) -> Part:
    """Return the mean gain of the best layout over square blocks, for random grids up to 5000 x 5000."""
    grids = np.random.default_rng(12).integers(16, 5001, (count, 2)).tolist()
    ours = {}
    for name in GAINS:
        times, made = stencils(machines.load(name), longest=5000), []
        for (width, height), layout in zip(grids, winners(times, grids), strict=True):
            made.append(times.seconds(width, height, "square") / times.seconds(width, height, layout) - 1)
        ours[name] = 100 * float(np.mean(made))
    rows = [Row("", name, printed, ours[name], "%", "shown") for name, printed in GAINS.items()]
    order = ours["atm"] > ours["paragon"] > max(ours["alewife"], ours["cm5"])
    rows.append(Row("", "order: ATM, Paragon, then the others (1: yes)", 1, order, "", "pred", 1, 1))
    remark = "printed: 20 grids on each machine"
    return Part(f"stencils: gain over always square blocks ({count} grids up to 5000 x 5000)", rows, remarks=[remark])


def best_extra(times: Stencils, side: int) -> tuple[dict[tuple[int, int], float], tuple[int, int]]:
    """Return the times of an iteration by extra rows and columns, and the best ones."""
    high, wide = blocks_in("square", times.processors)
    some = itertools.product(range((side - high) // 2), range(min(6, (side - wide) // 2)))
    found = {extra: times.seconds(side, side, "square", extra=extra) for extra in some}
    return found, min(found, key=lambda extra: (found[extra], extra))


def extra_rows() -> Part:
    """Return the best extra rows and columns."""
    rows = []
    for name, (side, printed, predicted, gain) in EXTRA.items():
        times = stencils(machines.load(name))
        found, best = best_extra(times, side)
        loss = 100 * (found[printed] / found[best] - 1)
        what = f"{name}, {side} x {side}: {printed[0]}, {printed[1]} printed, {best[0]}, {best[1]} ours"
        ours = 100 * (1 - found[best] / found[0, 0])
        rows.append(Row("", f"{what}; loss of the printed ones", 0, loss, "%", "pred", high=0.5))
        rows.append(Row("", f"{what}; gain", gain, ours, "%", "pred", gain - 1, gain + 1))
        foretold = 100 * filled(square_model(times).predict, (side, side), *best)
        rows.append(Row("", f"{what}; gain by equation 41", predicted, foretold, "%", "shown"))
    return Part("stencils: extra rows and columns of the outermost blocks", rows)


def square_model(times: Stencils) -> smp.Model:
    """Return the model of square blocks with even shares, which equation 41 asks for a smaller grid."""
    inputs = {"rows": "16..2000 x 8", "columns": "16..2000 x 8", "iterations": "10, 100"}
    terms = [term.replace("width", "columns").replace("height", "rows") for term in SMOOTH]

    def seconds(rows: int, columns: int, iterations: int) -> float:
        return times.seconds(columns, rows, "square", iterations)

    high, wide = blocks_in("square", PROCESSORS)
    when = f"columns >= {2 * wide} and rows >= {2 * high}"
    return smp.calibrate(smp.Specification("square", inputs, terms, seconds, when=when, clocked=True))


def models(name: str) -> Part:
    """Return the models of the layouts, calibrated with the terms of the thesis, next to the printed ones."""
    machine, rows = machines.load(name), []
    times = stencils(machine)
    for layout, printed in MODELS[name].items():
        high, wide = blocks_in(layout, PROCESSORS)
        specification = smp.Specification(
            layout, INPUTS, SMOOTH,
            functools.partial(_timed, times, layout),
            when="" if layout == "uniprocessor" else f"width >= {2 * wide} and height >= {2 * high * (high > 1)}",
            clocked=True,
        )  # fmt: skip
        rows += compared(layout, smp.calibrate(specification), specification, printed, 1e6, "us", "pred")
    return Part(f"stencils: models of {name} with the terms of the thesis", rows)


def _timed(times: Stencils, layout: str, width: int, height: int, iterations: int) -> float:
    return times.seconds(width, height, layout, iterations)
