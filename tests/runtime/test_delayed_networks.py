"""Networks that delay packets: order, causes that come after their effects, quiet, deadlocks, and ends of runs."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import campaigns, examples

import smp
from smp import BOTH, EMPTY, LEFT, RIGHT
from smp._runtime.emulated.networks import delays
from smp._runtime.emulated.networks.kinds import delayed, ideal
from smp.compiled import await_packet, try_poll, try_post
from smp.errors import CheckFailed, DeadlockError, LivelockError, ProcessorRaised

End = Callable[[smp.Processor], object]


# Each message once, and in order where that is promised.


def exchanged(proc: smp.Processor, messages: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Send numbered messages of the given lengths to the given processors; return those that have come."""
    came: list[tuple[int, int, int]] = []

    def take(message: smp.Message, number: int, *words: int) -> None:
        assert list(words) == list(range(number, number + len(words)))
        came.append((message.source, number, len(words)))

    taken = proc.handler(take)
    for number, (sender, to, length) in enumerate(messages):
        if sender == proc.rank:
            proc.send(to, taken, number, *range(number, number + length), on=RIGHT)
    proc.quiet()
    return came


SENT = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([0, 6, 7, 30])), max_size=9)


@settings(max_examples=examples(100), deadline=None)
@given(messages=SENT, seed=st.integers(0, 1_000), room=st.integers(1, 4), ordered=st.booleans())
def test_each_message_comes_once_and_in_order(
    messages: list[tuple[int, int, int]], seed: int, room: int, ordered: bool
) -> None:
    """Messages of more than seven numbers are several packets if the order is kept, and one if it is not."""
    with smp.emulated(3, seed=seed, network=delayed(room, ordered=ordered)) as machine:
        results = machine.run(exchanged, messages).results
    sent = [(sender, number, length) for number, (sender, _, length) in enumerate(messages)]
    for rank, came in enumerate(results):
        expected = [each for each, (_, to, _) in zip(sent, messages, strict=True) if to == rank]
        assert sorted(came) == sorted(expected)
        for sender in range(3) if ordered else ():
            assert [each for each in came if each[0] == sender] == [each for each in expected if each[0] == sender]


@pytest.mark.parametrize("length", [0, 30])
def test_order_is_given_up_for_short_and_long_messages(length: int) -> None:
    def orders(ordered: bool) -> set[tuple[int, ...]]:
        found = set()
        for seed in range(100):
            with smp.emulated(2, seed=seed, network=delayed(9, ordered=ordered)) as machine:
                came = machine.run(exchanged, [(0, 1, length)] * 3).results[1]
            found.add(tuple(number for _, number, _ in came))
        return found

    assert orders(ordered=True) == {(0, 1, 2)}
    assert len(orders(ordered=False)) == 6


def later_one_last(proc: smp.Processor) -> list[int]:
    """Rely on the order within a network: the last message ends the wait."""
    came: list[int] = []
    take = proc.handler(lambda message, k: came.append(k))
    if proc.rank == 0:
        for k in range(2):
            proc.send(1, take, k, on=RIGHT)
    else:
        proc.wait_until(lambda: 1 in came)
    return list(came)


def test_a_program_that_relies_on_order_is_found_only_if_order_is_given_up() -> None:
    def all_there(run: smp.Run) -> bool:
        return run.results[1] == [0, 1]

    found = smp.explore(later_one_last, 2, 1, check=all_there, limit=3_000, network=delayed(2))
    assert found.failure is None
    assert found.bound == 1  # all schedules with one preemption
    network = delayed(2, ordered=False)
    found = smp.explore(later_one_last, 2, 1, check=all_there, limit=3_000, network=network)
    assert found.failure is not None
    for _ in range(2):
        with pytest.raises(CheckFailed, match=r"\[\[\], \[1\]\]"):
            smp.replay(found, later_one_last, 2, check=all_there, network=network)


def caused(proc: smp.Processor) -> bool:
    """Processor 0 sends to 2, then to 1, which sends to 2: return whether the first message is there with the last."""
    first: list[int] = []
    last: list[int] = []
    note = proc.handler(lambda message: first.append(0))
    noted_last = proc.handler(lambda message: last.append(0))
    pass_on = proc.handler(lambda message: message.reply(noted_last, to=2, on=RIGHT), replies=True)
    there = True
    if proc.rank == 0:
        proc.send(2, note, on=RIGHT)
        proc.request(1, pass_on)
    elif proc.rank == 2:
        proc.wait_until(lambda: last)
        proc.poll()
        there = bool(first)
    proc.quiet()
    return there


