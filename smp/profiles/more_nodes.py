"""Times on a machine of more nodes, computed from what a small machine of its kind was measured to charge.

    collective    the first processor of each of N nodes sends ceil(log2 N) messages, one after the other
    superstep     two barriers, and a third one if a processor writes
    copy          a request to each other node that has elements of it, and as many answers

    low     the requests of a copy are on their way together, and N nodes pass N/2 times as many words at a time as two
    high    each request waits for the answer to the one before it, and all nodes share the network of the measured ones

None of this is measured.  The numbers of messages are those that the processors send (see ``_runtime.nodes``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

STEP, AT_ONCE = ("read of 8 bytes", "far"), ("request and reply, 32 at once", "far")
"""Operations of the section "nodes" that are used: there and back is two steps of a collective."""
ENVELOPE = 96
"""Most bytes of a message, not counting bytes that processors bring to a collective, elements, and positions."""
BARRIERS = 2
"""Barriers of a superstep in which no processor writes."""


class Seconds(NamedTuple):
    """An interval of seconds."""

    low: float
    high: float


def steps(nodes: int) -> int:
    """Return the messages that the first processor of each node sends in a collective.

    Examples
    --------
    >>> [steps(nodes) for nodes in (1, 2, 3, 4, 5, 4096)]
    [0, 1, 2, 2, 3, 12]
    """
    return (nodes - 1).bit_length()


class MoreNodes:
    """A machine with as many processors on each node as a measured one, but with more nodes.

    Parameters
    ----------
    section : mapping
        The section "nodes" of the profile of a machine of at least two nodes with equal numbers of processors.
    nodes : int

    Attributes
    ----------
    barrier, empty_superstep : float
        Seconds.

    Raises
    ------
    KeyError
        If the profile lacks an operation, or the function of good accesses.
    """

    def __init__(self, section: Mapping[str, Any], nodes: int) -> None:
        times = {(row["name"], row["where"]): row["seconds"] for row in section["operations"]}
        function = {row["family"]: row for row in section["functions"]}["good"]
        self.nodes, self._measured = nodes, len(section["nodes"])
        self._each = section["processors"] // self._measured
        self._prices = dict(zip(function["terms"], function["coefficients"], strict=True))
        self._more: float = times[STEP] / 2 * (steps(nodes) - steps(self._measured))
        self._at_once = times[AT_ONCE]
        self.barrier = times["barrier", "all"] + self._more
        self.empty_superstep = times["empty superstep", "all"] + BARRIERS * self._more

    def reads(self, others: int, words: int) -> Seconds:
        """Return the seconds of a superstep in which each processor copies from some other nodes.

        Parameters
        ----------
        others : int
            Nodes from which a processor reads.
        words : int
            Consecutive words of 8 bytes that it reads from each of them.
        """
        read, price = others * words, self._prices
        start = price["L"] + BARRIERS * self._more + (price["ghr"] + price["gfr"]) * read
        shared, message = price["gM"] + price["gMf"], price["gms"]
        return Seconds(
            start + shared * read * self._each * self._measured + message + (others - 1) * self._at_once,
            start + shared * read * self._each * self.nodes + message * others,
        )
