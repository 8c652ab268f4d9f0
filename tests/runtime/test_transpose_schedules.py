"""Schedules of a transpose under all orders of steps, with little room; what the barriers between rounds do."""

from typing import Any

import numpy as np
import pytest
from support.sampled import campaigns, each

import smp
from smp._runtime.program.messages import block_calls, deliveries, schedules

BY_BLOCKS: list[dict[str, Any]] = [
    {"schedule": "rounds", "barriers": 0},
    {"schedule": "rounds", "barriers": 1},
    {"schedule": "interleaved"},
]


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a part of a block have one element."""
    monkeypatch.setattr(deliveries, "CHUNK", 8)


@pytest.fixture(params=["copy", "messages"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Deliver blocks on emulated machines by copy, or by packets with room for one element."""
    if request.param == "messages":
        monkeypatch.setattr(block_calls, "ByCopy", deliveries.ByMessages)
        monkeypatch.setattr(deliveries, "LONGEST", 5)
    return str(request.param)


class WithoutBarrier:
    """A port whose barriers do not wait."""

    def __init__(self, port: Any) -> None:
        self._port = port

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def synchronise(self, description: str) -> None:
        pass


def explored(keywords: dict[str, Any], size: int, bound: int, limit: int, barrier: bool = True) -> Any:
    """Explore transposes in a row: of an array, of its transpose, and of a list."""

    def data(rank: int) -> Any:
        return 10 * rank + np.arange(2 * size).reshape(size, 2)

    def program(proc: smp.Processor) -> list[Any]:
        mine = data(proc.rank)
        once = proc.transpose(mine, **keywords)
        if not barrier:
            spoilt: Any = WithoutBarrier(proc._port)
            proc._port = spoilt
        again = proc.transpose(once, **keywords)
        parts = proc.transpose([mine[target, : (target + proc.rank) % 3] for target in range(size)], **keywords)
        return [once.tolist(), again.tolist(), [part.tolist() for part in parts]]

    everything = np.stack([data(rank) for rank in range(size)])
    right = [
        [
            everything[:, rank].tolist(),
            everything[rank].tolist(),
            [everything[source, rank, : (source + rank) % 3].tolist() for source in range(size)],
        ]
        for rank in range(size)
    ]
    network = smp.networks.ideal(1)
    return smp.explore(program, size, bound, check=lambda run: run.results == right, limit=limit, network=network)


@pytest.mark.parametrize(
    ("size", "bound", "limit"), [(2, 2, 60), (3, 1, 30), *campaigns((2, 2, 150), (3, 1, 60), (2, 2, 10_000))]
)
@pytest.mark.parametrize("keywords", each(2, BY_BLOCKS))
def test_parts_arrive_under_all_schedules(
    way: str, keywords: dict[str, Any], size: int, bound: int, limit: int
) -> None:
    found = explored(keywords, size, bound, limit)
    assert found.failure is None, str(found)
    assert not found.unseen


@pytest.mark.parametrize("keywords", BY_BLOCKS)
def test_the_first_barrier_cannot_be_left_out(way: str, keywords: dict[str, Any]) -> None:
    """Blocks by messages land in polls only, so that with two processors none comes too early."""
    size, bound = (2, 2) if way == "copy" else (3, 1)
    assert explored(keywords, size, bound, 2000, barrier=False).failure is not None


def sent_in_rounds(size: int, barriers: int | None, nbytes: int, limit: int) -> tuple[Any, list[list[int]]]:
    """Explore a transpose, and return the rounds in which blocks were sent, in order, for each order of steps."""
    orders: list[list[int]] = []

    def program(proc: smp.Processor) -> None:
        send, order = proc.send_block, orders[-1]
        rounds = {int(targets[proc.rank]): k for k, targets in enumerate(smp.patterns.rounds(size))}

        def noted(to: int, *args: Any) -> None:
            order.append(rounds[to])
            send(to, *args)

        proc.send_block = noted  # type: ignore[method-assign, assignment]
        proc.transpose(np.zeros((size, nbytes), np.uint8), schedule="rounds", barriers=barriers)

    def begin(machine: smp.Machine) -> tuple[()]:
        orders.append([])
        return ()

    found = smp.explore(program, size, 1, setup=begin, limit=limit, network=smp.networks.ideal(1))
    return found, orders


