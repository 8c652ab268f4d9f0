"""Short look at other activity of the computer, before and after a measurement.

processes   CPU 0: a loop spins     CPU 1: a loop spins     ...     processes
            the share of the time that it gets, and the clock rate afterwards

If two turns of the loop are more than `GAP_NS` apart, something else had the CPU, here or on the host.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from .limits import ROOT, read, usable_cpus
from .system import Stolen, load

SPIN_S, LOOK_S = 0.075, 0.3
"""Seconds that the loop spins on one CPU, and roughly on all CPUs together. With many CPUs, each gets less time."""
SHORTEST_S, MOST_CPUS = 0.02, 32
GAP_NS = 100_000
"""Nanoseconds of a gap; longer than an interrupt takes."""
GIVEN, STOLEN, TAKEN, CLOCK, LOAD = 0.95, 0.02, 0.2, 0.9, 1.25
"""Limits beyond which a computer counts as busy: a CPU gives the loop a smaller share than GIVEN, the hypervisor takes
a larger one than STOLEN, another process takes more of a CPU than TAKEN, a CPU's clock is slower than CLOCK times the
fastest, or other threads run and the load is above LOAD times the number of CPUs."""
NAMED, SEEN = 3, 0.05
"""Number of processes that are named, and the share of a CPU that each of them exceeded."""


def look(rate: Callable[[], float] | None = None, root: Path = ROOT) -> dict[str, Any]:
    """Look at the other activity of the computer.

    Parameters
    ----------
    rate : callable, optional
        Returns the clock rate of the CPU on which it is called, in GHz.
    root : Path
        Root of the file tree from which the load is read.

    Returns
    -------
    dict
        Plain JSON. ``load`` is the load average of the last minute, ``runnable`` the average number of other threads
        that wanted a CPU, and ``stolen_fraction`` the fraction of time that the hypervisor took.  ``cpus`` has, for
        each CPU that was tested (at most `MOST_CPUS`), the share of its time that it gave the loop, and its clock rate
        in GHz.  ``processes`` has the busiest other processes, with the share of a CPU that each took.  ``busy`` has
        one clause for each observation that disturbs a measurement.

    Notes
    -----
    A look takes about 0.3 s, and about a second with many CPUs.
    """
    cpus = usable_cpus(root)
    looked_at = cpus[:: math.ceil(len(cpus) / MOST_CPUS)]
    seconds = min(SPIN_S, max(SHORTEST_S, LOOK_S / len(looked_at)))
    stolen, before, began = Stolen(cpus, root), _cpu_times(), time.perf_counter()
    given: list[dict[str, Any]] = []
    running = []
    for cpu in looked_at:
        with _pinned(cpu):
            given.append({"cpu": cpu, "share": _spin(seconds), "GHz": rate() if rate else None})
        running.append(_runnable(root))
    found: dict[str, Any] = {
        "load": load(root),
        "runnable": None if None in running else sum(map(int, running)) / len(running),  # type: ignore[arg-type]
        "stolen_fraction": stolen.fraction(),
        "cpus": given,
        "processes": _busiest(before, time.perf_counter() - began),
    }
    return found | {"busy": list(_busy(found, len(cpus)))}


def _spin(seconds: float) -> float:
    """Return the share of the given seconds that a spinning loop gets."""
    begun = last = now = time.perf_counter_ns()
    end, lost = begun + int(1e9 * seconds), 0
    while now < end:
        now = time.perf_counter_ns()
        if now - last > GAP_NS:
            lost += now - last
        last = now
    return 1.0 - lost / (now - begun)


@contextlib.contextmanager
def _pinned(cpu: int) -> Iterator[None]:
    """Keep this thread on a CPU within a block, if the system allows it."""
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _runnable(root: Path) -> int | None:
    """Return how many other threads run or are ready to run."""
    for line in (read(root / "proc/stat") or "").splitlines():
        name, _, count = line.partition(" ")
        if name == "procs_running":
            return max(0, int(count) - 1)
    return None


def _cpu_times() -> dict[tuple[int, float], tuple[str, float]]:
    """Return the name and the CPU seconds of each process except this one."""
    found = {}
    for process in psutil.process_iter(["pid", "name", "create_time", "cpu_times"]):
        told = process.info
        if told["cpu_times"] is not None and told["pid"] != os.getpid():
            spent = told["cpu_times"].user + told["cpu_times"].system
            found[told["pid"], told["create_time"]] = (told["name"] or "?", spent)
    return found


def _busiest(before: dict[tuple[int, float], tuple[str, float]], seconds: float) -> list[dict[str, Any]]:
    """Return the processes that took the most CPU time since ``before``, with the share of a CPU that each took."""
    shares = [
        ((spent - before[key][1]) / seconds, key[0], name)
        for key, (name, spent) in _cpu_times().items()
        if key in before
    ]
    busiest = sorted(shares, reverse=True)[:NAMED]
    return [{"name": name, "pid": pid, "share": round(share, 3)} for share, pid, name in busiest if share > SEEN]


def _busy(found: dict[str, Any], cpus: int) -> Iterator[str]:
    """Yield a clause for each observation of a look that disturbs a measurement."""
    short = [f"{each['share']:.0%} of CPU {each['cpu']}" for each in found["cpus"] if each["share"] < GIVEN]
    if short:
        yield f"a spinning loop gets {_few(short)}"
    taking = [f"{each['name']} ({each['pid']}) takes {each['share']:.0%} of a CPU" for each in found["processes"]]
    if taking and found["processes"][0]["share"] > TAKEN:
        yield _few(taking)
    if (found["stolen_fraction"] or 0.0) > STOLEN:
        yield f"the hypervisor takes {found['stolen_fraction']:.0%} of the time"
    rates = {each["cpu"]: each["GHz"] for each in found["cpus"] if each["GHz"]}
    fastest = max(rates.values(), default=0.0)
    slow = [f"CPU {cpu} runs at {GHz:.2f} GHz" for cpu, GHz in rates.items() if GHz < CLOCK * fastest]
    if slow:
        yield f"{_few(slow)}, the fastest at {fastest:.2f} GHz"
    if (found["load"] or 0.0) > LOAD * cpus and found["runnable"]:  # a load alone may be from earlier work
        yield f"the load of the last minute is {found['load']:.2f} on {cpus} CPU{'s' * (cpus != 1)}"


def _few(said: Sequence[str]) -> str:
    """Return the first of some clauses, and how many more there are."""
    rest = len(said) - NAMED
    return ", ".join(said[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
