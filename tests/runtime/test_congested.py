"""The network that congests: transmissions fail at the predicted times, to the nanosecond, and every packet arrives."""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.packet_loops import gather, histogram

import smp
from smp import EITHER, LEFT, RIGHT, Charges
from smp._runtime.program.messages.packets import encoded
from smp.compiled import clock, local
from smp.errors import DeadlockError, ProcessorRaised, WaitTimeout
from smp.kernels.messages.ring import pass_tokens

US = 1_000
TIMES = {"latency": 100 * US, "per_word": 10 * US, "timeout": 500 * US}
FREE = Charges(**dict.fromkeys(vars(Charges()), 0) | {"looped_byte": 0.1})  # only transmissions and loops take time
Opened = Callable[..., smp.Machine]


@pytest.fixture(scope="module")
def congested() -> Iterator[Opened]:
    """``congested(p)`` is a machine of p processors with a network of TIMES, shared by the tests of this module."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def opened(processors: int, charges: Charges | None = None, **times: int) -> smp.Machine:
            network = smp.networks.congested(**{**TIMES, **times})
            return stack.enter_context(smp.emulated(processors, schedule="clock", charges=charges, network=network))

        yield opened


def test_the_machine_file_of_the_ipsc_has_this_network() -> None:
    file = smp.machines.load("ipsc1")
    quick = file.replace("message.request", {"value": 3, "unit": "us"}).replace("interface.resend_after", 7_000)
    fine = quick.replace("network.link_bandwidth", [16e6])
    named = [
        (file, smp.networks.congested()),
        (fine, smp.networks.congested(latency=3_000, per_word=500, timeout=7_000)),
    ]
    for machine, network in named:
        with smp.emulated(8, machine=machine) as one, smp.emulated(8, schedule="clock", network=network) as other:
            runs = [each.run(pass_tokens, 4, load=20, words=8, seed=3) for each in (one, other)]
            assert runs[0].results == runs[1].results
            assert runs[0].network.tolist() == runs[1].network.tolist()
            assert runs[0].network["failures"].sum() > 0
            times = [each.run(lambda proc: (pass_tokens(proc, 3), proc.clock())[1]).results for each in (one, other)]
            assert times[0] == times[1]


def test_packets_collide_only_at_an_input_queue_of_one_packet() -> None:
    with pytest.raises(smp.errors.MachineFileError, match=r"interface.in_fifo is 2 packets; .* must be 1 packet"):
        smp.machines.load("ipsc1").replace("interface.in_fifo", 2)


@local
def touch(octets: Any) -> None:
    pass


def compute(ns: int) -> None:
    """Let virtual time pass."""
    touch(np.empty(10 * ns, np.uint8))


def until(ns: int) -> None:
    """Compute until a time after the barrier at the beginning of a run, which takes no time under FREE."""
    compute(ns - int(clock()))


def counts(run: smp.Run) -> list[tuple[int, int]]:
    """Return the attempts and failures of each processor."""
    return [(int(row["attempts"]), int(row["failures"])) for row in run.network]


def at(times: list[int], *words: int, on: Any = LEFT) -> Callable[..., Any]:
    """Return a program in which every other processor sends processor 0 one message, at its time in ``times``.

    A message has as many words as ``words`` gives for its sender, by default 1.  The program returns when its own part
    is done.
    """

    def program(proc: smp.Processor) -> int:
        came: list[int] = []
        take = proc.handler(lambda message, *numbers: came.append(len(numbers)))
        proc.barrier()
        began = clock()
        if proc.rank == 0:
            proc.wait_until(lambda: len(came) == proc.size - 1)
        else:
            compute(times[proc.rank - 1])
            proc.send(0, take, *range(words[proc.rank - 1] if words else 1), on=on)
        return int(clock() - began)

    return program


@pytest.mark.parametrize("words", [0, 1, 7])
def test_a_transmission_takes_its_latency_and_its_words(congested: Opened, words: int) -> None:
    run = congested(2, FREE).run(at([0], words))
    assert run.results == [(100 + 10 * words) * US] * 2
    assert counts(run) == [(0, 0), (1, 0)]


@pytest.mark.parametrize("nbytes", [0, 300, 2_000])
def test_a_pickle_is_one_transmission(congested: Opened, nbytes: int) -> None:
    def program(proc: smp.Processor) -> int:
        came: list[bytes] = []
        take = proc.handler(lambda message, data: came.append(data))
        proc.barrier()
        began = clock()
        if proc.rank:
            proc.send(0, take, b"x" * nbytes)
        else:
            proc.wait_until(lambda: came)
            assert came == [b"x" * nbytes]
        return int(clock() - began)

    words = len(encoded((b"x" * nbytes,))[1]) // 8
    assert words > nbytes // 8
    run = congested(2, FREE).run(program)
    assert run.results == [(100 + 10 * words) * US] * 2
    assert counts(run) == [(0, 0), (1, 0)]


def test_of_two_simultaneous_senders_the_first_succeeds_and_the_second_retries(congested: Opened) -> None:
    run = congested(3, FREE).run(at([0, 50 * US]))
    again = 50 * US + 110 * US + 500 * US
    assert run.results == [again + 110 * US, 110 * US, again + 110 * US]
    assert counts(run) == [(0, 0), (1, 0), (2, 1)]


def test_with_other_charges_the_same_transmissions_fail_and_sleeps_add_little(congested: Opened) -> None:
    """Processor 1 finds processor 0 asleep, so it pays a wake-up; processor 2 sleeps until its time-out has passed."""
    run = congested(3).run(at([0, 50 * US]))
    assert counts(run) == [(0, 0), (1, 0), (2, 1)]
    times = [110 * US + 660 * US, 110 * US, 770 * US]
    assert all(0 < found - least < 8 * US for found, least in zip(run.results, times, strict=True))


def test_a_failing_transmission_occupies_the_input_as_well(congested: Opened) -> None:
    """The third transmission begins long after the first packet was taken out of the buffer.

    It fails because the second, failing one still occupies the input, until 200 us.  When it tries again, the second
    is coming through.
    """
    assert counts(congested(4, FREE).run(at([0, 90 * US, 150 * US])))[1:] == [(1, 0), (2, 1), (3, 2)]
    assert counts(congested(4, FREE).run(at([0, 90 * US, 199 * US])))[1:] == [(1, 0), (2, 1), (3, 2)]
    assert counts(congested(4, FREE).run(at([0, 90 * US, 200 * US])))[1:] == [(1, 0), (2, 1), (1, 0)]


def test_the_failing_transmission_that_ends_last_decides_when_the_input_is_free(congested: Opened) -> None:
    """The second occupies the input until 260 us, the third only until 250 us; the fourth begins about then."""
    for last, fails in ((255, True), (260, False)):
        run = congested(5, FREE).run(at([0, 90 * US, 150 * US, last * US], 0, 7, 0, 0))
        assert [failures > 0 for _, failures in counts(run)[1:]] == [False, True, True, fails]


@pytest.mark.parametrize("busy", [0, 200, 900, 2_500])
def test_the_buffer_stays_full_while_its_processor_computes(congested: Opened, busy: int) -> None:
    """Attempts begin every 600 us, from 100 us on, and fail if they begin before the processor has computed.

    The first of them always fails: it begins before the preceding message has woken the processor.
    """

    def program(proc: smp.Processor) -> None:
        came: list[int] = []
        take = proc.handler(lambda message, k: came.append(k))
        proc.barrier()
        if proc.rank == 0:
            compute(busy * US)
            proc.wait_until(lambda: len(came) == 2)
            assert came == [1, 2]
        else:
            proc.send(0, take, 1, on=LEFT)
            proc.send(0, take, 2, on=LEFT)

    run = congested(2, per_word=0).run(program)
    failures = max(1, math.ceil((busy - 100) / 600))
    assert counts(run) == [(0, 0), (2 + failures, failures)]


def test_left_and_right_are_different_inputs(congested: Opened) -> None:
    """Processor 0 computes for 1 ms; of three messages on either network, the third fails on both, once or twice."""

    def program(proc: smp.Processor, messages: list[Any]) -> int:
        came: list[int] = []
        take = proc.handler(lambda message: came.append(message.source))
        if proc.rank == 0:
            compute(1_000 * US)
            proc.wait_until(lambda: len(came) == len(messages))
        else:
            for on in messages:
                proc.send(0, take, on=on)
        return int(clock())

    machine = congested(2, FREE)
    assert counts(machine.run(program, [LEFT, RIGHT]))[1] == (2, 0)
    assert counts(machine.run(program, [EITHER, EITHER]))[1] == (2, 0)
    assert counts(machine.run(program, [LEFT, LEFT]))[1] == (4, 2)  # at 100, 700 and 1,300 us, after the first
    run = machine.run(program, [EITHER] * 3)  # from 200 us on LEFT, 300 on RIGHT, 800 on LEFT, 900 on RIGHT, 1,400
    assert counts(run)[1] == (7, 4)
    assert run.results[1] == 1_500 * US


def test_a_processor_takes_packets_while_it_waits_for_its_own_time_out(congested: Opened) -> None:
    """Two processors send to each other twice before either waits, so each has the other's packet in its buffer."""

    def program(proc: smp.Processor) -> list[int]:
        came: list[int] = []
        take = proc.handler(lambda message, k: came.append(k))
        for k in range(5):
            proc.send(1 - proc.rank, take, k, on=RIGHT)
        proc.wait_until(lambda: len(came) == 5)
        return came

    run = congested(2).run(program)
    assert run.results == [[0, 1, 2, 3, 4]] * 2
    assert all(failures >= 4 and attempts == 5 + failures for attempts, failures in counts(run))


