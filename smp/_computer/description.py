"""The machine that is measured: its hardware, and what it is known by.

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
from .system import ROOT, huge_pages, read


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
        Of `clocks.clock_rate`, for one.
    root : Path
        Of the file tree that is asked.
    """
    described = hardware(root)
    first = {name: described[name] for name in ("cpu", "cpus")}
    return first | {"clock_GHz": rate.GHz, "clock_source": rate.source} | described


def hardware(root: Path = ROOT) -> dict[str, Any]:
    """Describe the machine as far as the system does: all but its clock rate, which must be measured.

    Returns
    -------
    dict
        Plain JSON, without the computer's name. A cache that the system does not tell of has ``"assumed": true``.
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


def named(machine: Mapping[str, Any]) -> str:
    """Return what a machine is called: its name where it was given one, its CPU and how many it has.

    Examples
    --------
    >>> named({"cpu": "Z80", "cpus": 1}), named({"name": "ada", "cpu": "Z80", "cpus": 2})
    ('Z80, 1 CPU', 'ada (Z80, 2 CPUs)')
    """
    cpus = machine.get("cpus")
    kind = f"{machine.get('cpu')}, {cpus} CPU{'s' * (cpus != 1)}"
    return f"{machine['name']} ({kind})" if machine.get("name") else kind


def installed(package: str) -> str | None:
    """Return the installed version of a package, found without importing it; None where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
