"""Reads the CPUs and their caches from the operating system's files."""

import platform
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from .limits import ROOT, number, read, usable_cpus


@dataclass(frozen=True)
class Cache:
    """One cache that holds data.

    Parameters
    ----------
    level : int
        Level of the cache; 1 is nearest to the processor.
    bytes : int
        Its capacity in bytes.
    shared_by : int
        Number of CPUs that share it.
    assumed : bool
        True if these are values of `DEFAULTS`, because the system does not report the caches.
    """

    level: int
    bytes: int
    shared_by: int
    assumed: bool = False


DEFAULTS = (Cache(1, 32 << 10, 1, True), Cache(2, 1 << 20, 1, True), Cache(3, 32 << 20, 1, True))
"""Caches that a processor is assumed to have if the system does not report them."""
DEFAULT_LINE = 64
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
HYPERVISORS = ("kvm", "qemu", "vmware", "virtualbox", "xen", "bochs", "parallels", "bhyve", "amazon ec2")
VIRTUAL_PRODUCTS = (*HYPERVISORS, "virtual machine", "google compute engine", "openstack", "droplet")


def model(root: Path = ROOT) -> str:
    """Return the processor's name, or its architecture if it has no name."""
    for name in ("model name", "cpu model", "Hardware", "cpu"):
        for value in cpuinfo(name, root):
            return value
    return read(root / "proc/device-tree/model") or platform.machine() or "unknown"


def usable(root: Path = ROOT, allowed: Collection[int] | None = None) -> int:
    """Return the number of CPUs that can be kept busy; see `limits.usable_cpus`."""
    return len(usable_cpus(root, allowed))


def caches(root: Path = ROOT) -> tuple[Cache, ...]:
    """Return the caches of CPU 0 that hold data, by level. If the system reports none, return `DEFAULTS`."""
    found = []
    for folder in _cache_folders(root):
        level, size = number(folder / "level"), size_of(read(folder / "size"))
        shared = len(cpu_list(read(folder / "shared_cpu_list") or "")) or 1
        if read(folder / "type") in ("Data", "Unified") and level and size:
            found.append(Cache(level, size, shared))
    return tuple(sorted(found, key=lambda cache: cache.level)) or DEFAULTS


def line_bytes(root: Path = ROOT) -> int:
    """Return the size of a cache line in bytes; 64 if the system does not report it."""
    sizes = [number(folder / "coherency_line_size") for folder in _cache_folders(root)]
    told = [size for size in sizes if size]
    told += [int(value) for value in cpuinfo("cache_alignment", root) if value.isdigit()]
    return told[0] if told else DEFAULT_LINE


def virtual(root: Path = ROOT) -> bool | None:
    """Return True if this is a virtual machine, and None if that is not known."""
    flags = [value.split() for value in cpuinfo("flags", root)]
    if any("hypervisor" in words for words in flags) or read(root / "sys/hypervisor/type"):
        return True
    folder = root / "sys/class/dmi/id"
    names = [read(folder / name) for name in ("product_name", "sys_vendor", "bios_vendor")]
    told = " ".join(name for name in names if name).lower()
    if any(product in told for product in VIRTUAL_PRODUCTS):
        return True
    return False if flags or told else None


def cpu_list(text: str) -> list[int]:
    """Return the CPUs of a list in the kernel's notation.

    Examples
    --------
    >>> cpu_list("0-2,8")
    [0, 1, 2, 8]
    """
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus


def cpuinfo(field: str, root: Path) -> Iterator[str]:
    """Yield the values of a field of /proc/cpuinfo, one for each CPU that has it."""
    for line in (read(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field and value.strip():
            yield value.strip()


def _cache_folders(root: Path) -> list[Path]:
    return sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index[0-9]*"))


def size_of(text: str | None) -> int | None:
    """Return the number of bytes of a size such as ``48K``, or None if the text is not a size."""
    if not text:
        return None
    digits, unit = (text[:-1], text[-1].upper()) if text[-1].isalpha() else (text, "")
    return int(digits) * UNITS.get(unit, 1) if digits.isdigit() else None
