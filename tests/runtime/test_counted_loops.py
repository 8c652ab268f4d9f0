"""Loops that count their operations: the counts are those that one counts by hand, on every computer."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import ROOT, Script

import smp
from smp._runtime.loops.counted.operations import TOTALS
from smp._runtime.loops.counted.pricing import Pricing
from smp._runtime.loops.declarations import KINDS

PRICES = Pricing("unit", dict.fromkeys(KINDS, 1.0), {})


def counted(loop: Any, *args: Any) -> tuple[Any, Counter[str]]:
    """Return the result of a loop, and what it has counted."""
    result, totals = PRICES.counter.of(loop)(*args)
    return result, Counter({kind: number for kind, number in zip(TOTALS, totals, strict=True) if number})


@smp.local
def add_up(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
    return s


@smp.local
def add_elements(a):
    s = 0
    for x in a:
        s += x
    return s


@smp.local
def dot(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


@smp.local
def sweep(old, new):
    for i in range(1, old.shape[0] - 1):
        for j in range(1, old.shape[1] - 1):
            new[i, j] = 0.25 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


@smp.local
def bubble(a):
    swaps = 0
    for end in range(len(a) - 1, 0, -1):
        for j in range(end):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swaps += 1
    return swaps


@smp.local
def digits(n):
    s = 0
    while n > 0:
        s += n % 10
        n //= 10
    return s


@smp.local
def place_of(a, x):
    for i in range(len(a)):
        if a[i] == x:
            return i
    return None


@smp.inline
def square(x):
    return x * x


@smp.local
def norm(a):
    s = 0.0
    for x in a:
        s += square(x)
    return math.sqrt(s)


@smp.local
def norms(rows, out):
    for k in range(len(rows)):
        out[k] = norm(rows[k])


@numba.njit
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@smp.local
def binomial(n, k):
    return factorial(n) // (factorial(k) * factorial(n - k))


@smp.local
def divisions(x, y):
    return x / y, x // y, x % y


@smp.local
def whole_arrays(a, b):
    c = a + 2.0 * b
    c[2:5] = 7.0
    return c.sum()


@smp.local
def first(a):
    if len(a) == 0:
        raise ValueError("there is no element")
    return a[0]


class Point(NamedTuple):
    x: float
    y: float


@smp.local
def farther(p, q):
    return Point(max(p.x, q.x), max(p.y, q.y))


def test_a_sum_is_a_load_and_an_addition_for_each_element() -> None:
    for n in (0, 1, 7):
        result, count = counted(add_up, np.arange(float(n)))
        assert result == n * (n - 1) / 2
        # The index is increased n times and compared n + 1 times.
        assert count == +Counter(load=n, flop=n, int=n + n + 1, branch=n + 1, call=1)


def test_a_loop_over_the_elements_counts_as_one_over_the_indices() -> None:
    result, count = counted(add_elements, np.arange(6))
    assert result == 15
    assert count == Counter(load=6, int=6 + 6 + 7, branch=7, call=1)


def test_the_dot_product() -> None:
    result, count = counted(dot, np.arange(5.0), np.ones(5))
    assert result == 10
    assert count == Counter(load=10, flop=10, int=11, branch=6, call=1)


def test_constants_in_an_index_belong_to_the_load() -> None:
    rows, columns = 4, 5
    old, new = np.random.default_rng(0).random((rows + 2, columns + 2)), np.zeros((rows + 2, columns + 2))
    _, count = counted(sweep, old, new)
    points = rows * columns
    ends = 1 + rows  # the last index of the rows once, and of the columns in each row
    steps = (2 * rows + 1) + rows * (2 * columns + 1)
    branches = (rows + 1) + rows * (columns + 1)
    assert count == Counter(load=4 * points, store=points, flop=4 * points, int=ends + steps, branch=branches, call=1)


def test_an_index_that_is_used_as_a_number_too_is_counted() -> None:
    @smp.local
    def only_index(a, i):
        k = i - 1
        return a[k]

    @smp.local
    def number_too(a, i):
        k = i - 1
        return a[k] + k

    assert counted(only_index, np.arange(5), 3) == (2, Counter(load=1, call=1))
    assert counted(number_too, np.arange(5), 3) == (4, Counter(load=1, int=2, call=1))


def test_conditions_end_at_the_first_part_that_decides() -> None:
    @smp.local
    def inside(x, low, high):
        return 1 if low <= x and x < high else 0

    assert counted(inside, 5, 0, 9) == (1, Counter(int=2, branch=2, call=1))
    assert counted(inside, -5, 0, 9) == (0, Counter(int=1, branch=1, call=1))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-9, 9), max_size=30))
def test_bubble_sort_counts_the_branches_that_the_keys_take(keys: list[int]) -> None:
    a = np.array(keys, np.int64)
    n = len(keys)
    inverted = sum(keys[i] > keys[j] for i in range(n) for j in range(i + 1, n))
    swaps, count = counted(bubble, a)
    assert a.tolist() == sorted(keys)
    assert swaps == inverted
    outer, compared = max(0, n - 1), n * (n - 1) // 2
    whole = 1 + (2 * outer + 1) + (2 * compared + outer) + compared + swaps
    assert count == +Counter(
        load=2 * (compared + swaps),
        store=2 * swaps,
        int=whole,
        branch=(outer + 1) + (compared + outer) + compared,
        call=1,
    )


def test_a_while_loop_tests_once_more_than_it_runs() -> None:
    result, count = counted(digits, 90210)
    assert result == 12
    assert count == Counter(int=6 + 5, div=10, branch=6, call=1)


def test_an_early_end_counts_only_what_ran() -> None:
    a = np.array([4, 5, 6, 7])
    found, count = counted(place_of, a, 6)
    assert found == 2
    assert count == Counter(load=3, int=3 + 3 + 3, branch=6, call=1)
    absent, count = counted(place_of, a, 9)
    assert absent is None
    assert count == Counter(load=4, int=4 + 5 + 4, branch=9, call=1)


def test_a_call_of_a_loop_is_a_call_and_one_of_an_inline_function_is_not() -> None:
    rows, out = np.arange(12.0).reshape(3, 4), np.zeros(3)
    counted(norms, rows, out)
    np.testing.assert_array_equal(out, [math.sqrt((row * row).sum()) for row in rows])
    one = Counter(load=4, flop=8, int=9, branch=5, fdiv=1, call=1)
    _, alone = counted(norm, rows[0])
    assert alone == one
    _, count = counted(norms, rows, out)
    own = Counter(store=3, int=7 + 3 * 2, branch=4, call=1)  # the part of a row is its address and its length
    assert count == own + one + one + one


def test_a_function_of_numba_that_calls_itself() -> None:
    result, count = counted(binomial, 5, 2)
    assert result == 10
    calls = [5, 2, 3]  # each compares n, and all but the last subtract 1 and multiply
    inner = Counter(
        int=sum(2 * n - 1 for n in calls), branch=sum(calls), mul=sum(n - 1 for n in calls), call=sum(calls)
    )
    assert count == inner + Counter(int=1, mul=1, div=1, call=1)


def test_divisions_of_whole_numbers_and_of_others() -> None:
    assert counted(divisions, 7, 2)[1] == Counter(fdiv=1, flop=2, div=2, call=1)  # two conversions
    assert counted(divisions, 7.0, 2.0)[1] == Counter(fdiv=3, flop=6, call=1)


def test_products_and_remainders_by_powers_of_two_are_shifts() -> None:
    @smp.local
    def shifts(n):
        return n * 8 + n // 4 + n % 16 + n * 3

    assert counted(shifts, 100)[1] == Counter(int=3 + 3, mul=1, call=1)


def test_an_operation_on_whole_arrays_is_a_loop() -> None:
    result, count = counted(whole_arrays, np.arange(10.0), np.arange(10.0))
    assert result == 135 - (6 + 9 + 12) + 21
    step = Counter(int=2, branch=1)
    summed = Counter(load=2, flop=2, store=1) + step
    set_part, added = Counter(store=1) + step, Counter(load=1, flop=1) + step
    expected = Counter(call=2, int=2)  # the loop, the memory of c, the part of c
    for part, times in ((summed, 10), (set_part, 3), (added, 10)):
        expected += Counter({kind: number * times for kind, number in part.items()})
    assert count == expected


def test_a_search_in_a_sorted_array_counts_its_halvings() -> None:
    @smp.local
    def search(a, x):
        return np.searchsorted(a, x)

    for n in (1, 2, 100):
        _, count = counted(search, np.arange(n), 5)
        assert count["load"] == n.bit_length()


def test_numbers_in_tuples_are_in_registers() -> None:
    result, count = counted(farther, Point(1.0, 5.0), Point(3.0, 4.0))
    assert result == Point(3.0, 5.0)
    assert count == Counter(flop=2, branch=2, call=1)


def test_the_layout_of_an_array_does_not_matter() -> None:
    a = np.random.default_rng(1).random((8, 8))
    plain = counted(add_up, a[0].copy())[1]
    assert counted(add_up, a[:, 3])[1] == plain
    assert counted(add_up, a[0][::-1])[1] == plain
    assert counted(add_up, a[0].astype(np.float32))[1] - plain == Counter(flop=8)  # each element is converted
    assert counted(sweep, a, np.zeros((8, 8)))[1] == counted(sweep, np.asfortranarray(a), np.zeros((8, 8)))[1]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_results_are_those_of_the_plain_loop_bit_for_bit(values: list[float]) -> None:
    a = np.array(values)
    for loop, args in ((add_up, (a,)), (dot, (a, a)), (norm, (a,))):
        again = counted(loop, *args)
        assert np.float64(loop(*args)).tobytes() == np.float64(again[0]).tobytes()
        assert counted(loop, *args) == again


def test_a_loop_may_return_different_types() -> None:
    @smp.local
    def either(n):
        if n > 3:
            return 1
        return 2.5

    assert counted(either, 5)[0] == 1.0
    assert counted(either, 1)[0] == 2.5


def test_an_exception_of_a_loop_passes_through() -> None:
    assert counted(first, np.ones(1))[1] == Counter(load=1, int=1, branch=1, call=1)
    with pytest.raises(ValueError, match="there is no element"):
        counted(first, np.ones(0))


def test_an_operation_without_a_price_is_refused_with_the_line_and_a_way_out() -> None:
    @smp.local
    def ordered(a):
        b = a.copy()
        return np.sort(b)

    @smp.local
    def calls_it(a):
        return ordered(a)[0]

    line = ordered.__wrapped__.__code__.co_firstlineno + 3
    for loop in (ordered, calls_it):
        with pytest.raises(smp.Unsupported) as caught:
            counted(loop, np.ones(3))
        message = str(caught.value)
        assert "'ordered'" in message
        assert f"line {line}" in message
        assert "sort(array(float64, 1d, C))" in message
        assert "@smp.local(cost=...)" in message

    @smp.local
    def by_address(a):
        return a.ctypes.data

    with pytest.raises(smp.Unsupported, match="address of an array"):
        counted(by_address, np.ones(3))

    @smp.local
    def chosen(a):
        return a[a > 2].sum()

    with pytest.raises(smp.Unsupported, match="'getitem' on"):
        counted(chosen, np.ones(3))


SCRIPT = """
import json, sys
sys.path[:0] = sys.argv[1:]
from test_counted_loops import bubble, counted, norms, np, sweep
rng = np.random.default_rng(5)
grid = rng.random((20, 30))
found = []
for loop, args in ((bubble, (rng.random(50),)), (sweep, (grid, grid.copy())), (norms, (grid, np.zeros(20)))):
    result, count = counted(loop, *args)
    found.append([repr(result), sorted(count.items())])
print(json.dumps(found))
"""


@pytest.mark.slow
def test_counts_do_not_depend_on_the_optimiser_or_on_kept_code(script: Script, tmp_path: Path) -> None:
    found = []
    for level in ("0", "3", "3"):  # the last one finds the code that the one before has kept
        folders = str(ROOT / "tests"), str(ROOT / "tests/runtime")
        output, _ = script(SCRIPT, *folders, NUMBA_OPT=level, SMP_CACHE_DIR=str(tmp_path)).communicate()
        found.append(json.loads(output))
    assert found[0] == found[1] == found[2]
