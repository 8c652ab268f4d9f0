"""Packets are neither lost nor left behind, ratios are those of neighbours, MPI is optional, and the report says so."""

import itertools
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reports import cells, section_text
from support.shapes import NEWER, assert_same_keys, measured

import smp
from smp._runtime.protocols import rings
from smp._runtime.shared_memory.layout import SETS
from smp.errors import ProcessorRaised
from smp.microbench.method.plan import MODES, Plan
from smp.microbench.method.windows import NO_FLAG, WINDOW, Flag, per_operation
from smp.microbench.sections.messages import SECTION, bursts, probe, tasks
from smp.microbench.sections.messages.bursts import BLOCKS, VECTORS, Bursts, calls_of, sum_of
from smp.microbench.sections.messages.costs import Found, costs_of, over_mpi, ratios
from smp.microbench.sections.messages.loops import drain, flow, trips
from smp.microbench.sections.messages.mpi import NoMpiError, by_mpi
from smp.microbench.sections.messages.probe import BLOCK_WORDS, EFFORTS, OF_ALL, PAIR, Effort, stages_of
from smp.microbench.sections.messages.report import BY_MPI, OPERATIONS
from smp.microbench.sections.messages.rows import Messages
from smp.microbench.sections.messages.tasks import FEWEST_PAIRS, SHORT, Task, shared_of, visit, visits_of, windows_of
from smp.models.placement_log import PlacementLog


@pytest.fixture(scope="module")
def machine() -> Any:
    with smp.host(2) as opened:
        yield opened


# --- the loops


def nets_of(proc: smp.Processor, words: smp.GlobalArray) -> Any:
    nets = np.zeros((2, rings.private_words(2)), np.int64)
    for k, net in enumerate(nets):
        rings.prepare(net, words.view[k * rings.ring_words(2, 64) :].ctypes.data, proc.rank, 2, 64)
    return nets


def ring_words(machine: smp.Machine) -> smp.GlobalArray:
    return machine.zeros(2 * rings.ring_words(2, 64), np.int64)


def sending(proc: smp.Processor, words: smp.GlobalArray) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    left, right = nets_of(proc, words)
    span, none = np.zeros((4, 4), np.int64), np.zeros(4, np.int64)
    there = trips(left, proc.sync, proc.rank, 70, span[0])
    one_way = flow(left, proc.sync, 0, *((500, 0) if proc.rank else (0, 500)), span[1])
    both = flow(left, proc.sync, 1 - proc.rank, 300, 300, span[2])
    found = []
    for _ in range(3):  # more than a ring holds, if the credit of what was taken were held back
        if proc.rank:
            for net in (left, right):
                flow(net, proc.sync, 0, 50, 0, none)
        proc.barrier()
        if not proc.rank:
            found += [drain(left, right, 2, span[3]), drain(left, right, 2, none)]
        proc.barrier()
    assert (span[:3, 1] > span[:3, 0]).all()
    return [there, one_way, both], span[:, 3].tolist(), found


def test_loops_pass_on_every_packet(machine: smp.Machine) -> None:
    words = sum(k + i for k in range(300) for i in range(4))
    assert words == sum_of(300)
    first, second = machine.run(sending, ring_words(machine)).results
    assert first == ([sum(4 * k for k in range(70)), sum_of(500), words], [70, 500, 300, 4], first[2])
    assert second == ([sum(4 * k for k in range(70)), 0, words], [70, 500, 300, 0], [])
    assert first[2] == [(100, 2 * sum_of(50)), (0, 0)] * 3


