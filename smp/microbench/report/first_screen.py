"""The first screen of the report: the answers.

conditions       what was measured, and how quiet it was
latency          of each level, and its knee            bandwidth and synchronisation beside it
shared memory    Good, Bad and Random, measured and predicted
programs         one superstep, the best list ranking, the sorts, relaxation
streams          a line for each section on cells and streams
footnotes        what is not valid, and why
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..output.format import Data, Notes, number, percent, table
from ..sections.access.report import cost_table, example, word_costs
from ..sections.bandwidth.report import processors, stream_row
from ..sections.chain import report as chain_report
from ..sections.fine import report
from ..sections.instruction import report as report_instruction
from ..sections.latency.report import LEVEL_HEADERS, level_rows, page_walk
from ..sections.lists.report import best, describe_best, describe_step
from ..sections.outstanding import report as report_outstanding
from ..sections.polling import report as report_polling
from ..sections.programs.report import few
from ..sections.retries import report as report_retries
from ..sections.sorting import report as report_sorting
from ..sections.stencil import report as report_stencil
from ..sections.synchronisation.report import barriers, operations
from ..sections.threads import report as report_threads
from ..sections.waking import report as report_waking

LINES = {
    "instruction": report_instruction.line,
    "retries": report_retries.line,
    "waking": report_waking.line,
    "chain": chain_report.line,
    "threads": report_threads.line,
    "outstanding": report_outstanding.line,
    "polling": report_polling.line,
    "fine": report.line,
}
"""Section of the profile -> what makes its line of it."""
LONG = 190
"""Characters of a footnote; the sections have the reasons in full."""


def summary(profile: Data) -> Group:
    """Return the first screen; what was not measured is left out."""
    notes = Notes()
    parts: list[RenderableType] = [facts(_conditions(profile)), Text()]
    left = [*_latency(profile, notes), *_bandwidth(profile, notes)]
    beside = [Group(*part) for part in (left, [*_synchronisation(profile, notes)]) if part]
    if beside:
        parts.append(Columns(beside, padding=(0, 4)))
    access = profile.get("access") or {}
    costs = word_costs(profile) if access.get("functions") else []
    if costs:
        shown = few(sorted({row["p"] for row in costs}))
        costs = [row for row in costs if row["p"] in shown]
        parts += [cost_table(costs, notes.section("access patterns", access)), Text()]
    programs = [*_programs(profile, notes)]
    if programs:
        parts += [facts(programs), Text()]
    streams = [*_streams(profile, notes)]
    if streams:
        parts += [facts(streams), Text()]
    parts += [Text(textwrap.shorten(line, LONG, placeholder=" ...")) for line in notes.lines()]
    return Group(*parts)


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names, and what there is to say of each beside it."""
    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column()
    for name, text in rows:
        made.add_row(Text(name, style="bold"), Text(text))
    return made


def _conditions(profile: Data) -> Iterator[tuple[str, str]]:
    machine, conditions = profile.get("machine") or {}, profile.get("conditions") or {}
    virtual = machine.get("virtual")
    kind = "virtual or not: not told" if virtual is None else "virtual" if virtual else "not virtual"
    cpus = machine.get("cpus", "?")
    yield "Machine", f"{machine.get('cpu', 'unknown')}, {cpus} CPU{'s' * (cpus != 1)}, {kind}"
    if machine.get("clock_GHz") and math.isfinite(machine["clock_GHz"]):
        source = re.sub(r"\s*\([^)]*\)", "", str(machine.get("clock_source", "source not told")))
        yield "Clock", f"{number(machine['clock_GHz'])} GHz ({source})"
    said = []
    for name, key in (("stolen time", "stolen_fraction"), ("clean measurements", "clean_fraction")):
        value = conditions.get(key)
        said.append(f"{name} {'not told' if value is None else percent(value) + '%'}")
    load = conditions.get("load_before")
    said.append(f"load before {'not told' if load is None else f'{load:.2f}'}")
    yield "Conditions", ", ".join(said)
    length = f"{conditions.get('mode', '?')}, {number(conditions.get('seconds'))} s, seed {conditions.get('seed', '?')}"
    ended = "; INTERRUPTED: the rest was not measured" if conditions.get("interrupted") else ""
    yield "Measured", f"{length}, {profile.get('created', 'date not told')}, smp {profile.get('smp', '?')}{ended}"


def _latency(profile: Data, notes: Notes) -> Iterator[RenderableType]:
    data = profile.get("latency") or {}
    rows = level_rows(data)
    walk, row = page_walk(data)
    if walk:
        rows.append([f"page walk{notes.number('page walk', row)}", *walk])
    if rows:
        yield table(LEVEL_HEADERS, rows, title=f"Memory latency{notes.section('latency', data)}")
        yield Text()


def _bandwidth(profile: Data, notes: Notes) -> Iterator[RenderableType]:
    data = profile.get("bandwidth") or {}
    known = processors(data)
    rows = []
    for p in known if len(known) < 2 else (known[0], known[-1]):
        chosen = [stream_row(data, p, kernel) for kernel in ("copy", "triad")]
        marks = {notes.number(f"{row.get('kernel')}, p = {p}", row) for row in chosen}
        rows.append([f"{p}{max(marks)}", *(number(row.get("GBps")) for row in chosen)])
    if rows:
        title = f"Bandwidth, STREAM{notes.section('bandwidth', data)}"
        yield table(("processors", "copy GB/s", "triad GB/s"), rows, title=title)
        yield Text()


def _synchronisation(profile: Data, notes: Notes) -> Iterator[RenderableType]:
    data = profile.get("synchronisation") or {}
    rows = [[f"{name}{notes.number(name.strip(), row)}", number(ns), ""] for name, ns, row in operations(data)]
    for p, ns, row in few(barriers(data)):
        name = f"barrier, p = {p}"
        rows.append([name + notes.number(name, row), *map(number, ns)])
    if rows:
        title = f"Synchronisation{notes.section('synchronisation', data)}"
        yield table(("", "ns", "Python ns"), rows, title=title)
        yield Text()


def _programs(profile: Data, notes: Notes) -> Iterator[tuple[str, str]]:
    lists = profile.get("lists") or {}
    superstep = describe_step(lists["superstep"]) if lists.get("superstep") else example(profile)
    if superstep:
        yield f"One superstep{notes.section('access patterns', profile.get('access') or {})}", superstep
    fastest = best(lists)
    if fastest:
        yield f"List ranking{notes.section('list ranking', lists)}", describe_best(fastest, lists)
    for heading, name, describe in (
        ("Sorting", "sorting", report_sorting.describe),
        ("Relaxation", "stencil", report_stencil.describe),
    ):
        data = profile.get(name) or {}
        said = describe(data)
        if said:
            yield f"{heading}{notes.section(heading.lower(), data)}", said


def _streams(profile: Data, notes: Notes) -> Iterator[tuple[str, str]]:
    for name, line in LINES.items():
        data = profile.get(name) or {}
        said = line(data)
        if said:
            heading, text = said
            yield f"{heading}{notes.section(heading.lower(), data)}", text
