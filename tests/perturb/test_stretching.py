"""Stretched places: each pass is followed by a delay in proportion to the time that it took."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import Emulated
from support.virtual_work import burn

import smp
from smp.compiled import delay
from smp.perturb import Busy, Stretch, Trials, factor, placed, screen, treated, treatment

US = 1000


def took(machine: smp.Machine, program: Callable[..., Any], **treatments: str) -> int:
    """Return the microseconds of virtual time that a program takes with treatments."""
    with treated(treatments):
        (result,) = machine.run(timed, program).results
    return int(result)


def timed(proc: smp.Processor, program: Callable[[], None]) -> int:
    began = smp.compiled.clock()
    program()
    return round((smp.compiled.clock() - began) / US)


@settings(deadline=None)
@given(st.lists(st.integers(1, 100), min_size=1, max_size=5), st.sampled_from([10, 50, 100, 300]))
def test_each_pass_takes_longer_by_its_own_share(lengths: list[int], percent: int) -> None:
    def program(proc: smp.Processor) -> list[int]:
        found = []
        for length in lengths:
            began = smp.compiled.clock()
            with factor("x"):
                burn(length * US)
            found.append(smp.compiled.clock() - began)
        return found

    with smp.emulated(1, schedule="clock") as machine:
        (plain,) = machine.run(program).results
        with treated({"x": Stretch(percent)}):
            (slow,) = machine.run(program).results
    expected = [before + length * US * percent / 100 for before, length in zip(plain, lengths, strict=True)]
    assert slow == pytest.approx(expected, abs=2)


def nested() -> None:
    with factor("outer"):
        burn(10 * US)
        with factor("inner"):
            burn(20 * US)
        with factor("inner"):
            burn(30 * US)


def test_delays_of_inner_places_are_no_part_of_the_outer_pass(emulated: Emulated) -> None:
    machine = emulated(1)
    assert took(machine, nested) == 60
    assert took(machine, nested, outer="stretch:50%") == 90
    assert took(machine, nested, inner="stretch:50%") == 85
    assert took(machine, nested, inner="stretch:50%", outer="stretch:50%") == 115
    assert took(machine, nested, inner="stretch:200%", outer="stretch:10%") == 60 + 100 + 6


def test_a_place_inside_itself_is_delayed_once(emulated: Emulated) -> None:
    def program(depth: int = 3) -> None:
        with factor("deep"):
            burn(10 * US)
            if depth:
                program(depth - 1)

    assert took(emulated(1), program, deep="stretch:100%") == 80


def test_passes_that_overlap_are_delayed_by_their_own_time(emulated: Emulated) -> None:
    """A generator leaves its place after a place of its caller has been entered."""

    def steps() -> Iterator[None]:
        with factor("generator"):
            burn(10 * US)
            yield
            burn(20 * US)

    def program() -> None:
        going = steps()
        next(going)
        with factor("caller"):
            next(going, None)
            burn(5 * US)

    machine = emulated(1)
    assert took(machine, program) == 35
    assert took(machine, program, generator="stretch:100%") == 65
    assert took(machine, program, caller="stretch:100%") == 60


def test_a_pass_that_an_exception_ends_is_delayed(emulated: Emulated) -> None:
    def program() -> None:
        for _ in range(2):
            try:
                with factor("x"):
                    burn(10 * US)
                    raise KeyError
            except KeyError:
                pass

    assert took(emulated(1), program, x="stretch:50%") == 30


def test_passes_under_way_when_treatments_change_are_forgotten(emulated: Emulated) -> None:
    def program() -> None:
        with factor("x"), treated({"x": "stretch:100%"}):
            burn(10 * US)
        with treated({"x": "stretch:100%"}):
            going = factor("x")
            going.__enter__()
            burn(10 * US)
        going.__exit__(None, None, None)
        with treated({"x": "stretch:100%"}), factor("x"):
            burn(10 * US)

    assert took(emulated(1), program) == 40


def test_processors_and_streams_have_passes_of_their_own(emulated: Emulated) -> None:
    def program(proc: smp.Processor) -> int:
        began = smp.compiled.clock()
        with factor("x"):
            burn((proc.rank + 1) * 10 * US)
        return round((smp.compiled.clock() - began) / US)

    with treated({"x": "stretch:100%"}):
        assert emulated(3).run(program).results == [20, 40, 60]


def test_threads_of_this_process_are_delayed_by_their_own_passes() -> None:
    found = {}

    def work(seconds: float) -> None:
        began = time.monotonic()
        with factor("x"):
            time.sleep(seconds)
        found[seconds] = time.monotonic() - began

    threads = [threading.Thread(target=work, args=(seconds,)) for seconds in (0.02, 0.1)]
    with treated({"x": "stretch:200%"}):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found[0.02] >= 0.06
    assert found[0.1] >= 0.3


def test_processors_of_the_host_are_stretched(pair: smp.Machine) -> None:
    def program(proc: smp.Processor) -> bool:
        began = time.monotonic()
        with factor("x"):
            time.sleep(0.01)
        return time.monotonic() - began >= 0.03

    with treated({"x": "stretch:200%"}):
        assert all(pair.run(program).results)


def test_calls_of_functions_are_stretched(emulated: Emulated) -> None:
    def program() -> None:
        burn(10 * US)

    name = "support.virtual_work.burn"
    with placed(name):
        assert took(emulated(1), program, **{name: "stretch:100%"}) == 20


@smp.stream
def point_in_a_loop(n: int) -> int:
    for _ in range(n):
        delay("x")
    return n


def test_a_point_has_no_end_and_is_not_delayed(emulated: Emulated) -> None:
    def program() -> None:
        burn(10 * US)
        delay("x")
        _loop(3)

    assert took(emulated(1), program, x="stretch:1000%") == 10
    with treated({"x": "stretch:1000%"}):
        assert point_in_a_loop(3) == 3

    def points() -> None:
        delay("x")

    with pytest.raises(ValueError, match="stretch:50% of the time in 'x' is not a delay, because no time was measured"):
        screen(points, "2^1", treatment="stretch:50%", replicates=2)


@smp.local
def _loop(n: int) -> int:
    for _ in range(n):
        delay("x")
    return n


def test_the_text_form_is_read_and_written() -> None:
    assert treatment("stretch:12.50 %") == Stretch(12.5)
    assert str(Stretch(150)) == "stretch:150%"
    for text in ("stretch:10us", "stretch:", "stretch", "stretch:-1%"):
        with pytest.raises(ValueError, match="is not a treatment"):
            treatment(text)
    with pytest.raises(ValueError, match="a share of 0% is not a treatment"):
        Stretch(0)
    with pytest.raises(TypeError, match="Stretch takes a number of percent"):
        Stretch("20")  # type: ignore[arg-type]


def unequal(proc: smp.Processor, rounds: int) -> None:
    """Passes of A alternate between 10 and 50 us, those of B between 50 and 10: both processors always wait."""
    for turn in range(rounds):
        with factor("AB"[proc.rank]):
            burn((10 if (turn + proc.rank) % 2 else 50) * US)
        proc.barrier()


def test_gains_of_unequal_passes_are_right_where_delays_of_the_mean_are_not(emulated: Emulated) -> None:
    """Half of A saves 20 us of 50 in every other round, as half of B does.  A mean delay hides half of that."""
    machine, rounds = emulated(2), 10

    def gains(given: str) -> dict[str, float]:
        trials = screen(unequal, "speedup", treatment=given, machine=machine, arguments=(rounds,), replicates=2)
        return {row.factor: row.gain for row in trials.gains()}

    saved = rounds / 2 * 50e-6 / 2  # by half of the work of one place: 25 us in every other round
    assert gains("stretch:100%") == pytest.approx({"A": 2 * saved, "B": 2 * saved}, rel=0.01)
    mean = gains("100%")
    assert mean["A"] == mean["B"] < 1.3 * saved


def test_lengths_of_stretched_places_are_means(emulated: Emulated, tmp_path: Path) -> None:
    machine = emulated(2)
    trials = screen(unequal, "2^2", treatment="stretch:50%", machine=machine, arguments=(4,), replicates=2)
    assert trials.lengths == {"A": [0.0, pytest.approx(15e-6)], "B": [0.0, pytest.approx(15e-6)]}
    assert trials.delayed() == pytest.approx({"A": 60e-6, "B": 60e-6})
    assert "stretch:50%" in str(trials)
    trials.save(tmp_path / "trials.json")
    again = Trials.load(tmp_path / "trials.json")
    assert again.plan.settings(3) == {"A": Stretch(50), "B": Stretch(50)}
    assert again.lengths == trials.lengths


def test_stretched_places_can_be_mixed_with_other_treatments(emulated: Emulated) -> None:
    trials = screen(
        unequal, "2^2", treatment={"A": "stretch:50%", "B": "10us"}, machine=emulated(2), arguments=(4,), replicates=2
    )
    assert trials.plan.settings(3) == {"A": Stretch(50), "B": Busy(10_000)}