@pytest.mark.parametrize("network", [ideal(), delayed(), delayed(ordered=False)], ids=repr)
def test_an_effect_comes_before_its_cause_only_if_packets_are_delayed(network: Any) -> None:
    found = smp.explore(caused, 3, 1, check=lambda run: all(run.results), limit=600, network=network)
    assert (found.failure is None) == (repr(network) == repr(ideal()))
    if found.failure is not None:
        assert isinstance(found.failure.error, CheckFailed)


# Quiet.


def chain(proc: smp.Processor, end: End) -> bool:
    """Processor 1 replies twice to 2 on a request of 0; return whether nothing comes after the given end."""
    came = [0]
    arrive = proc.handler(lambda message: came.__setitem__(0, came[0] + 1))

    def twice(message: smp.Message) -> None:
        for _ in range(2):
            message.reply(arrive, to=2, on=RIGHT)

    pass_on = proc.handler(twice, replies=True)
    if proc.rank == 0:
        proc.request(1, pass_on)
    elif proc.rank == 2:
        proc.wait_until(lambda: came[0])
    end(proc)
    found = came[0]
    for _ in range(2):
        proc.quiet()
    return found == came[0]


def one_round(proc: smp.Processor) -> None:
    """End when the sums of one round agree."""
    messages = proc._messages()
    while True:
        messages.poll(BOTH, EMPTY)
        sent, handled = (sum(each) for each in zip(*proc.gather(messages.totals()), strict=True))
        if sent == handled:
            return


def counts_read_too_early(proc: smp.Processor) -> None:
    """End when the sums of two rounds agree, but read the counts of a round before the wait of the round before it."""
    messages, before = proc._messages(), None
    following = messages.totals()
    while True:
        counts, following = following, messages.totals()
        messages.poll(BOTH, EMPTY)
        now = tuple(sum(each) for each in zip(*proc.gather(counts), strict=True))
        if now[0] == now[1] and now == before:
            return
        before = now


def explored(end: End, network: Any, limit: int) -> smp.errors.SmpError | Exception | None:
    found = smp.explore(
        lambda proc: chain(proc, end), 3, 1, check=lambda run: all(run.results), limit=limit, network=network
    )
    return None if found.failure is None else found.failure.error


NETWORKS = [delayed(1), delayed(2), delayed(2, ordered=False)]


@pytest.mark.parametrize("limit", [100, *campaigns(300, 5_000)])
@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_quiet_waits_for_packets_in_flight(network: Any, limit: int) -> None:
    assert explored(lambda proc: proc.quiet(), network, limit) is None


@pytest.mark.parametrize("network", NETWORKS, ids=repr)
def test_quiet_waits_for_packets_in_flight_under_random_schedules(network: Any) -> None:
    for seed in range(60):
        with smp.emulated(3, seed=seed, network=network) as machine:
            assert all(machine.run(chain, lambda proc: proc.quiet()).results)


@pytest.mark.parametrize("end", [one_round, counts_read_too_early])
def test_a_quiet_that_ends_too_early_is_found(end: End) -> None:
    assert isinstance(explored(end, delayed(), 50), CheckFailed)


def to_itself(proc: smp.Processor) -> int:
    came = [0]
    take = proc.handler(lambda message: came.__setitem__(0, came[0] + 1))
    proc.send(0, take)
    proc.quiet()
    return came[0]


def test_no_schedule_delays_a_packet_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """One processor never sleeps in quiet, so a packet comes only because its delay is bounded."""
    found = smp.explore(to_itself, 1, None, check=lambda run: run.results == [1], network=delayed())
    assert found.complete
    assert found.failure is None
    monkeypatch.setattr(delays, "LATEST", 1 << 40)
    found = smp.explore(to_itself, 1, None, longest=2_000, network=delayed())
    assert found.failure is not None
    assert isinstance(found.failure.error, LivelockError)


# Deadlocks and ends.


def steps(machine: smp.Machine, name: str) -> int:
    return sum(step[2] == name for step in machine.trace)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_deadlock_of_room_is_found_after_all_packets_have_come(ordered: bool) -> None:
    """A processor that does not poll in its barrier leaves no room for the third message of each of the others."""

    def program(proc: smp.Processor) -> None:
        take = proc.handler(lambda message: None)
        proc._port.serve = None
        for _ in range(3 if proc.rank else 0):
            proc.send(0, take, on=LEFT)
        proc.barrier()

    for seed in range(20):
        with smp.emulated(3, seed=seed, trace=True, network=delayed(2, ordered=ordered)) as machine:
            with pytest.raises(DeadlockError, match="all 3 streams wait") as caught:
                machine.run(program)
            assert "room for a message to processor 0" in str(caught.value)
            assert steps(machine, "deliver") == 4


