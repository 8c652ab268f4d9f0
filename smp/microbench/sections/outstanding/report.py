"""The report's section on loads under way: chains in one thread, groups of loads by streams, and their bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smp._output.numbers import fixed, number, size
from smp._output.table import Column, Table, counted, ratio, text
from smp.microbench.output.format import cells, field, flagged, listed, reasons
from smp.microbench.output.tera import BEST_COPY, ENOUGH_STREAMS, MACHINE
from smp.profiles.profile import Profile

from .rows import Loads, Outstanding, Sustained

ORDERS = {"far": "anywhere", "near": "next word"}
CHAINS = (
    *(counted("chains"), Column("median", "ns per load"), Column("cycles"), Column("minimum", "ns")),
    *(Column("p95", "ns"), Column("misses under way")),
)
SATURATION = {
    "order": text("loads go to"),
    "work": counted("work"),
    "cpus": counted("CPUs"),
    "best_GBps": Column("best", "GB/s"),
    "best_streams": counted("best streams"),
    "best_depth": counted("best depth"),
    "enough_streams": counted("streams within 5%"),
    "gain": ratio("best over one stream"),
}
Series = tuple[str, int, int]
"""Order, work, and number of CPUs."""


def line(found: Outstanding) -> tuple[str, str] | None:
    """Return the heading and text of this section for the first screen."""
    said = f"a core {_sustains(found.sustained)} ({_chains(found.sustained)}{_against(found.sustained)})"
    gain = gain_of_streams(found, 1)
    return "Loads under way", said if gain is None else f"{said}; streams that share it gain a factor of {fixed(gain)}"


def misses(many: float, flat: bool | None) -> str:
    """Return a phrase with the number of misses that a core sustains, a lower bound if more chains might have gained.

    Examples
    --------
    >>> misses(41.5, True), misses(28.9, None)
    ('41.5 misses', 'at least 28.9 misses')
    """
    return f"{'' if flat else 'at least '}{number(many)} misses"


def gain_of_streams(found: Outstanding, cpus: int) -> float | None:
    """Return the ratio of the best far bandwidth without work to that of one stream; None if it was not measured."""
    rows = (row for row in found.saturation if (row.order, row.work, row.cpus) == ("far", 0, cpus))
    return next((row.gain for row in rows), None)


def series(rows: Sequence[Loads]) -> dict[Series, list[Loads]]:
    """Return the rows for each order, work and number of CPUs."""
    found: dict[Series, list[Loads]] = {}
    for row in rows:
        found.setdefault((row.order, row.work, row.cpus), []).append(row)
    return found


def _sustains(found: Sustained) -> str:
    return f"sustains {misses(found.misses, found.flat)}"


def _chains(found: Sustained) -> str:
    one, best = number(found.latency_ns), number(found.best_ns)
    return f"{one} ns per load in one chain, {best} at best; {found.knee_chains} chains come within 10%"


def _against(found: Sustained) -> str:
    return f"; not valid: {reasons(found)}" if found.valid is False else ""


def tables(found: Outstanding, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile in which loads under way were measured."""
    pages = "huge pages" if (huge := found.huge_bytes or 0) >= found.bytes else f"{size(huge)} of it in huge pages"
    yield Table(
        f"Chains in one thread, through {size(found.bytes)} ({pages})",
        CHAINS,
        [
            [*cells(row.chains, row, "ns", "cycles", "minimum_ns", "p95_ns"), found.sustained.latency_ns / row.ns]
            for row in found.chains
        ],
        (found.capped or "", flagged(found.chains)),
    )
    if found.groups:
        yield _groups(found.groups)
    if found.saturation:
        yield listed("Streams and depth for the best bandwidth", SATURATION, found.saturation, names=ORDERS)
    yield Table(notes=list(bounds(found)))


def _groups(loads: Sequence[Loads]) -> Table:
    depths, rows = sorted({row.depth for row in loads}), []
    for (order, work, cpus), mine in series(loads).items():
        counts = {row.streams for row in mine}
        for streams in sorted({min(counts), max(counts)}):
            by_depth = {row.depth: row for row in mine if row.streams == streams}
            rates = [field(by_depth.get(depth), "GBps") for depth in depths]
            rows.append([ORDERS[order], work, cpus, streams, *rates])
    return Table(
        "Bandwidth of groups of loads by depth, each followed by work on its words",
        (*list(SATURATION.values())[:3], counted("streams"), *(Column(f"depth {depth}", "GB/s") for depth in depths)),
        rows,
        (
            "anywhere: a line for each load; next word: a word for each load. The profile has more numbers of streams.",
            f"{MACHINE}: over {BEST_COPY.value:g} GB/s at best, by 26 threads at depth 5; "
            f"{ENOUGH_STREAMS.value:g} streams come within 5% ({ENOUGH_STREAMS.place})",
            flagged(loads),
        ),
    )


def bounds(found: Outstanding) -> Iterator[str]:
    """Yield sentences on the bounds of the bandwidth, with numbers."""
    yield f"Chains: a core {_sustains(found.sustained)}, {_chains(found.sustained)}{_against(found.sustained)}."
    if not found.sustained.flat:
        yield "The last doubling of the chains still gained, so the core may sustain more misses than that."
    for cpus in sorted({row.cpus for row in found.groups}):
        mine = series(found.groups).get(("far", 0, cpus), [])
        alone = {row.depth: row.ns for row in mine if row.streams == 1}
        if cpus == 1 and alone:
            depth = max(alone)
            gain = alone[min(alone)] / alone[depth]
            yield f"Depth: a far load in a group of {depth} is {number(gain)} times as fast as a single one."
        gained = gain_of_streams(found, cpus)
        if gained is not None and cpus == 1:
            yield (
                f"Streams on one CPU: {fixed(gained)} times the bandwidth of one stream. They take turns, so the "
                "misses of one do not overlap those of another: latency and depth bound the bandwidth, and no number "
                "of streams hides the latency."
            )
        elif gained is not None:
            yield (
                f"Streams on {cpus} CPUs: {fixed(gained)} times the bandwidth of one stream; "
                "each CPU has misses of its own."
            )
