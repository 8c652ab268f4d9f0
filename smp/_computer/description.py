"""Describes the hardware of the measured machine, and makes its fingerprint and its name.

Nothing here needs privileges or changes a setting. Values that the system does not report are None.
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
from .system import ROOT, huge_pages, read


class Rate(Protocol):
    """A clock rate, and its source."""

    @property
    def GHz(self) -> float: ...
    @property
    def source(self) -> str: ...


def machine(rate: Rate, root: Path = ROOT) -> dict[str, Any]:
    """Describe the machine's hardware and its clock rate, under the names that a profile uses.

    Parameters
    ----------
    rate : Rate
        Clock rate, for example from `clocks.clock_rate`.
    root : Path
        Root of the file tree that is read.
    """
    described = hardware(root)
    first = {name: described[name] for name in ("cpu", "cpus")}
    return first | {"clock_GHz": rate.GHz, "clock_source": rate.source} | described


def hardware(root: Path = ROOT) -> dict[str, Any]:
    """Describe the machine except for its clock rate, which must be measured.

    Returns
    -------
    dict
        Plain JSON, without the computer's name. A cache that the system does not report has ``"assumed": true``.
    """
    return {
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
        "numpy": installed("numpy"),
        "numba": installed("numba"),
    }


def fingerprint(machine: Mapping[str, Any]) -> str:
    """Return a short name of the hardware, which is the same for all profiles of one machine, whatever runs on it.

    Parameters
    ----------
    machine : mapping
        Description of the machine, from `hardware` or from a profile.

    Returns
    -------
    str
        12 hexadecimal digits, computed from the CPU's model, the number of CPUs, the line size and the caches.

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


def named(machine: Mapping[str, Any]) -> str:
    """Return a machine's name for people: its own name if it has one, its CPU model and its number of CPUs.

    Examples
    --------
    >>> named({"cpu": "Z80", "cpus": 1}), named({"name": "ada", "cpu": "Z80", "cpus": 2})
    ('Z80, 1 CPU', 'ada (Z80, 2 CPUs)')
    """
    cpus = machine.get("cpus")
    kind = f"{machine.get('cpu')}, {cpus} CPU{'s' * (cpus != 1)}"
    return f"{machine['name']} ({kind})" if machine.get("name") else kind


def installed(package: str) -> str | None:
    """Return the installed version of a package without importing it, or None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
