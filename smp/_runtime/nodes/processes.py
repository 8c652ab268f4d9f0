"""The processes of a machine of several nodes, which need not be on the parent's computer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..host.processes import Processes


class NodesProcesses(Processes):
    """The processes of the processors; see `Processes`.

    Attributes
    ----------
    leave : callable
        Has those that live end by themselves.  A launcher may say which process has ended only after all have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.leave: Callable[[], object] = lambda: None

    def lost(self, rank: int) -> tuple[Any, ...] | None:
        """Return the event, as `event` does, when the line of a process has ended.

        It may also be ("lost", rank, None): the line is lost, and the process may go on.
        """
        raise NotImplementedError

    def next_run(self) -> int:
        """Return a new number for a run; the machines of the same processes, one after another, share the numbers.

        So a message that is left of an earlier machine belongs to no run.
        """
        raise NotImplementedError

    def printed(self) -> Iterator[tuple[str, bool]]:
        """Yield what programs have printed to their own outputs since the last call, and whether they are errors."""
        raise NotImplementedError
