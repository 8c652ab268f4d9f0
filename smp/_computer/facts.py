"""Some fifty facts about the computer that influence measurements, each with the file or call that it comes from.

Nothing here needs privileges or changes a setting.  Facts that the system does not report are None.  The computer's
name, its addresses and its paths are not among the facts.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import settings, system, topology
from .description import installed
from .limits import ROOT, allowed_cpus, memory, number, quota, read
from .version import VERSION

FOLDERS = {
    "cpu": "sys/devices/system/cpu",
    "cpufreq": "sys/devices/system/cpu/cpu0/cpufreq",
    "clocksource": "sys/devices/system/clocksource/clocksource0",
    "node": "sys/devices/system/node",
    "mm": "sys/kernel/mm",
    "thp": "sys/kernel/mm/transparent_hugepage",
    "vm": "proc/sys/vm",
    "kernel": "proc/sys/kernel",
}
"""First parts of sources, and the folders that they stand for."""


@dataclass(frozen=True)
class Fact:
    """One fact about the computer.

    Parameters
    ----------
    title : str
    source : str
        The file or the call that the fact comes from.
    tell : callable
        Takes the root of the file tree; returns the fact as plain JSON, or None.
    unit : str
        Unit of a number, such as "bytes", "GHz", "C" or "s"; empty if it has none.
    """

    title: str
    source: str
    tell: Callable[[Path], Any]
    unit: str = ""


def gather(root: Path = ROOT) -> dict[str, Any]:
    """Return the facts by name. A fact that is not available, or not in the expected form, is None."""
    found: dict[str, Any] = dict.fromkeys(FACTS)
    for name, fact in FACTS.items():
        with contextlib.suppress(OSError, ValueError, LookupError):
            found[name] = fact.tell(root)
    return found


def _file(title: str, source: str, of: Callable[[Path], Any] = read, unit: str = "") -> Fact:
    """Return a fact that is read from one file."""
    first, _, rest = source.partition("/")
    return Fact(title, source, lambda root: of(root / FOLDERS[first] / rest), unit)


def _call(title: str, source: str, tell: Callable[[], Any], unit: str = "") -> Fact:
    """Return a fact that comes from a call in this process and does not depend on the file tree."""
    return Fact(title, source, lambda root: tell(), unit)


def _processors() -> Iterator[tuple[str, Fact]]:
    yield "sockets", Fact("sockets", "cpu/*/topology/physical_package_id", topology.sockets)
    yield "cores", Fact("cores", "cpu/*/topology/core_id", topology.cores)
    yield "threads", Fact("CPUs online", "cpu/online", topology.threads)
    yield "siblings", Fact("CPUs of one core", "cpu/*/topology/thread_siblings_list", topology.siblings)
    yield "smt", _file("SMT", "cpu/smt/control")
    yield "cpu_version", Fact("version", "/proc/cpuinfo", settings.stepping)
    yield "microcode", Fact("microcode", "/proc/cpuinfo", settings.microcode)
    yield "isolated", _file("isolated CPUs", "cpu/isolated")
    yield "nohz_full", _file("tickless CPUs", "cpu/nohz_full")
    yield "mitigations", Fact("mitigations", "cpu/vulnerabilities", settings.mitigations)
    yield "hypervisor", Fact("hypervisor", "/sys/hypervisor, /sys/class/dmi", settings.hypervisor)
    yield "caches", Fact("caches", "cpu/*/cache", topology.caches)
    yield "nodes", Fact("memory by node", "node/*", topology.nodes)


def _clocks() -> Iterator[tuple[str, Fact]]:
    yield "governor", _file("governor", "cpufreq/scaling_governor")
    yield "frequency_driver", _file("frequency driver", "cpufreq/scaling_driver")
    yield "energy_preference", _file("energy preference", "cpufreq/energy_performance_preference")
    yield "boost", Fact("boost", "cpu/cpufreq/boost, cpu/intel_pstate", settings.boost)
    yield "least_GHz", _file("lowest frequency", "cpufreq/cpuinfo_min_freq", settings.gigahertz, "GHz")
    yield "most_GHz", _file("highest frequency", "cpufreq/cpuinfo_max_freq", settings.gigahertz, "GHz")
    yield "clock_source", _file("clock source", "clocksource/current_clocksource")
    yield "temperature_C", Fact("hottest sensor", "/sys/class/thermal, /sys/class/hwmon", settings.hottest, "C")
    throttled = "cpu/*/thermal_throttle"
    yield "heat_throttled", Fact("thermal throttling", throttled, settings.slowed_for_heat, "times")


def _memory() -> Iterator[tuple[str, Fact]]:
    yield "memory_bytes", Fact("memory", "/proc/meminfo", partial(settings.meminfo, "MemTotal"), "bytes")
    yield "available_bytes", Fact("available memory", "/proc/meminfo", lambda root: memory(root)[1], "bytes")
    yield "swap_bytes", Fact("swap", "/proc/meminfo", partial(settings.meminfo, "SwapTotal"), "bytes")
    yield (
        "shared_bytes",
        _call("shared memory", "statvfs /dev/shm", lambda: shutil.disk_usage("/dev/shm").total, "bytes"),
    )
    yield "page_bytes", _call("page size", "sysconf SC_PAGE_SIZE", lambda: os.sysconf("SC_PAGE_SIZE"), "bytes")
    yield "huge_private", Fact("huge pages, private", "thp/enabled", lambda root: system.huge_pages(root)["private"])
    yield "huge_shared", Fact("huge pages, shared", "thp/shmem_enabled", lambda root: system.huge_pages(root)["shared"])
    yield "huge_bytes", _file("huge page size", "thp/hpage_pmd_size", number, "bytes")
    yield "huge_pools", Fact("reserved huge pages", "mm/hugepages", settings.huge_pools)
    yield "numa_balancing", _file("NUMA balancing", "kernel/numa_balancing", number)
    yield "zone_reclaim", _file("zone reclaim", "vm/zone_reclaim_mode", number)
    yield "swappiness", _file("swappiness", "vm/swappiness", number)
    yield "overcommit", _file("overcommit", "vm/overcommit_memory", number)


def _limits() -> Iterator[tuple[str, Fact]]:
    yield "affinity", _call("CPUs of this process", "sched_getaffinity", allowed_cpus)
    yield "quota_cpus", Fact("CPU quota", "cpu.max of control groups", quota, "CPUs")
    yield "quota_throttled", Fact("stopped by a quota", "cpu.stat of control groups", settings.held_back, "times")
    yield "memory_limit_bytes", Fact("memory limit", "memory.max of control groups", settings.memory_limit, "bytes")
    yield "nice", _call("nice", "getpriority", lambda: os.getpriority(os.PRIO_PROCESS, 0))
    yield "perf_event_paranoid", _file("perf_event_paranoid", "kernel/perf_event_paranoid", number)
    yield "container", Fact("container", "/.dockerenv, /run", settings.container)
    yield "load", Fact("load, last minute", "/proc/loadavg", system.load)
    yield "uptime_s", Fact("uptime", "/proc/uptime", settings.uptime, "s")


def _software() -> Iterator[tuple[str, Fact]]:
    yield "kernel", _file("kernel", "kernel/osrelease")
    yield "distribution", Fact("distribution", "/etc/os-release", settings.distribution)
    yield "libc", _call("C library", "platform.libc_ver", lambda: " ".join(platform.libc_ver()).strip() or None)
    yield (
        "python",
        _call("Python", "platform", lambda: " ".join((platform.python_implementation(), platform.python_version()))),
    )
    for package in ("numpy", "numba", "llvmlite", "scipy"):
        yield package, _call(package, "importlib.metadata", partial(installed, package))
    yield "smp", _call("smp", "smp.__version__", lambda: VERSION)
    yield "environment", _call("environment", "os.environ", settings.environment)


FACTS = dict([*_processors(), *_clocks(), *_memory(), *_limits(), *_software()])
"""The facts by name, in the order in which they are shown."""
