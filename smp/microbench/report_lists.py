"""The report's section on list ranking: time an element, speed-up, and where each run lies in its interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType

from ..models.locality import SMALL
from .report_format import NONE, Data, Rows, count, number, seconds, section, table

HEADERS = (
    *("algorithm", "n", "p", "ns per\nelement", "speed-\nup", "good\nns", "bad\nns", "random\nns"),
    *("Loc", "M/G", "inside", "steps\ninside"),
)
STEP_HEADERS = (
    *("algorithm", "superstep", "n", "p", "M", "measured\nms", "good\nms", "bad\nms", "Loc", "M/G"),
    "",
)


def list_ranking(profile: Data) -> Group:
    """Return the section of a profile in which lists were ranked."""
    return section("List ranking", profile["lists"], _parts(profile["lists"]))


def best_ranking(lists: Data) -> dict[str, Any] | None:
    """Return the row of the fastest run of the longest list; None where no list was ranked."""
    longest = max((row["n"] for row in lists["rows"]), default=0)
    rows = [row for row in lists["rows"] if row["n"] == longest and row.get("ns_per_element")]
    return min(rows, key=lambda row: row["ns_per_element"], default=None)


def serial_time(lists: Data, n: int) -> float | None:
    """Return the ns an element of the serial loop on a list of n; None where it was not measured."""
    found = (row["ns_per_element"] for row in lists.get("serial", []) if row["n"] == n)
    return next(found, None)


def title_of(algorithm: str) -> str:
    """Return an algorithm's name in print.

    Examples
    --------
    >>> [title_of(name) for name in ("wyllie", "reid-miller", "helman-jaja")]
    ['Wyllie', 'Reid-Miller', 'Helman-JaJa']
    """
    return {"helman-jaja": "Helman-JaJa"}.get(algorithm, "-".join(map(str.capitalize, algorithm.split("-"))))


def describe_step(step: Data) -> tuple[str, str]:
    """Return what a superstep is, and how its measured and predicted times compare."""
    what = (
        f'{title_of(step["algorithm"])}, n = {count(step["n"])}, p = {step["p"]}, superstep "{step["label"]}": '
        f"h_r {count(step['hr'])}, h_w {count(step['hw'])}, M {count(step['m'])}"
    )
    random = step.get("random_s")
    compared = f"measured {seconds(step['measured_s'])}"
    if step.get("good_s") is not None:
        compared += f", predicted {seconds(step['good_s'])} (good) to {seconds(step['bad_s'])} (bad)"
        compared += f", {seconds(random)} (random)" if random is not None else ""
        place = f"Loc {ratio(step['loc'])}, M/G {ratio(step['m_over_g'])}"
        compared += f"; {place}: {step.get('verdict') or place_of(step)}"
    return what, compared


def place_of(row: Data) -> str:
    """Return whether a row lies inside its interval, in a word."""
    inside = row.get("inside")
    return NONE if inside is None else "yes" if inside else "no"


def ratio(value: float | None) -> str:
    """Return Loc or M/G with two decimals."""
    return NONE if value is None else f"{value:.2f}"


def _parts(lists: Data) -> Iterator[RenderableType]:
    rows, notes = [], dict.fromkeys(row["note"] for row in lists["rows"] if row.get("note"))
    order = {name: i for i, name in enumerate(dict.fromkeys(row["algorithm"] for row in lists["rows"]))}
    for n in sorted({row["n"] for row in [*lists["rows"], *lists.get("serial", [])]}):
        serial = serial_time(lists, n)
        if serial is not None:
            rows.append(["serial", count(n), "1", number(serial), "1.00", *[NONE] * 7])
        same = [row for row in lists["rows"] if row["n"] == n]
        rows += [_cells(row) for row in sorted(same, key=lambda row: (row["p"], order[row["algorithm"]]))]
    caption = "speed-up: over the serial loop; good, bad and random: predicted ns per element; steps: supersteps"
    caption = "\n".join([caption, *notes])
    yield table(HEADERS, rows, title="Time per element, and the predicted interval", caption=caption)
    worst = worst_steps(lists.get("steps", []))
    if worst:
        yield table(
            STEP_HEADERS,
            map(_step_cells, worst),
            title="The superstep of each run of the longest list that is farthest from good",
            caption=f"of those with M of {count(SMALL)} and more",
            words=2,
        )


def worst_steps(steps: Rows) -> list[Data]:
    """Return for each algorithm and p, at its longest list, the superstep of least Loc; small ones do not count."""
    large = [step for step in steps if step.get("loc") is not None and step["m"] >= SMALL]
    found: dict[Any, Data] = {}
    for step in large:
        key = step["algorithm"], step["p"]
        known = found.get(key)
        if known is None or (step["n"], -step["loc"]) > (known["n"], -known["loc"]):
            found[key] = step
    return list(found.values())


def _cells(row: Data) -> list[str]:
    def each(total: float | None) -> str:
        return number(None if total is None else total / row["n"] * 1e9)

    steps, inside = row.get("supersteps"), row.get("supersteps_inside")
    return [
        *(title_of(row["algorithm"]), count(row["n"]), str(row["p"])),
        *(number(row["ns_per_element"]), number(row.get("speedup"))),
        *(each(row.get(name)) for name in ("good_s", "bad_s", "random_s")),
        *(ratio(row.get("loc")), ratio(row.get("m_over_g")), place_of(row)),
        NONE if steps is None or inside is None else f"{inside}/{steps}",
    ]


def _step_cells(step: Data) -> list[str]:
    return [
        *(title_of(step["algorithm"]), step["label"], count(step["n"]), str(step["p"]), count(step["m"])),
        *(number(step[name] * 1e3) for name in ("measured_s", "good_s", "bad_s")),
        *(ratio(step["loc"]), ratio(step["m_over_g"]), step.get("verdict") or place_of(step)),
    ]
