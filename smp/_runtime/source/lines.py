"""Whereabouts, for people: the user's own line in a stack, and what was called there.

It also says where an exception may be raised by a signal: in a user's code that a program runs, with nothing of smp's
own work in between.

    answer ── program ── its functions ── a library        may        (the innermost frame is on the right)
    answer ── program ── step.copy_in ── ...               may not    the runtime would be left half done
    answer ── program ── a loop of smp.stream, emulated    may        the frames between do nothing of their own
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from . import titles

F = TypeVar("F", bound=Callable[..., Any])

_ours: tuple[str, ...] = (str(Path(__file__).absolute().parents[2]) + os.sep,)  # the whole of smp
_LIBRARIES = tuple(
    os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")
)

_programs: dict[int, CodeType] = {}  # of functions that call a program, by identity: to hash a code takes a while
_wrappers: dict[int, CodeType] = {}  # of functions that call a function of the user's, and do nothing else then


def calls_programs(function: F) -> F:
    """Note a function of smp's that calls programs: what they raise, it handles."""
    _programs[id(function.__code__)] = function.__code__
    return function


def wraps_users(function: F) -> F:
    """Note a function of smp's that only wraps one of the user's."""
    _wrappers[id(function.__code__)] = function.__code__
    return function


def runs_a_program(frame: FrameType) -> bool:
    """Whether a frame is of a function that calls programs: what is beyond it is not the program."""
    return id(frame.f_code) in _programs


def in_a_program(frame: FrameType | None) -> bool:
    """Whether a frame is of a user's code in a program, with nothing of smp's own work in between."""
    if frame is None or id(frame.f_code) in _programs:  # not in the program, but before or after it
        return False
    while frame is not None:
        code = frame.f_code
        if id(code) in _programs:
            return True
        if is_ours(code.co_filename) and id(code) not in _wrappers:
            return False
        frame = frame.f_back
    return False


def is_ours(filename: str) -> bool:
    """Whether a source file belongs to smp's runtime."""
    return filename.startswith(_ours)


def count_as_ours(folder: str) -> None:
    """Count the files of a folder as smp's own: those of a kind of machine that lives outside of smp."""
    global _ours
    _ours = (*_ours, os.path.join(folder, ""))


def is_a_librarys(filename: str) -> bool:
    """Whether a source file belongs to Python or to an installed package."""
    return filename.startswith((*_LIBRARIES, "<frozen "))


def innermost(frames: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The file and line to name of a traceback, innermost frame last: the user's own before a library's.

    Returns
    -------
    tuple of str and int
        Empty where all of it is the runtime's.
    """
    theirs = [frame for frame in frames if not is_ours(frame[0])]
    own = [frame for frame in theirs if not is_a_librarys(frame[0])]
    return (own or theirs or [("", 0)])[-1]


def _frames(frame: FrameType | None) -> list[FrameType]:
    """The frames of a stream, innermost first, those of its program only."""
    found = []
    while frame is not None and id(frame.f_code) not in _programs:
        found.append(frame)
        frame = frame.f_back
    return found


def where(frame: FrameType | None) -> str:
    """The user's own source line in these frames."""
    file, line = innermost([(f.f_code.co_filename, f.f_lineno) for f in reversed(_frames(frame))])
    return titles.place(file, line) if file else ""


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
