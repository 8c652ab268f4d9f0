"""What a probe is asked for and what it hands back.

Plan -> measure(plan, tick) -> Measurement        one such function for each section
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smp._computer.cpus import Cache
from smp.errors import SmpError
from smp.models.placement_log import PlacementLog

if TYPE_CHECKING:
    from smp._computer.documents import Record

MODES = ("quick", "default", "full")

Tick = Callable[[float, str], None]
"""Progress of one probe: the fraction that is done, from 0 to 1, and a word on what is being done."""


class PlanError(SmpError, ValueError):
    """A plan asks for what no probe can measure."""


@dataclass(frozen=True)
class Plan:
    """What to measure, and the machine's sizes that the probes go by.

    Parameters
    ----------
    mode : {"quick", "default", "full"}
        How much is measured.
    processors : tuple of int
        The numbers of processors asked for.
    seed : int
        From which all random choices follow.
    line_bytes : int
        A cache line, in bytes.
    word_bytes : int
        A word, in bytes.
    caches : tuple of Cache
        By level, the smallest first.
    share : float
        How much of its usual time a probe may take: less than 1 where a budget is short.
    placement : PlacementLog
        What the sections have seen so far of how the CPUs lie.

    Raises
    ------
    PlanError
        When the mode is not known, or a size or a number of processors is below one.
    """

    mode: str
    processors: tuple[int, ...]
    seed: int
    line_bytes: int
    word_bytes: int = 8
    caches: tuple[Cache, ...] = ()
    share: float = 1.0
    placement: PlacementLog = field(default_factory=PlacementLog, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PlanError(f"mode {self.mode!r} is not known: choose one of {', '.join(MODES)}")
        if not self.processors or min(self.processors) < 1:
            raise PlanError(f"processors {self.processors} asks for no run: name one count or more, from 1 up")
        if self.word_bytes < 1 or self.line_bytes % self.word_bytes or self.line_bytes < self.word_bytes:
            raise PlanError(
                f"a line of {self.line_bytes} bytes does not hold a whole number of words of "
                f"{self.word_bytes} bytes: give the line size that the processor reports, mostly 64"
            )
        if not 0.0 < self.share <= 1.0:
            raise PlanError(f"a share of {self.share} of the usual time: it must be above 0 and at most 1")

    def seconds(self, usual: float) -> float:
        """Return how long a probe may take for what usually takes so many seconds."""
        return self.share * usual


@dataclass
class Measurement:
    """What one probe measured.

    Parameters
    ----------
    data : Record
        The section's: rows and summary numbers with their units in the names, ``valid`` and ``why``.
    samples : dict of str to ndarray
        The raw samples, structured arrays such as those of `windows.WINDOW`.
    """

    data: Record
    samples: dict[str, NDArray[np.void]]


class Stopped(KeyboardInterrupt):
    """Ctrl-C in the middle of a probe that had already measured something that makes sense by itself.

    Parameters
    ----------
    name : str
        The section of the profile.
    section : Measurement
        What there is of it.
    """

    def __init__(self, name: str, section: Measurement) -> None:
        super().__init__(name)
        self.name, self.section = name, section
