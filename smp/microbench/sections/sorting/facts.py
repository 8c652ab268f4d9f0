"""The figures of sorting that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import count
from smp.microbench.method.figures import Figure

if TYPE_CHECKING:
    from .rows import Sorting


def compared(found: Sorting) -> Iterator[Figure]:
    """Yield what a key takes with NumPy, in the fast form, and by each program."""
    for form in found.forms:
        name = "NumPy" if form.form == "numpy" else f"{form.form} form"
        yield Figure(f"{name}, n = {count(form.n)}", "ns/key", form.ns_per_element)
    for run in found.rows:
        yield Figure(f"{run.algorithm} sort, n = {count(run.n)}, p = {run.p}", "ns/key", run.ns_per_element)
