"""The page of a run: its timeline, the supersteps that took the most time, its interval, and its trace to save."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import browser, missing, wait_until
from support.markup import Markup, file_in
from support.shapes import QUICK

import smp
from smp._runtime.program.display.run_page import MOST_SPANS
from smp._runtime.program.steps import PHASES


def copies(proc: smp.Processor, values: smp.GlobalArray, words: list[int]) -> None:
    for number in words:
        with proc.superstep(f"copy of {number}") as step:
            step.copy_in(values, slice(0, number))
            step.compute()


def run_of(words: list[int], size: int = 2) -> smp.Run:
    with smp.emulated(size, seed=1) as machine:
        return machine.run(copies, machine.array(np.zeros(10_000)), words)


def figures(page: str) -> list[dict[str, Any]]:
    return [json.loads(one) for one in re.findall(r'<script type="application/json">(.*?)</script>', page)]


def test_the_bars_of_the_timeline_are_the_phases_and_their_waits() -> None:
    run = run_of([100, 5_000])
    (timeline,) = figures(run.page())
    series = {one["name"]: one for one in timeline["panels"][0]["series"]}
    spans = run.timeline()
    drawn = sum(sum(one["x"]) for one in series.values())
    assert drawn == pytest.approx(float((spans["end"] - spans["start"]).sum()), rel=1e-4)
    assert sum(series["wait"]["x"]) == pytest.approx(float(spans["waited"].sum()), rel=1e-4)
    assert timeline["panels"][0]["y"]["names"] == ["processor 0", "processor 1"]


def test_the_page_has_the_trace_and_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    run = run_of([100, 5_000])
    run.write_trace(tmp_path / "trace.json")
    assert file_in(run.page()) == (tmp_path / "trace.json").read_bytes()
    assert run_of([100, 5_000]).page() == run.page()


def test_of_a_long_run_the_supersteps_that_took_the_most_time_are_drawn() -> None:
    supersteps = MOST_SPANS // (2 * len(PHASES) * 2) + 50
    run = run_of(list(range(1, supersteps + 1)))
    page = run.page()
    events = json.loads(file_in(page))["traceEvents"]
    drawn = {one["args"]["step"] for one in events if one["name"].startswith("copy of ")}
    seconds = sum(run.summary()[phase] for phase in PHASES)
    assert len(drawn) == supersteps - 50
    assert min(seconds[sorted(drawn)]) >= max(np.delete(seconds, sorted(drawn)))
    assert f"{supersteps - 50:,} of {supersteps:,} supersteps, those that took the most time" in page
    assert sum(len(one["x"]) for one in figures(page)[0]["panels"][0]["series"]) <= MOST_SPANS


def test_an_interval_has_a_section_with_its_figure_and_its_table() -> None:
    with warnings.catch_warnings(action="ignore"):
        profile = smp.Profile.load(QUICK)
    with smp.host(2) as machine:
        run = machine.run(copies, machine.array(np.zeros(10_000)), [100, 5_000])
        with warnings.catch_warnings(action="ignore"):
            interval = run.interval(profile)
    page = run.page(interval)
    assert [one["id"] for one in figures(page)][1:] == [interval.figure().id]
    assert 'href="#interval"' in page


def test_a_run_without_supersteps_has_a_page_without_a_timeline() -> None:
    with smp.emulated(1) as machine:
        page = machine.run(lambda proc: proc.rank).page()
    assert "<h1>A run on 1 processor</h1>" in page
    assert figures(page) == []


def test_a_label_stays_text() -> None:
    def program(proc: smp.Processor) -> None:
        with proc.superstep("</script><img src=x onerror=alert(1)>") as step:
            step.compute()

    with smp.emulated(1) as machine:
        assert Markup(machine.run(program).page()).tags["img"] == 0


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_browser_draws_it_without_errors(tmp_path: Path) -> None:
    (tmp_path / "run.html").write_text(run_of([100, 5_000]).page(), encoding="utf-8")
    with browser(tmp_path) as window:
        window.open(tmp_path / "run.html")
        wait_until(lambda: window.run("return document.querySelector('figure svg[role=img] rect')"))
        assert window.errors() == []
