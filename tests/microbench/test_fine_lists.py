"""List ranking by streams gives the serial ranks for every list and number of streams, and a section measures it."""

import json
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import pictures
from support.machines import Machines
from support.reports import section_text, summed_up
from support.sampled import campaigns
from support.shapes import NEWER, assert_same_keys, measured

import smp
from smp.compiled import fetch_add
from smp.errors import InvalidList, ProcessorRaised
from smp.kernels.lists.lists import describe, fault, random_list
from smp.kernels.lists.on_streams import by_streams, rank_reid_miller_streams, rank_wyllie_streams
from smp.kernels.lists.serial import rank_here
from smp.kernels.lists.stream_barrier import Meeting, meet, meeting
from smp.kernels.lists.wyllie_cells import MOST, joined, rank_wyllie_cells
from smp.microbench.method.placement import looked_at
from smp.microbench.method.plan import Measurement, Plan
from smp.microbench.sections.fine import probe, report
from smp.microbench.sections.fine.loops import PREPARED, program
from smp.microbench.sections.fine.probe import SAMPLE, Effort, points_of, section_of
from smp.models.placement_log import PlacementLog
from smp.profiles.profile import Profile

PLAN = Plan("quick", (1,), 7, 64)
EVERY = pytest.mark.parametrize("program", [rank_wyllie_cells, rank_wyllie_streams, rank_reid_miller_streams])
FEW = settings(max_examples=20, deadline=None)


def ranked(machine: smp.Machine, program: Any, successor: np.ndarray, **options: Any) -> np.ndarray:
    ranks = machine.full(len(successor), -7, successor.dtype)
    machine.run(program, machine.array(successor), ranks, **options)
    return np.array(ranks.view)


# --- the barrier of streams


@smp.stream
def count_rounds(at: Meeting, seen: np.ndarray, total: np.ndarray, rounds: int) -> None:
    """Add one to the total in each round, and note the total once all streams have added."""
    for r in range(rounds):
        fetch_add(total, 0, 1)
        meet(at, 2 * r)
        seen[r] = total[0]
        meet(at, 2 * r + 1)


def rounds_of(proc: smp.Processor, streams: int, rounds: int) -> np.ndarray:
    at, total = meeting(proc, streams), proc.zeros(1, np.int64).view
    seen = np.zeros((streams, rounds), np.int64)
    by_streams(proc, streams, lambda k: count_rounds(at, seen[k], total, rounds), [(k,) for k in range(streams)])
    return seen


@pytest.mark.parametrize(("processors", "streams"), [(1, 1), (1, 5), (2, 1), (2, 3)])
def test_no_stream_leaves_the_barrier_before_all_arrive(machines: Machines, processors: int, streams: int) -> None:
    rounds = 40
    for seen in machines(processors).run(rounds_of, streams, rounds).results:
        assert (seen == processors * streams * np.arange(1, rounds + 1)).all()


# --- ranks


@EVERY
@FEW
@given(
    n=st.integers(0, 300),
    seed=st.integers(0, 999),
    streams=st.integers(1, 5),
    processors=st.sampled_from([1, 2]),
    from_tail=st.booleans(),
    wide=st.booleans(),
)
def test_ranks_are_those_of_the_serial_loop(
    machines: Machines,
    program: Any,
    n: int,
    seed: int,
    streams: int,
    processors: int,
    from_tail: bool,
    wide: bool,
) -> None:
    successor = random_list(n, seed, np.int64 if wide else np.int32)
    found = ranked(machines(processors), program, successor, streams=streams, from_tail=from_tail)
    assert found.dtype == successor.dtype
    assert found.tolist() == rank_here(successor, from_tail).tolist()


@EVERY
@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_long_lists_are_ranked_with_more_streams_than_cpus(machines: Machines, program: Any, order: str) -> None:
    n = 20_000
    ascending = np.minimum(np.arange(1, n + 1), n - 1)
    lists = {
        "ascending": ascending,
        "descending": (n - 1 - ascending)[::-1].copy(),
        "random": random_list(n, 3, np.int64),
    }
    assert np.array_equal(ranked(machines(2), program, lists[order], streams=6), rank_here(lists[order]))


