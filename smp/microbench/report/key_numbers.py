"""The numbers of a profile that a reader quotes: latencies, bandwidths, misses at a time, and synchronisation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from smp._output.numbers import number, size
from smp._output.page.page import KeyFigure
from smp.profiles.profile import Profile

from ..output.format import reasons
from ..sections.bandwidth.report import processors, stream_row


def key_figures(profile: Profile) -> list[KeyFigure]:
    """Return the key figures of the sections that were measured."""
    return [*_latency(profile), *_bandwidth(profile), *_misses(profile), *_synchronisation(profile)]


def _latency(profile: Profile) -> Iterator[KeyFigure]:
    found = profile.section("latency")
    for level in found.levels if found else ():
        name = "Memory" if level.name == "DRAM" else level.name
        about = [f"{number(level.cycles)} cycles"] if level.cycles else []
        about += [f"ends at {size(level.found_bytes)}"] if level.found_bytes else []
        yield _figure(f"{name} latency", level.ns, "ns", about, "latency", level)


def _bandwidth(profile: Profile) -> Iterator[KeyFigure]:
    found = profile.section("bandwidth")
    known = processors(found) if found else []
    rows = [stream_row(found, p, "triad") for p in sorted({known[0], known[-1]} if known else (), reverse=True)]
    for row in filter(None, rows):
        name = f"Bandwidth of {row.processors} CPU{'s' * (row.processors > 1)}"
        about = ["STREAM triad", *([f"median {number(row.median_GBps)}"] if row.median_GBps else [])]
        yield _figure(name, row.GBps, "GB/s", about, "bandwidth", row)


def _misses(profile: Profile) -> Iterator[KeyFigure]:
    found = profile.section("outstanding")
    if found:
        about = ["cache misses of one CPU", f"{number(found.sustained.latency_ns)} ns one at a time"]
        yield _figure("Misses at a time", found.sustained.misses, "", about, "outstanding", found.sustained)


def _synchronisation(profile: Profile) -> Iterator[KeyFigure]:
    found = profile.section("synchronisation")
    rows = found.rows or () if found else ()
    names = {"compiled": "Barrier", "superstep": "Empty superstep", "store": "Hand-over of a line"}
    for what, name in names.items():
        mine = [row for row in rows if row.what == what]
        if mine:
            row = max(mine, key=lambda row: row.processors)
            about = [f"{row.processors} processor{'s' * (row.processors > 1)}"]
            if row.minimum_ns is not None and row.p95_ns is not None:
                about.append(f"{number(row.minimum_ns)} to {number(row.p95_ns)} ns")
            yield _figure(name, row.ns, "ns", about, "synchronisation", row)


def _figure(name: str, value: float, unit: str, about: list[str], section: str, record: Any) -> KeyFigure:
    why = reasons(record) if record.valid is False else ""
    return KeyFigure(name, number(value), unit, about, section, why, value)
