"""Two machines side by side: what was measured of both, and which of them would run a program faster.

profile a ── figures ──┐
                       ├── those that both have: a row each      those that one lacks: told
profile b ── figures ──┘
                    └───── factored models of a few kernels: which machine would be faster
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from smp._output import terminal
from smp._output.table import Cell, Column, Marked, Part, Table, counted, text
from smp.errors import ProfileError
from smp.profiles.profile import Profile

from ..method.figures import Figure
from .changes import Prediction, Source, cross, opened
from .figures import Key, figures_of, titles
from .programs import kernel_of

KERNELS = ("radix", "sample", "helman-jaja", "vertical")
SIZES = (10_000, 1_000_000)
"""Of the predictions."""
WIDTH = 100
"""Columns of a comparison that is printed."""

SHORT = (text(), counted("figures"), *(Column(f"b: times as fast, {name}") for name in ("least", "mean", "most")))
FIGURES = (text(), text("unit"), Column("a"), Column("b"), Column("b/a"), Column("b: times as fast"))
FORETOLD = (
    *(text(), counted("n"), counted("p")),
    *(Column(f"{name}, {end}", "ms", scale=1e3) for name in "ab" for end in ("good", "bad")),
    *(Column("b: times as fast, good"), Column("b: times as fast, bad"), counted("faster")),
)
NOT_VALID = "! one of the two, or both, is not valid: see the reports."
SHORT_NOTE = "Mean: geometric, of all figures of a section."
FORETOLD_NOTE = "By factored models, with all accesses good and all bad; undecided where the two ends do not agree."


class Row(NamedTuple):
    """One figure of both machines.

    Attributes
    ----------
    section, what, unit : str
        Where in a profile it comes from, what it is, and what it is counted in.
    a, b : float
    more_is_better : bool
        Of bandwidths; of times, less is.
    valid : bool
        Whether both were measured under conditions that the profiles call valid.
    """

    section: str
    what: str
    unit: str
    a: float
    b: float
    more_is_better: bool
    valid: bool

    @property
    def ratio(self) -> float:
        """b over a."""
        return self.b / self.a

    @property
    def gain(self) -> float:
        """How many times as fast b is as a."""
        return self.ratio if self.more_is_better else 1 / self.ratio


class Foretold(NamedTuple):
    """What the factored models say of one program on both machines: good to bad.

    Attributes
    ----------
    kernel : str
    n, p : int
    a, b : Prediction
    """

    kernel: str
    n: int
    p: int
    a: Prediction
    b: Prediction

    @property
    def faster(self) -> str:
        """Which is faster at both ends of the interval: "a", "b", or "" where the ends do not agree."""
        good, bad = self.gains
        return "b" if min(good, bad) > 1.0 else "a" if max(good, bad) < 1.0 else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON; without what only a hybrid model tells."""
        ends = {name: {"good_s": one.good, "bad_s": one.bad} for name, one in (("a", self.a), ("b", self.b))}
        return {"kernel": self.kernel, "n": self.n, "p": self.p, **ends, "faster": self.faster}

    @property
    def gains(self) -> tuple[float, float]:
        """How many times as fast b is as a, at the good and at the bad end."""
        return self.a.good / self.b.good, self.a.bad / self.b.bad


@dataclass(frozen=True)
class Comparison:
    """Two profiles compared; printed, a table for each section.

    Attributes
    ----------
    a, b : str
        What the profiles are of.
    rows : tuple of Row
        The figures that both have, in the order of the profiles' sections.
    foretold : tuple of Foretold
        Predictions, where both have cost functions.
    missing : tuple of str
        What one has and the other lacks, a sentence each.
    """

    a: str
    b: str
    rows: tuple[Row, ...]
    foretold: tuple[Foretold, ...]
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        foretold = [each.to_json() for each in self.foretold]
        rows = [row._asdict() for row in self.rows]
        return {"a": self.a, "b": self.b, "rows": rows, "foretold": foretold, "missing": list(self.missing)}

    def report(self) -> Part:
        """Return the tables: in short, a table for each section, and which machine would run a program faster."""
        by_title = {
            title[0].upper() + title[1:]: [row for row in self.rows if row.section == section]
            for section, title in titles().items()
        }
        sections = {title: rows for title, rows in by_title.items() if rows}
        tables = [
            Table(notes=[f"a: {self.a}", f"b: {self.b}"]),
            Table("In short", SHORT, [_in_short(title, rows) for title, rows in sections.items()], [SHORT_NOTE]),
        ]
        for title, rows in sections.items():
            note = "" if all(row.valid for row in rows) else NOT_VALID
            tables.append(Table(title, FIGURES, [_figure(row) for row in rows], [note]))
        if self.foretold:
            ends = [_ends(row) for row in self.foretold]
            tables.append(Table("Which machine would run it faster", FORETOLD, ends, [FORETOLD_NOTE]))
        return Part("", [*tables, Table(notes=[f"{line}." for line in self.missing])])

    def __str__(self) -> str:
        return terminal.report([self.report()], WIDTH).rstrip("\n")


