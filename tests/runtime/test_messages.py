"""Messages under all schedules, with little room; deadlocks; floods; killed processors."""

import itertools
import os
import random
import signal
from typing import Any

import pytest
from support.interpreted_entries import through_rings
from support.machines import CPUS, Machines, guarded
from support.sampled import campaigns, each

import smp
from smp import BOTH, EMPTY, LEFT, RIGHT
from smp._computer.limits import usable_cpus
from smp._runtime.emulated.networks import network as networks
from smp._runtime.program.messages import messenger
from smp._runtime.protocols import message_waits
from smp._runtime.shared_memory import networks as networks_in_memory
from smp.errors import DeadlockError, ProcessorDied, ProcessorRaised


@pytest.fixture(params=[1, 2])
def room(request: pytest.FixtureRequest) -> int:
    """Return the packets that find room between two processors."""
    return int(request.param)


def storm(proc: smp.Processor, each: int = 2) -> int:
    """Send requests to all others, and count the replies."""
    sums = [0]
    add = proc.handler(lambda message, k: sums.__setitem__(0, sums[0] + k))
    ask = proc.handler(lambda message, k: message.reply(add, k), replies=True)
    for k in range(each):
        for other in range(1, proc.size):
            proc.request((proc.rank + other) % proc.size, ask, k + 1)
    expected = (proc.size - 1) * each * (each + 1) // 2
    proc.wait_until(lambda: sums[0] == expected)
    assert proc._messages().deepest <= 2
    return sums[0]


def chains(proc: smp.Processor, each: int = 2) -> int:
    """Send requests that pass all processors, themselves twice, and then reply; return the number of replies."""
    came = [0]
    home = proc.handler(lambda message: came.__setitem__(0, came[0] + 1))

    def pass_on(message: smp.Message, source: int, left: int) -> None:
        if left:
            message.forward(onward, source, left - 1, to=(proc.rank + 1) % proc.size)
        else:
            message.reply(home, to=source)

    onward = proc.handler(pass_on, replies=True)
    for _ in range(each):
        proc.request(proc.rank, onward, proc.rank, proc.size)
    proc.wait_until(lambda: came[0] == each)
    return came[0]


def test_forwarded_requests_never_wait_for_each_other(room: int) -> None:
    found = smp.explore(chains, 2, 1, limit=2_000, network=smp.networks.ideal(room))
    assert found.failure is None, str(found)
    under_seeds(chains, room, seeds=40)


