"""MPI is measured by other processes if it is installed, and its absence or failure is a reason in words."""

import importlib.util
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from smp._computer.limits import usable_cpus
from smp.microbench.method.windows import Flag, per_operation
from smp.microbench.sections.messages import mpi, under_mpiexec
from smp.microbench.sections.messages.bursts import BLOCKS, VECTORS, calls_of
from smp.microbench.sections.messages.mpi import NoMpiError, by_mpi, visit_by_mpi
from smp.microbench.sections.messages.probe import PAIR
from smp.microbench.sections.messages.tasks import Task

TASKS = by_mpi([Task(what) for what in PAIR] + [Task(what, words) for what in VECTORS + BLOCKS for words in (8, 2000)])


def executable(folder: Path, body: str) -> str:
    """Make a command in a folder that takes the place of mpiexec."""
    file = folder / "mpiexec"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def test_mpi_is_found_next_to_python_or_in_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoMpiError, match="mpi4py is not installed"):
        mpi.mpiexec()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(mpi, "sys", SimpleNamespace(executable=str(tmp_path / "env/python")))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoMpiError, match="no mpiexec"):
        mpi.mpiexec()
    expected = executable(tmp_path, "")
    assert mpi.mpiexec() == expected
    (tmp_path / "env").mkdir()
    assert mpi.mpiexec() == expected
    assert executable(tmp_path / "env", "") == mpi.mpiexec(), "that of the environment comes first"


def answering(monkeypatch: pytest.MonkeyPatch, folder: Path, body: str) -> Any:
    path = executable(folder, body)
    monkeypatch.setattr(mpi, "mpiexec", lambda: path)
    return visit_by_mpi([Task("barrier"), Task("reduce", 2000)], [0, 1], 0.01, 0.0, 4)


def test_the_windows_of_mpi_are_those_of_its_first_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stamps = [[[[0, 300, 300, 30]], [[0, 290, 290, 30]]], [[[900, 5900, 5000, 50]], [[900, 2000, 1100, 50]]]]
    answer = json.dumps({"library": "MPICH 5.0.2", "stamps": stamps})
    found, library = answering(monkeypatch, tmp_path, f"printf '%s ' \"$@\" > {tmp_path}/seen; echo '{answer}'")
    assert library == "MPICH 5.0.2"
    barrier, reduce = found[Task("barrier")], found[Task("reduce", 2000)]
    assert per_operation(barrier).tolist() == [10.0]
    assert per_operation(reduce).tolist() == [100.0]
    assert (barrier["flags"][0], reduce["flags"][0]) == (0, Flag.APART), "the other process had ended"
    assert barrier["round"].tolist() == [4]
    given_to = (tmp_path / "seen").read_text()
    assert given_to.startswith("-n 2 ")
    job = json.loads(given_to[given_to.index("{") :])
    assert job == {"cpus": [0, 1], "seconds": 0.01, "tasks": [["barrier", 0, 30], ["reduce", 2000, 30]]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo there are no slots >&2; exit 3", "status 3: there are no slots"),
        ("exit 1", "status 1: no message"),
        ("echo hello", "printed no numbers: 'hello"),
        ("exec sleep 60", "did not end within 0 s"),
        ("trap '' TERM; while :; do :; done", "did not end within 0 s"),
    ],
)
def test_the_reason_why_mpi_does_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, message: str
) -> None:
    monkeypatch.setattr(mpi, "LONGEST", 0.4 if "sleep" in body or "trap" in body else 10.0)
    monkeypatch.setattr(mpi, "GRACE", 0.2)
    with pytest.raises(NoMpiError, match=message):
        answering(monkeypatch, tmp_path, body)


class World:
    """MPI among threads, which counts the calls of one of them."""

    size = 2

    def __init__(self, rank: int, nbytes: int, shared: dict[Any, Any], gate: threading.Barrier) -> None:
        self.rank, self._nbytes, self._shared, self._gate = rank, nbytes, shared, gate
        self.sent, self.received, self.met = 0, 0, 0

    def Send(self, buffer: Any, to: int) -> None:
        assert buffer.nbytes == self._nbytes
        self.sent += 1
        self._shared[to].put(buffer)

    def Recv(self, buffer: Any, source: int) -> None:
        assert source == 1 - self.rank
        self._shared[self.rank].get(timeout=10)
        self.received += 1

    def Sendrecv(self, buffer: Any, to: int, recvbuf: Any, source: int) -> None:
        self.Send(buffer, to)
        self.Recv(recvbuf, source)

    def Isend(self, buffer: Any, to: int) -> Callable[[], None]:
        self.Send(buffer, to)
        return lambda: None

    def Irecv(self, buffer: Any, source: int) -> Callable[[], None]:
        return lambda: self.Recv(buffer, source)

    def meet(self, *arrays: Any) -> None:
        self.met += 1
        self._gate.wait(timeout=10)

    Barrier = Allreduce = Scan = Exscan = Bcast = Alltoall = meet

    def bcast(self, value: bool, root: int) -> bool:
        if self.rank == root:
            self._shared["value"] = value
        self._gate.wait(timeout=10)
        found = bool(self._shared["value"])
        self._gate.wait(timeout=10)
        return found


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.what} {task.size or ''}".strip())
def test_the_processes_of_mpi_do_the_operations_of_a_burst(task: Task) -> None:
    shared: dict[Any, Any] = {0: Queue(), 1: Queue()}
    gate, times = threading.Barrier(2), mpi.COUNTS.get(task.what) or calls_of(task.what, task.size)
    worlds = [World(rank, 8 * task.size or 32, shared, gate) for rank in (0, 1)]
    stamps: list[Any] = [None, None]

    def process(rank: int) -> None:
        request = SimpleNamespace(Waitall=lambda waiting: [one() for one in waiting])
        library = SimpleNamespace(COMM_WORLD=worlds[rank], LOR=None, Request=request)
        burst = under_mpiexec.burst_of(library, task.what, task.size, times)
        stamps[rank] = under_mpiexec.stamps_of(library, burst, times, 0.0)

    threads = [threading.Thread(target=process, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = worlds
    taken = 3  # bursts, the first of which is left out
    assert [len(each) for each in stamps] == [taken - 1] * 2
    assert {stamp[3] for each in stamps for stamp in each} == {times}
    if task.what in ("request", "block both ways"):
        assert [first.sent, first.received, second.sent, second.received] == [taken * times] * 4
    elif task.what in ("message", "block"):
        assert [first.sent, first.received, second.sent, second.received] == [0, taken * times, taken * times, 0]
    else:
        assert [first.met, second.met] == [taken * (1 + times)] * 2, "a barrier before each burst"


@pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or shutil.which("mpiexec") is None, reason="needs mpi4py and mpiexec"
)
def test_mpi_runs() -> None:
    tasks = TASKS
    found, library = visit_by_mpi(tasks, usable_cpus()[:2], 0.001, 0.0, 0)
    assert list(found) == tasks
    assert library
    assert all(len(each) >= 2 and (per_operation(each) > 0).all() for each in found.values())
