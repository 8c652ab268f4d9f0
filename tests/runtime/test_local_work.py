"""Local work of emulated machines: what each way charges, what it records, and what a promise allows."""

import json
import math
from typing import Any

import numpy as np
import pytest

import smp
from smp._runtime.emulated.local_work import Bytes, Charged, LoopCharge, Priced
from smp._runtime.emulated.measured_work import Measured, size_class
from smp._runtime.loops.counted.pricing import Pricing
from smp._runtime.loops.declarations import KINDS
from smp._runtime.loops.interpreter import here

ALEWIFE = smp.machines.load("alewife")


@smp.local
def add_up(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


@smp.local(oblivious=True)
def scale(a, factor):
    for i in range(len(a)):
        a[i] *= factor


@smp.local(oblivious=True)
def largest(a):  # the promise is broken: the number of assignments depends on the elements
    m, changes = a[0], 0
    for x in a:
        if x > m:
            m = x
            changes += 1
    return m


@smp.local(oblivious=True)
def halves(a):
    return a / 2


@smp.local(cost="10 * len(a)", name="test.declared")
def declared_loop(a):
    a[0] += 1
    return a[0]


class Virtual:
    """The part of an emulated machine that runs loops over local data."""

    def __init__(self, work: Any) -> None:
        self.work, self.time = work, 0

    def run_local(self, loop: Any, args: Any, options: Any) -> Any:
        result, cycles = self.work.run(loop, args, options)
        self.time += cycles
        return result

    def __enter__(self) -> "Virtual":
        here.interpreter = self  # type: ignore[assignment]
        return self

    def __exit__(self, *exception: object) -> None:
        here.interpreter = None


def test_counted_operations_cost_what_the_machine_file_says() -> None:
    ops = ALEWIFE.processor.ops  # type: ignore[union-attr]
    n = 1000
    charged = Priced(ALEWIFE).run(add_up, (np.ones(n),), {})
    expected = n * (ops.load + ops.flop + ops.int) + (n + 1) * (ops.int + ops.branch) + ops.call
    assert charged == Charged(float(n), expected)


def test_a_program_that_calls_loops_takes_virtual_time() -> None:
    a = np.ones(100)
    with Virtual(Priced(ALEWIFE)) as virtual:
        assert add_up(a) == 100
        once = virtual.time
        assert add_up(a) == 100
        assert virtual.time == 2 * once > 0
        declared_loop(a)
        assert virtual.time == 2 * once + 1000


def test_the_record_lists_loops_with_way_calls_and_cycles() -> None:
    work = Priced(ALEWIFE)
    a = np.ones(100)
    one = work.run(add_up, (a,), {}).cycles
    work.run(add_up, (a,), {})
    for _ in range(3):
        work.run(declared_loop, (a,), {})
    assert a[0] == 4
    assert set(work.charges()) == {
        LoopCharge("test.declared", "declared", 3, 3000),
        LoopCharge(f"{__name__}.add_up", "counted", 2, 2 * one),
    }
    work.forget()
    assert work.charges() == []


def test_the_same_calls_are_charged_alike_on_every_repeat() -> None:
    rng = np.random.default_rng(3)
    keys = rng.random(200)

    def cycles() -> list[int]:
        work = Priced(ALEWIFE)
        return [work.run(add_up, (keys[:n],), {}).cycles for n in (0, 1, 50, 200)]

    assert cycles() == cycles()


def test_the_price_of_a_call_is_that_of_its_arguments_before_it() -> None:
    @smp.local(cost=lambda a: 1 + a[0])
    def grows(a):
        a[0] += 1

    work = Priced(ALEWIFE)
    a = np.zeros(1)
    assert [work.run(grows, (a,), {}).cycles for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize("value", ["-1", "1e308 * 10", "0 * (1e308 * 10)"])
def test_a_cost_that_is_no_time_is_an_error(value: str) -> None:
    @smp.local(cost=value)
    def wrong(a):
        return a

    with pytest.raises((ValueError, smp.ModelError), match="cost"):
        Priced(ALEWIFE).run(wrong, (1,), {})


def test_a_machine_without_prices_needs_declared_costs() -> None:
    work = Priced(Pricing("bare", {}, {}))
    assert work.run(declared_loop, (np.ones(5),), {}).cycles == 50
    with pytest.raises(smp.Unsupported, match=r"'add_up' have no price.*'bare'.*cost="):
        work.run(add_up, (np.ones(5),), {})


def test_bytes_are_those_of_the_arrays_that_are_passed() -> None:
    work = Bytes(0.1)
    assert work.run(add_up, (np.ones(1000),), {}) == Charged(1000.0, 800)
    assert work.run(scale, (np.ones(10), 2.0), {}).cycles == 8
    assert {(one.way, one.cycles) for one in work.charges()} == {("bytes", 800), ("bytes", 8)}


# Charges without computing.


def test_a_loop_that_is_not_run_again_is_charged_as_if_it_ran() -> None:
    sizes = [10, 20, 10, 30, 10, 20]
    computing, quick = Priced(ALEWIFE), Priced(ALEWIFE, compute=False)
    for n in sizes:
        with_it, without = np.ones(n), np.ones(n)
        assert computing.run(scale, (with_it, 3.0), {}).cycles == quick.run(scale, (without, 3.0), {}).cycles
    assert [one._replace(loop="") for one in computing.charges()] == [one._replace(loop="") for one in quick.charges()]
    again = np.ones(10)
    quick.run(scale, (again, 3.0), {})
    assert again.tolist() == [1.0] * 10  # it did not run
    other = np.ones(10)
    quick.run(scale, (other, 4.0), {})
    assert other.tolist() == [4.0] * 10  # another factor could be another path


def test_loops_without_the_promise_run_each_time() -> None:
    quick = Priced(ALEWIFE, compute=False)
    a = np.ones(10)
    assert [quick.run(add_up, (a * k,), {}).result for k in (1, 2, 3)] == [10, 20, 30]


def test_a_broken_promise_is_found_while_the_loops_compute() -> None:
    work = Priced(ALEWIFE)
    work.run(largest, (np.array([3.0, 1.0, 2.0]),), {})
    with pytest.raises(ValueError, match=r"declared oblivious, but two calls"):
        work.run(largest, (np.array([1.0, 2.0, 3.0]),), {})


def test_an_array_cannot_be_the_result_of_further_calls() -> None:
    assert Priced(ALEWIFE).run(halves, (np.ones(2),), {}).result.tolist() == [0.5, 0.5]
    with pytest.raises(smp.Unsupported, match="returns a ndarray"):
        Priced(ALEWIFE, compute=False).run(halves, (np.ones(2),), {})


# Measured.


def test_a_loop_is_measured_once_for_a_size_and_a_table_is_replayed() -> None:
    work = Measured(hz=1e9)
    a = np.ones(100_000)
    first = work.run(add_up, (a,), {})
    assert first.result == 100_000
    assert work.run(add_up, (a,), {}).cycles == first.cycles > 0
    table = json.loads(json.dumps(work.table()))
    assert len(table) == 1
    replayed = Measured(hz=1e9, table=table)
    assert replayed.run(add_up, (a,), {}) == first
    assert replayed.charges() == [LoopCharge(f"{__name__}.add_up", "measured", 1, first.cycles)]
    assert replayed.table() == table
    assert Measured(hz=2e9, table=table).run(add_up, (a,), {}).cycles == 2 * first.cycles
    assert Measured(hz=1e9, table=table, speed=0.5).run(add_up, (a,), {}).cycles == 2 * first.cycles


def test_measuring_works_on_copies() -> None:
    a = np.ones(10)
    Measured(hz=1e9).run(scale, (a, 2.0), {})
    assert a.tolist() == [2.0] * 10  # it ran once on the array itself


def test_size_classes_keep_four_leading_bits() -> None:
    for n in range(-300, 5000):
        least = size_class(n)
        assert abs(least) <= abs(n)
        assert abs(n) - abs(least) <= abs(least) / 8
        assert size_class(least) == least
    assert len({size_class(n) for n in range(1 << 20)}) < 8 * 20


@pytest.mark.parametrize("options", [{"hz": 0}, {"hz": 1e9, "repeats": 0}, {"hz": 1e9, "speed": math.inf}])
def test_settings_of_measurements_are_checked(options: Any) -> None:
    with pytest.raises(ValueError, match="must be more than 0"):
        Measured(**options)


# Work of plain Python.


def test_work_is_stated_in_cycles_or_in_seconds() -> None:
    def program(proc: smp.Processor) -> list[str]:
        proc.work(cycles=1000)
        proc.work(seconds=0.5)
        proc.work(cycles=0)
        messages = []
        for options in ({}, {"cycles": 1, "seconds": 1}, {"cycles": -1}, {"seconds": math.nan}, {"cycles": "1"}):
            try:
                proc.work(**options)  # type: ignore[arg-type]
            except (TypeError, ValueError) as error:
                messages.append(str(error))
        return messages

    with smp.host(1) as machine:
        (messages,) = machine.run(program).results
    assert len(messages) == 5
    assert "neither" in messages[0]
    assert "both" in messages[1]
    assert all("0 or more" in message for message in messages[2:])


def test_prices_have_a_name_for_every_kind_of_operation() -> None:
    ops = ALEWIFE.processor.ops  # type: ignore[union-attr]
    assert set(KINDS) == set(vars(ops))
