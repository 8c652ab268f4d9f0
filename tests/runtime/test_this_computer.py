"""This computer with another number of processors: what its parts take, from a profile with round numbers."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp._runtime.emulated.this_computer.memory import SharedMemory
from smp._runtime.emulated.this_computer.recorded import Recorded
from smp._runtime.emulated.this_computer.stopwatch import TRIALS, Stopwatch
from smp._runtime.loops.atomics import fetch_add, load
from smp.errors import ProfileError
from smp.profiles import Profile, ThisComputer

MICRO, NANO, PICO = 1e-6, 1e-9, 1e-12
WORDS = 100_000
"""Words of an array that no cache holds."""


def document() -> dict[str, Any]:
    """Return a profile of 2 CPUs: a word takes 1 ns alone, 2 ns if both copy, and 10 times as long if scattered."""
    functions = [
        {"family": family, "p": p, "name": "HM", "set": "all", "fit_suite": 1}
        | {"terms": ["L", "gM"], "coefficients": [0.0, price * NANO]}
        for family, price in (("good", 1.0), ("bad", 10.0), ("random", 10.0))
        for p in (1, 2)
    ]
    tiers = [{"name": "L2", "words": 1000, "shared": False}, {"name": "beyond", "words": None, "shared": True}]
    copies = [{"kernel": "copy", "processors": p, "GBps": rate, "valid": True} for p, rate in ((1, 8.0), (2, 12.0))]
    return {
        "format": "smp-profile",
        "version": 1,
        "created": "2026-01-01T00:00:00+00:00",
        "machine": {"cpu": "round", "cpus": 2, "clock_GHz": 1.0, "line_bytes": 64, "caches": [], "kind": "host"},
        "access": {
            "word_bytes": 8,
            "tiers": tiers,
            "private_words": 1000,
            "functions": functions,
            "validation": [],
            "overhead_s": {"1": [0.0, 0.0], "2": [0.0, 0.0]},
        },
        "bandwidth": {"stream": copies},
        "latency": {"random": [{"bytes": 4096, "ns": 1.0}], "timer_ns": 20.0},
        "retries": {"look_ns": 10.0, "rows": []},
        "synchronisation": {
            "fetch_add_ns": {"alone": 5.0, "contended": {"2": 50.0}},
            "handoff_exchange_ns": 100.0,
            "barrier_us": {"1": {"compiled": 0.1, "python": 1.0}, "2": {"compiled": 0.3, "python": 2.0}},
            "superstep_us": {"1": 9.0, "2": 12.0},
        },
        "threads": {"parts": [{"what": "wake", "ns": 2000.0}], "whole": {"ns": 12_000.0}, "rows": []},
    }


def computer(bounds: str = "optimistic", python: bool = False, **changed: Any) -> ThisComputer:
    return ThisComputer(Profile(document() | changed), bounds, python)


def run(p: int, program: Callable[..., Any], *args: Any, of: ThisComputer | None = None, **options: Any) -> smp.Run:
    with smp.emulated(p, machine=of or computer(), **options) as machine:
        shared = [machine.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
        return machine.run(program, *shared)


def barriers(proc: smp.Processor) -> float:
    proc.barrier()
    start = proc.clock()
    for _ in range(10):
        proc.barrier()
    return (proc.clock() - start) / 10


@pytest.mark.parametrize(
    ("p", "bounds", "us"),
    [
        (1, "optimistic", 1.0),
        (2, "optimistic", 2.0),
        (2, "pessimistic", 2.0),
        (64, "optimistic", 2.0 + 62 * 0.1),
        (64, "pessimistic", 2.0 + 62 * 0.2),
    ],
)
def test_a_barrier_takes_the_measured_time_and_a_hand_over_for_each_further_processor(
    p: int, bounds: str, us: float
) -> None:
    assert run(p, barriers, of=computer(bounds)).results == pytest.approx([us * MICRO] * p)


@pytest.mark.parametrize(("bounds", "ns"), [("optimistic", 1.0), ("pessimistic", 10.0)])
@pytest.mark.parametrize(("dtype", "words"), [("<f8", 1.0), ("<f4", 0.5)])
def test_a_loop_over_a_global_array_takes_longer_by_one_of_two_bounds(
    bounds: str, ns: float, dtype: str, words: float
) -> None:
    """If both processors copy, a word takes 1 ns longer in order, and 10 ns longer in any order."""
    with smp.emulated(2, machine=computer(bounds)) as machine:
        array = machine.array(np.zeros(WORDS, dtype))
        memory = SharedMemory(computer(bounds), 2)
        assert memory.loop([array], 1000) * PICO == pytest.approx(1000 * words * ns * NANO)


def test_a_barrier_is_over_when_the_last_has_come() -> None:
    def program(proc: smp.Processor) -> float:
        proc.barrier()
        start = proc.clock()
        proc.work(seconds=proc.rank * MICRO)
        proc.barrier()
        return proc.clock() - start

    assert run(2, program).results == pytest.approx([3 * MICRO] * 2)


def test_an_empty_superstep_takes_the_measured_time() -> None:
    def program(proc: smp.Processor) -> float:
        proc.barrier()
        start = proc.clock()
        with proc.superstep("empty"):
            pass
        return proc.clock() - start

    assert run(1, program).results == pytest.approx([9 * MICRO])
    assert run(2, program).results == pytest.approx([12 * MICRO] * 2)


def read(proc: smp.Processor, array: smp.GlobalArray, index: tuple[Any], count: int) -> float:
    """Return the time of a copy-in of all processors, without that of its barrier."""
    proc.barrier()
    start = proc.clock()
    with proc.superstep("read") as step:
        assert step.copy_in(array, index[0]).size == count
        step.compute()
        end = proc.clock()
    return end - start


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (slice(0, 400), 400),  # one after another
        (slice(0, 400, 4), 400),  # a quarter of the words of their lines
        (slice(0, 800, 80), 80),  # a line for each of 10 words
        (np.arange(0, 800, 2), 4000),  # scattered: ten times the price
    ],
)
def test_a_copy_takes_what_the_profile_says_of_its_pattern(index: Any, words: int) -> None:
    count = len(np.arange(800)[index])
    (alone,) = run(1, read, np.zeros(800), (index,), count).results
    both = run(2, read, np.zeros(800), (index,), count).results
    assert alone == pytest.approx(3 * MICRO + words * NANO)
    assert both == pytest.approx([4 * MICRO + 2 * words * NANO] * 2)


@pytest.mark.parametrize(("bounds", "rate"), [("optimistic", 2 * 12e9), ("pessimistic", 12e9)])
def test_the_memory_is_one_server_with_the_bandwidth_of_all(bounds: str, rate: float) -> None:
    alone = 2 * WORDS * NANO  # of each processor, in the cost function of two
    moved = 4 * 16 * WORDS / rate
    found = run(4, read, np.zeros(WORDS), (slice(0, WORDS),), WORDS, of=computer(bounds)).results
    barrier = (12 + 2 * (0.1 if bounds == "optimistic" else 0.2)) / 3 * MICRO
    assert moved > alone
    assert found == pytest.approx([moved + barrier] * 4, rel=1e-9)


def test_bytes_in_private_caches_do_not_wait_for_the_memory() -> None:
    with_rates = {"bandwidth": {"stream": [{"kernel": "copy", "processors": 1, "GBps": 1e-3}]}}
    (seconds,) = run(1, read, np.zeros(800), (slice(0, 800),), 800, of=computer(**with_rates)).results
    assert seconds == pytest.approx(3 * MICRO + 800 * NANO)
    (seconds,) = run(1, read, np.zeros(1200), (slice(0, 800),), 800, of=computer(**with_rates)).results
    assert seconds > 800 * 16 / 1e6


@smp.stream
def adds(words: Any, times: int) -> None:
    for _ in range(times):
        fetch_add(words, 0, 1)


def test_atomic_operations_of_several_processors_take_turns_with_the_line() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray, times: int) -> float:
        start = proc.clock()
        adds(words.view, times)
        return proc.clock() - start

    words = np.zeros(8, np.int64)
    assert run(1, program, words, 10).results == pytest.approx([10 * 5 * NANO])
    one_each = sorted(run(8, program, words, 1).results)
    assert one_each == pytest.approx([(5 + 100 * k) * NANO for k in range(8)])


@smp.stream
def look(words: Any) -> int:
    return int(load(words, 0) + load(words, 0) + load(words, 64))


def test_a_line_is_handed_over_once_to_its_reader() -> None:
    def program(proc: smp.Processor, words: smp.GlobalArray) -> float:
        if proc.rank == 0:
            adds(words.view, 1)
        proc.barrier()
        start = proc.clock()
        if proc.rank == 1:
            assert look(words.view) == 2
        return proc.clock() - start

    assert run(2, program, np.zeros(128, np.int64)).results[1] == pytest.approx((100 + 3) * NANO)


# Measured programs.


def sort(proc: smp.Processor, keys: smp.GlobalArray) -> float:
    start = proc.clock()
    with proc.superstep("sort") as step:
        mine = step.copy_in(keys, proc.block(len(keys)))
        step.compute()
        step.copy_out(keys, proc.block(len(keys)), np.sort(mine))
    return proc.clock() - start


@smp.local
def total(values: Any) -> float:
    found = 0.0
    for value in values:
        found += value
    return found


def add_up(proc: smp.Processor, keys: smp.GlobalArray) -> tuple[float, float]:
    with proc.superstep("add") as step:
        mine = step.copy_in(keys, proc.block(len(keys)))
        step.compute()
        found = total(mine)
        both = proc.reduce(found)
    return both, proc.clock()


@pytest.mark.parametrize("python", [True, False])
def test_a_run_repeats_exactly_with_its_own_times(python: bool) -> None:
    keys = np.random.default_rng(3).random(1000)
    first = run(3, add_up, keys, of=computer(python=python))
    assert first.results[0][0] == pytest.approx(keys.sum())
    assert first.times is not None
    times = json.loads(json.dumps(first.times))
    again = run(3, add_up, keys, of=ThisComputer(Profile(document()), python=python, times=times))
    assert again.results == first.results
    assert list(again.seconds) == list(first.seconds)
    assert again.times == first.times
    assert [(charge.way, charge.calls) for charge in first.charges] == [("measured", 3)]


def test_the_code_of_a_program_takes_its_measured_time() -> None:
    keys = np.random.default_rng(3).random(900)
    measured = run(1, sort, keys, of=computer(python=True))
    assert measured.times is not None
    assert measured.times["loops"] == {}
    pieces = len(measured.times["program"][0])
    doubling = {"program": [[1000 << piece for piece in range(pieces)]], "loops": {}}
    again = run(1, sort, keys, of=ThisComputer(Profile(document()), times=doubling))
    barriers = 3 * MICRO  # the copies are part of the program's code
    spent = round((again.results[0] - barriers) / MICRO)
    assert again.results[0] == pytest.approx(barriers + spent * MICRO)
    counted = [piece for piece in range(pieces) if spent >> piece & 1]
    between = range(counted[0], counted[-1] + 1)  # from one reading of the clock to the other
    assert counted == list(between)
    assert 0 < between[0] < between[-1] < pieces - 1


def test_a_stopwatch_counts_what_lies_between_go_and_stop() -> None:
    now, passed = 0, []

    def clock() -> int:
        nonlocal now
        now += 7  # the time of reading it
        return now

    recorded = Recorded({"program": [[], [11]]})
    watch = Stopwatch(recorded, passed.append, clock)
    assert now >= 7 * TRIALS
    recorded.begin(lambda: 0)
    assert not watch.stop()
    watch.go()
    now += 1000
    assert watch.stop()
    watch.go(False)
    assert not watch.stop()
    recorded.begin(lambda: 1)
    watch.go()
    now += 1000
    watch.stop()
    assert passed == [1000, 11]  # the second one is recorded
    assert recorded.times() == {"program": [[], [11]], "loops": {}}


def test_loops_that_only_loops_call_take_no_time_of_python() -> None:
    @smp.local
    def nothing(values: Any) -> None:
        values[0] = 0.0

    @smp.stream
    def many(values: Any) -> None:
        for _ in range(50):
            nothing(values)

    def program(proc: smp.Processor) -> None:
        many(np.zeros(4))

    found = run(1, program, of=computer(python=True))
    (charge,) = found.charges
    assert charge.calls == 50
    assert found.results == [None]


# The names of what was assumed.


def test_more_processors_than_were_measured_are_called_extrapolated(tmp_path: Path) -> None:
    def program(proc: smp.Processor, keys: smp.GlobalArray) -> None:
        proc.state("work")
        sort(proc, keys)
        proc.reduce(1)

    keys = np.zeros(64)
    known, more = (run(p, program, keys, of=computer("pessimistic")) for p in (2, 3))
    assert (known.unknown, known.extrapolated) == ((), "")
    assert "extrapolated" not in str(known)
    assert more.machine == "this computer, pessimistic bound, from 2 to 3 processors"
    assert any("bandwidth" in each and "stays the same" in each for each in more.unknown)
    assert str(more).count("extrapolated: this computer") == 2  # the table of supersteps, and that of collectives
    assert all(each in str(more) for each in more.unknown)
    for each, expected in ((known, False), (more, True)):
        each.state_graph(tmp_path / "states.json")
        assert ("otherData" in json.loads((tmp_path / "states.json").read_text())) == expected
    more.state_graph(tmp_path / "states.svg")
    assert (tmp_path / "states.svg").stat().st_size > 0


def test_a_profile_its_file_and_the_machine_made_from_it_are_the_same(tmp_path: Path) -> None:
    Profile(document()).save(tmp_path / "profile.json")
    given: list[Any] = [Profile(document()), tmp_path / "profile.json", str(tmp_path / "profile.json"), computer()]
    for machine in given:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Profile, "load", classmethod(lambda cls, path: Profile(json.loads(Path(path).read_text()))))
            with smp.emulated(machine=machine) as opened:
                assert opened.size == 2
                assert opened.run(barriers).machine == "this computer"


def test_arguments_that_make_no_machine_are_refused() -> None:
    with pytest.raises(ValueError, match="bounds must be 'optimistic' or 'pessimistic'"):
        computer("exact")
    with pytest.raises(TypeError, match=r"a smp\.Profile, not a dict"):
        ThisComputer(document())  # type: ignore[arg-type]
    with pytest.raises(ProfileError, match=r"no section bandwidth.*python -m smp.microbench --quick"):
        computer(bandwidth=None)
    with pytest.raises(ProfileError, match="of the kind 'mpi'"):
        computer(machine={"kind": "mpi"})
    with pytest.raises(ValueError, match='schedule="clock"'):
        smp.emulated(2, machine=computer(), schedule="seeded")
    with pytest.raises(ValueError, match="charges and a network of its own"):
        smp.emulated(2, machine=computer(), charges=smp.Charges())
    for times in ({"program": [[-1]]}, {"program": 3}, {"other": []}, {"loops": {"a": 0.5}}):
        with pytest.raises(ValueError, match="those of an earlier run"):
            smp.emulated(2, machine=ThisComputer(Profile(document()), times=times))


# Monotone.


def work(proc: smp.Processor, array: smp.GlobalArray, words: smp.GlobalArray, sizes: list[list[int]]) -> None:
    for step_of_all in sizes:
        count = step_of_all[proc.rank % len(step_of_all)]
        with proc.superstep("work") as step:
            step.copy_in(array, slice(0, count))
            step.copy_in(array, np.arange(0, count, 7))
            step.compute()
            step.copy_out(array, slice(0, count), 0.0)
    proc.barrier()
    adds(words.view, 3)


PLACES = {
    "bandwidth": lambda data, f: [row.update(GBps=row["GBps"] * f) for row in data["bandwidth"]["stream"]],
    "hand-over": lambda data, f: _times(data["synchronisation"], "handoff_exchange_ns", 1 / f),
    "atomic": lambda data, f: _times(data["synchronisation"]["fetch_add_ns"], "alone", 1 / f),
    "barrier": lambda data, f: [_times(row, "python", 1 / f) for row in data["synchronisation"]["barrier_us"].values()],
    "cache": lambda data, f: _times(data["access"], "private_words", f),
    "access": lambda data, f: [_times(row["coefficients"], 1, 1 / f) for row in data["access"]["functions"]],
}


def _times(values: Any, key: Any, factor: float) -> None:
    values[key] *= factor


AWAKE: dict[str, Any] = {"threads": {}}
"""A change of the profile, after which it knows nothing of sleeps, and they take no time."""


def longest(p: int, sizes: list[list[int]], bounds: str, data: dict[str, Any]) -> float:
    of = ThisComputer(Profile(data), bounds, False)
    return float(run(p, work, np.zeros(5_000), np.zeros(8, np.int64), sizes, of=of).seconds.max())


@settings(max_examples=25, deadline=None)
@given(
    p=st.integers(1, 6),
    sizes=st.lists(st.lists(st.integers(1, 5_000), min_size=1, max_size=3), min_size=1, max_size=3),
    place=st.sampled_from(sorted(PLACES)),
    factor=st.floats(1.0, 50.0),
    bounds=st.sampled_from(["optimistic", "pessimistic"]),
)
def test_no_part_that_gets_better_makes_a_program_slower_that_does_not_sleep(
    p: int, sizes: list[list[int]], place: str, factor: float, bounds: str
) -> None:
    usual = document() | (AWAKE if bounds == "pessimistic" else {})  # processors of the optimistic machine never sleep
    better = copy.deepcopy(usual)
    PLACES[place](better, factor)
    assert longest(p, sizes, bounds, better) <= longest(p, sizes, bounds, usual) * (1 + 1e-9)


def test_a_processor_that_comes_earlier_may_fall_asleep_at_a_barrier() -> None:
    """With more bandwidth, two of four processors come 8 us before the others, sleep, and are woken after 12 us."""
    case, better = (4, [[1, 8], [4724]], "pessimistic"), copy.deepcopy(document())
    PLACES["bandwidth"](better, 2.0)
    usual, asleep = longest(*case, document()), longest(*case, better)
    barrier, waking = computer("pessimistic").barrier(4), 12 * MICRO
    assert usual < asleep <= usual + waking - barrier
    assert longest(*case, better | AWAKE) < longest(*case, document() | AWAKE)


@given(p=st.integers(1, 512), more=st.integers(0, 512))
def test_the_optimistic_machine_bounds_the_pessimistic_one(p: int, more: int) -> None:
    low, high = computer("optimistic"), computer("pessimistic")
    assert low.barrier(p) <= high.barrier(p)
    assert low.superstep(p) <= high.superstep(p)
    assert low.bandwidth(p) >= high.bandwidth(p)
    assert low.bandwidth(p + more) >= low.bandwidth(p)
    assert low.waking <= high.waking
    if p <= 2:
        assert (low.barrier(p), low.bandwidth(p)) == (high.barrier(p), high.bandwidth(p))
