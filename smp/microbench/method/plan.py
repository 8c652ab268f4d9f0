"""The interface of probes: each receives a plan and returns a measurement.

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

from .ranks import Ranks

if TYPE_CHECKING:
    from smp._computer.documents import Record
    from smp._runtime.machine import Machine

MODES = ("quick", "default", "full")

Tick = Callable[[float, str], None]
"""Called with the progress of one probe: the fraction that is done, from 0 to 1, and a text on the current work."""


class PlanError(SmpError, ValueError):
    """Raised for a plan that no probe can measure."""


@dataclass(frozen=True)
class Plan:
    """A request for measurements, and the sizes of the machine that the probes need.

    Parameters
    ----------
    mode : {"quick", "default", "full"}
        Extent of the measurement.
    processors : tuple of int
        Numbers of processors to measure with.
    seed : int
        Seed of all random choices.
    line_bytes : int
        Size of a cache line in bytes.
    word_bytes : int
        Size of a word in bytes.
    caches : tuple of Cache
        Caches by level, the smallest first.
    share : float
        Share of its usual time that a probe may take: less than 1 if a budget is short.
    placement : PlacementLog
        Readings of the placement of the CPUs that the sections have taken so far.
    ranks : Ranks, optional
        Machine of MPI to measure; by default the host is measured.

    Raises
    ------
    PlanError
        When the mode is not known, no number of processors is given or one is below 1, a line does not hold a whole
        number of words, or the share is not above 0 and at most 1.
    """

    mode: str
    processors: tuple[int, ...]
    seed: int
    line_bytes: int
    word_bytes: int = 8
    caches: tuple[Cache, ...] = ()
    share: float = 1.0
    placement: PlacementLog = field(default_factory=PlacementLog, compare=False, repr=False)
    ranks: Ranks | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise PlanError(f"mode {self.mode!r} is not known: choose one of {', '.join(MODES)}")
        if not self.processors or min(self.processors) < 1:
            raise PlanError(f"a plan needs one number of processors or more, each 1 or above, not {self.processors}")
        if self.word_bytes < 1 or self.line_bytes % self.word_bytes or self.line_bytes < self.word_bytes:
            raise PlanError(
                f"a line of {self.line_bytes} bytes does not hold a whole number of words of "
                f"{self.word_bytes} bytes: give the line size that the processor reports, mostly 64"
            )
        if not 0.0 < self.share <= 1.0:
            raise PlanError(f"the share of the usual time must be above 0 and at most 1, not {self.share}")

    def machine(self) -> Machine:
        """Open the machine of MPI.

        Raises
        ------
        PlanError
            If the plan has none.
        """
        if self.ranks is None:
            raise PlanError("this section measures a machine of MPI: name one with --machine, such as mpi:4")
        return self.ranks.open()

    def seconds(self, usual: float) -> float:
        """Return the seconds that a probe may take for work that usually takes the given seconds."""
        return self.share * usual


@dataclass
class Measurement:
    """Result of one probe.

    Parameters
    ----------
    data : Record
        Record of the section: rows and summary numbers with their units in the names, ``valid`` and ``why``.
    samples : dict of str to ndarray
        Raw samples, in structured arrays such as those of `windows.WINDOW`.
    """

    data: Record
    samples: dict[str, NDArray[np.void]]


class Stopped(KeyboardInterrupt):
    """Raised on Ctrl-C, or when a budget runs out, by a probe that has measured something that makes sense by itself.

    Parameters
    ----------
    name : str
        Name of the section in the profile.
    section : Measurement
        The part of the section that was measured.
    """

    def __init__(self, name: str, section: Measurement) -> None:
        super().__init__(name)
        self.name, self.section = name, section
