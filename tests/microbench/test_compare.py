"""Comparison of two profiles: the figures that both have, the figures that one lacks, and the faster machine."""

import copy
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.profiles import document
from support.shapes import MPI, QUICK

from smp.errors import ProfileError
from smp.microbench.predictions.changes import cross
from smp.microbench.predictions.comparison import Comparison, compare
from smp.microbench.predictions.figures import figures_of, titles
from smp.microbench.predictions.rows import Row
from smp.profiles.profile import Profile


def measured() -> dict[str, Any]:
    """A profile with something in every section that is compared."""
    run = {"n": 1_000, "p": 2, "ns_per_element": 8.0}
    return document() | {
        "latency": {
            "levels": [{"name": "L1", "ns": 1.5}, {"name": "DRAM", "ns": 120.0}],
            "levels_from": "huge",
            "random": [{"bytes": 4096, "ns": 1.5, "valid": True}, {"bytes": 65536, "ns": 4.0, "valid": True}],
        },
        "bandwidth": {"stream": [{"processors": 2, "kernel": "triad", "GBps": 20.0, "valid": True}]},
        "synchronisation": {
            "fetch_add_ns": {"alone": 5.0, "contended": {"2": 20.0}},
            "handoff_store_ns": 50.0,
            "handoff_exchange_ns": 80.0,
            "barrier_us": {"2": {"compiled": 0.25, "python": 2.0}},
            "superstep_us": {"2": 20.0},
            "rows": [],
        },
        "lists": {
            "rows": [run | {"algorithm": "helman-jaja"}],
            "serial": [{"n": 1_000, "ns_per_element": 4.0}],
            "fast": [{"n": 1_000, "ns_per_element": 3.0}],
        },
        "sorting": {
            "rows": [run | {"algorithm": "radix"}],
            "forms": [{"n": 1_000, "form": "numpy", "ns_per_element": 2.0}],
        },
        "stencil": {
            "rows": [{"rows": 64, "columns": 64, "p": 2, "layout": "square", "blocks": "2x1", "ns_per_cell": 0.5}],
            "forms": [{"rows": 64, "columns": 64, "form": "copy", "ns_per_cell": 0.4}],
        },
        "messages": json.loads(QUICK.read_text())["messages"],
        "nodes": json.loads(MPI.read_text())["nodes"],
    }


def against(change: Callable[[dict[str, Any]], None]) -> Comparison:
    """Compare a profile with a changed copy of itself."""
    other = copy.deepcopy(measured())
    change(other)
    return compare(Profile(measured()), Profile(other))


def row_of(found: Comparison, what: str) -> Row:
    (row,) = [row for row in found.rows if row.what == what]
    return row


def test_a_profile_is_as_fast_as_itself() -> None:
    found = against(lambda data: None)
    assert {row.section for row in found.rows} == set(titles())
    assert all(row.ratio == row.gain == 1.0 for row in found.rows)
    assert not found.missing
    assert {(each.faster, each.gains) for each in found.foretold} == {("", (1.0, 1.0))}


def test_less_time_and_more_bandwidth_are_faster() -> None:
    def change(data: dict[str, Any]) -> None:
        data["latency"]["random"][1]["ns"] = 8.0
        data["bandwidth"]["stream"][0]["GBps"] = 50.0
        data["synchronisation"]["barrier_us"]["2"]["python"] = 1.0

    found = against(change)
    slower = row_of(found, "random order, 64 KiB")
    assert (slower.unit, slower.a, slower.b, slower.ratio, slower.gain) == ("ns", 4.0, 8.0, 2.0, 0.5)
    wider = row_of(found, "triad, p = 2")
    assert (wider.unit, wider.ratio, wider.gain) == ("GB/s", 2.5, 2.5)
    barrier = row_of(found, "barrier from Python, p = 2")
    assert (barrier.a, barrier.b, barrier.gain) == (2_000.0, 1_000.0, 2.0)


def test_access_functions_are_compared_per_word_and_per_coefficient() -> None:
    def change(data: dict[str, Any]) -> None:
        for row in data["access"]["functions"]:
            row["coefficients"] = [2 * price for price in row["coefficients"]]
            row["unidentified"] = ["ghw1"]

    found = against(change)
    rows = [row for row in found.rows if row.section == "access"]
    assert rows
    assert all(row.gain == pytest.approx(0.5) for row in rows)
    bad = row_of(found, "bad, 10,000 words, p = 2")  # 20 ns to read and 40 to write, and 2 for M = 4h
    assert bad.a == pytest.approx((20 + 40 + 4 * 2) / 2)
    assert row_of(found, "good: a word read (L2), p = 4").a == pytest.approx(4.0)
    assert not [row for row in rows if "good: a word written" in row.what]  # b could not identify it


