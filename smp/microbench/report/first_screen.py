"""The first screen of the report, with the most important answers.

conditions       the machine, the measurement, and how quiet it was
latency          of each level, and its knee            next to it bandwidth and synchronisation
shared memory    Good, Bad and Random, measured and predicted
programs         one superstep, the best list ranking, the sorts, relaxation
streams          a line for each section on cells and streams
footnotes        the results that are not valid, and the reasons
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from smp._output.numbers import fixed, number, percent, size
from smp._output.table import Cell, Column, Marked, Part, Plain, Table, counted, text
from smp.profiles.profile import Profile

from ..output.format import UNKNOWN, few, reasons
from ..sections import SECTIONS
from ..sections.access.report import cost_table, example, word_costs
from ..sections.bandwidth.report import processors, stream_row
from ..sections.latency.report import LEVELS, level_rows, page_walk
from ..sections.lists.report import describe_step
from ..sections.synchronisation.facts import barriers, operations

PROGRAMS = ("lists", "sorting", "stencil", "nodes", "node_programs")
STREAMS = ("instruction", "retries", "waking", "chain", "threads", "outstanding", "polling", "fine", "messages")
"""Sections with one line each."""
LONG = 190
"""Most characters of a footnote; the sections have the reasons in full."""


class Notes:
    """Footnotes on results that are not valid, with the reasons.

    The footnotes of sections are numbered in the order of their marks.  Single numbers, marked !, share the last
    footnote.
    """

    def __init__(self) -> None:
        self._sections: list[str] = []
        self._numbers: dict[str, list[str]] = {}

    def section(self, name: str, record: Any) -> str:
        """Return the mark of a section, with a blank before it; empty for a valid section."""
        if record is None or record.valid is not False:
            return ""
        said = f"{name} not valid: {reasons(record)}"
        if said not in self._sections:
            self._sections.append(said)
        return f" [{self._sections.index(said) + 1}]"

    def cell(self, value: Plain, name: str, *records: Any) -> Cell:
        """Return a value, marked if one of its records is not valid."""
        bad = [record for record in records if record is not None and record.valid is False]
        for record in bad:
            self._numbers.setdefault((record.why or [UNKNOWN])[0], []).append(name)
        return Marked(value, "!", tuple(bad[0].why or ())) if bad else value

    def lines(self) -> list[str]:
        """Return the footnotes."""
        lines = [f"[{i}] {text}" for i, text in enumerate(self._sections, 1)]
        numbers = "; ".join(f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in self._numbers.items())
        return lines + ([f"! not valid: {numbers}"] if numbers else [])


def summary(profile: Profile) -> Part:
    """Return the first screen; sections that were not measured are left out."""
    notes = Notes()
    answers = [*_latency(profile, notes), *_bandwidth(profile, notes)]
    made = [_facts(_conditions(profile)), *answers, *_synchronisation(profile, notes, len(answers))]
    access = profile.section("access")
    costs = word_costs(profile, access) if access and access.functions else []
    shown = few(sorted({row.p for row in costs}))
    if costs:
        sign = notes.section("access patterns", access)
        made.append(cost_table([row for row in costs if row.p in shown], sign))
    made += [_facts(found) for found in ([*_programs(profile, notes)], [*_lines(profile, notes, STREAMS)]) if found]
    made.append(Table(notes=[textwrap.shorten(line, LONG, placeholder=" ...") for line in notes.lines()]))
    return Part("", [table for table in made if table.columns or table.notes])


def _facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table with a name and a text in each row."""
    return Table(columns=(text(), text()), rows=list(rows))


def _conditions(profile: Profile) -> Iterator[tuple[str, str]]:
    machine, conditions = profile.data.get("machine") or {}, profile.data.get("conditions") or {}
    virtual = machine.get("virtual")
    kind = "virtual or not: not known" if virtual is None else "virtual" if virtual else "not virtual"
    cpus = machine.get("cpus", "?")
    yield "Machine", f"{machine.get('cpu', 'unknown')}, {cpus} CPU{'s' * (cpus != 1)}, {kind}"
    if machine.get("clock_GHz") and math.isfinite(machine["clock_GHz"]):
        source = re.sub(r"\s*\([^)]*\)", "", str(machine.get("clock_source", "source not known")))
        yield "Clock", f"{number(machine['clock_GHz'])} GHz ({source})"
    if system := _system(profile.data.get("facts") or {}):
        yield "System", system
    looks = {when: (conditions.get(when) or {}).get("busy") for when in ("before", "after")}
    said = ["quiet before and after"] if all(busy == [] for busy in looks.values()) else []
    for name, key in (("stolen time", "stolen_fraction"), ("clean measurements", "clean_fraction")):
        value = conditions.get(key)
        said.append(f"{name} {'not known' if value is None else percent(value) + '%'}")
    load = conditions.get("load_before")
    said.append(f"load before {'not known' if load is None else fixed(load)}")
    yield "Conditions", ", ".join(said)
    if busy := [f"{when}: {why[0]}" for when, why in looks.items() if why]:
        yield "BUSY", "; ".join(busy)
    found = profile.section("placement")
    placed = found and SECTIONS["placement"].part("report", "line")(found)
    if placed:
        yield placed
    length = f"{conditions.get('mode', '?')}, {number(conditions.get('seconds'))} s, seed {conditions.get('seed', '?')}"
    unfinished = profile.data.get("unfinished") or {}
    missing = [name for name in unfinished.get("sections", ()) if name not in unfinished["done"]]
    ended = ""
    if conditions.get("interrupted"):
        ended = "; INTERRUPTED: the rest was not measured"
    elif missing and conditions.get("budget_s"):
        ended = f"; NOT COMPLETE in {conditions['budget_s']:g} s: {', '.join(missing)}"
    created, version = profile.data.get("created", "date not known"), profile.data.get("smp", "?")
    if conditions.get("ranks"):
        yield "Machine of MPI", conditions["ranks"]
    yield "Measured", f"{length}, {created}, smp {version}{ended}"


