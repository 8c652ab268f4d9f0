"""The time of messages and blocks on the wires of a machine file without contention, in ps.

    latency + hops * hop + serialisation      the packets of a message follow each other closely, so that all but the
                                              first one add their time on one link

Source of the hops: E. A. Brewer, Portable High-Performance Supercomputing, section 6.2 and figure 6-6.
"""

from __future__ import annotations

from collections.abc import Callable

from smp.machines import MachineFile
from smp.machines.layout.communication import Network

from ..virtual_time import SECOND, picoseconds
from .software import WORD, Software


class Times:
    """Times between the nodes of a machine.

    Parameters
    ----------
    file : MachineFile
        A machine with the tables ``[message]`` and ``[network]``.
    size : int
        Number of nodes.
    """

    def __init__(self, file: MachineFile, size: int) -> None:
        network, hz = file.network, file.clock.hz
        assert network is not None
        self._software = Software.of(file)
        self._latency, self._hop = picoseconds(network.latency, hz), network.hop * SECOND / hz
        self._on_a_link = _link_time(network, hz, file.interface.channels if file.interface else 1)
        self.hops = hops(network, size)

    def message(self, source: int, to: int, nbytes: int) -> int:
        """Return the time of a message from its sender's end to its receiver's."""
        return self._latency + round(self.hops(source, to) * self._hop + self._on_a_link(max(nbytes, WORD)))

    def last_packet(self, source: int, to: int, nbytes: int, device: bool) -> int:
        """Return the time from the end of sending a message or block until all of it has arrived.

        The bytes that a device moves follow each other closely.
        """
        return self.message(source, to, 0 if device else min(nbytes, self._software.payload))

    def block(self, source: int, to: int, nbytes: int) -> int:
        """Return the time of a block: of its device, or of the last packet that the sender sends."""
        device = self._software.block_byte > 0
        return self.last_packet(source, to, nbytes, device) + round(nbytes * self._software.block_byte)


def hops(network: Network, size: int) -> Callable[[int, int], int]:
    """Return the function ``hops(source, to)``: the links between switches or nodes on the way.

    In a fat tree, these are the links up to the lowest common ancestor and down again.
    """
    if network.kind == "fat-tree":
        arity = network.arity or 2

        def in_tree(source: int, to: int) -> int:
            levels = 0
            while source != to:
                source, to, levels = source // arity, to // arity, levels + 1
            return 2 * levels

        return in_tree
    if network.kind == "hypercube":
        return lambda source, to: (source ^ to).bit_count()
    if network.kind in ("mesh", "torus3"):
        shape = network.shape or balanced(size, 2 if network.kind == "mesh" else 3)
        around = network.kind == "torus3"

        def in_grid(source: int, to: int) -> int:
            sum_of = 0
            for length in reversed(shape):
                distance = abs(source % length - to % length)
                sum_of += min(distance, length - distance) if around else distance
                source, to = source // length, to // length
            return sum_of

        return in_grid
    return lambda source, to: int(source != to)


def balanced(size: int, dimensions: int) -> tuple[int, ...]:
    """Return the lengths of a grid of ``size`` nodes, as equal as they can be, the longest one first.

    Examples
    --------
    >>> balanced(32, 2), balanced(64, 3)
    ((8, 4), (4, 4, 4))
    """
    if dimensions == 1:
        return (size,)
    length = next(n for n in range(round(size ** (1 / dimensions)), 0, -1) if size % n == 0)
    return (*balanced(size // length, dimensions - 1), length)


def _link_time(network: Network, hz: float, channels: int) -> Callable[[int], float]:
    """Return the time of a number of bytes on the link of a node, in ps; it carries cells if they have a fixed size.

    The channels share the bandwidth of the link, also while only one of them is used.
    """
    cell, cycles = network.cell, network.link_cycles_per_packet
    if cycles is not None:
        return lambda nbytes: cycles * SECOND / hz
    per_byte = channels * SECOND / network.link_bandwidth[0] if network.link_bandwidth else 0.0
    if cell is None:
        return lambda nbytes: nbytes * per_byte
    return lambda nbytes: -(-nbytes // cell.payload) * cell.size * per_byte
