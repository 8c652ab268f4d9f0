"""Waking: each stream is woken once, rounds are complete, a failure ends the wait, and the report shows the numbers."""

import itertools
import json
import types
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import pictures
from support.reports import section_text, summed_up
from support.shapes import assert_same_keys, measured

import smp
from smp._runtime.host import looking
from smp._runtime.memory.cells import Cells
from smp.errors import ProcessorRaised
from smp.microbench.method import placement
from smp.microbench.method.plan import Plan, Stopped
from smp.microbench.method.result import summarise
from smp.microbench.method.rows import judged
from smp.microbench.method.visits import (
    COUNTS,
    FEWEST_ROUNDS,
    VISIT,
    elsewhere_of,
    result_of,
    rounds,
    section_of,
    states_of,
)
from smp.microbench.method.windows import Flag, Windows
from smp.microbench.sections.waking import probe
from smp.microbench.sections.waking.loops import ALL, OPERATIONS, SHARED_WORDS, link, pass_by, set_off, worked
from smp.microbench.sections.waking.probe import MANY, ONE, Effort, Task, program
from smp.models.placement_log import PlacementLog
from smp.profiles.records import Judged

PLAN = Plan("quick", (1,), 7, 64)


@pytest.fixture(scope="module")
def machine() -> Any:
    with smp.host(1, pin=False) as opened:
        yield opened


# --- the loops


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 99), st.integers(0, 5), st.integers(0, 99), st.integers(0, 99))
def test_an_iteration_of_work_has_the_expected_operations(x: int, iterations: int, a: int, b: int) -> None:
    expected = x
    for _ in range(iterations * OPERATIONS // 3):  # exclusive or, addition, exclusive or
        expected = ((expected ^ a) + b) ^ b
    assert worked(x, iterations, a, b) == expected


def waiting(proc: smp.Processor, words: smp.GlobalArray, cells: Cells, how: str, streams: int) -> Any:
    """Set off the streams; return the state and the value of the cell afterwards, and the ns."""
    words.view[:], words.view[ALL] = 0, streams
    with proc.streams(streams) as pool:
        arguments = () if how == MANY else (0, 0, 1)
        threads = [pool.start(pass_by if how == MANY else link, words.view, cells, *arguments) for _ in range(streams)]
        ns = set_off(words.view, cells, 0, proc.sync)
        for thread in threads:
            thread.result()
    return *cells.peek(0), ns


@pytest.mark.parametrize("streams", [1, 2, 7])
@pytest.mark.parametrize("retries", [0, 1024])
def test_each_stream_takes_the_cell_once(machine: smp.Machine, streams: int, retries: int) -> None:
    words = machine.zeros(SHARED_WORDS, np.int64)
    for how, left in ((MANY, 1), (ONE, 1 + streams)):
        cells = machine.cells(1, retries=retries)
        full, value, ns = machine.run(waiting, words, cells, how, streams).results[0]
        assert (full, value) == (True, left)
        assert ns > 0


def failing(proc: smp.Processor, words: smp.GlobalArray, cells: Cells) -> None:
    if proc.rank == 0:
        set_off(words.view, cells, 0, proc.sync)  # for no stream: it returns at once, and the loop is loaded
        words.view[ALL] = 1  # a stream that never comes
    proc.barrier()
    if proc.rank == 1:
        raise RuntimeError("gone")
    set_off(words.view, cells, 0, proc.sync)


def test_setting_off_ends_when_a_processor_fails() -> None:
    with smp.host(2) as machine:
        words = machine.zeros(SHARED_WORDS, np.int64)
        with pytest.raises(ProcessorRaised, match="gone"):
            machine.run(failing, words, machine.cells(1))
        assert machine.run(lambda proc: proc.rank).results == [0, 1]


# --- rounds


class StillClock:
    """A clock that only the visits advance."""

    timer_ns = 0.0

    def __init__(self) -> None:
        self.now = 0

    def wall(self) -> int:
        return self.now

    def cpu(self) -> int:
        return self.now

    def stolen(self) -> int:
        return 0

    def switches(self) -> int:
        return 0

    def rate(self) -> float:
        return 1.0


def taking(clock: StillClock, ns: int, orders: list[list[str]], interrupt_at: int = -1) -> Any:
    def take(order: list[str], turn: int) -> Sequence[Windows]:
        if turn == interrupt_at:
            raise KeyboardInterrupt
        orders.append(order)
        clock.now += ns
        made = np.zeros((len(order), 1), VISIT)
        made["round"], made["operations"], made["wall_ns"], made["overlap"] = turn, 1, 100, 1
        for name, one in zip(order, made, strict=True):
            one["traps"] = ord(name)
        return list(made)

    return take


def test_every_round_visits_all_tasks_in_another_order() -> None:
    clock, orders, told = StillClock(), [], []
    taken, cut = rounds(
        "abcdefgh",
        taking(clock, 10**8, orders),
        2.0,
        np.random.default_rng(1),
        clock,
        lambda done, _: told.append(done),
    )
    assert not cut
    assert len(orders) == 20, "as many rounds of 0.1 s as fit into 2 s"
    assert {tuple(sorted(order)) for order in orders} == {tuple("abcdefgh")}
    assert len({tuple(order) for order in orders}) > 15
    for name, windows in taken.items():
        assert windows["round"].tolist() == list(range(20))
        assert set(windows["traps"].tolist()) == {ord(name)}
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)