def test_the_machine_with_faster_memory_would_run_everything_faster() -> None:
    def change(data: dict[str, Any]) -> None:
        for row in data["access"]["functions"]:
            row["coefficients"] = [price / 4 for price in row["coefficients"]]

    found = against(change)
    assert {each.p for each in found.foretold} == {4}  # the largest p that both measured
    for each in found.foretold:
        assert each.faster == "b"
        assert each.gains == pytest.approx((4, 4))
        assert each.a == cross(Profile(measured()), each.kernel, each.n, 4)


def test_the_faster_machine_is_undecided_if_the_two_ends_disagree() -> None:
    def change(data: dict[str, Any]) -> None:
        for row in data["access"]["functions"]:
            factor = 2 if row["family"] == "good" else 0.5
            row["coefficients"] = [factor * price for price in row["coefficients"]]

    found = against(change)
    assert {each.faster for each in found.foretold} == {""}
    assert str(found).count("undecided") >= len(found.foretold)


def test_figures_that_one_profile_lacks_are_reported() -> None:
    def change(data: dict[str, Any]) -> None:
        del data["stencil"], data["lists"]["fast"]
        data["sorting"]["rows"].append({"n": 5, "p": 2, "algorithm": "radix", "ns_per_element": 9.0})

    found = against(change)
    assert found.missing == (
        "b lacks 1 of 3 figures of list ranking by programs",
        "a lacks 1 of 3 figures of sorting by programs",
        "b lacks grid relaxation by programs",
    )
    assert "b lacks grid relaxation by programs." in str(found)


def test_without_cost_functions_nothing_is_predicted() -> None:
    found = against(lambda data: data.pop("access"))
    assert not found.foretold
    assert "b lacks access patterns and cost functions" in found.missing


def test_without_bad_accesses_nothing_is_predicted_but_good_ones_are_compared() -> None:
    def change(data: dict[str, Any]) -> None:
        data["access"]["functions"] = [row for row in data["access"]["functions"] if row["family"] == "good"]

    found = against(change)
    assert not found.foretold
    assert row_of(found, "good, 10,000 words, p = 2").gain == 1.0


def test_figures_that_are_not_valid_are_marked() -> None:
    found = against(lambda data: data["latency"]["random"][0].update(valid=False))
    assert not row_of(found, "random order, 4 KiB").valid
    assert row_of(found, "random order, 64 KiB").valid
    assert "random order, 4 KiB !" in str(found)


def test_a_figure_of_zero_is_not_compared() -> None:
    found = against(lambda data: data["latency"]["levels"][0].update(ns=0.0))
    assert "L1, huge pages" not in [row.what for row in found.rows]


def test_paths_are_accepted_and_another_machine_causes_no_warning(tmp_path: Path) -> None:
    other = measured()
    other["machine"] |= {"name": "elsewhere", "cpu": "R10000", "cpus": 16}
    for name, data in (("a", measured()), ("b", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "profile.json").write_text(json.dumps(data))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compare(tmp_path / "a", str(tmp_path / "b" / "profile.json"))
    assert found.b.startswith("elsewhere (R10000, 16 CPUs)")
    text = str(found)
    assert "b: elsewhere" in text
    assert max(map(len, text.splitlines())) <= 100


def test_profiles_that_cannot_be_compared_raise_an_error_with_the_reason(tmp_path: Path) -> None:
    bare = {name: value for name, value in document().items() if name != "access"}
    latency = bare | {"latency": measured()["latency"]}
    sorting = bare | {"sorting": measured()["sorting"]}
    with pytest.raises(ProfileError, match="no figure in common: a has latency, b has sorting"):
        compare(Profile(latency), Profile(sorting))
    with pytest.raises(ProfileError, match="there is no profile at"):
        compare(Profile(measured()), tmp_path / "none.json")
    with pytest.raises(ValueError, match="no kernel 'bogo'"):
        compare(Profile(measured()), Profile(measured()), kernels=["bogo"])


def test_every_figure_has_its_own_name() -> None:
    found = figures_of(Profile(measured()))
    assert {"access", "latency"} <= {section for section, _, _ in found}
    assert len(found) == len({(section, what) for section, what, _ in found})


def test_the_table_has_the_numbers() -> None:
    text = str(against(lambda data: data["sorting"]["rows"][0].update(ns_per_element=2.0)))
    (line,) = [line for line in text.splitlines() if line.startswith("radix sort, n = 1,000, p = 2")]
    assert line.endswith("spread not known")
    assert line.split()[-9:-3] == ["ns/key", "8.00", "-", "2.00", "-", "4.00"]
