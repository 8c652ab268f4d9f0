"""Reads the computer's settings of clocks, memory, limits and the system from its files.

Most functions take the root of the file tree, and return None for a setting that is not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from . import cpus
from .limits import groups, memory, number, read

CPU, PAGES = "sys/devices/system/cpu", "sys/kernel/mm"
VARIABLES = (
    *("NUMBA_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "MALLOC_", "GLIBC_TUNABLES", "PYTHONMALLOC", "SMP_"),
)
"""Beginnings of the names of environment variables that change the speed of loops and memory."""
PATHS = ("_DIR", "_CACHE", "_FILE")
"""Ends of the names of variables that hold paths, which may reveal the user."""


def microcode(root: Path) -> str | None:
    """Return the revision of the processor's microcode."""
    return next(cpus.cpuinfo("microcode", root), None) or read(root / CPU / "cpu0/microcode/version")


def stepping(root: Path) -> str | None:
    """Return the processor's family, model and stepping."""
    told = {name: next(cpus.cpuinfo(name, root), None) for name in ("cpu family", "model", "stepping")}
    return ", ".join(f"{name} {value}" for name, value in told.items() if value) or None


def hypervisor(root: Path) -> str | None:
    """Return the name of the hypervisor, or None if this is not a virtual machine."""
    if cpus.virtual(root) is not True:
        return None
    names = [read(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name")]
    return read(root / "sys/hypervisor/type") or " ".join(filter(None, names)) or "not named"


def mitigations(root: Path) -> dict[str, str] | None:
    """Return the mitigation of each vulnerability that the processor has, by the vulnerability's name."""
    told = {file.name: read(file) or "" for file in sorted((root / CPU / "vulnerabilities").glob("*"))}
    return {name: text for name, text in told.items() if text != "Not affected"} if told else None


def boost(root: Path) -> bool | None:
    """Return True if CPUs may run faster than their nominal rate for a while."""
    on, off = number(root / CPU / "cpufreq/boost"), number(root / CPU / "intel_pstate/no_turbo")
    return bool(on) if on is not None else None if off is None else not off


def gigahertz(file: Path) -> float | None:
    """Return, in GHz, the frequency that a file gives in kHz."""
    told = number(file)
    return None if told is None else told / 1e6


def hottest(root: Path) -> float | None:
    """Return the highest temperature of all sensors, in degrees Celsius."""
    files = [*root.glob("sys/class/thermal/thermal_zone*/temp"), *root.glob("sys/class/hwmon/hwmon*/temp*_input")]
    return max((told / 1000 for told in map(number, files) if told is not None), default=None)


def slowed_for_heat(root: Path) -> int | None:
    """Return how often CPUs were slowed down because they were hot."""
    return _sum((root / CPU).glob("cpu[0-9]*/thermal_throttle/core_throttle_count"))


def meminfo(name: str, root: Path) -> int | None:
    """Return the bytes of a field of /proc/meminfo."""
    for line in (read(root / "proc/meminfo") or "").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def huge_pools(root: Path) -> dict[str, int] | None:
    """Return the number of reserved huge pages of each size."""
    folders = sorted((root / PAGES / "hugepages").glob("hugepages-*"))
    told = {folder.name.removeprefix("hugepages-"): number(folder / "nr_hugepages") for folder in folders}
    return {size: count for size, count in told.items() if count is not None} or None


def memory_limit(root: Path) -> int | None:
    """Return the bytes that control groups allow, or None if they allow all memory."""
    allowed = memory(root)[0]
    return allowed if allowed != meminfo("MemTotal", root) else None


def held_back(root: Path) -> int | None:
    """Return how often a CPU quota has stopped the processes of the innermost control group that counts it."""
    for folder in groups("cpu", root):
        words = (read(folder / "cpu.stat") or "").split()
        if "nr_throttled" in words[::2]:
            return int(words[2 * words[::2].index("nr_throttled") + 1])
    return None


def distribution(root: Path) -> str | None:
    """Return the name of the system's distribution."""
    for line in (read(root / "etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def container(root: Path) -> str | None:
    """Return the kind of container, or None if this is not a container."""
    for path, name in ((".dockerenv", "docker"), ("run/.containerenv", "podman")):
        if (root / path).exists():
            return name
    return read(root / "run/systemd/container")


def uptime(root: Path) -> float | None:
    """Return the number of seconds for which the system has been running."""
    told = read(root / "proc/uptime")
    return float(told.split()[0]) if told else None


def environment() -> dict[str, str]:
    """Return the environment variables that change the speed of loops and memory, except for those with paths."""
    return {k: v for k, v in sorted(os.environ.items()) if k.startswith(VARIABLES) and not k.endswith(PATHS)}


def _sum(files: Iterable[Path]) -> int | None:
    told = [value for value in map(number, files) if value is not None]
    return sum(told) if told else None
