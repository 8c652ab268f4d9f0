"""What a run leaves: the programs' results and the record of every superstep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from smp.errors import ProfileError

from .records.recorded import COMMUNICATION, Repeat, Repeated

if TYPE_CHECKING:
    from smp.models.supersteps.intervals import Interval
    from smp.profiles.profile import Profile


class Run(Repeated):
    """The outcome of ``machine.run``: the results, and what was recorded.

    Where the program was repeated, the results, ``steps``, ``collectives`` and the timeline are of the last repeat;
    `summary`, the printed table and `interval` have the medians of all.

    Attributes
    ----------
    results : list
        What the program returned, one per processor.
    steps, collectives, seconds, wall, size, dropped
        See `Repeat`.
    repeats, warmup
        See `Repeated`.
    kind : {"host", "emulated"}
        The kind of machine that ran it: an emulated machine's seconds are of virtual time.
    """

    def __init__(self, results: list[Any], repeats: Sequence[Repeat], kind: str = "host", warmup: int = 0) -> None:
        super().__init__(repeats, warmup)
        self.results, self.kind = results, kind

    def interval(self, profile: Profile | None = None, *, whole: bool | None = None) -> Interval:
        """Return where each superstep stands between the best and the worst that the machine could have made of it.

        Parameters
        ----------
        profile : Profile, optional
            Of `smp.Profile.load`; without one, the one last measured on this computer.
        whole : bool, optional
            Whether the program is taken as a whole, as one row: its time on the slowest processor, local work and
            waits included, and all accesses that were counted.  By default a program without supersteps is.

        Returns
        -------
        Interval
            Per superstep and in total h_r, h_w, M, measured, good, bad and random seconds of copy-in and copy-out, the
            measured compute time, Loc, M/G and a verdict: a table when printed, arrays when computed with.  Its notes
            say what else explains the times: page faults, a `compute()` that was not called, collectives.

        Raises
        ------
        ProfileError
            When no profile of this computer has been measured yet; says which command makes one.  When the profile is
            of another kind of machine than the run: virtual time and this computer's time cannot be compared.
        """
        from smp.profiles.moved import moved_note
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
        from .records import interval_notes, whole_program

        as_one = not len(self.steps) if whole is None else whole
        rows = whole_program.row_of(self) if as_one else self.summary()
        found = chosen.interval(rows, self.size).without(rows["uncounted"])
        if len(self.repeats) > 1:
            found = found.repeated(whole_program.seconds_of(self) if as_one else self.seconds_of(COMMUNICATION))
        found = found.noting(moved_note(chosen, self.size, [repeat.placement for repeat in self.repeats]))
        return found.noting(*(whole_program.notes(self, found) if as_one else interval_notes.notes(self, found)))

    def __str__(self) -> str:
        from .printed_run import run_text  # most runs are not printed, and their processors print none

        return run_text(self)

    def __repr__(self) -> str:
        count = len(np.unique(self.steps["step"]))
        return f"<run on {self.size} processors, {count} supersteps, {self.wall:.3g} s>"
