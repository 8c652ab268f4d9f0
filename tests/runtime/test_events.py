"""Recorded runs: waits, service, threads and messages become events, which cost nothing where nothing is recorded."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machines import Emulated, Machines
from support.traces import depths, traced, tracks

import smp
from smp._runtime.protocols import event_rings, waiters
from smp._runtime.protocols.event_rings import EVENT, EVENTS, FIRST, RING_WORDS
from smp.compiled import readfe, writeef


@smp.stream
def put(cells: smp.Cells, n: int) -> None:
    for k in range(n):
        writeef(cells, 0, k)


@smp.stream
def take(cells: smp.Cells, n: int) -> int:
    total = 0
    for _ in range(n):
        total += readfe(cells, 0)
    return total


def ping(proc: smp.Processor, cells: smp.Cells, n: int) -> int:
    if proc.rank == 0:
        put(cells, n)
        return 0
    return int(take(cells, n))


def threads(proc: smp.Processor, n: int) -> list[int]:
    cells = proc.cells(n, np.int64)

    def square(i: int) -> int:
        return int(cells.readfe(i)) ** 2

    with proc.streams(2) as pool:
        started = [pool.start(square, i) for i in range(n)]
        for i in range(n):
            cells.writeef(i, i)
        return [thread.result() for thread in started]


def ring(proc: smp.Processor, n: int) -> int:
    """Send n messages around."""
    came: list[int] = []
    note = proc.handler(lambda message, value: came.append(value))
    for k in range(n):
        proc.send((proc.rank + 1) % proc.size, note, k)
    proc.wait_until(lambda: len(came) == n)
    return sum(came)


def rows(run: smp.Run, event: str, **wanted: Any) -> Any:
    found = run.events[run.events["event"] == event]
    for name, value in wanted.items():
        found = found[found[name] == value]
    return found


@pytest.mark.parametrize("schedule", ["seeded", "clock"])
def test_a_wait_is_recorded_from_its_first_look_to_the_service(schedule: str) -> None:
    with smp.emulated(2, schedule=schedule, seed=3) as machine:
        cells = machine.cells(1)

        def program(proc: smp.Processor) -> None:
            if proc.rank == 1:
                cells.readfe(0)
            else:
                for _ in range(40):  # steps, in which the other processor traps
                    cells.peek(0)
                cells.writeef(0, 42)

        run = machine.run(program, record=True)
    (waits,), (traps,), (wakes,), (goes_on,) = (
        rows(run, event, rank=1) for event in ("waits", "traps", "wakes", "goes on")
    )
    (serves,) = rows(run, "serves")
    assert (waits["what"], waits["where"]) == ("readfe", "cell 0 of Cells(1, dtype=int64)")
    assert goes_on["number"] > 0
    assert (serves["rank"], serves["peer"], serves["number"]) == (0, 1, wakes["stream"])
    times = [row["time"] for row in (waits, traps, wakes, goes_on)]
    assert times == sorted(times)
    if schedule == "clock":  # the clocks of both agree
        assert traps["time"] <= serves["time"] <= wakes["time"]
    assert run.dropped_events == 0


def test_recording_takes_no_virtual_time_and_changes_no_step() -> None:
    seconds, steps = [], []
    for record in (False, True):
        with smp.emulated(2, schedule="clock", seed=1) as machine:
            run = machine.run(ping, machine.cells(1, np.int64), 50, record=record)
            seconds.append(run.seconds.tolist())
        with smp.emulated(2, seed=1, trace=True) as machine:
            machine.run(ping, machine.cells(1, np.int64), 20, record=record)
            steps.append(machine.trace)
    assert len(rows(run, "waits")) > 20
    assert seconds[0] == seconds[1]
    assert steps[0] == steps[1]


def test_each_started_thread_begins_and_ends_once_on_a_stream(machines: Machines) -> None:
    n = 12
    run = machines(2).run(threads, n, record=True)
    assert run.results == [[i * i for i in range(n)]] * 2
    for rank in range(2):
        starts, begins, ends = (rows(run, event, rank=rank) for event in ("starts", "begins", "ends"))
        assert sorted(starts["number"]) == sorted(begins["number"]) == sorted(ends["number"]) == list(range(n))
        assert set(starts["what"]) == {"threads.<locals>.square"}
        for thread in range(n):
            moments = [float(each["time"][each["number"] == thread][0]) for each in (starts, begins, ends)]
            assert moments == sorted(moments)
    began, ended = run.events["time"].min(), run.events["time"].max()
    assert 0 < ended - began < run.wall


def test_the_packet_that_is_sent_is_the_one_that_comes(machines: Machines, emulated: Emulated) -> None:
    for machine in (machines(3), emulated(3)):
        run = machine.run(ring, 20, record=True)
        assert run.results == [190] * 3
        sent = {(r["rank"], r["peer"], r["what"], r["number"]): r["time"] for r in rows(run, "sends")}
        came = {(r["peer"], r["rank"], r["what"], r["number"]): r["time"] for r in rows(run, "gets")}
        assert len(sent) == len(rows(run, "sends")) >= 60
        assert sent.keys() == came.keys()
        if run.kind == "host":
            assert all(sent[key] < came[key] for key in sent)


def test_a_long_run_keeps_its_last_events_and_counts_the_others(machines: Machines) -> None:
    machine = machines(2, pin=False)
    for n in (1000, 60_000):
        run = machine.run(ping, machine.cells(1, np.int64), n, record=True, timeout=60)
        assert run.results[1] == n * (n - 1) // 2
        for rank in range(2):
            mine = run.events[run.events["rank"] == rank]
            assert len(mine) <= EVENTS
            assert (np.diff(mine["time"]) >= 0).all()
    most = max(np.count_nonzero(run.events["rank"] == rank) for rank in range(2))
    assert (run.dropped_events > 0) == (most == EVENTS)


@given(count=st.integers(0, 3 * EVENTS))
def test_a_ring_holds_the_last_events_in_order(count: int) -> None:
    ring, own = np.zeros(RING_WORDS, np.int64), np.zeros(waiters.RECORD, np.int64)
    own[waiters.RING] = ring.ctypes.data
    ring[event_rings.COUNT] = count
    event_rings.note(own, event_rings.SENDS, 7, 8)
    assert ring[event_rings.COUNT] == count + 1
    k = FIRST + EVENT * (count % EVENTS)
    assert ring[k + 1 : k + EVENT].tolist() == [event_rings.SENDS, 7, 8]
    assert np.count_nonzero(ring[FIRST:]) == EVENT


def test_without_the_option_nothing_is_recorded_also_after_a_recorded_run_and_a_failed_one(machines: Machines) -> None:
    machine = machines(2)
    cells = machine.cells(1, np.int64)

    def fails(proc: smp.Processor) -> None:
        cells.readfe(0, timeout=0.01)

    def ring_of(proc: smp.Processor) -> int:
        assert proc._port.node_memory is not None
        own = proc._port.node_memory.threads.own()
        return int(own.words[waiters.RING])

    assert len(machine.run(ping, cells, 100, record=True).events)
    with pytest.raises(smp.ProcessorRaised):
        machine.run(fails, record=True)
    run = machine.run(ping, cells, 100)
    assert len(run.events) == run.dropped_events == 0
    assert machine.run(ring_of).results == [0, 0]


def test_a_program_with_a_parameter_of_that_name_must_get_it_by_position(machines: Machines) -> None:
    with pytest.raises(TypeError, match=r"record= is an option of machine\.run"):
        machines(1).run(lambda proc, record: record, record=True)


def test_the_trace_has_nested_slices_and_arrows_between_them(machines: Machines, tmp_path: Path) -> None:
    run = machines(2).run(threads, 8, record=True)
    events = traced(run, tmp_path / "trace.json")
    found = tracks(events)
    of_streams = {name: each for name, each in found.items() if "stream" in name}
    assert of_streams
    for slices in of_streams.values():
        depths(slices)
    names = {e["name"] for slices in of_streams.values() for e in slices}
    assert names >= {"threads.<locals>.square", "readfe", "start"}
    tails, heads = ({e["id"]: e for e in events if e["ph"] == end} for end in "sf")
    assert tails.keys() == heads.keys()
    assert sum(e["name"] == "started" for e in tails.values()) == 16
    assert all(tails[k]["ts"] <= heads[k]["ts"] for k in tails)
    inside = [
        any(
            e["pid"] == end["pid"] and e["tid"] == end["tid"] and e["ts"] <= end["ts"] <= e["ts"] + e["dur"]
            for e in slices_of(events)
        )
        for end in (*tails.values(), *heads.values())
    ]
    assert all(inside)  # a viewer shows an arrow only if it begins and ends in slices


def slices_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [e for e in events if e["ph"] == "X"]


def test_the_trace_of_an_emulated_run_has_the_same_bytes_again(tmp_path: Path) -> None:
    files = []
    for name in ("a.json", "b.json"):
        with smp.emulated(3, seed=5) as machine:
            machine.run(ring, 9, record=True).write_trace(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    counters = [e for e in json.loads(files[0])["traceEvents"] if e["ph"] == "s"]
    assert len(counters) >= 27
