"""Messages on all kinds of machines: delivery, order, arguments, polls, waits, and what handlers may not do."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.sampled import each

import smp
from smp import BOTH, EITHER, EMPTY, FIRST_LEFT, FIRST_RIGHT, LEFT, ONCE, RIGHT
from smp._runtime.program.messages.handlers import Handler
from smp.errors import CollectiveMismatch, ProcessorRaised, WaitTimeout

Machines = Callable[[int], smp.Machine]
WITH_ROOM = pytest.mark.parametrize("networks", ["host", "emulated", "messages"], indirect=True)
"""Where a queue has room for several packets, and a packet for few words."""


@pytest.fixture(scope="module")
def machines(networks: Machines) -> Machines:
    """Each kind of machine, and each network."""
    return networks


@pytest.mark.parametrize("processors", each(2, [1, 2, 3]))
def test_requests_are_answered(machines: Machines, processors: int) -> None:
    n = 40

    def program(proc: smp.Processor) -> Any:
        answers: dict[int, int] = {}
        table = {key: key * key for key in range(proc.rank, n, proc.size)}

        def found(message: smp.Message, key: int, value: int) -> None:
            assert message.source == key % proc.size
            answers[key] = value

        def lookup(message: smp.Message, key: int) -> None:
            message.reply(arrived, key, table[key])

        arrived = proc.handler(found)
        wanted = proc.handler(lookup, replies=True)
        for key in range(n):
            proc.request(key % proc.size, wanted, key)
        proc.wait_until(lambda: len(answers) == n)
        proc.quiet()
        return answers

    assert machines(processors).run(program).results == [{key: key * key for key in range(n)}] * processors


@pytest.mark.parametrize("seed", range(3))
def test_each_message_is_handled_once_and_those_of_a_network_in_order(machines: Machines, seed: int) -> None:
    def program(proc: smp.Processor) -> Any:
        draw = random.Random(10 * seed + proc.rank)
        came: list[tuple[int, int, int]] = []
        handler = proc.handler(lambda message, network, k: came.append((message.source, network, k)))
        sent = []
        for k in range(300):
            to, network = draw.randrange(proc.size), draw.randrange(3)
            sent.append((to, network, k))
            proc.send(to, handler, network, k, on=(LEFT, RIGHT, EITHER)[network])
            if draw.random() < 0.1:
                proc.poll(how=draw.choice([ONCE, EMPTY, 3]))
        proc.quiet()
        return sent, came

    results = machines(3).run(program).results
    for to, (_, came) in enumerate(results):
        expected = [(source, network, k) for source in range(3) for at, network, k in results[source][0] if at == to]
        assert sorted(came) == sorted(expected)
        for source in range(3):
            for network in (0, 1):
                numbers = [k for at, on, k in came if (at, on) == (source, network)]
                assert numbers == sorted(numbers)


ARGUMENTS: list[tuple[Any, ...]] = [
    (),
    (0,),
    (-(2**63), 2**63 - 1, 1.5, float("inf"), -0.0, 7, 1e-300),
    (2**63,),
    (1, 2, 3, 4, 5, 6, 7, 8),
    (np.int64(-5), np.float64(2.5)),
    (True, None, "text", ("a", [1.0])),
    (b"x" * 1900,),
    (1, "y" * 500),
]


def test_arguments_come_as_they_were_given(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        came: list[Any] = []
        handler = proc.handler(lambda message, *args: came.append(args))
        for k, args in enumerate(ARGUMENTS):
            proc.send((proc.rank + 1) % proc.size, handler, *args, on=LEFT)
            proc.wait_until(lambda k=k: len(came) > k)
        array = np.arange(12).reshape(3, 4)[:, ::2]
        proc.send(proc.rank, handler, array)
        proc.wait_until(lambda: len(came) > len(ARGUMENTS))
        assert (came.pop()[0] == array).all()
        return came

    for came in machines(2).run(program).results:
        assert came == ARGUMENTS
        assert [list(map(type, args)) for args in came[:5]] == [list(map(type, args)) for args in ARGUMENTS[:5]]
        assert str(came[2][4]) == "-0.0"


def test_long_messages_of_several_senders_do_not_mix(machines: Machines) -> None:
    """A reply may be sent while a request of several packets waits for room."""

    def program(proc: smp.Processor) -> list[bool]:
        good: list[bool] = []
        check = proc.handler(lambda message, k, data: good.append(data == bytes([k % 251]) * (k * 37 % 1900)))
        ask = proc.handler(lambda message, k, data: message.reply(check, k, data), replies=True)
        for k in range(60):
            proc.request((proc.rank + k) % proc.size, ask, k, bytes([k % 251]) * (k * 37 % 1900))
        proc.quiet()
        return good

    assert machines(3).run(program).results == [[True] * 60] * 3


@WITH_ROOM
def test_polls_take_what_they_are_asked_for(machines: Machines) -> None:
    """A processor sends to itself, so that it knows what lies in its networks."""

    def program(proc: smp.Processor) -> list[Any]:
        came: list[int] = []
        handler = proc.handler(lambda message, k: came.append(k))
        found: list[Any] = []

        def fill(left: int, right: int) -> None:
            proc.poll()
            came.clear()
            for k in range(left):
                assert proc.try_send(proc.rank, handler, k, on=LEFT)
            for k in range(right):
                assert proc.try_send(proc.rank, handler, 10 + k, on=RIGHT)
            assert came == []  # no message is handled before a poll

        asked: list[tuple[Any, ...]] = [(), (BOTH, ONCE), (LEFT, ONCE), (RIGHT, EMPTY), (BOTH, 3), (LEFT, 2)]
        asked += [(BOTH, FIRST_LEFT), (BOTH, FIRST_RIGHT)]
        for left, right in ((3, 2), (0, 2), (0, 0)):
            for args in asked:
                fill(left, right)
                found.append((proc.poll(*args), sorted(came)))
        return found

    expected = [
        *((5, [0, 1, 2, 10, 11]), (2, [0, 10]), (1, [0]), (2, [10, 11])),
        *((4, [0, 1, 10, 11]), (2, [0, 1]), (5, [0, 1, 2, 10, 11]), (5, [0, 1, 2, 10, 11])),
        *((2, [10, 11]), (1, [10]), (0, []), (2, [10, 11]), (2, [10, 11]), (0, []), (0, []), (2, [10, 11])),
        *[(0, [])] * 8,
    ]
    assert machines(1).run(program).results == [expected]


def test_waits_of_all_kinds_run_handlers(machines: Machines) -> None:
    """Processor 0 waits in one call after the other, while processor 1 asks it and waits for the answer."""
    calls: list[Callable[[smp.Processor, smp.GlobalArray], Any]] = [
        lambda proc, array: proc.barrier(),
        lambda proc, array: proc.barrier(timeout=30),
        lambda proc, array: proc.any(False),
        lambda proc, array: proc.reduce(np.ones(3)),
        lambda proc, array: proc.reduce(np.ones(100_000)),
        lambda proc, array: proc.broadcast("x", 1),
        lambda proc, array: proc.split.count(True).wait(),
        lambda proc, array: proc.empty(3),
        lambda proc, array: proc.median(1.0),
        lambda proc, array: proc.quiet(),
        superstep,
    ]

    def program(proc: smp.Processor, array: smp.GlobalArray) -> int:
        count = [0]
        answers = proc.handler(lambda message: count.__setitem__(0, count[0] + 1))
        asks = proc.handler(lambda message: message.reply(answers), replies=True)
        for k, call in enumerate(calls):
            if proc.rank:
                proc.request(0, asks)
                proc.wait_until(lambda k=k: count[0] == k + 1, timeout=30)
            call(proc, array)
        return count[0]

    with machines_of(machines) as machine:
        assert machine.run(program, machine.zeros(4)).results == [0, len(calls)]


def superstep(proc: smp.Processor, array: smp.GlobalArray) -> None:
    with proc.superstep() as step:
        step.copy_in(array, slice(0, 2))
        step.copy_out(array, proc.rank, 1.0)


class machines_of:
    """The machine of two processors, as a context that leaves it open."""

    def __init__(self, machines: Machines) -> None:
        self._machine = machines(2)

    def __enter__(self) -> smp.Machine:
        return self._machine

    def __exit__(self, *_: object) -> None:
        pass


def test_messages_that_are_left_are_handled_before_the_program_ends(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        came: list[int] = []
        last = proc.handler(lambda message, k: came.append(k))
        first = proc.handler(lambda message, k: message.reply(last, k + 1), replies=True)
        proc.request(1 - proc.rank, first, 10 * proc.rank)
        return came

    machine = machines(2)
    assert machine.run(program).results == [[1], [11]]
    assert machine.run(program).results == [[1], [11]]  # nothing is left of the first run


FORBIDDEN: dict[str, Callable[[smp.Processor, Any, Any], object]] = {
    "barrier": lambda proc, handler, array: proc.barrier(),
    "any": lambda proc, handler, array: proc.any(True),
    "reduce": lambda proc, handler, array: proc.reduce(1),
    "broadcast": lambda proc, handler, array: proc.broadcast(1),
    "count": lambda proc, handler, array: proc.split.count(True),
    "superstep": lambda proc, handler, array: proc.superstep().__enter__(),
    "allocation": lambda proc, handler, array: proc.empty(3),
    "poll": lambda proc, handler, array: proc.poll(),
    "send": lambda proc, handler, array: proc.send(0, handler),
    "try_send": lambda proc, handler, array: proc.try_send(0, handler),
    "request": lambda proc, handler, array: proc.request(0, handler),
    "wait_until": lambda proc, handler, array: proc.wait_until(lambda: True),
    "quiet": lambda proc, handler, array: proc.quiet(),
    "handler": lambda proc, handler, array: proc.handler(print),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_handlers_may_not_wait_or_send(machines: Machines, name: str) -> None:
    def program(proc: smp.Processor) -> None:
        bad = proc.handler(lambda message: FORBIDDEN[name](proc, bad, None))
        proc.send(proc.rank, bad)
        proc.poll()

    said = rf"HandlerError: the handler '.*<lambda>' of a message from processor 0 called '?(proc\.)?{name}"
    with pytest.raises(ProcessorRaised, match=said):
        machines(1).run(program)


def test_only_handlers_of_requests_reply_and_only_while_they_run(machines: Machines) -> None:
    kept: list[smp.Message] = []

    def program(proc: smp.Processor, early: str, late: str) -> None:
        good = proc.handler(lambda message: None)
        keeps = proc.handler(kept.append)
        replies = proc.handler(lambda message: message.reply(good))
        forwards = proc.handler(lambda message: message.forward(good, to=0))
        if late:
            proc.send(proc.rank, keeps)
            proc.wait_until(lambda: kept)
            (kept[-1].reply if late == "reply" else partial(kept[-1].forward, to=0))(good)
        proc.send(proc.rank, forwards if early == "forward" else replies)
        proc.wait_until(lambda: False)

    for call, late in (("reply", "replied to"), ("forward", "forwarded")):
        with pytest.raises(ProcessorRaised, match=rf"cannot {call}: register it with proc.handler\(.*, replies=True\)"):
            machines(1).run(program, call, "")
        with pytest.raises(ProcessorRaised, match=f"cannot be {late}, because its handler has ended"):
            machines(1).run(program, call, call)


def test_a_request_is_forwarded_to_the_processor_that_replies(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        passed: list[int] = []
        home = proc.handler(lambda message, *ranks: passed.extend((*ranks, message.source)))

        def onward(message: smp.Message, source: int, *ranks: int) -> None:
            if proc.rank == proc.size - 1:
                message.reply(home, *ranks, message.source, to=source)
            else:
                message.forward(chain, source, *ranks, message.source, to=proc.rank + 1)

        chain = proc.handler(onward, replies=True)
        proc.request(0, chain, proc.rank)
        proc.wait_until(lambda: passed)
        return passed

    assert machines(3).run(program).results == [[rank, 0, 1, 2] for rank in range(3)]


def test_an_exception_in_a_handler_ends_the_run_and_names_the_message(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        def fails(message: smp.Message, key: int, text: str) -> None:
            raise KeyError(key)

        handler = proc.handler(fails)
        if proc.rank:
            proc.send(0, handler, 3, "abc")
        proc.barrier()

    with pytest.raises(ProcessorRaised, match="processor 0 of 2 raised KeyError") as caught:
        machines(2).run(program)
    assert "fails' of a message from processor 1 with the arguments (3, 'abc')" in "".join(caught.value.__notes__)


def one(message: smp.Message) -> None: ...
def two(message: smp.Message) -> None: ...
def three(message: smp.Message) -> None: ...


@pytest.mark.parametrize(
    ("here", "there", "said"),
    [
        ((two, one), (one, two), r"its handler 0, 'one', but handler 0 of processor 0 is 'two'"),
        ((two, one), (three, one), "its handler 0, whose name is that of no handler on processor 0, but handler 0 of"),
    ],
)
def test_handlers_that_differ_end_the_run_with_both_names(machines: Machines, here: Any, there: Any, said: str) -> None:
    def program(proc: smp.Processor) -> None:
        first, _ = (proc.handler(f) for f in (there if proc.rank else here))
        if proc.rank:
            proc.send(0, first)
        proc.barrier()

    with pytest.raises(CollectiveMismatch, match=f"^processor 1 sent a message to {said}") as caught:
        machines(2).run(program)
    assert caught.value.rank == 0
    assert f"in the same order (processor 0 of 2 was at {__file__}:" in str(caught.value)
    assert isinstance(caught.value.__cause__, CollectiveMismatch)


def test_handlers_of_which_only_one_replies_differ(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        first = proc.handler(one, replies=proc.rank == 1)
        if proc.rank:
            proc.request(0, first)
        proc.barrier()

    with pytest.raises(
        CollectiveMismatch, match="handler 0, 'one', which replies, but handler 0 of processor 0 is 'one'"
    ):
        machines(2).run(program)


def test_a_program_can_catch_a_mismatch_of_handlers(machines: Machines) -> None:
    def program(proc: smp.Processor) -> str:
        came: list[int] = []
        go = proc.handler(lambda message: came.append(1))
        first = proc.handler(one if proc.rank else two)
        said = ""
        if proc.rank:
            proc.send(0, first, on=LEFT)
            proc.send(0, go, on=LEFT)
            proc.barrier()
        else:
            with pytest.raises(CollectiveMismatch) as caught:
                proc.wait_until(lambda: False)
            proc.wait_until(lambda: came)
            said = str(caught.value)
        raise KeyError(said) if said else SystemExit

    with pytest.raises(
        ProcessorRaised, match=r"raised KeyError: .*its handler 1, whose name .*, but handler 1 of processor 0 is 'two'"
    ):
        machines(2).run(program)


def test_a_message_waits_for_its_handler_to_be_registered(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[int]:
        came: list[int] = []
        go = proc.handler(lambda message: came.append(-1))
        if proc.rank:
            late = proc.handler(lambda message, k: came.append(k))
            for k in range(3):
                proc.send(0, late, k, on=LEFT)
            proc.send(0, go, on=RIGHT)
            proc.send(0, go, on=LEFT)
            proc.barrier()
        else:
            proc.wait_until(lambda: came == [-1])
            proc.barrier()
            assert came == [-1]
            proc.handler(lambda message, k: came.append(k))
        proc.quiet()
        return came

    assert machines(2).run(program).results == [[-1, 0, 1, 2, -1], []]


def test_a_handler_that_is_never_registered_is_reported(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        proc.handler(print)
        if proc.rank:
            proc.send(0, proc.handler(print))

    with pytest.raises(
        CollectiveMismatch,
        match=r"^processor 1 sent a message to its handler 1, 'print', but only 1 is registered on processor 0, and .*",
    ):
        machines(2).run(program)


def test_a_message_to_a_processor_without_handlers_is_reported(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        if proc.rank:
            proc.send(0, proc.handler(one))

    with pytest.raises(CollectiveMismatch) as caught:
        machines(2).run(program)
    said = str(caught.value)
    assert "processor 0: return from the program at " in said
    assert "processor 1: quiet at " in said
    assert "quiet also ends a program that has registered handlers or made ports: all must do so" in said


def test_a_packet_that_is_left_after_the_programs_have_ended_is_reported(machines: Machines) -> None:
    """No program of users can leave one; this one posts it past the calls of the processor."""

    def program(proc: smp.Processor) -> None:
        if proc.rank:
            proc._port.network.try_post(1, 0, Handler(3, one, replies=False).head, b"")

    with pytest.raises(
        CollectiveMismatch, match=r"message to its handler 3, .* only 0 are registered on processor 0, and 1"
    ):
        machines(2).run(program)
    assert machines(2).run(lambda proc: proc.rank).results == [0, 1]


def test_waits_have_time_limits_and_go_on_after_them(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[str]:
        came: list[int] = []
        handler = proc.handler(lambda message: came.append(1))
        if proc.rank == 0:
            with pytest.raises(WaitTimeout, match=r"waited 0.01 s for messages, and the predicate is still false"):
                proc.wait_until(lambda: came, timeout=0.01)
            with pytest.raises(WaitTimeout, match="at 'quiet'"):
                proc.quiet(timeout=0.01)
            proc.send(1, handler)
        else:
            proc.wait_until(lambda: came)
            proc.send(0, handler)
        proc.quiet()
        return came

    assert machines(2).run(program).results == [[1], [1]]


def test_quiet_waits_for_chains_of_messages(machines: Machines) -> None:
    """A request goes from processor to processor, and each adds a reply to the next one."""

    def program(proc: smp.Processor) -> int:
        seen = [0]
        asked = [0]
        after = proc.handler(lambda message, left: asked.__setitem__(0, asked[0] + left))
        ask = proc.handler(
            lambda message, left: message.reply(after, left, to=(proc.rank + 1) % proc.size), replies=True
        )
        for left in range(10):
            proc.request((proc.rank + left) % proc.size, ask, left)
        proc.quiet()
        seen[0] = asked[0]
        proc.barrier()
        assert asked == seen  # nothing came after the quiet
        return seen[0]

    assert sum(machines(3).run(program).results) == 3 * 45


@WITH_ROOM
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda proc, one, asks: proc.send(2, one), "processor 2 does not exist: ranks begin at 0 and are below 2"),
        (lambda proc, one, asks: proc.send(-1, one), "processor -1 does not exist"),
        (lambda proc, one, asks: proc.send(0, print), "takes a handler, as proc.handler returns it, not <built-in"),
        (lambda proc, one, asks: proc.send(0, asks), "sends replies: send its messages with proc.request"),
        (lambda proc, one, asks: proc.try_send(0, asks, on=RIGHT), "a request goes on smp.LEFT"),
        (lambda proc, one, asks: proc.send(0, one, b"x" * 3000), "take 3,0.. bytes, and at most 2,048 are possible"),
        (lambda proc, one, asks: proc.try_send(0, one, b"x" * 2000), r"and try_send posts one"),
        (lambda proc, one, asks: proc.send(0, one, on=LEFT, polling=RIGHT), "could wait for ever: poll smp.BOTH"),
        (lambda proc, one, asks: proc.send(0, one, polling=LEFT), "could wait for ever"),
        (lambda proc, one, asks: proc.send(0, one, how=3), "how= of proc.send must be smp.EMPTY or smp.ONCE, not 3"),
        (lambda proc, one, asks: proc.wait_until(3), "takes a function without arguments, not 3"),
        (lambda proc, one, asks: proc.poll(how=0), "how must be a number of messages, 1 or more"),
        (lambda proc, one, asks: proc.poll(5), "networks are smp.LEFT, smp.RIGHT, .*, not 5"),
        (lambda proc, one, asks: proc.send(0, one, on=0), "networks are smp.LEFT, smp.RIGHT, .*, not 0"),
        (lambda proc, one, asks: proc.try_send(0, one, on="LEFT"), "not 'LEFT'"),
        (lambda proc, one, asks: proc.handler(3), "must be a function of a message and its arguments, not 3"),
        (lambda proc, one, asks: proc.wait_until(lambda: True, timeout=-1), "a timeout must be a number of seconds"),
    ],
)
def test_bad_input_is_refused(machines: Machines, call: Any, said: str) -> None:
    def program(proc: smp.Processor) -> None:
        one = proc.handler(lambda message: None)
        asks = proc.handler(lambda message: None, replies=True)
        call(proc, one, asks)

    with pytest.raises(ProcessorRaised, match=said):
        machines(2).run(program)
