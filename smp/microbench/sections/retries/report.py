"""The report's section on retries: what a wait counts before it traps, and how long that takes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import Data, count, flag, flagged, number, section, table, time


def retries(profile: Data) -> Group:
    """Return the section of a profile in which retries were counted."""
    return section("Retries before a trap", profile["retries"], _parts(profile["retries"]))


def line(data: Data) -> tuple[str, str] | None:
    """Return what the first screen says of the section: a heading and a sentence."""
    rows = data.get("rows") or []
    if not rows:
        return None
    wrong = [row for row in rows if not row["equal"]]
    limits = ", ".join(count(row["limit"]) for row in wrong)
    said = f"NOT as set for the limits {limits}" if wrong else "as many as set"
    look = data["look_ns"]
    return "Retries", f"{said}; a look takes {number(look)} ns, the Tera's 1,024 of them {time(1024e-9 * look)}"


def _parts(data: Data) -> Iterator[RenderableType]:
    rows = data["rows"]
    cells = [
        [
            count(row["limit"]) + flag(row),
            *(count(row[name]) for name in ("counted_least", "counted_most", "waits")),
            "yes" if row["equal"] else "NO",
            *(number(row[name] / 1e3) for name in ("ns", "minimum_ns", "p95_ns")),
            str(row["windows"]),
        ]
        for row in rows
    ]
    yield table(
        (
            "limit",
            "counted\nleast",
            "\nmost",
            "\nwaits",
            "as\nset",
            "until the trap\nmedian us",
            "min.\nus",
            "p95\nus",
            "\nwaits",
        ),
        cells,
        title="Retries that a waiting stream counts before it traps (after figure 7)",
        caption="\n".join(
            filter(
                None,
                (
                    "until the trap: from Python, withdrawing included;\n"
                    f"a look takes {number(data['look_ns'])} ns: what the longest adds to the first, by its looks",
                    flagged(rows),
                ),
            )
        ),
    )
