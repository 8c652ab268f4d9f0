"""The report on a program's factored model: what it costs, which prices matter, and what halving each would give."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output import terminal
from smp._output.numbers import count, number, percent, time
from smp._output.table import Cell, Column, Part, Table, share, text
from smp.models.supersteps.factored import Factored
from smp.models.supersteps.hybrid import Hybrid
from smp.profiles.charges import BARRIERS
from smp.profiles.profile import Profile

from ..sections.access.facts import price_name
from .changes import Source, cross, model_of, opened
from .programs import Cost, Kernel, kernel_of

COLUMNS = (
    *(text("price"), text(), Column("each", "ns", scale=1e9), Column("how many", form="count")),
    *(Column("time", form="time"), share("share"), share("half of it saves")),
)
WIDTH = 100
"""Columns of a report that is printed."""
LEAST = 0.001
"""Share of the time below which a price is left out."""
SENTENCES = 3
PRICES = {
    "barrier": "the barrier",
    "runtime": "the runtime's work in a superstep",
    "local": "local computation",
    "local work": "local computation",
    "alpha": "what a run takes beyond its charges",
}
MEANING = (
    f"Good accesses, of h_r and h_w words; {BARRIERS} barriers a superstep; the least that the runtime adds to it.\n"
    "Shares are exact derivatives: 1% off a price takes 1% of its share off the time."
)
CHARGES_ONLY = "Local computation is not in it: a hybrid model of measured runs has that too."
WITH_RUNS = "How many: the counts times beta, {beta}, of the hybrid model; local computation by its gamma."


def impact_report(profile: Source, kernel: str | Kernel | Cost, n: int, p: int, *, hybrid: Hybrid | None = None) -> str:
    """Return what a kernel costs on the machine of a profile, price by price, as text; see `report`."""
    return terminal.report([report(profile, kernel, n, p, hybrid=hybrid)], WIDTH)


def report(profile: Source, kernel: str | Kernel | Cost, n: int, p: int, *, hybrid: Hybrid | None = None) -> Part:
    """Return what a kernel costs on the machine of a profile, price by price, as tables.

    Parameters
    ----------
    profile, kernel, n, p, hybrid
        As for `smp.microbench.predictions.changes.model_of`.

    Raises
    ------
    ValueError, ProfileError
        As there.
    """
    known, chosen = opened(profile), kernel_of(kernel)
    model, expected = model_of(known, chosen, n, p, hybrid=hybrid), cross(known, chosen, n, p, hybrid)
    what = at(chosen, n, p)
    said = [f"{what}: predicted {time(expected.good)} (good) to {time(expected.bad)} (bad)."]
    if hybrid is not None:
        said.append(f"With the coefficients of measured runs: {time(expected.seconds)}.")
    notes = [MEANING, CHARGES_ONLY if hybrid is None else WITH_RUNS.format(beta=number(hybrid.beta))]
    rows: list[list[Cell]] = [
        [
            *(each.term, meaning(each.term, known), each.price, each.amount, each.price * each.amount),
            *(each.share, 1 - model.impact({each.term: 0.5})),
        ]
        for each in model.derivatives()
        if abs(each.share) >= LEAST
    ]
    tables = [
        Table(notes=[*said, *expected.notes]),
        Table("What it is made of", COLUMNS, rows, notes),
        Table(notes=list(sentences(known, chosen, n, p, model))),
    ]
    return Part("", tables)


def sentences(profile: Profile, kernel: Kernel, n: int, p: int, model: Factored) -> Iterator[str]:
    """Yield what the prices that matter most would give a kernel, were they half of what they are.

    Prices of the machine and its runtime only: no change of the machine alone halves local computation.
    """
    told = [each for each in model.derivatives() if each.share >= LEAST and each.term not in ("alpha", "local work")]
    for each in told[:SENTENCES]:
        words = meaning(each.term, profile)
        less = percent(1 - model.impact({each.term: 0.5}))
        yield f"{words[:1].upper()}{words[1:]} twice as fast gives {at(kernel, n, p)}: {less}% less time"


def at(kernel: Kernel, n: int, p: int) -> str:
    """Return a kernel with its size and processors."""
    return f"{kernel.title} at n = {count(n)}, p = {p}"


def meaning(term: str, profile: Profile) -> str:
    """Return what a price is for, in words.

    Parameters
    ----------
    term : str
        As in `Factored.terms`: "ghr2", "bad gM", "barrier".
    profile : Profile
        Names the tiers.
    """
    if term in PRICES:
        return PRICES[term]
    family, _, own = term.rpartition(" ")
    words = price_name(own, profile)
    return f"{words}, {family}" if family else words
