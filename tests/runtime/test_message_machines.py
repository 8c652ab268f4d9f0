"""Machines without shared memory in virtual time: what messages, collectives and copies take."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp import machines
from smp._runtime.emulated.message_machine.packet_wires import PacketWires
from smp._runtime.emulated.message_machine.software import Software
from smp._runtime.emulated.message_machine.times import Times, balanced, hops
from smp._runtime.emulated.message_machine.wires import FreeWires, Wires
from smp.compiled import fetch_add, readfe, readff, writeef
from smp.errors import Unsupported

CM5, ALEWIFE = machines.load("cm5"), machines.load("alewife")
WITHOUT_MEMORY = ALEWIFE.replace("memory", {"shared": "none"})
BARE = (
    WITHOUT_MEMORY.replace("message.poll_empty", 0).replace("message.notify", "poll").replace("processor.interrupt", 0)
)
"""Alewife without shared memory, and without the parts of a cycle that depend on when a processor looks."""


def cycles(seconds: float, file: machines.MachineFile = CM5) -> float:
    return seconds * file.clock.hz


def round_trips(proc: smp.Processor, others: list[int]) -> list[float]:
    came: list[int] = []
    pong = proc.handler(lambda message: came.append(message.source))
    ping = proc.handler(lambda message: message.reply(pong), replies=True)
    times = []
    proc.barrier()
    if proc.rank == 0:
        for k, other in enumerate(others):
            start = proc.clock()
            proc.request(other, ping)
            proc.wait_until(lambda k=k: len(came) > k)  # type: ignore[misc]
            times.append(proc.clock() - start)
    proc.barrier()
    return times


def test_a_send_takes_the_time_of_the_machine_file() -> None:
    def program(proc: smp.Processor) -> tuple[float, float]:
        replies = proc.handler(lambda message: None, replies=True)
        plain = proc.handler(lambda message: None)
        start = proc.clock()
        proc.request(1, replies)
        middle = proc.clock()
        proc.send(1, plain)
        return middle - start, proc.clock() - middle

    with smp.emulated(2, machine=CM5, fidelity="latency") as machine:
        request, send = machine.run(program).results[0]
    assert cycles(request) == pytest.approx(CM5.message.request, abs=1e-3)
    assert cycles(send) == pytest.approx(CM5.message.rpc, abs=1e-3)


def test_a_round_trip_is_the_work_at_both_ends_and_the_wires() -> None:
    others = [1, 3, 9, 63]
    with smp.emulated(64, machine=BARE, fidelity="latency") as machine:
        times = machine.run(round_trips, others).results[0]
    message, network = BARE.message, BARE.network
    word = 4 * BARE.clock.hz / network.link_bandwidth[0]
    for other, time in zip(others, times, strict=True):
        distance = hops(network, 64)(0, other)
        ends = message.request + message.rpc + 2 * message.receive
        wires = 2 * (network.latency + distance * network.hop + word)
        assert cycles(time, BARE) == pytest.approx(ends + wires, abs=1e-2)


def test_long_messages_take_a_packet_for_each_payload() -> None:
    def program(proc: smp.Processor, count: int) -> float:
        note = proc.handler(lambda message, *numbers: None)
        start = proc.clock()
        proc.send(1 - proc.rank, note, *range(count))
        return proc.clock() - start

    with smp.emulated(2, machine=CM5, fidelity="latency") as machine:
        for count, packets in ((0, 1), (2, 1), (3, 2), (7, 4)):
            time = machine.run(program, count).results[0]
            assert cycles(time) == pytest.approx(CM5.message.rpc + (packets - 1) * CM5.message.inject, abs=1e-3)


def test_collectives_take_the_published_times_after_the_last_arrival() -> None:
    def program(proc: smp.Processor) -> list[float]:
        proc.work(cycles=1000 * proc.rank)
        start = proc.clock()
        proc.barrier()
        times = [proc.clock() - start]
        for words in (1, 100):
            start = proc.clock()
            proc.reduce(np.ones(words, np.int32))
            times.append(proc.clock() - start)
        return times

    with smp.emulated(8, machine=CM5, fidelity="latency") as machine:
        results = machine.run(program).results
    control = CM5.control
    for rank, (barrier, one, hundred) in enumerate(results):
        assert cycles(barrier) == pytest.approx(1000 * (7 - rank) + control.barrier, abs=1e-2)
        assert cycles(one) == pytest.approx(control.combine.start + control.combine.per_word, abs=1e-2)
        assert cycles(hundred) == pytest.approx(control.combine.start + 100 * control.combine.per_word, abs=1e-2)


@pytest.mark.parametrize("name", ["alewife", "atm"])
def test_collectives_without_a_network_of_their_own_take_the_time_of_the_formula(name: str) -> None:
    """The formulas are those of Brewer's thesis, figure 6-6."""
    file = machines.load(name)
    combine = file.control.combine

    def program(proc: smp.Processor, words: int) -> list[float]:
        times = [proc.clock()]
        for collective in (proc.barrier, *[lambda: proc.reduce(np.ones(words, np.int32))] * 3):
            collective()
            times.append(proc.clock())
        proc.work(cycles=1e6 * proc.rank)
        times.append(proc.clock())
        proc.scan(np.ones(words, np.int32))
        return [*np.diff(times)[:-1].tolist(), proc.clock()]

    for processors, levels in ((4, 2), (16, 4), (64, 6)):
        with smp.emulated(processors, machine=file, fidelity="latency") as machine:
            for words in (1, 50, 20_000):  # the last ones go through the stage of long arrays, with two barriers
                barrier, *reductions, end = machine.run(program, words).results[0]
                start = combine.start + combine.per_level * levels
                expected = start + words * (combine.per_word + combine.per_word_level * levels)
                assert cycles(np.array(reductions), file) == pytest.approx(np.full(3, expected), abs=1e-1)
                assert cycles(barrier, file) <= start + 1e-2  # a combination of no words is a barrier, too
                last = barrier + sum(reductions) + 1e6 * (processors - 1) / file.clock.hz
                assert cycles(end - last, file) == pytest.approx(expected, abs=1e-1)


