"""Topologies: distances in closed form, the limits of narrow cuts, and no packets that block each other for ever."""

from __future__ import annotations

import numpy as np
import pytest
from support.packet_networks import HOP, NANO, ON_LINK, machine, network, shifts

import smp
from smp._runtime.emulated.interconnect import Blocks, Interconnect, layout


def switches(kind: str, nodes: int, a: int, b: int) -> int:
    """Return the switches between two nodes, from formulas."""
    if kind == "fat-tree":
        level = next(level for level in range(1, 9) if a // 2**level == b // 2**level)
        return 2 * level - 1
    if kind == "mesh":
        (ra, ca), (rb, cb) = divmod(a, 4), divmod(b, 4)
        return abs(ra - rb) + abs(ca - cb) + 1
    if kind == "torus3":
        places = [np.array(np.unravel_index(one, (3, 3, 2))) for one in (a, b)]
        apart = abs(places[0] - places[1])
        return int(np.minimum(apart, np.array((3, 3, 2)) - apart).sum()) + 1
    if kind == "hypercube":
        return (a ^ b).bit_count() + 1
    return 1


@pytest.mark.parametrize(
    ("kind", "nodes"), [("fat-tree", 13), ("mesh", 16), ("torus3", 18), ("hypercube", 16), ("switch", 5), ("bus", 5)]
)
def test_the_time_of_a_lone_packet_follows_from_the_switches_on_its_way(kind: str, nodes: int) -> None:
    for a in range(nodes):
        net = network(kind, nodes)
        for b in range(nodes):
            alone = (switches(kind, nodes, a, b) * HOP + ON_LINK) * NANO
            assert net.crossing(a, b, 16) == alone
            begun = net.now
            assert net.inject(begun, a, b, 16)
            net.advance(begun + alone)
            assert net.arrival(b) == begun + alone
            assert net.take(begun + alone, b) is not None


def test_a_lone_packet_of_the_cm5_takes_half_of_a_round_trip_without_both_ends() -> None:
    """The printed round trip is 404.2 cycles and 14.4 for each hop; request and receipt take 130 of each way.

    A packet of 20 bytes takes 52.8 cycles on half of a node's link.
    """
    cm5 = smp.machines.load("cm5")
    net = Interconnect(cm5)
    cycles = [net.crossing(0, to, 16) / net.prices.cycle for to in (1, 4, 16)]
    assert cycles == pytest.approx([26.4 + 52.8 + hops * 14.4 / 2 for hops in (1, 3, 5)], rel=1e-4)
    assert cm5.message
    both_ends = cm5.message.request + cm5.message.receive
    assert both_ends + cycles[0] == pytest.approx((404.2 + 14.4) / 2, rel=0.04)


def test_a_fat_tree_uses_all_of_its_equal_links_alike() -> None:
    """Two networks; in each, four links up and four down for each of four switches that lead to the highest one."""
    net = Interconnect("cm5", 64)
    net.run(Blocks(targets=shifts(64, 1, 32), packets=400, poll="once"))
    counts = np.sort(net.state.links[:, layout.COUNT])[-64:]
    several = net.state.links[:, layout.COUNT][net.state.links[:, layout.COUNT] > 0]
    assert len(several) == 2 * (2 * 64 + 2 * 2 * 16 + 2 * 4 * 4)
    assert counts.max() < 1.25 * 400 * 16 / 8


def test_the_narrowest_cut_of_the_cm5_limits_shifts_by_half_of_its_nodes() -> None:
    """Sixteen nodes share four links upward of each of two networks, and a packet takes 1.6 us on a link."""
    packets = 300
    seconds = Interconnect("cm5", 64).run(Blocks(targets=shifts(64, 1, 32), packets=packets, poll="once")).seconds
    least = packets * 16 / 8 * 1.6e-6
    assert least < seconds.max() < 1.2 * least


def test_the_narrowest_cut_of_a_mesh_limits_mirrored_rows() -> None:
    """All of the upper half send to the lower half, over one link for each of eight columns."""
    alewife, packets = smp.machines.load("alewife"), 100
    targets = np.array([(7 - node // 8) * 8 + node % 8 for node in range(64)])[:, None]
    seconds = Interconnect(alewife, 64).run(Blocks(targets=targets, packets=packets)).seconds
    least = packets * 4 * 80 / 44e6
    assert least < seconds.max() < 1.1 * least


@pytest.mark.parametrize(
    ("kind", "nodes"), [("torus3", 64), ("torus3", 27), ("mesh", 36), ("hypercube", 32), ("fat-tree", 50)]
)
def test_full_networks_of_queues_for_one_packet_do_not_block_for_ever(kind: str, nodes: int) -> None:
    """Every node sends to every other, long before it receives."""
    targets = np.random.default_rng(5).permuted(shifts(nodes, nodes), axis=1)
    done = network(kind, nodes).run(Blocks(targets=targets, packets=5))
    assert done.counters.injected == done.counters.taken == 5 * nodes * nodes


def test_sizes_are_as_equal_as_possible_if_a_file_gives_none() -> None:
    assert Interconnect(machine("mesh", 64), 24).state.sizes == (6, 4)
    assert Interconnect(machine("torus3", 64), 30).state.sizes == (5, 3, 2)


def test_a_hypercube_needs_a_power_of_two() -> None:
    with pytest.raises(ValueError, match=r"12 nodes.*power of two"):
        Interconnect("ipsc1", 12)
