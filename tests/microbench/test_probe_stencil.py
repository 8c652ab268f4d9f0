"""Relaxation is measured with every layout, next to a copy of the grid and the fast form."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import pictures
from support.machines import Machines
from support.placement import Still
from support.reports import cells, first_screen, section_text, summed_up
from support.shapes import NEWER, PREDICTED, assert_same_keys, measured

import smp
from smp.kernels.grids.layouts import rectangles
from smp.microbench.method.plan import Measurement, Plan, Stopped
from smp.microbench.sections.programs import probe as probe_programs
from smp.microbench.sections.stencil import probe
from smp.microbench.sections.stencil.probe import ITERATIONS, layouts_of

PLAN = Plan("quick", (1, 2), 7, 64, placement=Still())
SIDES = (24, 90)
FORMS = ("blocked", "one by one", "copy")


@pytest.mark.parametrize("p", [1, 2, 3, 4, 6, 7, 8, 12, 16])
def test_every_way_to_divide_a_grid_is_measured_once(p: int) -> None:
    shape, layouts = (122, 122), layouts_of(p)
    assert (layouts[-1].name, math.prod(layouts[-1].blocks)) == ("shared", p)
    own = layouts[:-1]
    shares = [
        tuple(rectangles(shape, p, layout=name, blocks=blocks if name == "rectangular" else None))
        for name, blocks in own
    ]
    assert len(set(shares)) == len(own)
    every = {
        tuple(rectangles(shape, p, layout="rectangular", blocks=(k, p // k))) for k in range(1, p + 1) if p % k == 0
    }
    assert set(shares) == every
    for (_, blocks), share in zip(own, shares, strict=True):
        assert (len({one.top for one in share}), len({one.left for one in share})) == blocks


@pytest.fixture(scope="module")
def section() -> Iterator[Measurement]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(probe.SIDES, "quick", SIDES)
        patch.setattr(probe, "REPEATS", 3)
        patch.setattr(probe_programs, "unsteady", lambda seconds: [])  # whatever else this computer does
        ticks: list[float] = []
        made = probe.measure(PLAN, lambda part, text: ticks.append(part))
        assert ticks == sorted(ticks)
        assert ticks[-1] == pytest.approx(1)
        yield made


def test_every_layout_is_measured(section: Measurement) -> None:
    data, samples = section.data.to_json(), section.samples["stencil"]
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("stencil"), but=NEWER | PREDICTED | {"valid", "why", "off"})
    found = [(row["rows"], row["p"], row["layout"]) for row in data["rows"]]
    assert found == [(side, p, name) for p in (1, 2) for side in SIDES for name, _ in layouts_of(p)]
    for row in data["rows"]:
        mine = samples[[all(one[key] == row[key] for key in probe.KEY) for one in samples]]
        assert (len(mine), row["iterations"]) == (3, ITERATIONS)
        assert row["seconds"] == pytest.approx(np.median(mine["seconds"]))
        steps = [one for one in data["steps"] if all(one[key] == row[key] for key in probe.KEY)]
        whole = sum(one["measured_s"] + one["compute_s"] for one in steps)
        assert whole == pytest.approx(row["seconds"])  # the repeat of median time
        assert 0 < row["ns_per_cell"] * ITERATIONS * row["rows"] * row["columns"] <= row["seconds"] * 1e9 * (1 + 1e-9)
        assert (row["around_ns"] > 0) == (row["layout"] != "shared")
    assert [(form["rows"], form["form"]) for form in data["forms"]] == [
        (side, name) for side in SIDES for name in FORMS
    ]
    for form in data["forms"]:
        copy = next(one for one in data["forms"] if (one["rows"], one["form"]) == (form["rows"], "copy"))
        assert form["copies"] == pytest.approx(form["ns_per_cell"] / copy["ns_per_cell"])


def test_supersteps_of_a_colour_are_pooled(section: Measurement) -> None:
    side = SIDES[-1]
    for row in section.data.to_json()["analysis"]:
        assert (row["rows"], row["runs"]) == (side, len(SIDES))
        assert row["times"] == (ITERATIONS if row["label"] in ("red", "black") else 1)
    mine = {row["label"]: row for row in section.data.to_json()["analysis"] if row["layout"] == "vertical"}
    # one edge of each processor has a neighbour, and half of its cells have one colour
    assert [mine["red"][name] for name in ("hr", "hw", "m")] == [(side - 2) // 2] * 2 + [4 * (side - 2) // 2]
    assert mine["init"]["m"] == 2 * side * (side // 2 + 1)
    assert mine["result"]["m"] == (side - 2) ** 2


def test_a_grid_that_memory_does_not_suffice_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.SIDES, "quick", (16, 40))
    monkeypatch.setattr(probe, "available_memory", lambda: probe.ROOM * 8 * 16**2)
    data = probe.measure(Plan("quick", (1,), 7, 64), lambda part, text: None).data.to_json()
    assert {row["rows"] for row in data["rows"]} == {16}
    assert data["left_out"] == [40]
    assert "Left out, since memory is short: 40 x 40." in section_text("stencil", data)


def untouched(proc: smp.Processor, grid: smp.GlobalArray, layout: str, **options: Any) -> None:
    with proc.superstep("red") as step:
        step.compute()
        if layout == "shared" and proc.rank == 0:
            step.copy_out(grid, (2, 3), -1.0)


def test_a_layout_with_another_result_raises_an_error(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "relax_red_black", untouched)
    with pytest.raises(probe.WrongGrid, match="layout shared on 2 processors: 1 of 64 cells differ"):
        probe._relax(machines(2), np.ones((8, 8)), probe._Found(None, Still()))


@pytest.mark.parametrize(("wrong", "form"), [("relax", "blocked"), ("side_by_side", "copy")])
def test_a_form_with_another_result_raises_an_error(wrong: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def relax(grid: np.ndarray, out: np.ndarray, **options: Any) -> None:
        out[:] = 2.0

    monkeypatch.setattr(probe, "relax", relax)
    monkeypatch.setattr(probe, wrong, lambda *arguments, **options: None)
    with pytest.raises(probe.WrongGrid, match=f"relaxation, {form}: 64 of 64 cells differ"):
        probe._relax_here(np.ones((8, 8)), np.full((8, 8), 2.0), probe._Found(None, Still()))


def test_ctrl_c_keeps_the_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(probe.SIDES, "quick", (8, 10))
    monkeypatch.setattr(probe, "_relax", interrupted)
    with pytest.raises(Stopped) as stopped:
        probe.measure(Plan("quick", (1,), 7, 64), lambda part, text: None)
    assert stopped.value.name == "stencil"
    data = stopped.value.section.data.to_json()
    assert (data["rows"], len(data["forms"])) == ([], 2 * len(FORMS))
    assert "copy of the grid" in section_text("stencil", data)
    monkeypatch.setattr(probe, "_relax_here", interrupted)
    with pytest.raises(KeyboardInterrupt) as nothing:
        probe.measure(Plan("quick", (1,), 7, 64), lambda part, text: None)
    assert not isinstance(nothing.value, Stopped)


# --- its report and its plot


@pytest.fixture
def told(section: Measurement) -> dict[str, Any]:
    """The section with known numbers in the place of the measured ones."""
    data: dict[str, Any] = json.loads(json.dumps(section.data.to_json()))
    for row in data["rows"]:
        work = row["rows"] ** 2 * ITERATIONS
        row |= {"ns_per_cell": 4.0 - row["p"], "around_ns": 6.0, "measured_s": 3.5e-9 * work, "good_s": 1.25e-9 * work}
        row |= {"bad_s": 5e-9 * work, "random_s": None, "loc": 0.75, "m_over_g": 2.8, "inside": True}
        row |= {"supersteps": 34, "supersteps_inside": 33, "note": "", "compute_s": 0.5e-9 * work}
    for form in data["forms"]:
        ns = {"copy": 0.8, "one by one": 1.0, "blocked": 0.4}[form["form"]]
        form |= {"ns_per_cell": ns, "copies": ns / 0.8, "streams": 2}
    for row in data["analysis"]:
        row |= {"loc": 0.5, "m_over_g": 2.25, "compute_s": 1e-3}
    return data | {"functions_of": "some day", "valid": True, "why": []}


def test_the_report_shows_the_numbers(told: dict[str, Any]) -> None:
    text = section_text("stencil", told)
    times, interval = cells(text, "uniprocessor", "90 x 90", "1")
    assert times == ["3.00", "3.75", "6.00"]
    assert interval == ["3.50", "0.500", "1.25", "5.00", "-", "0.75", "2.80", "yes", "33", "34"]
    assert cells(text, "vertical 1x2", "24 x 24", "2")[0] == ["2.00", "2.50", "6.00"]
    assert cells(text, "fast form", "24 x 24", "2") == [["0.400", "0.500", "-"]]
    assert cells(text, "vertical 1x2", "2", "init") == [["4,140", "0", "8,280", "-", "-", "1.00"]]  # too small to tell
    assert "measured on some day" in text
    assert "measured on some day" not in section_text("stencil", told, created="some day")
    assert "…" not in text


def test_the_first_screen_has_a_line_on_relaxation(told: dict[str, Any]) -> None:
    assert summed_up("stencil", told) == (
        "Relaxation",
        "90 x 90, in ns per cell and iteration: vertical 1x2 2.00 (Loc 0.75) with p = 2; fast form 0.400, "
        "unblocked 1.00; a copy of the grid 0.800",
    )
    assert "Relaxation  90 x 90, in ns per cell" in first_screen({"stencil": told})


def test_without_predictions_there_is_no_table_of_intervals(section: Measurement) -> None:
    text = section_text("stencil", section.data.to_json())
    assert "Not valid: no cost functions" in text
    assert "Intervals" not in text
    assert len(cells(text, "uniprocessor", "90 x 90", "1")) == 1


def test_the_figure_shows_the_numbers(section: Measurement) -> None:
    made = pictures.described("stencil", section.data.to_json())
    assert list(made) == ["stencil-time"]
    figure = made["stencil-time"]
    pictures.check(figure)
    assert len(figure.panels) == 2
    for panel, p in zip(figure.panels, (1, 2), strict=True):
        copy = [
            [form["rows"], form["ns_per_cell"]] for form in section.data.to_json()["forms"] if form["form"] == "copy"
        ]
        assert pictures.points(panel, "copy of the grid") == copy
        for name, _ in layouts_of(p):
            rows = [row for row in section.data.to_json()["rows"] if (row["layout"], row["p"]) == (name, p)]
            assert pictures.points(panel, name) == [[row["rows"], row["ns_per_cell"]] for row in rows]
    assert pictures.described("stencil", section.data.to_json() | {"forms": []}) == {}


def test_runs_are_drawn_in_their_intervals_by_layout(told: dict[str, Any]) -> None:
    told["rows"][-1] |= {"inside": False}
    figure = pictures.described("stencil", told)["stencil-interval"]
    pictures.check(figure)
    assert [panel.title for panel in figure.panels] == ["p = 1", "p = 2"]
    assert list(figure.panels[1].y.names) == [
        f"{name}, {side}" for name in ("horizontal 2x1", "shared 2x1", "vertical 1x2") for side in SIDES
    ]
    for panel in figure.panels:
        bar, took = panel.series
        assert (bar.start[0], bar.x[0], took.x[0]) == pytest.approx((1.25, 5 - 1.25, 3.5))
    assert (
        figure.title
        == f"Red-black relaxation: {len(told['rows']) - 1} of {len(told['rows'])} runs lie in their intervals"
    )


def test_the_title_names_the_fastest_layout(told: dict[str, Any]) -> None:
    told["rows"][-1] |= {"layout": "shared", "blocks": "2x1", "ns_per_cell": 0.4}
    assert pictures.described("stencil", told)["stencil-time"].title == (
        "Relaxing 90 x 90: the fastest layout is shared 2x1, p = 2 (2.00 times a copy's speed)"
    )
