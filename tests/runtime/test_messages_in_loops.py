"""Packets between compiled loops: against NumPy, on crowded and emulated machines, next to handlers, and errors."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.interpreted_entries import through_rings
from support.machines import PLACES, Machines, guarded
from support.packet_loops import drain, fill, gather, histogram, meetings, round_trips, waits, waits_for_room
from support.sampled import campaigns, each

import smp
from smp import BOTH, LEFT, RIGHT
from smp._runtime.loops import keys
from smp._runtime.loops.atomics import accept_fences
from smp._runtime.protocols import loop_packets, message_waits, wait
from smp.compiled import await_packet, await_room, room, try_poll, try_post
from smp.errors import DeadlockError, HandlerError, MachineError, NotPicklable, ProcessorDied, ProcessorRaised


def drawn(rank: int, n: int, most: int) -> Any:
    return np.random.default_rng(rank).integers(0, most, n)


def counts(proc: smp.Processor, n: int, bins: int, quiet: bool = True) -> Any:
    """Count keys drawn by every processor; return the counts of the bins of this processor."""
    found, ends = np.zeros(-(-bins // proc.size), np.int64), np.zeros(proc.size, np.int64)
    histogram(proc.net, proc.rank, proc.size, drawn(proc.rank, n, bins), found, ends)
    if quiet:
        proc.quiet()
    assert ends.tolist() == [1] * proc.size
    return found


def right_counts(results: list[Any], n: int, bins: int) -> bool:
    size = len(results)
    expected = np.bincount(np.concatenate([drawn(rank, n, bins) for rank in range(size)]), minlength=bins)
    return all((found[: len(expected[rank::size])] == expected[rank::size]).all() for rank, found in enumerate(results))


def gathered(proc: smp.Processor, n: int, most: int) -> bool:
    """Gather elements of a table that is spread over the processors."""
    table = np.arange(proc.rank, most, proc.size) ** 2 + 7
    wanted, out = drawn(proc.rank, n, most), np.full(n, -5)
    assert gather(proc.net, proc.rank, proc.size, wanted, table, out) == n
    return bool((out == wanted**2 + 7).all())


@pytest.mark.parametrize("place", PLACES)
def test_a_histogram_by_packets_is_that_of_numpy(machines: Machines, place: str) -> None:
    with guarded(machines(**PLACES[place])) as machine:
        for n, bins in ((0, 5), (1, 1), (3_000, 37)):
            assert right_counts(machine.run(counts, n, bins).results, n, bins)


@pytest.mark.parametrize("place", PLACES)
def test_a_gather_by_requests_and_answers_is_that_of_numpy(machines: Machines, place: str) -> None:
    with guarded(machines(**PLACES[place])) as machine:
        for n, most in ((0, 9), (2_000, 100)):
            assert machine.run(gathered, n, most).results == [True] * machine.size


@pytest.mark.parametrize("on", [LEFT, RIGHT])
@pytest.mark.parametrize("processors", [1, 2, 3])
def test_tokens_go_round(machines: Machines, processors: int, on: int) -> None:
    def program(proc: smp.Processor) -> int:
        return round_trips(proc.net, proc.rank, proc.size, 10, 6 * proc.size, on)

    with guarded(machines(processors)) as machine:
        assert machine.run(program).results == [10 * 6 * sum(range(1, processors + 1))] * processors


# Under all schedules.


@pytest.fixture(params=[1, 2])
def little_room(request: pytest.FixtureRequest) -> int:
    """Return the number of packets that a queue of an emulated machine holds."""
    return int(request.param)


@pytest.mark.parametrize(
    ("processors", "preemptions", "limit"),
    [(2, 1, 20_000), (3, 1, 150), *campaigns((2, 2, 1_500), (3, 1, 500))],
)
def test_a_histogram_is_right_under_all_schedules(
    little_room: int, processors: int, preemptions: int, limit: int
) -> None:
    found = smp.explore(
        counts,
        processors,
        preemptions,
        setup=lambda machine: (3, 4),
        check=lambda run, *_: right_counts(run.results, 3, 4),
        limit=limit,
        network=smp.networks.ideal(little_room),
    )
    assert found.failure is None, str(found)


@pytest.mark.parametrize(("processors", "preemptions", "limit"), [(2, 1, 20_000), (3, 1, 150), *campaigns((3, 1, 500))])
def test_a_gather_is_right_under_all_schedules(little_room: int, processors: int, preemptions: int, limit: int) -> None:
    found = smp.explore(
        gathered,
        processors,
        preemptions,
        setup=lambda machine: (2, 6),
        check=lambda run, *_: all(run.results),
        limit=limit,
        network=smp.networks.ideal(little_room),
    )
    assert found.failure is None, str(found)


@pytest.mark.parametrize("slots", each(2, [1, 2]))
def test_the_same_over_interpreted_rings(monkeypatch: pytest.MonkeyPatch, slots: int) -> None:
    through_rings(monkeypatch, slots)
    found = smp.explore(
        counts, 2, 1, setup=lambda machine: (2, 2), check=lambda run, *_: right_counts(run.results, 2, 2), limit=500
    )
    assert found.failure is None, str(found)
    assert smp.explore(gathered, 2, 1, setup=lambda machine: (2, 2), limit=300).failure is None


def test_a_post_that_wakes_no_sleeper_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    through_rings(monkeypatch, 2)
    monkeypatch.setattr(loop_packets, "announce", lambda net, to: None)
    found = smp.explore(counts, 2, 1, setup=lambda machine: (2, 2), limit=500)
    assert found.failure is not None
    assert isinstance(found.failure.error, DeadlockError)


def test_a_wait_for_room_that_polls_nothing_is_found() -> None:
    """Two processors that only wait for room for requests, while each has requests to take, wait for ever."""

    def program(proc: smp.Processor) -> None:
        for _ in range(3):
            while not try_post(proc.net, LEFT, 1 - proc.rank, 0):
                proc._port.network.wait("room for a packet", 0, room=(1, 1 - proc.rank))

    found = smp.explore(program, 2, 1, limit=500, network=smp.networks.ideal(1))
    assert found.failure is not None
    assert isinstance(found.failure.error, DeadlockError)


def test_random_schedules_of_more_processors(little_room: int) -> None:
    for seed in range(20):
        with smp.emulated(4, seed=seed, network=smp.networks.ideal(little_room)) as machine:
            assert right_counts(machine.run(counts, 8, 11).results, 8, 11)
            assert all(machine.run(gathered, 8, 11).results)


def test_a_fence_on_all_cpus_is_not_a_step() -> None:
    with smp.emulated(2, trace=True) as machine:
        machine.run(lambda proc: round_trips(proc.net, proc.rank, proc.size, 1, 4, LEFT))
        names = {name for _, _, name, _ in machine.trace}
    assert {"post", "poll_for_loop", "look"} <= names
    assert not names & {"fence_all", "accept_fences"}


# Next to handlers.


def mixed(proc: smp.Processor, n: int) -> tuple[Any, int]:
    """Loops count keys, while the processors also send messages to handlers; a loop returns to Python for these."""
    came = [0]
    add = proc.handler(lambda message, k: came.__setitem__(0, came[0] + k))
    for k in range(n):
        proc.send((proc.rank + k) % proc.size, add, k)
    found = counts(proc, n, 7, quiet=False)
    for k in range(n):
        proc.send((proc.rank + k) % proc.size, add, k)
    proc.barrier()
    again = counts(proc, n, 7, quiet=False)
    proc.quiet()
    return found + again, came[0]


def one_after_the_other(proc: smp.Processor, n: int) -> tuple[Any, list[Any]]:
    """The loop of processor 1 takes packets, and returns to Python when a message for a handler is next."""
    came: list[Any] = []
    take = proc.handler(lambda message, k: came.append(("handler", k)))
    out = np.zeros((1, 3), np.int64)
    if proc.rank == 0:
        for k in range(n):
            if k % 3:
                while not try_post(proc.net, LEFT, 1, k, k):
                    await_room(proc.net, LEFT, 1)
            else:
                proc.send(1, take, k, on=LEFT)
    while proc.rank == 1 and len(came) < n:
        await_packet(proc.net)
        if drain(proc.net, int(LEFT), out):
            if out[0, 0] < 0:
                assert proc.poll(LEFT, smp.ONCE) == 1
            else:
                came.append(("loop", int(out[0, 2])))
    proc.quiet()
    return None, came


def test_a_loop_leaves_messages_to_handlers_and_all_come_in_order(machines: Machines) -> None:
    expected = [("loop" if k % 3 else "handler", k) for k in range(200)]
    for machine in (machines(2), smp.emulated(2, seed=3)):
        with guarded(machine):
            assert machine.run(one_after_the_other, 200).results[1][1] == expected


def mixed_in_rounds(proc: smp.Processor, n: int) -> tuple[int, int]:
    """All processors send packets and messages, then take packets in loops only after polls from Python."""
    came = [0]
    add = proc.handler(lambda message, k: came.__setitem__(0, came[0] + k))
    out, taken = np.zeros((n * proc.size, 3), np.int64), 0
    for k in range(n):
        to = (proc.rank + k) % proc.size
        while not try_post(proc.net, RIGHT, to, 9, k):
            proc.poll()
        proc.send(to, add, k, on=RIGHT)
    proc.barrier()  # polls: packets of loops are kept, and do not block the messages behind them
    proc.poll()
    while taken < n:
        found = drain(proc.net, int(RIGHT), out[taken:])
        for_a_handler = found > 0 and out[taken + found - 1, 0] < 0
        taken += found - for_a_handler
        if for_a_handler or not found:
            proc.poll()
    sources = out[:taken, 1]
    for source in range(proc.size):
        mine = out[:taken][sources == source, 2].tolist()
        assert mine == sorted(mine)
        assert len(mine) == len(set(mine))
    proc.quiet()
    return int(out[:taken, 2].sum()), came[0]


@pytest.mark.parametrize("processors", [1, 2, 3])
def test_packets_that_a_poll_from_python_finds_are_kept_in_order(machines: Machines, processors: int) -> None:
    n = 60 * processors  # each processor gets the same number from each
    with guarded(machines(processors)) as machine:
        results = machine.run(mixed_in_rounds, n).results
    with smp.emulated(processors, seed=1) as emulated:
        assert sum(mine for mine, _ in emulated.run(mixed_in_rounds, n).results) == processors * n * (n - 1) // 2
    assert sum(mine for mine, _ in results) == processors * n * (n - 1) // 2
    assert sum(theirs for _, theirs in results) == processors * n * (n - 1) // 2


@pytest.mark.parametrize("emulated", [False, True])
def test_kept_packets_wake_a_loop_and_are_taken_first(pair: smp.Machine, emulated: bool) -> None:
    def program(proc: smp.Processor) -> Any:
        proc.handler(print)
        net, out = proc.net, np.zeros((100, 3), np.int64)
        for k in range(40):
            assert try_post(net, LEFT, proc.rank, k, 100 + k)
        assert proc.poll() == 0  # keeps them
        await_packet(net, LEFT)
        waits(net)
        for k in range(40, 60):
            assert try_post(net, LEFT, proc.rank, k, 100 + k)
        first = [try_poll(net, LEFT) for _ in range(3)]
        proc.poll()  # behind those that are kept
        for k in range(60, 65):
            assert try_post(net, LEFT, proc.rank, k, 100 + k)
        assert drain(net, int(LEFT), out) == 62
        proc.quiet()
        return [row[3] - row[1] for row in first], (out[:62, 2] - out[:62, 0]).tolist(), out[:62, 0].tolist()

    with smp.emulated(2) if emulated else guarded(pair) as machine:
        assert machine.run(program).results == [([100] * 3, [100] * 62, list(range(3, 65)))] * 2


@pytest.mark.parametrize("emulated", [False, True])
def test_quiet_waits_for_packets_of_loops_and_reports_those_that_no_loop_takes(
    pair: smp.Machine, emulated: bool
) -> None:
    def program(proc: smp.Processor, takes: bool) -> int:
        out, taken = np.zeros((8, 3), np.int64), 0
        if proc.rank == 0:
            assert [try_post(proc.net, RIGHT, 1, 40 + k) for k in range(3)] == [True] * 3
        while takes and proc.rank == 1 and taken < 3:
            await_packet(proc.net, RIGHT)
            taken += drain(proc.net, int(RIGHT), out)
        proc.quiet(timeout=20)
        assert proc._messenger is not None
        assert proc._messenger.totals() == ((3, 0), (0, 3))[proc.rank]
        return taken

    with smp.emulated(2) if emulated else guarded(pair) as machine:
        assert machine.run(program, True).results == [0, 3]
        with pytest.raises(
            ProcessorRaised, match=r"3 packets that .* to processor 1 wait, the first of kind 40 from pro"
        ):
            machine.run(program, False)


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("polls", [False, True])
def test_packets_that_are_left_at_the_end_are_reported_and_do_not_come_in_the_next_run(
    pair: smp.Machine, emulated: bool, polls: bool
) -> None:
    """Processor 0 may have used no network, or have polled in Python, which keeps packets for loops."""

    def program(proc: smp.Processor, k: int) -> Any:
        if proc.rank == 1:
            assert [try_post(proc.net, LEFT, to, 7, k) for to in (0, 1, 1)] == [True] * 3
            assert try_poll(proc.net, LEFT)[3] == try_poll(proc.net, LEFT)[3] == k
        proc.barrier()
        if polls:
            proc.poll()
        return try_poll(proc.net, LEFT)[3] if proc.rank == 0 and k else k

    said = (
        "raised HandlerError: 1 packet that compiled loops have sent to processor 0 waits, the first of kind 7 from pro"
    )
    with smp.emulated(2) if emulated else guarded(pair) as machine:
        assert machine.run(program, 5).results == [5, 5]
        with pytest.raises(ProcessorRaised, match=said) as caught:
            machine.run(program, 0)
        assert caught.value.rank == 0
        assert machine.run(program, 6).results == [6, 6]


def test_packets_that_are_left_are_found_in_each_schedule() -> None:
    def program(proc: smp.Processor) -> bool:
        return proc.rank == 1 or try_post(proc.net, LEFT, 1, 7, 3)

    for seed in range(20):
        with (
            smp.emulated(2, seed=seed) as machine,
            pytest.raises(ProcessorRaised, match="1 packet that compiled loops"),
        ):
            machine.run(program)


# Room and waits.


@pytest.mark.parametrize("emulated", [False, True])
def test_room_is_the_number_of_packets_that_can_be_posted(pair: smp.Machine, emulated: bool) -> None:
    def program(proc: smp.Processor) -> list[int]:
        net, out = proc.net, np.zeros((100, 3), np.int64)
        found = []
        for on in (LEFT, RIGHT):
            found += [room(net, on, proc.rank), fill(net, int(on), proc.rank, 10), room(net, on, proc.rank)]
            found += [fill(net, int(on), proc.rank, 1000), room(net, on, proc.rank)]
            assert not try_post(net, on, proc.rank, 0)
            found += [drain(net, int(on), out), room(net, on, proc.rank)]
            assert (out[:64, 2] == [*range(10), *range(54)]).all()
        return found

    with smp.emulated(2) if emulated else guarded(pair) as machine:
        assert machine.run(program).results == [[64, 10, 54, 54, 0, 64, 64] * 2] * 2


@pytest.mark.parametrize("emulated", [False, True])
def test_a_wait_for_room_ends_on_the_network_that_has_room(pair: smp.Machine, emulated: bool) -> None:
    def program(proc: smp.Processor) -> bool:
        net, out = proc.net, np.zeros((100, 3), np.int64)
        for full, other in ((LEFT, RIGHT), (RIGHT, LEFT)):
            fill(net, int(full), proc.rank, 1000)
            waits_for_room(net, int(other), proc.rank, int(other))
            drain(net, int(full), out)
        return True

    with smp.emulated(2) if emulated else guarded(pair) as machine:
        assert machine.run(program, timeout=30).results == [True, True]


@pytest.mark.parametrize("fence", [0, 1])
def test_no_wake_up_is_lost_although_posts_make_no_fence(pair: smp.Machine, fence: int) -> None:
    """One processor posts while the other one falls asleep, in a sleep that only a wake-up ends."""

    def program(proc: smp.Processor, words: smp.GlobalArray, n: int) -> int:
        net, sync = proc.net, proc.sync
        nets = net._network._nets  # type: ignore[attr-defined]
        assert (nets[:, message_waits.FENCE] == (0 if sync[wait.RETRIES] and accept_fences() else 1)).all()
        if fence:
            nets[:, message_waits.FENCE] = 1
        before = sync[[wait.RETRIES, wait.SLICE]]
        sync[[wait.RETRIES, wait.SLICE]] = 1, wait.EVER  # the first look is the only one before the sleep
        came = int(meetings(net, words.view, sync, proc.rank, n))
        sync[[wait.RETRIES, wait.SLICE]] = before
        return came

    with guarded(pair):
        assert pair.run(program, pair.zeros(32, np.int64), 5_000, timeout=40).results == [0, 5_000]


def test_posts_make_a_fence_where_processors_share_cpus(machines: Machines) -> None:
    def program(proc: smp.Processor) -> bool:
        assert try_post(proc.net, LEFT, proc.rank, 0)
        assert try_poll(proc.net, LEFT)[0]
        return bool((proc.net._network._nets[:, message_waits.FENCE] >= 1).all())  # type: ignore[attr-defined]

    with guarded(machines(**PLACES["pinned"])) as machine:
        assert machine.run(program).results == [True] * 3


def test_a_killed_processor_ends_the_waits_of_loops(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank == 1:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            signal.pause()
        while True:
            counts(proc, 500, 10)

    for _ in range(3):
        with guarded(machines(3, start="fork")) as machine, pytest.raises(ProcessorDied, match="processor 1"):
            machine.run(program)


def test_a_loop_that_waits_for_ever_is_reported(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank:
            proc.barrier()
        waits(proc.net)

    reported = pytest.raises(DeadlockError, match=r"a compiled loop +\S*test_messages_in_loops.py")
    with guarded(machines(2)) as machine, reported:
        machine.run(program, helpers=False)
    with pytest.raises(DeadlockError, match="a packet, in a loop"):
        smp.emulated(2).run(program)


# Errors.

WRONG: dict[str, tuple[Any, str]] = {
    "processor": (lambda net: try_post(net, LEFT, 2, 0), "processor 2 does not exist"),
    "negative": (lambda net: room(net, LEFT, -1), "processor -1 does not exist"),
    "network": (lambda net: try_post(net, BOTH, 0, 0), "on smp.LEFT or smp.RIGHT, not on <On.BOTH"),
    "poll": (lambda net: try_poll(net, BOTH), "on smp.LEFT or smp.RIGHT, not on <On.BOTH"),
    "wait": (lambda net: await_packet(net, 0), "on smp.LEFT, smp.RIGHT or smp.BOTH, not on 0"),
    "room": (lambda net: await_room(net, LEFT, 0, 4), "on smp.LEFT, smp.RIGHT or smp.BOTH, not on 4"),
    "kind": (lambda net: try_post(net, LEFT, 0, -1), "a number from 0 to 137,438,953,471, not -1"),
    "large": (lambda net: try_post(net, LEFT, 0, 1 << 37), "a number from 0 to 137,438,953,471, not 137438953472"),
    "word": (lambda net: try_post(net, LEFT, 0, 0, 1, 1 << 63), "have 64 bits, which is too few"),
    "float": (lambda net: try_post(net, LEFT, 0, 0, 1.5), "'float' object cannot be interpreted as an integer"),  # type: ignore[arg-type]
    "compiled float": (lambda net: posts_a_float(net), "a packet carries int64 words, not a value of type float64"),
}


@smp.stream
def posts_a_float(net: Any) -> bool:
    return bool(try_post(net, smp.LEFT, 0, 0, 1.5))


@smp.stream
def posts(net: Any, kind: int, a: int, b: int, c: int, d: int) -> bool:
    return bool(try_post(net, smp.LEFT, 0, kind, a, b, c, d))


@smp.stream
def polls(net: Any) -> Any:
    return try_poll(net, smp.LEFT)


@smp.local
def polls_locally(net: Any) -> Any:
    return try_poll(net, smp.LEFT)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(pair: smp.Machine, name: str) -> None:
    call, text = WRONG[name]
    with pytest.raises(ProcessorRaised, match=text):
        pair.run(lambda proc: call(proc.net))


@pytest.mark.parametrize("opened", [smp.host, smp.emulated])
def test_every_kind_and_word_arrives(opened: Any) -> None:
    kinds = [0, 1, loop_packets.KINDS - 1]
    words = [(0, 1, -1, 2), (2**63 - 1, -(2**63), 5, -6)]

    def program(proc: smp.Processor) -> list[Any]:
        found = []
        for kind in kinds:
            for four in words:
                assert posts(proc.net, kind, *four)
                found.append(polls(proc.net))
                assert try_post(proc.net, LEFT, 0, kind, *four)
                found.append(try_poll(proc.net, LEFT))
        assert not polls(proc.net)[0]
        return found

    with opened(1) as machine:
        expected = [(True, kind, 0, *four) for kind in kinds for four in words for _ in range(2)]
        assert machine.run(program).results == [expected]


def test_handlers_and_other_streams_may_not_use_the_networks_of_loops(pair: smp.Machine) -> None:
    def in_a_handler(proc: smp.Processor, compiled: bool) -> None:
        net = proc.net
        bad = proc.handler(lambda message: polls(net) if compiled else try_poll(net, LEFT))
        proc.send(proc.rank, bad)
        proc.poll()

    def on_a_stream(proc: smp.Processor, compiled: bool) -> None:
        net = proc.net
        with proc.streams(2) as pool:
            pool.start(lambda: polls(net) if compiled else try_poll(net, LEFT)).result()

    for compiled in (False, True):
        for program, text in ((in_a_handler, "called proc.net, which no handler"), (on_a_stream, "on another stream")):
            with pytest.raises(ProcessorRaised, match=text) as caught:
                pair.run(program, compiled)
            assert isinstance(caught.value.__cause__, HandlerError)


def test_the_networks_of_a_run_end_with_it(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> bool:
        kept = vars(smp).setdefault("kept_by_a_test", [])
        kept.append(proc.net)
        polls(kept[0])
        return True

    assert pair.run(program).results == [True, True]
    with pytest.raises(ProcessorRaised, match="belongs to a run that has ended") as caught:
        pair.run(program)
    assert isinstance(caught.value.__cause__, MachineError)


def test_the_networks_of_loops_cannot_be_sent(pair: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised) as caught:
        pair.run(lambda proc: proc.net)
    assert "proc.net cannot be sent to another process" in str(caught.value)
    with smp.emulated(1) as machine, pytest.raises((ProcessorRaised, NotPicklable), match="cannot be sent"):
        machine.run(lambda proc: proc.net)


def test_a_local_loop_cannot_send_on_an_emulated_machine() -> None:
    with smp.emulated(1) as machine, pytest.raises(ProcessorRaised, match="which is interpreted there"):
        machine.run(lambda proc: polls_locally(proc.net))


# Tables of compiled handlers.


def table(first: Any, *rest: Any) -> Any:
    """Return a loop that calls one of several loops, by its number."""
    if not rest:

        @smp.stream
        def only(kind: int, a: int) -> int:
            return first(a)  # type: ignore[no-any-return]

        return only
    others = table(*rest)

    @smp.stream
    def call(kind: int, a: int) -> int:
        return first(a) if kind == 0 else others(kind - 1, a)

    return call


@smp.stream
def doubled(a: int) -> int:
    return 2 * a


@smp.stream
def squared(a: int) -> int:
    return a * a


@smp.stream
def negated(a: int) -> int:
    return -a


def server(calls: Any) -> Any:
    """Return a loop that takes packets and calls what the table has for their kinds; it returns the sum."""

    @smp.stream
    def serve(net: Any, n: int) -> int:
        total = 0
        while n > 0:
            there, kind, _, a, _, _, _ = try_poll(net, smp.LEFT)
            if there:
                total += calls(kind, a)
                n -= 1
            else:
                await_packet(net, smp.LEFT)
        return total

    return serve


def test_two_tables_of_handlers_have_two_codes(machines: Machines, tmp_path: Path) -> None:
    """Machine code on disk is found by a key that covers the functions of a table, at any depth."""
    tables = [(doubled, squared, negated), (doubled, negated, squared), (doubled, squared, negated)]
    servers = [server(table(*functions)) for functions in tables]
    made = [keys.key_of(serve.__wrapped__) for serve in servers]
    assert made[0] == made[2] != made[1]

    def program(proc: smp.Processor, serve: Any) -> int:
        for kind in range(3):
            try_post(proc.net, LEFT, proc.rank, kind, 10 + kind)
        return int(serve(proc.net, 3))

    for _ in range(2):  # the second machine loads what the first has kept
        with guarded(machines(2)) as machine:
            found = [machine.run(program, serve).results for serve in servers]
        assert found == [[20 + 121 - 12] * 2, [20 - 11 + 144] * 2, [20 + 121 - 12] * 2]
