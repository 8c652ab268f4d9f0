"""Plot of red-black relaxation: time a cell and iteration by layout and grid, beside a copy of the grid."""

from __future__ import annotations

from matplotlib.figure import Figure

from smp.microbench.output.axes import COLOURS, GREY, MARKERS, Data, Rows, canvas, column, legend, log_plain
from smp.microbench.output.format import by_streams

from ..programs.report import few
from .report import FORM_TITLES, title_of

FORMS = {"blocked": (GREY, "--"), "one by one": (GREY, "-"), "copy": ("black", "-")}


def times(profile: Data) -> Figure | None:
    """Draw ns a cell and iteration by the side of the grid, a panel for each p; None where nothing was relaxed."""
    data = profile.get("stencil") or {}
    rows, forms = by_side(data.get("rows", [])), by_side(data.get("forms", []))
    if not rows or not forms:
        return None
    counts, streams = few(sorted({row["p"] for row in rows})), forms[0].get("streams")
    figure, axes = canvas(
        "Red-black relaxation: what an iteration takes, beside a copy of the grid",
        "square grids of float64, median; without the copies before and after all iterations; "
        f"copy and fast form: {by_streams(streams)}",
        columns=len(counts),
        right=0.83,
        gap=0.06,
        sharex=True,
        sharey=True,
    )
    names = list(dict.fromkeys(row["layout"] for row in rows))
    sides = sorted({row["rows"] for row in rows})
    for one, p in zip(axes[0], counts, strict=True):
        for name, (colour, style) in FORMS.items():
            mine = [form for form in forms if form["form"] == name]
            side, ns = column(mine, "rows"), column(mine, "ns_per_cell")
            one.plot(side, ns, style, marker=".", color=colour, linewidth=2.5, label=FORM_TITLES[name])
        for layout, title in dict.fromkeys((row["layout"], _named(row)) for row in rows if row["p"] == p):
            k, mine = names.index(layout), [row for row in rows if row["p"] == p and _named(row) == title]
            side, ns = column(mine, "rows"), column(mine, "ns_per_cell")
            one.plot(side, ns, marker=MARKERS[k % len(MARKERS)], color=COLOURS[k % (len(COLOURS) - 1)], label=layout)
        log_plain(one.xaxis)
        one.set_xticks(sides)
        log_plain(one.yaxis, (1, 2, 3, 5))
        one.set_title(f"p = {p}", fontsize=10.5, loc="left")
        one.set_xlabel("rows, and columns, of the grid")
    axes[0, 0].set_ylabel("time per cell and iteration (ns)")
    drawn = {line.get_label(): line for one in axes[0] for line in one.get_lines()}
    legend(axes[0, -1], handles=list(drawn.values()))
    return figure


def by_side(rows: Rows) -> Rows:
    """Return rows with the smallest grid first."""
    return sorted(rows, key=lambda row: int(row["rows"]))


def _named(row: Data) -> str:
    return title_of(row["layout"], row["blocks"])
