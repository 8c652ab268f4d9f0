"""The report's section on polling: how far a bandwidth-bound stream slows down while others poll an empty cell."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from smp.microbench.output.format import NONE, Data, count, flag, flagged, number, section, size, table, time

PLACES = {"apart": "on other CPUs", "beside": "on its own CPU"}


def polling(profile: Data) -> Group:
    """Return the section of a profile in which the cost of polling was measured."""
    return section("Polling", profile["polling"], _parts(profile["polling"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    ever = {place: most_pollers(data, place, None) for place in PLACES}
    said = [
        f"{_times(row)} by {row['pollers']} that poll for ever {PLACES[place]}" for place, row in ever.items() if row
    ]
    if not said:
        return None
    trapped = most_pollers(data, "beside", 1024)
    if trapped:
        said.append(f"{_times(trapped)} by {trapped['pollers']} there that trap after 1,024 looks")
    return "Polling", f"triad slows down {', '.join(said)}"


def _times(row: Data) -> str:
    return f"{row['slowdown']:.2f} times{' (not valid)' if flag(row) else ''}"


def most_pollers(data: Data, place: str, limit: int | None) -> Data | None:
    """Return the row of the most pollers in a place, with that limit; None where there is none."""
    rows = [row for row in data.get("rows", []) if row["pollers"] and (row["place"], row["limit"]) == (place, limit)]
    return max(rows, key=lambda row: row["pollers"], default=None)


def title_of(limit: int | None) -> str:
    """Return a limit in words.

    Examples
    --------
    >>> [title_of(limit) for limit in (0, 1024, None)]
    ['0', '1,024', 'for ever']
    """
    return "for ever" if limit is None else count(limit)


def _parts(data: Data) -> Iterator[RenderableType]:
    for place, where in PLACES.items():
        rows = [row for row in data["rows"] if row["place"] == place]
        if not rows:
            continue
        cells = [
            [
                f"{row['pollers']}{flag(row)}",
                title_of(row["limit"]) if row["pollers"] else NONE,
                *(number(row[name]) for name in ("GBps", "ns")),
                f"{row['slowdown']:.3f}",
                *(number(row[name]) for name in ("retries", "traps")),
                f"{row['windows']}",
            ]
            for row in sorted(rows, key=lambda row: (row["pollers"], _order(row["limit"])))
        ]
        cpus = data.get("poller_cpus", 1)
        shared = f" ({cpus} CPU{'s' * (cpus > 1)}, shared by turns where there are more)" if place == "apart" else ""
        yield table(
            (
                "pollers",
                "looks\nuntil trap",
                "triad\nGB/s",
                "median\nns",
                "slow-\ndown",
                "looks of\nall",
                "traps",
                "visits",
            ),
            cells,
            title=f"Triad on one CPU while others wait for an empty cell {where}{shared}",
            caption="\n".join(filter(None, (f"three arrays of {size(data.get('array_bytes'))}", flagged(rows)))),
        )
    if data.get("look_ns"):
        held = time(1024 * data["look_ns"] / 1e9)
        yield Text(
            f"A look takes about {number(data['look_ns'])} ns: a wait that traps after 1,024 holds its CPU for {held}, "
            "and costs nothing then.\nAll waits begin before triad does: what is shown is who still polls."
        )


def _order(limit: int | None) -> float:
    return float("inf") if limit is None else limit
