"""Ports and blocks on all kinds of machines: places, expectations, transfers, permutations, and mistakes."""

import itertools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp.errors import CollectiveMismatch, ProcessorRaised, WaitTimeout

Machines = Callable[[int], smp.Machine]
RECORD = np.dtype([("key", "i8"), ("value", "f4", 3), ("name", "S3")])
DTYPES = ["?", "i1", "i2", "u4", "i8", "f2", "f8", "g", "c8", ">f8", "U2", "S5", "V7", "M8[s]", "V300", RECORD]


@pytest.fixture(scope="module")
def machines(networks: Machines) -> Machines:
    """Each kind of machine, and each network."""
    return networks


def drawn(dtype: Any, n: int, seed: int) -> Any:
    """Return an array of random bytes."""
    octets = np.random.default_rng(seed).integers(0, 256, n * np.dtype(dtype).itemsize, np.uint8)
    return (octets & 1 if dtype == "?" else octets).view(dtype)


def laid_out(array: Any, how: int) -> Any:
    """Return an array with the same elements: as it is, with gaps in memory, in two dimensions, or not aligned."""
    if how == 1:
        return np.repeat(array, 2)[::2]
    if how == 2 and len(array) % 2 == 0:
        return np.asfortranarray(array.reshape(2, -1))
    if how == 3:
        return np.frombuffer(b"x" + array.tobytes(), array.dtype, offset=1)
    return array


Part = tuple[int, int, int, int]
"""First and last place of a part, its sender or -1, and its layout."""


@st.composite
def plans(draw: st.DrawFn, size: int) -> list[Part]:
    """Draw the parts of one port: each is sent by one processor or left as it is."""
    cuts = [0, *sorted(draw(st.lists(st.integers(0, size), max_size=6))), size]
    pairs = itertools.pairwise(cuts)
    return [(start, stop, draw(st.integers(-1, 2)), draw(st.integers(0, 3))) for start, stop in pairs]


def filled(proc: smp.Processor, dtype: Any, size: int, plan: list[list[Part]], late: bool) -> Any:
    """Fill the ports of all processors by parts; ``late`` states the expectation when all have come."""
    runs: list[int] = []
    port = proc.port(size, dtype, lambda message, port: runs.append(message.source))
    before, after = proc.port(4, np.int64), proc.port(4, np.int64)
    expected = sum(stop - start for start, stop, sender, _ in plan[proc.rank] if sender >= 0)
    if not late:
        port.expect(expected)
    for to, parts in enumerate(plan):
        for start, stop, sender, how in parts:
            if sender == proc.rank:
                proc.send_block(to, port, laid_out(drawn(dtype, stop - start, 1000 * to + start), how), start)
    if late:
        proc.quiet()
        assert runs == []
        port.expect(expected)
    port.wait()
    return port.data.tobytes(), len(runs), before.data.any() or after.data.any()


def right(dtype: Any, size: int, to: int, parts: list[Part]) -> bytes:
    """Return the bytes of a port when all parts have come."""
    data = np.zeros(size, dtype)
    for start, stop, sender, _ in parts:
        if sender >= 0:
            data.view("u1").reshape(size, -1)[start:stop] = (
                drawn(dtype, stop - start, 1000 * to + start).view("u1").reshape(stop - start, data.itemsize)
            )
    return data.tobytes()


@settings(deadline=None, max_examples=5)
@given(st.sampled_from(DTYPES), st.integers(1, 300).flatmap(lambda n: st.tuples(*[plans(n)] * 3)), st.booleans())
def test_every_byte_lands_in_its_place_and_nothing_else_changes(
    machines: Machines, dtype: Any, plan: tuple[list[Part], ...], late: bool
) -> None:
    size = plan[0][-1][1]
    results = machines(3).run(filled, dtype, size, list(plan), late).results
    assert results == [(right(dtype, size, to, parts), 1, False) for to, parts in enumerate(plan)]


@pytest.mark.parametrize("dtype", ["u1", "f8"])
def test_long_blocks_land_in_their_places(machines: Machines, dtype: str) -> None:
    """Three processors fill each port, but for one element between their parts."""
    size = 100_000
    cuts = [(0, 0, 0, 0), (0, 33_333, 0, 0), (33_334, 50_001, 1, 3), (50_002, 100_000, 2, 1)]
    results = machines(3).run(filled, dtype, size, [cuts] * 3, False).results
    assert results == [(right(dtype, size, to, cuts), 1, False) for to in range(3)]


