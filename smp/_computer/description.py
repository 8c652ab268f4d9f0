"""The machine that is measured, and the conditions that it is measured under.

Nothing here needs privileges or changes a setting; what the system does not tell is None.
"""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from . import cpus
from .system import ROOT, huge_pages, load, memory, read


class Rate(Protocol):
    """A clock rate, and where it comes from."""

    @property
    def GHz(self) -> float: ...
    @property
    def source(self) -> str: ...


def machine(rate: Rate, root: Path = ROOT) -> dict[str, Any]:
    """Describe the machine, as a profile names it: its hardware and its clock rate.

    Parameters
    ----------
    rate : Rate
        Of `hostclock.clock_rate`, for one.
    root : Path
        Of the file tree that is asked.
    """
    described = hardware(root)
    first = {name: described[name] for name in ("name", "cpu", "cpus")}
    return first | {"clock_GHz": rate.GHz, "clock_source": rate.source} | described


def hardware(root: Path = ROOT) -> dict[str, Any]:
    """Describe the machine as far as the system does: all but its clock rate, which must be measured.

    Returns
    -------
    dict
        Plain JSON. A cache that the system does not tell of has ``"assumed": true``.
    """
    return {
        "name": read(root / "proc/sys/kernel/hostname") or platform.node(),
        "cpu": cpus.model(root),
        "cpus": cpus.usable(root),
        "line_bytes": cpus.line_bytes(root),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "huge_pages": huge_pages(root),
        "caches": [
            {"level": cache.level, "bytes": cache.bytes, "shared_by": cache.shared_by}
            | ({"assumed": True} if cache.assumed else {})
            for cache in cpus.caches(root)
        ],
        "virtual": cpus.virtual(root),
        "kernel": f"{platform.system()} {read(root / 'proc/sys/kernel/osrelease') or platform.release()}",
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "numba": _version("numba"),
    }


def fingerprint(machine: Mapping[str, Any]) -> str:
    """Return a short name of the hardware: the same for profiles of one machine, whatever runs on it.

    Parameters
    ----------
    machine : mapping
        As `hardware` makes it, or a profile holds it.

    Returns
    -------
    str
        12 hexadecimal digits that follow from the CPU's model, the number of CPUs, the line and the caches.

    Examples
    --------
    >>> described = {"cpu": "Z80", "cpus": 1, "line_bytes": 1, "caches": [], "kernel": "6.1"}
    >>> fingerprint(described) == fingerprint(described | {"kernel": "6.2"})
    True
    >>> fingerprint(described) == fingerprint(described | {"cpus": 2})
    False
    """
    caches = [[cache.get(name) for name in ("level", "bytes", "shared_by")] for cache in machine["caches"]]
    hardware = [machine["cpu"], machine["cpus"], machine["line_bytes"], caches]
    return hashlib.sha256(json.dumps(hardware).encode()).hexdigest()[:12]


def moment(root: Path = ROOT) -> dict[str, Any]:
    """Describe what changes from one moment to the next.

    Returns
    -------
    dict
        ``load`` of the last minute, ``memory_bytes``, ``available_bytes`` and the frequency ``governor``.
    """
    total, available = memory(root)
    return {
        "load": load(root),
        "memory_bytes": total,
        "available_bytes": available,
        "governor": cpus.governor(root),
    }


def _version(package: str) -> str | None:
    """The installed version, found without importing the package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
