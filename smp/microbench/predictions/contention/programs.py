"""The programs of the processors: bursts of work alone and of whole cycles, next to one another.

    work only │ cycles │ work only │ cycles │ ...        for each amount of work; all begin each burst together

A cycle is the work and an atomic addition to a word that all processors use.  A stamp is a row of `overlaps.SPAN`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.processor import Processor

from .loops import cycles

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
