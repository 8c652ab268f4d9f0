"""The result of an exploration, and the failing schedule that it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..emulated.emulator import Step
from ..memory.witness import Unseen
from .operations import Operation

LINES = 60
"""Most lines of a result that is printed."""
_WIDEST = 60  # letters of an operation, after which the places are no longer aligned


@dataclass(frozen=True)
class FailedSchedule:
    """A schedule under which a program fails.

    Attributes
    ----------
    error : Exception
        The exception that `replay` raises.
    preemptions : int
        The smallest number of preemptions with which the program fails in any way.  With ``reduction`` and without a
        bound, the number in this schedule.
    schedule : tuple of int
        The choices, for `replay` and for ``smp.emulated(schedule=...)``.  There is one for each point at which several
        streams could make the next step: 0 for the stream whose turn it was, and 1, 2, ... for the others in order.  If
        that stream cannot go on, 0 is the first of the others.  Zeros at the end are left out.
    steps : list of (processor, stream, primitive, where)
        The steps of the schedule, in order.
    operations : list of (processor, stream, words, where)
        The same as calls of smp by the program, each with words, values and result: ``readfe(cells[3]) -> 7``.
        If other streams make steps meanwhile, a call has a line where it begins and another where it ends.
    number : int
        Number of schedules that had been tried when it was found, including this one.
    """

    error: Exception
    preemptions: int
    schedule: tuple[int, ...]
    steps: list[Step]
    operations: list[Operation]
    number: int

    def __str__(self) -> str:
        """Return the error and the operations, in at most 60 lines."""
        return self._text(LINES)

    def whole(self) -> str:
        """Return the error and all operations as text."""
        return self._text(None)

    def _text(self, most: int | None) -> str:
        schedule = f"with {several(self.preemptions, 'preemption')}, schedule {list(self.schedule)}:"
        error = f"{type(self.error).__name__}: {self.error}".splitlines()
        return limited([*error, schedule], self.operations, most)


@dataclass(frozen=True)
class Exploration:
    """Result of `explore`.

    Attributes
    ----------
    schedules : int
        Number of schedules that were run, each once.  With ``reduction``, each stands for all those that differ from
        it only in the order of independent steps.
    complete : bool
        True if these were all schedules of the program's steps, with any number of preemptions.  Steps are the
        program's operations on cells, barriers, streams and the atomics of `smp.compiled`.  Other accesses are
        looked at for races, and need no steps; those that cannot be seen are in ``unseen``.
    bound : int or None
        All schedules with at most this number of preemptions were run.  None stands for any number, and -1 says that
        not even all schedules without preemptions were run.
    failure : FailedSchedule or None
        The first schedule that failed.
    seconds : float
        Duration of the exploration, in seconds.
    unseen : tuple of Unseen
        Accesses to shared arrays that can't be seen, so a race on them does not show.  Each is ``(where, array, by)``:
        the line, the array, and the code that accesses it.
    left_out : int
        With ``reduction``, the number of choices that were not made because they have more preemptions than the bound.
        Each of them leads to at least one more schedule.
    """

    schedules: int
    complete: bool
    bound: int | None
    failure: FailedSchedule | None
    seconds: float
    unseen: tuple[Unseen, ...] = ()
    left_out: int = 0

    def __str__(self) -> str:
        """Return the result in words, in at most 60 lines."""
        return self._text(LINES)

    def whole(self) -> str:
        """Return the result in words, with all operations and places."""
        return self._text(None)

    def _text(self, most: int | None) -> str:
        rate = f"{several(self.schedules, 'schedule')} in {self.seconds:.3g} s"
        if self.failure is not None:
            failure = self.failure
            kind, preemptions = type(failure.error).__name__, several(failure.preemptions, "preemption")
            text = f"schedule {list(failure.schedule)}: {str(failure.error).splitlines()[0]}"
            return limited([f"failed: {kind} with {preemptions}, found after {rate}", text], failure.operations, most)
        if self.complete:
            claim = f"all schedules of {'its cells, barriers and atomics' if self.unseen else 'the program'}"
        elif self.bound == -1:
            claim = "not all schedules, not even all of those without preemptions"
        else:
            others = (
                f"{several(self.left_out, 'choice')} with more were left out" if self.left_out else "others have more"
            )
            claim = f"all schedules with at most {several(self.bound or 0, 'preemption')}; {others}"
        lines = [f"no failure: {rate}", f"these are {claim}"]
        if self.unseen:
            lines.append("other accesses could not be seen, so races on them do not show:")
            shown = self.unseen if most is None else self.unseen[: most - len(lines) - 1]
            lines += [f"  {one}" for one in shown]
            if len(self.unseen) > len(shown):
                lines.append(f"  ... and {len(self.unseen) - len(shown)} more")
        return "\n".join(lines)


def listed(operations: Sequence[Operation]) -> list[str]:
    """Return a line for each operation."""
    one_each = all(stream == 0 for _, stream, _, _ in operations)
    width = min(_WIDEST, max((len(words) for _, _, words, _ in operations), default=0))
    lines = []
    for rank, stream, words, where in operations:
        name = f"processor {rank}" if one_each else f"processor {rank}.{stream}"
        lines.append(f"{name}  {words:<{width}}  {where}".rstrip())
    return lines


def limited(head: Sequence[str], operations: Sequence[Operation], most: int | None) -> str:
    """Return a head and the operations after it, of which only the last ones are shown if there are too many lines."""
    lines = [f"  {line}" for line in listed(operations)]
    if most is not None and len(head) + len(lines) > most:
        head = head if len(head) <= most // 2 else [*head[: most // 2 - 2], "...", head[-1]]
        kept = most - len(head) - 1
        left_out = len(lines) - kept
        if left_out > 0:
            lines = [f"  ... {left_out:,} earlier lines, which whole() has as well", *lines[left_out:]]
    return "\n".join([*head, *lines])


def several(count: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
