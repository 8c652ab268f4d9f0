"""Mailboxes: every array arrives as it was sent, once, in the order of its kind, on every machine and schedule."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Emulated, Machines
from support.sampled import campaigns

import smp
from smp.errors import DeadlockError, ProcessorRaised
from smp.kernels.messages.mailbox import PIECE, Mailbox

Plan = list[list[tuple[int, int, int]]]  # by sender: the receiver, one of two kinds, the length
LENGTHS = (0, 1, 7, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE - 1)
plans = st.lists(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 1), st.sampled_from(LENGTHS)), min_size=1, max_size=4),
    min_size=5,
    max_size=5,
)


def exchanged(proc: smp.Processor, plan: Plan) -> tuple[int, int]:
    """Send this processor's part of a plan; receive all that the others sent, kind 1 before kind 0.

    Return the number of arrays that it received, and of messages that it sent.
    """
    mailbox, received = Mailbox(proc), 0
    for k, (to, kind, length) in enumerate(plan[proc.rank]):
        mailbox.send(to % proc.size, 2 * proc.rank + kind, 1000 * proc.rank + 100 * k + np.arange(length) / PIECE)
    for sender, messages in enumerate(plan[: proc.size]):
        for kind in (1, 0):
            for k, (to, this, length) in enumerate(messages):
                if (to % proc.size, this) == (proc.rank, kind):
                    found = mailbox.receive(2 * sender + kind, length)
                    assert found.dtype == np.float64
                    assert np.array_equal(found, 1000 * sender + 100 * k + np.arange(length) / PIECE)
                    received += 1
    return received, sum(max(1, -(-length // PIECE)) for _, _, length in plan[proc.rank])


def right(run: smp.Run, plan: Plan) -> bool:
    to = [to % run.size for messages in plan[: run.size] for to, _, _ in messages]
    return [received for received, _ in run.results] == np.bincount(to, minlength=run.size).tolist()


@pytest.mark.parametrize("processors", [1, 2, 3, 5])
@settings(max_examples=12, deadline=None)
@given(plan=plans)
def test_every_array_arrives_in_the_order_of_its_kind(
    emulated: Emulated, congested: Emulated, processors: int, plan: Plan
) -> None:
    assert right(emulated(processors).run(exchanged, plan), plan)
    run = congested(processors).run(exchanged, plan)
    assert right(run, plan)
    arrived = run.network["attempts"] - run.network["failures"]
    assert arrived.tolist() == [messages for _, messages in run.results]


def test_senders_that_fail_together_move_apart() -> None:
    plan: Plan = [  # with time-outs that stay the same, the packets to processor 2 fail for ever
        [(4, 1, 240), (0, 1, 719)],
        [(3, 1, 7)],
        [(1, 0, 240), (0, 0, 719)],
        [(0, 0, 1), (2, 0, 240), (4, 0, 7), (3, 1, 1)],
        [(1, 1, 241), (0, 1, 240)],
    ]
    with smp.emulated(5, schedule="clock", network=smp.networks.congested(), limit=300_000) as machine:
        assert right(machine.run(exchanged, plan), plan)


PLAN = [[(1, 0, 4), (2, 1, 500), (1, 1, 0)], [(2, 0, 2), (0, 0, 3)], [(0, 1, 700), (2, 0, 4)]]


def test_random_schedules_and_the_host_deliver_the_same_arrays(machines: Machines) -> None:
    for _ in range(10):
        assert right(machines(3).run(exchanged, PLAN), PLAN)
    for seed in range(30):
        with smp.emulated(3, seed=seed, network=smp.networks.ideal(room=1)) as machine:
            assert right(machine.run(exchanged, PLAN), PLAN)


@pytest.mark.parametrize(
    ("room", "preemptions", "schedules"),
    [(64, 1, 30), (1, 1, 100), *campaigns((64, 2, 2_000), (1, 2, 4_000))],
)
def test_two_arrays_are_exchanged_under_every_schedule(room: int, preemptions: int, schedules: int) -> None:
    """All schedules with at most that many preemptions."""

    def program(proc: smp.Processor) -> list[float]:
        mailbox = Mailbox(proc)
        for kind in range(2):
            mailbox.send(1 - proc.rank, kind, [10 * proc.rank + kind])
        return [float(mailbox.receive(kind, 1)[0]) for kind in (1, 0)]

    network = smp.networks.ideal(room=room)
    found = smp.explore(program, 2, preemptions, network=network, check=lambda run: run.results == [[11, 10], [1, 0]])
    assert (found.failure, found.bound) == (None, preemptions)
    assert found.schedules > schedules


def test_an_array_is_copied_when_it_is_sent(emulated: Emulated) -> None:
    def program(proc: smp.Processor) -> list[float]:
        mailbox, data = Mailbox(proc), np.arange(3.0)
        mailbox.send(proc.rank, 0, data)
        data[:] = -1
        found = mailbox.receive(0, 3)
        found += 1  # an own array
        return found.tolist()

    assert emulated(1).run(program).results == [[1, 2, 3]]


def test_transmissions_are_those_of_all_processors(emulated: Emulated, congested: Emulated) -> None:
    def program(proc: smp.Processor) -> dict[str, int]:
        mailbox = Mailbox(proc)
        for _ in range(proc.rank):
            mailbox.send(0, proc.rank, [])
        for sender in range(proc.size if proc.rank == 0 else 0):
            for _ in range(sender):
                assert mailbox.receive(sender, 0).shape == (0,)
        return mailbox.transmissions()

    assert emulated(3).run(program).results == [{}] * 3
    run = congested(3).run(program)
    failures = int(run.network["failures"].sum())
    assert failures > 0
    assert run.results == [{"attempts": 3 + failures, "failures": failures}] * 3


@pytest.mark.parametrize("kind", ["emulated", "congested"])
def test_waiting_for_an_array_that_is_never_sent_is_a_deadlock(request: pytest.FixtureRequest, kind: str) -> None:
    def program(proc: smp.Processor) -> None:
        mailbox = Mailbox(proc)
        mailbox.send(1 - proc.rank, 1, [1.0])
        mailbox.receive(0, 1)

    with pytest.raises(DeadlockError):
        request.getfixturevalue(kind)(2).run(program)


@pytest.mark.parametrize(
    ("to", "sent", "says"),
    [
        (2, [1.0], "processor 2 does not exist: ranks begin at 0 and are below 2"),
        (0, 1.0, r"an array of shape \(\) cannot be sent: it must have one dimension"),
        (0, np.ones((2, 2)), r"an array of shape \(2, 2\) cannot be sent: it must have one dimension"),
        (0, "x", "could not convert string to float"),
    ],
)
def test_bad_input_is_refused(emulated: Emulated, to: int, sent: Any, says: str) -> None:
    with pytest.raises(ProcessorRaised, match=says):
        emulated(2).run(lambda proc: Mailbox(proc).send(to, 0, sent))
