"""Data paths: operations of the runtime whose calls are one place, without a change of the program (section 2.1.1).

    copy_in      step.copy_in, copy_in_by                           a read of a global array by a processor
    copy_out     step.copy_out, copy_out_by                         a write, when the superstep carries it out
    send         proc.send, request, try_send; message.reply        a message that is sent
    receive                                                         a message that has come, with its handler
    send_block   proc.send_block, start_block, permute, ...         blocks that are sent
    collectives  proc.broadcast, reduce, scan, gather, ...          a collective with data
    barriers     proc.barrier, any, all, count                      a collective without
    cells        cells.readfe, writeef, ...                         an operation on a cell, from Python

Of the paths marked below, an operation inside another one of the same path is not a second pass: such operations are
made of one another, and treatments use cells themselves.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import NamedTuple

from smp._runtime.loops.interpreter import here

from .factors import Factor, factor


class DataPath(NamedTuple):
    """Operations of the runtime that are one place."""

    module: str
    holders: dict[str, tuple[str, ...]]
    """Methods by their class; a class of another module than `module` has the name of that module before a colon."""
    nests: bool = False
    """True if an operation inside another one is not a second pass."""

    def functions(self) -> list[tuple[str, str]]:
        """Return the module and the path in it of each method."""
        found = []
        for holder, methods in self.holders.items():
            module, _, name = holder.rpartition(":")
            found += [(f"{_RUNTIME}{module or self.module}", f"{name}.{method}") for method in methods]
        return found


_RUNTIME = "smp._runtime."
_SPLIT = "program.collectives.split:Split"
PATHS = {
    "copy_in": DataPath("program.superstep", {"Superstep": ("copy_in", "copy_in_by")}),
    "copy_out": DataPath("program.superstep", {"Superstep": ("_write", "_write_by")}),
    "send": DataPath(
        "program.messages.calls",
        {"MessageCalls": ("send", "request", "try_send"), "program.messages.message:Message": ("reply",)},
    ),
    "receive": DataPath("program.messages.messenger", {"Messenger": ("_handle",)}),
    "send_block": DataPath(
        "program.messages.block_calls",
        {"BlockCalls": ("send_block", "start_block", "permute", "scatter_blocks")},
        nests=True,
    ),
    "collectives": DataPath(
        "program.collectives.calls",
        {
            "CollectiveCalls": ("broadcast", "reduce", "scan", "gather"),
            "program.collectives.statistic_calls:StatisticCalls": ("min", "max", "median", "mean", "variance"),
            "program.collectives.transpose:TransposeCalls": ("transpose",),
            _SPLIT: ("broadcast", "reduce", "scan"),
        },
        nests=True,
    ),
    "barriers": DataPath(
        "program.collectives.calls",
        {"CollectiveCalls": ("barrier", "any", "all", "count"), _SPLIT: ("barrier", "any", "all", "count")},
        nests=True,
    ),
    "cells": DataPath(
        "memory.cells",
        {
            "Cells": (
                *("readfe", "readff", "readxx", "writeef", "writeff", "writexf", "purge", "fill", "fetch_add", "peek"),
                *("try_readfe", "try_readff", "try_writeef", "try_writeff", "try_fetch_add"),
            ),
            "nodes.cells:CellsOnNodes": ("purge", "peek"),
        },
        nests=True,
    ),
}
"""The data paths by name."""


class _Outermost(Factor):
    """A place that is not passed a second time inside itself."""

    __slots__ = ("_depths",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._depths: dict[tuple[int, int], int] = {}  # by thread, and by stream of an emulated machine

    def __enter__(self) -> None:
        key = _running()
        depth = self._depths.get(key, 0)
        self._depths[key] = depth + 1
        if not depth:
            super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        key = _running()
        depth = self._depths.pop(key, 1) - 1
        if depth:
            self._depths[key] = depth
        else:
            super().__exit__(kind, error, trace)


_OUTERMOST = {name: _Outermost(name) for name, path in PATHS.items() if path.nests}


def place_of(name: str) -> Factor:
    """Return the place of this name: that of a data path, or a factor."""
    return _OUTERMOST.get(name) or factor(name)


def checked_path(name: object) -> str:
    """Return the name of a data path; raise ValueError for anything else."""
    if name not in PATHS:
        raise ValueError(f"there is no data path {name!r}: give some of {', '.join(PATHS)}")
    return str(name)


def _running() -> tuple[int, int]:
    running = getattr(here.interpreter, "running", None)
    return threading.get_ident(), -1 if running is None else running.number
