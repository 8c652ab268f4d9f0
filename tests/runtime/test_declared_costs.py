"""Declared costs of loops: formulas at the loop, coefficients in the machine file, and errors where they do not fit."""

from typing import Any

import cloudpickle
import numpy as np
import pytest

import smp
from smp._runtime.loops.counted.pricing import Pricing
from smp._runtime.loops.declarations import KINDS, Price, declared
from smp._runtime.program import pickling

OPS = {kind: float(k + 1) for k, kind in enumerate(KINDS)}
LOAD, FLOP, CALL = OPS["load"], OPS["flop"], OPS["call"]


def price(loop: Any, loops: Any = None, ops: Any = OPS) -> Price | None:
    return Pricing("test", ops, loops or {}).declared(loop)


def cycles(loop: Any, *args: Any, **options: Any) -> float:
    found = price(loop, options.pop("loops", None))
    assert found is not None
    return found.cycles(args, options)


@smp.local(cost="12 * len(a) + 40")
def linear(a):
    a += 1


@smp.local(cost=lambda grid, top, bottom=4: 7 * (bottom - top) * grid.shape[1])
def strip(grid, top, bottom=4):
    grid[top:bottom] = 0


@smp.local(name="test.sweep", terms={"row": "rows", "point": "rows * columns"}, cost="5 * rows * columns")
def named(grid, rows, columns):
    return grid[0, 0]


def test_a_formula_in_text_uses_lengths_sizes_and_shapes() -> None:
    assert cycles(linear, np.zeros(10)) == 160

    @smp.local(cost="a.size + 10 * a.shape[0] + 100 * a.shape[1] + 1000 * k + a.nbytes * 0.5")
    def shaped(a, k=2):
        return k

    assert cycles(shaped, np.zeros((3, 4), np.int16)) == 12 + 30 + 400 + 2000 + 12
    assert cycles(shaped, np.zeros((3, 4), np.int16), k=1) == 12 + 30 + 400 + 1000 + 12

    @smp.local(cost="len(a) * ceil(log2(max(len(a), 2))) if len(a) > 1 else 3")
    def sorting(a):
        return a

    assert [cycles(sorting, np.zeros(n)) for n in (1, 8, 9)] == [3, 24, 36]


def test_a_formula_may_be_a_function() -> None:
    grid = np.zeros((9, 5))
    assert cycles(strip, grid, 1) == 7 * 3 * 5
    assert cycles(strip, grid, 1, bottom=9) == 7 * 8 * 5


def test_a_formula_in_text_may_use_the_prices_of_operations() -> None:
    @smp.local(cost="(2 * load + flop) * len(a) + call")
    def fused(a):
        return a

    assert cycles(fused, np.zeros(10)) == (2 * LOAD + FLOP) * 10 + CALL
    with pytest.raises(smp.MachineFileError, match=r"\[processor.ops\]"):
        price(fused, ops={})

    @smp.local(cost="3 * load")
    def hides(load):
        return load

    assert cycles(hides, 7) == 21  # the argument of that name


def test_the_machine_file_wins_over_the_loop() -> None:
    assert cycles(named, np.zeros((1, 1)), 3, 4) == 60
    loops = {"test.sweep": {"constant": 100.0, "per_row": 10.0, "per_point": 93.0}}
    assert cycles(named, np.zeros((1, 1)), 3, 4, loops=loops) == 100 + 30 + 93 * 12
    assert cycles(named, np.zeros((1, 1)), 3, 4, loops={"another": {"per_key": 1.0}}) == 60


def test_a_term_that_the_loop_does_not_declare_is_an_error_that_names_both() -> None:
    with pytest.raises(smp.MachineFileError, match=r"per_key for the loop 'test.sweep'.*terms are: row, point"):
        price(named, {"test.sweep": {"per_key": 1.0}})


def test_a_loop_without_declarations_is_counted() -> None:
    @smp.local
    def plain(a):
        return a[0]

    assert declared(plain) is None
    assert price(plain) is None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cost": "12 * n"}, ValueError, "names 'n', which is no argument of the loop; its arguments are a, k"),
        ({"cost": "12 *"}, ValueError, "is no formula"),
        ({"cost": "a[0] * 2"}, ValueError, "no formula"),
        ({"cost": "a.strides[0]"}, ValueError, "no formula"),
        ({"cost": "sum(a)"}, ValueError, "names 'sum'"),
        ({"cost": 12}, TypeError, "must be a formula"),
        ({"terms": {"point": "k"}}, ValueError, "has terms but no name"),
        ({"name": "test", "terms": {"per point": "k"}}, ValueError, "has the term 'per point'"),
        ({"name": "test", "terms": {"constant": "k"}}, ValueError, "has the term 'constant'"),
        ({"name": "test", "terms": {"point": "load * k"}}, ValueError, "names 'load'"),
        ({"name": "two words"}, ValueError, "'two words'"),
        ({"oblivious": 1}, TypeError, "oblivious"),
    ],
)
def test_a_declaration_is_checked_when_the_loop_is_made(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):

        @smp.local(**options)
        def loop(a, k):
            return k


def test_a_declared_loop_computes_as_any_other() -> None:
    a = np.zeros(3)
    linear(a)
    assert a.tolist() == [1, 1, 1]

    @smp.local
    def calls_it(a):
        linear(a)
        linear(a)

    calls_it(a)
    assert a.tolist() == [3, 3, 3]


def test_a_declared_loop_in_a_counted_one_adds_its_price() -> None:
    @smp.local
    def rounds(a, n):
        for _ in range(n):
            linear(a)

    @smp.local
    def sweeps(grid, n):
        for _ in range(n):
            named(grid, 3, 4)

    pricing = Pricing("test", dict.fromkeys(KINDS, 1.0), {"test.sweep": {"constant": 1000.0, "per_point": 0.5}})
    a = np.zeros(10)
    own = 1 + (5 + 4) + 5  # the call, the steps of the index, the branches
    assert pricing.counted(rounds, (a, 4), {}) == (None, own + 4 * 160)
    assert a.tolist() == [4] * 10
    assert pricing.counted(sweeps, (np.zeros((1, 1)), 4), {}) == (None, own + 4 * (1000 + 6))
    other = Pricing("test", dict.fromkeys(KINDS, 1.0), {"test.sweep": {"per_point": 2.0}})
    assert other.counted(sweeps, (np.zeros((1, 1)), 4), {}) == (None, own + 4 * 24)


def test_a_loop_that_is_sent_to_processors_keeps_its_declaration() -> None:
    @smp.local(name="test.sent", cost="3 * len(a)", oblivious=True)
    def sent(a):
        return a[0]

    data = pickling.dumps(sent)
    compiled = cloudpickle.loads(data)  # in this process, it is the loop of that name
    found = declared(compiled)
    assert found is not None
    assert (found.name, found.oblivious) == ("test.sent", True)
    assert cycles(compiled, np.zeros(5)) == 15


def test_clearing_memory_takes_the_time_of_its_own_table() -> None:
    @smp.local(name="clear", terms={"byte": "a.nbytes"})
    def clear(a):
        a[:] = 0

    cm5 = smp.machines.load("cm5")
    price = Pricing.of_file(cm5).declared(clear)
    assert price.cycles((np.ones(100, np.int32),), {}) == pytest.approx(69.28 + 1.005 * 400)  # Brewer, figure 6-6
    own = cm5.replace("loops", {"clear": {"per_byte": 2}})
    assert Pricing.of_file(own).declared(clear).cycles((np.ones(100, np.int32),), {}) == 800
