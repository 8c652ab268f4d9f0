"""The bursts of one processor: functions that do an operation a number of times and stamp it.

A stamp is a row of `overlaps.SPAN`: start, end, CPU time, operations.  A processor that only waits leaves it empty.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from smp._runtime.program.processor import Processor
from smp._runtime.protocols.rings import prepare, private_words, ring_at, slots_for
from smp.microbench.method.windows import MeasurementError
from smp.microbench.sections.synchronisation.loops import adds, barriers, handoffs

from .loops import Words, drain, flow, trips

TRIPS, PACKETS, POLLS, ADDITIONS = 300, 4000, 1000, 5000
"""Operations in a burst of a compiled loop."""
REQUESTS, SENDS, CALLS, BLOCKS_SENT = 30, 500, 30, 300
"""Operations in a burst from Python; of collectives of long vectors, and of long blocks, there are fewer."""
CALLED_WORDS, COPIED_WORDS = 100_000, 1_000_000
"""Words that the collectives, or the copies, of a burst pass on at most, if there is more than one."""
WAITING, LOOKS = 100, 10
"""Packets that wait, half of them on each network, and polls until empty, in a burst of receiving."""
VECTORS = ("reduce", "scan", "exclusive scan", "broadcast", "transpose")
BLOCKS = ("block", "block both ways")
FOR_EVER = 60.0
"""Seconds that end the loops of other sections, which take one burst here and end before."""

Burst = Callable[[Words], None]


class Bursts:
    """The bursts of one processor.

    Parameters
    ----------
    proc : Processor
    words : int64 array
        Shared words of the floors.
    rings : int64 array
        Shared words of two networks of rings.
    size : int
        Words of the vectors or blocks, or senders of the rings of a poll.
    """

    def __init__(self, proc: Processor, words: Words, rings: Words, size: int) -> None:
        self.proc, self.words, self.size, self.p = proc, words, size, proc.size
        self.nets = _nets(rings.reshape(2, -1), proc.rank, self.p)

    def __call__(self, what: str) -> Burst:
        """Return the burst of an operation or of a floor, by name."""
        if what in VECTORS:
            return self._repeated(self._vector(what), calls_of(what, self.size))
        made: dict[str, Callable[[], Burst]] = {
            "line": self._line,
            "addition": self._addition,
            "copy": self._copy,
            "compiled barrier": self._barriers,
            "trip": self._trips,
            "one way": self._one_way,
            "both ways": self._both_ways,
            "receive": self._receive,
            "poll": self._poll,
            "request": self._requests,
            "message": self._messages,
            "block": self._blocks,
            "block both ways": self._blocks_both_ways,
            "barrier": lambda: self._repeated(self.proc.barrier, CALLS),
            "any": lambda: self._repeated(lambda: self.proc.any(False), CALLS),
        }
        return made[what]()

    # Floors.

    def _line(self) -> Burst:
        def burst(span: Words) -> None:
            if self.proc.rank < 2:
                handoffs(self.words, self.proc.sync, False, self.proc.rank, TRIPS, FOR_EVER, span.reshape(1, 4))
                span[3] //= 2  # there and back

        return burst

    def _addition(self) -> Burst:
        def burst(span: Words) -> None:
            if self.proc.rank == 0:
                adds(self.words, ADDITIONS, FOR_EVER, span.reshape(1, 4))

        return burst

    def _copy(self) -> Burst:
        mine, other = np.ones((2, self.size))

        def copy() -> None:
            other[...] = mine

        return self._repeated(copy, max(1, COPIED_WORDS // self.size))

    def _barriers(self) -> Burst:
        def burst(span: Words) -> None:
            barriers(self.words, self.proc.sync, self.proc.rank, TRIPS, FOR_EVER, span.reshape(1, 4))

        return burst

    # Packets in compiled loops.

    def _trips(self) -> Burst:
        def burst(span: Words) -> None:
            _check(trips(self.nets[0], self.proc.sync, self.proc.rank, TRIPS, span), 2 * TRIPS * (TRIPS - 1))

        return burst

    def _one_way(self) -> Burst:
        each = PACKETS // (self.p - 1)
        send, receive = (each, 0) if self.proc.rank else (0, each * (self.p - 1))
        return lambda span: self._flow(0, send, receive, each, span)

    def _both_ways(self) -> Burst:
        return lambda span: self._flow((self.proc.rank + 1) % self.p, PACKETS, PACKETS, PACKETS, span)

    def _flow(self, to: int, send: int, receive: int, each: int, span: Words) -> None:
        total = flow(self.nets[0], self.proc.sync, to, send, receive, span)
        _check(total, receive // each * sum_of(each))

    def _receive(self) -> Burst:
        (left, right), half, other = self.nets, WAITING // 2, np.zeros(4, np.int64)

        def burst(span: Words) -> None:
            if self.proc.rank == 1:
                for net in self.nets:
                    flow(net, self.proc.sync, 0, half, 0, other)
            self.proc.barrier()
            if self.proc.rank == 0:
                found, total = drain(left, right, LOOKS, span)
                _check(total, 2 * sum_of(half))
                drain(left, right, LOOKS, other)
                span[0] = min(span[1], span[0] + other[1] - other[0])  # without the polls that find nothing
                span[3] = found

        return burst

    def _poll(self) -> Burst:
        own = np.empty((2, ring_at(1, 0, self.size, slots_for(self.size))), np.int64)  # of processor 0
        own[:] = 0  # so that each page has memory of its own
        left, right = _nets(own, 0, self.size)

        def burst(span: Words) -> None:
            if self.proc.rank == 0:
                _check(drain(left, right, POLLS, span)[0] + int(own[0, 0]), 0)  # the rings are needed until here

        return burst

    # Messages and collectives from Python.

    def _requests(self) -> Burst:
        proc, done = self.proc, 0

        def count(message: Any, *words: int) -> None:
            nonlocal done
            done += 1

        def answer(message: Any, *words: int) -> None:
            message.reply(answered, *words)
            count(message)

        answered, asked = proc.handler(count), proc.handler(answer, replies=True)

        def requests() -> None:
            nonlocal done
            for k in range(1, REQUESTS + 1):
                if proc.rank == 0:
                    proc.request(1, asked, k, k, k, k)
                proc.wait_until(lambda k=k: done >= k)  # type: ignore[misc]
            done = 0  # the next request comes after a barrier

        return lambda span: _stamp(requests, REQUESTS, span)

    def _messages(self) -> Burst:
        proc, done = self.proc, 0

        def count(message: Any, *words: int) -> None:
            nonlocal done
            done += 1

        arrived, each = proc.handler(count), SENDS // (self.p - 1)
        every = each * (self.p - 1)

        def messages() -> None:
            nonlocal done
            if proc.rank == 0:
                proc.wait_until(lambda: done == every)
                done = 0
            else:
                for k in range(each):
                    proc.send(0, arrived, k, k, k, k)

        return lambda span: _stamp(messages, every, span)

    def _blocks(self) -> Burst:
        return self._sent(send=self.proc.rank == 1, receive=self.proc.rank == 0)

    def _blocks_both_ways(self) -> Burst:
        return self._sent(send=self.proc.rank < 2, receive=self.proc.rank < 2)

    def _sent(self, send: bool, receive: bool) -> Burst:
        proc, data, times = self.proc, np.ones(self.size), calls_of("block", self.size)
        port = proc.port(self.size)

        def blocks() -> None:
            if send:
                for _ in range(times):
                    proc.send_block(1 - proc.rank, port, data)
            if receive:
                port.expect(times * self.size)
                port.wait()

        return lambda span: _stamp(blocks, times, span)

    def _vector(self, what: str) -> Callable[[], object]:
        proc, p, n = self.proc, self.p, self.size
        if what == "transpose":
            parts, transposed = np.ones((2, p, n // p))
            return lambda: proc.transpose(parts, transposed)
        mine, out = np.ones((2, n))
        if what == "broadcast":  # to processor 0, since the root may go on before the others have received
            root = p - 1
            return lambda: proc.broadcast(mine, root, out=None if proc.rank == root else out)
        if what == "reduce":
            return lambda: proc.reduce(mine, out=out)
        return lambda: proc.scan(mine, exclusive=what == "exclusive scan", out=out)

    def _repeated(self, call: Callable[[], object], times: int) -> Burst:
        def calls() -> None:
            for _ in range(times):
                call()

        return lambda span: _stamp(calls, times, span)


def calls_of(what: str, words: int) -> int:
    """Return the number of calls in a burst of a collective of vectors, or of blocks."""
    if what in BLOCKS:
        return max(1, min(BLOCKS_SENT, COPIED_WORDS // words))
    return max(1, min(CALLS, CALLED_WORDS // words))


def sum_of(packets: int) -> int:
    """Return the sum of the words of packets as `flow` posts them."""
    return 2 * packets * (packets - 1) + 6 * packets


def _nets(rings: Words, rank: int, p: int) -> Words:
    """Return a processor's private words of two networks, whose shared words are all 0."""
    nets = np.zeros((2, private_words(p)), np.int64)
    for net, words in zip(nets, rings, strict=True):
        prepare(net, words.ctypes.data, rank, p, slots_for(p))
    return nets


def _stamp(burst: Callable[[], None], operations: int, span: Words) -> None:
    cpu, start = time.thread_time_ns(), time.monotonic_ns()
    burst()
    end = time.monotonic_ns()
    span[:] = start, end, time.thread_time_ns() - cpu, operations


def _check(found: int, expected: int) -> None:
    if found != expected:
        raise MeasurementError(f"the words that have come add up to {found}, not to {expected}: packets were lost")