@pytest.mark.parametrize(
    ("name", "constant", "per_hop"),
    [("cm5", 404.2, 14.4), ("alewife", 207.6, 2.552), ("paragon", 302.5, 11.23), ("atm", 2032, 61.89)],
)
def test_a_round_trip_takes_the_time_of_the_thesis(name: str, constant: float, per_hop: float) -> None:
    """Brewer's thesis, figure 6-6; the machine cm5 looks for messages every 10 cycles at both ends."""
    file = machines.load(name)
    others = [1, 9, 18, 63]
    with smp.emulated(64, machine=file, fidelity="latency") as machine:
        times = machine.run(round_trips, others).results[0]
    for other, time in zip(others, times, strict=True):
        printed = constant + per_hop * hops(file.network, 64)(0, other)
        assert cycles(time, file) == pytest.approx(printed, abs=10 if name == "cm5" else 2)


def test_a_copy_in_is_a_request_and_a_block_from_each_owner() -> None:
    def program(proc: smp.Processor, array: Any) -> float:
        with proc.superstep() as step:
            start = proc.clock()
            if proc.rank == 0:
                step.copy_in(array, slice(100, 200))  # those of processor 1
            return proc.clock() - start

    with smp.emulated(2, machine=BARE, fidelity="latency") as machine:
        time = machine.run(program, machine.zeros(200)).results[0]
    message, block, network = BARE.message, BARE.block, BARE.network
    wire = network.latency + network.hop
    link = BARE.clock.hz / network.link_bandwidth[0]
    there = message.request + wire + 4 * link + message.receive
    back = block.start + wire + 4 * link + 800 * BARE.clock.hz / block.bandwidth + message.receive
    assert cycles(time, BARE) == pytest.approx(there + back, abs=1e-1)


def test_without_a_device_both_processors_copy_a_block() -> None:
    """Blocks of the machine atm have a start and a bandwidth."""
    file = machines.load("atm").replace("message.poll_empty", 0)

    def program(proc: smp.Processor, count: int) -> list[float]:
        port = proc.port(count)
        port.expect(count)
        proc.barrier()
        start = proc.clock()
        if proc.rank == 0:
            proc.send_block(1, port, np.zeros(count))
        sent = proc.clock() - start
        if proc.rank == 1:
            proc.work(cycles=1e6)
            start = proc.clock()
            port.wait()
        return [sent, proc.clock() - start]

    with smp.emulated(2, machine=file.replace("message.notify", "poll"), fidelity="latency") as machine:
        for count in (1, 1000):
            (sent, _), (_, received) = machine.run(program, count).results
            copy = 8 * count * file.clock.hz / file.block.bandwidth
            assert cycles(sent, file) == pytest.approx(file.block.start + copy, abs=1e-2)
            assert cycles(received, file) == pytest.approx(file.message.receive + copy, abs=1e-2)


