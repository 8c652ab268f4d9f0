"""Names of arrays and cells on several nodes, requests, and messages of a processor to the parent.

The processor sends these next to the messages of ``host.pipe``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .heartbeat import Beats


class Name(NamedTuple):
    """Name of an array: the run that has made it, 0 for the parent, and its number there."""

    run: int
    number: int


class About(NamedTuple):
    """Description of some cells, the same in all processes.

    Attributes
    ----------
    name : Name
    n : int
        Number of cells.
    dtype : numpy.dtype
    words, retries : int
        Words of a cell, and its limit of retries; -1 for that of the thread.
    at : int or None
        Node on which all cells live; None if they are dealt to the nodes as the elements of an array are.
    """

    name: Name
    n: int
    dtype: np.dtype[Any]
    words: int
    retries: int
    at: int | None


class Request(NamedTuple):
    """A request for an operation on one cell of a node, with the bits of a value."""

    name: Name
    cell: int
    what: int
    op: int
    bits: int
    retries: int
    timeout: float | None


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
    """Answer to a probe.

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
    beats : Beats
        Its beats so far.
    """

    wave: int
    stuck: bool
    waits: int
    sent: int
    got: int
    what: str
    place: str
    beats: Beats