@pytest.mark.parametrize("loop", ["trips", "flow"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_loop_ends_when_the_partner_fails(machine: smp.Machine, loop: str, rank: int) -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> None:
        left, _ = nets_of(proc, words)
        if proc.rank == rank:
            raise RuntimeError("gone")
        if loop == "trips":
            trips(left, proc.sync, proc.rank, 10, np.zeros(4, np.int64))
        else:  # the ring is full, and nothing comes
            flow(left, proc.sync, rank, 1000, 1, np.zeros(4, np.int64))

    machine.run(sending, ring_words(machine))  # compiles the loops: a processor that still does so is killed
    with pytest.raises(ProcessorRaised, match="gone"):
        machine.run(program, ring_words(machine))
    assert machine.run(lambda proc: proc.rank).results == [0, 1], "no processor had to be killed"


# --- bursts and visits

EVERY = [Task(what) for what in PAIR] + [Task("poll", senders) for senders in (1, 2, 64)]
EVERY += [Task(what, words) for what in (*VECTORS, *BLOCKS) for words in (8, 2000)]
COUNTS = {"trip": 300, "one way": 4000, "both ways": 4000, "receive": 100, "poll": 2000, "compiled barrier": 300}
COUNTS |= {"request": 30, "message": 500, "barrier": 30, "any": 30}
"""Operations of a burst."""


@pytest.mark.parametrize("task", EVERY, ids=lambda task: f"{task.what} {task.size or ''}".strip())
def test_a_visit_has_pairs_of_an_operation_and_its_floor(machine: smp.Machine, task: Task) -> None:
    operation, floor = visit(machine, shared_of(machine, 2), [task], 0.005, 20.0, 3)[task]
    assert len(operation) == len(floor) >= 2
    for windows in (operation, floor):
        assert windows.dtype == WINDOW
        assert set(windows["round"].tolist()) == {3}
        assert set(windows["rank"].tolist()) == {0}
        assert len(set(windows["operations"].tolist())) == 1
    assert operation["operations"][0] == COUNTS.get(task.what, (task.size and calls_of(task.what, task.size)))
    assert (floor["wall_ns"] > 0).all()


def test_tasks_of_one_visit_do_not_disturb_each_other(machine: smp.Machine) -> None:
    long = [Task(what, words) for words in (1001, 20_000, 2000) for what in VECTORS]
    for _ in range(5):
        found = visit(machine, shared_of(machine, 2), long, 0.001, 20.0, 0)
        assert list(found) == long
        assert all(len(operation) == len(floor) >= 2 for operation, floor in found.values())


@pytest.mark.parametrize("words", [8, *BLOCK_WORDS])
def test_a_burst_of_blocks_sends_as_many_as_it_counts(machine: smp.Machine, words: int) -> None:
    """The last expectation is fulfilled by the blocks of the other processor, and no element is left over."""

    def program(proc: smp.Processor, rings: Any, what: str) -> tuple[int, int, list[int]]:
        span = np.zeros(4, np.int64)
        Bursts(proc, np.zeros(0, np.int64), rings.view, words)(what)(span)
        (port,) = proc._ports.known
        proc.quiet()
        return int(span[3]), int(port.data.sum()), [port._missing, port.done]

    for what in BLOCKS:
        rings = ring_words(machine)
        first, second = machine.run(program, rings, what).results
        count = calls_of(what, words)
        assert first == (count, words, [0, True])
        assert second == ((count, words, [0, True]) if what == "block both ways" else (count, 0, [0, False]))


def test_long_vectors_are_visited_together_and_blocks_too() -> None:
    visits = visits_of(EVERY)
    assert sorted(str(task) for tasks in visits for task in tasks) == sorted(map(str, EVERY))
    blocks = tuple(Task(what, words) for what in BLOCKS for words in (8, 2000))
    assert [tasks for tasks in visits if len(tasks) > 1] == [tuple(Task(what, 2000) for what in VECTORS), blocks]
    assert visits_of([Task("any")]) == [(Task("any"),)]


def test_vectors_have_a_barrier_or_a_copy_as_floor() -> None:
    for what in VECTORS:
        assert [Task(what, words).floor for words in (1, SHORT, SHORT + 1)] == ["barrier", "barrier", "copy"]
    assert {Task(what, words).floor for what in BLOCKS for words in (8, 2000)} == {"copy"}
    assert Task("poll", SHORT + 1).floor == "addition"
    ignored = {task.what: task.ignored for task in EVERY if task.size != 8}
    asleep = {what for what, flags in ignored.items() if flags}
    assert asleep == {"message", *VECTORS, *BLOCKS}, "a wait for room, and one for a long vector, may sleep"


class Still:
    """A processor that waits for no other one."""

    rank, size, sync = 0, 2, np.zeros(8, np.int64)

    def barrier(self) -> None:
        """Go on."""


def still_bursts() -> Bursts:
    return Bursts(Still(), np.zeros(64, np.int64), np.zeros(2 * rings.ring_words(2, 64), np.int64), 0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("task", "left_out"), [(Task("any"), 1), (Task("reduce", 2000), 1), (Task("broadcast", 8), 1)])
def test_the_first_pair_is_left_out(monkeypatch: pytest.MonkeyPatch, task: Task, left_out: int) -> None:
    check_left_out(monkeypatch, task, left_out)


def test_each_buffer_of_a_long_broadcast_has_been_used_before(monkeypatch: pytest.MonkeyPatch) -> None:
    check_left_out(monkeypatch, Task("broadcast", 2000), SETS + 1)


def check_left_out(monkeypatch: pytest.MonkeyPatch, task: Task, left_out: int) -> None:
    """Bursts are numbered in the order in which they are taken."""
    numbers = itertools.count()

    def numbering(*about: Any) -> Any:
        return lambda what: lambda stamp: stamp.fill(next(numbers))

    monkeypatch.setattr(tasks, "Bursts", numbering)
    words = SimpleNamespace(view=np.zeros(tasks.SHARED_WORDS, np.int64))
    operation, floor = tasks._pairs(Still(), tasks.Shared(words, words), task, 0.0)  # type: ignore[arg-type]
    assert floor[:, 0].tolist() == [2 * (left_out + k) for k in range(FEWEST_PAIRS)]
    assert operation[:, 3].tolist() == [2 * (left_out + k) + 1 for k in range(FEWEST_PAIRS)]


@pytest.mark.parametrize(("without", "expected"), [(400, 6.0), (0, 10.0), (1500, 0.0)])
def test_receiving_costs_the_difference_over_the_number_of_packets(
    monkeypatch: pytest.MonkeyPatch, without: int, expected: float
) -> None:
    """Polls with 100 packets take 1,000 ns."""
    answers = iter([(1000, (100, 2 * sum_of(50))), (without, (0, 0))])

    def polls(left: Any, right: Any, times: int, span: Any) -> tuple[int, int]:
        ns, found = next(answers)
        span[:] = 5000, 5000 + ns, ns, 2 * times
        return found

    monkeypatch.setattr(bursts, "drain", polls)
    stamp = np.zeros(4, np.int64)
    still_bursts()("receive")(stamp)
    assert (stamp[1] - stamp[0]) / stamp[3] == expected
    assert stamp[3] == 100


def test_a_lost_packet_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "drain", lambda left, right, times, span: (99, 2 * sum_of(50) - 40))
    with pytest.raises(ValueError, match="packets were lost"):
        still_bursts()("receive")(np.zeros(4, np.int64))


def test_only_processors_with_stamps_must_run_at_the_same_time() -> None:
    ran = np.array([[0, 1000, 1000, 10], [2000, 3000, 1000, 10]])
    late = np.array([[500, 1500, 1000, 10], [2000, 3000, 1000, 10]])
    waited = np.zeros((2, 4), np.int64)
    assert windows_of([ran, waited], 0.0, 1, 0)["flags"].tolist() == [0, 0]
    assert windows_of([ran, late], 0.0, 1, 0)["flags"].tolist() == [Flag.APART, 0]
    assert len(windows_of([ran, late], 0.0, 1, 0)) == 2, "of processor 0 alone"


# --- the statistics


def windows(ns: Any, turn: int = 0, flags: Any = 0) -> Any:
    made = np.zeros(len(ns), WINDOW)
    made["wall_ns"], made["operations"], made["round"], made["overlap"] = np.multiply(ns, 10), 10, turn, 1
    made["cpu_ns"], made["flags"] = made["wall_ns"], flags
    return made


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6), st.booleans()), min_size=1, max_size=20))
def test_ratios_are_those_of_neighbouring_bursts_that_are_both_clean(pairs: list[tuple[int, int, bool]]) -> None:
    one, other, clean = zip(*pairs, strict=True)
    flags = np.where(clean, 0, np.uint8(Flag.STOLEN))
    used = [pair for pair in pairs if pair[2]] or pairs
    expected = np.percentile([a / b for a, b, _ in used], (25, 50, 75))
    for here, there in ((flags, 0), (0, flags)):
        found = ratios(windows(one, flags=here), windows(other, flags=there), NO_FLAG)
        np.testing.assert_allclose([found["ratio_low"], found["ratio"], found["ratio_high"]], expected)
        assert found["pairs"] == len(used)
    everything = ratios(windows(one, flags=flags), windows(other), Flag.STOLEN)
    assert everything["pairs"] == len(pairs), "this flag is ignored"


