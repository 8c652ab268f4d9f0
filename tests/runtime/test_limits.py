"""Machines under the limits of a process: CPUs, files, address space, disk, outputs.

A machine works under a limit, or its error names the limit and how to raise it.  In both cases no process is left.
"""

import os
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from support.machines import ROOT
from support.sampled import each

import smp
from smp._runtime.host import processes, workers
from smp._runtime.loops import code_folder, kept_code
from smp._runtime.protocols import entry_points
from smp.errors import MachineError

STARTS = ("forkserver", "spawn", "fork")
SOME = ("forkserver", *(pytest.param(start, marks=pytest.mark.slow) for start in ("spawn", "fork")))
COMMON = """
import os, resource, sys
import smp


def limit(name, most):
    resource.setrlimit(getattr(resource, name), (most, resource.getrlimit(getattr(resource, name))[1]))


def added(proc, array):
    with proc.superstep("add") as step:
        mine = step.copy_in(array, proc.block(len(array)))
        step.compute()
        step.copy_out(array, proc.block(len(array)), mine + 1)
    return proc.reduce(1)


def works(size, start="forkserver", length=1000):
    with smp.host(size, start=start) as machine:
        array = machine.zeros(length)
        assert machine.run(added, array).results == [size] * size
        assert (array[:] == 1).all()


def refused(attempt, kind):
    try:
        attempt()
    except kind as error:
        print(error)
    else:
        raise AssertionError("no error")


"""
Limited = Callable[..., str]


