"""Check that no neighbour of the predicted numbers of extra rows and columns is better.

    python benchmarks/extra_rows.py [--cases 100] [--seed 1]
    python benchmarks/extra_rows.py --models [--cases 12]
    python benchmarks/extra_rows.py --plots FOLDER

Random grids are relaxed on emulated machines of 3 to 25 processors, on which a barrier costs next to nothing, and an
element of an edge costs up to 64 times as much as a cell.  All times are virtual, so they are the same on every
computer.  Each grid is relaxed with the predicted numbers of extra rows and columns of the outermost blocks, and with
one more and one fewer of either.  A prediction is right if none of those is faster by more than a thousandth.

With ``--models``, the charges are not given but come from a model that was calibrated with even shares.  A table has
the chosen numbers, and three shares of an iteration that they save: by equation 41 of the source, by the charges of the
model, and in virtual time.  With ``--plots``, the costs of extra rows on two of these machines are drawn instead.

Source: Brewer, Portable High-Performance Supercomputing, section 5.2 and table 5-1.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import smp
from smp._output import terminal
from smp._output.drawing import save
from smp._output.figure import Figure
from smp._output.table import Column, Part, Table, share
from smp._runtime.emulated.costs import Charges as VirtualCharges
from smp.kernels.grids.balance_of_rows import extra_figure
from smp.kernels.grids.extra_choice import charges_of, extra_by_model
from smp.kernels.grids.extra_rows import Charges, best_extra
from smp.kernels.grids.programs import relax_red_black

ITERATIONS = 2
SWING = 0.001
MOST_MODELS = 12
"""Largest number of cases with --models, since each has a calibration of its own."""
SLOW = 1_000
"""Nanoseconds that a byte takes, 10,000 times the usual, so that barriers count for little."""
Extra = tuple[int, int]


def virtual(machine: smp.Machine, shape: tuple[int, int], extra: Extra) -> float:
    """Return the seconds of virtual time that the iterations take."""
    rows, columns = extra
    grid = machine.zeros(shape, np.float64)
    how = {"iterations": ITERATIONS, "extra_rows": rows, "extra_columns": columns}
    summary = machine.run(relax_red_black, grid, **how).summary()
    swept = summary[np.isin(summary["label"], ("red", "black"))]
    return float(sum(swept[phase].sum() for phase in ("copy_in", "compute", "copy_out")))


def neighbours(shape: tuple[int, int], extra: Extra) -> list[Extra]:
    """Return the numbers with one more and one fewer of either, as far as the grid has them."""
    steps = [(extra[0] + i, extra[1] + j) for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    return [(r, c) for r, c in steps if 0 <= 2 * r <= shape[0] - 2 and 0 <= 2 * c <= shape[1] - 2]


def calibrated(machine: smp.Machine) -> smp.Model:
    """Return the model of the square layout with even shares, in virtual time."""

    def seconds(rows: int, columns: int, iterations: int) -> float:
        grid = machine.zeros((rows, columns), np.float64)
        return float(np.max(machine.run(relax_red_black, grid, iterations=iterations).seconds))

    sizes = ["rows", "columns", "rows * columns"]
    return smp.calibrate(
        smp.Specification(
            "square",
            {"rows": "24..240 x 5", "columns": "24..240 x 5", "iterations": "1, 3"},
            [*sizes, "iterations", *(f"iterations * {size}" for size in sizes)],
            seconds,
            clocked=True,
        )
    )


def by_models(cases: int, seed: int) -> Part:
    """Return the table of the choices by models, with the predicted and the measured benefit."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(cases):
        p, dearer = int(rng.choice([9, 12, 16, 20, 25])), 2 ** int(rng.integers(2, 7))
        shape = tuple(int(side) for side in rng.integers(40, 220, 2))
        charges = VirtualCharges(copied_byte=SLOW * dearer, looped_byte=SLOW)
        with smp.emulated(p, schedule="clock", charges=charges) as machine:
            model = calibrated(machine)
            found = extra_by_model(model.predict, shape, p)
            even, taken = (virtual(machine, shape, extra) for extra in ((0, 0), found[:2]))
            best = min(virtual(machine, shape, beside) for beside in neighbours(shape, found[:2]))
        gained, lost = 1 - taken / even, max(0.0, taken / best - 1)
        rows.append([p, *shape, dearer, found.rows, found.columns, found.filled, found.saved, gained, lost])
    counts = (Column(name, form="count") for name in ("p", "rows", "columns", "element", "extra rows", "extra columns"))
    shares = map(share, ("equation 41", "model", "measured", "to a neighbour"))
    notes = (
        "element: times as dear as a cell. The last column is the loss to the best with one row or column more or less."
    )
    return Part("Extra rows and columns by models", [Table("", [*counts, *shares], rows, [notes])])


def costs_of_rows(shape: tuple[int, int] = (200, 60), p: int = 16) -> Figure:
    """Describe the figure of two machines, whose charges come from calibrated models."""
    found = {}
    for dearer in (4, 64):
        charges = VirtualCharges(copied_byte=SLOW * dearer, looped_byte=SLOW)
        with smp.emulated(p, schedule="clock", charges=charges) as machine:
            name = f"an element of an edge costs {dearer} times as much as a cell"
            found[name] = charges_of(calibrated(machine).predict, shape, p)
    return extra_figure(found, shape, p)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", action="store_true", help="choose by calibrated models, and show the benefit")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw what extra rows save and cost (figure 5-2)")
    given = parser.parse_args()
    if given.plots:
        print(*save([costs_of_rows()], given.plots))
        return
    if given.models:
        print(terminal.report([by_models(min(given.cases, MOST_MODELS), given.seed)], 100))
        return
    rng = np.random.default_rng(given.seed)
    losses, gains, some = [], [], 0
    for _ in range(given.cases):
        p = int(rng.choice([3, 6, 9, 12, 16, 20, 25]))
        shape = int(rng.geometric(1 / 150)) + 12, int(rng.geometric(1 / 150)) + 12
        dearer = 2 ** int(rng.integers(7))
        extra = best_extra(shape, p, Charges(cell=1, element=dearer))
        some += extra != (0, 0)
        charges = VirtualCharges(copied_byte=SLOW * dearer, looped_byte=SLOW)
        with smp.emulated(p, schedule="clock", charges=charges) as machine:
            taken = virtual(machine, shape, extra)
            best = min(virtual(machine, shape, beside) for beside in neighbours(shape, extra))
            losses.append(taken / best - 1)
            gains.append(virtual(machine, shape, (0, 0)) / taken)
    right = np.mean(np.array(losses) <= SWING)
    print(f"{given.cases} cases, {some} with extra rows or columns: in {right:.0%} no neighbour is faster by more than")
    print(
        f"{SWING:.1%}; worst loss {max(losses):.2%}; gained over even shares {np.mean(gains) - 1:.1%}, at most ", end=""
    )
    print(f"{max(gains) - 1:.1%}")


if __name__ == "__main__":
    main()