def test_requests_forwarded_while_only_right_is_polled_are_found(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that waits for room to forward, and takes no requests meanwhile, may wait for ever."""
    post = messenger.Messenger._post

    def wrong(self: Any, to: int, handler: Any, args: Any, on: Any, polled: Any, how: Any) -> None:
        post(self, to, handler, args, on, RIGHT if self._running else polled, how)

    monkeypatch.setattr(messenger.Messenger, "_post", wrong)
    with pytest.raises(DeadlockError, match="room for a message to processor"):
        under_seeds(chains, room)


@pytest.mark.parametrize(
    ("processors", "preemptions", "limit"),
    [(2, 1, 30_000), (3, 1, 150), *campaigns((3, 1, 500), (3, 2, 60_000))],
)
def test_requests_and_replies_never_wait_for_each_other(
    room: int, processors: int, preemptions: int, limit: int
) -> None:
    found = smp.explore(storm, processors, preemptions, limit=limit, network=smp.networks.ideal(room))
    assert found.failure is None, str(found)


def numbered(proc: smp.Processor) -> list[int]:
    """Processor 0 sends numbers to the last, over processor 1 if there is one in between."""
    came: list[int] = []
    take = proc.handler(lambda message, k: came.append(k))
    if proc.rank == 0:
        for k in range(4):
            proc.send(proc.size - 1, take, k, on=LEFT)
    elif proc.rank == 1 and proc.size > 2:
        for k in range(3):
            proc.send(proc.size - 1, take, 10 + k, on=LEFT)
    proc.quiet()
    return came


@pytest.mark.parametrize(
    ("processors", "preemptions", "limit"),
    [(2, 2, 300), *campaigns((2, 2, 1_000), (3, 1, 500), (3, 2, 10_000))],
)
def test_messages_come_once_and_in_order(room: int, processors: int, preemptions: int, limit: int) -> None:
    def check(run: smp.Run) -> bool:
        came = run.results[-1]
        first, second = [k for k in came if k < 10], [k for k in came if k >= 10]
        return first == [0, 1, 2, 3] and second == ([10, 11, 12] if processors == 3 else [])

    found = smp.explore(numbered, processors, preemptions, check=check, limit=limit, network=smp.networks.ideal(room))
    assert found.failure is None, str(found)


def chain(proc: smp.Processor) -> int:
    """A request of processor 0 makes processor 1 reply to processor 2; then all is quiet."""
    came = [0]
    arrive = proc.handler(lambda message: came.__setitem__(0, 1))
    pass_on = proc.handler(lambda message: message.reply(arrive, to=proc.size - 1), replies=True)
    if proc.rank == 0:
        proc.request(1, pass_on)
    proc.quiet()
    return came[0]


@pytest.mark.parametrize(
    ("processors", "preemptions", "limit"),
    [(2, 2, 400), (3, 1, 300), *campaigns((2, 2, 1_500), (3, 1, 1_000), (3, 2, 10_000))],
)
def test_quiet_is_never_early(processors: int, preemptions: int, limit: int) -> None:
    found = smp.explore(
        chain, processors, preemptions, check=lambda run: run.results == [0] * (processors - 1) + [1], limit=limit
    )
    assert found.failure is None, str(found)


def sleepers(proc: smp.Processor) -> list[int]:
    """Both wait for a message of the other one, at a barrier and outside of it, and for room."""
    came: list[int] = []
    take = proc.handler(lambda message, k: came.append(k))
    proc.send(1 - proc.rank, take, 1)
    proc.barrier()
    proc.wait_until(lambda: came)
    for _ in range(3):
        proc.send(1 - proc.rank, take, 2, on=RIGHT)
    proc.wait_until(lambda: len(came) == 4)
    return came


def all_came(run: smp.Run) -> bool:
    return [sorted(came) for came in run.results] == [[1, 2, 2, 2]] * 2


@pytest.mark.parametrize("preemptions", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_wake_up_is_lost(room: int, preemptions: int) -> None:
    found = smp.explore(sleepers, 2, preemptions, limit=20_000, check=all_came, network=smp.networks.ideal(room))
    assert found.failure is None, str(found)


@pytest.mark.parametrize(("slots", "program"), each(4, itertools.product([1, 2], [storm, sleepers, numbered])))
def test_the_same_over_interpreted_rings(monkeypatch: pytest.MonkeyPatch, program: Any, slots: int) -> None:
    through_rings(monkeypatch, slots)
    found = smp.explore(program, 2, 1, limit=150)
    assert found.failure is None, str(found)


def under_seeds(program: Any, room: int, seeds: int = 100) -> None:
    """Run a program on three processors under random schedules."""
    for seed in range(seeds):
        with smp.emulated(3, seed=seed, network=smp.networks.ideal(room)) as machine:
            machine.run(program, 6)


def test_requests_and_replies_end_under_random_schedules(room: int) -> None:
    under_seeds(storm, room)


def failing(program: Any, room: int = 64, processors: int = 2, preemptions: int = 1, limit: int = 5_000) -> Any:
    found = smp.explore(program, processors, preemptions, limit=limit, network=smp.networks.ideal(room))
    assert found.failure is not None, "the planted bug was not found"
    return found.failure.error


def test_replies_on_left_only_are_found(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    post = messenger.Messenger._post

    def wrong(self: Any, to: int, handler: Any, args: Any, on: Any, polled: Any, how: Any) -> None:
        post(self, to, handler, args, LEFT, polled, how)

    monkeypatch.setattr(messenger.Messenger, "_post", wrong)
    with pytest.raises(DeadlockError, match="room for a message to processor"):
        under_seeds(storm, room)


def test_replies_that_wait_and_poll_left_are_found(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor that polls LEFT while it waits for a reply's room runs handlers of requests inside of one another."""
    monkeypatch.setattr(messenger, "RIGHT", BOTH)

    with pytest.raises(ProcessorRaised, match="deepest"):
        under_seeds(storm, room)


def test_a_lost_wake_up_is_found(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "notify", lambda inbox: None)
    assert isinstance(failing(sleepers, room), DeadlockError)


def test_a_sleep_without_a_last_look_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks.QueueNetwork, "_asleep", sleeps_at_once)
    assert isinstance(failing(sleepers), DeadlockError)


def sleeps_at_once(self: Any, bits: int, room: tuple[int, int], ticket: int, deadline: int) -> int:
    """Sleep without a look after ASLEEP is stored."""
    sync = self._memory.sync
    inbox = message_waits.inbox_of(sync, self._rank)
    message_waits.begin_sleep(sync, inbox, ticket)
    status = message_waits.sleep(sync, inbox, int(inbox[message_waits.EVENTS]), deadline)
    message_waits.end_sleep(sync, inbox, ticket)
    return 0 if status == message_waits.CHANGING else status