@pytest.fixture
def limited(tmp_path: Path) -> Limited:
    """``limited(source)`` runs a program in a process, checks that nothing of it is left, and returns its output."""

    def run(source: str, *arguments: str, before: tuple[str, ...] = (), **environment: str) -> str:
        entry_points.core()
        (tmp_path / "limited.py").write_text(COMMON + textwrap.dedent(source))
        mark = uuid.uuid4().hex
        done = subprocess.run(
            [*before, sys.executable, str(tmp_path / "limited.py"), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "SMP_TEST_MARK": mark, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        deadline = time.monotonic() + 5.0
        while (left := marked(mark)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left
        return done.stdout

    return run


def marked(mark: str) -> list[int]:
    """Return the processes that have inherited a mark in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("SMP_TEST_MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            pass
    return found


@pytest.mark.slow
def test_many_processors_share_one_cpu(limited: Limited) -> None:
    limited("os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nworks(1)\nworks(8)\nworks(64)")


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_there_may_be_200_processors(limited: Limited, start: str) -> None:
    limited(f"works(200, {start!r}, 1 << 20)")


def test_processors_that_do_not_start_in_time_were_not_in_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START", 0.1)
    monkeypatch.setattr(workers, "EACH", 0.0)
    monkeypatch.setattr(processes.WorkerProcesses, "send", lambda *_: None)
    with pytest.raises(
        MachineError, match=r"processor 0 of 2 did not answer and was killed; last seen at its start; the"
    ):
        smp.host(2)


@pytest.mark.parametrize("start", SOME)
def test_too_few_open_files_are_reported(limited: Limited, start: str) -> None:
    said = limited(
        f"""
        limit("RLIMIT_NOFILE", 32)
        refused(lambda: works(64, {start!r}), smp.MachineError)
        works(4, {start!r})
        """
    )
    assert said == (
        "64 processors cannot be started: Too many open files: a process may have at most 32 files open; use fewer "
        "processors, or raise the limit (ulimit -n)\n"
    )


@pytest.mark.parametrize("most", each(3, [18, 14, 21]))
def test_too_few_open_files_of_the_fork_server_are_reported(limited: Limited, most: int) -> None:
    """The process that starts processors has the limits of its parent when it started, and goes on after a failure."""
    said = limited(
        f"""
        import psutil
        before = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        limit("RLIMIT_NOFILE", {most})
        works(1)
        servers = [child.pid for child in psutil.Process().children(recursive=True)]
        limit("RLIMIT_NOFILE", before)
        refused(lambda: works(64), smp.MachineError)
        works(1)
        assert [child.pid for child in psutil.Process().children(recursive=True)] == servers
        """
    )
    assert f"of 64 cannot be started: Too many open files: a process may have at most {most} files open; use " in said


def test_a_limited_address_space_is_shared_out(limited: Limited) -> None:
    said = limited(
        """
        limit("RLIMIT_AS", 1 << 30)
        works(4)
        with smp.host(2) as machine:
            refused(lambda: machine.zeros(1 << 27), smp.OutOfSharedMemory)
        """
    )
    assert "1,073,741,824 bytes does not fit" in said
    assert said.endswith("or raise the limit on address space (ulimit -v)\n")


def test_an_address_space_that_is_too_small_is_reported(limited: Limited) -> None:
    said = limited('limit("RLIMIT_AS", 250 << 20)\nrefused(lambda: works(2), smp.MachineError)')
    assert said.startswith("2 processors cannot be started: ")
    assert said.endswith("; a process may have at most 262,144,000 bytes of address space (ulimit -v)\n")


def test_a_limit_on_the_size_of_files_is_reported(limited: Limited) -> None:
    said = limited('limit("RLIMIT_FSIZE", 1 << 20)\nrefused(lambda: works(2), smp.MachineError)')
    assert said == (
        "2 processors cannot be started: File too large: a file may have at most 1,048,576 bytes, and shared memory "
        "counts as a file; raise the limit (ulimit -f)\n"
    )


@pytest.mark.parametrize("start", SOME)
@pytest.mark.parametrize("closed", [(1,), (1, 2), (0, 1, 2)])
def test_outputs_may_be_closed(limited: Limited, start: str, closed: tuple[int, ...], tmp_path: Path) -> None:
    """No file of the machine gets the number of an output, and the processors write into nothing."""
    limited(
        f"""
        def printing(proc):
            print("text", flush=True)
            proc.print("line")
            os.write(1, b"bytes")
            os.write(2, b"bytes")
            return proc.reduce(1)

        for _ in range(2):
            with smp.host(3, start={start!r}) as machine:
                assert machine.run(printing).results == [3] * 3
        open(sys.argv[1], "w").write("done")
        """,
        str(tmp_path / "done"),
        before=("sh", "-c", f'exec "$@" {" ".join(f"{fd}>&-" for fd in closed)}', "sh"),
    )
    assert (tmp_path / "done").read_text() == "done"


def test_a_home_folder_is_not_needed(limited: Limited) -> None:
    """Machine code that another process has lent is found."""
    lent = str(code_folder.cache_folder().parent)
    absent = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "", "SMP_CACHE_DIR": "", code_folder.PRIVATE: lent}
    limited("works(2)", **absent)


def full(folder: Path) -> tuple[str, ...]:
    """Return words before a command that make a full disk of a folder, and of /dev/shm, for that command alone."""
    mounts = " && ".join(f"mount -t tmpfs -o size=16k tmpfs {path}" for path in (folder, "/dev/shm"))
    words = ("unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh")
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount file systems")
    return words


def test_a_full_disk_is_reported_and_no_part_of_a_file_is_left(limited: Limited, tmp_path: Path) -> None:
    """Arrays need no disk.  A log keeps the entries that it had."""
    (tmp_path / "full").mkdir()
    said = limited(
        """
        os.chdir(sys.argv[1])

        def chatty(proc):
            for k in range(1000):
                proc.log("entry")

        def long(proc):
            for k in range(300):
                with proc.superstep(f"step {k}"):
                    pass

        works(2, length=1 << 20)
        with smp.host(2) as machine:
            refused(lambda: machine.run(chatty, log="log"), smp.ProcessorRaised)
            assert smp.last_entries("log")
            os.unlink("log")
            refused(lambda: machine.run(long).write_trace("trace.json"), OSError)
        assert os.listdir() == [] == os.listdir("/dev/shm")
        """,
        str(tmp_path / "full"),
        before=full(tmp_path / "full"),
    )
    log, trace = said.splitlines()[0], said.splitlines()[-1]
    assert f"raised OSError: [Errno 28] No space left on device for the log of the run: '{tmp_path}/full/log' at" in log
    assert trace == "[Errno 28] No space left on device: 'trace.json'"


def test_machine_code_that_finds_no_space_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()

    def opened(path: str, flags: int) -> int:
        os.close(os.open(path, flags))
        return os.open("/dev/full", os.O_WRONLY)

    monkeypatch.setattr(kept_code, "_private", opened)
    with pytest.warns(
        code_folder.CacheWarning, match=rf"{tmp_path}/folder: No space left on device\. Each .* free some"
    ):
        kept_code.write(tmp_path / "folder" / "loop-1.code", b"12345")
    assert not list((tmp_path / "folder").iterdir())
