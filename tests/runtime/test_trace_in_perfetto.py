"""Perfetto's own parser finds in a trace what was written: slices with their depths, arrows, and no error."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.machines import Emulated, Machines
from support.perfetto import Perfetto, missing, perfetto
from support.sampled import campaigns
from support.traces import depths, traced, tracks

import smp

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
SLICES = """
    SELECT thread.name, slice.name, slice.ts, slice.dur, slice.depth
    FROM slice JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid)
"""
ARROWS = "SELECT a.name, b.name FROM flow JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in"
ERRORS = "SELECT name, value FROM stats WHERE severity = 'error' AND value > 0"
NANOSECOND = 1.001e-3
"""Perfetto counts whole nanoseconds; in microseconds."""


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Perfetto]:
    with perfetto(tmp_path_factory.mktemp("perfetto")) as opened:
        yield opened


def program(proc: smp.Processor, values: smp.GlobalArray, cells: smp.Cells, n: int) -> None:
    """Make supersteps, states, threads that wait at cells, and messages."""
    came: list[int] = []
    note = proc.handler(lambda message, value: came.append(value))
    for k in range(n):
        proc.state(f"part {k}")
        with proc.superstep(f"step {k}") as step:
            mine = step.copy_in(values, proc.block(len(values)))
            step.compute()
            step.copy_out(values, proc.block(len(values)), mine + 1)
        proc.send((proc.rank + 1) % proc.size, note, k)
    first = proc.rank * n
    with proc.streams(2) as pool:
        started = [pool.start(cells.readfe, first + k) for k in range(n)]
        for k in range(n):
            cells.writeef(first + k, k)
        assert [thread.result() for thread in started] == list(range(n))
    proc.wait_until(lambda: len(came) == n)


@pytest.mark.parametrize("kind", [*campaigns("host"), "emulated"])
def test_perfetto_reads_what_was_written(
    kind: str, viewer: Perfetto, machines: Machines, emulated: Emulated, tmp_path: Path
) -> None:
    machine = machines(2) if kind == "host" else emulated(3)
    n = 4
    cells = machine.cells(machine.size * n)
    run = machine.run(program, machine.array(np.zeros(1000)), cells, n, record=True)
    events = traced(run, tmp_path / "trace.json")
    viewer.read(tmp_path / "trace.json")
    assert viewer.rows(ERRORS) == []
    read = viewer.rows(SLICES)
    for track, slices in tracks(events).items():
        mine = sorted((row[2:] + row[1:2] for row in read if row[0] == track), key=lambda row: (row[0], row[2]))
        assert [row[3] for row in mine] == [one["name"] for one in slices], track
        assert [row[2] for row in mine] == depths(slices), track
        np.testing.assert_allclose([row[0] / 1000 for row in mine], [one["ts"] for one in slices], atol=NANOSECOND)
        np.testing.assert_allclose([row[1] / 1000 for row in mine], [one["dur"] for one in slices], atol=NANOSECOND)
    names = sorted(one["name"] for one in events if one["ph"] == "s")
    assert len(viewer.rows(ARROWS)) == len(names) > 0
