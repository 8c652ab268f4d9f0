"""The table of who waits: what each stream does, at which line, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any, NamedTuple, Protocol

from smp.errors import DeadlockError

from ..source.lines import operation, where

RUNS = "(runs)"


class Sleeper(Protocol):
    """An emulated stream: whose it is, on which word it sleeps (0: it runs), since when, and its greenlet."""

    rank: int
    index: int
    word: int
    since: int
    greenlet: Any


class Row(NamedTuple):
    """What one stream does: what it waits in, or `RUNS`; at which line; since when."""

    processor: str
    stream: str
    what: str
    place: str
    since: str


def rows_of(streams: Sequence[Sleeper], running: FrameType | None = None) -> list[Row]:
    """The rows of emulated streams; ``running`` is the frame of the one that runs."""
    rows = []
    for s in streams:
        frame = s.greenlet.gr_frame or (running if s.greenlet else None)  # no frame before it begins
        what, since = (operation(frame), f"{s.since:,} ns") if s.word else (RUNS if frame else "(begins)", "")
        rows.append(Row(str(s.rank), str(s.index), what, where(frame), since))
    return rows


def table_of(rows: Sequence[Row]) -> str:
    """The rows as text."""
    from smp._output import terminal  # few runs come to this
    from smp._output.table import Table, text

    columns = [text(name) for name in ("processor", "stream", "waits in", "at", "since")]
    return terminal.text(Table("", columns, rows))


def deadlock_text(rows: Sequence[Row]) -> str:
    """The text of a deadlock."""
    which = "the only stream left waits" if len(rows) == 1 else f"all {len(rows)} streams wait"
    return f"deadlock: {which} for what no stream can do any more\n{table_of(rows)}"


def deadlock(streams: Sequence[Sleeper]) -> DeadlockError:
    """The error for emulated streams that all sleep."""
    return DeadlockError(deadlock_text(rows_of(streams)))
