"""The log on the host: entries of killed processors, reports of hangs and deadlocks, damaged files."""

import json
import os
import signal
import time
import traceback
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Emulated, Machines

import smp
from smp._runtime.program.records.log import Entry


def texts_of(path: Path) -> dict[int, str]:
    """Return the last text of each processor."""
    return {rank: entry.text for rank, entry in smp.last_entries(path).items()}


def check_kills(times: int, path: Path) -> None:
    """Kill a processor right after an entry, each time after another number of entries."""

    def program(proc: smp.Processor, before: int) -> None:
        if proc.rank == 1:
            proc.log("alive")
        proc.barrier()
        if proc.rank == 0:
            for k in range(before):
                proc.log(f"entry {k}")
            proc.log("the last one")
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            proc.log("alive")
            time.sleep(0.001)

    for k in range(times):
        with smp.host(2) as machine, pytest.raises(smp.ProcessorDied) as caught:
            machine.run(program, k, log=path)
        assert texts_of(path) == {0: "the last one", 1: "alive"}
        own = [entry["text"] for entry in map(json.loads, path.read_text().splitlines()) if entry["processor"] == 0]
        assert own == [*[f"entry {i}" for i in range(k)], "the last one"]
        assert "s: the last one" in "".join(traceback.format_exception(caught.value))


def test_an_entry_is_in_the_file_when_its_processor_is_killed(tmp_path: Path) -> None:
    check_kills(20, tmp_path / "run.log")


@pytest.mark.slow
def test_an_entry_is_in_the_file_in_200_kills(tmp_path: Path) -> None:
    check_kills(200, tmp_path / "run.log")


def test_after_a_hang_the_entries_show_all_but_one_at_the_barrier(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        proc.barrier()
        if proc.rank == 2:
            proc.log("looks for the last digit")
            while True:
                time.sleep(0.001)
        proc.barrier()

    path = tmp_path / "run.log"
    with pytest.raises(smp.WaitTimeout) as caught:
        machines(4).run(program, timeout=0.5, log=path, logging=("barrier",))
    line = program.__code__.co_firstlineno + 6
    expected = dict.fromkeys(range(4), f"waits in barrier at {__file__}:{line}")
    assert texts_of(path) == {**expected, 2: "looks for the last digit"}
    report = "".join(traceback.format_exception(caught.value))
    assert "s: looks for the last digit" in report
    assert report.count("s: waits in barrier at") == 3


def starve(proc: smp.Processor, cells: smp.Cells) -> None:
    proc.log(f"waits for cell {proc.rank}")
    cells.readfe(proc.rank)


@pytest.mark.parametrize("kind", ["host", "emulated"])
def test_the_report_of_a_deadlock_shows_the_last_entries(
    machines: Machines, emulated: Emulated, kind: str, tmp_path: Path
) -> None:
    machine, path = (machines if kind == "host" else emulated)(2), tmp_path / "run.log"
    with pytest.raises(smp.DeadlockError) as caught:
        machine.run(starve, machine.cells(2), helpers=False, log=path)
    report = "".join(traceback.format_exception(caught.value))
    assert "deadlock: all 2 streams wait" in report
    assert f"The last entries of the log {path}:" in report
    assert all(f"s: waits for cell {rank}" in report for rank in range(2))
    with pytest.raises(smp.DeadlockError) as caught:
        machine.run(starve, machine.cells(2), helpers=False)
    assert "last entries" not in "".join(traceback.format_exception(caught.value))


def test_entries_of_many_processors_are_not_mixed(machines: Machines, tmp_path: Path) -> None:
    def program(proc: smp.Processor) -> None:
        with proc.streams(2) as pool:
            pool.map(lambda thread: [proc.log(f"{thread} {k} " + "x" * k) for k in range(300)], range(2))

    path = tmp_path / "run.log"
    machines(4).run(program, log=path)
    found = [Entry(**json.loads(line)) for line in path.read_text().splitlines()]
    for rank in range(4):
        for thread in range(2):
            own = [e.text for e in found if e.processor == rank and e.text.startswith(f"{thread} ")]
            assert own == [f"{thread} {k} " + "x" * k for k in range(300)]


def test_a_log_that_the_program_removes_does_not_hide_its_failure(pair: smp.Machine, tmp_path: Path) -> None:
    def program(proc: smp.Processor, path: Path) -> None:
        proc.barrier()
        if proc.rank == 0:
            path.unlink()
            raise ZeroDivisionError

    with pytest.raises(smp.ProcessorRaised, match="ZeroDivisionError") as caught:
        pair.run(program, tmp_path / "run.log", log=tmp_path / "run.log")
    assert "The log cannot be read" in "".join(traceback.format_exception(caught.value))


def test_the_log_is_closed_after_the_run(pair: smp.Machine, tmp_path: Path) -> None:
    def opened(proc: smp.Processor) -> int:
        links = [f"/proc/self/fd/{entry}" for entry in os.listdir("/proc/self/fd")]
        return sum(os.path.exists(link) and os.readlink(link) == path for link in links)

    path = str(tmp_path / "run.log")
    for _ in range(2):
        assert pair.run(opened, log=path).results == [1, 1]
        assert pair.run(opened).results == [0, 0]


ENTRIES = st.lists(st.tuples(st.integers(0, 12), st.text(max_size=8)), max_size=12)


@settings(deadline=None)
@given(ENTRIES, ENTRIES, st.data())
def test_an_entry_that_was_cut_hides_no_other(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[int, str]],
    after: list[tuple[int, str]],
    data: st.DataObject,
) -> None:
    """The entry of a processor may be cut anywhere if it is killed while it writes."""

    def line(rank: int, text: str) -> bytes:
        return json.dumps(Entry(rank, 0.5, text)._asdict(), ensure_ascii=False).encode() + b"\n"

    cut = line(99, '{"processor": 3, "seconds"')
    torn = cut[: data.draw(st.integers(0, len(cut) - 1))]
    path = tmp_path_factory.mktemp("log") / "run.log"
    path.write_bytes(b"".join([*[line(*one) for one in before], torn, *[line(*one) for one in after]]))
    assert texts_of(path) == dict([*before, *after])


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        smp.last_entries(tmp_path / "run.log")
