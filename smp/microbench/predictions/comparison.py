"""Compare machines: their measured figures side by side, and which of them would run a program faster.

profile a ── figures ──┐
profile b ── figures ──┼── those that a and b have: a row each, different or not      those that one lacks: listed
    ...                └── factored models of a few kernels: which machine would be faster

The first profile is the base, with which each of the others is compared.
"""

from __future__ import annotations

import contextlib
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smp._computer.description import fingerprint, named
from smp._output import terminal
from smp._output.frames import frame
from smp._output.notebook import displayed
from smp._output.table import Part
from smp.errors import ProfileError
from smp.profiles.profile import Profile

from ..method.figures import Figure
from .changes import Source, cross, opened
from .differences import apart
from .figures import Key, busy, figures_of, titles
from .programs import kernel_of
from .report_comparison import report
from .rows import Foretold, Measured, Row

KERNELS = ("radix", "sample", "helman-jaja", "vertical")
SIZES = (10_000, 1_000_000)
"""Problem sizes n at which the times of the kernels are predicted."""
WIDTH = 100
"""Columns of a comparison that is printed."""
NAMES = string.ascii_lowercase
"""Names of the profiles, in their order."""


@dataclass(frozen=True)
class Comparison:
    """Comparison of profiles with the first of them; when printed, it has a table for each section.

    Attributes
    ----------
    profiles : tuple of Measured
        Profiles, the base first.
    rows : tuple of Row
        Figures that the base and another profile have, in the order of the profiles and of their sections.
    foretold : tuple of Foretold
        Predictions, if both profiles have cost functions.
    missing : tuple of str
        Sentences on the sections and figures that one profile has and the other lacks.
    """

    profiles: tuple[Measured, ...]
    rows: tuple[Row, ...]
    foretold: tuple[Foretold, ...]
    missing: tuple[str, ...]

    @property
    def a(self) -> str:
        """Machine and date of the base."""
        return self.profiles[0].what

    @property
    def b(self) -> str:
        """Machine and date of the second profile."""
        return self.profiles[1].what

    def slower(self, percent: float) -> list[Row]:
        """Return the rows that are significantly different, and slower than the base by more than ``percent`` per cent.

        A time that is 1.1 times the base's is 10% slower, and so is a bandwidth of 1/1.1 times.
        """
        return [row for row in self.rows if row.told == "slower" and 1 / row.gain > 1 + percent / 100]

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain JSON."""
        return {
            **{each.name: each.what for each in self.profiles},
            "profiles": [each._asdict() for each in self.profiles],
            "rows": [row.to_json() for row in self.rows],
            "foretold": [each.to_json() for each in self.foretold],
            "missing": list(self.missing),
        }

    def to_frame(self) -> Any:
        """Return the rows as a ``pandas.DataFrame``: a figure of two profiles in each.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        rows = [row.to_json() for row in self.rows]
        return frame({name: [row[name] for row in rows] for name in (*Row._fields, "gain", "told")})

    def report(self) -> Part:
        """Return the tables: a summary, one for each section, and one on the machine that would run programs faster."""
        return report(self.profiles, self.rows, self.foretold, self.missing)

    def _repr_html_(self) -> str:
        return displayed([self.report()])

    def __str__(self) -> str:
        return terminal.report([self.report()], WIDTH).rstrip("\n")


def compare(
    a: Source, b: Source, *more: Source, kernels: Sequence[str] = KERNELS, sizes: Sequence[int] = SIZES
) -> Comparison:
    """Compare the profiles of several machines, or of one machine at several times.

    Parameters
    ----------
    a : Profile or path_like
        The base; a path is that of ``profile.json``, or of the folder that holds it.
    b, *more : Profile or path_like
        Profiles to compare with the base.
    kernels : sequence of str
        Kernels, of `known_kernels`, whose times are predicted on all machines.
    sizes : sequence of int
        Problem sizes n at which their times are predicted.

    Returns
    -------
    Comparison

    Raises
    ------
    ProfileError
        A file is not a profile, or a profile has no figure in common with the base; the message then lists the
        sections of each.
    ValueError
        A kernel has no model, or there are more profiles than letters to name them.
    """
    for name in kernels:
        kernel_of(name)
    if len(more) + 2 > len(NAMES):
        raise ValueError(f"at most {len(NAMES)} profiles can be compared, since each has a letter, not {len(more) + 2}")
    base, others = opened(a), [opened(one) for one in (b, *more)]
    ours = figures_of(base)
    profiles, rows = [_measured("a", base, base)], list[Row]()
    foretold, missing = list[Foretold](), list[str]()
    for name, other in zip(NAMES[1:], others, strict=False):
        theirs = figures_of(other)
        profiles.append(_measured(name, other, base))
        made = _rows(name, ours, theirs, same=profiles[-1].same == "computer")
        patterns = [row for row in made if row.section == "access"]
        may_differ = any(row.valid and (row.told or not row.known) for row in patterns)
        rows += made
        foretold += _foretold(name, base, other, kernels, sizes, may_differ)
        missing += _missing(name, ours, theirs)
    return Comparison(tuple(profiles), tuple(rows), tuple(foretold), tuple(missing))