def test_there_are_enough_rounds_however_long_they_take() -> None:
    clock, orders = StillClock(), []
    rounds("ab", taking(clock, 10**10, orders), 0.1, np.random.default_rng(1), clock, lambda *_: None)
    assert len(orders) == FEWEST_ROUNDS


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupt_keeps_the_rounds_that_are_complete(at: int) -> None:
    clock = StillClock()
    take = taking(clock, 10**8, [], at)
    taken, cut = rounds("ab", take, 1.0, np.random.default_rng(1), clock, lambda *_: None)
    assert cut
    assert {len(windows) for windows in taken.values()} == {at}
    results = [summarise((name,), windows, "median") for name, windows in taken.items()]
    with pytest.raises(Stopped) as stopped:
        section_of("waking", results, Judged(**judged(results)), {"name": "U1"}, cut)
    assert stopped.value.name == "waking"
    section = stopped.value.section
    assert section.data.to_json()["why"]
    assert not section.data.to_json()["valid"], "there are fewer than five windows"
    assert section.samples["waking"]["traps"].tolist() == [ord("a")] * at + [ord("b")] * at


def test_an_interrupt_in_the_first_round_leaves_nothing() -> None:
    clock = StillClock()
    with pytest.raises(KeyboardInterrupt):
        rounds("ab", taking(clock, 1, [], 0), 1.0, np.random.default_rng(1), clock, lambda *_: None)


