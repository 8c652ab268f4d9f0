"""Figure 3 of the SMP paper, redrawn from the paper's coefficients: communication of the sorts on its machine.

    counts of a superstep    x  tables 2 and 4    =  good, bad
    good                     x  M/G of its table  =  measured; from Loc if the table has no M/G

The times in the paper's figure include local computation.  Its tables do not print that, so these times leave it out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp._output.figure import GREY, Axis, Figure, Panel, Series
from smp.kernels.sorting.forms import FORMS
from smp.microbench.output.curves import nth
from smp.models.supersteps.published import PAPER_STEPS, paper_lengths
from smp.profiles.published import POWER_CHALLENGE, published_machine

from ..programs.plots import TIME
from .report import title_of

SHOWN = (4, 8, 12)
"""The numbers of processors in the paper's figure."""


class Communication(NamedTuple):
    """Seconds of a sort's copy-in and copy-out, for each number of keys."""

    good: NDArray[np.float64]
    measured: NDArray[np.float64]
    bad: NDArray[np.float64]


def communication(algorithm: str, p: int) -> Communication:
    """Return the communication times of a sort on the paper's machine.

    Parameters
    ----------
    algorithm : {"radix", "sample", "column"}
    p : {2, 4, 8, 12}
    """
    there, steps, cost = published_machine(POWER_CHALLENGE), PAPER_STEPS[algorithm], FORMS[algorithm].cost
    assert cost is not None
    found = []
    for n in paper_lengths(p):
        counts = cost(n, p)
        good, bad = (there.predict(family, p, counts["hr"], counts["hw"], counts["m"]) for family in ("good", "bad"))
        loc, m_over_g = np.array([steps[label].at(p) for label in counts["label"]], float).T
        measured = np.where(np.isnan(m_over_g), good + (1 - loc) * (bad - good), m_over_g * good)
        found.append([times.sum() for times in (good, measured, bad)])
    return Communication(*np.array(found).T)


def figure() -> Figure:
    """Return a figure of measured times and the good or the bad prediction on the paper's machine, a row for each p."""
    panels, ratios = [], []
    for p in SHOWN:
        n = np.array(paper_lengths(p))
        each = {name: communication(name, p) for name in PAPER_STEPS}
        ratios += [one.measured / one.good for one in each.values()]
        for end in ("good", "bad"):
            series = []
            for k, (name, times) in enumerate(each.items()):
                series.append(Series(title_of(name), n, times.measured / n * 1e9, **nth(k)))
                series.append(Series("", n, getattr(times, end) / n * 1e9, colour=k, dash="dashed"))
            series.append(Series("predicted", (), (), colour=GREY, dash="dashed"))  # for the legend
            panels.append(Panel(Axis("keys", scale="log"), TIME, series, f"{POWER_CHALLENGE}: the {end} end, p = {p}"))
    most, least = np.max(ratios), np.min(ratios)
    return Figure(
        "sorting-paper",
        f"On the SMP paper's machine communication took {least:.1f} to {most:.1f} times the good prediction",
        "from its counts and coefficients; measured: by the averages of tables 9 to 11; figure 3 also has computation",
        panels,
        columns=2,
        share_x="all",
        share_y="all",
    )
