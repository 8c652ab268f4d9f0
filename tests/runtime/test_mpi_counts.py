"""Processors of several nodes send as many messages and bytes as the model of larger machines says."""

import pickle
from typing import Any

import numpy as np
import pytest
from support.nodes import on_nodes

import smp
from smp._runtime.nodes.holders import holders
from smp.profiles.more_nodes import BARRIERS, ENVELOPE, steps

pytestmark = pytest.mark.mpi
WORDS, TIMES = 128, 3


class Counted:
    """Counts the messages that the processor sends to others, and their bytes, by kind."""

    def __init__(self) -> None:
        port: Any = next(iter(holders.values()))
        self._mail = port.progress._mail
        self._send, self._begin = self._mail.send, self._mail._begin
        self._mail.send, self._mail._begin = self.send, self.begin
        self._kind, self._counts = "", dict[str, tuple[int, int]]()

    def send(self, to: int, message: tuple[Any, ...]) -> None:
        self._kind = message[0]
        self._send(to, message)

    def begin(self, to: int, tag: int, data: bytes) -> None:
        messages, nbytes = self._counts.get(self._kind, (0, 0))
        self._counts[self._kind] = messages + 1, nbytes + len(data)
        self._begin(to, tag, data)

    def taken(self, *kinds: str) -> tuple[int, int]:
        """Return the messages and bytes of some kinds since they were taken last."""
        messages, nbytes = zip(*(self._counts.pop(kind, (0, 0)) for kind in kinds), strict=True)
        return sum(messages), sum(nbytes)

    def end(self) -> None:
        self._mail.send, self._mail._begin = self._send, self._begin


def counts(proc: smp.Processor, array: smp.GlobalArray, firsts: list[int]) -> list[tuple[int, int]]:
    """Return the messages and bytes of barriers, reductions, barriers of supersteps, and reads from all nodes.

    A processor that is ahead may have its reads answered by one that still reduces.
    """
    mine = len(array) // proc.size
    index = np.concatenate([first * mine + np.arange(WORDS) for first in firsts])
    proc.barrier()
    counted, found = Counted(), list[tuple[int, int]]()
    proc.barrier()
    counted.taken("round")
    for _ in range(TIMES):
        proc.barrier()
    found.append(counted.taken("round"))
    for _ in range(TIMES):
        proc.reduce(1.0)
    found.append(counted.taken("round"))
    for _ in range(TIMES):
        with proc.superstep() as step:
            assert step.copy_in(array, index).sum() == len(index)
    found += [counted.taken("round"), counted.taken("read", "elements")]
    counted.end()
    return found


@pytest.mark.parametrize(
    ("nodes", "each"),
    [(3, 1), *(pytest.param(*shape, marks=pytest.mark.slow) for shape in [(4, 2), (8, 4), (16, 2), (32, 1)])],
)
def test_messages_and_bytes_are_those_of_the_model(nodes: int, each: int) -> None:
    with on_nodes(*[each] * nodes) as machine:
        array = machine.array(np.ones(machine.size * WORDS))
        found = machine.run(counts, array, list(range(0, machine.size, each)), warmup=1).results
    reads = 2 * TIMES * (nodes - 1)  # a request each, and as many answers
    for rank, (barriers, reductions, of_supersteps, of_reads) in enumerate(found):
        messages = 0 if rank % each else TIMES * steps(nodes)
        assert barriers[0] == reductions[0] == messages
        assert barriers[1] <= messages * ENVELOPE
        assert reductions[1] <= messages * ENVELOPE + 2 * TIMES * (nodes - 1) * each * len(pickle.dumps(1.0))
        assert of_supersteps[0] == BARRIERS * messages
        assert of_supersteps[1] <= BARRIERS * messages * ENVELOPE
        assert of_reads[0] == reads
        assert 0 <= of_reads[1] - 8 * WORDS * reads <= reads * ENVELOPE
