"""The report's section on starting streams and threads, and on remapping a stream, with the accounting of it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import Data, count, flag, flagged, number, percent, section, table, time

EVENTS = {
    "bare": "a thread of Python's own starts",
    "stream": "a stream starts, with its thread",
    "thread": "a thread starts on an idle stream",
    "remap": "a waiting thread's stream is remapped",
    "at once": "  the same by a trap, no retries",
    "back": "  and back, when the other has ended",
    "next": "the next thread, when one has ended",
}
PARTS = {
    "looks": "the looks before the trap",
    "trap": "the trap (and withdrawing: upper bound)",
    "wake": "waking and switching to the other (futex)",
    "python": "its way back into Python",
    "call": "its call of a compiled loop with cells",
}


def threads(profile: Data) -> Group:
    """Return the section of a profile in which streams and threads were started."""
    return section("Threads and streams", profile["threads"], _parts(profile["threads"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    times = {row["what"]: time(row["ns"] / 1e9) for row in data.get("rows", [])}
    if not {"stream", "thread", "remap", "at once"} <= set(times):
        return None
    return (
        "Threads",
        f"a stream starts in {times['stream']}, a thread on an idle one in {times['thread']}; "
        f"remapping takes {times['remap']}, {times['at once']} by a trap",
    )


def _parts(data: Data) -> Iterator[RenderableType]:
    rows = sorted(data["rows"], key=lambda row: list(EVENTS).index(row["what"]))
    cells = [
        [
            EVENTS[row["what"]] + flag(row),
            *(number(row[f"{name}_ns"] / 1e3) for name in ("mean", "std", "minimum", "p95")),
        ]
        for row in rows
    ]
    for row, shown in zip(rows, cells, strict=True):
        shown[1:1] = [number(row["ns"] / 1e3), count(row["cycles"])]
        shown.append(count(row["windows"]))
    yield table(
        ("", "median\nus", "\nclocks", "mean\nus", "deviation\nus", "min.\nus", "p95\nus", "events"),
        cells,
        title="From the call until the thread runs (after tables 1 and 2)",
        caption=flagged(rows),
    )
    found = data["accounting"]
    total = found["total_ns"]
    parts = sorted(data["parts"], key=lambda row: list(PARTS).index(row["what"]))
    cells = [_share(PARTS[row["what"]] + flag(row), row["ns"], total, row["windows"]) for row in parts]
    cells.append(_share("not explained", total - found["explained_ns"], total, None))
    cells.append(_share("remapping in all" + flag(data["whole"]), total, total, data["whole"]["windows"]))
    yield table(
        ("part, measured by itself", "median\nus", "\n%", "events"),
        cells,
        title=f"What a remapping is made of, after {data['looks']} looks and a trap, all on one CPU (after table 3)",
        caption="\n".join(
            filter(
                None,
                (f"the parts explain {percent(found['explained'])}% of the time", flagged([*parts, data["whole"]])),
            )
        ),
    )


def _share(name: str, ns: float, total: float, events: int | None) -> list[str]:
    return [name, number(ns / 1e3), percent(ns / total), "" if events is None else count(events)]
