"""The kernels that have a factored model: their supersteps in closed form, and how much they compute locally.

by name    "radix" "sample" "column"    "wyllie" "reid-miller" "helman-jaja"    "vertical" "horizontal" ...
n          keys                         nodes                                   cells of a square grid
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from smp.kernels.costs import Costs, longest_block
from smp.kernels.grids import programs
from smp.kernels.lists import helman_jaja, reid_miller, wyllie
from smp.kernels.sorting import column, radix, sample

from ..sections.lists.facts import title_of
from ..sections.stencil.facts import ITERATIONS

Cost = Callable[[int, int], Costs]
"""The supersteps of a program, from n and p."""


@dataclass(frozen=True)
class Kernel:
    """A program whose supersteps are known.

    Attributes
    ----------
    title : str
        What it is called in a sentence.
    cost : callable
        Of n and p: an array of `smp.kernels.costs.COST`.
    work : callable
        Of n and p: local operations of the processor that has most, up to a constant factor, which `calibrate` finds.
    element_bytes : int
        Of what it reads and writes.  Counters that are wider are charged as these; they are few.
    section : str
        Of a profile, where its measured runs stand; "" for none.
    rows : tuple of (str, str)
        A field of that section's rows and its value, by which they are told from others.
    """

    title: str
    cost: Cost
    work: Callable[[int, int], float] = longest_block
    element_bytes: int = 8
    section: str = ""
    rows: tuple[str, str] = ("", "")


def kernel_of(kernel: str | Kernel | Cost) -> Kernel:
    """Return a kernel by its name; a cost function of one's own as one of 8-byte elements.

    Raises
    ------
    ValueError
        No such name.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(f"no kernel {kernel!r}; there are {', '.join(KERNELS)}, or give its cost function")
        return KERNELS[kernel]
    return Kernel(getattr(kernel, "__name__", "the program"), kernel)


def _relaxation(n: int, p: int, layout: str) -> Costs:
    side = math.isqrt(n)
    return programs.cost(side, side, p, ITERATIONS, layout=layout)


def _sorting(n: int, p: int) -> float:
    longest = longest_block(n, p)
    return longest * math.log2(longest) if longest > 1 else float(longest)


def _jumps(n: int, p: int) -> float:
    return longest_block(n, p) * max(n - 1, 0).bit_length()


KERNELS: dict[str, Kernel] = (
    {
        name: Kernel(f"{name} sort", cost, work, 4, "sorting", ("algorithm", name))
        for name, cost, work in (
            ("radix", radix.cost, longest_block),
            ("sample", sample.cost, _sorting),
            ("column", column.cost, _sorting),
        )
    }
    | {
        name: Kernel(title_of(name), cost, work, 4, "lists", ("algorithm", name))
        for name, cost, work in (
            ("wyllie", wyllie.cost, _jumps),
            ("reid-miller", reid_miller.cost, longest_block),
            ("helman-jaja", helman_jaja.cost, longest_block),
        )
    }
    | {
        layout: Kernel(
            f"relaxation, {layout}",
            partial(_relaxation, layout=layout),
            longest_block,
            8,
            "stencil",
            ("layout", layout),
        )
        for layout in ("vertical", "horizontal", "square", "shared")
    }
)
"""By name.  Sorting and list ranking are of 32-bit keys and nodes, relaxation of 64-bit cells."""