@EVERY
def test_lists_are_ranked_with_the_default_number_of_streams(machines: Machines, program: Any) -> None:
    successor = random_list(1_000, 1)
    assert np.array_equal(ranked(machines(1), program, successor), rank_here(successor))


@EVERY
@FEW
@given(st.lists(st.integers(0, 39), min_size=2, max_size=40), st.integers(1, 4))
def test_an_array_that_is_not_a_list_is_refused_and_never_hangs(
    machines: Machines, program: Any, successor: list[int], streams: int
) -> None:
    nodes = np.array(successor) % len(successor)
    if fault(nodes) is None:
        assert ranked(machines(1), program, nodes, streams=streams).tolist() == rank_here(nodes).tolist()
        return
    with pytest.raises(ProcessorRaised) as raised:
        ranked(machines(1), program, nodes, streams=streams)
    assert isinstance(raised.value.__cause__, InvalidList)
    assert str(raised.value.__cause__) == describe(nodes)


@given(
    st.integers(2, MOST),
    st.booleans(),
    st.tuples(st.integers(0, MOST - 1), st.integers(0, MOST)),
    st.tuples(st.integers(0, MOST - 1), st.integers(0, MOST)),
)
def test_a_node_takes_the_reach_of_its_successor_and_stops_at_n_on_a_cycle(
    n: int, reached: bool, mine: tuple[int, int], theirs: tuple[int, int]
) -> None:
    tail = -1 << 63 if reached else 0
    found = joined(mine[0] << 32 | mine[1], tail | theirs[0] << 32 | theirs[1], n)
    assert found < 0 if reached else found >= 0
    assert (found >> 32 & MOST, found & 0xFFFFFFFF) == (theirs[0], min(mine[1] + theirs[1], n))


@EVERY
@pytest.mark.parametrize("step", [-1, 1])
def test_a_long_cycle_is_refused(machines: Machines, program: Any, step: int) -> None:
    cycle = (np.arange(5_000) + step) % 5_000
    with pytest.raises(ProcessorRaised, match="lies on a cycle"):
        ranked(machines(1), program, cycle, streams=2)


@EVERY
def test_a_refused_list_leaves_the_ranks_unchanged(machines: Machines, program: Any) -> None:
    machine = machines(1)
    successor = np.array([1, 2, 0, 4, 4])  # nodes 0 to 2 form a cycle; the sum gives head 3
    ranks = machine.full(5, -7, np.int64)
    with pytest.raises(ProcessorRaised, match="cycle"):
        machine.run(program, machine.array(successor), ranks, streams=2)
    assert ranks.view.tolist() == [-7] * 5


# --- the timed part


@pytest.mark.parametrize("wide", [False, *campaigns(True)])
@pytest.mark.parametrize("name", PREPARED)
@settings(max_examples=10, deadline=None)
@given(n=st.integers(2, 300), seed=st.integers(0, 999), streams=st.integers(1, 5))
def test_the_timed_program_ranks_the_list(
    machines: Machines, name: str, wide: bool, n: int, seed: int, streams: int
) -> None:
    successor = random_list(n, seed, np.int64 if wide else np.int32)
    expected = rank_here(successor)
    machine, ranks = machines(1), machines(1).full(n, -7, successor.dtype)
    shared, head = machine.array(successor), int(expected.argmin())
    run = machine.run(program, name, shared, ranks, head, streams)
    assert ranks.view.tolist() == expected.tolist()
    ns, _, traps = run.results[0]
    assert 0 < ns < 1e9 * run.wall, "the time before the starting line is not included"
    assert streams > 1 or not traps, "a single stream waits for no other"


def slow_start(proc: smp.Processor, *arguments: Any) -> Any:
    """Run the program on a processor that takes 50 ms to make cells and 50 ms to start streams."""
    cells, streams = proc.cells, proc.streams

    def late(make: Any) -> Any:
        return lambda *args, **options: (time.sleep(0.05), make(*args, **options))[1]

    proc.cells, proc.streams = late(cells), late(streams)  # type: ignore[method-assign]
    return program(proc, *arguments)


def test_set_up_is_not_timed(machines: Machines) -> None:
    machine, successor = machines(1), random_list(100, 1)
    shared, ranks, head = machine.array(successor), machine.empty(100, np.int32), int(rank_here(successor).argmin())
    times = [machine.run(slow_start, "wyllie-cells", shared, ranks, head, 1) for _ in range(3)]
    assert min(run.wall for run in times) > 0.1
    assert min(run.results[0][0] for run in times) < 0.05e9


