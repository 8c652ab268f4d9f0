"""Message machines whose handlers run on hardware of their own, beside the programs."""

import numpy as np
import pytest

import smp
from smp import machines
from smp._runtime.emulated.message_machine.copies import Copies
from smp._runtime.emulated.message_machine.software import Software
from smp._runtime.emulated.message_machine.times import Times

ALEWIFE = machines.load("alewife")
APART = ALEWIFE.replace("protocol", {"processor": True})
BODY = 1000


def cycles(seconds: float) -> float:
    return seconds * APART.clock.hz


def flooded(proc: smp.Processor, count: int, work: int) -> tuple[float, float, list[float]]:
    """Processor 0 computes while the others send to it; return when that begins and ends, and when handlers began."""
    came: list[float] = []

    def handle(message: smp.Message) -> None:
        came.append(proc.clock())
        proc.work(cycles=BODY)

    note = proc.handler(handle)
    proc.barrier()
    start = proc.clock()
    for _ in range(count if proc.rank else 0):
        proc.send(0, note)
    proc.work(cycles=0 if proc.rank else work)
    return start, proc.clock(), came


@pytest.mark.parametrize("count", [0, 1, 4])
def test_handlers_run_one_after_the_other_and_take_no_time_from_the_program(count: int) -> None:
    with smp.emulated(3, machine=APART, fidelity="latency") as machine:
        start, end, came = machine.run(flooded, count, 20_000).results[0]
    assert cycles(end - start) == pytest.approx(20_000, abs=1e-2)
    assert len(came) == 2 * count
    each = BODY + APART.message.receive
    assert np.diff(came) * APART.clock.hz == pytest.approx(np.full(max(2 * count - 1, 0), each), abs=1e-2)


def test_on_the_same_machine_without_them_the_program_pays() -> None:
    with smp.emulated(3, machine=ALEWIFE, fidelity="latency") as machine:
        start, end, _ = machine.run(flooded, 4, 20_000).results[0]
    each = BODY + ALEWIFE.message.receive + ALEWIFE.processor.interrupt
    assert cycles(end - start) == pytest.approx(20_000 + 8 * each, abs=1e-2)


def test_the_program_sees_what_handlers_have_changed_until_then() -> None:
    def program(proc: smp.Processor) -> list[int]:
        numbers: list[int] = []

        def handle(message: smp.Message, number: int) -> None:
            proc.work(cycles=BODY)
            numbers.append(number)  # at the end of the handler

        note = proc.handler(handle)
        proc.barrier()
        seen = []
        for k in range(4):
            if proc.rank == 0:
                proc.work(cycles=1000)  # a handler takes a little longer
                seen.append(len(numbers))
            else:
                proc.send(0, note, k)
        return seen

    with smp.emulated(2, machine=APART, fidelity="latency") as machine:
        assert machine.run(program).results[0] == [0, 1, 2, 3]


def test_a_program_that_waits_goes_on_when_the_handler_has_ended() -> None:
    def program(proc: smp.Processor) -> tuple[float, float]:
        ended: list[float] = []

        def handle(message: smp.Message) -> None:
            proc.work(cycles=BODY)
            ended.append(proc.clock())

        note = proc.handler(handle)
        if proc.rank == 0:
            proc.wait_until(lambda: ended)
            return ended[0], proc.clock()
        proc.work(cycles=500)
        proc.send(0, note)
        return 0.0, 0.0

    with smp.emulated(2, machine=APART, fidelity="latency") as machine:
        ended, went_on = machine.run(program).results[0]
    assert went_on == ended


def test_a_message_that_comes_before_its_handler_is_registered_is_handled_then() -> None:
    def program(proc: smp.Processor) -> tuple[float, list[float]]:
        came: list[float] = []
        if proc.rank == 0:
            proc.work(cycles=3000)
        note = proc.handler(lambda message: came.append(proc.clock()))
        registered = proc.clock()
        if proc.rank:
            proc.send(0, note)
        proc.work(cycles=3000)
        return registered, came

    with smp.emulated(2, machine=APART, fidelity="latency") as machine:
        registered, came = machine.run(program).results[0]
    assert registered < came[0] < registered + 100 / APART.clock.hz


def test_a_program_may_send_while_a_handler_runs_but_the_handler_may_not() -> None:
    def program(proc: smp.Processor, bad: bool) -> int:
        came: list[int] = []

        def handle(message: smp.Message) -> None:
            proc.work(cycles=BODY)
            if bad:
                proc.send(0, note)
            came.append(message.source)

        note = proc.handler(handle)
        for _ in range(3):
            proc.send(1 - proc.rank, note)
            proc.work(cycles=300)
        proc.quiet()
        return len(came)

    with smp.emulated(2, machine=APART, fidelity="latency") as machine:
        assert machine.run(program, False).results == [3, 3]
        with pytest.raises(smp.errors.ProcessorRaised, match=r"HandlerError: the handler .* called proc.send"):
            machine.run(program, True)


def test_owners_serve_copies_while_their_programs_run() -> None:
    def debts(file: machines.MachineFile) -> list[int]:
        copies = Copies(2, Software.of(file), Times(file, 2))
        with smp.emulated(2, machine=file, fidelity="latency") as machine:
            copies.read(1, machine.zeros(100), slice(0, 50), 0)
        return copies.debts

    assert debts(APART) == [0, 0]
    assert debts(ALEWIFE)[0] > 0


def test_work_before_the_first_message_takes_its_place_in_time() -> None:
    """A processor that computes first, and then looks for messages, finds those that have come meanwhile."""

    def program(proc: smp.Processor) -> int:
        came: list[int] = []
        note = proc.handler(lambda message: came.append(1))
        if proc.rank:
            proc.send(0, note)
            return 0
        proc.work(cycles=10_000)
        return proc.poll()

    with smp.emulated(2, machine="cm5", fidelity="latency") as machine:
        assert machine.run(program).results[0] == 1
