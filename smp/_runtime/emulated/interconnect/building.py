"""Arrays of a network's state, built from the prices of a machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import layout
from .draws import MODULUS
from .layout import HEADER, LINK, NEVER, NEXT, NODE, NONE, OUTPUT_ROW, PACKET, SWITCH, WAYS
from .prices import Prices
from .timing import set_timer
from .topologies.laying import Laying, Link
from .topologies.routes import KINDS, lay

Array = NDArray[np.int64]
MANY = 1 << 40  # room in a queue that is never full
FIRST_PACKETS = 1024


def sizes_of(kind: str, nodes: int, shape: Sequence[int] | None) -> tuple[int, ...]:
    """Return the nodes in each dimension of a mesh or a torus, as equal as possible if no shape is given."""
    dimensions = {"mesh": 2, "torus3": 3}.get(kind, 0)
    if shape is not None and math.prod(shape) == nodes:
        return tuple(shape)
    sizes, left = [], nodes
    for dimension in range(dimensions, 0, -1):
        size = next(one for one in range(round(left ** (1 / dimension)), 0, -1) if left % one == 0)
        sizes.append(size)
        left //= size
    return tuple(sorted(sizes, reverse=True))


class State:
    """The arrays of a network, and the address of its header.

    Parameters
    ----------
    prices : Prices
    nodes : int
    seed : int
        Seed of the choices of the switches.
    contention : bool
        False if packets do not meet: each takes the time that it has alone, and queues are never full.
    drawn_first : bool
        True if a link is drawn from equal ones before it is known which are free.
    """

    def __init__(self, prices: Prices, nodes: int, seed: int, contention: bool, drawn_first: bool = False) -> None:
        network, interface = prices.network, prices.interface
        if nodes < 1 or (network.kind == "hypercube" and nodes & (nodes - 1)):
            raise ValueError(f"{nodes} nodes: there must be at least one, and in a hypercube a power of two")
        if prices.stolen >= prices.stolen_every > 0:
            raise ValueError("clock.interrupt_cost is not below clock.interrupt_every: interrupts would take all time")
        channels, queues = interface.channels, nodes * interface.channels
        drops = interface.overflow == "drop" and contention
        self.prices, self.nodes, self.channels = prices, nodes, channels
        self.sizes = sizes_of(network.kind, nodes, network.shape)
        layings = self._lay(prices)
        self.switch_names = [name for one in layings for name in one.names]
        more = sum(len(one.links) for one in layings)
        rows = 2 * queues + more + (queues if drops else 0)
        self.landings = 2 * queues + more if drops else queues
        outputs = layings[-1].output + (queues if drops else 0)
        self.links = np.zeros((rows, LINK), np.int64)
        self.outputs = np.zeros((max(1, outputs), OUTPUT_ROW), np.int64)
        self.outputs[:, : layout.WAITS_LAST + 1] = NONE
        self.switches = np.array([row for one in layings for row in one.switches], np.int64).reshape(-1, SWITCH)
        self.node_rows = np.zeros((nodes, NODE), np.int64)
        self.packets = np.zeros((0, PACKET), np.int64)
        self.header = np.zeros(HEADER, np.int64)
        actors = rows + outputs + 3 * nodes + 1
        self.leaves = 1 << max(1, (actors - 1).bit_length())
        self.timers = np.full(2 * self.leaves, NEVER, np.int64)
        self._fill_links(layings, drops)
        self._fill_header(seed, contention, rows, outputs)
        self.header[layout.DRAWN_FIRST] = drawn_first
        self.grow()

    def _lay(self, prices: Prices) -> list[Laying]:
        """Lay out the networks of all channels."""
        layings: list[Laying] = []
        queues = self.nodes * self.channels
        more, switch, output = 2 * queues, 0, 0
        for channel in range(self.channels):
            into = queues + channel * self.nodes
            one = Laying(self.nodes, prices.network, prices.per_byte, into, more, switch, output)
            lay(one, self.sizes)
            layings.append(one)
            more, switch, output = more + len(one.links), switch + len(one.switches), one.output
        return layings

    def _fill_links(self, layings: list[Laying], drops: bool) -> None:
        prices, links, channels = self.prices, self.links, self.channels
        interface, network = prices.interface, prices.network
        hop, latency = prices.time(network.hop), prices.time(network.latency)
        buffers = network.buffers if network.buffers is not None else 1
        links[:, [layout.FIRST, layout.LAST]] = NONE
        links[:, layout.WIRE] = np.arange(len(links))

        def fill(number: int, link: Link, room: int, lag: int, whole: int) -> None:
            row = links[number]
            row[layout.ROOM], row[layout.LAG], row[layout.WHOLE] = room, lag, whole
            row[layout.END], row[layout.OUTPUT], row[layout.WIRE] = link.end, link.output, link.wire
            row[layout.PER_BYTE] = link.per_byte

        for channel, one in enumerate(layings):
            for node, ways in enumerate(one.exits):
                row = links[node * channels + channel]
                row[layout.ROOM], row[layout.AHEAD] = interface.out_fifo, ways
            for node, link in enumerate(one.entries):
                fill(one.into + node, link, MANY if drops else interface.in_fifo, latency, 1)
                if drops:
                    landing = self.landings + channel * self.nodes + node
                    output = layings[-1].output + channel * self.nodes + node
                    fill(landing, Link(link.end, output, landing, 0), interface.in_fifo, 0, 1)
                    links[one.into + node, layout.AHEAD] = landing * WAYS + 1
                    links[one.into + node, layout.END] = 0
                    self.outputs[output, layout.DROPS] = 1
            for number, link in enumerate(one.links, one.more):
                fill(number, link, buffers, hop, 0)

    def _fill_header(self, seed: int, contention: bool, rows: int, outputs: int) -> None:
        prices, header, nodes = self.prices, self.header, self.nodes
        network, interface = prices.network, prices.interface
        for word, array in (
            (layout.LINKS, self.links),
            (layout.OUTPUTS, self.outputs),
            (layout.SWITCHES, self.switches),
            (layout.NODES, self.node_rows),
            (layout.TIMERS, self.timers),
        ):
            header[word] = array.ctypes.data
        header[layout.LEAVES] = self.leaves
        header[layout.OUTPUT_ACTORS] = rows
        header[layout.PROCESSOR_ACTORS] = rows + outputs
        header[layout.SENDER_ACTORS] = rows + outputs + nodes
        header[layout.TAKER_ACTORS] = rows + outputs + 2 * nodes
        header[layout.SAMPLER] = rows + outputs + 3 * nodes
        header[layout.KIND], header[layout.CHANNELS], header[layout.PROCESSORS] = (
            *(KINDS[network.kind], self.channels, nodes),
        )
        header[layout.SIZES : layout.SIZES + len(self.sizes)] = self.sizes
        header[layout.LANDINGS], header[layout.FREE_PACKET], header[layout.WOKEN] = self.landings, NONE, NONE
        header[layout.DRAWN] = 1 + (seed * 2654435761 + 12345) % (MODULUS - 1)
        header[layout.CONTENTION] = contention and network.kind != "ideal"
        header[layout.BY_BYTES] = interface.counted_in == "bytes"
        header[layout.RESEND_AFTER] = prices.time(interface.resend_after or 0)
        if network.link_cycles_per_packet is not None:
            header[layout.CELL_SIZE] = 1
        elif network.cell is not None:
            header[layout.CELL], header[layout.CELL_SIZE] = network.cell.payload, network.cell.size
        header[layout.SEND], header[layout.POLL], header[layout.HANDLE] = prices.send, prices.poll, prices.handle
        header[layout.START], header[layout.PACE], header[layout.BARRIER] = prices.start, prices.pace, prices.barrier
        header[layout.PAYLOAD] = prices.payload
        header[layout.STOLEN_EVERY], header[layout.STOLEN] = prices.stolen_every, prices.stolen
        self.node_rows[:, layout.STOLEN_AT] = NEVER
        if prices.stolen_every:
            draws = np.random.default_rng([seed, nodes])
            self.node_rows[:, layout.STOLEN_AT] = draws.integers(0, prices.stolen_every, nodes)

    @property
    def address(self) -> int:
        return int(self.header.ctypes.data)

    def grow(self) -> None:
        """Double the rows for packets."""
        old = len(self.packets)
        new = np.zeros((max(FIRST_PACKETS, 2 * old), PACKET), np.int64)
        new[:old] = self.packets
        new[old:, NEXT] = np.arange(old + 1, len(new) + 1)
        new[-1, NEXT] = self.header[layout.FREE_PACKET]
        self.packets = new
        self.header[layout.PACKETS] = new.ctypes.data
        self.header[layout.FREE_PACKET] = old

    def sample(self, picture: Array, now: int, every: int) -> None:
        """Write into the rows of ``picture``, from now on, how many packets are in the network for each node."""
        self.header[layout.PICTURE], self.header[layout.SAMPLES] = picture.ctypes.data, len(picture)
        self.header[layout.EVERY], self.header[layout.SAMPLED] = every, 0
        self._set_sampler(now)

    def stop_sampling(self) -> None:
        self._set_sampler(NEVER)

    def _set_sampler(self, time: int) -> None:
        set_timer(self.header, int(self.header[layout.SAMPLER]), time)
