"""Records of the measured computer: its facts, and the conditions during the measurement, such as other load."""

from __future__ import annotations

from typing import Any

from smp._computer.documents import ByProcessors, Count, NotNegative, Number, Record, Rows, Size
from smp.profiles.records import PlacementState


class Given(Record):
    """Share of a CPU's time that a briefly spinning loop got, and the clock rate."""

    cpu: Count
    share: Number
    GHz: NotNegative | None = None


class Process(Record):
    """Another process, and the share of a CPU that it took."""

    name: str
    pid: Count
    share: NotNegative


class Look(Record):
    """One look at the other work on the computer; ``busy`` has a clause for each cause of disturbance."""

    load: NotNegative | None = None
    runnable: NotNegative | None = None
    stolen_fraction: Number | None = None
    cpus: Rows[Given]
    processes: Rows[Process]
    busy: list[str]


class Specified(Record):
    """Name of the specification file of a measurement, and the parameters that its sections had of their own."""

    file: str
    sections: dict[str, dict[str, Any]]


class Conditions(Record):
    mode: str | None = None
    seed: Count | None = None
    word_bytes: Size | None = None
    ranks: str | None = None
    load_before: NotNegative | None = None
    interrupted: bool | None = None
    seconds: NotNegative | None = None
    budget_s: NotNegative | None = None
    specification: Specified | None = None
    stolen_fraction: Number | None = None
    clean_fraction: Number | None = None
    placement: dict[ByProcessors, list[PlacementState]] | None = None
    before: Look | None = None
    after: Look | None = None


class CacheOf(Record):
    level: Count
    type: str
    bytes: Size
    ways: Count | None = None
    cpus: str


class Node(Record):
    """A node of memory: its CPUs, its bytes, and its distance to every node."""

    node: Count
    cpus: str | None = None
    bytes: Count | None = None
    distances: list[Count]


class Facts(Record):
    """Facts that `smp._computer.facts` reports of the computer; a fact that it does not report is None."""

    sockets: Size | None = None
    cores: Size | None = None
    threads: Size | None = None
    siblings: list[str] | None = None
    smt: str | None = None
    cpu_version: str | None = None
    microcode: str | None = None
    isolated: str | None = None
    nohz_full: str | None = None
    mitigations: dict[str, str] | None = None
    hypervisor: str | None = None
    caches: list[CacheOf] | None = None
    nodes: list[Node] | None = None
    governor: str | None = None
    frequency_driver: str | None = None
    energy_preference: str | None = None
    boost: bool | None = None
    least_GHz: NotNegative | None = None
    most_GHz: NotNegative | None = None
    clock_source: str | None = None
    temperature_C: Number | None = None
    heat_throttled: Count | None = None
    memory_bytes: Count | None = None
    available_bytes: Count | None = None
    swap_bytes: Count | None = None
    shared_bytes: Count | None = None
    page_bytes: Count | None = None
    huge_private: str | None = None
    huge_shared: str | None = None
    huge_bytes: Count | None = None
    huge_pools: dict[str, Count] | None = None
    numa_balancing: Count | None = None
    zone_reclaim: Count | None = None
    swappiness: Count | None = None
    overcommit: Count | None = None
    affinity: list[Count] | None = None
    quota_cpus: NotNegative | None = None
    quota_throttled: Count | None = None
    memory_limit_bytes: Count | None = None
    nice: int | None = None
    perf_event_paranoid: int | None = None
    container: str | None = None
    load: NotNegative | None = None
    uptime_s: NotNegative | None = None
    kernel: str | None = None
    distribution: str | None = None
    libc: str | None = None
    python: str | None = None
    numpy: str | None = None
    numba: str | None = None
    llvmlite: str | None = None
    scipy: str | None = None
    smp: str | None = None
    environment: dict[str, str] | None = None
