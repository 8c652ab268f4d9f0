"""What a run leaves: the programs' results and the record of every superstep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .steps import joined

if TYPE_CHECKING:
    from .models.interval import Interval
    from .profile import Profile

_SHOWN = 20


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
    dropped : int
        Supersteps beyond `smp.steps.LIMIT` that were not recorded.
    """

    def __init__(self, results: list[Any], packs: list[tuple[bytes, list[str], int]], wall: float) -> None:
        self.results, self.wall = results, wall
        self.steps, self._spans, self.dropped = joined(packs)

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
            Of `smp.Profile.load`; without one, the one last measured on this machine.

        Returns
        -------
        Interval
            Per superstep and in total h_r, h_w, M, measured, good, bad and random seconds, Loc, M/G and a verdict:
            a table when printed, arrays when computed with.

        Raises
        ------
        ProfileError
            When no profile of this machine has been measured yet; says which command makes one.
        """
        from .profile import Profile

        return (Profile.find() if profile is None else profile).interval(self.steps)

    def __str__(self) -> str:
        size = len(self.results)
        lines = [f"run on {size} processor{'s' if size != 1 else ''}: {self.wall * 1e3:.3g} ms"]
        steps = self.steps
        numbers = np.unique(steps["step"])
        if len(numbers):
            lines.append(f"{'step':>5}  {'label':<20} {'h_r':>11} {'h_w':>11} {'M':>12} {'copy-in':>10} {'compute':>10} {'copy-out':>10}")  # fmt: skip
        for number in numbers[:_SHOWN]:
            rows = steps[steps["step"] == number]
            m = int(rows["reads"].sum() + rows["writes"].sum())
            times = "".join(f" {rows[phase].max() * 1e6:>7.1f} us" for phase in ("copy_in", "compute", "copy_out"))
            lines.append(
                f"{number:>5}  {rows['label'][0]:<20.20} {rows['reads'].max():>11,} {rows['writes'].max():>11,} {m:>12,}{times}"
            )
        if len(numbers) > _SHOWN:
            lines.append(f"  ... and {len(numbers) - _SHOWN:,} more in run.steps")
        if self.dropped:
            lines.append(f"  {self.dropped:,} further supersteps were not recorded")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<run on {len(self.results)} processors, {len(np.unique(self.steps['step']))} supersteps, {self.wall:.3g} s>"
