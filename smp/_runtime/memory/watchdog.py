"""A worker's watch: a thread that reports to the parent, when asked, whether any thread of the process can go on.

The records show the parent that all streams of all processors wait.  They do not show a thread that the program has
started itself, and that has never waited.  So the parent asks: it raises WATCH, and every watch looks at the threads
of its interpreter.  The watch writes what each stream waits for, and at which line, into the stream's record.  Then it
writes the new value of WATCH into the field WATCHED of the record of its processor's first stream: unchanged if each
thread is a stream that waits, negated if a thread runs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..protocols import waiters
from ..source.lines import operation, where

OURS = ("smp watch", "smp fork server", "smp kernel", "smp alarm", "smp log", "smp parent", "smp progress")
"""Prefixes of the names of smp's own threads, which do not touch the cells of a program."""
TEXT = 8 * (waiters.RECORD - waiters.PLACE) - 1  # maximum number of bytes of the text


class Waiter(Protocol):
    """A stream, and the Python thread that is this stream."""

    words: NDArray[np.int64]
    thread: int


class Watch:
    """The watch of one process; it runs as long as the process.

    Parameters
    ----------
    shared : int
        Address of the words that all processors share.
    wait : callable
        ``wait(shared, seen)`` waits until WATCH is no longer ``seen``, and returns its value.
    streams : sequence of Waiter
        Streams of the process; later ones are appended.  The program's own stream is the first.
    describe : callable
        Returns a text that says what a stream waits for, given its record.
    """

    def __init__(
        self,
        shared: int,
        wait: Callable[[int, int], int],
        streams: Sequence[Waiter],
        describe: Callable[[NDArray[np.int64]], str],
    ) -> None:
        self._shared, self._wait, self._streams, self._describe = shared, wait, streams, describe
        self._thread = threading.Thread(target=self._serve, name=OURS[0], daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        seen = 0
        while True:
            seen = self._wait(self._shared, seen)
            self._streams[0].words[waiters.WATCHED] = seen if self._all_wait() else -seen

    def _all_wait(self) -> bool:
        frames = sys._current_frames()
        for thread in threading.enumerate():
            if thread.name.startswith(OURS):
                frames.pop(thread.ident or 0, None)
        running = set(frames)
        for stream in list(self._streams):
            frame = frames.get(stream.thread)  # two streams have it while a handler of a signal waits
            if frame is not None:
                if stream.words[waiters.OP] != 0 or stream.words[waiters.BARRIER_AT] != 0:
                    running.discard(stream.thread)
                self._note(stream, frame)
        return not running

    def _note(self, stream: Waiter, frame: Any) -> None:
        text = f"{self._describe(stream.words) or operation(frame)}\n{where(frame)}"
        data = text.encode(errors="replace")[:TEXT] + b"\0"
        stream.words[waiters.PLACE :].view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)


def noted(words: NDArray[np.int64]) -> tuple[str, str]:
    """Return what a record says that its stream waits for, and at which line."""
    text = words[waiters.PLACE :].tobytes().split(b"\0", 1)[0].decode(errors="replace")
    what, _, place = text.partition("\n")
    return what, place
