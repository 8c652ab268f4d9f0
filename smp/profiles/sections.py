"""The layouts of a profile's sections on memory, synchronisation, cells and streams; see `layout`."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from .._computer.documents import ByProcessors, Count, Number, Positive, Processors, Record, Rows, Size, Some

Matrix = list[list[Number | None]]


class Judged(Record):
    """Something that is valid, or not and why: a row or a section."""

    valid: bool | None = None
    why: list[str] | None = None
    clean_fraction: Number | None = None


class Timed(Judged):
    """The time of one point, and how far it spreads."""

    ns: Number
    cycles: Number | None = None
    minimum_ns: Number | None = None
    p95_ns: Number | None = None


class Visited(Timed):
    """A point that was timed in several visits."""

    minimum_ns: Number
    p95_ns: Number
    windows: Count


class Level(Record):
    name: str
    ns: Number
    cycles: Number | None = None
    found_bytes: Size | None = None
    reported_bytes: Size | None = None


class OfArray(Timed):
    bytes: Size


class OfStride(OfArray):
    stride: Size


class HugePages(Record):
    granted: bool | None = None
    why: str | None = None


class Latency(Judged):
    levels: Rows[Level]
    levels_from: str | None = None
    levels_missing: list[str] | None = None
    random: Rows[OfArray]
    page_local: Rows[OfArray]
    huge: Rows[OfArray]
    stride: Rows[OfStride]
    page_walk: Rows[OfArray]
    page_walk_ns: Number | None = None
    page_walk_bytes: Size | None = None
    page_walk_from: str | None = None
    huge_pages: HugePages | None = None
    capped: str | None = None


class Stream(Judged):
    processors: Processors
    kernel: Literal["copy", "scale", "add", "triad"]
    GBps: Number
    median_GBps: Number | None = None
    GBps_write_allocate: Number | None = None
    verified: bool | None = None


class Loaded(Timed):
    loading_processors: Count
    load_GBps: Number


class Bandwidth(Judged):
    stream: Rows[Stream]
    loaded_latency: Rows[Loaded]
    array_bytes: Size | None = None
    chase_bytes: Size | None = None
    repeats: Count | None = None
    left_out: str | None = None
    capped: str | None = None


class Adds(Record):
    alone: Number | None = None
    contended: dict[ByProcessors, Number] | None = None


class Barrier(Record):
    compiled: Number | None = None
    python: Number | None = None


class Matrices(Record):
    store: Matrix | None = None
    exchange: Matrix | None = None


class Operation(Timed):
    what: Literal["alone", "contended", "store", "exchange", "compiled", "python", "superstep"]
    processors: Processors
    oversubscribed: bool | None = None
    clean_fraction: Number = 1.0


class Synchronisation(Judged):
    fetch_add_ns: Adds | None = None
    handoff_cpus: list[Count] | None = None
    handoff_ns: Matrices | None = None
    handoff_store_ns: Number | None = None
    handoff_exchange_ns: Number | None = None
    barrier_us: dict[ByProcessors, Barrier] | None = None
    superstep_us: dict[ByProcessors, Number] | None = None
    rows: list[Operation] | None = None

    @model_validator(mode="after")
    def _a_row_and_a_column_for_each_cpu(self) -> Self:
        cpus, matrices = len(self.handoff_cpus or ()), self.handoff_ns or Matrices()
        for matrix in (matrices.store, matrices.exchange):
            if matrix and [len(row) for row in matrix] != [cpus] * cpus:
                raise ValueError(f"there are {cpus} CPUs, and the matrix of their hand-offs is of another size")
        return self


class Instructions(Visited):
    what: Literal["add", "clock"]
    streams: Size
    clocks_mean: Number
    clocks_std: Number
    total_clocks: Number


class Instruction(Judged):
    rows: Some[Instructions]
    instructions: dict[Literal["add", "clock"], Count]


class Wait(Visited):
    limit: Count
    counted_least: Count
    counted_most: Count
    equal: bool
    waits: Count


class Retries(Judged):
    rows: Some[Wait]
    look_ns: Number


class Woken(Visited):
    how: Literal["many", "one"]
    initial_ns: Count
    streams: Size
    total_ns: Number
    traps: Number


class Waking(Judged):
    rows: Some[Woken]
    limit: Count
    cpus: Size


class Passed(Visited):
    how: Literal["mass", "chained", "packed"]
    work: Count
    streams: Size
    total_ns: Number
    traps: Number


class Chain(Judged):
    rows: Some[Passed]
    limit: Count
    operations: Count
    cpus: Size


class Event(Visited):
    what: Literal["bare", "stream", "thread", "remap", "at once", "back", "next"]
    cycles: Number
    mean_ns: Number
    std_ns: Number


class Part(Visited):
    what: Literal["looks", "trap", "wake", "python", "call"]


class Accounting(Record):
    total_ns: Positive
    explained_ns: Number
    explained: Number


class Threads(Judged):
    rows: Some[Event]
    parts: list[Part]
    whole: Visited
    looks: Count
    accounting: Accounting


class Chains(Timed):
    chains: Size
    ns: Positive


class Sustained(Record):
    latency_ns: Positive
    best_ns: Positive
    misses: Number
    knee_chains: Count
    flat: bool | None = None


class Loads(Timed):
    order: Literal["far", "near"]
    cpus: Size
    work: Count
    streams: Size
    depth: Size
    GBps: Number
    ns: Positive


class Enough(Record):
    order: Literal["far", "near"]
    cpus: Size
    work: Count
    best_GBps: Number
    best_streams: Size
    best_depth: Size
    enough_streams: Size
    gain: Number


class Outstanding(Judged):
    chains: Some[Chains]
    sustained: Sustained
    groups: Rows[Loads]
    saturation: Rows[Enough]
    bytes: Size
    huge_bytes: Count | None = None
    capped: str | None = None


class Poll(Timed):
    place: Literal["apart", "beside"]
    limit: Count | None
    pollers: Count
    GBps: Number
    slowdown: Number
    retries: Number
    traps: Number
    windows: Count


class Polling(Judged):
    rows: Some[Poll]
    look_ns: Number | None = None
    poller_cpus: Size = 1
    array_bytes: Size | None = None
