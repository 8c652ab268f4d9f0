"""Every algorithm that ranks lists is measured next to the serial loop, and predicted."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.placement import Still
from support.profiles import MEASURED, charging
from support.reports import section_text
from support.shapes import NEWER, assert_same_keys, measured

import smp
from smp.microbench.method.plan import Measurement, Plan, Stopped
from smp.microbench.sections.lists import probe
from smp.microbench.sections.programs import probe as probe_programs

LENGTHS = (300, 5_000)


@pytest.fixture(scope="module")
def section() -> Iterator[Measurement]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(probe.LENGTHS, "quick", LENGTHS)
        patch.setattr(probe, "REPEATS", 3)
        patch.setattr(probe_programs, "unsteady", lambda seconds: [])  # whatever else this computer does
        patch.setitem(probe.FORMS, "wyllie", replace(probe.FORMS["wyllie"], longest=1_000))
        ticks: list[float] = []
        made = probe.measure(
            Plan("quick", (1, 2), 7, 64, placement=Still()), lambda part, text: ticks.append(part), charging()
        )
        assert ticks == sorted(ticks)
        assert ticks[-1] == pytest.approx(1)
        yield made


def test_every_algorithm_is_measured_next_to_the_serial_loop(section: Measurement) -> None:
    data, samples = section.data.to_json(), section.samples["lists"]
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("lists"), but=NEWER | {"valid", "why", "off"})
    assert (data["valid"], data["functions_of"]) == (True, MEASURED)
    expected = {(n, p, name) for n in LENGTHS for p in (1, 2) for name in probe.algorithms()}
    expected -= {(5_000, p, "wyllie") for p in (1, 2)}
    assert {(row["n"], row["p"], row["algorithm"]) for row in data["rows"]} == expected
    serial = {row["n"]: row["ns_per_element"] for row in data["serial"]}
    assert list(serial) == list(LENGTHS)
    for row in data["rows"]:
        chosen = (samples["n"] == row["n"]) & (samples["p"] == row["p"]) & (samples["algorithm"] == row["algorithm"])
        assert row["seconds"] == pytest.approx(np.median(samples[chosen]["seconds"]))
        assert row["speedup"] == pytest.approx(serial[row["n"]] / row["ns_per_element"])
        assert row["measured_s"] < row["seconds"]  # the supersteps are part of the run
        steps = [step for step in data["steps"] if all(step[key] == row[key] for key in ("n", "p", "algorithm"))]
        for name in ("measured_s", "good_s", "bad_s", "random_s"):
            assert row[name] == pytest.approx(sum(step[name] + step["compute_s"] for step in steps))
        assert row["compute_s"] == pytest.approx(sum(step["compute_s"] for step in steps))
    for row in data["fast"]:
        assert row["speedup"] == pytest.approx(serial[row["n"]] / row["ns_per_element"])
    assert [(row["n"], row["streams"]) for row in data["fast"]] == [(n, 1) for n in LENGTHS]
    example = data["superstep"]
    assert (example["n"], example["p"]) == (5_000, 2)
    assert example in data["steps"]


def test_without_cost_functions_supersteps_have_counts_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.LENGTHS, "quick", (400,))
    data = probe.measure(Plan("quick", (1,), 7, 64), lambda part, text: None).data.to_json()
    assert "no cost functions" in data["why"][0]
    assert "good_s" not in data["superstep"]
    assert "Time per element" in section_text("lists", data)


def wrong(proc: smp.Processor, successor: smp.GlobalArray, ranks: smp.GlobalArray) -> None:
    """Leave the ranks as they are."""


def test_wrong_ranks_raise_an_error_and_ctrl_c_keeps_the_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.LENGTHS, "quick", (50, 60))
    plan, ranked = Plan("quick", (1,), 7, 64), probe._rank

    def first_only(machine: smp.Machine, successor: Any, *arguments: Any) -> None:
        if len(successor) == 60:
            raise KeyboardInterrupt
        ranked(machine, successor, *arguments)

    monkeypatch.setattr(probe, "_rank", first_only)
    with pytest.raises(Stopped) as stopped:
        probe.measure(plan, lambda part, text: None)
    assert {row["n"] for row in stopped.value.section.data.to_json()["rows"]} == {50}
    monkeypatch.setattr(probe, "_rank", ranked)
    monkeypatch.setitem(probe.FORMS, "reid-miller", replace(probe.FORMS["reid-miller"], program=wrong))
    with pytest.raises(probe.WrongRanks, match="reid-miller on 1 processors"):
        probe.measure(plan, lambda part, text: None)