# --- the probe, its report and its plot


def test_every_algorithm_is_measured_up_to_its_longest_list() -> None:
    effort = Effort((10, 100, 1000), (1, 2), 10, 100)
    assert list(points_of(1000, effort)) == [("serial", 1), ("reid-miller-streams", 1), ("reid-miller-streams", 2)]
    assert len(list(points_of(100, effort))) == 1 + 2 * 2
    assert {name for name, _ in points_of(10, effort)} == {"serial", *PREPARED}


def sample(
    n: int,
    streams: int,
    name: str,
    seconds: list[float],
    others: float = 0.0,
    placed: tuple[float, float] = (math.nan, math.nan),
) -> list[tuple[Any, ...]]:
    return [(n, streams, name, repeat, s, 3e-3, 7, 2, others, *placed) for repeat, s in enumerate(seconds)]


def test_rows_hold_medians_and_the_speedup_over_the_serial_median() -> None:
    rows = sample(1000, 1, "serial", [1e-5, 3e-5, 1.1e-5]) + sample(1000, 2, "wyllie-cells", [4e-5, 4.4e-5, 5e-4])
    rows += sample(1000, 4, "wyllie-cells", [1e-5, 2e-5, 5e-5])
    data = section_of(np.array(rows, SAMPLE), 2, PlacementLog()).data.to_json()
    two, four = data["rows"]
    assert (two["ns_per_element"], two["minimum_ns"], two["maximum_ns"]) == pytest.approx((44, 40, 500))
    assert two["speedup"] == pytest.approx(1.1e-5 / 4.4e-5)
    assert (two["retries"], two["traps"], two["oversubscribed"], four["oversubscribed"]) == (7, 2, False, True)
    assert data["serial"][0]["ns_per_element"] == pytest.approx(11)
    assert two["setup_s"] == pytest.approx(3e-3)
    assert not four["valid"]
    assert "third quartile" in four["why"][0]
    assert not data["valid"]


def test_a_length_during_which_other_processes_had_the_cpus_is_not_valid() -> None:
    quiet, loud = sample(1000, 1, "serial", [1e-5] * 3, 0.05), sample(2000, 1, "serial", [1e-5] * 3, 0.4)
    of_1000, of_2000 = section_of(np.array(quiet + loud, SAMPLE), 2, PlacementLog()).data.to_json()["serial"]
    assert of_1000["valid"]
    assert of_2000["why"] == ["other processes took 40% of the CPU time"]


def test_only_repeats_in_the_main_state_of_the_placement_count() -> None:
    log = PlacementLog()
    log.note(looked_at(), np.arange(40.0), [30.0] * 30 + [200.0] * 10)
    rows = sample(1000, 1, "serial", [1e-5] * 3)
    rows += sample(1000, 2, "wyllie-cells", [4e-5, 4.2e-5, 4.1e-5], placed=(30.0, 30.0))
    rows += sample(1000, 2, "wyllie-cells", [8e-5] * 5, placed=(200.0, 200.0))
    rows += sample(1000, 2, "wyllie-cells", [6e-5] * 5, placed=(30.0, 200.0))
    found = section_of(np.array(rows, SAMPLE), 2, log).data
    (row,) = found.rows  # type: ignore[attr-defined]
    assert row.ns_per_element == pytest.approx(41)
    assert row.repeats == 3
    assert row.elsewhere_ns == pytest.approx([80])
    assert [state.share for state in found.placement] == pytest.approx([0.75, 0.25], abs=0.02)  # type: ignore[attr-defined]
    nothing = found.model_copy(update={"rows": [row.model_copy(update={"elsewhere_ns": [None]})]})
    assert len(list(report.tables(nothing, Profile({})))) == 1, "no repeat lies elsewhere"  # type: ignore[arg-type]
    *_, table = report.tables(found, Profile({}))  # type: ignore[arg-type]
    assert table.title.startswith("Time per element at n = 1,000, by placement of the CPUs")
    assert table.rows == [["Wyllie, one cell per node, 2 streams", pytest.approx(41), pytest.approx(80)]]


