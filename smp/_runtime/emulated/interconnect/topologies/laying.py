"""The parts of one of a machine's networks, while they are laid out.

Each topology has a function that lays out its switches and links, and one that says where a packet goes from a switch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .....machines.layout.communication import Network
from ..layout import SWITCH, WAYS


@dataclass
class Link:
    """A link: the switch at its end, or -1 - n for node n, its output, its wire, and its time for a byte in ps."""

    end: int
    output: int
    wire: int
    per_byte: int


@dataclass
class Laying:
    """Collects the switches and links of one network.

    The links into the nodes come first: that into node n has the number ``into`` + n. The others are numbered from
    ``more`` on, switches from ``switch`` on, outputs from ``output`` on.
    """

    nodes: int
    network: Network
    per_byte: Callable[[int], int]
    into: int
    more: int
    switch: int
    output: int
    switches: list[list[int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    entries: list[Link] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    exits: list[int] = field(default_factory=list)

    def add_switch(self, name: str, *row: int) -> int:
        """Add a switch; return its number."""
        self.names.append(name)
        self.switches.append([*row, *[0] * (SWITCH - len(row))])
        return self.switch + len(self.switches) - 1

    def add_output(self) -> int:
        self.output += 1
        return self.output - 1

    def add_links(self, ends: Sequence[int], level: int = 0, together: bool = False) -> int:
        """Add links to switches with consecutive numbers; if ``together``, a packet may take any of them.

        Return the number of the first one.
        """
        first = self.more + len(self.links)
        shared = self.add_output() if together else -1
        for end in ends:
            output = shared if together else self.add_output()
            self.links.append(Link(end, output, self.more + len(self.links), self.per_byte(level)))
        return first

    def add_pair(self, end: int, level: int = 0) -> int:
        """Add two links to a switch that share one wire; return the number of the first one."""
        first, output = self.more + len(self.links), self.add_output()
        self.links += [Link(end, output, first, self.per_byte(level)) for _ in range(2)]
        return first

    def add_entries(self, fast: bool = False) -> None:
        """Add the links into the nodes; ``fast`` ones take no time."""
        for node in range(self.nodes):
            time = 0 if fast else self.per_byte(0)
            self.entries.append(Link(-1 - node, self.add_output(), self.into + node, time))

    def add_exit(self, first: int, count: int = 1) -> None:
        """Set the links that the packets of the next node take first."""
        self.exits.append(first * WAYS + count)
