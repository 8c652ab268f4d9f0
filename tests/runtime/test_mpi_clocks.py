"""The clocks of several nodes: offsets from round trips, their correction, and the times of runs."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.machines import Emulated, Machines
from support.nodes import AHEAD, no_other_clock, on_nodes, on_two_clocks
from support.sampled import each

import smp
from smp._runtime.program.display.state_graph import figure
from smp._runtime.program.records.clock_offsets import Drift, Offset, shortest
from smp._runtime.program.records.states import States, joined_states
from smp._runtime.program.steps import Packed, Recorder, joined
from smp.errors import ProcessorDied, ProcessorRaised, WaitTimeout

ROUNDING = 1e-8
delays = st.floats(1e-7, 0.1)
trips = st.lists(st.tuples(st.floats(0.0, 1.0), delays, delays), min_size=1, max_size=12)
"""Pauses before round trips, and the delays of their two messages."""


class Clock:
    """A clock that is apart from that of processor 0, by seconds that change evenly."""

    def __init__(self, apart: float, rate: float) -> None:
        self.apart, self.rate = apart, rate

    def shows(self, true: Any) -> Any:
        return true * (1.0 + self.rate) - self.apart

    def trips(self, true: float, delays: list[tuple[float, float, float]]) -> Iterator[tuple[float, float, float]]:
        """Yield the times of round trips."""
        for pause, there, back in delays:
            sent, true = true + pause, true + pause + there + back
            yield self.shows(sent), sent + there, self.shows(true)


clocks = st.builds(Clock, st.floats(-1e6, 1e6), st.floats(-1e-4, 1e-4))


@given(clocks, trips)
def test_an_offset_is_right_within_its_error_whatever_the_delays(clock: Clock, delays: Any) -> None:
    found = shortest(clock.trips(50.0, delays))
    true = (found.at + clock.apart) / (1.0 + clock.rate)
    assert abs(found.at + found.seconds - true) <= found.error * (1.0 + 2e-4) + ROUNDING
    assert found.error <= min(there + back for _, there, back in delays) / 2 * (1.0 + 1e-4) + ROUNDING


@given(clocks, trips, trips, st.floats(1e-3, 1e5))
def test_times_are_right_within_the_error_of_a_run(clock: Clock, first: Any, last: Any, lasts: float) -> None:
    start = shortest(clock.trips(50.0, first))
    begins = 50.0 + sum(map(sum, first))
    drift = Drift(start, shortest(clock.trips(begins + lasts, last)))
    true = np.linspace(begins, begins + lasts, 7)
    given = clock.shows(true) + start.seconds
    corrected = drift.corrected(given)
    largest = drift.error * (1.0 + 2e-4) + ROUNDING
    assert (abs(given - true) <= largest).all()
    assert (abs(corrected - true) <= largest).all()
    if (corrected != given).any():  # a drift was seen, and is taken out
        assert (abs(corrected - true) <= max(start.error, drift.end.error) * (1.0 + 2e-4) + ROUNDING).all()


def test_a_difference_that_the_errors_explain_is_no_drift() -> None:
    times = np.array([1.0, 2.0])
    drift = Drift(Offset(0.0, 7.0, 0.25), Offset(10.0, 7.5, 0.25))
    assert drift.corrected(times).tolist() == [1.0, 2.0]
    assert drift.error == 0.75


def test_the_times_of_supersteps_and_states_are_corrected() -> None:
    """The clock of the node loses a tenth."""
    recorder, times = Recorder(), iter([7.0, 9.0, 17.0])
    recorder.states = States(lambda: next(times))
    recorder.states.change("a")
    recorder.states.change("b")
    recorder.states.end()
    recorder.add(0, "step", [0] * 7, [7.0, 8.0, 9.0, 10.0, 12.0, 15.0, 17.0])
    recorder.correct(Drift(Offset(2.0, 5.0, 1e-6), Offset(12.0, 6.0, 1e-6)))
    pack = Packed(*recorder.packed())
    assert pack.clock_error == pytest.approx(1.0, abs=1e-5)
    _, spans, _ = joined([pack])
    np.testing.assert_allclose(spans["start"], [7.0, 9.2, 12.5])
    np.testing.assert_allclose(spans["end"], [9.2, 12.5, 18.0])
    rows, _ = joined_states([pack.states])
    np.testing.assert_allclose(rows["start"], [7.0, 9.2])
    np.testing.assert_allclose(rows["end"], [9.2, 18.0])


def test_the_picture_of_states_shows_the_error(machines: Machines) -> None:
    run = machines(1).run(lambda proc: proc.state("a"))
    assert figure(run.states, 1, 0).remarks == ""
    assert "to within 20.0 us" in figure(run.states, 1, 0, 2e-5).remarks


@pytest.mark.parametrize("kind", ["host", "emulated"])
def test_processors_that_read_the_same_clock_have_no_error(kind: str, machines: Machines, emulated: Emulated) -> None:
    machine = machines(2) if kind == "host" else emulated(2)
    assert machine.run(lambda proc: proc.clock(), repeat=2).clock_error == 0.0


# Runs on two nodes, whose clocks are the same one or far apart.


@pytest.fixture(scope="module", params=["the same clock", "clocks far apart"])
def four(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[smp.Machine]:
    """Two nodes of two processors each."""
    apart = request.param == "clocks far apart"
    if apart and (reason := no_other_clock()):
        pytest.skip(reason)
    with on_two_clocks(tmp_path_factory.mktemp("clocks")) if apart else on_nodes(2, 2) as machine:
        raw = machine.run(lambda proc: time.perf_counter()).results
        assert (abs(raw[2] - raw[0] - AHEAD) if apart else abs(raw[2] - raw[0])) < AHEAD / 2
        yield machine


def after(times: NDArray[np.float64], others: NDArray[np.float64], error: float) -> bool:
    """Return True if no time is before any of the others, but for the error."""
    return bool(times.min() >= others.max() - error)


@pytest.mark.mpi
def test_no_phase_ends_before_all_processors_have_come_to_its_end(four: smp.Machine) -> None:
    def program(proc: smp.Processor, array: smp.GlobalArray) -> list[tuple[float, float]]:
        times = []
        for _ in range(20):
            with proc.superstep() as step:
                step.compute()
                step.copy_out(array, proc.rank, 1.0)  # without a write, there is no barrier after the copy-out
            before = proc.clock()
            proc.barrier()
            times.append((before, proc.clock()))
        return times

    run = four.run(program, four.zeros(4), warmup=1, repeat=2)
    assert 0.0 < run.clock_error < 5e-3
    spans = run.timeline()
    assert len(spans) == 4 * 20 * 3
    for step in range(20):
        for phase in ("copy_in", "compute", "copy_out"):
            rows = spans[(spans["step"] == step) & (spans["phase"] == phase)]
            assert after(rows["end"], rows["end"] - rows["waited"], run.clock_error)
    for before, passed in np.array(run.results).transpose(1, 2, 0):
        assert after(passed, before, run.clock_error)


@pytest.mark.mpi
def test_states_and_the_log_have_the_order_of_messages(four: smp.Machine, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> float:
        cells = proc.cells(proc.size)
        proc.barrier()
        for k in range(30):
            proc.state(f"waits {k}")
            if proc.rank or k:
                cells.readfe(proc.rank)
            proc.state(f"has {k}")
            proc.log(f"has {k}")
            cells.writeef((proc.rank + 1) % proc.size, 0)
        return proc.clock()

    log = tmp_path / "run.log"
    run = four.run(program, log=log)
    states = run.states
    first = {(row["state"], row["rank"]): row["start"] for row in states[::-1]}
    begins = [first[f"has {k}", rank] for k in range(30) for rank in range(4)]
    assert np.diff(begins).min() >= -run.clock_error
    ends = np.array([states[states["rank"] == rank]["end"].max() for rank in range(4)])
    assert (ends >= np.array(run.results) - run.clock_error).all()
    assert np.ptp([entry.seconds for entry in smp.last_entries(log).values()]) < AHEAD / 2


@pytest.mark.mpi
def test_clocks_that_are_reset_begin_in_the_same_barrier(four: smp.Machine) -> None:
    def program(proc: smp.Processor) -> list[float]:
        times = []
        for _ in range(10):
            proc.reset_clock()
            times.append(proc.clock())
        return times

    run = four.run(program)
    assert -run.clock_error <= np.min(run.results)
    assert np.max(run.results) < AHEAD / 2


class Unpickled:
    """Calls a function when it is unpickled on one rank of MPI: before the program begins there."""

    def __init__(self, rank: int, act: Callable[[], object]) -> None:
        self.rank, self.act = rank, act

    def __setstate__(self, state: dict[str, Any]) -> None:
        from mpi4py import MPI

        if MPI.COMM_WORLD.rank == state["rank"]:
            state["act"]()


@pytest.mark.mpi
@pytest.mark.parametrize("rank", range(4))
def test_a_processor_that_begins_late_is_waited_for(four: smp.Machine, rank: int) -> None:
    run = four.run(lambda proc, late: proc.clock(), Unpickled(rank, lambda: time.sleep(0.1)))
    assert 0.0 < run.clock_error < 5e-3
    assert np.ptp(run.results) < AHEAD / 2


@pytest.mark.mpi
def test_a_run_that_ends_before_its_clocks_are_compared_names_the_wait(four: smp.Machine) -> None:
    four.run(lambda proc, late: None, Unpickled(0, lambda: None))  # the processors import this module, which takes long
    with pytest.raises(WaitTimeout, match=r"3 +0 +comparison of the nodes' clocks"):
        four.run(lambda proc, late: None, Unpickled(0, lambda: time.sleep(0.7)), timeout=0.5)
    assert four.run(lambda proc: proc.rank).results == [0, 1, 2, 3]


@pytest.mark.mpi
@pytest.mark.parametrize("rank", range(4))
def test_a_processor_that_fails_before_its_clock_is_measured_ends_the_run(four: smp.Machine, rank: int) -> None:
    def fail() -> None:
        raise ArithmeticError("mine")

    with pytest.raises(ProcessorRaised, match=f"processor {rank} of 4 raised ArithmeticError: mine"):
        four.run(lambda proc, bad: None, Unpickled(rank, fail))
    assert four.run(lambda proc: proc.rank).results == [0, 1, 2, 3]


@pytest.mark.mpi
@pytest.mark.parametrize("rank", each(2, [3, 0]))
def test_a_processor_that_dies_before_its_clock_is_measured_ends_the_run(rank: int) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with on_nodes(2, 2) as machine, pytest.raises(ProcessorDied, match=f"processor {rank} of 4 was killed by SIGKILL"):
        machine.run(lambda proc, bad: None, Unpickled(rank, die))
