"""The streams that can run, in the order of their last steps: a list from FIRST, the oldest step, to FINAL.

    FIRST  ⇄  stream  ⇄  stream  ⇄  FINAL        each row has the next OLDER and the next NEWER one

A stream that makes a step moves to the end, so the list stays in order.
"""

from __future__ import annotations

from ...loops.atomics import Words
from ...loops.compiler import inline
from .layout import FINAL, FIRST, LAST, NEVER, NEWER, NONE, OLDER, ROW, rows_of


@inline
def least_step(header: Words) -> int:
    """Return the oldest of the last steps of the streams that can run."""
    first = header[FIRST]
    return NEVER if first == NONE else int(rows_of(header)[first * ROW + LAST])


@inline
def _link(header: Words, stream: int, older: int, newer: int) -> None:
    """Put a stream between two others, each of which may be NONE."""
    rows = rows_of(header)
    rows[stream * ROW + OLDER], rows[stream * ROW + NEWER] = older, newer
    if older == NONE:
        header[FIRST] = stream
    else:
        rows[older * ROW + NEWER] = stream
    if newer == NONE:
        header[FINAL] = stream
    else:
        rows[newer * ROW + OLDER] = stream


@inline
def insert(header: Words, stream: int) -> None:
    """Add a stream that can run from now on: its last step is an old one, so its place is near the first."""
    rows = rows_of(header)
    older, newer = NONE, header[FIRST]
    while newer != NONE and rows[newer * ROW + LAST] < rows[stream * ROW + LAST]:
        older, newer = newer, rows[newer * ROW + NEWER]
    _link(header, stream, older, newer)


@inline
def remove(header: Words, stream: int) -> None:
    """Take out a stream that cannot run any more."""
    rows = rows_of(header)
    older, newer = rows[stream * ROW + OLDER], rows[stream * ROW + NEWER]
    if older == NONE:
        header[FIRST] = newer
    else:
        rows[older * ROW + NEWER] = newer
    if newer == NONE:
        header[FINAL] = older
    else:
        rows[newer * ROW + OLDER] = older


@inline
def made_a_step(header: Words, stream: int) -> None:
    """Move a stream to the end."""
    if header[FINAL] != stream:
        remove(header, stream)
        _link(header, stream, header[FINAL], NONE)
