"""The report's section on red-black relaxation: time a cell and iteration by layout, beside a copy of the grid."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from smp.microbench.output.format import NONE, Data, Rows, count, number, section, table
from smp.models.supersteps.locality import SMALL

from ..programs import report as programs
from ..programs.report import INTERVAL_HEADERS, each, interval_cells, ratio

FORM_TITLES = {"blocked": "fast form", "one by one": "fast form, unblocked", "copy": "copy of the grid"}
MEANING = (
    "iteration: its two supersteps; in copies: over a copy of the grid by the streams that the fast form takes. once: "
    "what is copied before and after all iterations. The fast form works in place, its iterations blocked in time; "
    "unblocked: one after another."
)
INTERVAL = f"steps: all supersteps over the iterations, as good, bad and random predict them.\n{programs.MEANING}"
AVERAGES = (
    f"Loc and M/G: of communication alone, averages over the grids in which M is {SMALL:,} and more; below, the "
    "runtime's noise is as wide as the interval. local: the measured local computation.\n"
    'What "shared" reads, it reads in place, which is not counted.'
)


def stencil(profile: Data) -> Group:
    """Return the section of a profile in which grids were relaxed."""
    return section("Red-black relaxation", profile["stencil"], _parts(profile, profile["stencil"]))


def describe(data: Data) -> str | None:
    """Return what the first screen says: the fastest layout of the largest grid, and the fast form beside a copy."""
    every = data.get("rows") or data.get("forms")
    if not every:
        return None
    largest = max(every, key=_cells)
    rows, forms = ([row for row in data.get(name, []) if _cells(row) == _cells(largest)] for name in ("rows", "forms"))
    said = []
    if rows:
        best = min(rows, key=lambda row: float(row["ns_per_cell"]))
        where = "" if best.get("loc") is None else f" (Loc {ratio(best['loc'])})"
        said.append(f"{title_of(best)} {number(best['ns_per_cell'])}{where} with p = {best['p']}")
    if forms:
        times = {form["form"]: number(form["ns_per_cell"]) for form in forms}
        fast, plain, copy = (times.get(name, NONE) for name in FORM_TITLES)
        said.append(f"fast form {fast}, unblocked {plain}; a copy of the grid {copy}")
    return f"{_grid(largest)}, in ns a cell and iteration: {'; '.join(said)}"


def title_of(row: Data) -> str:
    """Return a layout's name in print.

    Examples
    --------
    >>> title_of({"layout": "rectangular", "blocks": "4x2"}), title_of({"layout": "uniprocessor", "blocks": "1x1"})
    ('rectangular 4x2', 'uniprocessor')
    """
    return row["layout"] if row["layout"] == "uniprocessor" else f"{row['layout']} {row['blocks']}"


def _parts(profile: Data, data: Data) -> Iterator[RenderableType]:
    yield _times(data)
    if programs.predicted(data.get("rows", [])):
        yield _intervals(profile, data)
    if data.get("analysis"):
        yield _supersteps(data["analysis"])


def _times(data: Data) -> RenderableType:
    ran, forms = data.get("rows", []), data.get("forms", [])
    cells = []
    copies = {form["rows"]: form["ns_per_cell"] for form in forms if form["form"] == "copy"}
    for side in sorted({row["rows"] for row in [*ran, *forms]}):
        for form in forms:
            if form["rows"] == side:
                named = [FORM_TITLES[form["form"]], _grid(form), count(form.get("streams"))]
                cells.append([*named, number(form["ns_per_cell"]), number(form.get("copies")), NONE])
        for row in ran:
            if row["rows"] == side:
                ns = row["ns_per_cell"]
                over = number(ns / copies[side] if side in copies else None)
                cells.append([title_of(row), _grid(row), str(row["p"]), number(ns), over, number(row.get("around_ns"))])
    said = [MEANING]
    if data.get("left_out"):
        said.append(f"Left out, for memory is short: {', '.join(f'{n:,} x {n:,}' for n in data['left_out'])}.")
    title = "Time per cell and iteration (ns), float64"
    headers = ("layout", "grid", "p", "iteration\nns", "in\ncopies", "once\nns")
    return table(headers, cells, title=title, caption="\n".join(said))


def _intervals(profile: Data, data: Data) -> RenderableType:
    cells = []
    for row in sorted(data["rows"], key=_cells):
        work = _cells(row) * row["iterations"]
        named = [title_of(row), _grid(row), str(row["p"])]
        cells.append([*named, each(row, "measured_s", work), *interval_cells(row, work)])
    headers = ("layout", "grid", "p", "steps\nns", *INTERVAL_HEADERS)
    said = [INTERVAL, *programs.remarks(profile, data)]
    return table(headers, cells, title="Intervals, per cell and iteration (ns)", caption="\n".join(said))


def _supersteps(analysis: Rows) -> RenderableType:
    cells = []
    for row in analysis:
        counts = "; ".join(count(row[name]) for name in ("hr", "hw", "m"))
        named = [title_of(row), str(row["p"]), row["label"], counts]
        cells.append([*named, *programs.places(row), programs.milliseconds(row.get("compute_s"))])
    largest = max(analysis, key=_cells)
    title = f"Supersteps, counted on {_grid(largest)}; all iterations together"
    headers = ("layout", "p", "superstep", "h_r; h_w; M", "Loc", "M/G", "local\nms")
    return table(headers, cells, title=title, caption=AVERAGES, words=3)


def _grid(row: Data) -> str:
    return f"{row['rows']:,} x {row['columns']:,}"


def _cells(row: Data) -> int:
    return int(row["rows"] * row["columns"])