def test_owners_pay_for_what_others_read_and_write() -> None:
    def program(proc: smp.Processor, array: Any) -> None:
        with proc.superstep() as step:
            if proc.rank:
                step.copy_in(array, slice(0, 100))
            step.compute()
            if proc.rank:
                step.copy_out(array, slice(0, 100), np.ones(100))

    def spread(p: int) -> Any:
        with smp.emulated(p, machine=CM5, fidelity="latency") as machine:
            steps = machine.run(program, machine.zeros(100 * p)).steps
        return steps

    assert spread(8)["copy_out"].max() > 3 * spread(2)["copy_out"].max()


def test_interrupts_take_their_time_from_the_computation() -> None:
    body, work = 1000, 20_000

    def program(proc: smp.Processor, count: int) -> tuple[float, float, list[float]]:
        came: list[float] = []

        def handle(message: smp.Message) -> None:
            came.append(proc.clock())
            proc.work(cycles=body)

        note = proc.handler(handle)
        proc.barrier()
        start = proc.clock()
        if proc.rank == 0:
            proc.work(cycles=work)
        else:
            for _ in range(count):
                proc.send(0, note)
        return start, proc.clock(), came

    with smp.emulated(2, machine=ALEWIFE, fidelity="latency") as machine:
        for count in (0, 1, 5):
            start, end, came = machine.run(program, count).results[0]
            each = ALEWIFE.processor.interrupt + ALEWIFE.message.receive + body
            assert len(came) == count
            assert cycles(end - start, ALEWIFE) == pytest.approx(work + count * each, abs=1e-2)
            assert all(start < time < end for time in came)
            assert np.all(np.diff(came) >= body / ALEWIFE.clock.hz)  # a handler runs to its end


def test_a_machine_that_polls_handles_messages_after_the_computation() -> None:
    def program(proc: smp.Processor) -> list[float]:
        came: list[float] = []
        note = proc.handler(lambda message: came.append(proc.clock()))
        proc.barrier()
        if proc.rank:
            proc.send(0, note)
        else:
            proc.work(cycles=10_000)
            came.append(proc.clock())
            proc.wait_until(lambda: len(came) == 2)
        return came

    with smp.emulated(2, machine=CM5, fidelity="latency") as machine:
        worked, handled = machine.run(program).results[0]
    assert worked < handled < worked + 200 / CM5.clock.hz


def test_runs_repeat_to_the_last_picosecond() -> None:
    def program(proc: smp.Processor, array: Any) -> list[float]:
        times = round_trips(proc, [1, 2, 3])
        with proc.superstep() as step:
            step.copy_in(array, slice(proc.rank, None, 3))
        return [*times, proc.clock(), proc.reduce(proc.rank)]

    found = []
    for _ in range(3):
        with smp.emulated(4, machine="cm5") as machine:
            found += [machine.run(program, machine.zeros(50)).results for _ in range(2)]
    assert all(one == found[0] for one in found)


def test_the_machine_flat_is_the_default_one() -> None:
    def program(proc: smp.Processor, array: Any) -> float:
        with proc.superstep() as step:
            mine = step.copy_in(array, proc.block(len(array)))
            step.compute()
            step.copy_out(array, proc.block(len(array)), mine + 1)
        return proc.clock()

    found = []
    for options in ({"machine": "flat"}, {"schedule": "clock"}):
        with smp.emulated(3, **options) as machine:
            found.append(machine.run(program, machine.zeros(1000)).results)
    assert found[0] == found[1]


