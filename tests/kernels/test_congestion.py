"""The congesting network: transmissions fail at the predicted times, to the nanosecond, and every message arrives."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Emulated

import smp
from smp.compiled import clock, local
from smp.errors import DeadlockError, ProcessorRaised
from smp.kernels.messages import congestion
from smp.kernels.messages.congestion import Network, Timing, network

US = 1_000
TIMING = Timing(latency=100 * US, per_word=US, timeout=500 * US)
SLACK = 20 * US  # more than the sleeps and primitives of one of these exchanges cost on an emulated machine


@local
def touch(octets: Any) -> None:
    pass


def compute(ns: int) -> None:
    """Let virtual time pass."""
    touch(np.empty(10 * ns, np.uint8))


def at(times: list[int], *words: int) -> Callable[..., Any]:
    """Return a program in which every other node sends node 0 one message, at its time in ``times``.

    A message has as many words as ``words`` gives for its sender, by default 1.
    """

    def program(proc: smp.Processor) -> tuple[int, int, int]:
        net = network(proc, 200, TIMING)
        proc.barrier()
        began = clock()
        if proc.rank == 0:
            for other in range(1, proc.size):
                net.receive(other)
        else:
            compute(times[proc.rank - 1])
            net.send(0, proc.rank, np.zeros(words[proc.rank - 1] if words else 1))
        return net.attempts, net.failures, clock() - began

    return program


def test_a_transmission_takes_its_latency_and_its_words(emulated: Emulated) -> None:
    few, many = (emulated(2).run(at([0], words)).results for words in (1, 101))
    for node in range(2):
        assert many[node][2] - few[node][2] == 100 * US
    assert 101 * US <= few[1][2] < 101 * US + SLACK


def test_of_two_simultaneous_senders_the_first_succeeds_and_the_second_retries(emulated: Emulated) -> None:
    (_, _, all_of_it), first, second = emulated(3).run(at([0, 50 * US])).results
    assert (first[:2], second[:2]) == ((1, 0), (2, 1))
    assert 101 * US <= first[2] < 101 * US + SLACK
    assert 50 * US + 2 * 101 * US + 500 * US <= second[2] <= all_of_it < 50 * US + 2 * 101 * US + 500 * US + 2 * SLACK


def test_a_failing_transmission_occupies_the_input_as_well(emulated: Emulated) -> None:
    """The third transmission begins long after the first message was taken out of the buffer.

    It fails because the second, failing one still occupies the input.  When it tries again, the second is coming
    through.
    """
    sent = [one[:2] for one in emulated(4).run(at([0, 90 * US, 150 * US])).results[1:]]
    assert sent == [(1, 0), (2, 1), (3, 2)]
    sent = [one[:2] for one in emulated(4).run(at([0, 90 * US, 250 * US])).results[1:]]
    assert sent == [(1, 0), (2, 1), (1, 0)]


def test_the_failing_transmission_that_ends_last_decides_when_the_input_is_free(emulated: Emulated) -> None:
    """The second occupies the input until 290 us, the third only until 250 us; the fourth begins between the two."""
    sent = [one[:2] for one in emulated(5).run(at([0, 90 * US, 150 * US, 260 * US], 0, 100, 0, 0)).results[1:]]
    assert [failures > 0 for _, failures in sent] == [False, True, True, True]
    sent = [one[:2] for one in emulated(5).run(at([0, 90 * US, 150 * US, 300 * US], 0, 100, 0, 0)).results[1:]]
    assert [failures > 0 for _, failures in sent] == [False, True, True, False]


@pytest.mark.parametrize("busy", [0, 200, 900, 2_500])
def test_the_buffer_stays_full_while_its_node_computes(emulated: Emulated, busy: int) -> None:
    """Attempts begin every 600 us, from 100 us on, and fail if they begin before the node has finished computing.

    The first of them always fails: it begins before the preceding message has woken the node.
    """

    def program(proc: smp.Processor) -> int:
        net = network(proc, 1, Timing(100 * US, 0, 500 * US))
        proc.barrier()
        if proc.rank == 0:
            compute(busy * US)
            assert [float(net.receive(0)[0]) for _ in range(2)] == [1.0, 2.0]
        else:
            net.send(0, 0, [1.0])
            net.send(0, 0, [2.0])
        return net.failures

    assert emulated(2).run(program).results == [0, max(1, math.ceil((busy - 100) / 600))]


def test_a_node_takes_messages_while_it_waits_for_its_own_time_out(emulated: Emulated) -> None:
    """Two nodes send to each other twice before either receives, so each has the other's message in its buffer."""

    def program(proc: smp.Processor) -> list[float]:
        net = network(proc, 1, TIMING)
        for k in range(5):
            net.send(1 - proc.rank, k % 2, [k])
        return [float(net.receive(kind)[0]) for kind in (0, 0, 0, 1, 1)]

    assert emulated(2).run(program).results == [[0, 2, 4, 1, 3]] * 2