def test_a_time_out_counts_as_no_room(congested: Opened) -> None:
    """A try in a time-out transmits nothing and takes no time; a time-out is of one sender and one input."""

    def program(proc: smp.Processor) -> list[Any]:
        came: list[int] = []
        take = proc.handler(lambda message: came.append(message.source))
        found: list[Any] = []

        def tried(to: int = 0, on: Any = LEFT) -> None:
            began = clock()
            sent = proc.try_send(to, take, on=on)
            room = smp.compiled.room(proc.net, on, to)
            found.append((int(clock() - began) // US, sent, room, *(proc.transmissions or ())))

        if proc.rank == 0:
            until(250 * US)
            proc.wait_until(lambda: len(came) == 2)
        elif proc.rank == 1:
            tried()  # arrives
            tried()  # fails until 200 us, and its time-out passes at 700 us
            tried()
            tried(on=RIGHT)  # until 300 us
            tried(to=2)  # until 400 us
            until(699 * US)
            tried()
            until(700 * US)
            found.append(smp.compiled.room(proc.net, LEFT, 0))
            tried()
        else:
            proc.wait_until(lambda: came)
        return found

    taking, waiting = (100, True, 1), (0, False, 0)
    assert congested(3, FREE).run(program).results[1] == [
        (*taking, 1, 0),
        (100, False, 0, 2, 1),
        (*waiting, 2, 1),
        (*taking, 3, 1),
        (*taking, 4, 1),
        (*waiting, 4, 1),
        1,
        (*taking, 5, 1),
    ]


def test_a_message_ends_a_wait_for_room_and_a_time_out_does_not_end_with_it(congested: Opened) -> None:
    """The handler of a message that comes at 350 us runs then, in the time-out, which passes at 700 us."""

    def program(proc: smp.Processor) -> list[int]:
        came: list[int] = []
        take = proc.handler(lambda message: came.append(int(clock())))
        if proc.rank == 0:
            until(650 * US)
            proc.wait_until(lambda: len(came) == 2)
        elif proc.rank == 1:
            proc.send(0, take, on=LEFT)
            proc.send(0, take, on=LEFT)
        else:
            until(250 * US)
            proc.send(1, take, on=LEFT)
        return came

    results = congested(3, FREE).run(program).results
    assert results == [[650 * US, 800 * US], [350 * US], []]


Plan = list[list[tuple[int, int, int, int]]]


def exchanged(proc: smp.Processor, plan: Plan) -> tuple[list[Any], Any]:
    """Send this processor's part of a plan, (to, network, words, pause before it); return what has come, and when."""
    came: list[tuple[int, ...]] = []
    take = proc.handler(lambda message, *words: came.append((message.source, *words)))
    ask = proc.handler(lambda message, *words: message.reply(take, *words), replies=True)
    for k, (to, network, words, pause) in enumerate(plan[proc.rank]):
        compute(pause * US)
        if network:
            proc.send(to % proc.size, take, network, k, *range(words), on=LEFT if network == 1 else RIGHT)
        else:
            proc.request(to % proc.size, ask, network, k, *range(words))
    proc.quiet()
    return came, (int(clock()), proc.transmissions)


plans = st.lists(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 5), st.integers(0, 300)), min_size=1, max_size=4
    ),
    min_size=5,
    max_size=5,
)


