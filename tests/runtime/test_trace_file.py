"""Traces of runs: slices that nest and agree with the timeline, counters, states, and files that repeat."""

from pathlib import Path

import numpy as np
import pytest
from support.machines import Emulated, Machines
from support.traces import depths, traced, tracks

import smp
from smp._runtime.program.display import trace_file

N = 1000


def program(proc: smp.Processor, array: smp.GlobalArray, states: bool = False) -> None:
    """Make three supersteps, of which the middle one has no label."""
    for label in ("first", "", "last"):
        if states:
            proc.state(f"before {label}")
        with proc.superstep(label) as step:
            part = step.copy_in(array, proc.block(len(array)))
            step.compute()
            step.copy_out(array, proc.block(len(array)), part + 1)


@pytest.fixture(params=["host", "emulated"])
def run(request: pytest.FixtureRequest, machines: Machines, emulated: Emulated) -> smp.Run:
    machine = machines(2) if request.param == "host" else emulated(3)
    return machine.run(program, machine.array(np.arange(float(N))))


def test_slices_nest_and_agree_with_the_timeline(run: smp.Run, tmp_path: Path) -> None:
    found = tracks(traced(run, tmp_path / "trace.json"))
    assert set(found) == {f"processor {rank}" for rank in range(run.size)}
    timeline = run.timeline()
    began = timeline["start"].min()
    for rank in range(run.size):
        slices = found[f"processor {rank}"]
        assert max(depths(slices)) == 2
        assert [e["name"] for e in slices if "args" in e] == ["first", "superstep 1", "last"]
        phases = [e for e in slices if e["name"] in ("copy-in", "compute", "copy-out")]
        mine = timeline[timeline["rank"] == rank]
        mine = mine[np.argsort(mine["start"], kind="stable")]
        assert len(phases) == len(mine) == 9
        np.testing.assert_allclose([e["ts"] for e in phases], 1e6 * (mine["start"] - began), atol=1e-3)
        np.testing.assert_allclose([e["dur"] for e in phases], 1e6 * (mine["end"] - mine["start"]), atol=2e-3)
        waits = sum(e["dur"] for e in slices if e["name"] == "wait")
        assert waits == pytest.approx(1e6 * mine["waited"].sum(), abs=0.02)


def test_supersteps_state_their_words_and_a_counter_shows_h(run: smp.Run, tmp_path: Path) -> None:
    events = traced(run, tmp_path / "trace.json.gz")
    words = [e["args"]["reads"] for e in events if "reads" in e.get("args", {})]
    assert sorted(words) == sorted(run.steps["reads"].tolist())
    counters = [e["args"] for e in events if e["ph"] == "C"]
    assert counters == [{"h_r": -(-N // run.size), "h_w": -(-N // run.size)}] * 3


def test_some_supersteps_are_written(run: smp.Run, tmp_path: Path) -> None:
    for slices in tracks(traced(run, tmp_path / "trace.json", supersteps=slice(1, 3))).values():
        assert [e["name"] for e in slices if "args" in e] == ["superstep 1", "last"]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    files = []
    for name in ("a.json.gz", "b.json.gz"):
        with smp.emulated(3, seed=5) as machine:
            machine.run(program, machine.array(np.arange(float(N)))).write_trace(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]


def test_states_have_tracks_of_their_own(emulated: Emulated, tmp_path: Path) -> None:
    machine = emulated(2)
    run = machine.run(program, machine.zeros(N), True)
    found = tracks(traced(run, tmp_path / "trace.json"))
    for rank in range(2):
        assert [e["name"] for e in found[f"processor {rank}, states"]][-3:] == [
            "before first",
            "before ",
            "before last",
        ]
    assert len(tracks(traced(run, tmp_path / "trace.json", supersteps=slice(0, 1)))) == 2


def test_a_program_without_supersteps_has_an_empty_trace(emulated: Emulated, tmp_path: Path) -> None:
    assert tracks(traced(emulated(2).run(lambda proc: None), tmp_path / "trace.json")) == {}


def test_other_endings_are_refused(emulated: Emulated, tmp_path: Path) -> None:
    run = emulated(1).run(lambda proc: None)
    with pytest.raises(ValueError, match=r"as \.json or \.json\.gz, not as 'trace\.txt'"):
        run.write_trace(tmp_path / "trace.txt")
    assert not list(tmp_path.iterdir())


def test_a_trace_with_many_events_warns(run: smp.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_file, "MANY", 10)
    with pytest.warns(UserWarning, match=r"trace\.json has \d+ events.*supersteps=slice"):
        run.write_trace(tmp_path / "trace.json")
