"""What a run leaves: the programs' results and the record of every superstep."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .steps import joined, summary

if TYPE_CHECKING:
    from smp.models.supersteps.intervals import Interval
    from smp.profiles.profile import Profile


class Run:
    """The outcome of ``machine.run``.

    Attributes
    ----------
    results : list
        What the program returned, one per processor.
    steps : structured array
        A row for each superstep and processor: ``step, label, rank, reads, writes, bytes_read, bytes_written``,
        and ``copy_in, compute, copy_out`` in seconds, each with its barrier.
    wall : float
        Seconds from the call to the last answer.
    kind : {"host", "emulated"}
        The kind of machine that ran it: an emulated machine's seconds are of virtual time.
    dropped : int
        Supersteps beyond `LIMIT` that were not recorded.
    """

    def __init__(
        self, results: list[Any], packs: list[tuple[bytes, list[str], int]], wall: float, kind: str = "host"
    ) -> None:
        self.results, self.wall, self.kind = results, wall, kind
        self._packs = packs

    @cached_property
    def _joined(self) -> tuple[NDArray[np.void], NDArray[np.void], int]:
        return joined(self._packs)

    @property
    def steps(self) -> NDArray[np.void]:
        return self._joined[0]

    @property
    def _spans(self) -> NDArray[np.void]:
        return self._joined[1]

    @property
    def dropped(self) -> int:
        return self._joined[2]

    def timeline(self) -> NDArray[np.void]:
        """Return who did what when.

        Returns
        -------
        structured array
            A row for each phase of each superstep on each processor: ``rank, step, label, phase, start, end``
            in seconds of one clock, and ``waited``, the seconds of it spent at the barrier.
        """
        return self._spans.copy()

    def interval(self, profile: Profile | None = None) -> Interval:
        """Return where each superstep stands between the best and the worst that the machine could have made of it.

        Parameters
        ----------
        profile : Profile, optional
            Of `smp.Profile.load`; without one, the one last measured on this computer.

        Returns
        -------
        Interval
            Per superstep and in total h_r, h_w, M, measured, good, bad and random seconds of copy-in and copy-out, the
            measured compute time, Loc, M/G and a verdict: a table when printed, arrays when computed with.

        Raises
        ------
        ProfileError
            When no profile of this computer has been measured yet; says which command makes one.  When the profile is
            of another kind of machine than the run: virtual time and this computer's time cannot be compared.
        """
        from smp.errors import ProfileError
        from smp.profiles.profile import Profile

        if profile is None and self.kind != "host":
            raise ProfileError(
                f"this run is of an {self.kind} machine, whose virtual time no profile of this computer can predict: "
                "pass one that was measured on that machine, run.interval(profile), or run the program on smp.host()"
            )
        chosen = Profile.find() if profile is None else profile
        if chosen.kind != self.kind:
            raise ProfileError(
                f"{chosen!r} is of the kind {chosen.kind!r} and the run of the kind {self.kind!r}: one knows real and "
                "the other virtual time; pass a profile that was measured on a machine of the run's kind"
            )
        return chosen.interval(self.summary(), len(self.results))

    def summary(self) -> NDArray[np.void]:
        """Return one row for each superstep: h_r, h_w, M in elements and bytes, and the seconds of its phases.

        A phase takes as long as its slowest processor works, and then the barrier (see `Run.summary`).
        """
        return summary(self.steps, self._spans)

    def __str__(self) -> str:
        from .printed_run import run_table  # most runs are not printed, and their processors print none

        return run_table(self.summary(), len(self.results), self.wall, self.dropped)

    def __repr__(self) -> str:
        count = len(np.unique(self.steps["step"]))
        return f"<run on {len(self.results)} processors, {count} supersteps, {self.wall:.3g} s>"