def test_processors_are_those_of_the_file_by_default() -> None:
    with smp.emulated(machine="ipsc1") as machine:
        assert machine.size == 16


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "needs a number of processors, or a machine"),
        ({"machine": "cm5", "charges": smp.Charges()}, ValueError, "charges and a network of its own"),
        ({"machine": "cm5", "network": smp.networks.ideal()}, ValueError, "charges and a network of its own"),
        ({"machine": "cm5", "schedule": "seeded"}, ValueError, 'needs schedule="clock"'),
        ({"machine": "cm6"}, smp.errors.MachineFileError, "there is no machine 'cm6'"),
        ({"machine": machines.load("mta").replace("streams", None)}, Unsupported, "described but not emulated"),
        ({"processors": 12, "machine": "ipsc1"}, smp.errors.MachineFileError, "a hypercube must be a power of two"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        smp.emulated(**options)


def test_loops_on_global_arrays_need_shared_memory() -> None:
    def program(proc: smp.Processor, array: Any) -> None:
        with proc.superstep() as step:
            step.copy_in_by(len, array)

    with (
        smp.emulated(2, machine="cm5") as machine,
        pytest.raises(smp.errors.ProcessorRaised, match=r"Unsupported: a loop on global arrays needs memory"),
    ):
        machine.run(program, machine.zeros(4))


def wires_of(name: str, contention: bool) -> Wires:
    file = machines.load(name)
    return PacketWires(file, 16, Software.of(file)) if contention else FreeWires(16, Times(file, 16))


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(["cm5", "alewife", "atm", "paragon"]),
    st.booleans(),
    st.lists(
        st.tuples(
            st.integers(0, 10**9), st.integers(0, 1), st.integers(0, 15), st.integers(0, 15), st.integers(0, 500)
        ),
        max_size=40,
    ),
)
def test_wires_lose_nothing(name: str, contention: bool, posts: list[tuple[int, int, int, int, int]]) -> None:
    wires, one = wires_of(name, contention), machines.load(name).interface.channels == 1
    sent: dict[tuple[int, int, int], list[int]] = {}
    came: dict[tuple[int, int, int], list[int]] = {}

    def take_all(now: int, nodes: list[int]) -> None:
        for node in nodes:
            for channel in range(1 if one else 2):
                while wires.waiting(channel, node):
                    found = wires.first(channel, node)
                    wires.take(now, channel, node)
                    if found is not None:
                        source, number = found
                        came.setdefault((channel, source, node), []).append(number)

    for number, (now, either, source, to, nbytes) in enumerate(sorted(posts)):
        channel = 0 if one else either
        take_all(now, wires.advance(now))
        if wires.has_room(channel, source):
            assert wires.post(now, channel, source, to, nbytes, 0, False, (source, number))
            sent.setdefault((channel, source, to), []).append(number)
    while (due := wires.next_event()) is not None:
        take_all(due, wires.advance(due))
    assert {way: sorted(numbers) for way, numbers in came.items()} == sent
    if not contention:
        assert came == sent  # in order
    assert not any(wires.left(node) for node in range(16))


def test_messages_of_several_packets_come_whole_though_packets_overtake_each_other() -> None:
    """In a fat tree, the packets of a message go up on different ways."""

    def program(proc: smp.Processor) -> list[tuple[int, ...]]:
        came: list[tuple[int, ...]] = []
        note = proc.handler(lambda message, *numbers: came.append(numbers))
        ask = proc.handler(lambda message, *numbers: message.reply(note, *numbers), replies=True)
        for k in range(8):
            proc.request((proc.rank * 5 + k * 7) % proc.size, ask, *range(k, k + 6))
            proc.wait_until(lambda k=k: len(came) > k)  # type: ignore[misc]
        return came

    with smp.emulated(16, machine="cm5", fidelity="contention") as machine:
        results = machine.run(program).results
    assert results == [[tuple(range(k, k + 6)) for k in range(8)]] * 16


