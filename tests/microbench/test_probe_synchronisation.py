"""The loops do all of their operations and end when a partner fails; the numbers of the probe are plausible."""

import itertools
import json
import time
from typing import Any

import numpy as np
import pytest
from support import pictures
from support.shapes import assert_same_keys, measured

import smp
from smp._computer.cpus import Cache
from smp._computer.limits import usable_cpus
from smp.errors import ProcessorRaised
from smp.microbench.method.plan import Plan
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.windows import WINDOW
from smp.microbench.sections.synchronisation import probe
from smp.microbench.sections.synchronisation.loops import END, SHARED_WORDS, STOP, TOTAL, TURN, adds, barriers, handoffs
from smp.microbench.sections.synchronisation.probe import Stage, spread, stages_of, summary
from smp.microbench.sections.synchronisation.rows import Synchronisation
from smp.microbench.sections.synchronisation.tasks import HANDOFFS, Task, visit

CACHES = (Cache(1, 32 << 10, 1), Cache(2, 1 << 20, 1))


def plan(processors: tuple[int, ...]) -> Plan:
    return Plan("quick", processors, 7, 64, 8, CACHES)


@pytest.fixture(scope="module")
def machine() -> Any:
    with smp.host(2) as opened:
        yield opened


# --- the loops


def adding(proc: smp.Processor, words: smp.GlobalArray, chunk: int) -> int:
    spans = np.zeros((1000, 4), np.int64)
    adds(words.view, 1, 0.0, spans)
    proc.barrier()
    count = adds(words.view, chunk, 0.02, spans)
    assert (spans[:count, 3] == chunk).all()
    assert (spans[1:count, 0] >= spans[: count - 1, 1]).all()
    return int(spans[:count, 3].sum())


def test_no_contended_addition_is_lost(machine: smp.Machine) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    done = machine.run(adding, words, 100).results
    assert min(done) > 0
    assert words[TOTAL] == sum(done)
    assert np.count_nonzero(words[:]) == 1


def handing(proc: smp.Processor, words: smp.GlobalArray, exchange: bool, seconds: float) -> np.ndarray:
    spans = np.zeros((1000, 4), np.int64)
    count = handoffs(words.view, proc.sync, exchange, proc.rank, 16 + proc.rank, seconds, spans)
    return spans[:count]


@pytest.mark.parametrize("exchange", [False, True])
def test_a_handed_line_goes_back_and_forth_until_the_time_is_over(machine: smp.Machine, exchange: bool) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    first, second = machine.run(handing, words, exchange, 0.02).results
    assert words[TURN] == STOP
    assert len(first) > 0
    # a window of 16 turns of its own takes a side through 32 hand-offs; the sides are at most one turn apart
    assert (first[:, 3] == 32).all()
    assert (second[:, 3] == 34).all()
    assert abs(int(first[:, 3].sum()) - int(second[:, 3].sum())) <= 34
    assert (first[:, 0] < first[:, 1]).all()


def test_the_partner_ends_with_the_first_turn_when_there_is_no_time(machine: smp.Machine) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    assert [len(spans) for spans in machine.run(handing, words, True, 0.0).results] == [0, 0]


def failing(proc: smp.Processor, words: smp.GlobalArray, exchange: bool, rank: int) -> None:
    spans = np.zeros((1000, 4), np.int64)
    if proc.rank == rank:
        time.sleep(0.05)
        raise RuntimeError("gone")
    handoffs(words.view, proc.sync, exchange, proc.rank, 16, 60.0, spans)


@pytest.mark.parametrize(("exchange", "rank"), [(False, 0), (False, 1), (True, 0), (True, 1)])
def test_a_hand_off_ends_when_the_partner_fails(machine: smp.Machine, exchange: bool, rank: int) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    with pytest.raises(ProcessorRaised, match="gone"):
        machine.run(failing, words, exchange, rank)
    # no processor had to be killed: the machine runs again
    assert machine.run(lambda proc: proc.rank).results == [0, 1]


def passing(proc: smp.Processor, words: smp.GlobalArray, chunk: int, room: int) -> int:
    spans = np.zeros((room, 4), np.int64)
    return int(barriers(words.view, proc.sync, proc.rank, chunk, 0.02 if room > 3 else 60.0, spans))


@pytest.mark.parametrize(("chunk", "room"), [(1, 100_000), (50, 100_000), (3, 3)])
def test_all_processors_stop_after_the_same_number_of_barriers(machine: smp.Machine, chunk: int, room: int) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    counts = machine.run(passing, words, chunk, room).results
    assert len(set(counts)) == 1
    assert 1 <= counts[0] <= room
    assert words[END] == 1


