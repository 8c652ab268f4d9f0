"""Drawing of figures: numbers along axes, places of legends and notes, marks of invalid values, heat maps, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smp._output.drawing import draw, save
from smp._output.figure import Axis, Cells, Figure, Mark, Panel, Series


def figure(*panels: Panel, id: str = "one", **more: Any) -> Figure:
    return Figure(id, "what is seen", "how to read it", panels, **more)


def numbers(x: Axis, values: list[float]) -> list[str]:
    """Return the numbers that stand along the x axis within its ends."""
    (axes,) = draw(figure(Panel(x, Axis("y"), [Series("", values, values)]))).axes
    low, high = axes.get_xlim()
    return [tick.label1.get_text() for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]


@pytest.mark.parametrize(
    ("axis", "values", "expected"),
    [
        (Axis("n", scale="log"), [1, 1000], ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1,000"]),
        (Axis("n", scale="log"), [1e3, 1e7], ["$10^{3}$", "$10^{4}$", "$10^{5}$", "$10^{6}$", "$10^{7}$"]),
        (Axis("n", scale="log"), [4.2, 5.4], ["4.2", "4.5", "4.8", "5.1", "5.4"]),
        (Axis("array", "bytes", "log"), [4096, 1 << 20], [f"{4 << k} KiB" for k in range(8)] + ["1 MiB"]),
        (Axis("delay", "s", "log", ticks=[1e-6, 5e-5]), [1e-6, 5e-5], ["1 µs", "50 µs"]),
        (Axis("streams"), [1, 2, 3], ["1", "2", "3"]),
        (Axis("limit", scale="symlog", low=0, high=100), [0, 100], ["0", "1", "10", "100"]),
    ],
)
def test_the_numbers_along_an_axis_fit_its_scale_and_unit(axis: Axis, values: list[float], expected: list[str]) -> None:
    assert numbers(axis, values) == expected


def test_shared_axes_are_labelled_once() -> None:
    y = Axis("time", "ns")
    panels = [Panel(Axis("n"), y, [Series("", [1, 2], [1, 2])]) for _ in range(4)]
    drawn = draw(figure(*panels, columns=2, share_x="all", share_y="row"))
    assert [axes.get_ylabel() for axes in drawn.axes] == ["time (ns)", "", "time (ns)", ""]
    assert [axes.get_xlabel() for axes in drawn.axes] == ["", "", "n", "n"]


def test_a_legend_covers_no_panel() -> None:
    lines = [Series(f"a series with a long name, {k}", [1, 2], [k, k + 1], colour=k) for k in range(20)]
    drawn = draw(figure(Panel(Axis("n"), Axis("time", "s"), lines), Panel(Axis("n"), Axis("time", "s"), lines[:3])))
    (legend,) = drawn.subfigs[1].legends
    assert [text.get_text() for text in legend.get_texts()] == [one.name for one in lines]
    box = legend.get_window_extent()
    assert all(axes.get_window_extent().x1 < box.x0 for axes in drawn.axes)
    assert box.x1 <= 1200
    assert box.y0 >= 0


def test_a_point_that_is_not_valid_is_ringed() -> None:
    line = Series("", [1, 2, 3], [4, 5, 6], invalid=["", "unstable", ""])
    (axes,) = draw(figure(Panel(Axis("n"), Axis("time", "s"), [line]))).axes
    (ring,) = [one for one in axes.get_lines() if one.get_markeredgecolor() == "#cc0000"]
    assert ring.get_xydata().tolist() == [[2, 5]]


def test_a_bar_that_is_not_valid_is_ringed_at_its_end() -> None:
    bars = [Series("", [4], [k], "bar", start=[3], invalid=[why], notes=["4 us"]) for k, why in enumerate(["", "few"])]
    (axes,) = draw(figure(Panel(Axis("time", "us"), Axis(names=["a", "b"]), bars))).axes
    (ring,) = [one for one in axes.get_lines() if one.get_markeredgecolor() == "#cc0000"]
    assert ring.get_xydata().tolist() == [[7, 1]]
    first, second = (text.get_position() for text in axes.texts)
    assert second[0] > first[0], "the note makes room for the ring"


def heads(drawn: Any) -> list[tuple[str, list[list[float]]]]:
    (axes,) = drawn.axes
    return [(one.get_marker(), one.get_xydata().tolist()) for one in axes.get_lines() if one.get_marker() in (*"<>^v",)]


def test_whiskers_are_whole_or_end_in_an_arrowhead() -> None:
    bars = Series("", [4, 5], [0, 1], "bar", low=[3, 1], high=[6, 20])
    drawn = draw(figure(Panel(Axis("time", "us", low=0, high=10), Axis(names=["a", "b"]), [bars])))
    assert heads(drawn) == [(">", [[10, 1]])]
    dots = Series("", [1, 2], [4, 5], "points", low=[-3, 4], high=[5, 20], spread="bars", marker=1)
    drawn = draw(figure(Panel(Axis("n"), Axis("time", "us", low=0, high=10), [dots])))
    assert heads(drawn) == [("v", [[1, 0]]), ("^", [[2, 10]])]
    assert heads(draw(figure(Panel(Axis("n"), Axis("time", "us"), [dots])))) == [], "an axis that fits cuts no whisker"


@pytest.mark.parametrize("letters", [10, 92, 150])
def test_a_title_is_never_cut(letters: int) -> None:
    panel = Panel(Axis("n"), Axis("time", "s"), [Series("", [1, 2], [1, 2])])
    long = " ".join(["measured"] * 30)[:letters]
    drawn = draw(Figure("one", long, long, [panel]))
    drawn.draw_without_rendering()
    assert all(text.get_window_extent().x1 < 1200 for text in drawn.texts)


def test_notes_stand_on_the_side_that_has_room() -> None:
    dots = Series("", [1, 9], [1, 2], "points", notes=["left", "right"])
    (axes,) = draw(figure(Panel(Axis("n"), Axis("time", "s"), [dots]))).axes
    assert [(text.get_text(), text.get_ha()) for text in axes.texts] == [("left", "left"), ("right", "right")]


def test_marks_are_named_in_the_legend_and_may_span_two_values() -> None:
    marks = [Mark(1.5, text="the best"), Mark(0.2, 0.4, axis="y", text="noise")]
    drawn = draw(figure(Panel(Axis("n"), Axis("time", "s"), [Series("", [1, 2], [0, 1])], marks=marks)))
    assert [text.get_text() for text in drawn.subfigs[1].legends[0].get_texts()] == ["the best", "noise"]
    (band,) = drawn.axes[0].patches
    assert (band.get_y(), band.get_height()) == (0.2, pytest.approx(0.2))


@pytest.mark.parametrize("values", [[[0, 1], [np.nan, 8]], [[np.nan, np.nan]] * 2])
def test_a_map_of_names_has_the_colours_of_the_lines(values: list[list[float]]) -> None:
    lines = [Series(str(k), [1, 2], [k, k], colour=k) for k in range(9)]
    axis = Axis("n")
    cells = Cells([1, 2], [1, 2], values, named=True)
    drawn = draw(figure(Panel(axis, axis, lines), Panel(axis, axis, cells=cells), legend_at="below"))
    drawn.draw_without_rendering()
    (mesh,) = drawn.axes[1].collections
    shown = mesh.to_rgba(mesh.get_array()).reshape(-1, 4)
    for colour, value in zip(shown, np.ravel(values), strict=True):
        if np.isnan(value):
            assert colour[3] == 0
        else:
            (line,) = [one for one in drawn.axes[0].get_lines() if one.get_label() == str(int(value))]
            assert "#" + "".join(f"{round(255 * part):02x}" for part in colour[:3]) == line.get_color()


def test_numbers_are_stored_as_plain_floats() -> None:
    line = Series("", np.arange(2), np.array([1, np.nan], np.float32))
    assert line.x == [0.0, 1.0]
    assert {type(value) for value in (*line.x, *line.y)} == {float}
    assert Cells(range(2), (0,), np.ones((1, 2), np.int32)).values == [[1.0, 1.0]]


def test_files_are_named_after_their_figures(tmp_path: Path) -> None:
    panel = Panel(Axis("n"), Axis("time", "s"), [Series("", [1], [1])])
    (file,) = save([figure(panel, id="effects-a/b")], tmp_path / "new")
    assert file == tmp_path / "new" / "effects-a%2Fb.png"
    assert file.read_bytes()[:4] == b"\x89PNG"