def test_packets_in_flight_at_the_end_are_an_error() -> None:
    """No loop takes these packets; they are gone in the next run."""

    def program(proc: smp.Processor, posts: int) -> bool:
        for _ in range(posts):
            assert try_post(proc.net, LEFT, (proc.rank + 1) % proc.size, 0)
        proc.barrier()
        return bool(try_poll(proc.net, LEFT)[0])

    with smp.emulated(3, seed=1, trace=True, network=delayed(5)) as machine:
        for posts in (5, 2):
            with pytest.raises(ProcessorRaised, match="let a loop take them"):
                machine.run(program, posts)
            assert machine.run(program, 0).results == [False] * 3


def test_a_sender_that_waits_for_room_is_woken_although_packets_are_in_flight() -> None:
    def program(proc: smp.Processor) -> int:
        came: list[int] = []
        take = proc.handler(lambda message, k: came.append(k))
        for k in range(4 - 4 * proc.rank):
            proc.send(1, take, k, on=RIGHT)
        proc.wait_until(lambda: proc.rank == 0 or len(came) == 4)
        return len(came)

    for ordered in (True, False):
        found = smp.explore(program, 2, 1, limit=500, network=delayed(2, ordered=ordered))
        assert found.failure is None, str(found)


def test_no_packet_of_a_failed_schedule_is_in_flight_in_the_next_one() -> None:
    """An exploration runs the schedule that fails a second time, for its steps."""

    def program(proc: smp.Processor) -> None:
        raise ArithmeticError(f"room: {proc.try_send(0, proc.handler(print), on=LEFT)}")

    found = smp.explore(program, 1, network=delayed(1))
    assert found.failure is not None
    assert "room: True" in str(found.failure.error)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_machine_goes_on_after_a_failure_with_packets_in_flight(ordered: bool) -> None:
    def program(proc: smp.Processor, fails: bool) -> list[int]:
        came: list[int] = []
        take = proc.handler(lambda message, k: came.append(k))
        for k in range(5):
            proc.send(1 - proc.rank, take, 10 * fails + k)
        if fails and proc.rank:
            raise ArithmeticError
        proc.quiet()
        return came

    for seed in range(10):
        with smp.emulated(2, seed=seed, network=delayed(3, ordered=ordered)) as machine:
            for _ in range(3):
                with pytest.raises(ProcessorRaised, match="ArithmeticError"):
                    machine.run(program, True)
                assert [sorted(came) for came in machine.run(program, False).results] == [list(range(5))] * 2


# Loops, virtual time, and arguments.


@smp.stream
def waits_for_two(net: Any) -> int:
    found = 0
    while found < 2:
        there, _, _, a, _, _, _ = try_poll(net, smp.LEFT)
        if there:
            found += a
        else:
            await_packet(net, smp.LEFT)
    return found


def test_a_packet_in_flight_wakes_a_loop() -> None:
    def program(proc: smp.Processor) -> int:
        for _ in range(2 - 2 * proc.rank):
            try_post(proc.net, LEFT, 1, 0, 1)
        return waits_for_two(proc.net) if proc.rank else 0

    found = smp.explore(program, 2, 1, check=lambda run: run.results == [0, 2], limit=2_000, network=delayed())
    assert found.failure is None, str(found)


def test_the_clock_chooses_deliveries_too() -> None:
    """Processors that go round by the clock get all messages; a delivery has the charge of a load."""
    messages = [(k % 3, k // 3 % 3, 7) for k in range(60)]
    for ordered in (True, False):
        with smp.emulated(3, schedule="clock", network=delayed(2, ordered=ordered)) as machine:
            results = machine.run(exchanged, messages).results
        assert [len(came) for came in results] == [21, 21, 18]
    assert smp.Charges(load=7).prices().steps[delays.deliver] == 7_000


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="room must be a number of packets, 1 or more, not 0"):
        delayed(0)
    with pytest.raises(TypeError, match="ordered must be True or False, not 1"):
        delayed(2, ordered=1)  # type: ignore[arg-type]
    assert repr(delayed(2, ordered=False)) == "delayed(room=2, ordered=False)"
