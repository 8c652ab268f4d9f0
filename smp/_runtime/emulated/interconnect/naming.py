"""Names of links and queues, and the description of a network in which no packet can move."""

from __future__ import annotations

import numpy as np

from . import layout
from .building import MANY, State
from .sleeping import IDLE
from .transfers import COLLECTING, HANDING, MEETING, POLLING, SENDING

_SHOWN = 8
_WAITS = {
    SENDING: "for room to send a packet",
    POLLING: "for room to send a packet",
    COLLECTING: "for packets that are still to come",
    MEETING: "in a barrier",
    HANDING: "for their devices",
}


def link_name(state: State, number: int) -> str:
    """Return the name of a queue or of the link that fills it."""
    queues, nodes, channels = state.nodes * state.channels, state.nodes, state.channels
    if number < queues:
        return f"output queue of node {number // channels}, channel {number % channels}"
    for first in (state.landings, queues):
        if first <= number < first + queues:
            kind = "input queue of node" if first == state.landings else "link into node"
            return f"{kind} {(number - first) % nodes}, channel {(number - first) // nodes}"
    return f"link {number} to {state.switch_names[state.links[number, layout.END]]}"


def deadlock(state: State) -> str:
    """Describe a network in which some nodes wait, and nothing can happen any more."""
    modes = state.node_rows[:, layout.MODE]
    waits: dict[str, list[int]] = {}
    for node in np.flatnonzero(modes != IDLE):
        waits.setdefault(_WAITS[int(modes[node])], []).append(int(node))
    parts = [f"{_counted(nodes, 'node')} wait{'s' if len(nodes) == 1 else ''} {what}" for what, nodes in waits.items()]
    links = state.links
    full = np.flatnonzero((links[:, layout.USED] >= links[:, layout.ROOM]) & (links[:, layout.ROOM] < MANY))
    text = f"no packet can move any more, and {int((modes != IDLE).sum())} of {state.nodes} nodes are not done: "
    text += "; ".join(parts)
    if len(full) == 0:
        return text + ". No queue is full."
    inputs = [one for one in full if state.landings <= one < state.landings + state.nodes * state.channels]
    shown = [*inputs, *(one for one in full if one not in set(inputs))][:_SHOWN]
    names = "; ".join(link_name(state, int(one)) for one in shown)
    more = f"; and {len(full) - len(shown)} more" if len(full) > len(shown) else ""
    advice = ""
    if (modes == MEETING).any() and not state.node_rows[modes == MEETING, layout.POLLS_IN_BARRIER].any():
        advice = ". Nodes that wait in the barrier receive nothing: let them poll there"
    return f"{text}. Full queues: {names}{more}{advice}."


def _counted(nodes: list[int], what: str) -> str:
    """Return the number of some nodes with the first of them, as text."""
    if len(nodes) == 1:
        return f"{what} {nodes[0]}"
    shown = ", ".join(map(str, nodes[:_SHOWN]))
    return f"{len(nodes)} {what}s ({shown}{', ...' if len(nodes) > _SHOWN else ''})"
