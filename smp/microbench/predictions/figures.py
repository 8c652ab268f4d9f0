"""The figures of a profile, each by itself: what can be compared with the same of another machine.

("latency", "random order, 64 KiB", "ns")  ->  Figure: the value, whether more is better, whether it is valid
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from smp._output.numbers import count, size
from smp.errors import ProfileError
from smp.profiles.profile import BEST, Profile

from ..output.format import Data
from ..sections.bandwidth.report import KERNELS
from ..sections.lists.report import title_of
from ..sections.synchronisation.report import barriers, operations
from .report_impact import meaning

FAMILIES = ("good", "bad", "random")
WORDS = (10_000, 1_000_000)
"""Words that each processor reads, and writes as many, where whole cost functions are compared."""


Key = tuple[str, str, str]


class Figure(NamedTuple):
    """One number of a profile.

    Attributes
    ----------
    section, what, unit : str
    value : float
    more_is_better : bool
    valid : bool
    """

    section: str
    what: str
    unit: str
    value: float
    more_is_better: bool = False
    valid: bool = True


def figures_of(profile: Profile) -> dict[Key, Figure]:
    """Return the figures that a profile has, by section, what they are and their unit."""
    made = (figure for figures in _FIGURES for figure in figures(profile))
    return {(figure.section, figure.what, figure.unit): figure for figure in made}


def _latency(profile: Profile) -> Iterator[Figure]:
    data = profile.data.get("latency") or {}
    pages = ", huge pages" if data.get("levels_from") == "huge" else ""
    for level in data.get("levels", []):
        yield Figure("latency", f"{level['name']}{pages}", "ns", level["ns"])
    for row in data.get("random", []):
        yield Figure("latency", f"random order, {size(row['bytes'])}", "ns", row["ns"], valid=_valid(row))


def _bandwidth(profile: Profile) -> Iterator[Figure]:
    rows = (profile.data.get("bandwidth") or {}).get("stream", [])
    for row in sorted(rows, key=lambda row: (row["processors"], KERNELS.index(row["kernel"]))):
        what = f"{row['kernel']}, p = {row['processors']}"
        yield Figure("bandwidth", what, "GB/s", row["GBps"], more_is_better=True, valid=_valid(row))


def _synchronisation(profile: Profile) -> Iterator[Figure]:
    data = profile.data.get("synchronisation") or {}
    found = profile.section("synchronisation")
    for what, ns, op in operations(found) if found else ():
        valid = op is None or op.valid is not False
        yield Figure("synchronisation", what.replace("  by", "line handed over by"), "ns", ns, valid=valid)
    for p, (compiled, python), bad in barriers(found) if found else ():
        for how, each in (("compiled", compiled), ("from Python", python)):
            if each is not None:
                yield Figure("synchronisation", f"barrier {how}, p = {p}", "ns", each, valid=bad is None)
    for p, us in (data.get("superstep_us") or {}).items():
        yield Figure("synchronisation", f"empty superstep, p = {p}", "ns", us * 1e3)


def _access(profile: Profile) -> Iterator[Figure]:
    """What a word costs in each family, and the coefficients that the measurements tell apart."""
    try:
        processors = profile.processors
    except ProfileError:
        return
    for p in processors:
        for family in FAMILIES:
            try:
                function = profile.function(family, p)
            except ProfileError:
                continue
            for words in WORDS:
                seconds = float(profile.predict(family, p, words, words, 2 * p * words)[0])
                what = f"{family}, {count(words)} words, p = {p}"
                yield Figure("access", what, "ns/word", seconds / (2 * words) * 1e9)
            if function["name"] != BEST[family]:
                continue
            for term, price in zip(function["terms"], function["coefficients"], strict=True):
                if term not in (function.get("unidentified") or ()):
                    unit, scale = ("us", 1e6) if term == "L" else ("ns", 1e9)
                    yield Figure("access", f"{family}: {meaning(term, profile)}, p = {p}", unit, price * scale)


def _lists(profile: Profile) -> Iterator[Figure]:
    data = profile.data.get("lists") or {}
    for name, rows in (("serial loop", "serial"), ("fast form", "fast")):
        for row in data.get(rows, []):
            yield Figure("lists", f"{name}, n = {count(row['n'])}", "ns/node", row["ns_per_element"])
    yield from _runs("lists", "node", data, "ns_per_element")


def _sorting(profile: Profile) -> Iterator[Figure]:
    data = profile.data.get("sorting") or {}
    for row in data.get("forms", []):
        name = "NumPy" if row["form"] == "numpy" else f"{row['form']} form"
        yield Figure("sorting", f"{name}, n = {count(row['n'])}", "ns/key", row["ns_per_element"])
    yield from _runs("sorting", "key", data, "ns_per_element")


def _stencil(profile: Profile) -> Iterator[Figure]:
    data = profile.data.get("stencil") or {}
    for row in data.get("forms", []):
        yield Figure("stencil", f"{row['form']}, {_grid(row)}", "ns/cell", row["ns_per_cell"])
    for row in data.get("rows", []):
        what = f"{row['layout']} {row['blocks']}, {_grid(row)}, p = {row['p']}"
        yield Figure("stencil", what, "ns/cell", row["ns_per_cell"])


def _runs(section: str, unit: str, data: Data, value: str) -> Iterator[Figure]:
    for row in data.get("rows", []):
        name = title_of(row["algorithm"]) if section == "lists" else f"{row['algorithm']} sort"
        yield Figure(section, f"{name}, n = {count(row['n'])}, p = {row['p']}", f"ns/{unit}", row[value])


def _grid(row: Data) -> str:
    return f"{count(row['rows'])} x {count(row['columns'])}"


def _valid(row: Data) -> bool:
    return row.get("valid") is not False


SECTIONS = {
    "latency": "memory latency",
    "bandwidth": "bandwidth",
    "synchronisation": "synchronisation",
    "access": "cost functions",
    "lists": "list ranking",
    "sorting": "sorting",
    "stencil": "relaxation",
}
"""Section of a profile -> what it is called."""
_FIGURES = (_latency, _bandwidth, _synchronisation, _access, _lists, _sorting, _stencil)
