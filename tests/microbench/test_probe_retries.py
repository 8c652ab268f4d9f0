"""A wait looks exactly as often as its limit says, and the time of a look follows from the times of the waits."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import pictures
from support.reports import section_text, summed_up
from support.shapes import assert_same_keys, measured

import smp
from smp.microbench.method.plan import Plan
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.visits import VISIT
from smp.microbench.sections.retries import probe
from smp.microbench.sections.retries.probe import RETRIES, _program, look_of

PLAN = Plan("quick", (1,), 7, 64)


@pytest.mark.parametrize("limit", [0, 1, 63, 64, 65, 1024])
def test_the_counter_equals_the_limit(limit: int) -> None:
    with smp.host(1) as machine:
        cells = {limit: machine.cells(1, retries=limit)}
        counted, windows = machine.run(_program, cells, [limit] * 3, 2, 20.0).results[0]
        assert [(one.retries, one.traps) for one in counted] == [(limit, 1)] * 3
        # a wait with a timeout of 0 looks and traps like any other
        assert [(int(one["retries"][0]), int(one["traps"][0])) for one in windows] == [(limit, 1)] * 3
        assert cells[limit].peek(0)[0] is False


def result(limit: int, ns: float) -> Result:
    windows = np.zeros(5, VISIT)
    windows["wall_ns"], windows["operations"] = round(ns), 1
    return summarise((limit,), windows, "median")


@given(st.integers(1, 10**6), st.integers(0, 10**4), st.integers(0, 99))
def test_the_time_of_a_look_is_the_extra_time_of_the_longest_wait_per_look(limit: int, first: int, look: int) -> None:
    results = [result(limit, first + look * limit), result(0, first)]
    assert look_of(results) == look


def test_the_probe_counts_and_times_every_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.SECONDS, "quick", 0.01)
    section = probe.measure(PLAN, lambda *_: None)
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("retries"))
    assert [row["limit"] for row in data["rows"]] == list(RETRIES)
    for row in data["rows"]:
        assert row["equal"]
        assert row["counted_least"] == row["counted_most"] == row["limit"]
        assert row["waits"] == row["windows"]
    samples = section.samples["retries"]
    assert (samples["retries"] == samples["limit"]).all()
    assert len(samples) == sum(row["windows"] for row in data["rows"])
    assert data["look_ns"] > 0


def data() -> dict[str, Any]:
    rows = [
        {
            "limit": limit,
            "counted_least": limit,
            "counted_most": limit + (limit == 100),
            "equal": limit != 100,
            "ns": 2000.0 + 25 * limit,
            "minimum_ns": 1000.0,
            "p95_ns": 9000.0,
            "windows": 20,
            "waits": 21,
            "valid": True,
            "why": [],
        }
        for limit in (0, 100, 1024)
    ]
    return {"rows": rows, "look_ns": 25.0, "valid": True, "why": []}


def test_a_count_that_is_not_the_limit_is_reported() -> None:
    lines = section_text("retries", data()).splitlines()
    found = {line.split()[0]: line.split()[1:] for line in lines if line.strip()[:1].isdigit()}
    assert found["100"][:4] == ["100", "101", "21", "NO"]
    assert found["1,024"] == ["1,024", "1,024", "21", "yes", "27.6", "1.00", "9.00", "20", "453"]
    heading, text = summed_up("retries", data())
    assert text == "NOT as set for the limits 100; a look takes 25.0 ns, 1,024 looks as on the Tera take 25.6 us"
    right = data()
    right["rows"] = [row for row in right["rows"] if row["equal"]]
    assert summed_up("retries", right)[1].startswith("as many as set;")
    assert heading == "Retries"


def test_the_figure_shows_counts_and_times() -> None:
    figure = pictures.described("retries", data())["retries"]
    pictures.check(figure)
    assert figure.title == "A wait traps after another number of looks than set: 100; a look takes 25.0 ns"
    left, right = figure.panels
    assert pictures.series(left, "most counted").y == [0, 101, 1024]
    np.testing.assert_allclose(pictures.series(right, "until the trap").y, [2.0, 4.5, 27.6])