@pytest.fixture(scope="module")
def section() -> Measurement:
    patch = pytest.MonkeyPatch()
    patch.setitem(probe.EFFORTS, "quick", Effort((100, 1000), (1, 3), 100, 1000))
    patch.setattr(probe, "REPEATS", 3)
    ticks: list[float] = []
    made = probe.measure(PLAN, lambda part, text: ticks.append(part))
    patch.undo()
    assert ticks == sorted(ticks)
    assert ticks[-1] == 1
    return made


def test_the_probe_measures_every_length_algorithm_and_number_of_streams(section: Measurement) -> None:
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("fine"), NEWER | {"setup_s"})
    expected = [(n, name, s) for n in (100, 1000) for name in PREPARED for s in (1, 3)]
    expected = [one for one in expected if one[:2] != (1000, "wyllie-cells")]
    assert sorted((row["n"], row["algorithm"], row["streams"]) for row in data["rows"]) == sorted(expected)
    assert [row["n"] for row in data["serial"]] == [100, 1000]
    for row in data["rows"]:
        assert row["minimum_ns"] <= row["ns_per_element"] <= row["maximum_ns"]
        assert row["repeats"] == 3
        assert row["setup_s"] > 0
    assert len(section.samples["fine"]) == 3 * (len(expected) + 2)


def test_the_report_shows_the_numbers(section: Measurement) -> None:
    data = json.loads(json.dumps(section.data.to_json()))
    for row in data["rows"]:
        row["ns_per_element"] = row["n"] + row["streams"] + 0.25
        row["speedup"] = 1 / row["streams"]
    text = section_text("fine", data, 150)
    assert all(title in text for title in report.TITLES.values())
    assert text.count("103") >= 3
    assert text.count("1,001") >= 2
    heading, said = summed_up("fine", data)
    assert heading == "List ranking by streams"
    assert "Wyllie, one cell per node, n = 100, 1 stream: 101 ns (1.00 times the serial speed)" in said
    assert "Reid-Miller, n = 1,000, 1 stream: 1,001 ns" in said


def test_the_figure_shows_the_numbers(section: Measurement) -> None:
    figure = pictures.described("fine", section.data.to_json())["fine-lists"]
    pictures.check(figure)
    for panel, name in zip(figure.panels, PREPARED, strict=True):
        rows = [row for row in section.data.to_json()["rows"] if (row["algorithm"], row["streams"]) == (name, 3)]
        assert pictures.points(panel, "3 streams") == [[row["n"], row["ns_per_element"]] for row in rows]
        serial = [[row["n"], row["ns_per_element"]] for row in section.data.to_json()["serial"]]
        assert pictures.points(panel, "serial") == serial


def test_the_best_times_of_wyllie_are_drawn_next_to_reid_miller(section: Measurement) -> None:
    data = json.loads(json.dumps(section.data.to_json()))
    for row in (*data["rows"], *data["serial"]):
        row["valid"], row["why"] = True, []
    for row in data["rows"]:
        row["speedup"] = 0.5
        if row["algorithm"] == "wyllie-streams":
            row["ns_per_element"] = row["n"] / row["streams"]
        if row["algorithm"] == "reid-miller-streams":
            row["ns_per_element"], row["speedup"] = 10 / row["streams"], row["n"] * row["streams"] / 1000
    figure = pictures.described("fine", data)["fine-lists"]
    *others, reid_miller = figure.panels
    name = "the best of Wyllie\nwith two lists"
    assert pictures.points(reid_miller, name) == [[100, 100 / 3], [1000, 1000 / 3]]
    assert not any(one.name == name for panel in others for one in panel.series)
    assert figure.title == "Streams beat the serial loop: Reid-Miller at 1,000 elements"
    for row in data["rows"]:
        row["speedup"] = 0.5
    assert "No number of streams" in pictures.described("fine", data)["fine-lists"].title


def test_an_earlier_profile_says_that_its_times_include_the_set_up() -> None:
    earlier = measured("fine")
    earlier["rows"] = [{name: row[name] for name in row if name != "setup_s"} for row in earlier["rows"]]
    earlier["setup"] = [{"algorithm": "serial", "streams": 2, "seconds": 0.005}]
    text = section_text("fine", earlier, 150)
    assert "the whole run" in text
    assert "the times include the start of a run and of its streams" in text
