"""Results of a run on a network: its counters, the times of the nodes, the packets that were under way to each node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import layout
from .building import Array, State
from .naming import link_name


@dataclass(frozen=True)
class Counters:
    """Counters of a network since it was built.

    Attributes
    ----------
    injected, taken : int
        Packets that nodes have put into it and taken out.
    moves : int
        Times that a packet went from one queue to the next.
    events : int
        Events that were simulated: moves, steps of processors and devices, ends of waits.
    refused : int
        Packets that an output queue had no room for.
    dropped : int
        Packets that an input queue had no room for, on a machine that drops them; each was sent again.
    longest_queue : int
        Most packets (or bytes, in a queue of a node that counts them) that a queue on a wire held.
    busiest_link : str
        The link that most packets went over.
    busiest_packets : int
        Their number.
    across : tuple of int
        Bytes of data from the lower half of the nodes to the upper one, and back.
    most_bound : int
        Most packets for the same node that were in the network at the same time.
    """

    injected: int
    taken: int
    moves: int
    events: int
    refused: int
    dropped: int
    longest_queue: int
    busiest_link: str
    busiest_packets: int
    across: tuple[int, int]
    most_bound: int


def counters(state: State) -> Counters:
    """Return the counters of a network."""
    header, links = state.header, state.links
    busiest = int(links[:, layout.COUNT].argmax())
    return Counters(
        injected=int(header[layout.INJECTED]),
        taken=int(header[layout.TAKEN]),
        moves=int(header[layout.MOVES]),
        events=int(header[layout.EVENTS]),
        refused=int(header[layout.REFUSED]),
        dropped=int(header[layout.DROPPED]),
        longest_queue=int(links[:, layout.MOST].max()),
        busiest_link=link_name(state, busiest),
        busiest_packets=int(links[busiest, layout.COUNT]),
        across=(int(header[layout.BOUND_RIGHT]), int(header[layout.BOUND_LEFT])),
        most_bound=int(state.node_rows[:, layout.MOST_BOUND].max()),
    )


@dataclass(frozen=True)
class Outcome:
    """The times of some blocks.

    Attributes
    ----------
    seconds : array of float64, shape (nodes,)
        For each node, the time from the start of the run until it had sent and received everything.
    sent : array of int64, shape (nodes,)
        Packets that each node has sent.
    counters : Counters
    picture : array of int64, shape (samples, nodes)
        Packets in the network for each node, at equal intervals; empty if no interval was given.
    """

    seconds: NDArray[np.float64]
    sent: Array
    counters: Counters
    picture: Array
