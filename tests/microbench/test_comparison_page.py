"""The page of a comparison: figures of two profiles in one, key figures of both, and the data of the tables."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
from support.markup import file_in

import smp
from smp._output.figure import Axis, Cells, Figure, Panel, Series
from smp.microbench.command import main
from smp.microbench.report.comparison_page import page_of_comparison, together

QUICK = Path(__file__).parents[1] / "data" / "profile" / "quick.json"


@pytest.fixture(scope="module")
def profile() -> smp.Profile:
    with warnings.catch_warnings(action="ignore"):
        return smp.Profile.load(QUICK)


def figure(*series: Series, title: str = "", cells: Cells | None = None) -> Figure:
    return Figure("one", title, "", [Panel(Axis("x"), Axis("y"), series, cells=cells)])


def test_lines_of_both_are_in_one_figure() -> None:
    a, b = (figure(Series("copy", [1, 2], y, marker=0), title=t) for t, y in (("A", [1, 2]), ("B", [2, 3])))
    (one,) = together(a, b)
    assert one.title == "a: A; b: B"
    ours, theirs = one.panels[0].series
    assert (ours.name, ours.dash, ours.marker, ours.y) == ("copy, a", "solid", 0, [1, 2])
    assert (theirs.name, theirs.dash, theirs.marker, theirs.y) == ("copy, b", "dashed", 1, [2, 3])
    assert ours.colour == theirs.colour


@pytest.mark.parametrize(
    ("series", "cells"), [(Series("s", [1], [0], "bar"), None), (Series("s", [1], [1]), Cells([1], [1], [[1]]))]
)
def test_bars_and_heat_maps_have_a_figure_each(series: Series, cells: Cells | None) -> None:
    found = list(together(figure(series, title="A", cells=cells), figure(series, title="B", cells=cells)))
    assert [(one.id, one.title) for one in found] == [("one-a", "a: A"), ("one-b", "b: B")]


def test_the_page_has_the_rows_and_the_key_figures_of_both(profile: smp.Profile) -> None:
    comparison = smp.compare(profile, profile)
    page = page_of_comparison(comparison, [profile, profile])
    assert page == page_of_comparison(comparison, [profile, profile])
    assert json.loads(file_in(page)) == comparison.to_json()
    value = re.search(r"L1 latency, b</span>\s*<b>([\d.]+) ", page)
    assert value is not None
    assert f"a: {value[1]} ns" in page
    assert "copy, a" in page
    assert "copy, b" in page


def test_three_profiles_have_a_section_with_the_key_figures_of_all(profile: smp.Profile) -> None:
    data = json.loads(QUICK.read_text(encoding="utf-8"))
    level = data["latency"]["levels"][0]
    level["ns"] *= 3
    with warnings.catch_warnings(action="ignore"):
        slow = smp.Profile(data)
        page = page_of_comparison(smp.compare(profile, profile, slow), [profile, profile, slow])
    drawn = [json.loads(one) for one in re.findall(r'<script type="application/json">(.*?)</script>', page)]
    (every,) = [one for one in drawn if one["id"] == "key-figures"]
    first = every["panels"][0]
    assert first["title"] == "L1 latency"
    assert first["y"]["names"] == ["a", "b", "c"]
    assert first["series"][0]["x"] == pytest.approx([level["ns"] / 3, level["ns"] / 3, level["ns"]], rel=1e-4)
    row = re.search(r"<tr><th>L1 latency.*", page)
    assert row is not None
    assert row[0].endswith("<td>1.00<td>3.00")
    assert 'id="all"' not in page_of_comparison(smp.compare(profile, slow), [profile, slow])


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "there/comparison.html"
    assert main(["--compare", str(QUICK), str(QUICK), "--page", str(file)]) == 0
    assert "Content-Security-Policy" in file.read_text(encoding="utf-8")
    assert "comparison.html" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(SystemExit):
        main(["--page", str(file)])
    assert "argument --page: goes only with --compare" in capsys.readouterr().err
