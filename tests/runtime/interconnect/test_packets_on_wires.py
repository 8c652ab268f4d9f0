"""Packets on the wires: single ones by hand, many ones by what every network keeps."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.packet_networks import HOP, KINDS, NANO, ON_LINK, network

from smp._runtime.emulated.interconnect import Interconnect, layout

ALONE = HOP + ON_LINK  # cycles through one switch


def ns(cycles: int) -> int:
    return cycles * NANO


def test_a_lone_packet_passes_one_switch_and_its_link() -> None:
    net = network("switch", 2)
    assert net.inject(0, 0, 1, 16, tag=7)
    net.advance(0)
    assert net.take(ns(ALONE) - 1, 1) is None
    assert net.waiting(ns(ALONE), 1) == 1
    assert net.take(ns(ALONE), 1) == 7
    assert net.next_event() is None


def test_packets_wait_back_to_their_sender_if_no_node_takes_them() -> None:
    """Two nodes: one packet in the input queue, one at the end of the first link, one in the output queue."""
    net = network("switch", 2)
    assert net.inject(0, 0, 1, 16, tag=0)  # on the link at once
    assert net.inject(0, 0, 1, 16, tag=1)  # in the output queue, until the link is free at 10
    assert not net.inject(0, 0, 1, 16, tag=2)
    assert not net.inject(ns(ON_LINK) - 1, 0, 1, 16, tag=2)
    assert net.inject(ns(ON_LINK), 0, 1, 16, tag=2)
    assert not net.inject(ns(45), 0, 1, 16, tag=3)
    assert net.next_event() is None  # nothing moves any more
    assert net.take(ns(50), 1) == 0  # now packet 1 goes on, arrives at 60, and lets packet 2 go on
    assert net.inject(ns(50), 0, 1, 16, tag=3)
    assert net.take(ns(60) - 1, 1) is None
    assert net.take(ns(60), 1) == 1
    assert net.take(ns(70), 1) == 2
    assert net.take(ns(80), 1) == 3


def test_a_packet_waits_behind_one_that_is_blocked() -> None:
    """A line of three: packets from 0 to 2 fill four queues on the way; one to 1, which takes, cannot pass them."""
    net = network("mesh", 3, network__shape=[1, 3])
    time = 0
    for tag in range(4):
        while not net.inject(time, 0, 2, 16, tag=tag):
            time += NANO
    while not net.inject(time, 0, 1, 16, tag=9):
        time += NANO
    net.advance(ns(1000))
    assert net.arrival(1) is None
    assert not net.inject(ns(1000), 0, 1, 16)
    assert net.take(ns(1000), 2) == 0
    net.advance(ns(2000))
    assert net.take(ns(2000), 1) is None  # it is behind the last of the four
    assert net.take(ns(2000), 2) == 1
    net.advance(ns(3000))
    assert net.take(ns(3000), 1) == 9


def test_two_packets_for_the_same_link_go_first_come_first_served() -> None:
    net = network("switch", 3, interface__in_fifo=2)
    assert net.inject(0, 1, 2, 16, tag=1)
    assert net.inject(ns(1), 0, 2, 16, tag=0)
    assert net.arrival(2) is None
    net.advance(ns(100))
    assert net.arrival(2) == ns(ALONE)
    assert net.take(ns(100), 2) == 1
    assert net.arrival(2) == ns(ALONE + ON_LINK)
    assert net.take(ns(100), 2) == 0


def test_the_bus_carries_one_packet_at_a_time() -> None:
    net = network("bus", 8)
    for node in range(0, 8, 2):
        assert net.inject(0, node, node + 1, 16, tag=node)
    net.advance(ns(1000))
    assert sorted(net.arrival(node) or 0 for node in range(1, 8, 2)) == [ns(HOP + k * ON_LINK) for k in range(1, 5)]


def test_a_wire_shared_by_two_queues_serves_both() -> None:
    """A torus of two nodes along a dimension: all packets from 0 to 1 close the ring or do not, and share wires."""
    net = network("torus3", 27)
    sent, time, taken = 0, 0, []
    while len(taken) < 60:
        sent += net.inject(time, 2, 1 if sent % 2 else 0, 16, tag=sent) if sent < 60 else 0
        taken += [tag for node in (0, 1) if (tag := net.take(time, node)) is not None]
        time += NANO
    assert sorted(taken) == list(range(60))
    assert time < ns(60 * ON_LINK + 100)  # from 2, both go forward over the same wire, which never rests


def test_a_full_input_queue_drops_packets_which_are_sent_again() -> None:
    net = network("switch", 2, interface={"out_fifo": 1, "in_fifo": 1, "overflow": "drop", "resend_after": 100})
    assert net.inject(0, 0, 1, 16, tag=0)
    assert net.inject(0, 0, 1, 16, tag=1)
    net.advance(ns(60))
    assert net.counters().dropped == 1  # the second arrived at 23
    assert net.take(ns(60), 1) == 0
    assert net.take(ns(23 + 100 + ALONE) - 1, 1) is None
    assert net.take(ns(23 + 100 + ALONE), 1) == 1


def test_queues_count_bytes_where_the_machine_does() -> None:
    net = network("switch", 2, interface={"counted_in": "bytes", "out_fifo": 64, "in_fifo": 64})
    assert net.inject(0, 0, 1, 40, tag=0)  # leaves the output queue at once
    assert net.inject(0, 0, 1, 40, tag=1)
    assert not net.inject(0, 0, 1, 40, tag=2)
    assert net.inject(0, 0, 1, 24, tag=3)
    with pytest.raises(ValueError, match=r"65.*64 bytes"):
        net.inject(0, 0, 1, 65)


def test_a_watched_node_wakes_when_a_packet_arrives_or_a_queue_has_room() -> None:
    net = network("switch", 2)
    net.watch(0, 1)
    net.watch(0, 0, arrivals=False, room=True)
    net.inject(0, 0, 1, 16)
    net.inject(0, 0, 1, 16)
    assert net.advance(ns(1000)) == 0  # sees that the second packet has left at 10
    assert net.now == ns(ON_LINK)
    assert net.advance(ns(1000)) == 1
    assert net.now == ns(ALONE)


@pytest.mark.parametrize("kind", KINDS)
def test_without_contention_packets_take_the_time_that_they_have_alone(kind: str) -> None:
    net = network(kind, 8, fidelity="latency")
    for node, to in itertools.product(range(8), range(8)):
        for _ in range(2):
            assert net.inject(0, node, to, 16, tag=node)
    due = sorted((net.crossing(node, to, 16), to) for node, to in itertools.product(range(8), range(8)))
    for time, to in due:
        senders = [net.take(time, to), net.take(time, to)]
        assert senders[0] == senders[1] is not None
        assert net.crossing(senders[0] or 0, to, 16) == time
    assert net.counters().taken == net.counters().injected == 128


@st.composite
def traffic(draw: st.DrawFn) -> tuple[str, int, list[tuple[int, int, int, int]]]:
    """Return a kind of network, a seed, and packets: time, node, destination, bytes."""
    kind = draw(st.sampled_from(KINDS))
    one = st.tuples(st.integers(0, 200), st.integers(0, 7), st.integers(0, 7), st.integers(1, 64))
    return kind, draw(st.integers(0, 1000)), sorted(draw(st.lists(one, max_size=60)))


def carried(net: Interconnect, packets: list[tuple[int, int, int, int]]) -> dict[int, tuple[int, int, int]]:
    """Carry packets to their nodes, which look each nanosecond; return start, end and node of each."""
    left = defaultdict(list)
    for number, (_, node, _, _) in enumerate(packets):
        left[node].append(number)
    time, starts, found = 0, {}, {}
    while len(found) < len(packets):
        for node, numbers in left.items():
            while numbers and packets[numbers[0]][0] <= time:
                _, _, to, size = packets[numbers[0]]
                if not net.inject(time * NANO, node, to, size, tag=numbers[0]):
                    break
                starts[numbers.pop(0)] = time
        for node in range(net.nodes):
            if (time + node) % 3 == 0 and (tag := net.take(time * NANO, node)) is not None:
                assert tag not in found
                found[tag] = (starts[tag], time, node)
        time += 1
        assert time < 10_000
    return found


@settings(deadline=None)
@given(traffic())
def test_every_packet_arrives_once_at_its_node_and_none_is_faster_than_alone(
    case: tuple[str, int, list[tuple[int, int, int, int]]],
) -> None:
    kind, seed, packets = case
    net = network(kind, 8, seed=seed, **({} if kind == "ideal" else {"network__link_cycles_per_packet": 4}))
    found = carried(net, packets)
    for number, (start, end, node) in found.items():
        _, source, to, size = packets[number]
        assert node == to
        assert (end - start) * NANO >= net.crossing(source, to, size)
    if kind != "fat-tree":  # in the others, all packets of two nodes take one way
        for (one, a), (two, b) in itertools.combinations(sorted(found.items()), 2):
            if packets[one][1:3] == packets[two][1:3]:
                assert a[1] <= b[1]
    done = net.counters()
    assert done.injected == done.taken == len(packets)
    assert not net.state.links[:, layout.USED].any()  # no queue holds anything
    assert net.next_event() is None