def test_one_round_of_quiet_is_too_few() -> None:
    """The sums of one round can agree by chance, since processors count at different times."""

    def program(proc: smp.Processor) -> bool:
        came = [0]
        last = proc.handler(lambda message: came.__setitem__(0, came[0] + 1))

        def twice(message: smp.Message) -> None:
            for _ in range(12):
                message.reply(last, to=2, on=RIGHT)

        first = proc.handler(twice, replies=True)
        if proc.rank == 0:
            proc.request(1, first)
        one_round(proc)
        found = came[0]
        proc.quiet()
        return found == came[0]

    def one_round(proc: smp.Processor) -> None:
        messages = proc._messages()
        while True:
            messages.poll(BOTH, EMPTY)
            sent, handled = (sum(each) for each in zip(*proc.gather((messages.sent, messages.handled)), strict=True))
            if sent == handled:
                return

    assert any(not all(smp.emulated(3, seed=seed).run(program).results) for seed in range(200))


@pytest.mark.parametrize("limit", [1_000, *campaigns(5_000)])
def test_a_barrier_that_does_not_poll_is_reported_as_a_deadlock(limit: int) -> None:
    """The deadlock of the source: more messages than there is room for, and a receiver that does not poll."""

    def program(proc: smp.Processor, polls: bool) -> int:
        came: list[int] = []
        take = proc.handler(lambda message: came.append(1))
        if not polls:
            proc._port.serve = None
        if proc.rank:
            for _ in range(3):
                proc.send(0, take, on=LEFT)
        proc.barrier()
        return len(came)

    found = smp.explore(lambda proc: program(proc, True), 2, 2, limit=limit, network=smp.networks.ideal(2))
    assert found.failure is None, str(found)
    failure = smp.explore(lambda proc: program(proc, False), 2, 2, limit=10, network=smp.networks.ideal(2)).failure
    assert failure is not None
    assert isinstance(failure.error, DeadlockError)
    assert "room for a message to processor 0" in str(failure.error)
    assert "barrier" in str(failure.error)