def test_a_slow_time_of_the_computer_does_not_change_a_ratio() -> None:
    slow = np.array([1, 1, 5, 9, 9, 9])
    found = ratios(windows(30 * slow), windows(10 * slow), NO_FLAG)
    assert found == {"ratio": 3.0, "ratio_low": 3.0, "ratio_high": 3.0, "pairs": 6}


def test_a_ratio_to_mpi_is_that_of_one_round() -> None:
    visits = [windows([10, 20, 30], 0), windows([200], 1), windows([7], 2), windows([40], 3)]
    assert over_mpi(visits, []) is None
    assert over_mpi(visits, [windows([10], 0)]) == 2.0
    assert over_mpi(visits, [windows([10], 0), windows([50, 40, 60], 1), windows([80], 3)]) == 2.0


def test_costs_of_made_up_bursts() -> None:
    """The CPUs lie near each other in four rounds and far apart in two."""
    log, task = PlacementLog(), Task("reduce", 8)
    found, placed = Found([task]), [30.0, 31.0, 200.0, 199.0, 30.0, 31.0]
    for turn, ns in enumerate(placed):
        far = 5 if ns > 100 else 1
        for side, base in ((found.operations, 60 + turn), (found.floors, 20)):
            made = windows(np.array([base, base]) * far, turn)
            made["placed_before_ns"] = made["placed_after_ns"] = ns
            side[task].append(made)
        log.note(2, float(turn), [(ns, ns)])
    found.mpi[task].append(windows([30.5], 1))
    (row,), (operation, floor) = costs_of(2, found, 2.0, log)
    assert (row.what, row.words, row.senders, row.processors, row.floor) == ("reduce", 8, None, 2, "barrier")
    assert (row.ns, row.cycles, row.floor_ns) == (62.5, 125.0, 20.0)
    assert (row.ratio, row.pairs, row.windows) == (62.5 / 20, 8, 12)
    assert row.elsewhere_ns == [312.5]
    assert row.over_mpi == 2.0
    assert (operation.key, floor.key) == (("operation", "reduce", 2, 8), ("floor", "reduce", 2, 8))
    assert row.clean_fraction == pytest.approx(8 / 12)