def _system(facts: Mapping[str, Any]) -> str:
    """Return the facts that figures depend on most, as far as they are known; the end of the report lists all facts."""
    free, boost, smt = facts.get("available_bytes"), facts.get("boost"), facts.get("smt")
    said = (
        ("Linux ", facts.get("kernel")),
        ("free memory ", free and size(free)),
        ("huge pages ", facts.get("huge_private")),
        ("shared ", facts.get("huge_shared")),
        ("governor ", facts.get("governor")),
        ("boost ", None if boost is None else "on" if boost else "off"),
        ("SMT ", smt if smt in ("on", "off") else None),
        ("CPU quota ", facts.get("quota_cpus") and number(facts["quota_cpus"])),
    )
    return ", ".join(f"{name}{value}" for name, value in said if value)


def _latency(profile: Profile, notes: Notes) -> Iterator[Table]:
    found = profile.section("latency")
    rows = level_rows(found, lambda name, record: notes.cell(name, name, record)) if found else []
    walk = page_walk(found) if found else None
    if walk:
        shown = (walk.ns, walk.cycles) if walk.ns >= 0 else (None, None)  # a difference of two loads: noise if negative
        rows.append([notes.cell("page walk", "page walk", walk), *shown, None, None])
    if rows:
        yield Table(f"Memory latency{notes.section('latency', found)}", LEVELS, rows)


def _bandwidth(profile: Profile, notes: Notes) -> Iterator[Table]:
    found = profile.section("bandwidth")
    known = processors(found) if found else []
    rows: list[list[Any]] = []
    for p in known if len(known) < 2 else (known[0], known[-1]):
        ran = {kernel: stream_row(found, p, kernel) for kernel in ("copy", "triad")}
        rows.append([p, *(row and notes.cell(row.GBps, f"{name}, p = {p}", row) for name, row in ran.items())])
    if rows:
        columns = (counted("processors"), Column("copy", "GB/s"), Column("triad", "GB/s"))
        yield Table(f"Bandwidth, STREAM{notes.section('bandwidth', found)}", columns, rows)


def _synchronisation(profile: Profile, notes: Notes, beside: int) -> Iterator[Table]:
    found = profile.section("synchronisation")
    if found is None:
        return
    rows = [[notes.cell(name, name.strip(), row), ns, ""] for name, ns, row in operations(found)]
    for p, ns, row in few(barriers(found)):
        name = f"barrier, p = {p}"
        rows.append([notes.cell(name, name, row), *ns])
    if rows:
        columns = (text(), Column("", "ns"), Column("Python", "ns"))
        yield Table(f"Synchronisation{notes.section('synchronisation', found)}", columns, rows, beside=beside)


def _programs(profile: Profile, notes: Notes) -> Iterator[tuple[str, str]]:
    lists, access = profile.section("lists"), profile.section("access")
    if lists and lists.superstep:
        superstep = describe_step(lists.superstep)
    else:
        superstep = example(profile, access) if access else ""
    if superstep:
        yield f"One superstep{notes.section('access patterns', access)}", superstep
    yield from _lines(profile, notes, PROGRAMS)


def _lines(profile: Profile, notes: Notes, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield a heading and a line for each section that has one; predictions also carry the mark of ``access``."""
    access = profile.section("access")
    for name in names:
        found = profile.section(name)
        said = found and SECTIONS[name].part("report", "line")(found)
        if said:
            heading, line = said
            marks = notes.section(heading.lower(), found)
            if SECTIONS[name].predicted:
                marks += notes.section("access patterns", access)
            yield f"{heading}{marks}", line
