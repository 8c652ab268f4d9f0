"""The schedules of a transpose on all kinds of machines: the same results as NumPy, whatever the schedule."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nodes import ON_NODES

import smp
from smp.errors import CollectiveMismatch, ProcessorRaised, Unsupported

Machines = Callable[[int], smp.Machine]
BY_BLOCKS: list[dict[str, Any]] = [
    {"schedule": "rounds"},
    {"schedule": "rounds", "barriers": 0},
    {"schedule": "rounds", "barriers": 1},
    {"schedule": "rounds", "barriers": 2},
    {"schedule": "interleaved"},
]
RECORD = np.dtype([("key", "i8"), ("value", "f4", 3), ("name", "S3")])
DTYPES = ["?", "i1", "i4", "f8", "c16", ">f8", "U2", "M8[s]", RECORD]
schedules = st.sampled_from(BY_BLOCKS)


@pytest.fixture
def ways(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """The keywords of all schedules that a kind of machine has."""
    share_nothing = request.node.callspec.params["machines"] in ("messages", *ON_NODES)
    shared = [] if share_nothing else [{"schedule": "copies"}]
    return [{}, *shared, *BY_BLOCKS]


def drawn(dtype: Any, source: int, target: int, n: int) -> Any:
    """Return the part of one processor for another, of shape (n, 2)."""
    numbers = np.random.default_rng([source, target]).integers(0, 100, (n, 2))
    if dtype != RECORD:
        return numbers.astype(dtype)
    records = np.zeros(numbers.shape, RECORD)
    records["key"], records["value"], records["name"] = numbers, numbers[..., None] / [1, 2, 3], numbers.astype("S3")
    return records


@settings(deadline=None, max_examples=10)
@given(
    st.integers(1, 5),
    st.sampled_from(DTYPES),
    st.lists(st.sampled_from([0, 1, 2, 31, 600, 5000]), min_size=1, max_size=3),
    schedules,
)
def test_parts_of_one_length_arrive(
    machines: Machines, size: int, dtype: Any, lengths: list[int], keywords: dict[str, Any]
) -> None:
    """Several in a row; the results are new arrays, ``out``, and the data themselves."""

    def program(proc: smp.Processor) -> list[bool]:
        found = []
        for n in lengths:
            mine = np.stack([drawn(dtype, proc.rank, target, n) for target in range(size)])
            right = np.stack([drawn(dtype, source, proc.rank, n) for source in range(size)])
            out = np.empty_like(mine)
            got = proc.transpose(mine, **keywords)
            found += [got.dtype == right.dtype, np.array_equal(got, right)]
            found += [proc.transpose(mine, out, **keywords) is out, np.array_equal(out, right)]
            again = proc.transpose(out, **keywords)
            found += [np.array_equal(again, mine), np.array_equal(out, right)]
            found += [proc.transpose(mine, out=mine, **keywords) is mine, np.array_equal(mine, right)]
        return found

    assert machines(size).run(program).results == [[True] * 8 * len(lengths)] * size


LENGTHS = st.sampled_from([0, 0, 1, 2, 30, 5000])


@settings(deadline=None, max_examples=20)
@given(
    st.integers(1, 5).flatmap(lambda p: st.lists(st.lists(LENGTHS, min_size=p, max_size=p), min_size=p, max_size=p)),
    st.sampled_from(DTYPES),
    schedules,
)
def test_parts_of_different_lengths_arrive(
    machines: Machines, lengths: list[list[int]], dtype: Any, keywords: dict[str, Any]
) -> None:
    """Row i has the lengths of the parts that processor i sends; two transposes are the identity."""
    size = len(lengths)

    def same(parts: list[Any], others: list[Any]) -> bool:
        pairs = zip(parts, others, strict=True)
        return all(one.dtype == other.dtype and np.array_equal(one, other) for one, other in pairs)

    def program(proc: smp.Processor) -> list[bool]:
        rank = proc.rank
        mine = [drawn(dtype, rank, target, lengths[rank][target]) for target in range(size)]
        got = proc.transpose(mine, **keywords)
        right = [drawn(dtype, source, rank, lengths[source][rank]) for source in range(size)]
        return [same(got, right), same(proc.transpose(got, **keywords), mine)]

    assert machines(size).run(program).results == [[True] * 2] * size


def test_all_schedules_may_follow_one_another(machines: Machines, ways: list[dict[str, Any]]) -> None:
    """Also with longer and longer parts, for which new ports are made, and with blocks of the program."""

    def program(proc: smp.Processor) -> list[bool]:
        port, found = proc.port(1, np.int64), []
        for n in (1, 700, 3, 40_000, 2):
            for each in ways:
                mine = np.arange(3 * n).reshape(3, n) + 1000 * proc.rank
                transfer = proc.start_block((proc.rank + 1) % 3, port, [10 * n + proc.rank])
                port.expect(1)
                got = proc.transpose(mine, **each)
                parts = proc.transpose([mine[target, : n - target] for target in range(3)], **each)
                transfer.complete()
                port.wait()
                right = [np.arange(n) + proc.rank * n + 1000 * source for source in range(3)]
                found += [np.array_equal(got, right), port.data[0] == 10 * n + (proc.rank - 1) % 3]
                found += [np.array_equal(part, row[: len(part)]) for part, row in zip(parts, right, strict=True)]
                found += [{len(part) for part in parts} == {max(0, n - proc.rank)}]
                proc.barrier()  # before a block of the next turn lands on this one
        return found

    assert machines(3).run(program).results == [[True] * 6 * 5 * len(ways)] * 3


def test_all_schedules_count_alike(machines: Machines, ways: list[dict[str, Any]]) -> None:
    def program(proc: smp.Processor, keywords: dict[str, Any]) -> None:
        proc.transpose(np.zeros((3, 4, 5), np.int16), **keywords)
        proc.transpose([np.zeros(10 ** (proc.rank + 1))] * 3, **keywords)

    by_default, *others = [machines(3).run(program, keywords).collectives for keywords in ways]
    columns = [name for name in by_default.dtype.names if "seconds" not in name]
    for rows in others:
        assert rows[columns].tolist() == by_default[columns].tolist()


def test_copies_need_shared_memory(messages: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised, match='take "rounds" or "interleaved", or name no schedule') as caught:
        messages.run(lambda proc: proc.transpose(np.zeros(2), schedule="copies"))
    assert isinstance(caught.value.__cause__, Unsupported)


MISMATCHES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({}, {"schedule": "rounds"}, "transpose of float64[2]", "transpose(schedule='rounds') of float64[2]"),
    ({"schedule": "interleaved"}, {"schedule": "rounds"}, "(schedule='interleaved') of", "(schedule='rounds') of"),
    (
        {"schedule": "rounds", "barriers": 1},
        {"schedule": "rounds", "barriers": 2},
        "(schedule='rounds', barriers=1) of",
        "(schedule='rounds', barriers=2) of",
    ),
]


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(("first", "second", "said", "said_by_other"), MISMATCHES)
def test_processors_must_name_the_same_schedule(
    machines: Machines, first: dict[str, Any], second: dict[str, Any], said: str, said_by_other: str, listed: bool
) -> None:
    data = [np.zeros(1)] * 2 if listed else np.zeros(2)
    with pytest.raises(CollectiveMismatch) as caught:
        machines(2).run(lambda proc: proc.transpose(data, **(second if proc.rank else first)))
    for rank, line in enumerate(str(caught.value).splitlines()[1:3]):
        assert (said, said_by_other)[rank].removesuffix("float64[2]") in line
        assert line.startswith(f"  processor {rank}: transpose")


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"schedule": "ring"},
        "ValueError: schedule must be one of 'copies', 'rounds', 'interleaved', or None, not 'ring'",
    ),
    ({"barriers": 1}, "ValueError: barriers=1 with schedule=None: barriers is the number of rounds between"),
    ({"schedule": "interleaved", "barriers": 0}, "ValueError: barriers=0 with schedule='interleaved'"),
    ({"schedule": "rounds", "barriers": -1}, "ValueError: barriers=-1 with schedule='rounds': .* 0 or more"),
    ({"schedule": "rounds", "barriers": 1.5}, "TypeError"),
]


@pytest.mark.parametrize(("keywords", "said"), BAD)
def test_bad_schedules_are_refused(machines: Machines, keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(ProcessorRaised, match=said):
        machines(2).run(lambda proc: proc.transpose(np.zeros(2), **keywords))


@pytest.mark.parametrize("keywords", BY_BLOCKS)
def test_handlers_cannot_transpose(machines: Machines, keywords: dict[str, Any]) -> None:
    def program(proc: smp.Processor) -> None:
        handler = proc.handler(lambda message: proc.transpose(np.zeros(2), **keywords))
        proc.send(1 - proc.rank, handler)
        proc.quiet()

    with pytest.raises(ProcessorRaised, match=r"called proc\.transpose, which no handler may do"):
        machines(2).run(program)
