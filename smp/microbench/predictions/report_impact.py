"""The report on the cost of a program: phase by phase, price by price, and the gain from halving each price."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output import terminal
from smp._output.numbers import count, number, percent, time
from smp._output.table import Bounded, Cell, Column, Part, Table, share, text
from smp.models.supersteps.factored import Derivative
from smp.models.supersteps.hybrid import Hybrid
from smp.models.supersteps.shares import WIDEST, Share
from smp.profiles.charges import BARRIERS
from smp.profiles.profile import Profile

from ..sections.access.facts import price_name
from .changes import Source, cross, opened
from .impacts import LEAST, Impact, impact_of
from .phases import ByPhase
from .programs import Cost, Kernel, kernel_of

COLUMNS = (
    *(text("price"), text(), Column("each", "ns", scale=1e9), Column("number", form="count")),
    *(Column("time", form="time"), share("share"), share("halving saves")),
)
PHASES = (text(), Column("time", form="time"), share("share"))
WIDTH = 100
"""Columns of a report that is printed."""
SENTENCES = 3
PARTS = {
    "memory": "accesses of the copies",
    "barrier": f"barriers, {BARRIERS} per superstep",
    "runtime": "other time that the runtime adds to the copies",
    "local": "local computation",
}
PRICES = {
    "barrier": "the barrier",
    "runtime": "the runtime's work in a superstep",
    "local": "local computation",
    "local work": "local computation",
    "alpha": "time of a run beyond its charges",
}
OPEN = "not determined"
MEANING = (
    f"Good accesses of h_r and h_w words; {BARRIERS} barriers per superstep; the runtime's least time in each.\n"
    "Shares are exact derivatives: a price that is 1% lower reduces the time by 1% of its share."
)
CHARGES_ONLY = "Local computation is not included; measured runs of the program have it too."
WITH_RUNS = "Number: the counts times beta, {beta}, of the hybrid model; local computation by its gamma."
OF_PHASES = (
    "Shares of the time in supersteps, with 95% intervals. Accesses are as good or as bad as in the "
    "runs.\nLocal computation includes the cost of a processor's own memory."
)
NOT_DETERMINED = f"{OPEN}: with these runs, the interval of the share is wider than {WIDEST:.0%} of the time."


def impact_report(profile: Source, kernel: str | Kernel | Cost, n: int, p: int, *, hybrid: Hybrid | None = None) -> str:
    """Return the cost of a kernel on the machine of a profile, price by price, as text; see `report`."""
    return terminal.report([report(profile, kernel, n, p, hybrid=hybrid)], WIDTH)


def report(
    profile: Source,
    kernel: str | Kernel | Cost,
    n: int,
    p: int,
    *,
    hybrid: Hybrid | None = None,
    found: Impact | None = None,
) -> Part:
    """Return the cost of a kernel on the machine of a profile, price by price, as tables.

    Parameters
    ----------
    profile, kernel, n, p, hybrid
        As for `impact_of`.
    found : Impact, optional
        Result of `impact_of`, if the caller already has it.

    Raises
    ------
    ValueError, ProfileError
        As for `impact_of`.
    """
    known, chosen = opened(profile), kernel_of(kernel)
    found = found or impact_of(known, chosen, n, p, hybrid=hybrid)
    expected = cross(known, chosen, n, p, hybrid)
    what = at(chosen, n, p)
    said = [f"{what}: predicted {time(expected.good)} (good) to {time(expected.bad)} (bad)."]
    if hybrid is not None:
        said.append(f"With the coefficients of measured runs: {time(expected.seconds)}.")
    if found.phases is not None:
        said.append(f"{time(found.model.total())} by its phases, {_basis(found.phases, n)}.")
    tables = [Table(notes=[*said, *expected.notes])]
    if found.phases is not None:
        total = found.model.total()
        parts = [[PARTS[name], *_part(each, total)] for name, each in found.phases.parts.items()]
        refused = "" if all(each.determined for each in found.phases.parts.values()) else NOT_DETERMINED
        tables.append(Table("By phase", PHASES, parts, [OF_PHASES, refused]))
    rows = [_price(each, mine, found, known) for each, mine in found.derivatives()]
    tables.append(Table("By price", COLUMNS, rows, _notes(found, hybrid)))
    return Part("", [*tables, Table(notes=list(sentences(known, chosen, n, p, found)))])


def sentences(profile: Profile, kernel: Kernel, n: int, p: int, found: Impact) -> Iterator[str]:
    """Yield a sentence for each of the prices that matter most, on the time that halving it would save a kernel.

    Only prices of the machine and its runtime count: no change of the machine alone halves local computation.
    """
    of_machine = [
        (each, mine)
        for each, mine in found.derivatives()
        if each.term not in ("alpha", "local", "local work") and mine.determined and each.share >= LEAST
    ]
    for each, mine in of_machine[:SENTENCES]:
        words = meaning(each.term, profile)
        less = percent(found.saved(each.term))
        within = "" if found.phases is None else f" [{percent(mine.low / 2)}, {percent(mine.high / 2)}]"
        yield f"Halving the price of {words} saves {less}%{within} of the time of {at(kernel, n, p)}"


def _notes(found: Impact, hybrid: Hybrid | None) -> list[str]:
    if found.phases is not None:
        return ["" if all(mine.determined for _, mine in found.derivatives()) else NOT_DETERMINED]
    if hybrid is None:
        return [MEANING, CHARGES_ONLY, f"{found.why[:1].upper()}{found.why[1:]}." if found.why else ""]
    low, high = (("open" if end is None else number(end)) for end in (hybrid.low[1], hybrid.high[1]))
    return [MEANING, WITH_RUNS.format(beta=f"{number(hybrid.beta)} [{low}, {high}]")]


def _basis(phases: ByPhase, n: int) -> str:
    if n in phases.measured:
        return "as measured"
    return f"by runs at n = {', '.join(count(size) for size in phases.measured)}"


def _price(each: Derivative, mine: Share, found: Impact, profile: Profile) -> list[Cell]:
    named: list[Cell] = [each.term, meaning(each.term, profile), each.price]
    if not mine.determined:
        return [*named, None, None, OPEN, None]
    of: Cell = each.share if found.phases is None else Bounded(each.share, mine.low, mine.high)
    return [*named, each.amount, each.price * each.amount, of, found.saved(each.term)]


def _part(each: Share, total: float) -> list[Cell]:
    if not each.determined:
        return [None, OPEN]
    return [each.value * total, Bounded(each.value, each.low, each.high)]


def at(kernel: Kernel, n: int, p: int) -> str:
    """Return a kernel's title with its size and its number of processors."""
    return f"{kernel.title} at n = {count(n)}, p = {p}"


def meaning(term: str, profile: Profile) -> str:
    """Return the meaning of a price in words.

    Parameters
    ----------
    term : str
        Term as in `Factored.terms`: "ghr2", "bad gM", "barrier".
    profile : Profile
        Profile that names the tiers.
    """
    if term in PRICES:
        return PRICES[term]
    family, _, own = term.rpartition(" ")
    words = price_name(own, profile)
    return f"{words}, {family}" if family else words