def test_only_rounds_in_the_main_state_of_the_placement_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of six rounds the CPUs lie far apart and a visit takes twice as long; in two others the CPUs move."""
    clock, log, looks = StillClock(), PlacementLog(), iter([30.0, 31.0, 200.0, 199.0, 30.0, 29.0] * 10)
    monkeypatch.setattr(looking, "look", lambda: next(looks))
    seconds = itertools.count()  # as many between all looks, however busy this computer is
    monkeypatch.setattr(placement, "time", types.SimpleNamespace(monotonic=lambda: float(next(seconds))))
    taking_turns = taking(clock, 10**8, [])

    def take(order: list[str], turn: int) -> Sequence[Windows]:
        found = taking_turns(order, turn)
        for windows in found:
            windows["wall_ns"] = 200 if turn % 6 == 2 else 150 if turn % 6 in (1, 3) else 100
        return found

    taken, _ = rounds("ab", take, 3.0, np.random.default_rng(1), clock, lambda *_: None, log=log)
    for windows in taken.values():
        moved = windows["flags"] & np.uint8(Flag.MOVED) != 0
        assert {int(at % 6) for at in windows["round"][~moved]} == {0, 4, 5}
        result = result_of(("a",), windows)
        assert result.median == 100
        assert elsewhere_of(result, log) == [200]
    assert [round(state.ns) for state in states_of(log)] == [30, 200]


# --- the probe


def test_a_visit_counts_the_traps_and_retries_of_the_waiters(machine: smp.Machine) -> None:
    words, cells = machine.zeros(SHARED_WORDS, np.int64), machine.cells(1, retries=0)
    order = [Task(ONE, 0, 3), Task(MANY, 10_000_000, 2)]
    one, many = machine.run(program, words, cells, order, 4, 20.0).results[0]
    assert (one["operations"].tolist(), many["operations"].tolist()) == ([3], [2])
    assert one["round"].tolist() == [4]
    assert many["traps"].tolist() == [2], "without retries they sleep long before the main thread has spun"
    assert many["retries"].tolist() == [0]
    assert cells.peek(0)[0] is False, "the cell is ready for the next visit"


def test_the_probe_measures_every_way_of_waking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.EFFORTS, "quick", Effort(0.01, (0, 50_000), (1, 3)))
    ticks: list[float] = []
    section = probe.measure(PLAN, lambda done, _: ticks.append(done))
    assert ticks == sorted(ticks)
    data = section.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("waking"))
    keys = [(row["how"], row["initial_ns"], row["streams"]) for row in data["rows"]]
    assert keys == [(how, ns, k) for how in (MANY, ONE) for ns in (0, 50_000) for k in (1, 3)]
    samples = section.samples["waking"]
    assert len(samples) == sum(row["windows"] for row in data["rows"])
    for row in data["rows"]:
        mine = samples[(samples["how"] == row["how"]) & (samples["streams"] == row["streams"])]
        mine = mine[mine["initial_ns"] == row["initial_ns"]]
        assert len(mine) == row["windows"] >= FEWEST_ROUNDS
        assert row["total_ns"] == pytest.approx(row["streams"] * row["ns"])
        assert (mine["traps"] <= row["streams"]).all()
        # a stream traps only after it has used up its retries
        assert (mine["retries"] >= data["limit"] * mine["traps"]).all()
        for name in COUNTS:
            assert row[name] == np.median(mine[name])


# --- the report and the plot


def row(how: str, initial_ns: int, streams: int, ns: float, traps: float) -> dict[str, Any]:
    about = {"how": how, "initial_ns": initial_ns, "streams": streams, "total_ns": ns * streams, "ns": ns}
    about |= {"minimum_ns": ns / 2, "p95_ns": 2 * ns}
    return about | {"traps": traps, "retries": 9.0, "windows": 7, "valid": streams != 64, "why": ["unstable"]}


def data() -> dict[str, Any]:
    rows = [
        row(how, loop, streams, 1000.0 * (k + 1) * (2 + streams / 64), streams * min(1, k + 0.5))
        for how in (MANY, ONE)
        for k, loop in enumerate((0, 20_000))
        for streams in (1, 64)
    ]
    return {"rows": rows, "limit": 1024, "cpus": 2, "valid": True, "why": []}


def test_the_table_has_the_total_the_share_of_a_stream_and_the_traps() -> None:
    lines = section_text("waking", data()).splitlines()
    found = [line.split() for line in lines if line.startswith("     64")]
    assert found == [["64", "192", "!", "3.00", "50.0", "384", "!", "6.00", "100"]] * 2
    heading, text = summed_up("waking", data())
    assert heading == "Waking"
    assert text == "64 streams at once in 384 us, 6.00 us each; 64 streams one by one in 384 us, 6.00 us each"


def test_the_figure_shows_the_rows() -> None:
    figure = pictures.described("waking", data())["waking"]
    pictures.check(figure)
    total, share = figure.panels[:2]
    alone = 2 * (2 + 1 / 64)  # in us
    for panel, expected in ((total, [alone, 384]), (share, [alone, 6])):
        line = pictures.series(panel, "20.0 us")
        assert line.x == [1, 64]
        np.testing.assert_allclose(line.y, expected)
        assert line.invalid == ["", "unstable"]
