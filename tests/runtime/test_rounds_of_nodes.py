"""Collectives between any number of nodes, with messages that a list carries, in any order."""

import marshal
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

from smp._runtime.memory.segment import Segment
from smp._runtime.nodes.collectives.rounds import Outcome, Rounds
from smp._runtime.nodes.layout import Nodes
from smp._runtime.nodes.progress import Progress
from smp._runtime.shared_memory.node_memory import made

SIGN = 12345


class Wires:
    """Carries the messages of all nodes, and counts them."""

    def __init__(self) -> None:
        self.on_the_way: list[tuple[int, int, tuple[Any, ...]]] = []
        self.actions: dict[int, Callable[..., object]] = {}
        self.sent: Counter[int] = Counter()
        self.nbytes: Counter[int] = Counter()

    def deliver(self, random: Random) -> None:
        """Deliver all messages in a random order."""
        while self.on_the_way:
            at = random.randrange(len(self.on_the_way))
            self.on_the_way[at], self.on_the_way[-1] = self.on_the_way[-1], self.on_the_way[at]
            source, to, content = self.on_the_way.pop()
            self.actions[to](source, *content)


class End:
    """What a processor has of its progress: it sends and gets messages of rounds."""

    def __init__(self, wires: Wires, rank: int) -> None:
        self.lock, self._wires, self._rank = threading.RLock(), wires, rank

    def on(self, kind: str, action: Callable[..., object]) -> None:
        if kind == "round":
            self._wires.actions[self._rank] = action

    def send(self, to: int, kind: str, *content: Any) -> None:
        data = marshal.dumps(content)
        self._wires.sent[self._rank] += 1
        self._wires.nbytes[self._rank] += len(data)
        self._wires.on_the_way.append((self._rank, to, marshal.loads(data)))


@pytest.fixture(scope="module")
def segment() -> Iterator[Segment]:
    """The memory of nodes of one processor, who do not use it."""
    found = made(1)
    yield found
    found.close()


def rounds_of(segment: Segment, wires: Wires, nodes: int) -> list[Rounds]:
    layout = Nodes(range(nodes))
    return [Rounds(cast(Progress, End(wires, rank)), rank, layout, segment) for rank in range(nodes)]


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**32), st.sampled_from(["none", "one", "some", "all"]), st.booleans())
def test_all_nodes_get_all_votes_and_bytes(segment: Segment, nodes: int, seed: int, who: str, differ: bool) -> None:
    random, wires = Random(seed), Wires()
    brings = {"none": 0.0, "one": 0.0, "some": 0.4, "all": 1.0}[who]
    blocks = [random.randbytes(5) if random.random() < brings else b"" for _ in range(nodes)]
    if who == "one":
        blocks[random.randrange(nodes)] = b"a block"
    votes = [random.random() < 0.5 for _ in range(nodes)]
    stranger = random.randrange(nodes) if differ else -1
    processors = rounds_of(segment, wires, nodes)
    order = list(range(nodes))
    for number in (1, 2):
        random.shuffle(order)
        for rank in order:
            assert processors[rank].arrive(SIGN + (rank == stranger), votes[rank], blocks[rank]) == number
    wires.deliver(random)
    expected = Outcome(not differ, sum(votes), blocks if any(blocks) else [])
    for number in (1, 2):
        assert [each.taken(number) for each in processors] == [expected] * nodes


@pytest.mark.parametrize("nodes", [2, 3, 4, 16, 100, 256, 1000])
def test_messages_of_a_barrier_grow_with_the_logarithm_and_bytes_of_a_reduction_with_the_nodes(
    segment: Segment, nodes: int
) -> None:
    steps = math.ceil(math.log2(nodes))
    for data, least, most in ((b"", 0, 64 * steps), (bytes(16), 16 * (nodes - 1), 40 * nodes + 64 * steps)):
        wires = Wires()
        for each in rounds_of(segment, wires, nodes):
            each.arrive(SIGN, True, data)
        wires.deliver(Random(0))
        assert set(wires.sent.values()) == {steps}
        assert all(least <= nbytes <= most for nbytes in wires.nbytes.values())
