"""The report's section on a machine of MPI: its operations, near and far, and what an access costs in supersteps."""

from __future__ import annotations

from collections.abc import Iterator

from smp._output.numbers import time
from smp._output.table import Bounded, Cell, Column, Marked, Table, counted, share, text
from smp.microbench.output.format import flagged, judged
from smp.profiles.kept_apart import LIMIT
from smp.profiles.more_nodes import MoreNodes, steps
from smp.profiles.profile import Profile

from .patterns import APART
from .rows import Function, Nodes, Operation, Where

OPERATIONS = (text("operation"), *(Column(name, "us", scale=1e6) for name in ("all", "near", "far")))
OPERATIONS_MEANING = (
    "Medians of bursts. all: all processors take part. near, far: processor 0 and one of its own node, or of another."
)
PRICES = (
    *(text("family"), Column("superstep", "us", scale=1e6), Column("message", "us", scale=1e6)),
    *(Column(name, "ns/word", scale=1e9) for name in ("read", "write", "far read", "far write", "all", "all far")),
)
PRICES_MEANING = (
    "read, write: for each word of the processor with the most. far read, far write: in addition, if the word is on "
    "another node. all, all far: for each word that any processor reads or writes. A word has 8 bytes for Good; for "
    "Bad it is an element.\n"
    "[low, high]: the 95% interval. 0 without an interval: the price was held at zero. ?: these measurements cannot "
    "separate this price from others. -: the machine has one node."
)
TERMS = ("L", "gms", "ghr", "ghw", "gfr", "gfw", "gM", "gMf")
ERRORS = (text("family"), counted("fitted on"), counted("kept apart"), share("average error"), share("largest error"))
ERRORS_MEANING = (
    f"Errors relative to the measured times, on the patterns of suite {APART}; suites 1 and 2 were fitted. "
    f"!: above {LIMIT:.0%}."
)

MORE_NODES, WORDS = (16, 256, 4096), 128
MORE = (
    *(counted(name) for name in ("nodes", "messages")),
    *(Column(name, "us", scale=1e6) for name in ("barrier", "empty superstep")),
    *(Column(f"{of}, {end}", "ms", scale=1e3) for of in ("2", "all") for end in ("low", "high")),
)
MORE_MEANING = (
    "Computed from the prices above; none of this is measured. messages: those that the first processor of a node "
    f"sends in a barrier. 2, all: a superstep in which each processor copies {8 * WORDS:,} bytes from two other nodes, "
    "or from all.\n"
    "low: the requests of a copy are on their way together, and N nodes pass N/2 times as many words as two. "
    "high: one request after another, and all nodes share the network of the measured ones."
)


def line(found: Nodes) -> tuple[str, str] | None:
    """Return the heading and text for the first screen: the barrier, and a word near and far."""
    times: dict[tuple[str, str], Operation] = {(row.name, row.where): row for row in found.operations}
    parts = [
        f"{name} {time(times[name, where].seconds)}{f' ({where})' if where != 'all' else ''}"
        for name, where in (("barrier", "all"), ("read of 8 bytes", "near"), ("read of 8 bytes", "far"))
        if (name, where) in times
    ]
    return ("Nodes", f"{shape(found)}: {', '.join(parts)}") if parts else None


def shape(found: Nodes) -> str:
    """Return the numbers of processors of the nodes as text: "2 nodes of 4 processors".

    Examples
    --------
    >>> shape(Nodes(nodes=[2, 2], processors=4, opened_s=1.0)), shape(Nodes(nodes=[2, 1], processors=3, opened_s=1.0))
    ('2 nodes of 2 processors', '2 nodes of 2, 1 processors')
    """
    counts = found.nodes if len(set(found.nodes)) > 1 else found.nodes[:1]
    each = f"{', '.join(map(str, counts))} processor{'s' * (counts != [1])}"
    return f"{len(found.nodes)} node{'s' * (len(found.nodes) > 1)} of {each}"


def tables(found: Nodes, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile of a machine of MPI."""
    by_name: dict[str, dict[Where, Operation]] = {}
    for row in found.operations:
        by_name.setdefault(row.name, {})[row.where] = row
    rows: list[list[Cell]] = [
        [name, *(_time(each.get(where)) for where in ("all", "near", "far"))] for name, each in by_name.items()
    ]
    opened = f"The machine took {time(found.opened_s)} to open."
    yield Table(
        f"Operations on {shape(found)}", OPERATIONS, rows, [OPERATIONS_MEANING, opened, flagged(found.operations)]
    )
    prices: list[list[Cell]] = [
        [function.family.title(), *(_price(function, term) for term in TERMS)] for function in found.functions
    ]
    yield Table("Prices of a superstep's accesses", PRICES, prices, [PRICES_MEANING])
    errors: list[list[Cell]] = [
        [
            function.family.title(),
            function.count,
            function.apart,
            Marked(function.average) if function.average > LIMIT else function.average,
            function.maximum,
        ]
        for function in found.functions
    ]
    yield Table("Errors of the predictions", ERRORS, errors, [ERRORS_MEANING])
    more = _more_nodes(found)
    if more:
        title = f"More nodes of {found.nodes[0]} processor{'s' * (found.nodes[0] > 1)}, computed"
        yield Table(title, MORE, more, [MORE_MEANING])


def _more_nodes(found: Nodes) -> list[list[Cell]]:
    """Return a row for each number of nodes; none if the profile lacks something that is needed for them."""
    section, made = found.to_json(), list[list[Cell]]()
    if len(found.nodes) < 2 or len(set(found.nodes)) > 1:
        return made
    for nodes in MORE_NODES:
        try:
            machine = MoreNodes(section, nodes)
        except KeyError:
            return []
        times = [*machine.reads(2, WORDS), *machine.reads(nodes - 1, WORDS)]
        made.append([nodes, steps(nodes), machine.barrier, machine.empty_superstep, *times])
    return made


def _time(row: Operation | None) -> Cell:
    return "" if row is None else judged(row.seconds, row)


def _price(function: Function, term: str) -> Cell:
    if term not in function.terms:
        return None
    at = function.terms.index(term)
    if term in function.unidentified:
        return "?"
    low, high = function.low[at], function.high[at]
    return 0.0 if low == high == 0 else Bounded(function.coefficients[at], low, high)
