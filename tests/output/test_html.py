"""Tables and figures in HTML: the numbers of the terminal, escaped text, and data that a script can read."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.markup import Markup

from smp._output import html
from smp._output.figure import Axis, Cells, Figure, Mark, Panel, Series
from smp._output.page.described import to_json
from smp._output.page.ends import ends_of
from smp._output.page.page import Caution, KeyFigure, Page, Section, render
from smp._output.page.points import MOST_ROWS, tables
from smp._output.table import Bounded, Column, Marked, Part, Table, counted, text

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"
LABELS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.sampled_from("<>&\"'/!-"), min_size=1)
NUMBERS = st.lists(st.floats(-1e9, 1e9) | st.just(math.nan), min_size=1, max_size=20)


def figure(*panels: Panel, **more: str) -> Figure:
    return Figure("one", "A title", "how to read it", panels, **more)


def curve(y: object, **more: object) -> Panel:
    return Panel(Axis("x"), Axis("y", "ns"), [Series("a", np.arange(np.size(y)), y, **more)])


def test_a_table_has_the_numbers_of_the_terminal() -> None:
    columns = (text("kernel"), counted("p"), Column("time", "us", scale=1e-3), Column("array", form="bytes"))
    rows = [[Marked("copy", why=("unstable", "rare")), 1024, Bounded(1234.5678, 1000.0, None), 49152]]
    found = Markup(html.table(Table("Rates", columns, rows, ["! not valid", ""])))
    assert found.texts["caption"][0].strip() == "Rates"
    assert [cell.strip() for cell in found.texts["th"]] == ["kernel", "p", "time", "array", "copy"]
    assert found.texts["br"] == ["us"]
    assert [cell.strip() for cell in found.texts["td"]] == ["1,024", "1.23 [1.0, open]", "48 KiB"]
    assert found.texts["b"][0].strip() == "!"
    assert found.values("th", "title") == ["unstable; rare"]
    assert [note.strip() for note in found.texts["li"]] == ["! not valid"]


@given(LABELS)
def test_no_text_of_a_table_becomes_markup(label: str) -> None:
    one = Table(
        label, (text(label), Column(label, label)), [[label, label], [Marked(label, label, (label,)), 1.0]], [label]
    )
    plain = Table("x", (text("x"), Column("x", "x")), [["x", "x"], [Marked("x", "x", ("x",)), 1.0]], ["x"])
    document, same = (Markup(html.report([Part(each.title, [each], each.title)])) for each in (one, plain))
    assert document.tags == same.tags
    assert [name[:2] for name in document.attributes] == [name[:2] for name in same.attributes]
    assert document.texts["caption"][0].strip() == label
    assert document.values("th", "title") == [label]


def test_tables_bring_no_style_sheet_and_no_script() -> None:
    document = html.report(
        [Part("A", [Table("t", (text("a"),), [["b"]]), Table(notes=["That is all."])], "Not valid: x.")]
    )
    assert not {"style", "script"} & set(Markup(document).tags)


@given(LABELS)
def test_no_text_of_a_figure_ends_its_script(label: str) -> None:
    panel = Panel(Axis(label), Axis("y"), [Series(label, [1.0], [2.0], invalid=[label], notes=[label])], label)
    data = to_json(figure(panel))
    assert "</" not in data
    assert "<!" not in data
    found = json.loads(data)["panels"][0]
    assert found["title"] == found["series"][0]["name"] == found["series"][0]["invalid"][0] == label


@given(NUMBERS)
def test_numbers_of_a_figure_have_five_digits_and_nan_is_null(numbers: list[float]) -> None:
    (series,) = json.loads(to_json(figure(curve(numbers))))["panels"][0]["series"]
    for value, was in zip(series["y"], numbers, strict=True):
        assert value is None if math.isnan(was) else value == pytest.approx(was, rel=5e-5)
    assert "kind" not in series  # a default is left out


@given(st.lists(NUMBERS, min_size=1, max_size=4), st.sampled_from(["none", "row", "col", "all"]))
def test_the_ends_of_axes_enclose_all_points_and_are_shared(curves: list[list[float]], share: str) -> None:
    panels = [curve(y) for y in curves]
    found = ends_of(Figure("one", "", "", panels, columns=2, share_y=share))
    for y, (_, (low, high)) in zip(curves, found, strict=True):
        assert all(low <= value <= high for value in y if not math.isnan(value))
        assert low < high
    groups = {"none": range(4), "row": (0, 0, 1, 1), "col": (0, 1, 0, 1), "all": (0, 0, 0, 0)}[share]
    shared = {group: ends for group, (_, ends) in zip(groups, found, strict=False)}
    assert [shared[group] for group, _ in zip(groups, found, strict=False)] == [ends for _, ends in found]


def test_a_logarithmic_axis_leaves_out_zero_and_bars_stand_on_it() -> None:
    log = Panel(Axis("x"), Axis("y", scale="log"), [Series("a", [1, 2, 3], [0.0, 10.0, 1000.0])])
    bars = Panel(Axis("x"), Axis(names=["a", "b"]), [Series("", [3.0, 5.0], [0, 1], "bar")])
    ends = ends_of(figure(log, bars))
    assert ends[0][1] == pytest.approx((10**0.9, 10**3.1))
    assert ends[1] == ((0.0, 5.25), (1.6, -0.6))  # the first bar is on top


@given(NUMBERS)
def test_every_point_of_a_figure_is_in_its_table(numbers: list[float]) -> None:
    (found,) = tables(figure(curve(numbers)))
    assert [row[1] for row in found.rows] == [value for value in numbers if not math.isnan(value)]


def test_a_long_table_of_points_says_how_much_is_left_out() -> None:
    (found,) = tables(figure(curve(np.arange(3000.0))))
    assert len(found.rows) == MOST_ROWS
    assert "3,000" in found.notes[-1]


def test_points_that_are_not_valid_are_marked_in_the_table_and_spread_is_shown() -> None:
    panel = curve([1.0, 2.0], low=[0.5, math.nan], high=[1.5, math.nan], invalid=["", "unstable"])
    (found,) = tables(figure(panel))
    assert [row[1] for row in found.rows] == [Bounded(1.0, 0.5, 1.5), Marked(2.0, "!", ("unstable",))]
    assert found.notes[0] == "! not valid: unstable"


def test_a_heat_map_becomes_a_table_and_its_rings_become_marks() -> None:
    x, y = Axis("array", names=["1 KiB", "2 KiB"]), Axis("stride", names=["8 B"])
    panel = Panel(
        x, y, [Series("", [1.36], [0.32], invalid=["rare"])], cells=Cells([0, 1], [0], [[3.0, 4.0]], "load", "ns")
    )
    (found,) = tables(figure(panel))
    assert [column.name for column in found.columns] == ["stride", "1 KiB", "2 KiB"]
    assert found.rows == [["8 B", 3.0, Marked(4.0, "!", ("rare",))]]
    cells = json.loads(to_json(figure(panel)))["panels"][0]["cells"]
    assert (cells["edges"], cells["why"]) == ([[-0.5, 0.5, 1.5], [-0.5, 0.5]], {"0,1": "rare"})


def test_all_text_of_a_page_is_escaped() -> None:
    def page(label: str) -> str:
        panel = Panel(Axis(label), Axis(label), [Series(label, [1.0], [2.0])], label, [Mark(1.0, text=label)])
        drawn = Figure("one", label, label, [panel], remarks=label)
        part = Section("a", label, label, label, [drawn], [Table(label, (text(label),), [[label]], [label])])
        number = KeyFigure(label, label, label, [label], "a", label)
        return render(Page(label, label, [Caution(label, label, "a")], [number], [part], "a.json", b"{}", label))

    found = Markup(page(HOSTILE))
    assert found.tags == Markup(page("x")).tags
    assert found.texts["h1"] == [f"{HOSTILE}\n"]
