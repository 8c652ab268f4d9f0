"""Numbers of sorting that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import count
from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select

from ..programs.figures import Timed, judged

if TYPE_CHECKING:
    from .rows import Sorting


def compared(found: Sorting, samples: Samples) -> Iterator[Figure]:
    """Yield the time per key of NumPy, the fast form, and each program."""
    return judged(_timed(found, samples))


def _timed(found: Sorting, samples: Samples) -> Iterator[Timed]:
    for form in found.forms:
        name = "NumPy" if form.form == "numpy" else f"{form.form} form"
        seconds = select(samples, "sorting", "seconds", n=form.n, algorithm=form.form)
        yield Figure(f"{name}, n = {count(form.n)}", "ns/key", form.ns_per_element), form.streams or 1, seconds
    for run in found.rows:
        what = f"{run.algorithm} sort, n = {count(run.n)}, p = {run.p}"
        seconds = select(samples, "sorting", "seconds", n=run.n, algorithm=run.algorithm, p=run.p)
        yield Figure(what, "ns/key", run.ns_per_element), run.p, seconds