def compare(a: Source, b: Source, kernels: Sequence[str] = KERNELS, sizes: Sequence[int] = SIZES) -> Comparison:
    """Compare what was measured of two machines, or of one at two times.

    Parameters
    ----------
    a, b : Profile or path_like
        Of ``profile.json`` or the folder it is in.
    kernels : sequence of str
        Whose times are predicted on both, of `known_kernels`.
    sizes : sequence of int
        At which sizes.

    Returns
    -------
    Comparison

    Raises
    ------
    ProfileError
        A file that is no profile; two that have no figure in common, with what each has.
    ValueError
        A kernel that has no model.
    """
    for name in kernels:
        kernel_of(name)
    first, second = opened(a), opened(b)
    ours, theirs = figures_of(first), figures_of(second)
    rows = tuple(_row(key, figure, theirs[key]) for key, figure in ours.items() if key in theirs)
    rows = tuple(row for row in rows if row.a > 0.0 and row.b > 0.0)
    if not rows:
        has = [", ".join(dict.fromkeys(section for section, _, _ in found)) for found in (ours, theirs)]
        raise ProfileError(
            f"the profiles have no figure in common: a has {has[0] or 'none'}, b has {has[1] or 'none'}; "
            "measure the same sections of both with python -m smp.microbench --only"
        )
    foretold = tuple(_foretold(first, second, kernels, sizes))
    return Comparison(_named(first), _named(second), rows, foretold, tuple(_missing(ours, theirs)))


def _in_short(title: str, rows: Sequence[Row]) -> list[Cell]:
    gains = np.array([row.gain for row in rows])
    return [title, len(rows), gains.min(), float(np.exp(np.log(gains).mean())), gains.max()]


def _figure(row: Row) -> list[Cell]:
    return [row.what if row.valid else Marked(row.what), row.unit, row.a, row.b, row.ratio, row.gain]


def _ends(row: Foretold) -> list[Cell]:
    seconds = [row.a.good, row.a.bad, row.b.good, row.b.bad]
    return [kernel_of(row.kernel).title, row.n, row.p, *seconds, *row.gains, row.faster or "undecided"]


def _row(key: Key, ours: Figure, theirs: Figure) -> Row:
    valid = ours.valid and theirs.valid
    return Row(*key, ours.value, theirs.value, ours.more_is_better, valid)


def _foretold(a: Profile, b: Profile, kernels: Sequence[str], sizes: Sequence[int]) -> Iterator[Foretold]:
    """For the largest p that was measured of both; none where one lacks cost functions of an end."""
    with contextlib.suppress(ProfileError):
        for p in sorted(set(a.processors) & set(b.processors))[-1:]:
            for name in kernels:
                for n in sizes:
                    yield Foretold(name, n, p, cross(a, name, n, p), cross(b, name, n, p))


def _missing(ours: dict[Key, Figure], theirs: dict[Key, Figure]) -> Iterator[str]:
    for section, title in titles().items():
        a, b = ({key for key in found if key[0] == section} for found in (ours, theirs))
        for has, other, name in ((a, b, "b"), (b, a, "a")):
            if has and not other:
                yield f"{name} lacks {title}"
            elif has - other:
                yield f"{name} lacks {len(has - other)} of {len(has)} figures of {title}"


def _named(profile: Profile) -> str:
    described = profile.data["machine"]
    cpus = described["cpus"]
    created = profile.data.get("created", "date not told")
    return f"{described.get('name')} ({described['cpu']}, {cpus} CPU{'s' * (cpus != 1)}), {created}"
