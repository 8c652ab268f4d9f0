"""The machine of MPI on one computer: the ways to start it, its failures, and what they leave behind."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.machines import ROOT, Script, gone
from support.sampled import each

import smp
from smp._runtime.mpi import jobs
from smp.compiled import readfe, writeef
from smp.errors import (
    DeadlockError,
    MachineClosed,
    MachineError,
    ProcessorDied,
    ProcessorRaised,
    Unsupported,
    WaitTimeout,
)

pytestmark = pytest.mark.mpi


def together(proc: smp.Processor) -> int:
    return int(proc.reduce(proc.rank))


@pytest.fixture(scope="module")
def pair() -> Iterator[smp.Machine]:
    with smp.mpi(2) as machine:
        yield machine


def launched(script: Path, *words: str, ranks: int = 3, module: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a script under ``mpiexec``."""
    command = [jobs.mpiexec(), "-n", str(ranks), sys.executable, *["-m", "smp"] * module, str(script), *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )


def test_processors_are_ranks_of_one_job(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> tuple[int, int, int, int]:
        from mpi4py import MPI

        return MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, proc.rank, proc.size

    assert repr(pair) == "<mpi machine of 2 processors, ready>"
    assert pair.run(program).results == [(0, 2, 0, 2), (1, 2, 1, 2)]


def test_cells_and_compiled_loops_work_as_on_the_host(pair: smp.Machine) -> None:
    @smp.stream
    def passed(rank: int, cells: Any, rounds: int) -> int:
        total = 0
        for k in range(rounds):
            writeef(cells, rank, k)
            total += readfe(cells, 1 - rank)
        return total

    cells = pair.cells(2)
    assert pair.run(lambda proc: passed(proc.rank, cells, 1000)).results == [499500, 499500]
    assert not cells.try_readfe(0)[0]


def test_the_parent_stays_outside_of_the_job(pair: smp.Machine) -> None:
    assert "mpi4py.MPI" not in sys.modules
    parents = pair.run(lambda proc: os.getpid()).results
    assert os.getpid() not in parents


OPENED_TWICE = """
    import smp
    print("begins", flush=True)
    for _ in range(2):
        with smp.mpi() as machine:
            print(machine.run(lambda proc: proc.reduce(proc.rank)).results, flush=True)
    print("ends", flush=True)
"""


def written(tmp_path: Path, source: str) -> Path:
    path = tmp_path / "program.py"
    lines = source.splitlines()
    path.write_text("\n".join(line.removeprefix("    ") for line in lines))
    return path


def test_under_a_launcher_rank_0_goes_on_with_the_script(tmp_path: Path) -> None:
    done = launched(written(tmp_path, OPENED_TWICE))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("begins") == 3  # what stands before the first call runs on every rank
    assert done.stdout.count("[3, 3, 3]") == 2
    assert done.stdout.count("ends") == 1


def test_python_m_smp_runs_the_script_on_rank_0_only(tmp_path: Path) -> None:
    script = written(tmp_path, "    import sys; print(sys.argv[1:], __name__)" + OPENED_TWICE)
    done = launched(script, "a", "-b", module=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['a', '-b'] __main__", "begins", "[3, 3, 3]", "[3, 3, 3]", "ends"]


def test_a_script_that_goes_on_without_a_machine_is_not_ended(tmp_path: Path) -> None:
    source = OPENED_TWICE + '    import time; time.sleep(1.0); print("still here")\n'
    done = launched(written(tmp_path, source))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "still here"


def test_a_job_of_another_size_is_refused(tmp_path: Path) -> None:
    source = """
    import smp
    try:
        smp.mpi(5)
    except ValueError as error:
        print(error, flush=True)
    with smp.mpi() as machine:
        print(machine.size)
    """
    done = launched(written(tmp_path, source), ranks=2, module=True)
    assert done.stdout.splitlines() == [
        "smp.mpi(5) in a job of 2 ranks: leave the number out, or start 5 ranks",
        "2",
    ]


def test_a_job_serves_one_machine_at_a_time(tmp_path: Path) -> None:
    source = """
    import smp
    with smp.mpi() as machine:
        try:
            smp.mpi()
        except smp.MachineError as error:
            print(error)
    """
    done = launched(written(tmp_path, source), ranks=2, module=True)
    assert done.stdout == "the ranks of this job of MPI already serve an open machine; close it first\n"


def test_a_script_that_is_a_rank_itself_is_refused(tmp_path: Path) -> None:
    source = """
    from mpi4py import MPI
    import smp
    try:
        smp.mpi()
    except smp.MachineError as error:
        print(error, flush=True)
    """
    done = launched(written(tmp_path, source), ranks=2)
    assert done.stdout.count("this script has imported mpi4py.MPI, so it is a rank of MPI itself") == 2


def test_a_program_must_not_open_a_machine_of_mpi(pair: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised, match=r"open smp.host\(\) there") as caught:
        pair.run(lambda proc: smp.mpi(1))
    assert isinstance(caught.value.__cause__, Unsupported)
    with smp.mpi(2) as own:  # whose ranks have fork servers now, which end with them
        assert own.run(inner).results == [[1, 1], [1, 1]]


def inner(proc: smp.Processor) -> list[int]:
    with smp.host(2) as machine:
        return machine.run(lambda proc: int(proc.reduce(proc.rank))).results


def test_a_machine_goes_on_after_an_exception(pair: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised, match="processor 1 of 2 raised ZeroDivisionError"):
        pair.run(lambda proc: proc.barrier() if proc.rank == 0 else 1 // 0)
    assert pair.run(together).results == [1, 1]


def test_a_deadlock_is_reported_and_the_machine_goes_on(pair: smp.Machine) -> None:
    """Also at a collective, and although each rank has a thread that watches its parent."""

    def program(proc: smp.Processor) -> None:
        cells = proc.cells(2)
        if proc.rank == 1:
            cells.readfe(1)
        proc.barrier()

    for _ in range(2):
        with pytest.raises(DeadlockError, match="all 2 streams wait") as caught:
            pair.run(program)
        rows = [line.split() for line in str(caught.value).splitlines()[3:]]
        assert [row[2] for row in rows] == ["barrier", "readfe"]
        assert pair.run(together).results == [1, 1]


def test_plain_code_is_interrupted_when_the_time_is_over(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        while proc.rank == 0:
            pass
        proc.barrier()

    with pytest.raises(WaitTimeout):
        pair.run(program, timeout=0.3)
    assert pair.run(together).results == [1, 1]


def ends(proc: smp.Processor, rank: int, how: str, where: str) -> None:
    with proc.superstep() as step:
        if where == "copy-in" and proc.rank == rank:
            end(how)
        step.compute()
        if where == "compute" and proc.rank == rank:
            end(how)
    if where == "wait" and proc.rank == rank:
        end(how)
    proc.barrier()


def end(how: str) -> None:
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "crash": signal.SIGSEGV}[how])


SAID = {"exit": "ended with status 3", "kill": "was killed by SIGKILL", "crash": "was killed by SIGSEGV"}


@pytest.mark.parametrize(
    ("how", "rank", "where"),
    [("exit", 1, "wait"), ("kill", 0, "copy-in")]
    + [
        pytest.param(how, rank, where, marks=pytest.mark.slow)
        for how in SAID
        for rank in (0, 1)
        for where in ("copy-in", "compute", "wait")
    ],
)
def test_the_end_of_a_rank_is_reported(nothing_left: None, how: str, rank: int, where: str) -> None:
    with smp.mpi(2) as machine:
        began = time.monotonic()
        with pytest.raises(ProcessorDied, match=f"processor {rank} of 2 {SAID[how]}") as caught:
            machine.run(ends, rank, how, where)
        assert time.monotonic() - began < 2.0 + 1.0
        assert caught.value.rank == rank
        with pytest.raises(MachineClosed, match=f"processor {rank} of 2"):
            machine.run(together)


def test_the_status_is_that_of_the_rank_and_not_of_those_that_the_launcher_kills(nothing_left: None) -> None:
    """The launcher would report the bits of all statuses together."""
    with smp.mpi(4) as machine, pytest.raises(ProcessorDied, match="processor 2 of 4 ended with status 3"):
        machine.run(ends, 2, "exit", "compute")


WORKS = """
    import sys, time
    import smp
    def program(proc, how):
        print(proc.rank, flush=True)
        while how == "computes":
            pass
        while how == "sleeps" or proc.rank == 0:
            time.sleep(0.01)
        proc.barrier()
    with smp.mpi(2) as machine:
        print(*machine.run(lambda proc: __import__("os").getpid()).results, flush=True)
        try:
            if sys.argv[1] != "idles":
                machine.run(program, sys.argv[1])
            print("idle", flush=True)
            time.sleep(60)
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
        print(machine, flush=True)
"""


@pytest.mark.parametrize("how", ["computes", "waits", "idles"])
def test_ranks_end_with_their_parent(script: Script, how: str) -> None:
    process = script(WORKS, how)
    assert process.stdout is not None
    ranks = [int(pid) for pid in process.stdout.readline().split()]
    launchers = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    process.stdout.readline()
    process.kill()
    for pid in (*ranks, *launchers):
        assert gone(pid, 3.0)


def test_the_end_of_the_launcher_is_reported(script: Script) -> None:
    process = script(WORKS, "computes")
    assert process.stdout is not None
    ranks = [int(pid) for pid in process.stdout.readline().split()]
    process.stdout.readline()
    children = psutil.Process(process.pid).children()
    launcher = next(each for each in children if {rank.pid for rank in each.children(recursive=True)} >= set(ranks))
    launcher.kill()
    printed, _ = process.communicate(timeout=10)
    assert "MachineError the process that starts the processors was killed" in printed
    for pid in ranks:
        assert gone(pid, 3.0)


@pytest.mark.parametrize("how", each(2, ["computes", "sleeps", "waits"]))
def test_ctrl_c_ends_a_run_and_not_the_machine(script: Script, how: str) -> None:
    process = script(WORKS, how)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=10)
    assert "KeyboardInterrupt \n<mpi machine of 2 processors, ready>" in printed


def test_nothing_is_left_of_a_machine(nothing_left: None) -> None:
    with smp.mpi(2) as machine:
        assert machine.run(together).results == [1, 1]


def refused(launcher: list[str] | None = None, hosts: str | None = None) -> str:
    with pytest.raises(MachineError) as caught:
        smp.mpi(2, launcher=launcher, hosts=hosts)
    return str(caught.value)


def test_a_launcher_that_fails_is_reported_with_its_last_words(nothing_left: None, tmp_path: Path) -> None:
    assert refused(["no-such-launcher"]) == "the launcher 'no-such-launcher' is not in the path"
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexit 16\n")
    silent.chmod(0o755)
    assert refused([str(silent)]) == (
        f"{silent} -n 2 ended with status 16 before its ranks were connected, without a message: does it belong to the "
        "library of MPI that mpi4py loads?"
    )
    talks = tmp_path / "talks"
    talks.write_text("#!/bin/sh\necho there is no room for you\nexit 3\n")
    talks.chmod(0o755)
    assert refused([str(talks)]).endswith("status 3 before its ranks were connected\n  there is no room for you")
    assert "put it into launcher=[...]" in refused([str(talks)], "a:1,b:1")


def test_a_launcher_of_another_library_is_reported(nothing_left: None, tmp_path: Path) -> None:
    """It starts ranks that each find themselves alone, as Open MPI's library does under the launcher of MPICH."""
    other = tmp_path / "other"
    other.write_text('#!/bin/sh\nshift 2\n"$@" &\n"$@" &\nwait\n')
    other.chmod(0o755)
    said = refused([str(other)])
    assert re.search(
        r"started 2 ranks, but MPI says that they are 1: the launcher does not belong to the library", said
    )
    counts = tmp_path / "counts"
    counts.write_text('#!/bin/sh\nshift 2\nOMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$@" || exit 5\n')
    counts.chmod(0o755)
    assert re.search(r"has started 2 ranks, but for .* they are 1", refused([str(counts)]))


def test_a_rank_that_cannot_reach_the_parent_says_so(tmp_path: Path) -> None:
    """It is on another computer, for example, where the name of the parent's socket means nothing."""
    far = tmp_path / "far"
    far.write_text(f'#!/bin/sh\nSMP_MPI_PARENT="elsewhere key 0" exec {jobs.mpiexec()} "$@"\n')
    far.chmod(0o755)
    assert re.search(r"rank \d on \S+ cannot reach the parent: all ranks must be on the parent's", refused([str(far)]))


def test_without_mpi_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Callable[[str], Any] = jobs.importlib.util.find_spec
    monkeypatch.setattr(jobs.importlib.util, "find_spec", lambda name: None if name == "mpi4py" else found(name))
    assert "pip install 'smp-runtime[mpi]'" in refused()
