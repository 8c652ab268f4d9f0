"""The loops execute all of their instructions in every stream, and the statistics are those of NumPy."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import pictures
from support.reports import section_text, summed_up
from support.shapes import assert_same_keys, measured

from smp.microbench.method.plan import Plan
from smp.microbench.method.result import summarise
from smp.microbench.method.visits import VISIT
from smp.microbench.sections.instruction import probe
from smp.microbench.sections.instruction.probe import ADD, CLOCK, Effort, add, read, statistics

PLAN = Plan("quick", (1,), 7, 64)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 20), st.integers(0, 1000), st.integers(0, 1000))
def test_the_chain_does_all_of_its_instructions(sixteens: int, a: int, b: int) -> None:
    span = np.zeros(4, np.int64)
    expected = a
    for _ in range(16 * sixteens // 2):  # an exclusive or and an addition
        expected = (expected ^ a) + b
    assert add(16 * sixteens, a, b, span) == expected
    assert span[3] == 16 * sixteens
    assert 0 < span[0] <= span[1]


def test_every_read_of_the_clock_is_executed() -> None:
    span = np.zeros(4, np.int64)
    few = np.zeros(4, np.int64)
    for _ in range(2):  # the first call compiles
        read(1_000_000, 1, 2, span)
        read(1_000, 1, 2, few)
    assert span[3] == 1_000_000
    assert span[1] - span[0] > few[1] - few[0], "a thousand times as many reads take longer"


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)), min_size=1, max_size=20))
def test_mean_and_deviation_are_those_of_all_streams_and_visits(visits: list[tuple[int, int]]) -> None:
    windows = np.zeros((len(visits), 2), VISIT)
    windows["wall_ns"], windows["operations"] = visits, 1000
    windows["round"] = np.arange(len(visits))[:, None]
    found = statistics(summarise((ADD, 2), windows.ravel(), "median"), 3.0)
    clocks = 3.0 * np.array(visits) / 1000
    assert found["clocks_mean"] == pytest.approx(clocks.mean())
    assert found["clocks_std"] == pytest.approx(clocks.std(), abs=1e-3)
    # two streams with a thousand instructions each keep the CPU busy until the last one ends
    assert found["total_clocks"] == pytest.approx(np.median(clocks.max(axis=1)) / 2)


def test_the_probe_has_a_window_for_each_stream_of_each_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.EFFORTS, "quick", Effort(0.01, (1, 3)))
    monkeypatch.setattr(probe, "STREAM_SECONDS", 2e-4)
    section = probe.measure(PLAN, lambda *_: None)
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("instruction"))
    assert [(row["what"], row["streams"]) for row in data["rows"]] == [(w, s) for w in (ADD, CLOCK) for s in (1, 3)]
    samples = section.samples["instruction"]
    for row in data["rows"]:
        mine = samples[(samples["what"] == row["what"]) & (samples["streams"] == row["streams"])]
        turns = len(np.unique(mine["round"]))
        assert len(mine) == row["windows"] == turns * row["streams"]
        assert sorted(mine["rank"].tolist()) == sorted(list(range(row["streams"])) * turns)
        assert set(mine["operations"].tolist()) == {data["instructions"][row["what"]]}
        assert (mine["cpu_ns"] > 0).all()
        assert 0 < row["minimum_ns"] <= row["ns"] <= row["p95_ns"]


def data() -> dict[str, Any]:
    rows = [
        {
            "what": what,
            "streams": streams,
            "clocks_mean": each * streams,
            "clocks_std": streams / 8,
            "total_clocks": each,
            "ns": 0.25,
            "minimum_ns": 0.2,
            "p95_ns": 0.3,
            "windows": 5 * streams,
            "valid": streams == 1,
            "why": ["unstable"],
        }
        for what, each in ((ADD, 1.0), (CLOCK, 80.0))
        for streams in (1, 4, 32)
    ]
    return {"rows": rows, "instructions": {ADD: 1_000_000, CLOCK: 5000}, "valid": True, "why": []}


def test_the_table_shows_the_rows() -> None:
    lines = section_text("instruction", data()).splitlines()
    found = [line.split()[-9:] for line in lines if line.startswith("read of the clock !")]
    assert found == [
        [str(s), f"{80 * s:,}", number, "80.0", "0.250", "0.200", "0.300", str(5 * s), str(s + 20)]
        for s, number in ((4, "0.500"), (32, "4.00"))
    ]
    _, text = summed_up("instruction", data())
    assert text.startswith("an addition takes 1.00 clocks alone, 32.0 with 32 streams on one CPU")


def test_the_figure_shows_mean_and_deviation() -> None:
    figure = pictures.described("instruction", data())["instruction"]
    pictures.check(figure)
    streams = np.array([1, 4, 32])
    assert figure.title == "With 32 streams on one CPU an addition takes 32.0 times as long as with 1 (not valid)"
    for panel, each in zip(figure.panels, (1.0, 80.0), strict=True):
        for name in ("mean", "of the CPU, for\none instruction"):
            assert pictures.series(panel, name).invalid == ["", "unstable", "unstable"]
        np.testing.assert_allclose(pictures.series(panel, "mean").y, each * streams)
        band = pictures.series(panel, "one standard\ndeviation")
        np.testing.assert_allclose([band.low, band.high], [each * streams - streams / 8, each * streams + streams / 8])