# --- the plan


@pytest.mark.parametrize(
    ("counts", "cpus", "expected"),
    [
        ((1, 2), 2, [2]),
        ((1, 2, 4, 8), 8, [2, 8]),
        ((3,), 4, [2, 3]),
        ((1,), 4, [1]),
        ((2,), 1, [1]),
        ((1, 2, 4), 3, [2]),
    ],
)
def test_machines_have_two_processors_and_as_many_as_there_are_cpus_for(
    counts: tuple[int, ...], cpus: int, expected: list[int]
) -> None:
    stages = stages_of(counts, cpus, (1, 8))
    assert [stage.p for stage in stages] == expected
    single = [[task.what for task in stage.tasks if task.what not in VECTORS + BLOCKS] for stage in stages]
    if expected == [1]:
        assert [task for stage in stages for task in stage.tasks] == [Task("poll", 2), Task("poll", 64)]
        return
    senders = [task.size for task in stages[0].tasks if task.what == "poll"]
    assert senders == sorted({2, expected[-1], 64}), "of two, of all, and of many"
    assert set(single[0]) == {*PAIR, "poll"}
    assert single[1:] == [list(OF_ALL)] * (len(stages) - 1)
    blocks = [[task.size for task in stage.tasks if task.what == "block"] for stage in stages]
    pairs = [list(BLOCK_WORDS) if stage.p == 2 else [] for stage in stages]
    assert blocks == pairs, "blocks go between two processors"
    for stage in stages:
        sized = [task for task in stage.tasks if task.what in VECTORS]
        assert all(task.size >= stage.p for task in sized if task.what == "transpose"), "a word for each processor"
        assert {task.what for task in sized if task.size == 8} == set(VECTORS)


