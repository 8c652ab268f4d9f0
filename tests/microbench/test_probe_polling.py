"""Polling: a waiting stream looks as often as its limit allows, while another stream does its work."""

import json
import time
from typing import Any

import numpy as np
import pytest
from support import pictures
from support.reports import section_text, summed_up
from support.shapes import NEWER, assert_same_keys, measured

import smp
from smp._computer.limits import usable_cpus
from smp.microbench.method.plan import Measurement, Plan
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.windows import WINDOW, Flag
from smp.microbench.sections.polling import probe
from smp.microbench.sections.polling.probe import APART, BESIDE, FOREVER, Effort, Task, look_ns, rows_of, tasks_of
from smp.microbench.sections.polling.report import told_apart
from smp.microbench.sections.polling.rows import Poll

PLAN = Plan("quick", (1, 2), 7, 64)
LIMITS = (0, 50, FOREVER)


@pytest.fixture(scope="module", autouse=True)
def small() -> object:
    """Make arrays and visits small enough for a test. The processors of a machine get these values with the program."""
    patch = pytest.MonkeyPatch()
    patch.setitem(probe.EFFORTS, "quick", Effort(0.1, LIMITS, (1, 3)))
    patch.setattr(probe, "VISIT_NS", 1_000_000)
    patch.setattr(probe, "TURN_NS", 1_000_000)
    patch.setattr(probe, "FEWEST_ROUNDS", 2)
    yield
    patch.undo()


# --- visits


@pytest.mark.parametrize("processors", [1, 2])
def test_waiting_streams_look_as_often_as_the_limit_allows_and_then_trap(processors: int) -> None:
    place = APART if processors > 1 else BESIDE
    with smp.host(processors) as machine:
        bench = probe._Bench(machine, LIMITS)
        for limit in (0, 50):
            for pollers in (0, 1, 3):
                began = time.perf_counter_ns()
                windows, counts = bench.visit(Task(place, limit, pollers), 5)
                elapsed = time.perf_counter_ns() - began
                assert counts.tolist() == [limit * pollers, pollers], "retries are looks after the first"
                assert windows["round"].tolist() == [5]
                assert windows["operations"][0] % probe.CHUNK == 0
                assert 0 < windows["cpu_ns"][0] <= elapsed, (
                    "that clock is read outside the window, which may be shorter"
                )
        windows, (retries, traps) = bench.visit(Task(place, FOREVER, 2), 0)
        assert traps == 0
        assert retries > 1000, "they look all the time"


def test_there_are_tasks_without_pollers_and_for_each_limit_and_number_of_pollers() -> None:
    tasks = tasks_of(BESIDE, Effort(1.0, (0, FOREVER), (1, 2)))
    assert [(task.limit, task.pollers) for task in tasks] == [(0, 0), (0, 1), (0, 2), (FOREVER, 1), (FOREVER, 2)]
    assert [task.in_turns for task in tasks] == [False, False, False, True, True]
    # streams that take turns have several turns in a visit, whatever the number of streams
    assert tasks[4].visit_ns == 3 * probe.TURN_NS
    assert not any(task.in_turns for task in tasks_of(APART, Effort(1.0, (FOREVER,), (1,))))


# --- rows


def result(ns: float) -> object:
    windows = np.zeros(8, WINDOW)
    windows["operations"], windows["wall_ns"], windows["overlap"] = 1000, 1000 * ns, 1
    return summarise("point", windows, "median")


def test_the_slow_down_is_relative_to_no_pollers_in_the_same_place() -> None:
    tasks = [Task(APART, 0, 0), Task(BESIDE, 0, 0), Task(APART, FOREVER, 2), Task(BESIDE, 1024, 2)]
    results = dict(zip(tasks, map(result, (1.0, 2.0, 1.5, 5.0)), strict=True))
    rows = rows_of(results, {task: np.array([10.0, 2.0]) for task in tasks})  # type: ignore[arg-type]
    assert [row.slowdown for row in rows] == [1.0, 1.0, 1.5, 2.5]
    assert [row.limit for row in rows] == [0, 0, None, 1024]
    assert rows[3].GBps == pytest.approx(24 / 5)


def spread(low: float, high: float, clean: bool = True) -> Result:
    windows = np.zeros(101, WINDOW)
    windows["operations"], windows["overlap"] = 1000, 1
    windows["wall_ns"] = np.linspace(1000 * low, 1000 * high, 101)
    windows["flags"] = 0 if clean else Flag.STOLEN
    return summarise("point", windows, "median")