@pytest.mark.parametrize("processors", [1, 2, 3, 5])
@settings(max_examples=15, deadline=None)
@given(plan=plans)
def test_every_message_arrives_once_and_in_order_and_no_transmission_is_lost(
    congested: Opened, processors: int, plan: Plan
) -> None:
    run = congested(processors).run(exchanged, plan)
    expected: dict[tuple[int, int, int], list[tuple[int, ...]]] = {}  # by receiver, network and sender; 0 for replies
    posted = [0] * processors
    for sender, messages in enumerate(plan[:processors]):
        for k, (to, network, words, _) in enumerate(messages):
            other = to % processors
            source, receiver = (sender, other) if network else (other, sender)
            expected.setdefault((receiver, network, source), []).append((source, network, k, *range(words)))
            posted[sender] += 1
            posted[other] += network == 0
    found: dict[tuple[int, int, int], list[tuple[int, ...]]] = {}
    for rank, (came, _) in enumerate(run.results):
        for one in came:
            found.setdefault((rank, one[1], one[0]), []).append(one)
    assert {key: sorted(some) for key, some in found.items()} == {key: sorted(some) for key, some in expected.items()}
    assert all(some == expected[key] for key, some in found.items() if key[1])  # replies may overtake each other
    assert [attempts - failures for attempts, failures in counts(run)] == posted
    assert counts(run) == [transmissions for _, (_, transmissions) in run.results]


