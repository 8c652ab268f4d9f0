"""Record of the section ``synchronisation``: the probe writes it, a profile keeps it, and the report reads it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from smp._computer.documents import ByProcessors, Count, Number, Processors, Record
from smp.profiles.records import Judged, PlacementState, Timed

Matrix = list[list[Number | None]]


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
    cpus: list[Count] | None = None
    oversubscribed: bool | None = None
    clean_fraction: Number = 1.0


class Synchronisation(Judged):
    placement: dict[ByProcessors, list[PlacementState]] | None = None
    fetch_add_ns: Adds | None = None
    handoff_cpus: list[Count] | None = None
    handoff_ns: Matrices | None = None
    handoff_store_ns: Number | None = None
    handoff_exchange_ns: Number | None = None
    barrier_us: dict[ByProcessors, Barrier] | None = None
    superstep_us: dict[ByProcessors, Number] | None = None
    rows: list[Operation] | None = None
    oversubscribed: list[Processors] | None = None

    @model_validator(mode="after")
    def _a_row_and_a_column_for_each_cpu(self) -> Self:
        cpus, matrices = len(self.handoff_cpus or ()), self.handoff_ns or Matrices()
        for matrix in (matrices.store, matrices.exchange):
            if matrix and [len(row) for row in matrix] != [cpus] * cpus:
                raise ValueError(f"there are {cpus} CPUs, but the matrix of their hand-offs has another size")
        return self
