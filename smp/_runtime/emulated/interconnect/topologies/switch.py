"""One switch: a link from each node to it, and one back. An ideal network is the same, with links that take no time."""

from __future__ import annotations

from ....loops.atomics import Words
from ....loops.compiler import inline
from ..layout import SWITCH, WAYS, switches_of
from .laying import Laying


def lay(laying: Laying) -> None:
    """Lay out the switch and its links."""
    number = laying.add_switch("the switch", laying.into)
    laying.add_entries()
    for _ in range(laying.nodes):
        laying.add_exit(laying.add_links([number]))


@inline
def way(header: Words, switch: int, destination: int) -> int:
    """Return the ways of a packet from the switch."""
    return int((switches_of(header)[switch * SWITCH] + destination) * WAYS + 1)