@pytest.mark.parametrize("what", ["compiled", "python", "superstep", "contended", *HANDOFFS])
def test_a_visit_has_windows_of_all_processors_that_take_part(machine: smp.Machine, what: str) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    windows = visit(machine, words, Task(what, (0, 1)), 0.01, 20.0, 2)
    assert windows.dtype == WINDOW
    assert set(windows["round"].tolist()) == {2}
    assert 0 in windows["rank"]
    assert (windows["operations"] > 0).all()
    if what in ("compiled", "python", "superstep"):
        assert len(set(windows["operations"].tolist())) == 1, "all pass the same number"
        assert (windows["rank"] == 0).sum() == (windows["rank"] == 1).sum()


def test_one_processor_adds_alone_while_the_other_waits(machine: smp.Machine) -> None:
    windows = visit(machine, machine.zeros(SHARED_WORDS, np.int64), Task("alone", (0,)), 0.01, 20.0, 0)
    assert set(windows["rank"].tolist()) == {0}


# --- the plan and the summary


def test_cpus_are_spread_evenly() -> None:
    assert spread((0, 1), 4) == (0, 1)
    assert spread(range(0, 64, 2), 4) == (0, 20, 42, 62)


def test_each_p_has_a_machine_and_the_matrix_has_its_own_if_none_fits() -> None:
    (one, two, four) = stages_of([1, 2, 4], (0, 1), (0, 1))
    names = [[task.what for task in stage.tasks] for stage in (one, two, four)]
    assert names[0] == ["compiled", "python", "superstep", "alone"]
    assert names[1] == ["compiled", "python", "superstep", "contended", *HANDOFFS]
    assert names[2] == ["compiled", "python", "superstep"]
    assert (two.cpus, four.cpus) == ((0, 1), None)
    assert two.key(two.tasks[-1]) == ("exchange", 2, 0, 1)
    assert two.key(two.tasks[0]) == ("compiled", 2, -1, -1)

    cpus = tuple(range(8))
    (one, matrix) = stages_of([1], cpus, (0, 3, 7))
    assert matrix.cpus == (0, 3, 7)
    assert [task.ranks for task in matrix.tasks if task.what == "store"] == [(0, 1), (0, 2), (1, 2)]
    assert matrix.key(matrix.tasks[2]) == ("store", 2, 0, 7)
    assert stages_of([1], (5,), (5,))[0].tasks[-1].what == "alone"
    assert len(stages_of([1], (5,), (5,))) == 1, "one CPU has no other to hand a line to"


def result(key: tuple[Any, ...], ns: float) -> Result:
    windows = np.zeros(5, WINDOW)
    windows["wall_ns"], windows["operations"] = round(ns * 1000), 1000
    return summarise(key, windows, "median")


def test_the_summary_puts_every_number_in_its_place() -> None:
    results = [result(("alone", 1, -1, -1), 5)]
    for p in (1, 2):
        results += [result((what, p, -1, -1), ns * p) for what, ns in (("compiled", 100), ("python", 2000))]
        results.append(result(("superstep", p, -1, -1), 20_000))
    results.append(result(("contended", 2, -1, -1), 30))
    for pair, ns in (((4, 6), 50), ((4, 8), 90), ((6, 8), 60)):
        results += [result(("store", 2, *pair), ns), result(("exchange", 2, *pair), 2 * ns)]
    data = Synchronisation(**summary(results, (4, 6, 8))).to_json()
    assert data["fetch_add_ns"] == {"alone": 5, "contended": {"2": 30}}
    assert data["handoff_cpus"] == [4, 6, 8]
    assert data["handoff_ns"]["store"] == [[None, 50, 90], [50, None, 60], [90, 60, None]]
    assert data["handoff_ns"]["exchange"][2] == [180, 120, None]
    assert (data["handoff_store_ns"], data["handoff_exchange_ns"]) == (60, 120)
    assert data["barrier_us"] == {"1": {"compiled": 0.1, "python": 2}, "2": {"compiled": 0.2, "python": 4}}
    assert data["superstep_us"] == {"1": 20, "2": 20}


def test_one_cpu_has_no_hand_off() -> None:
    results = [result((what, 1, -1, -1), 5) for what in ("alone", "compiled", "python", "superstep")]
    data = Synchronisation(**summary(results, (3,))).to_json()
    assert data["handoff_ns"] == {"store": [[None]], "exchange": [[None]]}
    assert data["handoff_store_ns"] is None
    assert Stage(1, (3,), ()).cpus == (3,)