@pytest.mark.parametrize(
    ("barriers", "nbytes", "together"), each(2, [(1, 8, 1), (2, 8, 2), (None, 256, 2), (None, 512, 1)])
)
def test_no_round_begins_before_all_have_sent_the_blocks_of_the_rounds_up_to_the_barrier(
    barriers: int | None, nbytes: int, together: int
) -> None:
    found, orders = sent_in_rounds(4, barriers, nbytes, 100)
    assert found.failure is None
    for order in orders:
        between = [(number - 1) // together for number in order]
        assert sorted(order) == [1] * 4 + [2] * 4 + [3] * 4
        assert between == sorted(between)


@pytest.mark.parametrize(("barriers", "nbytes"), each(2, [(0, 8), (2, 8), (None, 255), (None, 256)]))
def test_rounds_without_a_barrier_between_them_mix(barriers: int | None, nbytes: int) -> None:
    _, orders = sent_in_rounds(4, barriers, nbytes, 100)
    assert any(order != sorted(order) for order in orders)


@pytest.mark.parametrize(
    ("size", "barriers", "nbytes", "expected"),
    [(1, 1, 8, 0), (2, 1, 8, 0), (5, 1, 8, 3), (5, 2, 8, 1), (6, 2, 8, 2), (5, 3, 8, 1), (5, 4, 8, 0), (5, 0, 8, 0)]
    + [(5, None, nbytes, each) for nbytes, each in ((0, 0), (8, 0), (128, 0), (129, 0), (171, 1), (255, 1), (256, 1))]
    + [(5, None, nbytes, 3) for nbytes in (512, 10_000)],
)
def test_barriers_are_as_many_as_the_rounds_between_them_require(
    size: int, barriers: int | None, nbytes: int, expected: int
) -> None:
    """With n rounds between two, (size - 1) / n, rounded up, less one."""
    assert schedules.APART == 512

    def program(proc: smp.Processor) -> int:
        count, wait = 0, proc._port.synchronise

        def counted(description: str, *args: Any) -> int:
            nonlocal count
            count += description.startswith("transpose")
            return wait(description, *args)

        proc._port.synchronise = counted  # type: ignore[method-assign, assignment]
        data = np.zeros((size, nbytes), np.uint8)
        proc.transpose(data, schedule="rounds", barriers=barriers)
        return count - 1

    with smp.emulated(size) as machine:
        assert machine.run(program).results == [expected] * size


def test_few_ports_are_made_for_longer_and_longer_parts() -> None:
    def program(proc: smp.Processor) -> list[int]:
        port, made = proc.port, []

        def noted(nbytes: int, dtype: Any) -> Any:
            made.append(nbytes)
            return port(nbytes, dtype)

        proc.port = noted  # type: ignore[method-assign, assignment]
        for n in (schedules.LEAST, schedules.LEAST + 1):
            proc.transpose(np.zeros((1, n), np.uint8), schedule="rounds")
        assert made == [schedules.LEAST, 2 * schedules.LEAST]
        for n in range(0, 40_000, 500):
            assert np.array_equal(proc.transpose(np.full((1, n), n), schedule="rounds"), np.full((1, n), n))
        return made

    with smp.emulated(1) as machine:
        made = machine.run(program).results[0]
    assert made == sorted(made)
    assert 2 <= len(made) <= 2 + np.log2(made[-1] / schedules.LEAST)
    assert made[-1] >= 8 * 39_500 > sum(made) / 4


@pytest.mark.parametrize("nbytes", [64, 1024])
def test_barriers_save_time_where_packets_meet_at_receivers(nbytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time, on a network where a packet fails, and is sent again later, if another one is at the receiver."""
    monkeypatch.setattr(block_calls, "ByCopy", deliveries.ByMessages)
    size = 5

    def program(proc: smp.Processor, barriers: int) -> float:
        mine = np.full((size, nbytes), proc.rank, np.uint8)
        proc.transpose(mine, schedule="rounds", barriers=barriers)
        began = proc._port.clock()
        got = proc.transpose(mine, schedule="rounds", barriers=barriers)
        assert got[:, 0].tolist() == list(range(size))
        proc.barrier()
        return proc._port.clock() - began

    with smp.emulated(size, schedule="clock", network=smp.networks.congested()) as machine:
        mixed, apart = (max(machine.run(program, barriers, seed=1).results) for barriers in (0, 1))
    assert apart < 0.9 * mixed
