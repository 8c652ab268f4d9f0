"""The programs of the processors: bursts of work alone and of whole cycles, next to one another.

    work only │ cycles │ work only │ cycles │ ...        for each amount of work; all begin each burst together

A cycle is the work, and then an atomic addition to a word that all processors use, or a request to the last processor,
which does nothing but serve, and its reply.  A stamp is a row of `overlaps.SPAN`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor

from .loops import cycles, work

PADDED = 16
"""Words of an array of which only the first is used, so that its line is its own."""

Stamps = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """An amount of work, in steps of the loop, and the number of cycles in a burst."""

    steps: int
    cycles: int


def at_one_word(
    proc: Processor, words: GlobalArray, settings: Sequence[Setting], pairs: int
) -> tuple[Stamps, NDArray[np.int64]]:
    """Add to one word from all processors.

    Returns
    -------
    stamps : ndarray (settings, pairs, 2, 4) int64
        Stamps of this processor's bursts: of the work, and of whole cycles.
    moved : ndarray (settings,) int64
        Number of this processor's additions that came directly after one of another processor.
    """
    stamps, moved = np.zeros((len(settings), pairs, 2, 4), np.int64), np.zeros(len(settings), np.int64)
    for index, setting in enumerate(settings):
        for pair in stamps[index]:
            for adds in (0, 1):
                proc.barrier()
                moved[index] += cycles(words.view, setting.steps, setting.cycles, adds, 0, pair[adds])
    return stamps, moved


def at_one_server(proc: Processor, settings: Sequence[Setting], pairs: int) -> tuple[Stamps, NDArray[np.int64]]:
    """Send requests to the last processor from all others; the results are those of `at_one_word`.

    The server leaves its stamps empty, and nothing moves.
    """
    server, answered, served = proc.size - 1, 0, 0

    def come(message: Any, value: int) -> None:
        nonlocal answered
        answered += 1

    def serve(message: Any, value: int) -> None:
        nonlocal served
        served += 1
        message.reply(replied, value)

    def requests(setting: Setting, adds: int, x: int) -> int:
        nonlocal answered
        for k in range(1, setting.cycles + 1):
            x = work(x, setting.steps)
            if adds:
                proc.request(server, asked, x)
                proc.wait_until(lambda k=k: answered >= k)  # type: ignore[misc]
        answered = 0
        return x

    def serve_until(due: int) -> None:
        nonlocal served
        proc.wait_until(lambda: served == due)
        served = 0

    replied, asked = proc.handler(come), proc.handler(serve, replies=True)
    stamps, x = np.zeros((len(settings), pairs, 2, 4), np.int64), 1
    for index, setting in enumerate(settings):
        due = setting.cycles * server
        for pair in stamps[index]:
            for adds in (0, 1):
                proc.barrier()
                if proc.rank != server:
                    cpu, start = time.thread_time_ns(), time.monotonic_ns()
                    x = requests(setting, adds, x)
                    end = time.monotonic_ns()
                    pair[adds] = start, end, time.thread_time_ns() - cpu, setting.cycles
                elif adds:
                    serve_until(due)
    return stamps, np.zeros(len(settings), np.int64)