def test_the_budgets() -> None:
    quick, default, full = SECTION.seconds
    assert quick <= 3
    assert default <= 20
    for usual, mode in zip((quick, default, full), MODES, strict=True):
        assert EFFORTS[mode].seconds < usual
        assert EFFORTS[mode].mpi_rounds <= EFFORTS[mode].rounds


class Clock:
    """A clock that only visits advance."""

    def __init__(self, visit_s: float, mpi_s: float = 0.0) -> None:
        self.now, self.visit_s, self.mpi_s = 0.0, visit_s, mpi_s
        self.visits, self.by_mpi, self.fails_at = list[tuple[int, Task]](), list[int](), -1

    def monotonic(self) -> float:
        return self.now

    def visit(self, machine: Any, shared: Any, tasks: Any, seconds: float, timer_ns: float, turn: int) -> Any:
        self.now += self.visit_s * len(tasks)
        if seconds:
            self.visits += [(turn, task) for task in tasks]
        return {task: (windows([20.0, 22.0], turn), windows([10.0, 11.0], turn)) for task in tasks}

    def visit_by_mpi(self, tasks: list[Task], cpus: list[int], seconds: float, timer_ns: float, turn: int) -> Any:
        self.now += self.mpi_s
        if turn == self.fails_at:
            raise NoMpiError("mpiexec failed with status 1: out of slots")
        self.by_mpi.append(turn)
        return {task: windows([5.0, 5.5], turn) for task in tasks}, "MPICH 5.0.2"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Clock]]:
    def made(visit_s: float, mpi_s: float = 0.0) -> Clock:
        clock = Clock(visit_s, mpi_s)
        for name in ("visit", "visit_by_mpi"):
            monkeypatch.setattr(probe, name, getattr(clock, name))
        monkeypatch.setattr(probe, "time", clock)
        monkeypatch.setattr(probe, "shared_of", lambda machine, p: None)
        monkeypatch.setattr(probe, "mpiexec", lambda: "mpiexec")
        return clock

    return made


