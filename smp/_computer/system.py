"""What the operating system's files say: load, huge pages, stolen time; memory and CPUs: `limits`.

Every function takes the root of the file tree and returns None for what is not told there.
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
    """Return the setting of transparent huge pages for private and for shared memory."""
    folder = root / "sys/kernel/mm/transparent_hugepage"
    return {"private": _chosen(folder / "enabled"), "shared": _chosen(folder / "shmem_enabled")}


def stolen_ns(cpus: Collection[int], root: Path = ROOT) -> int | None:
    """Return the time that the hypervisor has taken from some CPUs since the computer started, in ns.

    The kernel counts in ticks, mostly of 10 ms.
    """
    ticks = cpu_ticks(cpus, root)
    return None if ticks is None else ticks[0] * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def idle_ns(cpus: Collection[int], root: Path = ROOT) -> int | None:
    """Return the time for which some CPUs have been idle since the computer started, in ns.

    The kernel counts in ticks, mostly of 10 ms. None where it counts nothing, as in some sandboxes.
    """
    wanted, idle, counts = {f"cpu{cpu}" for cpu in cpus}, 0, False
    for line in (read(root / "proc/stat") or "").splitlines():
        name, *ticks = line.split()
        if name in wanted and len(ticks) >= 5:
            counts |= any(tick != "0" for tick in ticks)
            idle += int(ticks[3]) + int(ticks[4])  # idle, and idle while a disk is waited for
    return idle * 1_000_000_000 // os.sysconf("SC_CLK_TCK") if counts else None


def cpu_ticks(cpus: Collection[int], root: Path = ROOT) -> tuple[int, int] | None:
    """Return the ticks stolen from some CPUs and all their ticks; None where steal is not counted."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    stolen = total = 0
    found = False
    for line in (read(root / "proc/stat") or "").splitlines():
        name, *ticks = line.split()
        # user nice system idle iowait irq softirq steal; the guests' that follow are in user already
        if name in wanted and len(ticks) >= 8:
            found = True
            stolen += int(ticks[7])
            total += sum(map(int, ticks[:8]))
    return (stolen, total) if found else None


class Stolen:
    """The fraction of time that the hypervisor takes from CPUs, over the interval since this was made.

    Parameters
    ----------
    cpus : collection of int, optional
        Those this thread may use, when not given.
    root : Path
    """

    def __init__(self, cpus: Collection[int] | None = None, root: Path = ROOT) -> None:
        self._cpus, self._root = affinity() if cpus is None else cpus, root
        self._start = cpu_ticks(self._cpus, root)

    def fraction(self) -> float | None:
        """Return the fraction so far; None where it is not counted or no tick has passed."""
        now = cpu_ticks(self._cpus, self._root)
        if self._start is None or now is None or now[1] <= self._start[1]:
            return None
        return max(0, now[0] - self._start[0]) / (now[1] - self._start[1])


def _chosen(path: Path) -> str | None:
    """The word in brackets: ``always [madvise] never``."""
    text = read(path) or ""
    return text.partition("[")[2].partition("]")[0] or None