def test_a_run_is_the_same_in_every_repeat(congested: Opened) -> None:
    draw = np.random.default_rng(3).integers(0, (5, 3, 6, 50), (5, 12, 4)).tolist()
    first, second = (congested(5).run(exchanged, draw) for _ in range(2))
    assert first.results == second.results
    assert counts(first) == counts(second)
    assert sum(failures for _, failures in counts(first)) > 10


def test_loops_send_through_the_same_inputs(congested: Opened) -> None:
    """Packets of loops have four words: a histogram and a gather against NumPy, next to handlers."""

    def program(proc: smp.Processor) -> tuple[Any, bool]:
        came: list[int] = []
        take = proc.handler(lambda message: came.append(message.source))
        found, ends = np.zeros(4, np.int64), np.zeros(proc.size, np.int64)
        histogram(proc.net, proc.rank, proc.size, np.arange(proc.rank, 10), found, ends)
        proc.quiet()
        out, table = np.zeros(5, np.int64), np.arange(proc.rank, 12, proc.size) ** 2
        gather(proc.net, proc.rank, proc.size, np.arange(5) * 2 + proc.rank, table, out)
        proc.send((proc.rank + 1) % proc.size, take)
        proc.wait_until(lambda: came)
        return found.tolist(), out.tolist() == ((np.arange(5) * 2 + proc.rank) ** 2).tolist()

    run = congested(3).run(program)
    number = np.minimum(np.arange(10) + 1, 3)  # of the processors that count each key
    expected = [[*number[rank::3].tolist(), *[0] * (4 - len(number[rank::3]))] for rank in range(3)]
    assert run.results == [(one, True) for one in expected]
    keys, answers, other = [10 + 3, 9 + 3, 8 + 3], [5 + 3] * 3, 1  # with those that end a loop
    replies = [sum(k % 3 == rank for start in range(3) for k in range(start, start + 10, 2)) for rank in range(3)]
    posted = [a + b + c + other for a, b, c in zip(keys, answers, replies, strict=True)]
    assert [attempts - failures for attempts, failures in counts(run)] == posted
    assert all(failures > 0 for _, failures in counts(run))


@pytest.mark.parametrize("timeout", [500 * US, 0])
def test_a_failure_ends_the_wait_of_every_other_processor(congested: Opened, timeout: int) -> None:
    """Processors 2 and 3 try again and again to send to processor 0, which computes, and then fails."""

    def program(proc: smp.Processor) -> None:
        take = proc.handler(lambda message: None)
        if proc.rank == 0:
            compute(2_000 * US)
            raise LookupError("here")
        if proc.rank == 1:
            proc.wait_until(lambda: False)
        while True:
            proc.send(0, take)

    machine = congested(4, timeout=timeout)
    with pytest.raises(ProcessorRaised, match="here"):
        machine.run(program)
    assert machine.run(at([0, 0, 0])).network["attempts"].tolist()[1] == 1  # all stopped by themselves


def test_waiting_for_a_message_that_is_never_sent_is_a_deadlock(congested: Opened) -> None:
    def program(proc: smp.Processor) -> None:
        came: list[int] = []
        take = proc.handler(lambda message: came.append(message.source))
        if proc.rank:
            for _ in range(3):
                proc.send(0, take, on=LEFT)
        proc.wait_until(lambda: len(came) > 3)

    with pytest.raises(DeadlockError, match="all 2 streams wait"):
        congested(2).run(program)


