"""The section on placement: looks at this computer, and results from readings whose states are known."""

import json
from typing import Any

import numpy as np
import pytest
from support import pictures
from support.reports import section_text, summed_up

import smp
from smp._computer.limits import usable_cpus
from smp.errors import MachineError
from smp.microbench.method.placement import records
from smp.microbench.method.plan import Plan
from smp.microbench.sections.placement import probe
from smp.microbench.sections.placement.probe import SAMPLE, Looks
from smp.models.placement import NONE, find_states
from smp.models.placement_log import LONGEST, READING, PlacementLog

CPUS = len(usable_cpus())
needs_two = pytest.mark.skipif(CPUS < 2, reason="two CPUs lie somehow to each other")


@needs_two
def test_looks_are_taken_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.SECONDS, "quick", 0.1)
    plan = Plan("quick", (1, 2, CPUS + 1), 7, 64)
    made = probe.measure(plan, lambda *_: None)
    data = made.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert set(data["looks"]) == {"2"}, "one processor has no neighbour, and more processors than CPUs take turns"
    looks = made.samples["looks"]
    assert len(looks) == data["looks"]["2"] > 3
    assert plan.placement.processors == [2]
    assert len(plan.placement.samples()) == np.isfinite(looks["ns"]).sum()
    for row in data["rows"]:
        assert 0.2 < row["clock_GHz"] < 20
        assert row["slowest_GHz"] <= row["clock_GHz"] * 1.001
    readings = plan.placement.samples()
    lasted = np.clip(np.diff(readings["at_s"], append=readings["at_s"][-1:]), 1e-6, LONGEST)
    in_a_state = plan.placement.placement(2).label(readings["ns"]) != NONE  # a reading far from all others has none
    assert sum(row["share"] for row in data["rows"]) == pytest.approx(lasted[in_a_state].sum() / lasted.sum())


def test_looks_are_summed_up_state_by_state() -> None:
    taken = np.zeros(6, SAMPLE)
    taken["ns"], taken["GHz"] = [70, 70, 71, 280, 281, 70], [3, 3, 3, 2, 2, 3]
    taken["slowest_GHz"], taken["together"] = taken["GHz"] / 2, [1, 1, 1, 2, 2, 1]
    one, other = Looks(taken, find_states(taken["ns"])).rows(4)
    assert (one.p, one.looks, one.clock_GHz, one.slowest_GHz, one.together) == (4, 4, 3.0, 1.5, 1.0)
    assert (other.looks, other.clock_GHz, other.together) == (2, 2.0, 2.0)


def section() -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(1)
    readings = np.zeros(300, READING)
    readings["p"], readings["at_s"] = 2, np.arange(300) * 0.1
    readings["ns"] = np.where(readings["at_s"] < 20, 70, 280) * np.exp(0.03 * rng.standard_normal(300))
    states = records(find_states(readings["ns"]))
    rows = [
        {"p": 2, "looks": 5, "clock_GHz": 3.0, "slowest_GHz": 2.9, "together": together} for together in (1.02, 1.9)
    ]
    both = [{**state.to_json(), **row} for state, row in zip(states, rows, strict=True)]
    return {"rows": both, "looks": {"2": 10}, "states": {"2": [state.to_json() for state in states]}}, readings


def test_the_report_explains_each_state() -> None:
    data, _ = section()
    text = section_text("placement", data)
    assert "a core each" in text
    assert "two CPUs share a core" in text
    heading, line = summed_up("placement", data)
    assert heading == "Placement"
    assert line.startswith("p = 2: 2 states, hand-off of a line in 70")
    assert "(66.7%), 27" in line or "(66.7%), 28" in line


def test_without_two_processors_there_is_no_placement() -> None:
    assert "There is no placement: " in section_text("placement", {"rows": [], "looks": {}})


def test_every_reading_is_drawn_in_the_colour_of_its_state() -> None:
    data, readings = section()
    (figure,) = pictures.described("placement", data, readings).values()
    (panel,) = figure.panels
    main, other = panel.series
    assert (len(main.x), len(other.x)) == (200, 100)
    assert max(main.y) < 100 < min(other.y)
    assert min(other.x) == pytest.approx(20.0)
    assert figure.title.endswith("?")


def test_a_log_that_is_restored_knows_the_earlier_readings() -> None:
    log, again = PlacementLog(), PlacementLog()
    assert log.note_runs(2, [(70.0, 70.0)] * 9 + [(70.0, 280.0), (280.0, 280.0)]).tolist() == [True] * 9 + [False] * 2
    again.restore(log.samples())
    assert again.placement(2) == log.placement(2)
    assert again.placement(3).states == ()


def test_the_main_state_stays_until_another_is_clearly_more_frequent() -> None:
    log = PlacementLog()
    log.note(2, np.arange(100) * 0.1, [70.0] * 100)
    assert [state.ns for state in log.placement(2).states] == [70.0]
    log.note(2, 10 + np.arange(150) * 0.1, [280.0] * 150)
    assert [state.ns for state in log.placement(2).states] == [70.0, 280.0], "60% is not clearly more frequent"
    log.note(2, 25 + np.arange(100) * 0.1, [280.0] * 100)
    assert [state.ns for state in log.placement(2).states] == [280.0, 70.0]


def test_readings_that_are_noted_together_count_alike() -> None:
    log = PlacementLog()
    for k in range(40):
        log.note(2, float(k), [70.0] * 9 + [280.0])
    shares = {state.ns: state.share for state in log.placement(2).states}
    assert shares == pytest.approx({70.0: 0.9, 280.0: 0.1})


@needs_two
def test_the_function_placement_looks_at_once() -> None:
    seen = smp.placement(2, seconds=0.05)
    assert len(seen.at_s) == len(seen.ns) >= 1
    assert seen.at_s[0] == 0.0
    assert "hand-off: of a line between neighbours" in str(seen)


@pytest.mark.parametrize("processors", [1, CPUS + 1])
def test_a_placement_needs_two_processors_with_a_cpu_each(processors: int) -> None:
    with pytest.raises(MachineError, match=rf"{processors} on {CPUS} CPUs? cannot have one"):
        smp.placement(processors)
