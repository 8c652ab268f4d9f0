"""Tables of a machine file that describe messages: the work at both ends, queues, wires, the control network."""

from __future__ import annotations

from dataclasses import dataclass, field

from .settings import BYTES, CYCLES, FLAG, RATE, Choice, Number, Several, number_of, setting, table

NETWORKS = ("fat-tree", "mesh", "torus3", "hypercube", "switch", "bus", "ideal")
ROUTING = {
    "fat-tree": "up-random",
    "mesh": "dimension",
    "torus3": "dimension",
    "hypercube": "dimension",
    "switch": "source",
}
"""Routing of each kind of network that has a choice of ways."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """Table ``[message]``: what sending and receiving take of the processor's own time."""

    notify: str = setting(Choice(("poll", "interrupt")), "how a processor notices that a packet has come")
    request: float = setting(CYCLES, "time to send a request")
    rpc: float = setting(CYCLES, "time to send a message that may only go to the other network")
    inject: float = setting(CYCLES, "time to send a packet of a block")
    inject_at: float | None = setting(
        CYCLES, "time in a request after which the packet is in the network; without it, the end", default=None
    )
    receive: float = setting(CYCLES, "time to receive a packet, with the poll that finds it")
    dispatch: float = setting(CYCLES, "time to begin a handler, if that is not in `receive`", default=0)
    poll_empty: float = setting(CYCLES, "time of a poll that finds nothing")
    payload: int = setting(BYTES, "data of a packet")
    words: int = setting(number_of("words"), "words of data in an active message")
    handlers_atomic: bool = setting(FLAG, "true if a handler runs to its end before the next", default=True)


@dataclass(frozen=True, kw_only=True)
class Block:
    """Table ``[block]``: the transfer of a block of data."""

    dma: bool = setting(FLAG, "true if a device moves the block while the processor goes on")
    start: float = setting(CYCLES, "processor time to begin a block")
    per_packet: float = setting(CYCLES, "processor time for each packet", default=0)
    bandwidth: float | None = setting(
        RATE, "rate at which a node moves a block, by its device or else by copies of the processor", default=None
    )
    strided_per_element: float = setting(CYCLES, "time for each element that does not follow the one before", default=0)


@dataclass(frozen=True, kw_only=True)
class Interface:
    """Table ``[interface]``: the queues between a processor and the network."""

    counted_in: str = setting(Choice(("packets", "bytes")), "unit of both queues", default="packets")
    out_fifo: int = setting(number_of("packets or bytes"), "room of the output queue")
    in_fifo: int = setting(number_of("packets or bytes"), "room of the input queue")
    channels: int = setting(number_of("networks"), "independent networks", default=1)
    overflow: str = setting(
        Choice(("stall", "drop")), "if an input queue is full, packets wait, or they are dropped", default="stall"
    )
    resend_after: float | None = setting(
        Number("cycles", least=1), "time after which a dropped packet is sent again", default=None
    )


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Table ``[network.cell]``: the unit that travels on a link."""

    size: int = setting(BYTES, "bytes on the link")
    payload: int = setting(BYTES, "bytes of data in it")


@dataclass(frozen=True, kw_only=True)
class Network:
    """Table ``[network]``: the wires and switches between the nodes."""

    kind: str = setting(Choice(NETWORKS), "topology")
    shape: tuple[int, ...] | None = setting(
        Several(number_of("nodes")), "nodes in each dimension; without it, as equal as possible", default=None
    )
    arity: int | None = setting(number_of("children", 2), "children of a switch in a fat tree", default=None)
    latency: float = setting(CYCLES, "time of a crossing that does not depend on the distance", default=0)
    hop: float = setting(CYCLES, "time of a packet's head in each switch")
    links: tuple[int, ...] | None = setting(
        Several(number_of("links")),
        "equal links between two switches, for each level upward",
        default=None,
    )
    link_bandwidth: tuple[float, ...] | None = setting(
        Several(RATE),
        "bandwidth of all links between two switches, those of all channels, in one direction, for each level from the "
        "nodes upward; higher levels have the last one",
        default=None,
    )
    link_cycles_per_packet: float | None = setting(
        CYCLES, "time of a packet on a link, instead of a bandwidth", default=None
    )
    buffers: int | None = setting(number_of("packets"), "packets that a link holds", default=None)
    routing: str | None = setting(
        Choice(tuple(dict.fromkeys(ROUTING.values()))), "choice of the way, where there is one", default=None
    )
    cell: Cell | None = field(default=None, metadata=table(Cell, "unit that travels, if it has a fixed size"))


@dataclass(frozen=True, kw_only=True)
class Vector:
    """Table ``[control.combine]`` or ``[control.broadcast]``: the time of a collective by the length of its vector.

    The levels are the binary logarithm of the number of processors.
    """

    start: float = setting(CYCLES, "time that does not depend on the length")
    per_word: float = setting(CYCLES, "time for each word")
    per_level: float = setting(CYCLES, "time for each level of the tree", default=0)
    per_word_level: float = setting(CYCLES, "time for each word at each level of the tree", default=0)


@dataclass(frozen=True, kw_only=True)
class Control:
    """Table ``[control]``: how processors synchronise."""

    kind: str = setting(Choice(("tree", "none")), "a network of its own, or none: then messages in a tree")
    fan_out: int | None = setting(number_of("children"), "children of a node in the tree of messages", default=None)
    barrier: float | None = setting(CYCLES, "time of a barrier", default=None)
    combine: Vector | None = field(default=None, metadata=table(Vector, "time of a reduction or a scan"))
    broadcast: Vector | None = field(default=None, metadata=table(Vector, "time of a broadcast"))
    global_or: float | None = setting(CYCLES, "time until a flag of one processor is seen by all", default=None)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Table ``[protocol]``: hardware for handlers."""

    processor: bool = setting(FLAG, "true if handlers run on hardware of their own, next to the program")
