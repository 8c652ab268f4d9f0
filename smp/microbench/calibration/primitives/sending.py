"""The bursts of messages of one packet: to send, to look for them, and to receive them.

A processor sends to the next one.  Sends that nothing may disturb come in groups so small that they always find room;
the barriers between the groups handle what has come.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from smp._runtime.program.collectives.tickets import Ticket
from smp._runtime.program.messages.networks import BOTH, LEFT, ONCE
from smp._runtime.program.processor import Processor

from .primitive import Burst, Primitive, repeated

GROUP = 8
"""Sends in a row: a ring has room for at least as many packets."""
WAITING, LOOKS = 100, 3
"""Packets that wait at most, and polls that look for them."""
UNTIMED = 2
"""Time to send and to receive packets, in times of receiving them."""
PAUSE = 500
"""Changes of a flag, after which a processor that waits is asleep: some 0.8 ms on the host."""
PER_MESSAGE = 3
"""Calls for which a burst makes one message to a processor that sleeps, since each has a pause before it."""


def ignore(message: Any, *words: int) -> None:
    """Handle a message by doing nothing."""


def send(proc: Processor) -> Burst:
    note, to = proc.handler(ignore), _next(proc)
    return _grouped(proc, lambda: proc.send(to, note, 1))


def request(proc: Processor) -> Burst:
    note, to = proc.handler(ignore, replies=True), _next(proc)
    return _grouped(proc, lambda: proc.request(to, note, 1))


def send_both_ways(proc: Processor) -> Burst:
    """Time a send and a poll after it, while as many messages come as are sent."""
    handled = expected = 0

    def count(message: Any, word: int) -> None:
        nonlocal handled
        handled += 1

    note, to = proc.handler(count), _next(proc)

    def burst(calls: int) -> float:
        nonlocal expected
        expected += calls
        began = proc.clock()
        for _ in range(calls):
            proc.send(to, note, 1)
            proc.poll(BOTH, ONCE)
        proc.wait_until(lambda: handled >= expected)
        return proc.elapsed(began) / calls

    return burst


def reply(proc: Processor) -> Burst:
    """Time the replies of a handler, which sends a group of them for each request."""
    asked = answered = expected = 0
    seconds = 0.0

    def count(message: Any, word: int) -> None:
        nonlocal answered
        answered += 1

    def answer(message: Any) -> None:
        nonlocal asked, seconds
        began = proc.clock()
        for _ in range(GROUP):
            message.reply(arrived, 1)
        seconds += proc.elapsed(began)
        asked += 1

    arrived, wanted, to = proc.handler(count), proc.handler(answer, replies=True), _next(proc)

    def all_answered() -> bool:
        return answered >= expected

    def burst(calls: int) -> float:
        nonlocal expected
        asked_before, seconds_before = asked, seconds
        for _ in range(math.ceil(calls / GROUP)):
            proc.request(to, wanted)
            expected += GROUP
            proc.wait_until(all_answered)
        proc.barrier()
        return (seconds - seconds_before) / (asked - asked_before) / GROUP if asked > asked_before else math.nan

    return burst


def try_send(proc: Processor) -> Burst:
    """Time attempts that find no room, while no processor polls."""
    note, to = proc.handler(ignore), _next(proc)

    def burst(calls: int) -> float:
        met = _meet(proc)
        while proc.try_send(to, note, 1, on=LEFT):
            pass
        seconds = repeated(proc, lambda: proc.try_send(to, note, 1, on=LEFT))(calls)
        _part(proc, met, _meet(proc))
        return seconds

    return burst


def poll(proc: Processor) -> Burst:
    return repeated(proc, proc.poll)


def receive(proc: Processor) -> Burst:
    """Time polls while up to 100 packets wait, subtract polls that find nothing, and divide by the packets.

    A clock in a handler would miss most of it.
    """
    note, to = proc.handler(ignore), _next(proc)

    def looks() -> tuple[float, int]:
        began = proc.clock()
        handled = sum([proc.poll() for _ in range(LOOKS)])
        return proc.elapsed(began), handled

    def burst(calls: int) -> float:
        seconds = 0.0
        packets = 0
        for _ in range(math.ceil(calls / WAITING / UNTIMED)):
            met = _meet(proc)
            for _ in range(WAITING):
                proc.try_send(to, note, 1)
            posted = _meet(proc)
            with_packets, handled = looks()
            without = min(looks()[0] for _ in range(LOOKS))  # without an interruption by the system
            seconds += max(0.0, with_packets - without)
            packets += handled
            _part(proc, met, posted)
        return seconds / packets

    return burst


def round_trip(proc: Processor) -> Burst:
    """Time a request of processor 0 and the reply of the next one, which only waits for requests."""
    served = answered = expected = 0

    def count(message: Any, word: int) -> None:
        nonlocal answered
        answered += 1

    def answer(message: Any, word: int) -> None:
        nonlocal served
        served += 1
        message.reply(arrived, word)

    arrived, wanted, to = proc.handler(count), proc.handler(answer, replies=True), _next(proc)

    def trip() -> None:
        nonlocal expected
        expected += 1
        proc.request(to, wanted, 1)
        proc.wait_until(lambda: answered >= expected)

    trips = repeated(proc, trip)

    def burst(calls: int) -> float:
        nonlocal expected
        if proc.rank == 0:
            return trips(calls)
        if proc.rank == 1:
            expected += calls
            proc.wait_until(lambda: served >= expected)
        return math.nan

    return burst


def from_asleep(proc: Processor) -> Burst:
    """Time a message from processor 0 to a processor that sleeps, from before the send until the handler runs."""
    handled = expected = 0
    seconds = 0.0

    def wake(message: Any, stamp: float) -> None:
        nonlocal handled, seconds
        seconds += proc.elapsed(stamp)
        handled += 1

    woken = proc.handler(wake)

    def burst(calls: int) -> float:
        nonlocal expected
        times, before = math.ceil(calls / PER_MESSAGE), seconds
        expected += times
        if proc.rank == 0:
            for _ in range(times):
                for k in range(PAUSE):
                    proc.flag(k % 2 == 1)
                proc.send(1, woken, proc.clock())
        if proc.rank == 1:
            proc.wait_until(lambda: handled >= expected)
            return (seconds - before) / times
        return math.nan

    return burst


def _next(proc: Processor) -> int:
    """Return the processor to which this one sends."""
    return (proc.rank + 1) % proc.size


def _grouped(proc: Processor, call: Callable[[], object]) -> Burst:
    """Return a burst that makes a call in groups, and handles between them, untimed, what has come."""
    group = repeated(proc, call)

    def burst(calls: int) -> float:
        groups = math.ceil(calls / GROUP)
        seconds = 0.0
        for _ in range(groups):
            seconds += group(GROUP)
            proc.barrier()
            proc.poll()
        return seconds / groups

    return burst


def _meet(proc: Processor) -> Ticket:
    """Wait for all processors without polling; return a ticket, to be waited for when polls are allowed again."""
    ticket = proc.split.barrier()
    while not ticket.done():
        pass
    return ticket


def _part(proc: Processor, *met: Ticket) -> None:
    """End the meetings of this burst, and handle what has come."""
    for ticket in met:
        ticket.wait()
    proc.poll()


PRIMITIVES = (
    Primitive("send", send, {}),
    Primitive("send both ways", send_both_ways, {}, published="89, in a block transfer (section 6.1.3)"),
    Primitive("request", request, {}, published="68 (figure 6-6; 43 in table 1)"),
    Primitive("reply", reply, {}),
    Primitive("try_send without room", try_send, {}),
    Primitive("poll in vain", poll, {}, published="22 (table 1)"),
    Primitive("receive", receive, {}, published="62, in a block transfer (section 6.1.3)"),
    Primitive("round trip", round_trip, {}, published="404.2 + 14.4 * hops (figure 6-6)"),
    Primitive("from asleep to handled", from_asleep, {}, published="70, InterruptDelay (figure 6-6)", processors=2),
)
