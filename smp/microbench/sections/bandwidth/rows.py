"""The record of the section ``bandwidth``, as the probe writes it, a profile keeps it and the report reads it."""

from __future__ import annotations

from smp._computer.documents import ByProcessors, Count, Number, Processors, Rows, Size
from smp.profiles.records import Judged, PlacementState, Timed

from .kernels import Kernel


class Stream(Judged):
    processors: Processors
    kernel: Kernel
    GBps: Number
    median_GBps: Number | None = None
    GBps_write_allocate: Number | None = None
    elsewhere_GBps: list[Number | None] | None = None
    """Medians in the states of the placement other than the main one."""
    best_ns: Count | None = None
    median_ns: Number | None = None
    repeats: Count | None = None
    verified: bool | None = None
    relative_error: Number | None = None


class Loaded(Timed):
    loading_processors: Count
    load_GBps: Number


class UnderLoad(Loaded):
    write_share: Number
    delay_cycles: Count


class OfNodes(Timed):
    """Latency and bandwidth of the memory of one node for the CPUs of another."""

    cpus_of_node: Count
    memory_of_node: Count
    GBps: Number


class Bandwidth(Judged):
    placement: dict[ByProcessors, list[PlacementState]] | None = None
    stream: Rows[Stream]
    private: Rows[Stream]
    one_GBps: Number | None = None
    all_GBps: Number | None = None
    all_processors: Processors | None = None
    loaded_latency: Rows[Loaded]
    load_curve: Rows[UnderLoad]
    nodes: Rows[OfNodes]
    nodes_found: list[Count] | None = None
    array_bytes: Size | None = None
    elements: Size | None = None
    memory: str | None = None
    chase_bytes: Size | None = None
    repeats: Count | None = None
    left_out: str | None = None
    capped: str | None = None
