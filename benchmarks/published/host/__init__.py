"""This computer as an emulated machine: virtual time of programs, compared with the time that they take here.

Both are taken in one run, in neighbouring bursts.  The machine is made from the profile measured last, so measure
first: ``python -m smp.microbench --quick``.  No number of the machine is set from the programs.
"""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np

import smp
from smp._output.table import Column, Table, counted, text
from smp.profiles import Profile, ThisComputer

from ..rows import Part, Row
from .cases import FAMILIES, cases
from .timing import Times, times

SUMMARY = "this computer's programs in virtual time, and measured"
PROCESSORS = (1, 2)
COLUMNS = (
    counted("p"),
    text("program"),
    counted("size"),
    text("form"),
    Column("measured", form="time"),
    Column("virtual", form="time"),
    Column("error", "%", "fixed", digits=1, scale=100.0),
    counted("undisturbed"),
    counted("of"),
)
APART = 0.20
"""Two forms whose measured times differ by more than this are to have the same order in virtual time."""


def results(quick: bool) -> list[Part]:
    """Return the times of all programs, and whether they are as near to each other as is demanded."""
    profile = Profile.find()
    load = os.getloadavg()[0]
    found = [one for p in PROCESSORS if p <= (os.cpu_count() or 1) for one in _on(profile, p, quick)]
    known = [one for one in found if one.measured]
    notes = [
        f"made from {profile!r}",
        f"load of this computer before and after: {load:.1f}, {os.getloadavg()[0]:.1f}",
        "measured: the median of the repeats in which no processor lost its CPU, or on 1 processor, of its CPU time; "
        "without the time in which the parent makes arrays, which takes no virtual time",
        f"{len(found) - len(known)} of {len(found)} were never undisturbed, and are not compared" * (known != found),
    ]
    shown = [[one.p, one.family, one.n, one.form, one.measured, one.virtual, one.error, *one.repeats] for one in found]
    tables = [Table("Virtual and measured time", COLUMNS, shown, notes)]
    data = {"load": [load, os.getloadavg()[0]], "times": [one.as_json() for one in found]}
    return [
        Part("Programs of this computer", tables=tables, data=data),
        Part("All programs together", _demands("all programs", known)),
        *(
            Part(f"Programs of {family}", _demands(family, [one for one in known if one.family == family]))
            for family in FAMILIES
        ),
    ]


def _on(profile: Profile, p: int, quick: bool) -> list[Times]:
    with smp.host(p) as host, smp.emulated(p, machine=ThisComputer(profile), limit=1 << 40) as emulated:
        return [times(host, emulated, case, quick) for case in cases(p, quick)]


def _demands(what: str, known: list[Times]) -> list[Row]:
    """Return the rows of the errors, and of the order of forms of the same program, if any were compared."""
    errors = np.array([abs(one.error) for one in known if one.error is not None])
    rows = []
    if len(errors):
        rows += [
            Row(what, "median error", "<= 15%", float(np.median(errors)), "", "pred", high=0.15),
            Row(what, "share with an error of 30% or less", ">= 0.9", float(np.mean(errors <= 0.3)), "", "pred", 0.9),
        ]
    right = [_same_order(*pair) for pair in combinations(known, 2) if _comparable(*pair)]
    if right:
        rows.append(
            Row(what, f"right order of {len(right)} pairs", ">= 0.95", float(np.mean(right)), "", "pred", low=0.95)
        )
    return rows


def _comparable(one: Times, other: Times) -> bool:
    low, high = sorted([one.measured or 0.0, other.measured or 0.0])
    return (one.p, one.family, one.n) == (other.p, other.family, other.n) and high > (1 + APART) * low


def _same_order(one: Times, other: Times) -> bool:
    return ((one.measured or 0.0) < (other.measured or 0.0)) == (one.virtual < other.virtual)
