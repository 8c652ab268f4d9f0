"""The report's section on cost functions, after tables 1 to 8 of the SMP paper.

tables 1, 3   coefficients of every function, for one p     here: the largest
tables 2, 4   coefficients of the best function, every p
tables 5 - 8  errors on the suites that a function was not fitted on, next to those that the paper printed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from smp._output.numbers import count, size, time
from smp._output.table import Bounded, Cell, Column, Marked, Table, counted, share, text
from smp.errors import ProfileError
from smp.profiles.access import Access, Function, Pattern
from smp.profiles.kept_apart import FAMILIES, LIMIT, errors_apart
from smp.profiles.profile import BEST, Profile

from .elsewhere import in_other_states
from .error_tables import after, errors
from .form_tables import tables_of_forms
from .predicted import others

COEFFICIENTS = {"good": (1, 2), "bad": (3, 4)}
"""Numbers of the paper's two tables for a family: every function for one p, and the best function for every p."""
COSTS = (
    *(counted("p"), text("family"), Column("measured", "ns/word"), Column("predicted", "ns/word")),
    *(Column("error", "%", "signed", scale=100.0), Column("over Good")),
    *(counted("clean samples"), counted("of"), share("kept apart")),
)
COSTS_MEANING = (
    "measured: suite 1, vary, x = p; the middle half of the samples that count. predicted: by the chosen form. "
    "kept apart: its average error on the worse of the suites that neither fitted nor chose it."
)
OFF = f"! not valid: above {LIMIT:.0%}."
INTERVALS = (
    "Coefficients below: [low, high] is the 95% interval. A 0 without an interval was held at zero, since a negative "
    "cost makes no sense. ?: these measurements cannot separate this term from other terms."
)
TERMS = (
    *(text("function"), text("tier"), Column("L", "us", scale=1e6), Column("gh, ghr", "ns/word", scale=1e9)),
    *(Column("ghw", "ns/word", scale=1e9), Column("gM", "ns/word", scale=1e9)),
)


class WordCost(NamedTuple):
    """Cost of a word that a processor moves, in one family and for one p."""

    p: int
    family: str
    words: int
    """The number h of words that a processor reads; it writes as many."""
    measured: float | None
    """Measured ns per word; None without a clean sample."""
    predicted: float | None
    """Predicted ns per word; None without a function."""
    error: float | None
    """Predicted divided by measured, minus 1."""
    footprint: float | None
    """Bytes that the accesses of Random fall on."""
    clean: int
    samples: int
    apart: float | None
    """Average error on the worst of the suites that were kept apart."""

    @property
    def title(self) -> str:
        """Name of the family, with the footprint of its accesses if it has one."""
        return self.family.title() + (f", {size(self.footprint)}" if self.footprint else "")

    @property
    def off(self) -> bool:
        """True if its function does not hold on the suites that were kept apart."""
        return (self.apart or 0.0) > LIMIT


def word_costs(profile: Profile, found: Access) -> list[WordCost]:
    """Return the cost of a word in each family, measured and predicted, for every p measured.

    The pattern is the one of suite 1 in which every processor reads h words and writes as many.  h is the largest size
    that every p has and that was measured cleanly in every family, or, failing that, in as many as possible.
    """
    every = [row for row in found.patterns if (row.suite, row.x) == (1, row.p)]
    processors = {row.p for row in every}
    clean: dict[int, int] = {}
    for h in {row.h for row in every}:
        same = [row for row in every if row.h == h]
        if {row.p for row in same} == processors:
            clean[h] = sum(row.clean > 0 for row in same)
    if not clean:
        return []
    words = max(clean, key=lambda h: (clean[h], h))
    chosen = sorted((r for r in every if r.h == words), key=lambda r: (r.p, FAMILIES.index(r.family), r.footprint or 0))
    return [_word_cost(profile, row) for row in chosen]


def _word_cost(profile: Profile, row: Pattern) -> WordCost:
    moved = 2 * row.h
    measured = row.seconds / moved * 1e9 if row.clean else None
    seconds = _predicted(profile, row)
    predicted = None if seconds is None else seconds / moved * 1e9
    error = None if measured is None or predicted is None else predicted / measured - 1
    apart = max(errors_apart(profile, row.family, row.p).values(), default=None)
    nbytes = None if row.footprint is None else row.footprint * profile.access["word_bytes"]
    return WordCost(row.p, row.family, row.h, measured, predicted, error, nbytes, row.clean, row.supersteps, apart)


def _predicted(profile: Profile, row: Pattern) -> float | None:
    try:
        return float(profile.predict(row.family, row.p, row.hr, row.hw, row.m, others([row]), row.footprint)[0])
    except ProfileError:
        return None