def exchanged(proc: smp.Processor, plan: list[list[tuple[int, int, int, int]]], timing: Timing) -> tuple[Any, int]:
    """Send this node's part of the plan, (to, kind, words, pause before it); then receive what the others sent."""
    net = network(proc, 4, timing)
    for k, (to, kind, words, pause) in enumerate(plan[proc.rank]):
        if pause and timing.latency > US:
            compute(pause * US)
        net.send(to % proc.size, 10 * proc.rank + kind, np.full(words, 100 * proc.rank + k))
    got = []
    for sender, messages in enumerate(plan[: proc.size]):
        mine = [(k, kind, words) for k, (to, kind, words, _) in enumerate(messages) if to % proc.size == proc.rank]
        for kind in (1, 0):
            for k, _, words in (one for one in mine if one[1] == kind):
                got.append(net.receive(10 * sender + kind).tolist() == [100.0 * sender + k] * words)
    return got, net.attempts - net.failures


messages = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4), st.integers(0, 300)), min_size=1, max_size=4
)


@pytest.mark.parametrize("processors", [1, 2, 3, 5])
@settings(max_examples=12, deadline=None)
@given(plan=st.lists(messages, min_size=5, max_size=5))
def test_every_message_arrives_in_the_order_of_its_kind(
    emulated: Emulated, processors: int, plan: list[list[tuple[int, int, int, int]]]
) -> None:
    results = emulated(processors).run(exchanged, plan, TIMING).results
    assert all(all(got) for got, _ in results)
    assert sum(len(got) for got, _ in results) == sum(len(one) for one in plan[:processors])
    assert [arrived for _, arrived in results] == [len(one) for one in plan[:processors]]


PLAN = [[(1, 0, 4, 0), (2, 1, 1, 0), (1, 1, 0, 0)], [(2, 0, 2, 0), (0, 0, 3, 0)], [(0, 1, 4, 0), (2, 0, 4, 0)]]


def test_random_schedules_and_the_host_deliver_the_same_messages() -> None:
    machines = [smp.emulated(3, seed=seed) for seed in range(8)]
    for machine in [*machines, smp.host(3)]:
        with machine:
            results = machine.run(exchanged, PLAN, Timing(US, 0, 50 * US)).results
        assert [arrived for _, arrived in results] == [3, 2, 2]
        assert all(all(got) for got, _ in results)


def test_two_messages_are_exchanged_under_every_schedule_with_at_most_two_preemptions() -> None:
    """They include schedules in which time-outs expire before the other node has taken a step."""

    def program(proc: smp.Processor) -> float:
        net = network(proc, 1, Timing(1 * US, 0, 5 * US))
        net.send(1 - proc.rank, 0, [proc.rank])
        return float(net.receive(0)[0])

    found = smp.explore(program, 2, 2, check=lambda run: run.results == [1.0, 0.0])
    assert (found.failure, found.bound) == (None, 2)
    assert found.schedules > 1_000


def test_a_failure_ends_the_wait_of_every_other_node(emulated: Emulated) -> None:
    def program(proc: smp.Processor) -> None:
        net = network(proc, 1, TIMING)
        if proc.rank == 0:
            compute(1_000 * US)
            raise LookupError("here")
        if proc.rank == 1:
            net.receive(0)
        net.send(1 if proc.rank == 3 else 0, 1, [1.0])
        net.send(0, 1, [1.0])

    with pytest.raises(ProcessorRaised, match="here"):
        emulated(4).run(program)


def test_waiting_for_a_message_that_is_never_sent_is_a_deadlock(emulated: Emulated) -> None:
    with pytest.raises(DeadlockError):
        emulated(2).run(lambda proc: network(proc, 1).receive(0))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda proc: network(proc, 0), "words must be at least 1, not 0"),
        (lambda proc: network(proc, 1, Timing(timeout=-1)), "timeout must be at least 0, not -1"),
        (lambda proc: network(proc, 1, Timing(latency=-2)), "latency must be at least 0, not -2"),
        (lambda proc: network(proc, 1.5), "float"),  # type: ignore[arg-type]
        (
            lambda proc: network(proc, 2).send(0, 0, [1, 2, 3]),
            r"shape \(3,\) to node 0: the network has 2 nodes, .* up to 2 words",
        ),
        (lambda proc: network(proc, 2).send(2, 0, [1]), "to node 2: the network has 2 nodes"),
        (lambda proc: network(proc, 2).send(0, 0, 1.0), r"shape \(\)"),
    ],
)
def test_invalid_arguments_are_refused(
    emulated: Emulated, use: Callable[[smp.Processor], Network], message: str
) -> None:
    with pytest.raises(ProcessorRaised, match=message):
        emulated(2).run(use)


def test_compiled_and_interpreted_transitions_agree(emulated: Emulated) -> None:
    """The steps of one port, in sequence, compiled on the host and interpreted on an emulated machine."""

    def program(proc: smp.Processor) -> list[Any]:
        ports, sync = np.zeros(8, np.int64), proc.sync
        seen: list[Any] = [congestion.transmit(ports, 0, 0, 10 * US, sync), int(ports[congestion.INPUT])]
        seen += [congestion.transmit(ports, 0, 0, 10 * US, sync), bool(ports[congestion.NOISE] > 0)]
        congestion.deliver(ports, 0)
        seen += [congestion.await_message(ports, 0, 0, sync), int(ports[congestion.INPUT])]
        congestion.release(ports, 0)
        seen += [congestion.await_message(ports, 0, clock() + 10 * US, sync), int(ports[congestion.INPUT])]
        seen += [congestion.transmit(ports, 0, 0, 0, sync)]
        return seen

    expected = [True, congestion.ARRIVING, False, True, True, congestion.FULL, False, congestion.FREE, True]
    with smp.host(1) as host:
        assert host.run(program).results == emulated(1).run(program).results == [expected]