def test_rounds_go_on_until_the_time_is_over_and_mpi_takes_part_in_the_first(
    clock: Callable[..., Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks: list[float] = []
    made = clock(0.01, 0.3)
    monkeypatch.setitem(EFFORTS, "quick", Effort(10.0, (8, 2000), 6, 2))
    found = probe.measure(Plan("quick", (1, 2), 7, 64), lambda done, _: ticks.append(done)).data
    assert isinstance(found, Messages)
    turns = [turn for turn, _ in made.visits]
    every = stages_of((2,), 2, (8, 2000))[0].tasks
    assert made.by_mpi == [0, 1]
    assert 9.0 < made.now <= 10.0
    assert turns == sorted(turns)
    orders = [[task for turn, task in made.visits if turn == k] for k in range(turns[-1] + 1)]
    assert all(set(order) == set(every) and len(order) == len(every) for order in orders)
    assert len({tuple(order) for order in orders}) > 5, "in random order"
    assert ticks == sorted(ticks)
    assert ticks[-1] == 1.0
    assert (found.library, found.no_mpi, len(found.mpi)) == ("MPICH 5.0.2", "", len(by_mpi(every)))
    assert {row.over_mpi for row in found.rows if row.what in BY_MPI} == {4.0}
    assert {row.over_mpi for row in found.rows if row.what not in BY_MPI} == {None}


def test_there_are_three_rounds_however_long_they_take(clock: Callable[..., Clock]) -> None:
    made = clock(5.0)
    probe.measure(Plan("quick", (2,), 7, 64), lambda *_: None)
    assert {turn for turn, _ in made.visits} == {0, 1, 2}


def test_mpi_that_fails_is_left_out(clock: Callable[..., Clock]) -> None:
    made = clock(0.01)
    made.fails_at = 0
    found = probe.measure(Plan("default", (2,), 7, 64), lambda *_: None).data
    assert isinstance(found, Messages)
    assert made.by_mpi == []
    assert (found.mpi, found.no_mpi) == ([], "mpiexec failed with status 1: out of slots")
    text = section_text("messages", found.to_json(), 120)
    assert cells(text, "MPI Barrier") == [["2", "did not run"]]
    assert "MPI: mpiexec failed with status 1: out of slots" in text


# --- a real run


@pytest.fixture(scope="module")
def short() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EFFORTS, "quick", Effort(0.3, (8, 2000), 3, 1))
        patch.setattr(probe, "mpiexec", lambda: (_ for _ in ()).throw(NoMpiError("mpi4py is not installed")))
        yield probe.measure(Plan("quick", (1, 2), 7, 64), lambda *_: None)


def test_the_probe_measures_every_operation(short: Any) -> None:
    data = short.data.to_json()
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("messages"), NEWER)
    keys = [(row["what"], row.get("words") or row.get("senders") or 0) for row in data["rows"]]
    every = stages_of((1, 2), 2, (8, 2000))[0].tasks
    assert keys == [(task.what, task.size) for task in every]
    assert {row["what"] for row in data["rows"]} == set(OPERATIONS)
    assert (data["mpi"], data["library"], data["no_mpi"]) == ([], None, "mpi4py is not installed")
    for row in data["rows"]:
        assert 0 < row["minimum_ns"] <= row["ns"] <= row["p95_ns"]
        assert 0 < row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
        assert 1 <= row["pairs"] <= row["windows"]
    ns = {row["what"]: row["ns"] for row in data["rows"] if row.get("words") in (None, 2000)}
    assert ns["one way"] < ns["trip"] < ns["request"], "packets follow one another closely; Python takes its time"
    assert ns["compiled barrier"] < ns["barrier"]


def test_ratios_can_be_computed_again_from_the_samples(short: Any) -> None:
    samples, data = short.samples["messages"], short.data
    assert set(samples["side"].tolist()) == {"operation", "floor"}
    assert len(samples) == 2 * sum(row.windows for row in data.rows)
    for row in data.rows:
        size = row.words or row.senders or 0
        mine = samples[(samples["what"] == row.what) & (samples["size"] == size)]
        operation, floor = (mine[mine["side"] == side] for side in ("operation", "floor"))
        ignored = Task(row.what, size).ignored
        assert ratios(operation, floor, ignored)["ratio"] == row.ratio
        clean = operation[operation["flags"] & ~np.uint8(ignored) == 0]
        assert np.median(per_operation(clean if len(clean) else operation)) == pytest.approx(row.ns, rel=1e-12)
