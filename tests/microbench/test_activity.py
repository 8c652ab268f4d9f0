"""The check of what else keeps the computer busy, and progress output with and without a terminal."""

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from smp._computer import activity
from smp._computer.limits import usable_cpus
from smp._output import progress
from smp.microbench import command


@contextmanager
def spinning(cpu: int) -> Iterator[int]:
    """Keep a CPU busy with another process, which has the priority of this one; yield its id."""
    process = subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile 1: pass"])
    try:
        time.sleep(0.3)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def test_a_busy_cpu_and_the_process_that_keeps_it_busy_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "NAMED", 999)  # other processes may be busy, too
    affinity = os.sched_getaffinity(0)
    cpu = usable_cpus()[-1]
    with spinning(cpu) as pid:
        seen = activity.look(lambda: 3.0)
    (given,) = (each for each in seen["cpus"] if each["cpu"] == cpu)
    assert given["share"] < 0.75
    assert given["GHz"] == 3.0
    assert seen["runnable"] > 0
    taken = {process["pid"]: process["share"] for process in seen["processes"]}
    assert taken[pid] > activity.SEEN
    assert f"% of CPU {cpu}" in seen["busy"][0]
    assert f"({pid}) takes" in " ".join(seen["busy"])
    assert os.sched_getaffinity(0) == affinity


def test_only_activity_that_disturbs_is_reported(tmp_path: Path) -> None:
    quiet = {
        "load": 3.0,
        "runnable": 0.0,
        "stolen_fraction": None,
        "cpus": [{"cpu": k, "share": 0.99, "GHz": 4.0} for k in range(2)],
        "processes": [{"name": "sshd", "pid": 7, "share": 0.05}],
    }
    assert list(activity._busy(quiet, 2)) == []
    slow = [{"cpu": 0, "share": 1.0, "GHz": 2.0}, {"cpu": 1, "share": 0.5, "GHz": 4.0}]
    processes = [{"name": "make", "pid": 9, "share": 0.98}]
    busy = {"load": 3.0, "runnable": 1.5, "stolen_fraction": 0.25, "cpus": slow, "processes": processes}
    assert list(activity._busy(busy, 2)) == [
        "a spinning loop gets 50% of CPU 1",
        "make (9) takes 98% of a CPU",
        "the hypervisor takes 25% of the time",
        "CPU 0 runs at 2.00 GHz, the fastest at 4.00 GHz",
        "the load of the last minute is 3.00 on 2 CPUs",
    ]
    seen = activity.look(root=tmp_path)
    assert (seen["load"], seen["runnable"], seen["stolen_fraction"]) == (None, None, None), "there are no such files"
    assert {each["GHz"] for each in seen["cpus"]} == {None}


def test_progress_is_printed_in_lines_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    talk = Console(file=io.StringIO(), width=40)
    with progress.shown_on(talk) as shown:
        shown(0.0, "latency")
        now[0] = 109.0
        shown(0.25, "round 1: too early for a line")
        now[0] = 110.5
        shown(0.5, "round 2: [huge], which is more than a line of the console")
        now[0] = 112.0
        shown(0.75, "round 3")
        shown.ended("latency", 12.04)
    assert talk.file.getvalue() == (  # type: ignore[attr-defined]
        "50%: round 2: [huge], which is more than a line of the console\nlatency: 12.0 s\n"
    )


def test_progress_is_a_bar_on_a_terminal() -> None:
    talk = Console(file=io.StringIO(), width=80, force_terminal=True)
    with progress.shown_on(talk) as shown:
        assert isinstance(shown, progress.Bar)
        shown(0.5, "latency")
        shown.ended("latency", 1.0)


def test_the_command_warns_that_the_computer_is_busy_and_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path / "data"))
    with spinning(usable_cpus()[0]):
        assert command.main(["--quick", "--only", "retries", "--no-plots", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    said = " ".join(printed.err.split())
    assert "the computer is busy: a spinning loop gets" in said
    assert "wait until it is quiet" in said
    assert "retries: " in said, "the section has a line"
    assert "\x1b" not in printed.err
