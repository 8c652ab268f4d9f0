"""The report's section on loads under way: chains in one thread, groups of loads by streams, and what bounds them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from smp.microbench.output.format import NONE, Data, Rows, flag, flagged, number, section, size, table

ORDERS = {"far": "anywhere", "near": "next word"}
Series = tuple[str, int, int]
"""Order, work, CPUs."""


def outstanding(profile: Data) -> Group:
    """Return the section of a profile in which loads under way were measured."""
    return section("Loads under way", profile["outstanding"], _parts(profile["outstanding"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    found = data.get("sustained")
    if not found:
        return None
    text = f"a core sustains {misses(found)} ({_chains(found)})"
    gain = gain_of_streams(data, 1)
    return "Loads under way", text if gain is None else f"{text}; streams that share it gain {gain:.2f} times"


def misses(found: Data) -> str:
    """Return how many misses a core sustains: at least so many where further chains might have gained more.

    Examples
    --------
    >>> misses({"misses": 41.5, "flat": True}), misses({"misses": 28.9})
    ('41.5 misses', 'at least 28.9 misses')
    """
    return f"{'' if found.get('flat') else 'at least '}{number(found['misses'])} misses"


def gain_of_streams(data: Data, cpus: int) -> float | None:
    """Return the best far bandwidth without work of several streams over that of one; None where not measured."""
    rows = data.get("saturation") or []
    found = (row["gain"] for row in rows if (row["order"], row["work"], row["cpus"]) == ("far", 0, cpus))
    return next(found, None)


def series(rows: Rows) -> dict[Series, list[Data]]:
    """Return the rows of each order, work and number of CPUs."""
    found: dict[Series, list[Data]] = {}
    for row in rows:
        found.setdefault((row["order"], row["work"], row["cpus"]), []).append(row)
    return found


def _chains(found: Data) -> str:
    one, best = number(found["latency_ns"]), number(found["best_ns"])
    return f"{one} ns a load in one chain, {best} at best; {found['knee_chains']} chains come within 10%"


def _parts(data: Data) -> Iterator[RenderableType]:
    if data.get("chains"):
        yield _chain_table(data)
    if data.get("groups"):
        yield _group_table(data)
    if data.get("saturation"):
        yield _saturation_table(data["saturation"])
    yield Text("\n".join(bounds(data)))


def bounds(data: Data) -> list[str]:
    """Return what bounds the bandwidth, in sentences with their numbers."""
    said = []
    found = data.get("sustained")
    if found:
        said.append(f"Chains: a core sustains {misses(found)}, {_chains(found)}.")
        if not found.get("flat"):
            said.append("The last doubling of the chains still gained, so the core may sustain more misses than that.")
    for cpus in sorted({row["cpus"] for row in data.get("groups", [])}):
        mine = series(data["groups"]).get(("far", 0, cpus), [])
        alone = {row["depth"]: row["ns"] for row in mine if row["streams"] == 1}
        if cpus == 1 and alone:
            depth = max(alone)
            gain = alone[min(alone)] / alone[depth]
            said.append(f"Depth: groups of {depth} far loads take {number(gain)} times less a load than single ones.")
        gained = gain_of_streams(data, cpus)
        if gained is not None and cpus == 1:
            said.append(
                f"Streams on one CPU: {gained:.2f} times one stream. They take turns, so the misses of one do not "
                "overlap those of another:\nlatency and depth bound the bandwidth, and no number of streams hides it."
            )
        elif gained is not None:
            said.append(f"Streams on {cpus} CPUs: {gained:.2f} times one stream; each CPU has misses of its own.")
    return said


def _chain_table(data: Data) -> RenderableType:
    latency = data["sustained"]["latency_ns"]
    times = ("ns", "cycles", "minimum_ns", "p95_ns")
    cells = [
        [f"{row['chains']}{flag(row)}", *(number(row.get(name)) for name in times), number(latency / row["ns"])]
        for row in data["chains"]
    ]
    huge = data.get("huge_bytes") or 0
    pages = "huge pages" if huge >= data["bytes"] else f"{size(huge)} of it in huge pages"
    title = f"Chains in one thread, through {size(data['bytes'])} ({pages})"
    headers = ("chains", "median\nns a load", "\ncycles", "minimum\nns", "p95\nns", "misses\nunder way")
    remarks = (data.get("capped"), flagged(data["chains"]))
    return table(headers, cells, title=title, caption="\n".join(filter(None, remarks)))


def _group_table(data: Data) -> RenderableType:
    depths = sorted({row["depth"] for row in data["groups"]})
    cells = []
    for (order, work, cpus), rows in series(data["groups"]).items():
        counts = {row["streams"] for row in rows}
        for streams in sorted({min(counts), max(counts)}):
            by_depth = {row["depth"]: row for row in rows if row["streams"] == streams}
            rates = [_rate(by_depth[depth]) if depth in by_depth else NONE for depth in depths]
            cells.append([ORDERS[order], str(work), str(cpus), str(streams), *rates])
    headers = ("loads go to", "work", "CPUs", "streams", *(f"depth {depth}" for depth in depths))
    meaning = "anywhere: a line each load; next word: a word each load. The profile has the streams between."
    title = "Bandwidth of groups of loads by depth, each followed by work on its words (GB/s)"
    return table(headers, cells, title=title, caption="\n".join(filter(None, (meaning, flagged(data["groups"])))))


def _rate(row: Data) -> str:
    return number(row["GBps"]) + flag(row)


def _saturation_table(rows: Rows) -> RenderableType:
    cells = [
        [ORDERS[row["order"]], str(row["work"]), str(row["cpus"]), number(row["best_GBps"])]
        + [str(row[name]) for name in ("best_streams", "best_depth", "enough_streams")]
        + [f"{row['gain']:.2f}"]
        for row in rows
    ]
    headers = (
        "loads go to",
        "work",
        "CPUs",
        "best\nGB/s",
        "at\nstreams",
        "at\ndepth",
        "streams\nwithin 5%",
        "best over\none stream",
    )
    return table(headers, cells, title="What is enough for the best bandwidth")
