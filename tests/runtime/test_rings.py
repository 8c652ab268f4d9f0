"""Each message of a ring arrives once and in order, under all schedules and on the host; planted bugs are found."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import ring_loops
from support.linearizability import MISSED, Operation, linearizable
from support.machines import PLACES, Machines, guarded
from support.ring_loops import BUGS, changed, exchanged, planted, posted, prepared, taken
from support.sampled import each

import smp
from smp._runtime.protocols import rings
from smp.compiled import fetch_add
from smp.errors import ProcessorRaised

LAST_LAP = rings.LOW


# Layout.


@pytest.mark.parametrize(("processors", "slots"), [(1, 64), (64, 64), (65, 63), (100, 40), (512, 8), (4096, 8)])
def test_slots_of_a_ring(processors: int, slots: int) -> None:
    assert rings.slots_for(processors) == slots


@pytest.mark.parametrize(("processors", "slots"), [(1, 1), (3, 2), (5, 8)])
def test_rings_and_credits_share_no_line_and_fill_the_words(processors: int, slots: int) -> None:
    words = np.zeros(rings.ring_words(processors, slots) // 8, np.int64)  # a line each
    for receiver in range(processors):
        for sender in range(processors):
            at = rings.ring_at(receiver, sender, processors, slots)
            assert at % 8 == 0
            words[at // 8 : at // 8 + slots + 1] += 1
    assert (words == 1).all()


def test_all_rings_of_a_large_machine_can_be_addressed() -> None:
    assert rings.ring_words(1024, rings.slots_for(1024)) < 1 << 31


def lines(processors: int, slots: int) -> Any:
    """Return the words of a network in this process; they begin with a cache line."""
    words = np.zeros(rings.ring_words(processors, slots) + 8, np.int64)
    return words[-(words.ctypes.data >> 3) % 8 :]


# One after the other, against a model.


class Model:
    """Rings of messages, where a message is its number of words, and the credits that the receivers publish."""

    def __init__(self, processors: int, slots: int) -> None:
        self.slots, self.size, self.next = slots, processors, [0] * processors
        pairs = [(s, r) for s in range(processors) for r in range(processors)]
        self.messages: dict[Any, deque[int]] = {pair: deque() for pair in pairs}
        self.posted, self.taken, self.published = (dict.fromkeys(pairs, 0) for _ in range(3))

    def post(self, pair: Any, size: int) -> bool:
        slots = max(1, -(-size // 7))
        fits = self.posted[pair] - self.published[pair] + slots <= self.slots
        if fits:
            self.messages[pair].append(size)
            self.posted[pair] += slots
        return fits

    def take(self, receiver: int) -> int:
        for k in range(self.size):
            sender = (self.next[receiver] + k) % self.size
            pair = (sender, receiver)
            if self.messages[pair]:
                self.taken[pair] += max(1, -(-self.messages[pair].popleft() // 7))
                if 2 * (self.taken[pair] - self.published[pair]) >= self.slots:
                    self.published[pair] = self.taken[pair]
                self.next[receiver] = (sender + 1) % self.size
                return sender
        return -1

    def publish(self, pair: Any) -> bool:
        before, self.published[pair] = self.published[pair], self.taken[pair]
        return before != self.published[pair]


@settings(deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 9),
    st.sampled_from([1, 77, LAST_LAP - 1, LAST_LAP]),
    st.lists(st.tuples(st.sampled_from("ppppttttc"), st.integers(0, 2), st.integers(0, 2), st.integers(0, 99))),
)
def test_operations_in_any_order_do_what_a_model_does(
    processors: int, slots: int, lap: int, operations: list[tuple[str, int, int, int]]
) -> None:
    words, model = lines(processors, slots), Model(processors, slots)
    nets = [prepared(words, rank, processors, slots, lap) for rank in range(processors)]
    sent = np.zeros((processors, processors), np.int64)
    next_of, buffer = np.zeros((processors, processors), np.int64), np.zeros(512, np.int64)
    for what, one, other, size in operations:
        sender, receiver = one % processors, other % processors
        pair, size = (sender, receiver), size % (rings.longest(slots) + 1)
        if what == "p":
            went = model.post(pair, size)
            assert posted(nets[sender], sender, receiver, sent[pair], size, buffer) == went
            sent[pair] += went
        elif what == "t":
            assert taken(nets[receiver], next_of[receiver], buffer, False) == model.take(receiver)
        else:
            assert rings.publish(nets[receiver], sender) == model.publish(pair)
        room = slots - model.posted[pair] + model.published[pair]
        assert rings.room(nets[sender], receiver, slots) == room
        if not model.messages[pair]:
            assert room >= slots - (slots - 1) // 2 >= rings.slots_of(rings.longest(slots))


def test_every_head_and_count_arrive() -> None:
    words = lines(1, 64)
    net = prepared(words, 0, 1, 64)
    source, out = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, (2, 600))
    for head in (0, 1, rings.HEADS // 2, rings.HEADS - 1):
        for count in (0, 1, 6, 7, 8, 14, 15, 100, rings.longest(64)):
            assert rings.try_post_from(net, 0, head, source, 3, count)
            found = rings.try_poll(net)
            assert found[:3] == (0, head, count)
            assert rings.try_poll(net) == found
            out[:] = 0
            rings.read(net, 0, count, out, 5)
            assert (out[5 : 5 + count] == source[3 : 3 + count]).all()
            assert not out[:5].any()
            assert not out[5 + count :].any()
            rings.take(net, 0, count)
    assert rings.try_poll(net)[0] == rings.NO_SENDER


def test_credit_is_published_for_half_of_a_ring_and_on_request() -> None:
    net = prepared(lines(1, 8), 0, 1, 8)
    assert all(rings.try_post(net, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) for _ in range(8))
    assert not rings.try_post(net, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    assert [rings.take(net, 0, 0) for _ in range(6)] == [False, False, False, True, False, False]
    assert rings.room(net, 0, 8) == 4
    assert rings.publish(net, 0)
    assert rings.room(net, 0, 4) == 4  # from the credit last seen
    assert rings.room(net, 0, 5) == 6
    assert not rings.publish(net, 0)


# All schedules.


@dataclass(frozen=True)
class Scenario:
    """The messages of each processor, as (receiver, words), over rings of some slots that begin with a lap."""

    slots: int
    messages: tuple[tuple[tuple[int, int], ...], ...]
    bound: int = 2
    lap: int = 1
    early: bool = False
    limit: int = 30_000

    def setup(self, machine: smp.Machine) -> Any:
        return machine.zeros(rings.ring_words(len(self.messages), self.slots), np.int64)

    def program(self, proc: smp.Processor, words: Any) -> Any:
        net = prepared(words.view, proc.rank, proc.size, self.slots, self.lap)
        targets, sizes = np.array(self.messages[proc.rank], np.int64).reshape(-1, 2).T
        next_of, buffer = np.zeros(proc.size, np.int64), np.zeros(512, np.int64)
        expected = sum(to == proc.rank for messages in self.messages for to, _ in messages)
        came = exchanged(net, proc.rank, proc.sync, targets, sizes, expected, next_of, buffer, False, self.early)
        return came == expected, net

    def check(self, run: smp.Run, words: Any) -> bool:
        """Return True if all has arrived, and all rings are empty."""
        places = np.concatenate([net[net[rings.IN] : net[rings.IN] + net[rings.SIZE]] for _, net in run.results])
        stamps = words.view[places >> 32] & LAST_LAP
        return all(came for came, _ in run.results) and bool((stamps != places & LAST_LAP).all())

    def explored(self) -> Any:
        return smp.explore(
            self.program,
            len(self.messages),
            self.bound,
            setup=self.setup,
            check=self.check,
            limit=self.limit,
            longest=2_000,
        )


def to(receiver: int, *sizes: int) -> tuple[tuple[int, int], ...]:
    return tuple((receiver, size) for size in sizes)


SCENARIOS = {
    "one slot": Scenario(1, (to(1, 1, 1, 1), ())),
    "two slots": Scenario(2, (to(1, 1, 1, 1, 1, 1), ())),
    "two slots, two words": Scenario(2, (to(1, 2, 0, 2), ())),
    "both ways, one slot": Scenario(1, (to(1, 1, 1), to(0, 1, 1))),
    "both ways, two slots": Scenario(2, (to(1, 1, 1, 1), to(0, 1, 1, 1))),
    "several slots in two": Scenario(2, (to(1, 1, 8, 1, 9), ())),
    "several slots in eight": Scenario(8, (to(1, 8, 22, 15, 29), ()), bound=1),
    "two senders, one slot": Scenario(1, (to(2, 1, 1), to(2, 1), ())),
    "two senders, two slots": Scenario(2, (to(2, 1, 1), to(2, 1, 1), ())),
    "two senders, several slots": Scenario(2, (to(2, 8), to(2, 1), ())),
    "in a circle, one slot": Scenario(1, (to(1, 1), to(2, 1), to(0, 1))),
    "eight slots": Scenario(8, (to(1, *[1] * 10), ())),
    "the lap after the last is 0": Scenario(2, (to(1, 1, 1, 1, 1, 1, 1), ()), lap=LAST_LAP - 1),
    "several slots and the last lap": Scenario(2, (to(1, 8, 1), ()), lap=LAST_LAP),
}


LONG = {
    "two senders, one slot": Scenario(1, (to(2, 1, 1), to(2, 1, 1), ()), limit=200_000),
    "two slots": Scenario(2, (to(1, *[1] * 7), ()), bound=3, limit=200_000),
    "both ways, two slots": Scenario(2, (to(1, 1, 1, 1), to(0, 1, 1, 1)), bound=3, limit=200_000),
    "several slots in eight": Scenario(8, (to(1, 8, 22, 15, 29), ()), limit=200_000),
}


def holds(scenario: Scenario, record_property: Any) -> None:
    found = scenario.explored()
    record_property("schedules", found.schedules)
    assert found.failure is None, str(found.failure)
    assert found.bound == scenario.bound


@pytest.mark.parametrize("name", each(3, SCENARIOS))
def test_messages_arrive_once_and_in_order_under_all_schedules(name: str, record_property: Any) -> None:
    holds(SCENARIOS[name], record_property)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_more_messages_arrive_once_and_in_order_under_all_schedules(name: str, record_property: Any) -> None:
    holds(LONG[name], record_property)


FOUND_BY = {
    "the stamp is stored before the payload": "one slot",
    "the first stamp is stored before the other slots": "several slots in two",
    "the room comes from the credit last seen": "two slots",
    "the capacity is too large by one": "eight slots",
    "the capacity is too small by one": "several slots in two",
    "the stamp has no lap": "two slots",
    "the lap has no end": "the lap after the last is 0",
    "only the first slot of a message is stamped": "several slots and the last lap",
    "one slot is given back, whatever the message": "several slots in two",
    "the credit is never published": "eight slots",
    "credit is held back until the whole ring is taken": "several slots in two",
    "a poll looks at the later senders only": "one slot",
    "there is room for a message of several slots if there is for one": "several slots in eight",
}
"""A scenario that fails with each planted bug."""


@pytest.mark.parametrize("bug", each(2, BUGS))
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_loops, "rings", planted(bug))
    assert SCENARIOS[FOUND_BY[bug]].explored().failure is not None


def test_slots_given_back_before_they_are_read_are_found() -> None:
    found = replace(SCENARIOS["one slot"], early=True).explored()
    assert found.failure is not None


def test_a_sender_that_ends_in_the_middle_of_a_post_holds_up_only_its_own_ring() -> None:
    """Processor 0 stores a payload without its stamp, and fills no other ring but its own."""
    words = lines(3, 2)
    nets = [prepared(words, rank, 3, 2) for rank in range(3)]
    next_of, buffer = np.zeros(3, np.int64), np.zeros(512, np.int64)
    killed = changed(
        [("    net[peer + POSTED] += 1\n", "    store_release(rings, at, 0)\n    net[peer + POSTED] += 1\n")]
    )
    assert killed.try_post(nets[0], 2, 0, 1, 7, 0, 0, 0, 0, 0, 0)
    for k in range(10):
        assert posted(nets[1], 1, 2, k, 1, buffer)
        assert taken(nets[2], next_of, buffer, False) == 1
        assert taken(nets[2], next_of, buffer, False) == rings.NO_SENDER


# Linearizability.

POST, TAKE = 0, 1


class Queues(NamedTuple):
    """A bounded queue for each sender, as the numbers of slots of its messages."""

    slots: int
    queues: tuple[tuple[int, ...], ...]
    owed: bool = False


def meaning(op: int, given: int, state: Queues) -> Iterator[tuple[int, Queues]]:
    """Yield the results of posting ``given``, 100 times the sender plus the slots, or of taking, and the states.

    The receiver may not have published less than half of the slots that it has taken.
    """
    slots, queues, _ = state
    if op == POST:
        sender, more = divmod(given, 100)
        after = sum(queues[sender]) + more
        if after <= slots:
            yield 1, Queues(slots, (*queues[:sender], (*queues[sender], more), *queues[sender + 1 :]))
        if after > slots - (slots - 1) // 2:
            yield 0, state
    elif any(queues):
        for k, queue in enumerate(queues):
            if queue:
                yield k, Queues(slots, (*queues[:k], queue[1:], *queues[k + 1 :]))
    else:
        yield MISSED, state


@dataclass(frozen=True)
class Recorded:
    """Senders that post messages of the given words, and try each once; the last processor tries to take some."""

    slots: int
    posts: tuple[tuple[int, ...], ...]
    takes: int
    bound: int = 2

    def setup(self, machine: smp.Machine) -> Any:
        size = len(self.posts) + 1
        return (
            machine.zeros(rings.ring_words(size, self.slots), np.int64),
            [[] for _ in range(size)],
            np.zeros(1, np.int64),
        )

    def program(self, proc: smp.Processor, words: Any, history: Any, moment: Any) -> None:
        net, to = prepared(words.view, proc.rank, proc.size, self.slots), proc.size - 1
        next_of, buffer = np.zeros(proc.size, np.int64), np.zeros(512, np.int64)
        done = 0

        def record(op: int, given: int, do: Any, *args: Any) -> int:
            start = int(fetch_add(moment, 0, 1))  # a step, so that others may go on before the operation begins
            result = int(do(*args))
            assert result != -2, "a message is wrong"
            end = int(fetch_add(moment, 0, 1))
            history[proc.rank].append(Operation(op, given, MISSED if result == -1 else result, start, end))
            return result

        for size in self.posts[proc.rank] if proc.rank < to else ():
            given = 100 * proc.rank + rings.slots_of(size)
            done += record(POST, given, posted, net, proc.rank, to, done, size, buffer)
        for _ in range(self.takes if proc.rank == to else 0):
            record(TAKE, 0, taken, net, next_of, buffer, False)

    def check(self, run: smp.Run, words: Any, history: Any, moment: Any) -> bool:
        return linearizable(history, Queues(self.slots, ((),) * len(self.posts)), meaning=meaning)

    def explored(self) -> Any:
        return smp.explore(
            self.program, len(self.posts) + 1, self.bound, setup=self.setup, check=self.check, limit=30_000
        )


HISTORIES = {
    "one slot": Recorded(1, ((1, 1, 1),), 4, bound=3),
    "two slots": Recorded(2, ((1, 1, 1, 1),), 4, bound=3),
    "three slots, of which one may be held back": Recorded(3, ((1, 1, 1, 1, 8),), 4),
    "several slots": Recorded(2, ((1, 8, 1, 1),), 4),
    "two senders": Recorded(1, ((1, 1), (1, 1)), 4),
}


@pytest.mark.parametrize("name", each(3, HISTORIES))
def test_rings_are_linearizable_as_bounded_queues(name: str, record_property: Any) -> None:
    found = HISTORIES[name].explored()
    record_property("schedules", found.schedules)
    assert found.failure is None, str(found.failure)
    assert found.bound == HISTORIES[name].bound


@pytest.mark.parametrize(
    ("bug", "name"),
    [
        ("the stamp is stored before the payload", "one slot"),
        ("the room comes from the credit last seen", "one slot"),
        ("the capacity is too large by one", "two slots"),
        ("the capacity is too small by one", "two slots"),
        ("the stamp has no lap", "one slot"),
        ("a poll looks at the later senders only", "two senders"),
        ("credit is held back until the whole ring is taken", "three slots, of which one may be held back"),
    ],
)
def test_a_history_with_a_planted_bug_is_rejected(bug: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_loops, "rings", planted(bug))
    assert HISTORIES[name].explored().failure is not None


def test_the_check_of_histories_accepts_and_rejects() -> None:
    empty = Queues(2, ((), ()))
    post, take = Operation(POST, 1, 1, 1, 2), Operation(TAKE, 0, 0, 3, 4)
    assert linearizable([[post], [], [take]], empty, meaning=meaning)
    assert not linearizable([[post], [], [take._replace(result=MISSED)]], empty, meaning=meaning)
    assert linearizable([[post], [], [take._replace(result=MISSED, start=2)]], empty, meaning=meaning)
    assert not linearizable([[post], [], [take._replace(result=1)]], empty, meaning=meaning)
    assert not linearizable([[post._replace(result=0)], [], []], empty, meaning=meaning)


# The host.


@dataclass(frozen=True)
class Traffic:
    """The numbers of messages and their largest numbers of words; the targets are random, or all the next processor."""

    messages: tuple[int, ...]
    most: int
    slots: int
    random: bool = False

    def plan(self, rank: int) -> tuple[Any, Any]:
        draw, size = np.random.default_rng(rank), len(self.messages)
        n = self.messages[rank]
        targets = draw.integers(0, size, n) if self.random else np.full(n, (rank + 1) % size)
        return targets, draw.integers(0, self.most + 1, n)

    def __call__(self, proc: smp.Processor, words: Any) -> bool:
        net = prepared(words.view, proc.rank, proc.size, self.slots)
        expected = sum(int((self.plan(rank)[0] == proc.rank).sum()) for rank in range(proc.size))
        next_of, buffer = np.zeros(proc.size, np.int64), np.zeros(512, np.int64)
        proc.barrier()
        came = exchanged(net, proc.rank, proc.sync, *self.plan(proc.rank), expected, next_of, buffer, True, False)
        numbers = [int((self.plan(rank)[0] == proc.rank).sum()) for rank in range(proc.size)]
        return came == expected and next_of.tolist() == numbers and rings.try_poll(net)[0] == rings.NO_SENDER


TRAFFIC: dict[str, tuple[dict[str, Any], Traffic]] = {
    "one way": ({"processors": 2}, Traffic((1_000_000, 0), 7, 64)),
    "both ways": ({"processors": 2}, Traffic((1_000_000, 1_000_000), 7, 64)),
    "both ways, two slots": ({"processors": 2}, Traffic((100_000, 100_000), 14, 2)),
    "random targets on two CPUs": ({"processors": 4, "pin": False}, Traffic((50_000,) * 4, 30, 64, True)),
    "random targets on one CPU": (PLACES["pinned"], Traffic((20_000,) * 3, 30, 8, True)),
    "one slot on one CPU": (PLACES["pinned"], Traffic((300,) * 3, 7, 1, True)),
}


@pytest.mark.parametrize("name", TRAFFIC)
def test_messages_arrive_once_and_in_order_on_the_host(machines: Machines, name: str) -> None:
    options, traffic = TRAFFIC[name]
    with guarded(machines(**options)) as machine:
        words = machine.zeros(rings.ring_words(machine.size, traffic.slots), np.int64)
        assert machine.run(traffic, words).results == [True] * machine.size


def test_loops_over_rings_end_when_another_processor_fails(pair: smp.Machine) -> None:
    traffic = Traffic((100, 100), 7, 2)

    def program(proc: smp.Processor, words: Any) -> None:
        if proc.rank == 1:
            proc.barrier()
            raise ValueError("it takes nothing")
        traffic(proc, words)

    with pytest.raises(ProcessorRaised, match="it takes nothing"):
        pair.run(program, pair.zeros(rings.ring_words(2, 2), np.int64))
