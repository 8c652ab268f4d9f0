"""The report's section on list ranking: time an element, speed-up, and where each run lies in its interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType

from smp.microbench.output.format import Data, Rows, by_streams, count, number, section, table, time
from smp.models.supersteps.locality import SMALL

from ..programs import report as programs
from ..programs.report import INTERVAL_HEADERS, TIMES, each, interval_cells, ratio
from .facts import title_of as title_of

HEADERS = ("algorithm", "n", "p", "run\nns", "speed-\nup")
STEP_HEADERS = (
    "algorithm",
    "step",
    "n",
    "p",
    "M",
    "local\nms",
    "took\nms",
    "good\nms",
    "bad\nms",
    "random\nms",
    "Loc",
    "M/G",
)
MEANING = "run: the whole; speed-up: over the serial loop. fast form: rank_list, by streams of one process."
INTERVAL = f"steps: all supersteps of the run, as good, bad and random predict them.\n{programs.MEANING}"
STEP_MEANING = "took: copy-in and copy-out, as good, bad and random predict them. local: the computation between them."


def list_ranking(profile: Data) -> Group:
    """Return the section of a profile in which lists were ranked."""
    return section("List ranking", profile["lists"], _parts(profile, profile["lists"]))


def best(lists: Data) -> Data | None:
    """Return the row of the fastest run of the longest list; None where no list was ranked."""
    longest = max((row["n"] for row in lists.get("rows", [])), default=0)
    rows = [row for row in lists.get("rows", []) if row["n"] == longest]
    return min(rows, key=lambda row: row["ns_per_element"], default=None)


def describe_best(row: Data, lists: Data) -> str:
    """Return what the fastest run was, over the serial loop and in its interval."""
    serial = serial_time(lists, row["n"])
    what = f"n = {count(row['n'])}: {title_of(row['algorithm'])}, p = {row['p']}"
    text = f"{what}: {number(row['ns_per_element'])} ns an element"
    if serial is not None:
        text += f", {number(row.get('speedup'))} times as fast as the serial loop ({number(serial)} ns)"
    if row.get("inside") is not None:
        where = "inside" if row["inside"] else "outside"
        included = " with local computation" * programs.with_computation(row)
        text += f"; Loc {ratio(row.get('loc'))}, M/G {ratio(row.get('m_over_g'))}{included}, {where} its interval"
    for fast in lists.get("fast", []):
        if fast["n"] == row["n"]:
            how = f"with {by_streams(fast.get('streams'))}"
            text += f"; fast form {number(fast['ns_per_element'])} ns {how}, {number(fast.get('speedup'))} times"
    return text


def serial_time(lists: Data, n: int) -> float | None:
    """Return the ns an element of the serial loop on a list of n; None where it was not measured."""
    found = (row["ns_per_element"] for row in lists.get("serial", []) if row["n"] == n)
    return next(found, None)


def describe_step(step: Data) -> str:
    """Return what a superstep is, and how its measured and predicted times compare."""
    text = (
        f'{title_of(step["algorithm"])}, n = {count(step["n"])}, p = {step["p"]}, "{step["label"]}" '
        f"(h_r {count(step['hr'])}, h_w {count(step['hw'])}, M {count(step['m'])}): measured {time(step['measured_s'])}"
    )
    if programs.with_computation(step):
        text += ", local computation included"
    elif step.get("compute_s") is not None:
        text += f" (and {time(step['compute_s'])} of local computation)"
    if step.get("good_s") is None:
        return text
    text += f"; predicted: good {time(step['good_s'])}, bad {time(step['bad_s'])}"
    if step.get("random_s") is not None:
        text += f", random {time(step['random_s'])}"
    where = step.get("verdict") or ("inside" if step.get("inside") else "outside")
    loc, m_over_g = programs.places(step)
    return f"{text}; Loc {loc}, M/G {m_over_g}: {where}"


def _parts(profile: Data, lists: Data) -> Iterator[RenderableType]:
    order = list(dict.fromkeys(row["algorithm"] for row in lists.get("rows", [])))
    ranked = sorted(lists.get("rows", []), key=lambda row: (row["n"], row["p"], order.index(row["algorithm"])))
    rows = []
    for n in sorted({row["n"] for row in [*ranked, *lists.get("serial", [])]}):
        serial = serial_time(lists, n)
        if serial is not None:
            rows.append(["serial", count(n), "1", number(serial), number(1.0)])
        for fast in lists.get("fast", []):
            if fast["n"] == n:
                times = number(fast["ns_per_element"]), number(fast.get("speedup"))
                rows.append(["fast form", count(n), count(fast.get("streams")), *times])
        for row in (row for row in ranked if row["n"] == n):
            rows.append([*_named(row), number(row["ns_per_element"]), number(row.get("speedup"))])
    yield table(HEADERS, rows, title="Time per element (ns)", caption=MEANING)
    if programs.predicted(ranked):
        yield _intervals(profile, ranked, lists)
    worst = worst_steps(lists.get("steps", []))
    if worst:
        title = "The superstep farthest from good, of the longest list of each algorithm and p"
        yield table(STEP_HEADERS, map(_step_cells, worst), title=title, caption=STEP_MEANING, words=2)


def _intervals(profile: Data, ranked: Rows, lists: Data) -> RenderableType:
    cells = [[*_named(row), each(row, "measured_s", row["n"]), *interval_cells(row, row["n"])] for row in ranked]
    headers = ("algorithm", "n", "p", "steps\nns", *INTERVAL_HEADERS)
    caption = "\n".join([INTERVAL, *programs.remarks(profile, lists)])
    return table(headers, cells, title="Intervals, per element (ns)", caption=caption)


def worst_steps(steps: Rows) -> list[Data]:
    """Return for each algorithm and p, at its longest list, the superstep of least Loc; small ones do not count."""
    large = [step for step in steps if step.get("loc") is not None and step["m"] >= SMALL]
    found: dict[Any, Data] = {}
    for step in large:
        key = step["algorithm"], step["p"]
        known = found.get(key)
        if known is None or (step["n"], -step["loc"]) > (known["n"], -known["loc"]):
            found[key] = step
    return list(found.values())


def _named(row: Data) -> list[str]:
    return [title_of(row["algorithm"]), count(row["n"]), str(row["p"])]


def _step_cells(step: Data) -> list[str]:
    return [
        *(title_of(step["algorithm"]), step["label"], count(step["n"]), str(step["p"]), count(step["m"])),
        *(programs.milliseconds(step.get(name)) for name in ("compute_s", *TIMES)),
        *programs.places(step),
    ]
