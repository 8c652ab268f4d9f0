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

from smp.errors import ProfileError
from smp.microbench.output.format import NONE, Data, Rows, count, number, percent, section, table, time
from smp.profiles.kept_apart import FAMILIES, LIMIT, errors_apart
from smp.profiles.profile import BEST, Profile

from .errors import after, errors

COEFFICIENTS = {"good": (1, 2), "bad": (3, 4)}
"""The paper's tables of a family: every function, and every p."""
COST_HEADERS = (
    *("p", "family", "measured\nns/word", "predicted\nns/word", "error\n%", "over\nGood"),
    *("clean\nsamples", "apart\nave. %"),
)
COSTS = (
    "measured: median of the clean samples of one pattern of suite 1 (vary, x = p). predicted: by the family's "
    "function. apart: its average error on the worst of the suites that it was not fitted on."
)
OFF = f"! not valid: above {LIMIT:.0%}."
INTERVALS = (
    "Coefficients below: [low, high] is the 95% interval; 0 alone was held at zero, since a negative cost\n"
    "makes no sense; ? cannot be told from other terms by these measurements."
)


def cost_functions(profile: Data) -> Group:
    """Return the section of a profile whose access patterns were measured."""
    return section("Cost functions", profile["access"], _parts(profile))


def word_costs(profile: Data) -> list[dict[str, Any]]:
    """Return what a word costs in each family, measured and predicted, for every p measured.

    The pattern is the one of suite 1 in which every processor reads h words and writes as many.  h is the largest that
    every p has and that was measured cleanly for every family; failing that, for as many as possible.

    Returns
    -------
    list of dict
        ``p``, ``family``, ``words``: h; ``measured`` and ``predicted``: ns a word that a processor moves, None without
        a clean sample or without a function; ``error``: predicted over measured, less 1; ``clean`` and ``supersteps``:
        samples; ``apart``: the average error on the worst of the suites that were kept apart.
    """
    every = [row for row in profile["access"].get("patterns", []) if (row["suite"], row["x"]) == (1, row["p"])]
    processors = {row["p"] for row in every}
    clean: dict[int, int] = {}
    for h in {row["h"] for row in every}:
        same = [row for row in every if row["h"] == h]
        if {row["p"] for row in same} == processors:
            clean[h] = sum(row["clean"] > 0 for row in same)
    if not clean:
        return []
    words = max(clean, key=lambda h: (clean[h], h))
    chosen = sorted((r for r in every if r["h"] == words), key=lambda r: (r["p"], FAMILIES.index(r["family"])))
    return [_word_cost(Profile(dict(profile)), row) for row in chosen]


def _word_cost(profile: Profile, row: Data) -> dict[str, Any]:
    family, p, moved = row["family"], row["p"], 2 * row["h"]
    measured = row["seconds"] / moved * 1e9 if row["clean"] else None
    try:
        predicted = float(profile.predict(family, p, row["hr"], row["hw"], row["m"])[0]) / moved * 1e9
    except ProfileError:
        predicted = None
    return {
        "p": p,
        "family": family,
        "words": row["h"],
        "measured": measured,
        "predicted": predicted,
        "error": None if measured is None or predicted is None else predicted / measured - 1,
        "clean": row["clean"],
        "supersteps": row["supersteps"],
        "apart": max(errors_apart(profile, family, p).values(), default=None),
    }


def example(profile: Data) -> str:
    """Return how the largest Good superstep of suite 3 with clean samples compares with its prediction, if any."""
    patterns = (profile.get("access") or {}).get("patterns", [])
    rows = [row for row in patterns if (row["family"], row["suite"]) == ("good", 3) and row["clean"]]
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


def cost_table(costs: Rows, mark: str = "") -> RenderableType:
    """Return a table of `word_costs`, which are not none."""
    good = {row["p"]: row["measured"] for row in costs if row["family"] == "good"}

    def cells(row: Data) -> list[str]:
        measured, base = row["measured"], good.get(row["p"])
        return [
            *(str(row["p"]), row["family"].title(), number(measured), number(row["predicted"])),
            NONE if row["error"] is None else f"{row['error']:+.0%}".rstrip("%"),
            number(measured / base if measured and base else None),
            f"{row['clean']} of {row['supersteps']}",
            percent(row["apart"]) + " !" * _off(row),
        ]

    words = count(costs[0]["words"])
    title = f"Good, Bad and Random: every processor reads {words} words and writes as many{mark}"
    caption = "\n".join([COSTS, *([OFF] if any(map(_off, costs)) else [])])
    return table(COST_HEADERS, map(cells, costs), title=title, caption=caption, words=2)


def _off(row: Data) -> bool:
    return (row["apart"] or 0.0) > LIMIT


def _parts(profile: Data) -> Iterator[RenderableType]:
    access = profile["access"]
    functions = access.get("functions", [])
    costs = word_costs(profile)
    if costs:
        yield cost_table(costs)
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