@pytest.mark.parametrize("place", ["before", "between", "after"])
@pytest.mark.parametrize("named", [True, False])
def test_a_sender_may_state_the_expectation(machines: Machines, place: str, named: bool) -> None:
    """Two rounds; the handler that is named runs in place of the port's own one."""

    def program(proc: smp.Processor) -> list[Any]:
        runs: list[Any] = []
        other = proc.handler(lambda message, port: runs.append(("named", message.source, port.data.tolist())))
        port = proc.port(4, np.int64, lambda message, port: runs.append(("own", message.source, port.data.tolist())))
        to = (proc.rank + 1) % proc.size
        for k in range(2):
            data = np.arange(4) + 10 * k
            for part, now in enumerate(("before", "between", "after")):
                if now == place:
                    proc.expect_at(to, port, 4, other if named else None)
                if part < 2:
                    proc.send_block(to, port, data[2 * part : 2 * part + 2], 2 * part)
            proc.wait_until(lambda k=k: len(runs) > k)
            assert port.done
            proc.barrier()
        return runs

    results = machines(3).run(program).results
    name = "named" if named else "own"
    expected = [[(name, rank, [10 * k, 1 + 10 * k, 2 + 10 * k, 3 + 10 * k]) for k in range(2)] for rank in range(3)]
    assert results == [expected[2], expected[0], expected[1]]


