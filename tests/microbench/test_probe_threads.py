"""Threads and streams: the timed events happen in the right order, and the accounting adds up."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import pictures
from support.machines import Machines
from support.reports import section_text, summed_up
from support.shapes import assert_same_keys, measured

import smp
from smp._runtime.memory.cells import Cells
from smp.microbench.method.plan import Plan
from smp.microbench.method.visits import TURNS
from smp.microbench.sections.threads import probe
from smp.microbench.sections.threads.loops import BACK, BEFORE, GO, WOKEN, spin_out
from smp.microbench.sections.threads.probe import EVENTS, LOOKS, PARTS, REPEATS, RETRIES, WHOLE, _Bench, accounting

PLAN = Plan("quick", (1,), 7, 64)


def remapping(proc: smp.Processor, cells: dict[int, Cells], limit: int) -> Any:
    before = proc.counters()
    ran, went_on = _Bench(proc, cells)._remap(limit)
    after = proc.counters()
    return ran, went_on, int(after["retries"].sum() - before["retries"].sum())


@pytest.mark.parametrize("limit", [0, LOOKS, RETRIES])
def test_a_stream_goes_to_a_ready_thread_and_back(machines: Machines, limit: int) -> None:
    machine = machines(1, pin=False)
    cells = {limit: machine.cells(1, retries=limit)}
    ran, went_on, retries = machine.run(remapping, cells, limit).results[0]
    assert 0 < ran < went_on
    assert retries >= min(limit, LOOKS), "it gives way after LOOKS looks; the wait for the result adds looks"
    assert cells[limit].peek(0)[0] is False


def handing(proc: smp.Processor) -> Any:
    bench = _Bench(proc, {})
    found = [bench._handed() for _ in range(3)]
    return found, bench._words.copy()


def test_a_bare_thread_is_woken_and_answers(machines: Machines) -> None:
    found, words = machines(1, pin=False).run(handing).results[0]
    assert all(ns > 0 for pair in found for ns in pair)
    assert words[GO] == words[BACK] == 3
    assert words[BEFORE] < words[WOKEN]


def every(proc: smp.Processor, cells: dict[int, Cells], what: str) -> int:
    return int(_Bench(proc, cells).times[what]())


@pytest.mark.parametrize("what", [*EVENTS, WHOLE, *(part for part in PARTS if part != "looks")])
def test_every_event_takes_time(machines: Machines, what: str) -> None:
    machine = machines(1, pin=False)
    cells = {limit: machine.cells(1, retries=limit) for limit in (0, LOOKS, RETRIES)}
    assert machine.run(every, cells, what).results[0] > 0
    assert not any(one.peek(0)[0] for one in cells.values()), "the cells are empty for the next event"


def test_spinning_ends() -> None:
    spin_out(1000)


@given(st.floats(1, 1e6), st.lists(st.floats(0, 1e6), min_size=len(PARTS), max_size=len(PARTS)))
def test_the_accounting_compares_the_sum_of_the_parts_with_the_whole(total: float, parts: list[float]) -> None:
    found = accounting({**dict(zip(PARTS, parts, strict=True)), WHOLE: total, "next": 1e9})
    assert found.total_ns == total
    assert found.explained_ns == pytest.approx(sum(parts))
    assert found.explained * total == pytest.approx(sum(parts))


def test_the_probe_measures_every_event_and_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.SECONDS, "quick", 0.01)
    section = probe.measure(PLAN, lambda *_: None)
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("threads"))
    assert [row["what"] for row in data["rows"]] == list(EVENTS)
    assert [row["what"] for row in data["parts"]] == list(PARTS)
    samples = section.samples["threads"]
    for row in [*data["rows"], data["whole"], *data["parts"]]:
        mine = samples[samples["what"] == row["what"]]
        assert len(mine) == row["windows"]
        assert len(mine) % REPEATS == 0
        used = mine[mine["flags"] & ~np.uint8(TURNS) == 0]
        used = used if len(used) else mine
        assert row["mean_ns"] == pytest.approx(used["wall_ns"].mean())
        assert row["std_ns"] == pytest.approx(used["wall_ns"].std())


def data() -> dict[str, Any]:
    def row(what: str, us: float) -> dict[str, Any]:
        ns = 1e3 * us
        about = {"what": what, "ns": ns, "cycles": 4 * ns, "mean_ns": 1.1 * ns, "std_ns": ns / 10, "minimum_ns": ns / 2}
        return about | {"p95_ns": 2 * ns, "windows": 50, "valid": what != "bare", "why": ["unstable"]}

    rows = [row(what, 10.0 * (k + 1)) for k, what in enumerate(EVENTS)]
    parts = [row(what, k + 1) for k, what in enumerate(PARTS)]
    whole = row(WHOLE, 40.0)
    found = accounting({each["what"]: each["ns"] for each in (whole, *parts)}).to_json()
    about = {"rows": rows, "whole": whole, "parts": parts, "accounting": found}
    return about | {"retries": 1024, "looks": 63, "valid": True, "why": []}


def test_the_tables_have_every_event_and_the_time_that_is_not_explained() -> None:
    text = section_text("threads", data())
    (remapped,) = [line.split()[-7:] for line in text.splitlines() if line.startswith("a waiting thread's stream")]
    assert remapped == ["40.0", "160,000", "44.0", "4.00", "50", "662", "172,000"]
    (rest,) = [line.split()[-2:] for line in text.splitlines() if line.startswith("not explained")]
    assert rest == ["25.0", "62.5"], "40 us less 1 + 2 + 3 + 4 + 5"
    assert "the parts explain 37.5% of the time" in text
    assert "a plain Python thread starts !" in text
    heading, said = summed_up("threads", data())
    assert heading == "Threads"
    assert "a stream starts in 10.0 us, a thread on an idle one in 20.0 us" in said
    assert said.endswith("remapping takes 40.0 us, 50.0 us by a trap")


def test_the_figure_has_a_bar_for_each_event_and_part() -> None:
    figure = pictures.described("threads", data())["threads"]
    drawn = pictures.check(figure)
    upper, lower = figure.panels
    (events,) = upper.series
    assert sorted(events.x) == [10.0 * (k + 1) for k in range(len(EVENTS))]
    bare = 10.0 * (EVENTS.index("bare") + 1)
    assert dict(zip(events.x, events.invalid, strict=True)) == {x: "unstable" * (x == bare) for x in events.x}
    parts = [(one.start[0], one.x[0]) for one in lower.series[:-1]]
    starts = np.cumsum([0, 1, 2, 3, 4, 5])
    np.testing.assert_allclose(parts, [*zip(starts, [1, 2, 3, 4, 5, 25], strict=True)])
    assert lower.series[-1].x == [40]
    for axes, panel in zip(drawn.axes, figure.panels, strict=True):
        assert [patch.get_width() for patch in axes.patches] == [x for one in panel.series for x in one.x]
    assert [patch.get_facecolor()[3] for patch in drawn.axes[0].patches].count(0) == 1, "an invalid bar is hollow"


def test_the_time_that_is_not_explained_is_as_valid_as_the_parts() -> None:
    found = data()
    for part in found["parts"]:
        part["valid"] = part["what"] != "wake"
    _, lower = pictures.described("threads", found)["threads"].panels
    assert [bool(one.invalid[0]) for one in lower.series] == [what == "wake" for what in PARTS] + [True, False]
