"""Displays for notebooks: small pictures that hold the values of a figure, and tables of a few rows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smp._output.figure import Axis, Figure, Panel, Series
from smp._output.notebook import MOST_ROWS, displayed
from smp._output.small import WIDTH, small_svg
from smp._output.table import Column, Part, Table

HOSTILE = '</svg><script>alert("x")</script>'
POSITIVE = st.floats(1e-9, 1e9)


def picture(*series: Series, x: Axis | None = None, y: Axis | None = None) -> ET.Element:
    figure = Figure("one", "what is seen", "", [Panel(x or Axis("x"), y or Axis("y"), series)])
    return ET.fromstring(small_svg(figure))


def titles(drawn: ET.Element) -> list[str]:
    return [str(one.text) for one in drawn.iter("title")][1:]


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=30), st.sampled_from(["linear", "log"]))
def test_every_point_is_drawn_inside_and_says_its_values(points: list[tuple[float, float]], scale: str) -> None:
    x, y = zip(*points, strict=True)
    drawn = picture(Series("s", x, y, "points"), x=Axis("n", scale=scale), y=Axis("time", "s", scale))  # type: ignore[arg-type]
    circles = list(drawn.iter("circle"))
    assert len(circles) == len(titles(drawn)) == len(points)
    high = float(drawn.attrib["viewBox"].split()[3])
    for one in circles:
        assert 0 <= float(one.attrib["cx"]) <= WIDTH
        assert 0 <= float(one.attrib["cy"]) <= high
    order = np.argsort(np.asarray(x), kind="stable")
    places = np.array([float(one.attrib["cx"]) for one in circles])[order]
    assert (np.diff(places) >= -0.1).all()


def test_bars_begin_at_their_start_and_have_the_names_of_their_rows() -> None:
    names = Axis("step", names=["a", "b"])
    drawn = picture(Series("s", [1.0, 3.0], [0, 1], "bar", start=[1.0, 0.0]), x=Axis("time", "s"), y=names)
    first, second = drawn.iter("rect")
    assert float(first.attrib["x"]) > float(second.attrib["x"])
    assert float(second.attrib["width"]) == pytest.approx(3 * float(first.attrib["width"]), abs=0.3)
    texts = [one.text for one in drawn.iter("text")]
    assert {"a", "b", "time"} <= set(texts)


def test_sizes_stand_at_powers_of_two() -> None:
    drawn = picture(Series("s", [4096, 1 << 20], [1, 2]), x=Axis("array", "bytes", "log"))
    texts = [str(one.text) for one in drawn.iter("text")]
    assert [text for text in texts if "iB" in text] == ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"]


def test_a_long_legend_has_several_lines_within_the_width() -> None:
    drawn = picture(*(Series(f"a series with a long name {k}", [1, 2], [1, 2], colour=k) for k in range(6)))
    boxes = list(drawn.iter("rect"))
    assert len({one.attrib["y"] for one in boxes}) > 1
    assert all(float(one.attrib["x"]) < WIDTH - 100 for one in boxes)


def test_missing_points_are_left_out() -> None:
    assert len(titles(picture(Series("s", [1, np.nan, 3], [1, 2, np.nan], "points")))) == 1


def test_all_text_is_escaped_and_nothing_is_a_script_or_a_style() -> None:
    figure = Figure("one", HOSTILE, "", [Panel(Axis(HOSTILE), Axis("y"), [Series(HOSTILE, [1, 2], [1, 2], "points")])])
    shown = displayed([Part(HOSTILE, [Table(HOSTILE, [Column(HOSTILE)], [[1.0]], [HOSTILE])])], figure)
    assert "<script" not in shown
    assert "<style" not in shown
    assert shown.count("alert") >= 5


def test_a_long_table_is_cut_and_says_so() -> None:
    table = Table("t", [Column("n")], [[float(k)] for k in range(100)])
    shown = displayed([Part("", [table])])
    assert len(re.findall("<td", shown)) == MOST_ROWS
    assert f"The first {MOST_ROWS} of 100 rows" in shown
    assert "<svg" not in shown
