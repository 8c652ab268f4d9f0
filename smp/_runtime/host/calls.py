"""The part of a machine's parent that does not depend on where its processors are: one call at a time, and its end."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from smp.errors import MachineClosed, MachineError, ProgramError, SmpError, Unsupported, WaitTimeout

from ..program.answers import Answer, Mismatched, Raised
from ..program.failures import CLOSED, Death, Failure, RaisedBy, Unmatched
from ..program.place import Place
from .pipe import Ready

GRACE = 0.5  # seconds for the other processors to notice a failure by themselves
STOPPED = 5.0  # seconds for a call to fail after its processors were killed


class Calls(ABC):
    """The calls of one machine.

    Attributes
    ----------
    kind : str
        Name of the kind of machine; the function ``smp.KIND`` opens one.
    size : int
        Number of processors.
    nodes : list of int
        Node of each processor.
    closed : str
        Reason why the machine is closed; empty while it is open.
    """

    def __init__(self, kind: str, nodes: list[int]) -> None:
        self.kind, self.size, self.nodes, self.closed = kind, len(nodes), nodes, ""
        self._new_one = self._remedy = f"open a new one with smp.{kind}()"
        self._owner = os.getpid()
        self._pending: set[int] = set()  # ranks that have not answered yet
        self._stopped = False
        self._calling = threading.Lock()

    @abstractmethod
    def _alive(self) -> Collection[int]:
        """Return the ranks whose end has not been reported."""

    @abstractmethod
    def _kill(self, rank: int) -> None:
        """Kill a processor."""

    def _seen(self, rank: int) -> Place:
        """Return where a processor was seen last."""
        return Place()

    @abstractmethod
    def _first(self, failures: Sequence[Failure]) -> Failure:
        """Return the failure that an error reports, of those that have come."""

    @abstractmethod
    def close(self, why: str, patience: float = GRACE) -> None:
        """End the processors and wait until they are gone; they get ``patience`` seconds to end by themselves."""

    def _lose(self, why: str) -> None:
        """End the processors after a call that has failed."""
        self.close(why, patience=0.0)

    def restart(self) -> None:
        """Raise `Unsupported`: the memory of these processors ends with them."""
        raise Unsupported(
            f"machine.restart() needs memory that outlives the processors, as on smp.host(); {self._new_one}"
        )

    def trace(self) -> Sequence[tuple[int, int, str, str]]:
        """Raise `Unsupported`: no steps are kept."""
        why = f"the processors of the {self.kind} machine run at the same time, so there is no list of steps"
        raise Unsupported(f"{why}; smp.emulated(..., trace=True) keeps one")

    def _must_be_open(self) -> None:
        if self.closed:
            raise MachineClosed(f"this machine is closed: {self.closed}; {self._remedy}")
        if os.getpid() != self._owner:
            raise MachineError(
                f"this machine belongs to process {self._owner}; a process forked from it must open its own machine"
            )

    @contextmanager
    def _one_call(self) -> Iterator[None]:
        """Close the machine after a call that some processors have not answered, or in which one has ended."""
        why = "an exception interrupted a run"
        try:
            yield
        except (ProgramError, WaitTimeout) as error:
            if self._stopped:
                why = "close() was called while its program ran"
                raise MachineClosed(f"this machine was closed: {why}") from None
            why = str(error).splitlines()[0].removesuffix(CLOSED)
            raise
        except (MachineError, KeyboardInterrupt) as error:
            why = str(error) or "Ctrl-C ended a run, and not all processors stopped by themselves"
            raise
        finally:
            if self._pending or len(self._alive()) < self.size:
                self._lose(why)

    def _took(self, rank: int, answer: Answer | Ready, answers: dict[int, Answer | Ready]) -> Failure | None:
        """Take the answer of a processor; return the failure that it reports, if any."""
        if isinstance(answer, Raised):
            return RaisedBy(rank, answer)
        answers.setdefault(rank, answer)
        if isinstance(answer, Mismatched):
            return Unmatched(rank)
        self._pending.discard(rank)
        return None

    def _outcome(
        self, answers: Mapping[int, Any], failures: Sequence[Failure], pressed: BaseException | None
    ) -> list[Any]:
        """Kill the processors that have not answered; return the answers by rank, or raise the error of the call.

        ``pressed`` is the exception of a Ctrl-C, or of another signal, that has ended the call.
        """
        for rank in self._pending:
            self._kill(rank)
        if pressed is not None:
            raise pressed
        if self._pending and not failures:  # they did not start in time
            failures = [Death(rank, None, self._seen(rank)) for rank in self._pending]
        if failures:
            raise self._noted(self._first(failures).error(answers, self.size), failures)
        return [answers[rank] for rank in range(self.size)]

    def stop(self) -> None:
        """Kill the processors during a call that another thread waits for; it then fails, and closes the machine."""
        self._stopped = True
        for rank in range(self.size):
            self._kill(rank)
        if self._calling.acquire(timeout=STOPPED):
            self._calling.release()

    def _noted(self, error: SmpError, failures: Sequence[Failure]) -> SmpError:
        """Return the error of a run, with a note that names the processors that had to be killed."""
        stubborn = self._pending - {failure.rank for failure in failures if isinstance(failure, Death)}
        if stubborn:
            who = f"processor{'s' * (len(stubborn) > 1)} {', '.join(map(str, sorted(stubborn)))}"
            error.add_note(f"{who} did not stop within {GRACE} s and {'were' if len(stubborn) > 1 else 'was'} killed.")
        return error
