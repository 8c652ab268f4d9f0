"""The result of a section in a sentence, for the page. Programs and streams have a line of their own for it."""

from __future__ import annotations

from typing import Any

from smp._output.numbers import number, size
from smp.profiles.profile import Profile

from ..sections import SECTIONS
from ..sections.access.report import word_costs
from ..sections.bandwidth.report import processors, speedup, stream_row
from ..sections.synchronisation.facts import barriers
from .first_screen import PROGRAMS, STREAMS


def result(profile: Profile, name: str) -> str:
    """Return the result of a section that was measured; empty if there is none to quote."""
    found = profile.section(name)
    if name in OWN:
        return OWN[name](profile, found)
    said = SECTIONS[name].part("report", "line")(found) if name in (*PROGRAMS, *STREAMS, "placement") else None
    return said[1] if said else ""


def _latency(profile: Profile, found: Any) -> str:
    levels = [
        f"{number(one.ns)} ns from {'memory' if one.name == 'DRAM' else one.name}"
        + (f" (up to {size(one.found_bytes)})" if one.found_bytes else "")
        for one in found.levels
    ]
    return f"A load that waits for the one before takes {', '.join(levels)}." if levels else ""


def _bandwidth(profile: Profile, found: Any) -> str:
    row = stream_row(found, max(processors(found), default=0), "triad")
    if row is None:
        return ""
    times = speedup(found, row) if row.processors > 1 else None
    one = f", {times:.2f} times as much as one of them" if times else ""
    return f"STREAM's triad moves {number(row.GBps)} GB/s with {_processors(row.processors)}{one}."


def _synchronisation(profile: Profile, found: Any) -> str:
    rows = barriers(found)
    if not rows:
        return ""
    p, times, _ = rows[-1]
    ways = zip(times, ("in compiled code", "from Python"), strict=True)
    said = " and ".join(f"{number(ns)} ns {how}" for ns, how in ways if ns is not None)
    line = found.handoff_store_ns
    line_said = f" A cache line goes from one processor to another in {number(line)} ns." if line is not None else ""
    return f"A barrier of {_processors(p)} takes {said}.{line_said}"


def _access(profile: Profile, found: Any) -> str:
    costs = word_costs(profile, found) if found.functions else []
    most = max((one.p for one in costs), default=0)
    known = {one.family: one.measured for one in costs if one.p == most and one.measured is not None}
    said = ", ".join(f"{number(ns)} ns if the accesses are {family}" for family, ns in known.items())
    return f"With {_processors(most)}, a word costs {said}." if said else ""


def _processors(p: int) -> str:
    return f"{p} processor{'s' * (p != 1)}"


OWN = {
    "latency": _latency,
    "bandwidth": _bandwidth,
    "synchronisation": _synchronisation,
    "access": _access,
}
