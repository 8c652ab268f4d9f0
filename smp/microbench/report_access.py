"""The report's section on cost functions, after tables 1 to 8 of the SMP paper.

tables 1, 3   coefficients of every function, for one p     here: the largest
tables 2, 4   coefficients of the best function, every p
tables 5 - 8  errors on the suites that a function was not fitted on, beside those that the paper printed
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..errors import ProfileError
from .profile import BEST, Profile
from .report_errors import after, errors
from .report_format import NONE, Data, Rows, count, number, section, table, time

FAMILIES = ("good", "bad", "random")
COEFFICIENTS = {"good": (1, 2), "bad": (3, 4)}
"""The paper's tables of a family: every function, and every p."""
COST_HEADERS = (
    *("p", "Good\nns/word", "\nns/byte", "Bad\nns/word", "\nns/byte", "Random\nns/word", "\nns/byte"),
    *("Bad/\nGood", "Random/\nGood"),
)
INTERVALS = (
    "Coefficients below: [low, high] is the 95% interval; 0 alone was held at zero, since a negative cost\n"
    "makes no sense; ? cannot be told from other terms by these measurements."
)


def cost_functions(profile: Data) -> Group:
    """Return the section of a profile whose access patterns were measured."""
    return section("Cost functions", profile["access"], _parts(profile))


def word_costs(profile: Data) -> list[dict[str, Any]]:
    """Return what a word costs in each family, for every p measured.

    Returns
    -------
    list of dict
        ``p``, ``words`` and a number for each family: ns a word that a processor moves, where every processor
        reads ``words`` words and writes as many, by the family's best function. ``words`` is the largest h of the
        patterns that every p has. Families without a function are left out.
    """
    access, known, made = profile["access"], Profile(dict(profile)), []
    reached: dict[int, int] = {}
    for row in access.get("patterns", []):
        reached[row["p"]] = max(reached.get(row["p"], 0), row["h"])
    words = min(reached.values(), default=0)
    for p in sorted(reached):
        found: dict[str, Any] = {"p": p, "words": words}
        for family in FAMILIES:
            try:
                seconds = known.predict(family, p, words, words, 2 * p * words)
            except ProfileError:
                continue
            found[family] = float(seconds[0]) / (2 * words) * 1e9
        made.append(found)
    return made


def example(profile: Data) -> str:
    """Return how the largest Good superstep of suite 3 compares with its prediction; nothing without one."""
    patterns = (profile.get("access") or {}).get("patterns", [])
    rows = [row for row in patterns if (row["family"], row["suite"]) == ("good", 3)]
    if not rows:
        return ""
    row = max(rows, key=lambda row: (row["p"], row["m"]))
    try:
        seconds = float(Profile(dict(profile)).predict("good", row["p"], row["hr"], row["hw"], row["m"])[0])
    except ProfileError:
        return ""
    counts = f"h_r {count(row['hr'])}, h_w {count(row['hw'])}, M {count(row['m'])}"
    return (
        f"Good, {row['kind']} of suite 3, p = {row['p']} ({counts}): measured {time(row['seconds'])}, "
        f"predicted {time(seconds)} ({seconds / row['seconds'] - 1:+.0%})"
    )


def cost_table(profile: Data, costs: Rows, mark: str = "") -> RenderableType:
    """Return a table of `word_costs`, which are not none."""
    word = profile["access"]["word_bytes"]

    def ratio(row: Data, family: str) -> str:
        good = row.get("good")
        return number(row[family] / good) if good and family in row else NONE

    def cells(row: Data) -> list[str]:
        found = [row.get(family) for family in FAMILIES]
        each = [text for ns in found for text in (number(ns), number(None if ns is None else ns / word))]
        return [str(row["p"]), *each, ratio(row, "bad"), ratio(row, "random")]

    words = count(costs[0]["words"])
    title = f"Good against Bad and Random: every processor reads {words} words and writes as many{mark}"
    return table(COST_HEADERS, map(cells, costs), title=title)


def _parts(profile: Data) -> Iterator[RenderableType]:
    access = profile["access"]
    functions = access.get("functions", [])
    costs = word_costs(profile)
    if costs:
        yield cost_table(profile, costs)
        known = (access.get("overhead_s") or {}).items()
        overheads = [f"{time(low)} to {time(high)} (p = {p})" for p, (low, high) in known]
        if overheads:
            yield Text(f"The runtime adds to each superstep of a program: {', '.join(overheads)}.")
        yield Text(INTERVALS)
    last = max((row["p"] for row in functions), default=0)
    for family in FAMILIES:
        mine = [row for row in functions if row["family"] == family]
        every, best = COEFFICIENTS.get(family, (None, None))
        largest = [row for row in mine if row["p"] == last]
        if largest:
            title = f"{family.title()}, p = {last}: every function{after(every)}"
            yield _coefficients(access, largest, title, lambda row: f"{row['name']} {row['set']}")
        chosen = [row for row in mine if row["name"] == BEST[family]]
        if len({row["p"] for row in chosen}) > 1:
            title = f"{family.title()}, every p: {BEST[family]}{after(best)}"
            yield _coefficients(access, chosen, title, lambda row: f"p = {row['p']} {row['set']}")
    for family in FAMILIES:
        for suite in (1, 2, 3):
            yield from errors(access.get("validation", []), family, suite)


def _coefficients(access: Data, functions: Rows, title: str, name: Callable[[Data], str]) -> RenderableType:
    """A row for each function, and for each further tier of HrHwM-c."""
    rows = []
    for function in functions:
        terms = function["terms"]
        tiers = max((int(term[3:]) for term in terms if term[3:]), default=0)
        for k in range(1, max(tiers, 1) + 1):
            pair = ("gh", "") if "gh" in terms else [f"{term}{k}" if tiers else term for term in ("ghr", "ghw")]
            whole = [_coefficient(function, "L", 1e6), _coefficient(function, "gM", 1e9)] if k == 1 else ["", ""]
            rows.append(
                [
                    name(function) if k == 1 else "",
                    access["tiers"][k - 1]["name"] if tiers else "",
                    whole[0],
                    *(_coefficient(function, term, 1e9) for term in pair),
                    whole[1],
                ]
            )
    headers = ("function", "tier", "L\nus", "gh, ghr\nns/word", "ghw\nns/word", "gM\nns/word")
    return table(headers, rows, title=title, caption=_fitted(functions, name), words=2)


def _fitted(functions: Rows, name: Callable[[Data], str]) -> str:
    """Say which suite the functions were fitted on; for the fewer of them, by name."""
    by_suite: dict[int, list[str]] = {}
    for row in functions:
        if row.get("fit_suite") is not None:
            by_suite.setdefault(row["fit_suite"], []).append(name(row))
    if not by_suite:
        return ""
    most, *others = sorted(by_suite, key=lambda suite: -len(by_suite[suite]))
    return "; ".join([f"fitted on suite {most}", *(f"{', '.join(by_suite[s])}: on suite {s}" for s in others)])


def _coefficient(function: Data, term: str, scale: float) -> str:
    if term not in function["terms"]:
        return ""
    at = function["terms"].index(term)
    value = function["coefficients"][at]
    if term in (function.get("unidentified") or ()):
        return "?"
    if not function.get("low") or not function.get("high"):
        return number(value * scale)
    low, high = function["low"][at], function["high"][at]
    if low == high == 0:
        return "0"
    bounds = ", ".join("open" if bound is None else number(bound * scale, 2) for bound in (low, high))
    return f"{number(value * scale)} [{bounds}]"
