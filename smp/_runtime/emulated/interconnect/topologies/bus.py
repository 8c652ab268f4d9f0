"""Bus: one wire that all nodes use in turn. A packet that its node has no room for holds the bus."""

from __future__ import annotations

from .laying import Laying


def lay(laying: Laying) -> None:
    """Lay out the bus, with a switch at its end from which packets go to their nodes in no time."""
    wire = laying.add_links([laying.add_switch("the end of the bus", laying.into)])
    laying.add_entries(fast=True)
    for _ in range(laying.nodes):
        laying.add_exit(wire)