@pytest.mark.parametrize(("seconds", "expires"), [(200e-6, True), (2_000e-6, False)])
def test_a_time_limit_of_the_program_may_come_before_the_time_out(
    congested: Opened, seconds: float, expires: bool
) -> None:
    """The packet behind the second block fails until 200 us, and its time-out passes at 700 us."""

    def program(proc: smp.Processor) -> Any:
        port = proc.port(2, np.int64)
        if proc.rank == 0:
            until(400 * US)
            port.expect(2)
            port.wait()
            proc.quiet()
            return port.data.tolist()
        for k in range(2):
            proc.start_block(0, port, np.array([k + 1]), k)
        if expires:
            with pytest.raises(WaitTimeout, match="1 blocks are still queued"):
                proc.quiet(timeout=seconds)
            assert int(clock()) == pytest.approx(200 * US + seconds * 1e9, abs=1)
        proc.quiet(timeout=None if expires else seconds)
        return int(clock())

    received, ended = congested(2, FREE, per_word=0).run(program).results
    assert received == [1, 2]
    assert ended == 800 * US


def test_a_time_out_that_passes_while_a_sleep_begins_is_no_time_limit(congested: Opened) -> None:
    """Each look at the clock takes longer than the time-out, so it has passed before the sender could sleep."""

    def program(proc: smp.Processor) -> Any:
        port = proc.port(2, np.int64)
        if proc.rank == 0:
            compute(2_000 * US)
            port.expect(2)
            port.wait()
        else:
            for k in range(2):
                proc.start_block(0, port, np.array([k + 1]), k)
        proc.quiet()
        return port.data.tolist()

    assert congested(2, Charges(clock=600 * US)).run(program).results[0] == [1, 2]


def test_a_processor_that_takes_a_packet_wakes_no_sender(congested: Opened) -> None:
    """The sender sleeps, but not for room.  A wake-up would cost the receiver `Charges.futex_wake`."""

    def program(proc: smp.Processor) -> int:
        came: list[int] = []
        take = proc.handler(lambda message: came.append(message.source))
        proc.barrier()
        if proc.rank:
            proc.send(0, take)
            proc.wait_until(lambda: came)
            return 0
        compute(500 * US)
        began = clock()
        assert proc.poll() == 1
        took = clock() - began
        proc.send(1, take)
        return int(took)

    assert 0 < congested(2).run(program).results[0] < Charges().futex_wake


def test_networks_that_do_not_congest_count_nothing() -> None:
    def program(proc: smp.Processor) -> Any:
        take = proc.handler(lambda message: None)
        proc.send(0, take)
        return proc.transmissions

    for opened in (smp.host, smp.emulated):
        with opened(2) as machine:
            run = machine.run(program)
            assert run.results == [None, None]
            assert run.network.shape == (0,)


def test_a_run_has_the_counts_of_each_repeat(congested: Opened) -> None:
    def program(proc: smp.Processor) -> None:
        take = proc.handler(lambda message: None)
        if proc.rank == 2:
            proc.send(0, take)

    run = congested(3).run(program, repeat=2)
    assert run.network.dtype.names == ("rank", "attempts", "failures")
    assert [repeat.network.tolist() for repeat in run.repeats] == [[(0, 0, 0), (1, 0, 0), (2, 1, 0)]] * 2
    assert congested(3).run(lambda proc: proc.rank).network.shape == (0,)
    looked = congested(3).run(lambda proc: proc.rank == 1 and repr(proc.net))
    assert looked.network.tolist() == [(0, 0, 0), (1, 0, 0), (2, 0, 0)]
    asked = congested(3).run(lambda proc: proc.transmissions and tuple(proc.transmissions))
    assert asked.results == [(0, 0)] * 3


def test_a_schedule_that_does_not_follow_virtual_time_is_refused() -> None:
    network = smp.networks.congested()
    says = r"smp.networks.congested\(latency=20000, per_word=1000, timeout=400000\) take virtual time, .*clock.*ideal"
    schedules: list[Any] = ["seeded", [], (0, 1)]
    for schedule in schedules:
        with pytest.raises(ValueError, match=says):
            smp.emulated(2, schedule=schedule, network=network)
    with pytest.raises(ValueError, match=says):
        smp.explore(lambda proc: None, 2, network=network)
    with pytest.raises(ValueError, match=says):
        smp.replay((), lambda proc: None, 2, network=network)
    with pytest.raises(TypeError, match=r"network must be a network of smp\.networks"):
        smp.emulated(2, schedule="clock", network=smp.networks.congested)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["latency", "per_word", "timeout"])
def test_invalid_times_are_refused(name: str) -> None:
    for wrong in (-1, True):
        with pytest.raises(ValueError, match=f"{name} must be a number of ns, 0 or more, not {wrong}"):
            smp.networks.congested(**{name: wrong})
    with pytest.raises(TypeError):
        smp.networks.congested(**{name: 1.5})  # type: ignore[arg-type]
    assert getattr(smp.networks.congested(**{name: 0}), name) == 0
