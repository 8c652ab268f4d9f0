"""Blocks under all schedules, with little room; planted bugs; killed senders; many processors."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.machines import CPUS, Machines, guarded
from support.sampled import campaigns, each

import smp
from smp._computer.limits import usable_cpus
from smp._runtime.emulated.networks import network as networks
from smp._runtime.emulated.port import EmulatedPort
from smp._runtime.program.messages import block_calls, deliveries, ports
from smp._runtime.protocols import rings
from smp.errors import CheckFailed, DeadlockError, HandlerError, ProcessorDied, ProcessorRaised, WaitTimeout


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a part of a block have one element."""
    monkeypatch.setattr(deliveries, "CHUNK", 8)


@pytest.fixture(params=["copy", "messages"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Deliver blocks on emulated machines by copy, or by packets with room for one element or two."""
    if request.param == "messages":
        monkeypatch.setattr(block_calls, "ByCopy", deliveries.ByMessages)
        monkeypatch.setattr(deliveries, "LONGEST", 5)
    return str(request.param)


def stated(proc: smp.Processor, place: int) -> list[list[int]]:
    """Processor 1 sends two blocks to processor 0, and states the expectation before, between or after them."""
    runs: list[list[int]] = []
    port = proc.port(2, np.int64, lambda message, port: runs.append(port.data.tolist()))
    if proc.rank:
        for k in range(3):
            if k == place:
                proc.expect_at(0, port, 2)
            if k < 2:
                proc.send_block(0, port, [k + 1], k)
    else:
        port.wait()
        assert runs
    proc.quiet()
    return runs


def expected(proc: smp.Processor, place: int) -> list[list[int]]:
    """Processor 0 states it itself, at any time, while the blocks come."""
    runs: list[list[int]] = []
    port = proc.port(2, np.int64, lambda message, port: runs.append(port.data.tolist()))
    if proc.rank:
        proc.send_block(0, port, [1])
        proc.send_block(0, port, [2], 1)
    else:
        for _ in range(place):
            proc.poll(how=smp.ONCE)
        port.expect(2)
        port.wait()
        assert runs
    proc.quiet()
    return runs


def polled(proc: smp.Processor, place: int) -> list[list[int]]:
    """Processor 0 does not sleep while the block comes."""
    runs: list[list[int]] = []
    port = proc.port(2, np.int64, lambda message, port: runs.append(port.data.tolist()))
    if proc.rank:
        proc.send_block(0, port, [1, 2])
    else:
        port.expect(2)
        for _ in range(2 + place):
            proc.poll(how=smp.ONCE)
    proc.quiet()
    return runs


def explored(program: Any, check: Any, processors: int, preemptions: int, limit: int) -> Any:
    return smp.explore(program, processors, preemptions, check=check, limit=limit, network=smp.networks.ideal(1))


def once(run: smp.Run) -> bool:
    return run.results[0] == [[1, 2]] and not any(run.results[1:])


@pytest.mark.parametrize(("preemptions", "limit"), [(1, 500), pytest.param(2, 20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("place", each(3, [1, 0, 2]))
@pytest.mark.parametrize("program", each(2, [stated, expected, polled]))
def test_an_expectation_is_fulfilled_once_with_all_data(
    way: str, program: Any, place: int, preemptions: int, limit: int
) -> None:
    found = explored(lambda proc: program(proc, place), once, 2, preemptions, limit)
    assert found.failure is None, str(found)
    assert not found.unseen
    assert found.schedules < limit or preemptions == 2  # all schedules with one preemption were tried


def shared(proc: smp.Processor) -> list[list[int]]:
    """All other processors send a block to processor 0."""
    runs: list[list[int]] = []
    port = proc.port(2 * proc.size, np.int64, lambda message, port: runs.append(port.data.tolist()))
    if proc.rank:
        proc.send_block(0, port, [proc.rank, proc.rank], 2 * proc.rank)
    else:
        port.expect(2 * (proc.size - 1))
        port.wait()
    proc.quiet()
    return runs


@pytest.mark.parametrize("limit", [150, pytest.param(20_000, marks=pytest.mark.slow)])
def test_three_senders_fill_one_port(way: str, limit: int) -> None:
    found = explored(shared, lambda run: run.results == [[[0, 0, 1, 1, 2, 2, 3, 3]], [], [], []], 4, 1, limit)
    assert found.failure is None, str(found)


def interleaved(proc: smp.Processor) -> tuple[list[int], list[int], Any]:
    """The senders, all but the last processor, send three blocks of three parts each to the next processor."""
    came: list[int] = []
    ended: list[int] = []
    port = proc.port((proc.size, 3, 3), np.int64, lambda message, port: came.append(np.count_nonzero(port.data)))
    senders = 2
    port.expect(9 * ((proc.rank - 1) % proc.size < senders))
    if proc.rank < senders:
        started = [
            proc.start_block(
                (proc.rank + 1) % proc.size,
                port,
                np.arange(3) + 10 * k + 100,
                9 * proc.rank + 3 * k,
                lambda transfer, k=k: ended.append(k),
            )
            for k in range(3)
        ]
        seen = [[transfer.remaining for transfer in started]]
        for how in (1, 1, None):
            proc.serve_blocks(how)
            seen.append([transfer.remaining for transfer in started])
        assert (np.diff(seen, axis=0) <= 0).all(), "remaining rises"
        assert seen[-1] == [0, 0, 0]
        assert all(transfer.done for transfer in started)
    proc.quiet()
    return came, sorted(ended), port.data.tolist()


def complete(run: smp.Run) -> bool:
    size = len(run.results)
    right = np.zeros((size, size, 3, 3), np.int64)
    for sender in range(2):
        right[(sender + 1) % size, sender] = np.arange(3) + 10 * np.arange(3)[:, None] + 100
    return all(
        (came, ended, data) == ([np.count_nonzero(right[rank])], [0, 1, 2] * (rank < 2), right[rank].tolist())
        for rank, (came, ended, data) in enumerate(run.results)
    )


@pytest.mark.parametrize(
    ("processors", "preemptions", "limit"),
    [(2, 1, 100), (3, 1, 50), *campaigns((2, 1, 250), (3, 1, 100), (2, 2, 20_000))],
)
def test_each_transfer_is_sent_completely_and_once(way: str, processors: int, preemptions: int, limit: int) -> None:
    found = explored(interleaved, complete, processors, preemptions, limit)
    assert found.failure is None, str(found)


def test_transfers_are_sent_under_random_schedules(way: str) -> None:
    for seed in range(60):
        with smp.emulated(3, seed=seed, network=smp.networks.ideal(1)) as machine:
            run = machine.run(interleaved)
        assert complete(run), seed


def test_the_parts_of_transfers_alternate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts of each transfer are sent in a round, and one that finds no room is passed over."""
    sent: list[int] = []
    try_part = deliveries.ByCopy.try_part

    def noted(self: Any, block: Any) -> bool:
        moved = try_part(self, block)
        sent.append(block.place // 40 if moved else -1 - block.place // 40)
        return moved

    def program(proc: smp.Processor) -> None:
        port = proc.port(10, np.int64)
        if proc.rank == 0:
            for k in range(2):
                proc.start_block(1, port, np.arange(5), 5 * k)
            for _ in range(3):
                proc.serve_blocks(1)
        proc.barrier()

    monkeypatch.setattr(deliveries.ByCopy, "try_part", noted)
    with smp.emulated(2, schedule="clock", network=smp.networks.ideal(1)) as machine:
        machine.run(program)
    first = sent[2]
    other = 1 - first
    assert sent[:2] == [0, 1]
    assert sent[2:10] == [first, first, other, other] * 2
    assert sent[10:] == [-1 - other] * (len(sent) - 11) + [other]  # its last packet finds room when the other is taken


def rounds(proc: smp.Processor) -> list[list[int]]:
    """Three permutations in a row through one port, so that a round that begins early would overwrite data."""
    port, found = proc.port(2, np.int64), []
    for k in range(3):
        found.append(proc.permute(port, [proc.rank, k], (proc.rank + 1) % proc.size).tolist())
    return found


@pytest.mark.parametrize(("processors", "limit"), [(2, 200), (3, 100)])
def test_permutations_in_a_row_keep_apart(way: str, processors: int, limit: int) -> None:
    right = [[[(rank - 1) % processors, k] for k in range(3)] for rank in range(processors)]
    found = explored(rounds, lambda run: run.results == right, processors, 1, limit)
    assert found.failure is None, str(found)


def failing(program: Any, check: Any = once, processors: int = 2, preemptions: int = 1, limit: int = 3_000) -> Any:
    found = explored(program, check, processors, preemptions, limit)
    assert found.failure is not None, "the planted bug was not found"
    return found.failure.error


def test_a_packet_before_the_copy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(self: Any, to: int, port: Any, data: Any, at: int) -> None:
        self._messenger.send_words(to, self._landed, deliveries._LANDED.pack(port.number, data.nbytes))
        port._places[to, at : at + len(data)] = data

    monkeypatch.setattr(deliveries.ByCopy, "send", send)
    assert isinstance(failing(lambda proc: polled(proc, 0)), CheckFailed)


def test_a_part_that_is_announced_before_it_is_copied_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def try_part(self: Any, block: Any) -> bool:
        if not block.done and block.sent + 8 >= len(block.octets):
            packet = deliveries._LANDED.pack(block.port.number, len(block.octets))
            block.done = self._messenger.try_words(block.to, self._landed, packet)
            if not block.done:
                return False
        start = block.place + block.sent
        block.port._rows[block.to, start : start + 8] = block.octets[block.sent : block.sent + 8]
        block.sent += 8
        return True

    monkeypatch.setattr(deliveries.ByCopy, "try_part", try_part)

    def program(proc: smp.Processor) -> list[list[int]]:
        runs: list[list[int]] = []
        port = proc.port(2, np.int64, lambda message, port: runs.append(port.data.tolist()))
        if proc.rank:
            proc.start_block(0, port, [1, 2]).complete()
        else:
            port.expect(2)
            proc.poll(how=smp.ONCE)
        proc.quiet()
        return runs

    assert isinstance(failing(program), CheckFailed)


def test_a_handler_that_runs_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The expectation stays open when it is fulfilled, and is fulfilled again by the next block without elements."""
    check = ports.BlockPort._check

    def wrong(self: Any) -> None:
        before = self._expected
        check(self)
        self._expected = before

    monkeypatch.setattr(ports.BlockPort, "_check", wrong)

    def program(proc: smp.Processor) -> list[list[int]]:
        runs: list[list[int]] = []
        port = proc.port(2, np.int64, lambda message, port: runs.append(port.data.tolist()))
        port.expect(2 * (1 - proc.rank))
        proc.send_block(0, port, np.arange(2 * proc.rank) + 1)
        proc.quiet()
        return runs

    assert isinstance(failing(program), CheckFailed)


def test_a_count_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data that come before their expectation are forgotten."""

    def wrong(self: Any, source: int, nbytes: int) -> None:
        self._missing = max(self._missing - nbytes, 0)
        self._check()

    monkeypatch.setattr(ports.BlockPort, "_came", wrong)
    assert isinstance(failing(lambda proc: expected(proc, 1)), DeadlockError)


def test_a_permutation_without_its_barrier_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processors know what they would be given, so only the barrier is missing."""
    monkeypatch.setattr(EmulatedPort, "exchange", gives_at_once)
    right = [[[(rank - 1) % 3, k] for k in range(3)] for rank in range(3)]
    error = failing(rounds, lambda run: run.results == right, 3, 1, 3_000)
    assert isinstance(error, CheckFailed | ProcessorRaised)


def gives_at_once(self: Any, description: str, *parts: Any) -> Any:
    if not description.startswith("permute"):
        return super(EmulatedPort, self).exchange(description, *parts)
    return [block_calls._ROUND.pack((rank + 1) % 3, 2) for rank in range(3)]


def lost(self: Any, block: Any) -> bool:
    """Pass on a part as `ByMessages.try_part` does, but forget it if there is no room."""
    stop, words = self._next(block)
    self._messenger.try_words(block.to, self._part, words)
    block.sent, block.done = stop, stop == len(block.octets)
    return True


def repeated(self: Any, block: Any) -> bool:
    """Pass on a part as `ByMessages.try_part` does, but go on only from the second time on."""
    stop, words = self._next(block)
    if not self._messenger.try_words(block.to, self._part, words):
        return False
    block.sent, block.done = stop if block.counted == 2 else block.sent, stop == len(block.octets)
    block.counted = 2
    return True


@pytest.mark.parametrize("way", ["messages"], indirect=True)
@pytest.mark.parametrize("wrong", [lost, repeated])
def test_parts_that_are_lost_or_repeated_are_found(way: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deliveries.ByMessages, "try_part", wrong)
    error = failing(interleaved, complete)
    assert isinstance(error, CheckFailed | ProcessorRaised)


def test_the_sleep_of_a_wait_for_blocks_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "notify", lambda inbox: None)

    def program(proc: smp.Processor) -> None:
        port = proc.port(2, np.int64)
        port.expect(2)
        port.wait()

    with (
        smp.emulated(2, network=smp.networks.ideal(1)) as machine,
        pytest.raises(DeadlockError, match=r"blocks at port 0 of int64\[2\]"),
    ):
        machine.run(program)


def test_the_deadline_of_quiet_holds_for_queued_blocks(machines: Machines) -> None:
    """Processor 0 computes meanwhile and takes no messages, so that five packets find no room."""
    slots = rings.slots_for(2)

    def program(proc: smp.Processor) -> Any:
        port, turn = proc.port(slots + 5, np.int64), proc.zeros(1).view
        if proc.rank == 0:
            turn[0] = 1
            while turn[0] == 1:
                pass
        else:
            while turn[0] == 0:
                pass
            for k in range(slots + 5):
                proc.start_block(0, port, [k], k)
            with pytest.raises(
                WaitTimeout, match=r"processor 1 waited 0\.05 s in quiet, and 5 blocks are still queued"
            ):
                proc.quiet(timeout=0.05)
            turn[0] = 2
        proc.quiet()
        return port.data.tolist()

    with guarded(machines(2)) as machine:
        assert machine.run(program).results[0] == list(range(slots + 5))


@pytest.mark.parametrize("how", ["send_block", "start_block"])
@pytest.mark.parametrize("times", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_sender_killed_in_a_block_ends_the_run(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, times: int
) -> None:
    """The handler runs only for blocks that are whole; the last one, in which the sender is killed, is not."""
    monkeypatch.setattr(deliveries, "CHUNK", 1 << 16)
    wrong = tmp_path / "wrong"

    def program(proc: smp.Processor, when: int) -> None:
        n, left = 1_000_000, [0]

        def then(message: smp.Message, port: Any) -> None:
            left[0] += 1
            if port.data[0] != left[0] or not (port.data == left[0]).all():
                wrong.write_text(f"{left} {np.unique(port.data)}")

        taken = [0]
        port, take = proc.port(n, np.int64, then), proc.handler(lambda message: taken.append(1))
        if proc.rank == 1:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            signal.setitimer(signal.ITIMER_REAL, 0.003 + when * 0.0017 % 0.02)
        k = 0
        while True:
            k += 1
            if proc.rank:
                data = np.full(n, k)
                if how == "send_block":
                    proc.send_block(0, port, data)
                else:
                    proc.start_block(0, port, data).complete()
                proc.wait_until(lambda k=k: len(taken) > k)
            else:
                port.expect(n)
                port.wait()
                proc.send(1, take)

    for when in range(times):
        with guarded(machines(2, start="fork")) as machine, pytest.raises(ProcessorDied, match="processor 1"):
            machine.run(program, when)
    assert not wrong.exists()


def test_the_handler_does_not_run_for_the_first_part_of_a_block(machines: Machines, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    def program(proc: smp.Processor) -> None:
        port = proc.port(1_000_000, then=lambda message, port: ran.write_text("ran"))
        if proc.rank:
            proc.start_block(0, port, np.ones(1_000_000))
            proc.barrier()
            os.kill(os.getpid(), signal.SIGKILL)
        port.expect(1_000_000)
        proc.barrier()
        port.wait()

    with guarded(machines(2, start="fork")) as machine, pytest.raises(ProcessorDied, match="processor 1"):
        machine.run(program)
    assert not ran.exists()


@pytest.mark.parametrize(
    "options", [{"processors": 4 * CPUS, "start": "fork"}, {"processors": 3, "pin": (usable_cpus()[0],) * 3}]
)
def test_many_processors_send_to_each_other(machines: Machines, options: dict[str, Any]) -> None:
    def program(proc: smp.Processor) -> bool:
        draw = np.random.default_rng(proc.rank)
        port = proc.port((proc.size, 2000), np.int64)
        good = True
        for k in range(5):
            port.expect(port.data.size)
            for to in draw.permutation(proc.size).tolist():
                start = proc.start_block if k % 2 else proc.send_block
                start(to, port, np.arange(2000) + 7 * proc.rank + k, 2000 * proc.rank)  # type: ignore[operator]
            proc.serve_blocks()
            port.wait()
            good &= bool((port.data == np.arange(2000) + 7 * np.arange(proc.size)[:, None] + k).all())
            proc.barrier()
        return good

    with guarded(machines(**options)) as machine:
        assert machine.run(program).results == [True] * machine.size


def test_blocks_are_sent_by_the_thread_of_the_program_only(machines: Machines) -> None:
    def program(proc: smp.Processor) -> Any:
        port = proc.port(3)
        with proc.streams(2) as pool:
            for data in ([1.0], np.ones(1)):  # an array is the usual case, which is looked at in another way
                with pytest.raises(HandlerError, match="send_block was called on another"):
                    pool.start(lambda data=data: proc.send_block(0, port, data)).result()  # type: ignore[misc]
        return port.data.tolist()

    for machine in (machines(1), smp.emulated(1)):
        with guarded(machine) as opened:
            assert opened.run(program).results == [[0.0] * 3]
