"""Helpers: other threads and processes that may still change a cell when all processors wait.

    thread     of the parent: a helper if it has operated on cells of the machine, or if its frames hold some;
               any other thread is *open*, because no search of what frames refer to can be complete
    process    forked by the parent or by a processor: a helper if it maps the machine's segment

A frame holds its locals, the globals that a user's code names, and the objects to which these refer in a few steps (a
closure, a bound method, an attribute, a list of cells).  The search does not follow namespaces of modules, nor the
globals of libraries: nearly everything refers to one, and by way of ``threading`` each thread refers to every other.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import psutil

from ..loops.keys import codes
from ..memory.cells import Cells
from ..memory.segment import Segment
from ..memory.watchdog import OURS, Waiter
from ..protocols import waiters
from ..source.lines import is_a_librarys, is_ours
from .launcher import copies

_STEPS, _OBJECTS = 6, 20_000
"""Number of steps that a search goes from a frame, and number of objects after which it stops."""
_OPAQUE = (type, ModuleType, CodeType, FrameType, str, bytes, int, float)


class Threads(NamedTuple):
    """Names of the parent's threads that do not wait for a cell themselves."""

    helpers: list[str]
    open: list[str]


def frames() -> dict[int, FrameType]:
    """Return the innermost frame of each thread of this process."""
    return sys._current_frames()


def threads(segment: Segment, streams: Sequence[Waiter]) -> Threads:
    """Return the threads that may change a cell of the machine, and those that are open.

    Parameters
    ----------
    segment : Segment
    streams : sequence of Waiter
        Streams of the parent: threads that have operated on the machine's cells.
    """
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    found = Threads([], [])
    for ident, frame in frames().items():
        name = names.get(ident, f"thread {ident}")
        own = [stream for stream in streams if stream.thread == ident]
        if ident == threading.get_ident() or name.startswith(OURS) or any(s.words[waiters.OP] != 0 for s in own):
            continue
        (found.helpers if own or _hold(frame, segment) else found.open).append(name)
    return found


def processes(segment: Segment, ours: Collection[int]) -> list[str]:
    """Return the processes that map the machine's memory, except for ``ours``.

    The memory is also mapped by a fork server that is a copy of this process, and by the workers of its machine.
    They are left out, since they have no use for this memory.
    """
    if not os.path.exists(f"/proc/{os.getpid()}/maps"):
        return ["a process that cannot be seen without /proc"]
    servers = copies()
    pattern = re.compile(rf"\s{segment.id}\s+/memfd:smp\b")
    found = []
    for pid in [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) not in ours]:
        with contextlib.suppress(OSError, psutil.Error):  # it has ended, or belongs to another user
            if pattern.search(Path(f"/proc/{pid}/maps").read_text()):
                process = psutil.Process(pid)
                if pid not in servers and process.ppid() not in servers:
                    found.append(f"process {pid} ({process.name()})")
    return found


def _hold(frame: FrameType | None, segment: Segment) -> bool:
    """Return True if a thread's frames hold cells of a machine."""
    while frame is not None:
        if _reach(_roots(frame), segment):
            return True
        frame = frame.f_back
    return False


def _roots(frame: FrameType) -> list[Any]:
    local = frame.f_locals
    roots = [] if local is frame.f_globals else list(local.values())
    return [*roots, *_named(frame.f_code, frame.f_globals)]


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    """Yield the globals that a user's code, and the code objects inside it, name."""
    if is_ours(code.co_filename) or is_a_librarys(code.co_filename):
        return
    for inner in codes(code):
        yield from (names[name] for name in inner.co_names if name in names)


def _reach(objects: list[Any], segment: Segment) -> bool:
    """Return True if some of the objects are cells of a machine, or refer to such cells in a few steps."""
    namespaces = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    seen = set(namespaces)
    for _ in range(_STEPS):
        following: list[Any] = []
        for thing in objects:
            kind = type(thing)  # not isinstance, which would run the code of a proxy
            if id(thing) in seen or issubclass(kind, _OPAQUE):
                continue
            if issubclass(kind, Cells):
                if thing._block.segment is segment:
                    return True
                continue
            seen.add(id(thing))
            following += gc.get_referents(thing)
            if kind is FunctionType:
                following += _named(thing.__code__, thing.__globals__)
        if len(seen) > _OBJECTS:
            return False
        objects = following
    return False
