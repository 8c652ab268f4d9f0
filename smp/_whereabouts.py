"""Whereabouts, for people: the user's own line in a stack, what was called there, and the table of a deadlock."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Sequence
from types import FrameType
from typing import Any, Protocol

from .errors import DeadlockError

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARIES = tuple(
    os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def is_ours(filename: str) -> bool:
    """Whether a source file belongs to smp's runtime."""
    return filename.startswith(_PACKAGE)


def innermost(frames: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The file and line to name of a traceback, innermost frame last: the user's own before a library's.

    Returns
    -------
    tuple of str and int
        Empty where all of it is the runtime's.
    """
    theirs = [frame for frame in frames if not is_ours(frame[0])]
    own = [frame for frame in theirs if not frame[0].startswith((*_LIBRARIES, "<frozen "))]
    return (own or theirs or [("", 0)])[-1]


class Sleeper(Protocol):
    """A stream that sleeps: whose it is, since when, and its greenlet."""

    rank: int
    index: int
    since: int
    greenlet: Any


def deadlock(streams: Sequence[Sleeper]) -> DeadlockError:
    """The error that tells who waits where, for what, since when."""
    frames = [(s, s.greenlet.gr_frame) for s in streams]
    return DeadlockError(
        told([(str(s.rank), str(s.index), operation(f), where(f), f"{s.since:,} ns") for s, f in frames])
    )


def told(rows: Sequence[tuple[str, str, str, str, str]]) -> str:
    """The text of a deadlock: of each stream its processor, its number, what it waits in, at which line, since when."""
    lines = [("processor", "stream", "waits in", "at", "since"), *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(5)]
    table = "\n".join("  ".join(text.ljust(n) for text, n in zip(r, widths, strict=True)).rstrip() for r in lines)
    who = "the only stream left waits" if len(rows) == 1 else f"all {len(rows)} streams wait"
    return f"deadlock: {who} for what nobody can do any more\n{table}"


def _frames(frame: FrameType | None) -> list[FrameType]:
    """The frames of a stream, innermost first."""
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def where(frame: FrameType | None) -> str:
    """The user's own source line in these frames."""
    file, line = innermost([(f.f_code.co_filename, f.f_lineno) for f in reversed(_frames(frame))])
    return f"{file}:{line}" if file else ""


def operation(frame: FrameType | None) -> str:
    """What the user's code called of the runtime: a collective by its description, else the function by its name."""
    called = cell = ""
    for f in _frames(frame):
        if not is_ours(f.f_code.co_filename):
            break
        names = f.f_locals
        collective = getattr(names.get("self"), "doing", "")
        if collective:
            return str(collective)
        called = getattr(names.get("meaning"), "__name__", f.f_code.co_name)
        if names.get("self") is not None and "i" in names and not called.startswith("_"):
            cell = f"{called}({names['i']})"
    return cell or {"__exit__": "end of a with block"}.get(called, called)
