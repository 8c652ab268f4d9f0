"""Messages from a processor of a machine of several nodes to its parent, next to those of ``host.pipe``."""

from __future__ import annotations

from typing import Any, NamedTuple


class Did(NamedTuple):
    """An order of the parent was carried out: its ticket, what was found, and the error if there is one."""

    ticket: int
    found: Any
    error: str


class Printed(NamedTuple):
    """Whole lines that the program has printed: their text, their number, and whether they are errors."""

    text: str
    lines: int
    error: bool


class Probed(NamedTuple):
    """What a processor does: the answer to a probe.

    Attributes
    ----------
    wave : int
        Number of the probe.
    stuck : bool
        Whether the program waits, without a deadline, for something that has not come.
    waits, sent, got : int
        Numbers of waits so far, and of messages to and from other processors.
    what, place : str
        The operation in which the program is, and its line.
    """

    wave: int
    stuck: bool
    waits: int
    sent: int
    got: int
    what: str
    place: str