def _rows(name: str, ours: dict[Key, Figure], theirs: dict[Key, Figure], *, same: bool) -> list[Row]:
    both = {key: (figure, theirs[key]) for key, figure in ours.items() if key in theirs}
    rows = [_row(name, key, *figures) for key, figures in both.items() if min(each.value for each in figures) > 0.0]
    if not rows:
        has = [", ".join(dict.fromkeys(section for section, _, _ in found)) for found in (ours, theirs)]
        raise ProfileError(
            f"the profiles have no figure in common: a has {has[0] or 'none'}, {name} has {has[1] or 'none'}; "
            "measure the same sections of both with python -m smp.microbench --only"
        )
    judged = [i for i, row in enumerate(rows) if row.valid and row.known]
    spreads = [[each.spread for each in both[rows[i].section, rows[i].what, rows[i].unit]] for i in judged]
    errors, freedoms = (
        np.array([[getattr(each, field) for each in pair] for pair in spreads], np.float64).reshape(-1, 2)
        for field in ("error", "freedom")
    )
    gains = np.log([rows[i].gain for i in judged])
    kinds = np.array([f"{rows[i].section} {rows[i].unit}" for i in judged], np.str_)
    found = apart(gains, errors, freedoms, kinds, same=same)
    for i, low, high in zip(judged, np.exp(found.low).tolist(), np.exp(found.high).tolist(), strict=True):
        rows[i] = rows[i]._replace(low=low, high=high)
    return rows


def _row(name: str, key: Key, ours: Figure, theirs: Figure) -> Row:
    errors = [figure.spread and figure.spread.error for figure in (ours, theirs)]
    valid = ours.valid and theirs.valid
    return Row(*key, ours.value, theirs.value, ours.more_is_better, valid, name, *errors)


def _foretold(
    name: str, a: Profile, b: Profile, kernels: Sequence[str], sizes: Sequence[int], may_differ: bool
) -> Iterator[Foretold]:
    """Yield predictions for the largest p that both have; none if one lacks the cost functions of an end."""
    with contextlib.suppress(ProfileError):
        for p in sorted(set(a.processors) & set(b.processors))[-1:]:
            for kernel in kernels:
                for n in sizes:
                    yield Foretold(kernel, n, p, cross(a, kernel, n, p), cross(b, kernel, n, p), name, may_differ)


def _missing(name: str, ours: dict[Key, Figure], theirs: dict[Key, Figure]) -> Iterator[str]:
    for section, title in titles().items():
        a, b = ({key for key in found if key[0] == section} for found in (ours, theirs))
        for has, other, lacks in ((a, b, name), (b, a, "a")):
            if has and not other:
                yield f"{lacks} lacks {title}"
            elif has - other:
                yield f"{lacks} lacks {len(has - other)} of {len(has)} figures of {title}"


def _measured(name: str, profile: Profile, base: Profile) -> Measured:
    described, conditions = profile.data["machine"], profile.data.get("conditions") or {}
    return Measured(
        name,
        _named(profile),
        **{key: conditions.get(key) for key in ("mode", "load_before", "stolen_fraction", "clean_fraction", "seconds")},
        version=profile.data.get("smp"),
        same=_same(described, base.data["machine"]),
        busy=busy(profile),
        hand_over_ns=_hand_over(conditions),
    )


def _hand_over(conditions: dict[str, Any]) -> float | None:
    """Return the hand-off in the main state of two processors, in ns; None if it is not known."""
    states = (conditions.get("placement") or {}).get("2") or []
    return float(states[0]["ns"]) if states else None


def _same(one: dict[str, Any], other: dict[str, Any]) -> str:
    if fingerprint(one) != fingerprint(other):
        return ""
    return "computer" if one.get("name") == other.get("name") else "kind"


def _named(profile: Profile) -> str:
    return f"{named(profile.data['machine'])}, {profile.data.get('created', 'date not known')}"