def test_a_deadlock_of_messages_is_reported_on_the_host(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> None:
        come: list[int] = []
        proc.handler(print)
        if proc.rank:
            proc.barrier()
        else:
            proc.wait_until(lambda: come)

    with guarded(smp.host(2)) as machine, pytest.raises(DeadlockError) as caught:
        machine.run(program, helpers=False)
    assert "a message" in str(caught.value)
    assert "barrier" in str(caught.value)


def flood(proc: smp.Processor, requests: int) -> tuple[int, int, int]:
    draw = random.Random(proc.rank)
    sums = [0, 0]

    def add(message: smp.Message, k: int) -> None:
        sums[0] += k

    def ask(message: smp.Message, k: int) -> None:
        sums[1] += k
        message.reply(added, k)

    added, asked = proc.handler(add), proc.handler(ask, replies=True)
    for k in range(requests):
        proc.request(draw.randrange(proc.size), asked, k)
    proc.quiet()
    assert proc._messenger is not None
    return sums[0], sums[1], proc._messenger.deepest


@pytest.mark.parametrize(
    "options",
    [{"processors": 4 * CPUS}, {"processors": 4, "pin": False}, {"processors": 4, "pin": (usable_cpus()[0],) * 4}],
    ids=["oversubscribed", "four", "four on one CPU"],
)
@pytest.mark.parametrize("slots", [2, 64])
@pytest.mark.parametrize("requests", [1_500, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_flood_of_requests_ends(
    machines: Machines, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], slots: int, requests: int
) -> None:
    monkeypatch.setattr(networks_in_memory.rings, "slots_for", lambda processors: slots)  # forked workers see it too
    with guarded(machines(**options, start="fork"), 60.0 + requests / 2_000) as machine:
        results = machine.run(flood, requests).results
        size = machine.size
    assert [mine for mine, _, _ in results] == [requests * (requests - 1) // 2] * size
    assert sum(theirs for _, theirs, _ in results) == size * requests * (requests - 1) // 2
    assert max(deepest for _, _, deepest in results) <= 2


@pytest.mark.parametrize("times", [4, pytest.param(200, marks=pytest.mark.slow)])
def test_a_processor_killed_in_a_flood_ends_the_run(machines: Machines, times: int) -> None:
    def program(proc: smp.Processor, when: int) -> None:
        if proc.rank == 1:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, 0.001 + when * 0.0017 % 0.03)
        while True:
            flood(proc, 1000)

    for when in range(times):
        with guarded(machines(4, start="fork")) as machine, pytest.raises(ProcessorDied, match="processor 1"):
            machine.run(program, when)


def test_messages_of_a_failed_run_do_not_come_in_the_next_one(machines: Machines) -> None:
    def program(proc: smp.Processor, fails: bool) -> list[int]:
        came: list[int] = []
        take = proc.handler(lambda message, k: came.append(k))
        for k in range(5):
            proc.send(1 - proc.rank, take, 10 * fails + k)
        if fails and proc.rank:
            raise ArithmeticError
        proc.quiet()
        return came

    with guarded(machines(2)) as machine:
        for _ in range(3):
            with pytest.raises(ProcessorRaised, match="ArithmeticError"):
                machine.run(program, True)
            assert [sorted(came) for came in machine.run(program, False).results] == [list(range(5))] * 2


def test_a_send_from_another_stream_is_refused(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        take = proc.handler(lambda message: None)
        with proc.streams(2) as pool:
            pool.start(lambda: proc.send(0, take)).result()

    for machine in (machines(1), smp.emulated(1)):
        with guarded(machine) as opened, pytest.raises(ProcessorRaised, match="on another stream than the program's"):
            opened.run(program)


def test_room_is_checked() -> None:
    with pytest.raises(ValueError, match="room must be a number of packets, 1 or more, not 0"):
        smp.emulated(2, network=smp.networks.ideal(0))
    with pytest.raises(ValueError, match="not True"):
        smp.explore(storm, 2, network=smp.networks.ideal(True))


@pytest.mark.parametrize("opened", [smp.host, smp.emulated])
def test_handlers_may_not_wait_for_cells(opened: Any) -> None:
    def program(proc: smp.Processor, cells: smp.Cells, name: str) -> Any:
        found: list[Any] = []
        bad = proc.handler(lambda message: found.append(getattr(cells, name)(*([0, 1][: 1 + ("write" in name)]))))
        proc.send(proc.rank, bad)
        proc.poll()
        return found

    with opened(1) as machine:
        for name in ("readfe", "readff", "writeef", "writeff"):
            with pytest.raises(ProcessorRaised, match=f"called {name} of a cell, which may wait: use try_{name}"):
                machine.run(program, machine.cells(1), name)
        cells = machine.cells(1, full=True)
        assert machine.run(program, cells, "readxx").results == [[0]]
        assert machine.run(program, cells, "try_readfe").results == [[(True, 0)]]


def test_a_pool_may_wait_for_cells_while_a_handler_runs(machines: Machines) -> None:
    def program(proc: smp.Processor, cells: smp.Cells) -> int:
        done: list[int] = []
        handler = proc.handler(lambda message: done.append(cells.try_writeef(0, 7)))
        with proc.streams(2) as pool:
            thread = pool.start(cells.readfe, 0)
            proc.send(proc.rank, handler)
            proc.wait_until(lambda: done)
            return int(thread.result())

    with guarded(machines(1)) as machine:
        assert machine.run(program, machine.cells(1)).results == [7]


def test_an_exception_of_a_handler_that_the_program_catches_is_no_lost_message(machines: Machines) -> None:
    def program(proc: smp.Processor) -> str:
        def fails(message: smp.Message) -> None:
            raise KeyError("no")

        handler = proc.handler(fails)
        proc.send(proc.rank, handler)
        with pytest.raises(KeyError):
            proc.poll()
        proc.quiet(timeout=30)
        return "quiet"

    with guarded(machines(2)) as machine:
        assert machine.run(program).results == ["quiet"] * 2


def test_early_messages_are_not_handled_inside_one_another() -> None:
    """Processor 0 registers its handlers when requests have come already, and replies into queues with little room."""

    def program(proc: smp.Processor) -> int:
        came = [0]
        first = proc.handler(lambda message: None)
        if proc.rank == 0:
            proc.barrier()
        take = proc.handler(lambda message: came.__setitem__(0, came[0] + 1))
        ask = proc.handler(lambda message: [message.reply(take) for _ in range(3)], replies=True)
        if proc.rank:
            for _ in range(4):
                if not proc.try_send(0, ask):
                    break
            proc.send(0, first, on=RIGHT)
            proc.barrier()
        proc.quiet()
        assert proc._messages().deepest <= 2
        return came[0]

    for seed in range(60):
        with smp.emulated(3, seed=seed, network=smp.networks.ideal(2)) as machine:
            assert sum(machine.run(program).results) % 3 == 0


def test_a_deadlock_names_messages_that_wait_for_their_handlers() -> None:
    def program(proc: smp.Processor) -> None:
        come: list[int] = []
        go = proc.handler(lambda message: come.append(1))
        if proc.rank:
            proc.send(0, proc.handler(lambda message: None), on=LEFT)
            proc.send(0, go, on=LEFT)
            proc.wait_until(lambda: come)
        else:
            proc.wait_until(lambda: come)

    with smp.emulated(2) as machine, pytest.raises(DeadlockError, match="2 wait for handlers that are not registered"):
        machine.run(program)
