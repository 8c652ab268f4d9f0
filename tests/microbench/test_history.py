"""The history of key figures in a folder: a line for each measurement, and lines beside the figures of the page."""

from __future__ import annotations

import copy
import json
import re
import warnings
from pathlib import Path

import pytest

import smp
from smp.microbench.report.history import NAME, add_to_history, history_in
from smp.microbench.report.key_numbers import key_figures
from smp.microbench.report.page import page_of, write_page

QUICK = Path(__file__).parents[1] / "data" / "profile" / "quick.json"


def measured(day: int, ns: float) -> smp.Profile:
    """Return a profile of another day, with another latency of the first cache."""
    with warnings.catch_warnings(action="ignore"):
        data = copy.deepcopy(smp.Profile.load(QUICK).data)
    data["created"] = f"2026-11-{day:02}T08:00:00+00:00"
    data["latency"]["levels"][0]["ns"] = ns
    return smp.Profile(data)


def test_each_measurement_adds_a_line_with_its_valid_key_figures(tmp_path: Path) -> None:
    for day, ns in ((1, 1.0), (2, 1.5), (3, 1.25)):
        add_to_history(measured(day, ns), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
    assert [line["created"][8:10] for line in lines] == ["01", "02", "03"]
    valid = {one.name for one in key_figures(measured(1, 1.0)) if not one.why}
    assert all(line["figures"].keys() == valid for line in lines)
    assert history_in(tmp_path)["L1 latency"] == [1.0, 1.5, 1.25]


def test_a_continued_measurement_takes_the_place_of_its_line(tmp_path: Path) -> None:
    add_to_history(measured(1, 1.0), tmp_path)
    add_to_history(measured(1, 2.0), tmp_path)
    assert history_in(tmp_path)["L1 latency"] == [2.0]


def test_the_page_draws_a_line_from_the_third_measurement_on(tmp_path: Path) -> None:
    for day, ns in ((1, 1.0), (2, 2.0)):
        add_to_history(measured(day, ns), tmp_path)
    assert "<polyline" not in write_page(measured(2, 2.0), None, tmp_path).read_text(encoding="utf-8")
    add_to_history(measured(3, 1.5), tmp_path)
    page = write_page(measured(3, 1.5), None, tmp_path).read_text(encoding="utf-8")
    found = re.search(r'L1 latency</span>.*?<polyline points="([^"]+)"', page, re.DOTALL)
    assert found is not None
    heights = [float(point.split(",")[1]) for point in found[1].split()]
    assert heights == pytest.approx([15, 1, 8])
    assert "<polyline" not in page_of(measured(3, 1.5))


@pytest.mark.parametrize("text", ["", "no JSON\n", "[]\n", '{"figures": 3}\n', '{"figures": {"a": "b"}}\n', "\udcff"])
def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert history_in(tmp_path) == {}
    add_to_history(measured(1, 1.0), tmp_path)
    assert history_in(tmp_path)["L1 latency"] == [1.0]
