"""What else the computer does: a short look before something is measured, and after.

processes   CPU 0: a loop spins     CPU 1: a loop spins     ...     processes
            how much of the time it gets, and the clock rate after

a gap between two turns of the loop that is longer than `GAP_NS`: something else had the CPU, here or on the host
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
"""How long the loop spins on a CPU, and about how long it spins on all of them; on many CPUs each has less."""
SHORTEST_S, MOST_CPUS = 0.02, 32
GAP_NS = 100_000
"""Longer than an interrupt takes."""
GIVEN, STOLEN, TAKEN, CLOCK, LOAD = 0.95, 0.02, 0.2, 0.9, 1.25
"""A computer is busy where a CPU gives a loop less, the hypervisor takes more, another process takes more of a CPU, a
CPU's clock is slower than this share of the fastest, or others run and the load is so many times the CPUs."""
NAMED, SEEN = 3, 0.05
"""How many processes are named, and the least share of a CPU that one of them took."""


def look(rate: Callable[[], float] | None = None, root: Path = ROOT) -> dict[str, Any]:
    """Look at what else the computer does.

    Parameters
    ----------
    rate : callable, optional
        Returns the clock rate of the CPU that it is called on, in GHz.
    root : Path
        Of the file tree that is asked for the load.

    Returns
    -------
    dict
        Plain JSON: ``load`` of the last minute; ``runnable``, how many others wanted a CPU, on average;
        ``stolen_fraction``; ``cpus``, for each the share of its time that a loop was given and its clock rate in GHz;
        ``processes``, the busiest others with the share of a CPU that each took; ``busy``, what of it disturbs a
        measurement, a clause each.

    Notes
    -----
    Takes about 0.3 s, and a second with many CPUs.
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
    """Return the share of some seconds that a spinning loop is given."""
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
    """Keep this thread on a CPU, where the system lets it."""
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _runnable(root: Path) -> int | None:
    """Return how many other threads run or want to."""
    for line in (read(root / "proc/stat") or "").splitlines():
        name, _, count = line.partition(" ")
        if name == "procs_running":
            return max(0, int(count) - 1)
    return None


def _cpu_times() -> dict[tuple[int, float], tuple[str, float]]:
    """Return the name and the CPU seconds of each process but this one."""
    found = {}
    for process in psutil.process_iter(["pid", "name", "create_time", "cpu_times"]):
        told = process.info
        if told["cpu_times"] is not None and told["pid"] != os.getpid():
            spent = told["cpu_times"].user + told["cpu_times"].system
            found[told["pid"], told["create_time"]] = (told["name"] or "?", spent)
    return found


def _busiest(before: dict[tuple[int, float], tuple[str, float]], seconds: float) -> list[dict[str, Any]]:
    """Return the processes that have taken the most CPU time since, with the share of a CPU that each took."""
    shares = [
        ((spent - before[key][1]) / seconds, key[0], name)
        for key, (name, spent) in _cpu_times().items()
        if key in before
    ]
    busiest = sorted(shares, reverse=True)[:NAMED]
    return [{"name": name, "pid": pid, "share": round(share, 3)} for share, pid, name in busiest if share > SEEN]


def _busy(found: dict[str, Any], cpus: int) -> Iterator[str]:
    """Say what of a look disturbs a measurement."""
    short = [f"{each['share']:.0%} of CPU {each['cpu']}" for each in found["cpus"] if each["share"] < GIVEN]
    if short:
        yield f"a loop that spins gets {_few(short)}"
    taking = [f"{each['name']} ({each['pid']}) takes {each['share']:.0%}" for each in found["processes"]]
    if taking and found["processes"][0]["share"] > TAKEN:
        yield f"{_few(taking)} of a CPU"
    if (found["stolen_fraction"] or 0.0) > STOLEN:
        yield f"the hypervisor takes {found['stolen_fraction']:.0%} of the time"
    rates = {each["cpu"]: each["GHz"] for each in found["cpus"] if each["GHz"]}
    fastest = max(rates.values(), default=0.0)
    slow = [f"CPU {cpu} runs at {GHz:.2f} GHz" for cpu, GHz in rates.items() if GHz < CLOCK * fastest]
    if slow:
        yield f"{_few(slow)}, the fastest at {fastest:.2f}"
    if (found["load"] or 0.0) > LOAD * cpus and found["runnable"]:  # the load alone may be what went before
        yield f"the load of the last minute is {found['load']:.2f} on {cpus} CPU{'s' * (cpus != 1)}"


def _few(said: Sequence[str]) -> str:
    """Return the first of some clauses, and how many more there are."""
    rest = len(said) - NAMED
    return ", ".join(said[:NAMED]) + (f" and so {rest} more" if rest > 0 else "")