@pytest.mark.parametrize("length", [20, 100])
def test_long_messages_come_whole_though_those_of_one_sender_overtake_each_other(length: int) -> None:
    """They have more words than a packet of the host's networks."""

    def program(proc: smp.Processor) -> list[tuple[int, ...]]:
        came: list[tuple[int, ...]] = []
        note = proc.handler(lambda message, *numbers: came.append(numbers))
        for k in range(8):
            targets = np.random.default_rng(k // 2).permutation(proc.size)
            proc.send(int(targets[proc.rank]), note, k, *range(length))
        proc.wait_until(lambda: len(came) == 8)
        return sorted(came)

    with smp.emulated(16, machine="cm5", fidelity="contention") as machine:
        results = machine.run(program).results
    assert results == [[(k, *range(length)) for k in range(8)]] * 16


def test_an_error_of_the_network_is_the_error_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(self: FreeWires, now: int) -> list[int]:
        raise OSError("the wires are cut")

    def program(proc: smp.Processor) -> None:
        proc.send(1 - proc.rank, proc.handler(lambda message: None))
        proc.wait_until(lambda: False)

    monkeypatch.setattr(FreeWires, "advance", cut)  # here: the program's own copy of the fixture would never undo it

    with (
        smp.emulated(2, machine="cm5", fidelity="latency") as machine,
        pytest.raises(smp.errors.ProcessorRaised, match="the wires are cut"),
    ):
        machine.run(program)


def test_hops_of_each_kind_of_network() -> None:
    tree, mesh = hops(CM5.network, 64), hops(ALEWIFE.network, 64)
    cube = hops(machines.load("ipsc1").network, 16)
    assert [tree(0, k) for k in (0, 1, 3, 4, 15, 16, 63)] == [0, 2, 2, 4, 4, 6, 6]
    assert [mesh(0, k) for k in (0, 1, 7, 8, 63)] == [0, 1, 7, 1, 14]
    assert [cube(5, k) for k in (5, 4, 7, 10)] == [0, 1, 1, 4]
    assert balanced(12, 2) == (4, 3)


def test_a_run_has_an_account_of_its_loops() -> None:
    @smp.local
    def summed(a: Any) -> float:
        total = 0.0
        for x in a:
            total += x
        return total

    def program(proc: smp.Processor) -> float:
        return summed(np.ones(10 * (proc.rank + 1)))

    with smp.emulated(2, machine=CM5, fidelity="latency") as machine:
        run = machine.run(program)
    ops = CM5.processor.ops
    assert run.results == [10.0, 20.0]
    assert run.machine == "cm5"
    (charge,) = run.charges
    assert (charge.way, charge.calls) == ("counted", 2)
    assert charge.cycles >= 30 * (ops.load + ops.flop)
    with smp.host(1) as machine:
        run = machine.run(lambda proc: None)
    assert (run.machine, run.charges) == ("", ())


def test_an_operation_on_a_word_of_another_processor_is_a_request_and_a_reply() -> None:
    def program(proc: smp.Processor, words: Any, cells: Any) -> list[float]:
        proc.barrier()
        times = []
        if proc.rank == 0:
            for act in (
                lambda: fetch_add(words.view, 0, 1),  # the processor's own
                lambda: fetch_add(words.view, 15, 1),  # of processor 1
                lambda: cells.writeef(1, 7),
                lambda: cells.readfe(1),
            ):
                start = proc.clock()
                act()
                times.append(proc.clock() - start)
        proc.barrier()
        return times

    with smp.emulated(2, machine=BARE, fidelity="latency") as machine:
        times = machine.run(program, machine.zeros(16, np.int64), machine.cells(2, padded=True)).results[0]
    message, network = BARE.message, BARE.network
    wire = network.latency + network.hop + 8 * BARE.clock.hz / network.link_bandwidth[0]
    trip = message.request + message.rpc + 2 * (message.receive + wire)
    own, *others = [cycles(time, BARE) for time in times]
    assert own == pytest.approx(8 * BARE.processor.copy_per_byte, abs=1e-2)
    assert others == pytest.approx([trip] * 3, abs=1e-1)


def test_a_word_has_its_owner_even_where_the_memory_of_another_array_was() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray, k: int) -> float:
        start = proc.clock()
        if proc.rank == 1:
            fetch_add(words.view, k, 1)
        return proc.clock() - start

    def taken(length: int) -> list[float]:
        words = machine.zeros(length, np.int64)
        return [machine.run(program, words, k).results[1] for k in (0, length - 1)]

    with smp.emulated(2, machine="cm5") as machine:
        far, own = taken(100)
        assert far > 10 * own
        assert taken(10) == [far, own]