def test_the_ends_of_a_slow_down_come_from_the_quartiles_of_both_times() -> None:
    counts = np.zeros(2)
    alone, with_pollers = Task(APART, 0, 0), Task(APART, FOREVER, 2)
    # quartiles 2.5 and 3.5 over 1.25 and 1.75
    _, row = rows_of({alone: spread(1, 2), with_pollers: spread(2, 4)}, {alone: counts, with_pollers: counts})
    assert (row.slowdown_low, row.slowdown_high) == pytest.approx((2.5 / 1.75, 3.5 / 1.25))
    assert told_apart(row)
    _, row = rows_of({alone: spread(1, 2), with_pollers: spread(0.9, 2)}, {alone: counts, with_pollers: counts})
    assert row.slowdown < 1
    assert not told_apart(row)


def test_a_slow_down_relative_to_a_time_that_is_not_valid_is_not_valid() -> None:
    counts = np.zeros(2)
    alone, with_pollers = Task(APART, 0, 0), Task(APART, FOREVER, 2)
    results = {alone: spread(1, 1.1, clean=False), with_pollers: spread(2, 2.1)}
    first, second = rows_of(results, {alone: counts, with_pollers: counts})
    assert results[with_pollers].valid
    assert (first.valid, second.valid) == (False, False)
    assert second.why == [f"without pollers: {why}" for why in first.why or []]


def test_the_time_of_a_look_is_the_time_of_the_pollers_over_their_looks() -> None:
    def row(pollers: int, retries: float, limit: int | None = None) -> Poll:
        where: dict[str, Any] = {"place": APART, "limit": limit, "pollers": pollers}
        return Poll(**where, visit_ns=5e6, retries=retries, traps=0.0, GBps=1.0, slowdown=1.0, ns=1.0, windows=1)

    # 5 ms of the visit and 1 ms before it
    assert look_ns([row(4, 9e9), row(1, 6e5), row(0, 0, 0)], cpus=1) == pytest.approx(10.0)
    assert look_ns([row(4, 6e5)], cpus=1) == pytest.approx(10.0), "the pollers share one CPU"
    assert look_ns([row(2, 6e5)], cpus=3) == pytest.approx(20.0), "each poller has its own CPU"
    assert look_ns([row(2, 2048, 1024)], cpus=3) is None


# --- the probe, its report and its plot


@pytest.fixture(scope="module")
def section(small: object) -> Measurement:
    ticks: list[float] = []
    made = probe.measure(PLAN, lambda part, text: ticks.append(part))
    assert ticks == sorted(ticks)
    assert ticks[-1] == 1
    return made


def test_the_probe_measures_every_limit_and_number_of_pollers(section: Measurement) -> None:
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("polling"), NEWER | {"slowdown_low", "slowdown_high"})
    places = [APART, BESIDE] if len(usable_cpus()) > 1 else [BESIDE]
    keys = [(row["place"], row["limit"], row["pollers"]) for row in data["rows"]]
    limits = [None if limit == FOREVER else limit for limit in LIMITS]
    every = [(0, 0), *((limit, pollers) for limit in limits for pollers in (1, 3))]
    assert sorted(keys, key=str) == sorted(((place, *one) for place in places for one in every), key=str)
    for row in data["rows"]:
        assert row["traps"] == (0 if row["limit"] is None else row["pollers"])
        assert row["windows"] >= 2
        assert row["GBps"] == pytest.approx(24 / row["ns"])
    assert len(section.samples["polling"]) == sum(row["windows"] for row in data["rows"])
    assert data["valid"] == (not data["why"])


def test_the_report_shows_the_numbers(section: Measurement) -> None:
    data = json.loads(json.dumps(section.data.to_json()))
    for row in data["rows"]:
        row["slowdown"] = 1.0 + row["pollers"] * (0.75 if row["limit"] is None else 0.125)
    text = section_text("polling", data | {"look_ns": 12.5}, 150)
    assert "3.250" in text
    assert "1.375" in text
    assert "A look takes about 12.5 ns: a wait that traps after 1,024 holds its CPU for 12.8 us" in text
    heading, said = summed_up("polling", data)
    assert heading == "Polling"
    assert "next to 3 streams that poll for ever on its own CPU" in said
    assert "3.25 times" in said


def test_the_figure_shows_the_numbers(section: Measurement) -> None:
    figure = pictures.described("polling", section.data.to_json())["polling"]
    pictures.check(figure)
    panel = figure.panels[-1]
    rows = [row for row in section.data.to_json()["rows"] if row["place"] == BESIDE]
    for label, limit in (("0", 0), ("50", 50), ("for ever", None)):
        own = {row["pollers"]: row for row in rows if row["pollers"] and row["limit"] == limit}
        found = pictures.series(panel, label)
        assert found.kind == "points", "two points have no line through them"
        assert [panel.x.names[round(x)] for x in found.x] == ["1", "3"] == [str(pollers) for pollers in sorted(own)]
        for field, name in (("y", "slowdown"), ("low", "slowdown_low"), ("high", "slowdown_high")):
            assert getattr(found, field) == [own[pollers][name] for pollers in (1, 3)]
    assert pictures.points(panel, "an equal share\nof the CPU") == [[0, 2], [1, 4]]
