"""Processors that transfer blocks: times by hand and by formula, barriers, deadlock, devices, repeats."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.packet_networks import HOP, KINDS, ON_LINK, network, shifts

import smp
from smp._runtime.emulated.interconnect import Blocks, Interconnect, events, layout
from smp._runtime.emulated.interconnect.blocks import Loaded

MEGAHERTZ, PAYLOAD = 33, 16
ONE_WAY = np.array([[1], [0]])


def cycles(seconds: float) -> float:
    """Return a time as cycles of the small machines."""
    return seconds * 1e9


def test_one_block_of_one_packet_by_hand() -> None:
    """Start 8, send 20 - 5; the receiver's polls are every 5 from the end of its first one; 30 to receive."""
    net = network("switch", 2)
    done = net.run(Blocks(targets=ONE_WAY, packets=[[1], [0]]))
    arrived = 8 + 15 + HOP + ON_LINK
    looked = -(-arrived // 5) * 5
    assert cycles(done.seconds[1]) == pytest.approx(looked + 30 + 5)  # and one more poll, in vain
    assert cycles(done.seconds[0]) == pytest.approx(8 + 15 + 5 + 5)


def test_the_cm5_reaches_its_printed_limits() -> None:
    n = 4000
    both = Interconnect("cm5", 2).run(Blocks(targets=ONE_WAY, packets=n, poll="once")).seconds.max()
    assert n * PAYLOAD / both / 1e6 == pytest.approx(5.93, rel=0.01)
    one = Interconnect("cm5", 2).run(Blocks(targets=ONE_WAY, packets=[[n], [0]], wait=25)).seconds.max()
    assert n * PAYLOAD / one / 1e6 == pytest.approx(8.52, rel=0.01)


def test_bandwidth_matching_keeps_the_receivers_queue_short() -> None:
    longest = {}
    for wait in (0.0, 28.0):
        net = Interconnect("cm5", 2)
        longest[wait] = net.run(Blocks(targets=ONE_WAY, packets=[[500], [0]], wait=wait)).counters.most_bound
    assert longest[28.0] <= 3 < longest[0.0]


def test_the_cm5_holds_about_ten_packets_a_node_and_more_with_another_level() -> None:
    """Brewer 1994, figure 7-2: no node receives, and targets are random."""
    held = {
        nodes: np.mean(
            [
                Interconnect("cm5", nodes, seed=seed)
                .saturate(
                    Blocks(targets=np.random.default_rng(seed).integers(0, nodes, (nodes, 200)), packets=1, poll="none")
                )
                .sent.mean()
                for seed in range(10)
            ]
        )
        for nodes in (16, 32, 64)
    }
    assert held[64] == pytest.approx(10, rel=0.05)
    assert held[16] < held[32] < held[16] + 1


def test_barriers_separate_the_rounds() -> None:
    """With barriers, packets for a node come from one sender at a time; without, from several."""
    most = {}
    for every in (0, 1):
        done = Interconnect("cm5", 64).run(
            Blocks(targets=shifts(64, 12), packets=60, barrier_every=every, wait=28, spread=100)
        )
        most[every] = done.counters.most_bound
    assert most[1] <= 10 < most[0]


def test_a_barrier_ends_its_time_after_the_last_has_entered() -> None:
    net = network("switch", 3)
    empty = net.run(Blocks(targets=np.zeros((3, 0), int), packets=0)).seconds
    assert cycles(empty.max()) == 5  # one poll in vain
    net = network("switch", 3)
    done = net.run(Blocks(targets=[[0], [1], [2]], packets=0, barrier_every=1)).seconds
    assert cycles(done.max()) == 5 + 40 + 5  # a poll in vain, the barrier, the poll that sees it


def test_a_barrier_that_does_not_poll_can_stop_the_machine_and_the_error_names_full_queues() -> None:
    """Brewer 1994, section 6.1.1: one node has more to send than the network holds, to one in the barrier already."""
    packets = np.zeros((64, 1), int)
    packets[7] = 500
    blocks = {"targets": shifts(64, 1, 1), "packets": packets, "barrier_every": 1, "barrier_after": "sent"}
    assert Interconnect("cm5").run(Blocks(**blocks)).counters.taken == 500  # type: ignore[arg-type]
    with pytest.raises(smp.errors.DeadlockError) as caught:
        Interconnect("cm5").run(Blocks(**blocks, polls_in_barrier=False))  # type: ignore[arg-type]
    text = str(caught.value)
    assert "64 of 64 nodes are not done" in text
    assert "node 7 waits for room to send a packet" in text
    assert "63 nodes (0, 1, 2, 3, 4, 5, 6, 8, ...) wait in a barrier" in text
    assert "Full queues: input queue of node 8, channel 0; input queue of node 8, channel 1; output queue of" in text
    assert "let them poll there" in text


def test_a_sender_that_does_not_poll_blocks_a_ring() -> None:
    with pytest.raises(smp.errors.DeadlockError, match=r"4 nodes \(0, 1, 2, 3\) wait for room.*input queue of node 0"):
        network("switch", 4).run(Blocks(targets=shifts(4, 1, 1), packets=9, poll="none"))


def test_open_transfers_get_packets_in_turn() -> None:
    net = network("switch", 5, fidelity="latency")
    blocks = Blocks(targets=[[1, 2, 3], *[[0, 0, 0]] * 4], packets=[[5, 1, 3], *[[0, 0, 0]] * 4], interleave=3)
    order = []
    loaded = Loaded(blocks, net.state)
    transfers = loaded._transfers[0]
    for node in range(5):
        events.smp_begin(net.state.address, 0, node)
    before = transfers[:, layout.LEFT].copy()
    while transfers[:, layout.LEFT].any():
        time = events.smp_next_event(net.state.address)
        events.smp_advance(net.state.address, time)
        changed = np.flatnonzero(before != transfers[:, layout.LEFT])
        order += (changed + 1).tolist()
        before = transfers[:, layout.LEFT].copy()
    assert order == [1, 1, 2, 3, 3, 1, 1, 3, 1]


def test_a_device_moves_blocks_at_its_pace_next_to_the_processor() -> None:
    alewife = smp.machines.load("alewife")
    done = Interconnect(alewife, 2).run(Blocks(targets=ONE_WAY, packets=[[1000], [0]]))
    assert done.seconds[1] == pytest.approx(1000 * 80 / 44e6, rel=0.01)
    both = Interconnect(alewife, 2).run(Blocks(targets=ONE_WAY, packets=1000))
    assert both.seconds == pytest.approx([1000 * 80 / 44e6] * 2, rel=0.01)
    with pytest.raises(ValueError, match="a device sends one block after the other"):
        Interconnect(alewife, 2).run(Blocks(targets=[[1, 1], [0, 0]], packets=1, interleave=2))


def test_interrupts_of_the_timer_steal_their_share() -> None:
    cm5 = smp.machines.load("cm5").replace("clock", {"hz": 33e6, "interrupt_every": 1000, "interrupt_cost": 100})
    blocks = Blocks(targets=ONE_WAY, packets=[[2000], [0]], wait=25)
    alone = Interconnect("cm5", 2).run(blocks).seconds.max()
    assert Interconnect(cm5, 2).run(blocks).seconds.max() == pytest.approx(alone * 1.1, rel=0.02)


@st.composite
def all_blocks(draw: st.DrawFn) -> tuple[str, int, Blocks]:
    """Return a kind of network, a seed, and blocks of 8 nodes that poll while they send."""
    transfers = draw(st.integers(0, 5))
    numbers = st.integers(0, 7)
    rows = st.lists(numbers, min_size=transfers, max_size=transfers)
    table = st.lists(rows, min_size=8, max_size=8)
    blocks = Blocks(
        targets=np.array(draw(table), int).reshape(8, transfers),
        packets=np.array(draw(table), int).reshape(8, transfers),
        barrier_every=draw(st.integers(0, 3)),
        poll=draw(st.sampled_from(["once", "empty"])),
        wait=draw(st.sampled_from([0.0, 7.0])),
        interleave=draw(st.integers(1, 4)),
        batch=draw(st.integers(1, 3)),
        spread=draw(st.sampled_from([0.0, 50.0])),
    )
    return draw(st.sampled_from(KINDS)), draw(st.integers(0, 99)), blocks


@settings(deadline=None)
@given(all_blocks())
def test_blocks_are_sent_and_received_completely_and_a_repeat_is_equal(case: tuple[str, int, Blocks]) -> None:
    kind, seed, blocks = case
    nets = [network(kind, 8, seed=seed) for _ in range(2)]
    done, again = [net.run(blocks) for net in nets]
    assert done.sent.tolist() == np.sum(blocks.packets, axis=1).tolist()
    assert done.counters.injected == done.counters.taken == done.sent.sum()
    received = np.bincount(np.ravel(blocks.targets), np.ravel(blocks.packets), minlength=8)
    assert nets[0].state.node_rows[:, layout.GOT].tolist() == received.tolist()
    least = np.maximum(15 * done.sent, 30 * received)
    assert (cycles(1) * done.seconds >= least).all()
    assert again.seconds.tolist() == done.seconds.tolist()
    assert again.counters == done.counters


@pytest.mark.parametrize("kind", KINDS)
def test_machine_code_and_python_do_the_same(kind: str) -> None:
    """The functions of `events` are Python, too."""
    blocks = Blocks(targets=shifts(8, 3, 1), packets=2, barrier_every=1)
    done = network(kind, 8, seed=4).run(blocks)
    net = network(kind, 8, seed=4)
    loaded = Loaded(blocks, net.state)
    for node in range(8):
        events.smp_begin(net.state.address, 0, node)
    for _ in range(8):
        events.smp_advance(net.state.address, layout.NEVER)
    del loaded
    assert (net.state.node_rows[:, layout.DONE_AT] / 1e12).tolist() == done.seconds.tolist()
    assert net.counters() == done.counters


def test_a_run_does_not_depend_on_the_order_of_hashes() -> None:
    code = (
        "import numpy as np; from smp._runtime.emulated.interconnect import *;"
        "d = Interconnect('cm5', 32, seed=5).run(Blocks(targets=np.arange(32)[:, None] ^ np.arange(6), packets=20));"
        "print(d.seconds.tolist(), d.counters)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1)
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"targets": [[1]]}, "a row for each of the 2 nodes"),
        ({"targets": [[1], [2]]}, "the nodes are 0 to 1"),
        ({"packets": -1}, "packets are -1"),
        ({"packets": 1.5}, "packets are 1.5"),
        ({"poll": "often"}, "poll is 'often'"),
        ({"interleave": 0}, "interleave is 0"),
        ({"wait": float("nan")}, "wait is nan"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    given_blocks = {"targets": ONE_WAY, "packets": 1, **changes}
    with pytest.raises(ValueError, match=message):
        network("switch", 2).run(Blocks(**given_blocks))  # type: ignore[arg-type]


def test_a_machine_without_messages_is_refused() -> None:
    with pytest.raises(smp.errors.Unsupported, match=r"'flat' has no network of packets"):
        Interconnect("flat")