def test_many_requests_to_one_processor_queue_there() -> None:
    def program(proc: smp.Processor, words: Any) -> float:
        proc.barrier()
        start = proc.clock()
        fetch_add(words.view, 0, 1)
        return proc.clock() - start

    def slowest(p: int) -> float:
        with smp.emulated(p, machine=BARE, fidelity="latency") as machine:
            words = machine.zeros(p, np.int64)
            run = machine.run(program, words)
            assert words[0] == p
            return cycles(max(run.results), BARE)

    service = BARE.message.receive + BARE.message.rpc
    assert slowest(32) - slowest(16) == pytest.approx(16 * service, rel=0.05)


@smp.stream
def taken_and_put(cells: Any, i: int, times: int) -> int:
    for _ in range(times):
        writeef(cells, i, readfe(cells, i) + 1)
    return readff(cells, i)


def test_operations_on_cells_in_loops_take_as_long_as_from_python() -> None:
    def program(proc: smp.Processor, cells: Any, rounds: int) -> tuple[float, int]:
        proc.barrier()
        start = proc.clock()
        found = taken_and_put(cells, 1, rounds) if proc.rank == 0 else 0
        return proc.clock() - start, found

    with smp.emulated(2, machine=BARE, fidelity="latency") as machine:
        cells = machine.cells(2, full=True)
        (short, _), _ = machine.run(program, cells, 1).results
        (long, found), _ = machine.run(program, cells, 11).results
    assert found == 12
    assert long - short == pytest.approx(20 * short / 3, rel=1e-6)


BLOCK = 4096


def all_to_one(proc: smp.Processor) -> float:
    """Send a block to processor 0 from each other one; return when processor 0 has all of them."""
    port = proc.port(BLOCK * proc.size, np.uint8)
    if proc.rank == 0:
        port.expect(BLOCK * (proc.size - 1))
    proc.barrier()
    start = proc.clock()
    if proc.rank:
        proc.send_block(0, port, np.full(BLOCK, proc.rank, np.uint8), BLOCK * proc.rank)
    else:
        port.wait()
        assert np.array_equal(port.data[BLOCK:], np.repeat(np.arange(1, proc.size), BLOCK))
    return proc.clock() - start


@pytest.mark.parametrize("name", ["cm5", "alewife", "paragon", "atm"])
def test_blocks_to_one_processor_come_no_faster_than_its_link(name: str) -> None:
    file = machines.load(name)
    with smp.emulated(8, machine=name) as machine:
        time = machine.run(all_to_one).results[0]
    assert time > 7 * BLOCK / file.network.link_bandwidth[0]
    with smp.emulated(8, machine=name, fidelity="latency") as machine:
        assert machine.run(all_to_one).results[0] < 1.1 * time


def test_a_full_network_holds_its_senders_up() -> None:
    def program(proc: smp.Processor, packets: int) -> tuple[int, list[int]]:
        came: list[int] = []
        note = proc.handler(lambda message, k: came.append(k))
        proc.barrier()
        sent = 0
        if proc.rank == 0:
            proc.work(cycles=100_000)  # and takes no packets meanwhile
        else:
            while sent < packets and proc.try_send(0, note, sent, on=smp.LEFT):
                proc.work(cycles=100)
                sent += 1
            for k in range(sent, packets):
                proc.send(0, note, k, on=smp.LEFT)
        proc.quiet()
        return sent, came

    with smp.emulated(2, machine="cm5") as machine:
        (_, came), (sent, _) = machine.run(program, 100).results
        assert came == list(range(100))
    room = CM5.interface.out_fifo + CM5.interface.in_fifo
    assert room < sent < 4 * room
    with smp.emulated(2, machine="cm5", fidelity="latency") as machine:
        assert machine.run(program, 100).results[1][0] == 100


def test_contended_runs_repeat() -> None:
    def program(proc: smp.Processor) -> list[float]:
        came: list[int] = []
        note = proc.handler(lambda message, k: came.append(k))
        for k in range(20):
            proc.send((proc.rank * 5 + k) % proc.size, note, k)
        proc.quiet()
        return [proc.clock(), *sorted(came)]

    found = []
    for _ in range(2):
        with smp.emulated(16, machine="cm5") as machine:
            found += [machine.run(program).results for _ in range(2)]
    assert all(one == found[0] for one in found)
    assert sum(len(one) - 1 for one in found[0]) == 16 * 20