def example(profile: Profile, found: Access) -> str:
    """Return a text that compares the largest clean Good superstep of suite 3 with its prediction; empty if none."""
    rows = [row for row in found.patterns if (row.family, row.suite) == ("good", 3) and row.clean]
    if not rows:
        return ""
    row = max(rows, key=lambda row: (row.p, row.m))
    seconds = _predicted(profile, row)
    if seconds is None:
        return ""
    counts = f"h_r {count(row.hr)}, h_w {count(row.hw)}, M {count(row.m)}"
    return (
        f"Good, {row.kind} of suite 3, p = {row.p} ({counts}): measured {time(row.seconds)}, "
        f"predicted {time(seconds)} ({seconds / row.seconds - 1:+.0%})"
    )


def cost_table(costs: Sequence[WordCost], sign: str = "") -> Table:
    """Return a table of the costs from `word_costs`, which must not be empty."""
    good = {row.p: row.measured for row in costs if row.family == "good"}
    rows: list[list[Cell]] = []
    for row in costs:
        base = good.get(row.p)
        over = row.measured / base if row.measured and base else None
        apart = Marked(row.apart) if row.off else row.apart
        rows.append([row.p, row.title, row.measured, row.predicted, row.error, over, row.clean, row.samples, apart])
    words = count(costs[0].words)
    title = f"Good, Bad and Random: every processor reads {words} words and writes as many{sign}"
    return Table(title, COSTS, rows, [COSTS_MEANING, OFF * any(row.off for row in costs)])


def tables(found: Access, profile: Profile) -> Iterator[Table]:
    """Yield the tables of a profile whose access patterns were measured."""
    costs = word_costs(profile, found)
    if costs:
        yield cost_table(costs)
        known = (found.overhead_s or {}).items()
        overheads = ", ".join(f"{time(low)} to {time(high)} (p = {p})" for p, (low, high) in known)
        adds = f"Time that the runtime adds to each superstep of a program: {overheads}." if overheads else ""
        yield Table(notes=[adds, INTERVALS])
    yield from in_other_states(found)
    last = max((row.p for row in found.functions), default=0)
    for family in FAMILIES:
        mine = [row for row in found.functions if row.family == family]
        every, best = COEFFICIENTS.get(family, (None, None))
        largest = [row for row in mine if row.p == last]
        if largest:
            title = f"{family.title()}, p = {last}: every function{after(every)}"
            yield _coefficients(found, largest, title, lambda row: f"{row.name} {row.set}")
        chosen = [row for row in mine if row.name == BEST[family]]
        if len({row.p for row in chosen}) > 1:
            title = f"{family.title()}, every p: {BEST[family]}{after(best)}"
            yield _coefficients(found, chosen, title, lambda row: f"p = {row.p} {row.set}")
    for family in FAMILIES:
        for suite in (1, 2, 3):
            yield from errors(found.validation, family, suite)
    yield from tables_of_forms(found)


def _coefficients(found: Access, functions: Sequence[Function], title: str, name: Callable[[Function], str]) -> Table:
    """Return a table with a row for each function, and for each further tier of HrHwM-c."""
    rows: list[list[Cell]] = []
    for function in functions:
        terms = function.terms
        tiers = max((int(term[3:]) for term in terms if term[3:]), default=0)
        for k in range(1, max(tiers, 1) + 1):
            pair = ("gh", "") if "gh" in terms else tuple(f"{term}{k}" if tiers else term for term in ("ghr", "ghw"))
            start, words = ("L", "gM") if k == 1 else ("", "")
            prices = [_coefficient(function, term) for term in (start, *pair, words)]
            rows.append([name(function) if k == 1 else "", found.tiers[k - 1].name if tiers else "", *prices])
    return Table(title, TERMS, rows, [_fitted(functions, name)])


def _fitted(functions: Sequence[Function], name: Callable[[Function], str]) -> str:
    """Return a note on the suite that most functions were fitted on; those fitted on another are named."""
    by_suite: dict[int, list[str]] = {}
    for row in functions:
        if row.fit_suite is not None:
            by_suite.setdefault(row.fit_suite, []).append(name(row))
    if not by_suite:
        return ""
    most, *others = sorted(by_suite, key=lambda suite: -len(by_suite[suite]))
    return "; ".join([f"fitted on suite {most}", *(f"{', '.join(by_suite[s])}: on suite {s}" for s in others)])


def _coefficient(function: Function, term: str) -> Cell:
    """Return the price of a term in seconds, with its interval; a question mark if it is not identified."""
    if term not in function.terms:
        return ""
    at = function.terms.index(term)
    value = function.coefficients[at]
    if term in (function.unidentified or ()):
        return "?"
    if not function.low or not function.high:
        return value
    low, high = function.low[at], function.high[at]
    return 0.0 if low == high == 0 else Bounded(value, low, high)
