"""What this process may use of the computer: CPUs and memory, affinity and cgroup quotas respected."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

import psutil

CGROUP = Path("/sys/fs/cgroup")


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().split()
    return []


def allowed_cpus() -> list[int]:
    """Return the CPUs that this process may run on, lowest first."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def usable_cpus(cgroup: Path = CGROUP) -> list[int]:
    """Return the CPUs that this process may run on, as many as its quota is worth, lowest first."""
    cpus = allowed_cpus()
    quota = _words(cgroup / "cpu.max")  # version 2: "max 100000" or "150000 100000"
    if not quota:
        quota = _words(cgroup / "cpu/cpu.cfs_quota_us") + _words(cgroup / "cpu/cpu.cfs_period_us")
    if len(quota) == 2 and quota[0] not in ("max", "-1") and int(quota[1]) > 0:
        cpus = cpus[: max(1, math.ceil(int(quota[0]) / int(quota[1])))]
    return cpus


def available_memory(cgroup: Path = CGROUP) -> int:
    """Return the bytes that can still be taken without swapping or a cgroup's killer."""
    free = int(psutil.virtual_memory().available)
    for folder, limit, used, cache in (
        (cgroup, "memory.max", "memory.current", "inactive_file"),
        (cgroup / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        bound, taken, about = _words(folder / limit), _words(folder / used), _words(folder / "memory.stat")
        if bound and taken and bound[0] != "max":
            cached = dict(zip(about[::2], about[1::2], strict=False)).get(cache, 0)  # given up when it is needed
            free = min(free, int(bound[0]) - int(taken[0]) + int(cached))
    return max(free, 0)