def test_a_port_is_done_when_its_last_expectation_is_fulfilled(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        runs: list[int] = []
        port = proc.port((2, 3), np.int32, lambda message, port: runs.append(message.source))
        found: list[Any] = [port.done]
        port.mine = "an attribute of the program"
        port.expect(6)
        found.append(port.done)
        for k in range(3):
            proc.send_block(proc.rank, port, np.array([k, k], np.int32), 2 * k)
        found.append(runs.copy())  # a send does not poll while there is room
        port.wait()
        found += [port.done, runs.copy(), port.data.tolist(), port.mine]
        proc.send_block(proc.rank, port, port.data[0])
        proc.quiet()
        found += [port.done, runs.copy()]
        port.expect(3)
        found += [port.done, runs.copy()]  # the handler runs in the next poll
        proc.wait_until(lambda: len(runs) == 2)
        found += [port.done, runs.copy()]
        port.expect(0)
        assert proc.poll() == 1
        found += [port.done, runs.copy()]
        return found

    expected = [False, False, [], True, [0], [[0, 0, 1], [1, 2, 2]], "an attribute of the program"]
    expected += [True, [0], True, [0], True, [0, 0], True, [0, 0, 0]]
    assert machines(1).run(program).results == [expected]


def test_a_handler_may_state_the_next_expectation(machines: Machines) -> None:
    """Blocks come in a stream; each is sent after the handler of the one before has run."""

    def program(proc: smp.Processor) -> list[int]:
        sums: list[int] = []
        ready = [1]
        go = proc.handler(lambda message: ready.append(1))

        def then(message: smp.Message, port: Any) -> None:
            sums.append(int(port.data.sum()))
            if len(sums) < 5:
                port.expect(3)

        port = proc.port(3, np.int64, then)
        port.expect(3)
        for k in range(5):
            if proc.rank == 0:
                proc.wait_until(lambda k=k: len(ready) > k)
                proc.send_block(1, port, np.full(3, k))
            else:
                proc.wait_until(lambda k=k: len(sums) > k)
                proc.send(0, go)
        proc.quiet()
        return sums

    assert machines(2).run(program).results == [[], [0, 3, 6, 9, 12]]


def test_blocks_pass_messages_that_wait_for_their_handler(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[Any]:
        port = proc.port(2, np.int64)
        came: list[int] = []
        if proc.rank:
            late = proc.handler(lambda message, k: None)
            for k in range(2):
                proc.send(0, late, k, on=smp.RIGHT)
            proc.send_block(0, port, np.array([3, 4]))
        else:
            port.expect(2)
            port.wait(timeout=30)
            assert came == []
            proc.handler(lambda message, k: came.append(k))
        proc.quiet()
        return [port.data.tolist(), came]

    assert machines(2).run(program).results == [[[3, 4], [0, 1]], [[0, 0], []]]


def test_a_block_comes_only_when_the_port_exists(machines: Machines) -> None:
    """One processor sends as soon as it has a port, while the other one may still be in the call that makes it."""

    def program(proc: smp.Processor) -> list[int]:
        found = []
        for k in range(20):
            port = proc.port(3, np.int64)
            proc.send_block((proc.rank + 1) % proc.size, port, np.full(3, k))
            port.expect(3)
            port.wait()
            found.append(int(port.data.sum()))
            assert port.number == k
        return found

    assert machines(3).run(program).results == [[3 * k for k in range(20)]] * 3


def test_transfers_are_sent_in_parts_and_once(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        n = 40_000
        port = proc.port((3, n), np.float64)
        ended: list[int] = []
        data = [np.arange(n) + 1000.0 * proc.rank + k for k in range(proc.size)]
        port.expect(3 * n)
        proc.barrier()
        started = [
            proc.start_block(to, port, data[to], n * proc.rank, lambda transfer: ended.append(transfer.to))
            for to in range(proc.size)
        ]
        seen = [[t.remaining for t in started]]
        assert [(t.to, t.port is port, t.at, t.data is data[t.to]) for t in started] == [
            (to, True, n * proc.rank, True) for to in range(proc.size)
        ]
        assert not any(t.done for t in started)
        for rounds in (0, 1, 1, 2):
            proc.serve_blocks(rounds)
            seen.append([t.remaining for t in started])
        started[1].complete()
        assert started[1].done
        assert started[1].remaining == 0
        proc.serve_blocks()
        seen.append([t.remaining for t in started])
        assert all(t.done for t in started)
        port.wait()
        right = np.array([np.arange(n) + 1000.0 * source + proc.rank for source in range(proc.size)])
        return sorted(ended), (port.data == right).all(), seen

    for ended, same, seen in machines(3).run(program).results:
        assert (ended, same) == ([0, 1, 2], True)
        table = np.array(seen)
        assert (table[0] < 40_000).all()  # a first part was sent
        assert (table[1] == table[0]).all()
        assert (np.diff(table, axis=0) <= 0).all()
        assert (table[2] < table[1]).all()
        assert (table[-1] == 0).all()


def test_queued_transfers_are_sent_before_the_program_ends(machines: Machines) -> None:
    def program(proc: smp.Processor, quiet: bool) -> list[int]:
        runs: list[int] = []  # pickled when the program has ended
        port = proc.port(20_000, np.int64, lambda message, port: runs.append(int(port.data.sum())))
        port.expect(20_000)
        transfer = proc.start_block((proc.rank + 1) % proc.size, port, np.arange(20_000))
        assert not transfer.done
        if quiet:
            proc.quiet()
            assert transfer.done
            assert len(runs) == 1
        return runs

    for quiet in (True, False):
        assert machines(2).run(program, quiet).results == [[199990000]] * 2


def test_the_end_of_a_transfer_may_start_another_one(machines: Machines) -> None:
    """A chain that is longer than Python's stack is deep."""

    def program(proc: smp.Processor) -> Any:
        port = proc.port(2000, np.int64)
        left = [2000]

        def after(transfer: Any) -> None:
            left[0] -= 1
            if left[0]:
                proc.start_block(proc.rank, port, [left[0]], left[0], after)

        proc.start_block(proc.rank, port, [0], 0, after)
        assert left == [1999]
        proc.quiet()
        return left, port.data.tolist()

    assert machines(1).run(program).results == [([0], list(range(2000)))]


def order_of(proc: smp.Processor) -> tuple[list[int], list[float]]:
    """Return the order in which transfers of one length end, and some random numbers of the program's own."""
    n = 300 if proc._port.memory is None else 20_000  # several parts; on nodes two, for which there are credits
    port, ended = proc.port(n), []
    before = proc.random.random()
    for k in range(12):
        proc.start_block(0, port, np.zeros(n), 0, lambda transfer, k=k: ended.append(k))
    proc.quiet()
    return ended, [before, proc.random.random()]


def test_the_order_differs_between_processors_and_repeats_with_the_seed(machines: Machines) -> None:
    machine = machines(3)
    first, again, other = (machine.run(order_of, seed=seed).results for seed in (5, 5, 6))
    orders = [tuple(order) for order, _ in first]
    assert len(set(orders)) == 3
    assert [tuple(order) for order, _ in again] == orders
    assert all(tuple(order) != one for one, (order, _) in zip(orders, other, strict=True))
    assert all(order != tuple(range(12)) for order in orders)


def test_transfers_draw_no_random_numbers_of_the_program(machines: Machines) -> None:
    def draws(proc: smp.Processor) -> list[float]:
        return proc.random.random(2).tolist()

    machine = machines(3)
    assert [mine for _, mine in machine.run(order_of, seed=5).results] == machine.run(draws, seed=5).results


@pytest.mark.parametrize("processors", [1, 2, 3, 4])
def test_permutations_exchange_blocks(machines: Machines, processors: int) -> None:
    def program(proc: smp.Processor) -> bool:
        port = proc.port(100, np.int64)
        runs: list[int] = []
        for k, targets in enumerate(smp.patterns.rounds(proc.size) * 3):
            mine = np.arange(10 * (proc.rank + 1)) + 1000 * proc.rank + k
            source = int(np.flatnonzero(targets == proc.rank)[0])
            got = proc.permute(port, mine, targets if k % 2 else int(targets[proc.rank]))
            assert np.shares_memory(got, port.data) or proc._port.memory is None
            runs.append(np.array_equal(got, np.arange(10 * (source + 1)) + 1000 * source + k))
        return all(runs)

    assert machines(processors).run(program).results == [True] * processors


def test_scattered_blocks_have_landed_when_the_call_returns(machines: Machines) -> None:
    """Any number of blocks, to any processors; they do not count for expectations."""

    def program(proc: smp.Processor) -> Any:
        port = proc.port((3, 3, 12_000), np.int64, lambda message, port: None)
        rank = proc.rank
        flat = np.arange(12_000) + 100 * rank
        for k in range(2):
            blocks = [(to, port, flat + to + k, 12_000 * (3 * rank + to)) for to in range(rank + 1)]
            proc.scatter_blocks(iter(blocks))
            for source in range(3):
                for to in range(3):
                    right = np.arange(12_000) + 100 * source + to + k if to == rank and to <= source else 0
                    assert (port.data[source, to] == right).all()
        assert not port.done
        return proc.permute(port, [rank], (rank + 1) % 3).tolist()

    assert machines(3).run(program).results == [[2], [0], [1]]


def test_ports_that_do_not_match_are_reported(machines: Machines) -> None:
    for first, second in (("f8", "f4"), ("f8", "i8")):
        with pytest.raises(CollectiveMismatch) as caught:
            machines(2).run(lambda proc, dtypes: proc.port(3, dtypes[proc.rank]), (first, second))
        assert f"port of {np.dtype(first)}[3]" in str(caught.value)
        assert f"port of {np.dtype(second)}[3]" in str(caught.value)
    with pytest.raises(CollectiveMismatch, match=r"port of float64\[1, 3\]"):
        machines(2).run(lambda proc: proc.port((1, 3) if proc.rank else 3))


BAD: dict[str, tuple[Callable[[smp.Processor, Any], object], str]] = {
    "end": (lambda proc, port: proc.send_block(1, port, np.zeros(4), 3), "ValueError: a block of 4 elements from .* 3"),
    "begin": (lambda proc, port: proc.send_block(1, port, np.zeros(1), -1), "from place -1 on does not fit into port"),
    "long": (lambda proc, port: proc.send_block(1, port, np.zeros((2, 4))), "which has 6 elements"),
    "empty": (lambda proc, port: proc.send_block(1, port, np.zeros(0), 7), "a block of 0 elements from place 7 on"),
    "started": (lambda proc, port: proc.start_block(1, port, np.zeros(4), 3), "ValueError: a block of 4 elements from"),
    "scattered": (lambda proc, port: proc.scatter_blocks([(1, port, np.zeros(1)), (1, port, np.zeros(7))]), "of 7 el"),
    "dtype": (
        lambda proc, port: proc.send_block(1, port, np.zeros(2, "f4")),
        r"TypeError: proc.send_block to port 0 of float64\[6\] needs data of float64, not of float32",
    ),
    "order of bytes": (lambda proc, port: proc.send_block(1, port, np.zeros(2, ">f8")), "TypeError: .* not of >f8"),
    "rank": (lambda proc, port: proc.send_block(2, port, np.zeros(1)), "processor 2 does not exist"),
    "no port": (lambda proc, port: proc.send_block(1, port.data, np.zeros(1)), "TypeError: proc.send_block takes a po"),
    "rank of an expectation": (lambda proc, port: proc.expect_at(-1, port, 1), "processor -1 does not exist"),
    "expect": (lambda proc, port: port.expect(-1), "number of elements must be 0 or more, not -1"),
    "expect_at": (lambda proc, port: proc.expect_at(1, port, -1), "number of elements must be 0 or more, not -1"),
    "handler": (lambda proc, port: proc.expect_at(1, port, 1, print), "TypeError: then must be a handler"),
    "late handler": (
        lambda proc, port: proc.expect_at(1, port, 1, proc.handler(print)),
        "<handler 1, print> was registered after port 0 .* register it on all processors before",
    ),
    "open": (
        lambda proc, port: (port.expect(3), port.expect(2)),
        r"ValueError: the program expects 2 elements at port 0 of float64\[6\] of processor 0, where an expectation is "
        "open: 3 of 3 expected elements are missing",
    ),
    "then": (lambda proc, port: proc.port(3, then=5), "TypeError: then must be a function of a message and a port"),
    "then of a transfer": (lambda proc, port: proc.start_block(1, port, [1.0], then=5), "of a transfer, not 5"),
    "objects": (lambda proc, port: proc.port(3, object), "TypeError: a port cannot hold Python objects"),
    "shape": (lambda proc, port: proc.port(-3), "ValueError: the shape of a port must not have a negative length"),
    "rounds": (lambda proc, port: proc.serve_blocks(-1), "number of rounds must be 0 or more, not -1"),
    "targets": (lambda proc, port: proc.permute(port, [1.0], [0, 0]), r"permutation of the ranks of 2 proc.* \[0, 0\]"),
    "more targets": (lambda proc, port: proc.permute(port, [1.0], [0, 1, 2]), r"2 processors, not \[0, 1, 2\]"),
    "permute": (
        lambda proc, port: (port.expect(1), proc.permute(port, [1.0], 0)),
        r"permute cannot use port 0 of float64\[6\] of processor 0, where an expectation is open: 1 of 1 expected",
    ),
    "target": (lambda proc, port: proc.permute(port, [1.0], 2), "processor 2 does not exist"),
    "one target": (lambda proc, port: proc.permute(port, [1.0], 1), r"the processors send to \[1, 1\]"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused(machines: Machines, what: str) -> None:
    def program(proc: smp.Processor) -> None:
        proc.handler(lambda message: None)
        port = proc.port(6)
        if proc.rank == 0 or "target" in what:
            BAD[what][0](proc, port)
        proc.barrier()

    with pytest.raises(ProcessorRaised, match=BAD[what][1]):
        machines(2).run(program)


def test_nothing_is_sent_before_all_is_checked(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        port = proc.port(4, np.int64)
        for call in (
            lambda: proc.send_block(0, port, np.ones(5, np.int64)),
            lambda: proc.start_block(0, port, np.ones(5, np.int64)),
            lambda: proc.scatter_blocks([(0, port, [1, 1]), (0, port, [1], 4)]),
        ):
            with pytest.raises(ValueError, match="does not fit into port 0"):
                call()
        proc.quiet()
        return port.data.tolist()

    assert machines(1).run(program).results == [[0, 0, 0, 0]]


def test_more_data_than_expected_are_an_error_that_names_both(machines: Machines) -> None:
    def program(proc: smp.Processor, late: bool) -> None:
        port = proc.port(6, np.int16)
        if proc.rank == 0 and not late:
            port.expect(4)
        proc.barrier()
        if proc.rank:
            for _ in range(2):
                proc.send_block(0, port, np.ones(3, np.int16))
        proc.quiet()
        port.expect(4)

    said = r"6 elements have come to port 0 of int16\[6\] of processor 0, where 4 were expected; .* from processor 1"
    for late in (False, True):
        with pytest.raises(ProcessorRaised, match=said):
            machines(2).run(program, late)


def test_an_expectation_of_a_sender_while_one_is_open_is_an_error_that_names_both(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        port = proc.port(6)
        if proc.rank:
            proc.expect_at(0, port, 5)
            proc.expect_at(0, port, 2)
        proc.quiet()

    said = (
        r"processor 1 expects 2 elements at port 0 of float64\[6\] of processor 0, where an expectation is open: 5 of 5"
    )
    with pytest.raises(ProcessorRaised, match=said):
        machines(2).run(program)


FORBIDDEN: dict[str, Callable[[smp.Processor, Any, Any], object]] = {
    "proc.port": lambda proc, port, transfer: proc.port(3),
    "proc.send_block": lambda proc, port, transfer: proc.send_block(0, port, np.ones(1)),
    "proc.start_block": lambda proc, port, transfer: proc.start_block(0, port, [1.0]),
    "proc.serve_blocks": lambda proc, port, transfer: proc.serve_blocks(),
    "proc.expect_at": lambda proc, port, transfer: proc.expect_at(0, port, 1),
    "proc.permute": lambda proc, port, transfer: proc.permute(port, [1.0], 0),
    "proc.scatter_blocks": lambda proc, port, transfer: proc.scatter_blocks([]),
    "port.wait": lambda proc, port, transfer: port.wait(),
    "transfer.complete": lambda proc, port, transfer: transfer.complete(),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_handlers_of_ports_may_not_wait_or_send(machines: Machines, name: str) -> None:
    def program(proc: smp.Processor) -> None:
        def then(message: smp.Message, port: Any) -> None:
            FORBIDDEN[name](proc, port, transfer)

        port = proc.port(100_000, then=then)
        port.expect(1)
        proc.send_block(0, port, [1.0])
        transfer = proc.start_block(0, port, np.ones(100_000))
        proc.poll()

    said = rf"HandlerError: the handler '.*then' of a message from processor 0 called {name}, which no handler may do"
    with pytest.raises(ProcessorRaised, match=said):
        machines(1).run(program)


def test_a_port_of_another_run_is_refused(machines: Machines) -> None:
    def program(proc: smp.Processor) -> None:
        kept = vars(sys).setdefault("_port_of_a_test", [])  # a process runs several programs
        kept.append(proc.port(3))
        if len(kept) == 2:
            proc.send_block(0, kept.pop(0), np.ones(1))

    machine = machines(1)
    try:
        machine.run(program)
        with pytest.raises(
            ProcessorRaised, match=r"port 0 of float64\[3\] was made by another processor or in another"
        ):
            machine.run(program)
    finally:
        vars(sys).pop("_port_of_a_test", None)


def test_waits_for_ports_have_time_limits_and_go_on_after_them(machines: Machines) -> None:
    def program(proc: smp.Processor) -> list[float]:
        port = proc.port(3)
        if proc.rank == 0:
            with pytest.raises(WaitTimeout, match=r"0.01 s at port 0 of float64\[3\]: no expectation has been stated"):
                port.wait(timeout=0.01)
            port.expect(3)
            with pytest.raises(WaitTimeout, match="3 of 3 expected elements are missing"):
                port.wait(timeout=0.01)
        proc.barrier()
        if proc.rank:
            proc.send_block(0, port, [1.0, 2.0, 3.0])
        else:
            port.wait()
        return port.data.tolist()

    assert machines(2).run(program).results == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]


def test_ports_can_be_without_elements_or_dimensions(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        none, one, array = proc.port((2, 0)), proc.port((), np.int64), proc.port(2, np.dtype(("i4", 3)))
        for port, data in ((none, np.zeros((0, 2))), (one, 7), (array, np.arange(6, dtype="i4"))):
            port.expect(port.data.size)
            proc.send_block((proc.rank + 1) % proc.size, port, data)
            port.wait()
        proc.scatter_blocks([])
        proc.start_block(0, none, []).complete()
        return none.data.shape, one.data.shape, one.data.tolist(), array.data.tolist()

    assert machines(2).run(program).results == [((2, 0), (), 7, [[0, 1, 2], [3, 4, 5]])] * 2


def test_there_are_at_most_65536_ports(machines: Machines) -> None:
    from smp._runtime.program.messages import ports

    assert ports.PORTS == 65_536

    def program(proc: smp.Processor) -> int:
        from smp._runtime.program.messages import ports

        most, ports.PORTS = ports.PORTS, 3
        try:
            for k in range(3):
                assert proc.port(1).number == k
            with pytest.raises(ValueError, match="at most 3 ports"):
                proc.port(1)
        finally:
            ports.PORTS = most
        return 1

    assert machines(1).run(program).results == [1]
