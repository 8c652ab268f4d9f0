"""Published numbers of the CM-5, which the report prints next to the messages and collectives of this computer.

The machine had 64 nodes of 33 MHz, a network of packets of five words of 4 bytes, and a network of its own for
barriers and combining.  The numbers are those of the Strata library.

Source: E. A. Brewer, Portable High-Performance Supercomputing, 1994, with its Strata manual.
"""

from __future__ import annotations

from dataclasses import dataclass

CYCLE_NS = 30.3
MACHINE = "CM-5, 64 nodes, 33 MHz"


@dataclass(frozen=True)
class Published:
    """A published number of cycles, what it counts, and its place in the source."""

    cycles: float
    what: str
    place: str

    @property
    def ns(self) -> float:
        """The time in ns."""
        return self.cycles * CYCLE_NS


MANUAL = "manual, table 1"
BARRIER = Published(140, "barrier", MANUAL)
COMBINE = Published(150, "combine of one word", MANUAL)
COMBINE_VECTOR = Published(47.5, "110.1 + 47.5 cycles for each word of a vector", "figure 6-6")
BROADCAST = Published(90, "broadcast of one word", MANUAL)
BROADCAST_VECTOR = Published(49, "49 cycles for each word of a vector", MANUAL)
SEND = Published(43, "send with nothing arriving", MANUAL)
POLL = Published(22, "poll of both networks", MANUAL)
RECEIVE = Published(62, "packet of a block received", "section 6.1.3")
SEND_AND_RECEIVE = Published(89, "packet of a block sent and one received", "section 6.1.3")
ROUND_TRIP = Published(404.2, "round trip, without 14.4 cycles for each hop", "figure 6-6")
