"""Printed names of the algorithms of list ranking, and the numbers that are compared with those of other machines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from smp._output.numbers import count
from smp.kernels.lists.forms import FORMS
from smp.microbench.method.figures import Figure
from smp.microbench.method.samples import Samples, select

from ..programs.figures import Timed, judged

if TYPE_CHECKING:
    from .rows import Lists


def title_of(algorithm: str) -> str:
    """Return the printed name of an algorithm.

    Examples
    --------
    >>> [title_of(name) for name in ("wyllie", "reid-miller", "helman-jaja")]
    ['Wyllie', 'Reid-Miller', 'Helman-JaJa']
    """
    return FORMS[algorithm].title if algorithm in FORMS else algorithm


def compared(found: Lists, samples: Samples) -> Iterator[Figure]:
    """Yield the time per node of the serial loop, the fast form, and each program."""
    return judged(_timed(found, samples))


def _timed(found: Lists, samples: Samples) -> Iterator[Timed]:
    alone = [("serial loop", "serial", row, 1) for row in found.serial]
    alone += [("fast form", "fast", row, row.streams or 1) for row in found.fast]
    for name, algorithm, row, streams in alone:
        seconds = select(samples, "lists", "seconds", n=row.n, algorithm=algorithm)
        yield Figure(f"{name}, n = {count(row.n)}", "ns/node", row.ns_per_element), streams, seconds
    for run in found.rows:
        what = f"{title_of(run.algorithm)}, n = {count(run.n)}, p = {run.p}"
        seconds = select(samples, "lists", "seconds", n=run.n, algorithm=run.algorithm, p=run.p)
        yield Figure(what, "ns/node", run.ns_per_element), run.p, seconds
