"""The report's section on cost functions, after tables 1 to 8 of the SMP paper.

tables 1, 3   coefficients of every function, for one p     here: the largest
tables 2, 4   coefficients of the best function, every p
tables 5 - 8  errors on the suites that a function was not fitted on, beside those that the paper printed
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType

from ..errors import ProfileError
from ..models.published import paper_errors
from .profile import BEST, Profile
from .report_format import NONE, Data, Rows, count, number, percent, section, table

FAMILIES = ("good", "bad", "random")
COEFFICIENTS = {"good": (1, 2), "bad": (3, 4)}
"""The paper's tables of a family: every function, and every p."""
ERRORS = {("good", 2): 5, ("good", 3): 6, ("bad", 1): 7, ("bad", 3): 8}
"""The paper's table of a family and the suite that it is validated on."""
TOGETHER = 3
"""Numbers of processors side by side in a table of errors."""

COST_HEADERS = (
    *("p", "Good\nns/word", "\nns/byte", "Bad\nns/word", "\nns/byte", "Random\nns/word", "\nns/byte"),
    *("Bad/\nGood", "Random/\nGood"),
)
INTERVALS = (
    "[low, high]: 95% interval. 0 alone: held at zero, since a negative cost makes no sense.\n"
    "?: these measurements cannot tell it from other terms."
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
        reads ``words`` words and writes as many, by the family's best function. Families without one are left out.
    """
    access, made = profile["access"], []
    sizes = [row["h"] for row in access.get("patterns", [])]
    sizes = sizes or [row["h_range"][1] for row in access["functions"]]
    for p in sorted({row["p"] for row in access["functions"]}):
        h, found = max(sizes), {"p": p, "words": max(sizes)}
        for family in FAMILIES:
            try:
                seconds = Profile(dict(profile)).predict(family, p, h, h, 2 * p * h)
            except ProfileError:
                continue
            found[family] = float(seconds[0]) / (2 * h) * 1e9
        made.append(found)
    return made


def cost_table(profile: Data, costs: Rows, mark: str = "") -> RenderableType:
    """Return a table of `word_costs`."""
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
    functions = access["functions"]
    if functions:
        yield cost_table(profile, word_costs(profile))
    last = max((row["p"] for row in functions), default=0)
    for family in FAMILIES:
        mine = [row for row in functions if row["family"] == family]
        every, best = COEFFICIENTS.get(family, (None, None))
        largest = [row for row in mine if row["p"] == last]
        if largest:
            yield _coefficients(access, largest, f"{family.title()}, p = {last}: every function{_after(every)}")
        chosen = [row for row in mine if row["name"] == BEST[family]]
        if len({row["p"] for row in chosen}) > 1:
            yield _coefficients(access, chosen, f"{family.title()}, every p: {BEST[family]}{_after(best)}")
    for family in FAMILIES:
        for suite in (1, 2, 3):
            yield from _errors(access, family, suite)


def _after(paper: int | None) -> str:
    return f" (after table {paper})" if paper else ""


def _coefficients(access: Data, functions: Rows, title: str) -> RenderableType:
    """A row for each function, p and set; for each tier of HrHwM-c a further one."""
    rows = []
    for function in functions:
        terms = function["terms"]
        tiers = max((int(term[3:]) for term in terms if term[3:]), default=0)
        for k in range(1, max(tiers, 1) + 1):
            first = k == 1
            head = [function["name"], str(function["p"]), function["set"], str(function["fit_suite"])]
            names = [f"{term}{k}" if tiers else term for term in ("ghr", "ghw")]
            if "gh" in terms:
                names = ["gh", ""]
            rows.append(
                [
                    *(head if first else [""] * len(head)),
                    access["tiers"][k - 1]["name"] if tiers else "",
                    _coefficient(function, "L", 1e6) if first else "",
                    *(_coefficient(function, name, 1e9) for name in names),
                    _coefficient(function, "gM", 1e9) if first else "",
                ]
            )
    headers = (
        *("function", "p", "set", "fit\nsuite", "tier", "L\nus"),
        *("gh, ghr\nns/word", "ghw\nns/word", "gM\nns/word"),
    )
    return table(headers, rows, title=title, caption=INTERVALS, words=5)


def _coefficient(function: Data, term: str, scale: float) -> str:
    if term not in function["terms"]:
        return ""
    at = function["terms"].index(term)
    value, low, high = (function[name][at] for name in ("coefficients", "low", "high"))
    if term in function["unidentified"]:
        return "?"
    if low == high == 0:
        return "0"
    bounds = ", ".join("open" if v is None else number(v * scale, 2) for v in (low, high))
    return f"{number(value * scale)} [{bounds}]"


def _errors(access: Data, family: str, suite: int) -> Iterator[RenderableType]:
    """Tables of errors on one suite, a few p in each; the paper's beside them where it has the p."""
    mine = [row for row in access["validation"] if row["family"] == family and row["suite"] == suite]
    measured = sorted({row["p"] for row in mine})
    for start in range(0, len(measured), TOGETHER):
        chosen = measured[start : start + TOGETHER]
        part = [row for row in mine if row["p"] in chosen]
        paper = {_key(row): row for p in chosen for row in paper_errors(p)}
        shown = {p: [{_key(row): row for row in part if row["p"] == p}] for p in chosen}
        headers, words = ["function", "set"], 2
        for p in chosen:
            headers += [f"p = {p}\nave. %", "\nmax. %"]
            if any(_key(row) in paper for row in shown[p][0].values()):
                headers += ["paper\nave. %", "\nmax. %"]
                shown[p].append(paper)
        rows = []
        for name, label in dict.fromkeys((row["name"], row["set"]) for row in part):
            cells = [name, label]
            for p, sources in shown.items():
                for source in sources:
                    row = source.get((family, p, name, label, suite), {})
                    cells += [percent(row.get("average")), percent(row.get("maximum"))]
            rows.append(cells)
        title = f"{family.title()}: errors on suite {suite}{_after(ERRORS.get((family, suite)))}"
        yield table(headers, rows, title=title, caption=_compared(part, paper), words=words)


def _compared(rows: Rows, paper: Data) -> str:
    pairs = [(row, paper[_key(row)]) for row in rows if _key(row) in paper]
    if not pairs:
        return ""
    fewer = sum(all(row[name] <= other[name] for name in ("average", "maximum")) for row, other in pairs)
    return f"No worse than the paper in both errors: {fewer} of {len(pairs)}."


def _key(row: Data) -> Any:
    return row["family"], row["p"], row["name"], row["set"], row["suite"]
