"""Reads the topology of the computer: sockets, cores, threads, caches, and memory nodes.

Every function takes the root of the file tree, and returns None for a value that is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .cpus import cpu_list, size_of
from .limits import number, read

CPUS = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"
Json = dict[str, Any]


def sockets(root: Path) -> int | None:
    """Return the number of sockets, that is, of processor packages."""
    return _distinct(number(folder / "topology/physical_package_id") for folder in _cpus(root))


def cores(root: Path) -> int | None:
    """Return the number of cores."""
    names = ("physical_package_id", "core_id")
    ids = [tuple(number(folder / "topology" / name) for name in names) for folder in _cpus(root)]
    return _distinct(each if None not in each else None for each in ids)


def threads(root: Path) -> int | None:
    """Return the number of CPUs that are online, as programs see them: hardware threads."""
    return len(cpu_list(read(root / CPUS / "online") or "")) or None


def siblings(root: Path) -> list[str] | None:
    """Return the list of CPUs of each core that has several."""
    told = {read(folder / "topology/thread_siblings_list") for folder in _cpus(root)}
    return sorted(each for each in told if each and len(cpu_list(each)) > 1) or None


def caches(root: Path) -> list[Json] | None:
    """Return the level, the type, the bytes and the ways of every cache, and the CPUs that share it."""
    found: dict[tuple[int, str, str], Json] = {}
    for folder in _cpus(root):
        for cache in sorted((folder / "cache").glob("index[0-9]*")):
            level, kind = number(cache / "level"), read(cache / "type")
            shared = read(cache / "shared_cpu_list") or folder.name.removeprefix("cpu")
            nbytes = size_of(read(cache / "size"))
            if level and kind and nbytes:
                ways = number(cache / "ways_of_associativity")
                found[level, kind, shared] = {
                    "level": level,
                    "type": kind,
                    "bytes": nbytes,
                    "ways": ways,
                    "cpus": shared,
                }
    return [found[key] for key in sorted(found)] or None


def nodes(root: Path) -> list[Json] | None:
    """Return the memory nodes, each with its CPUs, its bytes, and its distance to every node."""
    found = []
    for folder in _numbered(root / NODES, "node"):
        words = (read(folder / "meminfo") or "").replace(":", " ").split()
        amount = int(words[words.index("MemTotal") + 1]) * 1024 if "MemTotal" in words else None
        distances = [int(word) for word in (read(folder / "distance") or "").split()]
        node = int(folder.name.removeprefix("node"))
        found.append({"node": node, "cpus": read(folder / "cpulist"), "bytes": amount, "distances": distances})
    return found or None


def _cpus(root: Path) -> list[Path]:
    return _numbered(root / CPUS, "cpu")


def _numbered(folder: Path, name: str) -> list[Path]:
    """Return the folders whose names are the given name and a number, sorted by number."""
    found = [each for each in folder.glob(f"{name}[0-9]*") if each.name.removeprefix(name).isdecimal()]
    return sorted(found, key=lambda each: int(each.name.removeprefix(name)))


def _distinct(ids: Iterable[object]) -> int | None:
    return len({each for each in ids if each is not None}) or None
