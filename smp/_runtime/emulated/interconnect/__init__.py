"""Networks of packets between the nodes of emulated machines: topologies, wires, queues, block transfers.

Interconnect    a network of a machine file; it runs without the emulator
Blocks          what its nodes send, if the network also simulates their processors

Packets are simulated event by event, in machine code: `layout` has the words that it works on, and `events` its
functions. The data of a packet stay where they are; the network moves a size, a source, a destination and a number.
"""

from __future__ import annotations

from .blocks import Blocks
from .interconnect import Interconnect
from .outcomes import Counters, Outcome

__all__ = ["Blocks", "Counters", "Interconnect", "Outcome"]
