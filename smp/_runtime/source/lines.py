"""The user's own line in a stack of calls, and the operation that was called there.

It also determines where a signal may raise an exception: in a user's code that a program runs, with nothing of smp's
own work in between.

    answer ── program ── its functions ── a library        may        (the innermost frame is on the right)
    answer ── program ── step.copy_in ── ...               may not    the runtime would be left half done
    answer ── program ── a loop of smp.stream, emulated    may        the frames between do no work of their own
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from . import titles

IN_A_LOOP = "a compiled loop"
F = TypeVar("F", bound=Callable[..., Any])
Instruction = tuple[CodeType, int] | None
"""A code and the place of an instruction in it, of which `line_of` finds the line."""

_ours: tuple[str, ...] = (str(Path(__file__).absolute().parents[2]) + os.sep,)  # the whole of smp
_LIBRARIES = tuple(
    os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")
)

_programs: dict[int, CodeType] = {}  # of functions that call a program, by id: hashing a code object is slow
_wrappers: dict[int, CodeType] = {}  # of functions that call a user's function, and do nothing else meanwhile


def calls_programs(function: F) -> F:
    """Register a function of smp that calls programs, and handles the exceptions that they raise."""
    _programs[id(function.__code__)] = function.__code__
    return function


def wraps_users(function: F) -> F:
    """Register a function of smp that only wraps a user's function."""
    _wrappers[id(function.__code__)] = function.__code__
    return function


def runs_a_program(frame: FrameType) -> bool:
    """Return True if a frame is of a function that calls programs; frames beyond it are not the program's."""
    return id(frame.f_code) in _programs


def is_a_wrapper(code: CodeType) -> bool:
    """Return True if a code is of a function that only wraps a user's function."""
    return id(code) in _wrappers


def in_a_program(frame: FrameType | None) -> bool:
    """Return True if a frame is of a user's code in a program, with nothing of smp's own work in between."""
    if frame is None or id(frame.f_code) in _programs:  # before or after the program, not in it
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
    """Return True if a source file belongs to smp's runtime."""
    return filename.startswith(_ours)


def count_as_ours(folder: str) -> None:
    """Count the files of a folder as smp's own. It contains a kind of machine that is not part of smp."""
    global _ours
    _ours = (*_ours, os.path.join(folder, ""))


def is_a_librarys(filename: str) -> bool:
    """Return True if a source file belongs to Python or to an installed package."""
    return filename.startswith((*_LIBRARIES, "<frozen "))


def innermost(frames: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """Return the file and line to report for a traceback: the user's innermost frame, or else a library's.

    Parameters
    ----------
    frames : sequence of (str, int)
        File and line of each frame, innermost frame last.

    Returns
    -------
    tuple of str and int
        Empty file name and 0 if all frames are the runtime's.
    """
    theirs = [frame for frame in frames if not is_ours(frame[0])]
    own = [frame for frame in theirs if not is_a_librarys(frame[0])]
    return (own or theirs or [("", 0)])[-1]


def _frames(frame: FrameType | None) -> list[FrameType]:
    """Return the frames of a stream that belong to its program, innermost first."""
    found = []
    while frame is not None and id(frame.f_code) not in _programs:
        found.append(frame)
        frame = frame.f_back
    return found


def where(frame: FrameType | None) -> str:
    """Return the user's own source line in the stack of this frame; empty if there is none."""
    file, line = innermost([(f.f_code.co_filename, f.f_lineno) for f in reversed(_frames(frame))])
    return titles.place(file, line) if file else ""


def users_instruction(frame: FrameType | None) -> Instruction:
    """Return where the innermost frame that is not smp's own is; it is quicker than `where`."""
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return (frame.f_code, frame.f_lasti) if frame is not None else None


def line_of(instruction: Instruction) -> tuple[str, int]:
    """Return the file and line of an instruction; an empty name and 0 if there is none."""
    if instruction is None:
        return "", 0
    code, at = instruction
    lines = [line for first, end, line in code.co_lines() if first <= at < end]
    return code.co_filename, lines[0] or code.co_firstlineno


def operation(frame: FrameType | None) -> str:
    """Return the operation of the runtime that the user's code has called.

    The result is the description of a collective, or else the name of a function, with the index if it works on a
    cell.  It is `IN_A_LOOP` in a compiled loop, of which there is no frame.
    """
    called = cell = ""
    for f in _frames(frame):
        if id(f.f_code) in _wrappers and not called:
            return IN_A_LOOP
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
