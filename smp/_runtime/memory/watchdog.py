"""A worker's watch: a thread that tells the parent, when asked, whether anything in this process can still go on.

The parent sees from the records that all streams of all processors wait.  What it cannot see is a thread of the
program's own that has never waited.  So it asks: WATCH goes up, and every watch looks at the threads of its
interpreter.  Into the record of each stream it writes what the stream waits for and at which line, then into WATCHED of
the record of its processor's first stream what it was asked with: as it is if each thread is a stream that waits,
negative if a thread runs.
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

OURS = ("smp watch", "smp fork server", "smp kernel", "smp alarm")
"""How the names of threads begin that are smp's own, and come near no cell of a program."""
TEXT = 8 * (waiters.RECORD - waiters.PLACE) - 1  # bytes of text


class Waiter(Protocol):
    """A stream and the Python thread that it is."""

    words: NDArray[np.int64]
    thread: int


class Watch:
    """The watch of one process; it runs as long as the process.

    Parameters
    ----------
    shared : int
        The address of the words that all share.
    wait : callable
        ``wait(shared, seen)`` waits until WATCH is no longer ``seen`` and returns what it is.
    streams : sequence of Waiter
        Those of the process, the program's first; it grows.
    describe : callable
        What a waiting stream waits for, as text, from its record.
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
        for stream in list(self._streams):
            frame = frames.get(stream.thread)
            if frame is not None:
                if stream.words[waiters.OP] != 0 or stream.words[waiters.BARRIER_AT] != 0:
                    del frames[stream.thread]
                self._note(stream, frame)
        return not frames

    def _note(self, stream: Waiter, frame: Any) -> None:
        text = f"{self._describe(stream.words) or operation(frame)}\n{where(frame)}"
        data = text.encode(errors="replace")[:TEXT] + b"\0"
        stream.words[waiters.PLACE :].view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)


def noted(words: NDArray[np.int64]) -> tuple[str, str]:
    """What a record says that is waited for, and at which line."""
    text = words[waiters.PLACE :].tobytes().split(b"\0", 1)[0].decode(errors="replace")
    what, _, place = text.partition("\n")
    return what, place