# --- the probe


def test_the_probe_measures_every_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.BUDGETS, "quick", 0.1)
    cpus = usable_cpus()
    over = 2 * len(cpus)
    ticks: list[float] = []
    section = probe.measure(plan((1, 2, over)), lambda part, text: ticks.append(part))
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("synchronisation"))
    assert ticks == sorted(ticks)
    assert ticks[-1] == pytest.approx(1)
    assert data["oversubscribed"] == [over]
    assert list(data["barrier_us"]) == list(data["superstep_us"]) == ["1", "2", str(over)]
    assert list(data["fetch_add_ns"]["contended"]) == ["2"]
    for row in data["rows"]:
        assert 0 < row["minimum_ns"] <= row["ns"] <= row["p95_ns"]
        assert row["oversubscribed"] == (row["processors"] > len(cpus))
    assert len(section.samples["synchronisation"]) == sum(row["windows"] for row in data["rows"])
    for what in HANDOFFS:
        matrix = np.array(data["handoff_ns"][what], float)
        assert np.isnan(np.diag(matrix)).all()
        assert (matrix == matrix.T)[~np.eye(len(matrix), dtype=bool)].all()
    barrier = data["barrier_us"]["2"]
    assert barrier["python"] > barrier["compiled"] > 0
    assert data["superstep_us"]["1"] > 3 * data["barrier_us"]["1"]["compiled"], "a superstep has three barriers"
    assert data["valid"] == (not data["why"])


# --- the figures


def operation(what: str, processors: int, ns: float, **more: Any) -> dict[str, Any]:
    return {"what": what, "processors": processors, "ns": ns, "minimum_ns": 0.9 * ns, "p95_ns": 2 * ns, **more}


@pytest.mark.parametrize("cpus", [2, 64])
def test_hand_offs_are_drawn_as_a_map_of_all_pairs(cpus: int) -> None:
    pairs = list(itertools.combinations(range(cpus), 2))
    rows = [operation(what, 2, 50.0 + i + j, cpus=[i, j]) for what in HANDOFFS for i, j in pairs]
    for row in rows[len(pairs) - 1 :: len(pairs)]:
        row |= {"valid": False, "why": ["unstable"]}
    figure = pictures.described("synchronisation", {"rows": rows})["synchronisation-handoff"]
    pictures.check(figure)
    assert [panel.title for panel in figure.panels] == ["by load and store", "by compare-exchange"]
    for panel in figure.panels:
        assert panel.cells is not None
        values = np.array(panel.cells.values)
        assert np.isnan(np.diag(values)).all()
        assert values[0, 1] == values[1, 0] == 51
        assert np.isfinite(values).sum() == cpus * (cpus - 1)
        (rings,) = panel.series
        assert sorted(
            (round(x), round(y)) for x, y, why in zip(rings.x, rings.y, rings.invalid, strict=True) if why
        ) == [(cpus - 2, cpus - 1), (cpus - 1, cpus - 2)]
        assert len(panel.x.names) == cpus
    expected = (
        "How long" if cpus == 2 else f"The hand-off of a line from one CPU to another takes 51.0 to {50 + 61 + 63} ns"
    )
    assert figure.title.startswith(expected), "of valid pairs"


def test_barriers_are_drawn_by_number_of_processors() -> None:
    rows = [operation("compiled", p, 50.0 * p, oversubscribed=p > 4, valid=p != 4) for p in (1, 2, 4, 8)]
    rows += [operation("python", p, 2000.0) for p in (1, 2)]
    figure = pictures.described("synchronisation", {"rows": rows})["synchronisation-barriers"]
    pictures.check(figure)
    assert figure.title == "A barrier of 2 in a compiled loop takes 100 ns", "the largest valid p with a CPU each"
    assert "from p = 8 on, processors take turns" in figure.reading
    (panel,) = figure.panels
    compiled = pictures.series(panel, "barrier in a compiled loop")
    assert list(zip(compiled.x, compiled.y, strict=True)) == [(1, 50), (2, 100), (4, 200), (8, 400)]
    assert [bool(why) for why in compiled.invalid] == [False, False, True, False]


def test_an_earlier_profile_is_drawn() -> None:
    made = pictures.described("synchronisation", measured("synchronisation"))
    assert list(made) == ["synchronisation-handoff", "synchronisation-barriers"]
    assert pictures.described("synchronisation", {"barrier_us": {}}) == {}
