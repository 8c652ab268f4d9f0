"""Machines for tests, and the state of a process, which shows what machines leave behind.

By design, one idle fork server for each start method stays for ten seconds after its last machine (see
``forkserver``). One socket to it stays as well, and one thread that waits for it to end. Nothing else may stay.
"""

import contextlib
import gc
import os
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

import smp
from smp._computer.limits import usable_cpus

ROOT = Path(__file__).parents[2]
"""Root folder of the repository."""
HARD = 5.0
"""Seconds within which a run must end after any failure. Usually it takes milliseconds."""
Machines = Callable[..., smp.Machine]
Emulated = Callable[[int], smp.Machine]
Script = Callable[..., subprocess.Popen[str]]


CPUS = len(usable_cpus())
PLACES: dict[str, dict[str, Any]] = {
    "two": {"processors": 2},
    "oversubscribed": {"processors": 4 * CPUS, "start": "fork"},  # workers have the loops that this process has loaded
    "pinned": {"processors": 3, "pin": (usable_cpus()[0],) * 3, "start": "fork"},
}


@contextlib.contextmanager
def shared(open_one: Machines) -> Iterator[Machines]:
    """Return a function that opens machines, but returns one that is ready if it was opened with the same arguments."""
    opened: dict[tuple[Any, ...], smp.Machine] = {}

    def machine(processors: int, **options: Any) -> smp.Machine:
        key = (processors, *sorted(options.items()))
        if key not in opened or "ready" not in repr(opened[key]):
            opened[key] = open_one(processors, **options)
        return opened[key]

    yield machine
    for one in opened.values():
        one.close()


@contextlib.contextmanager
def guarded(machine: smp.Machine, seconds: float = 60.0) -> Iterator[smp.Machine]:
    """Close the machine after the given time, so that a program that waits for ever fails."""
    timer = threading.Timer(seconds, machine.close)
    timer.start()
    try:
        yield machine
    finally:
        timer.cancel()
        timer.join()


def is_fork_server(process: psutil.Process) -> bool:
    """Return True if a direct child of this process is a fork server. Its workers have the same command line."""
    with contextlib.suppress(psutil.Error):
        return any("forkserver.main(" in word for word in process.cmdline())
    return False


def processes() -> dict[int, str]:
    """Return all descendants except for idle fork servers, by process id."""
    me = psutil.Process()
    ours = {child.pid for child in me.children() if is_fork_server(child)}
    found = {}
    for child in me.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.pid not in ours:
                found[child.pid] = f"{child.name()} {child.status()}"
    return found


def descriptors() -> Counter[str]:
    """Count the open descriptors by the files that they refer to; sockets and pipes are named without their numbers."""
    found: Counter[str] = Counter()
    for entry in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found[os.readlink(f"/proc/self/fd/{entry}").split(":[")[0]] += 1
    return found


def segments() -> int:
    """Return the number of mappings of machines' segments in this process."""
    return Path("/proc/self/maps").read_text().count("/memfd:smp")


def state() -> dict[str, Any]:
    """Return the state of this process that must be the same before and after a test."""
    gc.collect()
    return {
        "processes": processes(),
        "descriptors": descriptors(),
        "threads": sorted(t.name for t in threading.enumerate() if t.name != "smp fork server"),
        "segments": segments(),
        "files": sorted(os.listdir("/dev/shm")),
    }


def gone(pid: int, seconds: float = 1.0) -> bool:
    """Return True if a process ends in time. A process that only waits for its new parent to reap it has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.005)
    return False
