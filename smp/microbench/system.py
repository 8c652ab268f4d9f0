"""What the operating system's files say: memory, load, huge pages, stolen time, control groups.

Every function takes the root of the file tree and returns None for what is not told there.
"""

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path("/")


def read(path: Path) -> str | None:
    """Return a file's text without blanks around it; None where it cannot be read or is empty."""
    try:
        # the firmware's own strings end in a zero byte
        return path.read_text(errors="replace").strip("\0 \t\n") or None
    except OSError:
        return None


def number(path: Path) -> int | None:
    """Return the integer in a file; None where there is none."""
    text = read(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def affinity() -> frozenset[int]:
    """Return the CPUs that this thread may run on."""
    try:
        return frozenset(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return frozenset(range(os.cpu_count() or 1))


def memory(root: Path = ROOT) -> tuple[int | None, int | None]:
    """Return total and available memory in bytes, the control groups' limits respected."""
    fields = {}
    for line in (read(root / "proc/meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        if rest.strip().endswith(" kB"):
            fields[name] = int(rest.split()[0]) * 1024
    total, available = fields.get("MemTotal"), fields.get("MemAvailable")
    for folder in groups("memory", root):
        limit = number(folder / "memory.max") or number(folder / "memory.limit_in_bytes")
        used = number(folder / "memory.current") or number(folder / "memory.usage_in_bytes") or 0
        if limit is not None and total is not None and limit < total:
            total = limit
            available = max(0, min(limit - used, limit if available is None else available))
    return total, available


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


def groups(controller: str, root: Path = ROOT) -> Iterator[Path]:
    """Yield the folders of the control groups above this process for one controller, the innermost first.

    Version 1 has a tree for each controller, version 2 one for all. A path that a container does not see
    is climbed until it does, at the latest at the top, which is then the container's own.
    """
    mounts = root / "sys/fs/cgroup"
    for line in (read(root / "proc/self/cgroup") or "").splitlines():
        number_, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number_ == "0":
            tops = [mounts, mounts / "unified"]
        elif controller in controllers.split(","):
            tops = [mounts / controller, mounts / controllers]
        else:
            continue
        inner = Path(path.lstrip("/"))
        for top in dict.fromkeys(tops):
            for step in [inner, *inner.parents]:
                if (top / step).is_dir():
                    yield top / step


def _chosen(path: Path) -> str | None:
    """The word in brackets: ``always [madvise] never``."""
    text = read(path) or ""
    return text.partition("[")[2].partition("]")[0] or None
