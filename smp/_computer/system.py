"""Reads load, huge pages, and stolen and idle time from the operating system's files; for memory and CPUs see `limits`.

Functions that read files take the root of the file tree, and return None for a value that is not there.
"""

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from .limits import ROOT, allowed_cpus, memory, number, read

__all__ = [
    "ROOT",
    "Stolen",
    "affinity",
    "cpu_ticks",
    "huge_pages",
    "idle_ns",
    "load",
    "memory",
    "number",
    "read",
    "stolen_ns",
]


def affinity() -> frozenset[int]:
    """Return the CPUs that this thread may run on."""
    return frozenset(allowed_cpus())


def load(root: Path = ROOT) -> float | None:
    """Return the load average of the last minute."""
    text = read(root / "proc/loadavg")
    with contextlib.suppress(ValueError, IndexError):
        return float(text.split()[0]) if text else None
    return None


def huge_pages(root: Path = ROOT) -> dict[str, str | None]:
    """Return the settings of transparent huge pages for private and for shared memory."""
    folder = root / "sys/kernel/mm/transparent_hugepage"
    return {"private": _chosen(folder / "enabled"), "shared": _chosen(folder / "shmem_enabled")}


def stolen_ns(cpus: Collection[int], root: Path = ROOT) -> int | None:
    """Return the time that the hypervisor has taken from the given CPUs since the computer started, in ns.

    The kernel counts in ticks, usually of 10 ms.
    """
    ticks = cpu_ticks(cpus, root)
    return None if ticks is None else ticks[0] * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def idle_ns(cpus: Collection[int], root: Path = ROOT) -> int | None:
    """Return the time for which the given CPUs have been idle since the computer started, in ns.

    The kernel counts in ticks, usually of 10 ms. Return None if it counts nothing, as in some sandboxes.
    """
    wanted, idle, counts = {f"cpu{cpu}" for cpu in cpus}, 0, False
    for line in (read(root / "proc/stat") or "").splitlines():
        name, *ticks = line.split()
        if name in wanted and len(ticks) >= 5:
            counts |= any(tick != "0" for tick in ticks)
            idle += int(ticks[3]) + int(ticks[4])  # idle, and idle while waiting for a disk
    return idle * 1_000_000_000 // os.sysconf("SC_CLK_TCK") if counts else None


def cpu_ticks(cpus: Collection[int], root: Path = ROOT) -> tuple[int, int] | None:
    """Return the ticks stolen from the given CPUs and all their ticks, or None if stolen ticks are not counted."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    stolen = total = 0
    found = False
    for line in (read(root / "proc/stat") or "").splitlines():
        name, *ticks = line.split()
        # user nice system idle iowait irq softirq steal; the guests' ticks that follow are already in user
        if name in wanted and len(ticks) >= 8:
            found = True
            stolen += int(ticks[7])
            total += sum(map(int, ticks[:8]))
    return (stolen, total) if found else None


class Stolen:
    """Fraction of time that the hypervisor takes from CPUs, measured since this object was made.

    Parameters
    ----------
    cpus : collection of int, optional
        CPUs to look at; by default those that this thread may use.
    root : Path
    """

    def __init__(self, cpus: Collection[int] | None = None, root: Path = ROOT) -> None:
        self._cpus, self._root = affinity() if cpus is None else cpus, root
        self._start = cpu_ticks(self._cpus, root)

    def fraction(self) -> float | None:
        """Return the fraction so far, or None if it is not counted or no tick has passed."""
        now = cpu_ticks(self._cpus, self._root)
        if self._start is None or now is None or now[1] <= self._start[1]:
            return None
        return max(0, now[0] - self._start[0]) / (now[1] - self._start[1])


def _chosen(path: Path) -> str | None:
    """Return the word in brackets of a file such as ``always [madvise] never``."""
    text = read(path) or ""
    return text.partition("[")[2].partition("]")[0] or None
