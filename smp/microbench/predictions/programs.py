"""The kernels that have a factored model: their supersteps in closed form, and the amount of their local work.

by name    "radix" "sample" "column"    "wyllie" "reid-miller" "helman-jaja"    "vertical" "horizontal" ...
n          keys                         nodes                                   cells of a square grid
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smp.kernels.costs import Costs, longest_block
from smp.kernels.grids.forms import FORMS as GRIDS
from smp.kernels.lists.forms import FORMS as LISTS
from smp.kernels.sorting.forms import FORMS as SORTS

_TABLES = (("sorting", "algorithm", SORTS), ("lists", "algorithm", LISTS), ("stencil", "layout", GRIDS))
"""Section of a profile, the field of its rows that names a form, and the forms."""

Cost = Callable[[int, int], Costs]
"""Returns the supersteps of a program, given n and p."""


@dataclass(frozen=True)
class Kernel:
    """A program whose supersteps are known.

    Attributes
    ----------
    title : str
        Name of the kernel in a sentence.
    cost : callable
        Function of n and p that returns an array of `smp.kernels.costs.COST`.
    work : callable
        Function of n and p that returns the local operations of the processor that has most, up to a constant factor,
        which `calibrate` finds.
    element_bytes : int
        Bytes of an element that the program reads and writes.  Wider counters are charged as elements; they are few.
    section : str
        Section of a profile that holds its measured runs; "" for none.
    rows : tuple of (str, str)
        Field of that section's rows, and the value by which the kernel's rows are recognised.
    """

    title: str
    cost: Cost
    work: Callable[[int, int], float] = longest_block
    element_bytes: int = 8
    section: str = ""
    rows: tuple[str, str] = ("", "")


def kernel_of(kernel: str | Kernel | Cost) -> Kernel:
    """Return a kernel by its name; a cost function becomes a kernel with 8-byte elements.

    Raises
    ------
    ValueError
        No kernel has this name.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        known = known_kernels()
        if kernel not in known:
            raise ValueError(f"no kernel {kernel!r}: choose from {', '.join(known)}, or give a cost function")
        return known[kernel]
    return Kernel(getattr(kernel, "__name__", "the program"), kernel)


def known_kernels() -> dict[str, Kernel]:
    """Return the kernels that have a cost in closed form, by name.

    Sorting and list ranking use 32-bit keys and nodes. Relaxation uses 64-bit cells.
    """
    return {
        name: Kernel(form.title, form.cost, form.work, form.element_bytes, section, (field, name))
        for section, field, forms in _TABLES
        for name, form in forms.items()
        if form.cost is not None
    }
