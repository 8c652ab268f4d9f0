"""Table of the streams of a run: what each of them waits for, at which line, and since when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple, Protocol

from smp.errors import DeadlockError

from ..source.lines import IN_A_LOOP, operation, where

RUNS = "(runs)"


class Sleeper(Protocol):
    """An emulated stream: its processor, the word on which it sleeps (0: it runs), since when (ns), its greenlet."""

    rank: int
    index: int
    greenlet: Any

    @property
    def word(self) -> int: ...

    @property
    def since(self) -> int: ...


class Row(NamedTuple):
    """State of one stream: the operation in which it waits, or `RUNS`; its line; since when."""

    processor: str
    stream: str
    what: str
    place: str
    since: str


def rows_of(
    streams: Sequence[Sleeper], running: FrameType | None = None, in_a_loop: Callable[[Any], str] = str
) -> list[Row]:
    """Return the rows of emulated streams.

    ``running`` is the frame of the stream that runs, and ``in_a_loop`` says what a stream waits for in a compiled loop.
    """
    rows = []
    for s in streams:
        frame = s.greenlet.gr_frame or (running if s.greenlet else None)  # no frame before it begins
        what, since = (operation(frame), f"{s.since:,} ns") if s.word else (RUNS if frame else "(begins)", "")
        if what == IN_A_LOOP:
            what = in_a_loop(s)
        rows.append(Row(str(s.rank), str(s.index), what, where(frame), since))
    return rows


def table_of(rows: Sequence[Row]) -> str:
    """Return the rows as the text of a table."""
    from smp._output import terminal  # imported here, since few runs need it
    from smp._output.table import Table, text

    columns = [text(name) for name in ("processor", "stream", "waits in", "at", "since")]
    return terminal.text(Table("", columns, rows))


def deadlock_text(rows: Sequence[Row]) -> str:
    """Return the text that reports a deadlock."""
    which = "the only stream left waits" if len(rows) == 1 else f"all {len(rows)} streams wait"
    return f"deadlock: {which} for something that no stream can do any more\n{table_of(rows)}"


def deadlock(streams: Sequence[Sleeper], in_a_loop: Callable[[Any], str]) -> DeadlockError:
    """Return the error for emulated streams that all sleep; see `rows_of`."""
    return DeadlockError(deadlock_text(rows_of(streams, None, in_a_loop)))
