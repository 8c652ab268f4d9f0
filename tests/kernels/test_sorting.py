"""sort and argsort of plain arrays: compared with NumPy, in every form, for every layout of the keys."""

import contextvars
import itertools
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from support.sampled import each

import smp
from smp.kernels import in_process
from smp.kernels.sorting import at_once, counting, fast, parts
from smp.kernels.sorting.by_vectors import vectors
from smp.kernels.sorting.counting import (
    count_alone,
    count_various,
    range_around,
    sort_by_counting,
    write_runs,
)
from smp.kernels.sorting.fast import entropy, sort_fast
from smp.kernels.sorting.forms import FORMS as PROGRAMS
from smp.kernels.sorting.functions import argsort, sort
from smp.kernels.sorting.halves import halve, pivot_of
from smp.kernels.sorting.keys import DTYPES
from smp.kernels.sorting.orders.fast import argsort_fast
from smp.kernels.sorting.parts import CELLS, MOST_PARTS, Scale, each_part, heaviest, scale_of
from smp.kernels.sorting.parts import partition as move_all
from smp.kernels.sorting.sampling import (
    FEW_DIFFERENT,
    different,
    different_unless_running,
    first_way,
    repeats,
    vary,
)

Array = NDArray[Any]
INTEGERS = [dtype for dtype in DTYPES if dtype.kind != "f"]
LAYOUTS = ["plain", "strided", "reversed", "read-only", "other byte order", "unaligned"]
STREAMS = [1, 2, 4]


@pytest.fixture(autouse=True)
def many_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a handful of keys go into parts; hundreds of keys fill all parts."""
    monkeypatch.setattr(fast, "PART_BYTES", 32)
    monkeypatch.setattr(parts, "_PIECE", 64)


@pytest.fixture(scope="module")
def machine() -> Iterator[smp.Machine]:
    with smp.emulated(2) as opened:
        yield opened


def keys_of(dtype: np.dtype[Any], most: int = 300) -> st.SearchStrategy[Array]:
    """Draw any keys of a dtype, or few distinct ones: NaN and zeros of both signs, infinities, extremes."""
    element = arrays.from_dtype(dtype)
    few = st.lists(element, min_size=1, max_size=4).flatmap(st.sampled_from)
    length = st.integers(0, most)
    return st.one_of(arrays.arrays(dtype, length, elements=element), arrays.arrays(dtype, length, elements=few))


def random_keys(dtype: Any, n: int, seed: int = 0) -> Array:
    """Return evenly spread keys; integers cover their whole range."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "f":
        return rng.standard_normal(n).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, n, kind, endpoint=True)


def laid_out(keys: Array, layout: str) -> Array:
    """Return the same keys in another layout."""
    if layout == "strided":
        return np.repeat(keys, 3)[1::3]
    if layout == "reversed":
        return keys[::-1].copy()[::-1]
    if layout == "other byte order":
        return keys.astype(keys.dtype.newbyteorder())
    if layout == "unaligned":
        octets = np.zeros(keys.nbytes + 1, np.uint8)
        octets[1:] = keys.view(np.uint8)
        return octets[1:].view(keys.dtype)
    made = keys.copy()
    made.flags.writeable = layout != "read-only"
    return made


def assert_order(order: Array, keys: Array) -> None:
    """Check that the order is a permutation that sorts the keys."""
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(len(keys)))
    np.testing.assert_array_equal(keys[order], np.sort(keys))


# ------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("algorithm", ["auto", "numpy", "halves", "partition"])
@pytest.mark.parametrize("dtype", each(2, DTYPES), ids=str)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_keys_are_sorted_as_numpy_sorts_them(dtype: np.dtype[Any], algorithm: str, data: st.DataObject) -> None:
    keys = laid_out(data.draw(keys_of(dtype)), data.draw(st.sampled_from(LAYOUTS)))
    before, streams = keys.copy(), data.draw(st.sampled_from(STREAMS))
    out = np.empty(len(keys), dtype)
    sort_fast(keys, out, streams, algorithm)
    np.testing.assert_array_equal(out, np.sort(keys))
    assert_order(argsort_fast(keys, streams, "numpy" if algorithm == "halves" else algorithm), keys)
    np.testing.assert_array_equal(keys, before)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_keys_of_every_layout_are_sorted_in_parts(dtype: np.dtype[Any], layout: str) -> None:
    keys = random_keys(dtype, 5000)
    given = laid_out(keys, layout)
    np.testing.assert_array_equal(sort(given, algorithm="halves"), np.sort(given))
    found = sort(given, algorithm="partition")
    np.testing.assert_array_equal(found, np.sort(keys))
    assert (found.dtype, found.dtype.isnative, found.flags.c_contiguous) == (dtype, True, True)
    assert_order(argsort(given, algorithm="partition"), given)
    np.testing.assert_array_equal(given, keys)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_counting_sorts_keys_of_a_narrow_range(dtype: np.dtype[Any], data: st.DataObject) -> None:
    limits, width = np.iinfo(dtype), data.draw(st.sampled_from([1, 2, 200, 5000, counting.WIDEST]))
    lowest = data.draw(st.integers(limits.min, limits.max - width + 1))
    drawn = arrays.arrays(dtype, st.integers(0, 300), elements=st.integers(lowest, lowest + width - 1))
    keys = laid_out(data.draw(drawn), data.draw(st.sampled_from(LAYOUTS)))
    out, expected = np.empty(len(keys), dtype), np.sort(keys)
    assert sort_by_counting(keys, lowest, width, out, data.draw(st.sampled_from(STREAMS)))
    np.testing.assert_array_equal(out, expected)
    for threads in (1, 2):
        np.testing.assert_array_equal(sort(keys, algorithm="counting", threads=threads), expected)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), lengths=st.lists(st.integers(0, 80), min_size=1, max_size=12))
def test_runs_of_any_length_are_written_into_their_block_and_nowhere_else(
    data: st.DataObject, lengths: list[int]
) -> None:
    expected = np.repeat(np.arange(5, 5 + len(lengths)), lengths)
    n = len(expected)
    start, stop = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    out = np.full(n, -1)
    write_runs(np.cumsum(lengths), 5, start, stop, out)
    np.testing.assert_array_equal(out[start:stop], expected[start:stop])
    assert (out[:start] == -1).all()
    assert (out[stop:] == -1).all()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_one_stream_counts_keys_up_to_the_widest_range_and_leaves_others(dtype: np.dtype[Any]) -> None:
    limits, n = np.iinfo(dtype), 3000
    for lowest in (int(limits.min), int(limits.max) - 99):
        some = np.random.default_rng(1).integers(0, 100, n, np.uint64)
        some[:2] = 0, 99
        keys = (some + np.uint64(lowest % 2**64)).astype(dtype)
        for form in (count_alone, count_various):
            out = np.zeros(n, dtype)
            assert not form(keys, 99, out)
            assert (out == 0).all()
            assert form(keys, 100, out)
            np.testing.assert_array_equal(out, np.sort(keys))
        few = keys[:4].repeat(n // 4)
        assert not count_various(few, 100, out)
        assert count_alone(few, 100, out)
        np.testing.assert_array_equal(out, np.sort(few))


@pytest.mark.parametrize("stray", [*each(2, [99, 1100, -1, 2**40]), 500 + 2**32, 500 - 2**32])
def test_a_key_out_of_range_is_found_before_anything_is_written(stray: int) -> None:
    keys = np.random.default_rng(0).integers(100, 1100, 5000)
    keys[4321] = stray
    out = np.full(5000, 7)
    assert not sort_by_counting(keys, 100, 1000, out, 2)
    assert (out == 7).all()
    sort_fast(keys, out, 2)
    np.testing.assert_array_equal(out, np.sort(keys))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_keys_at_the_other_end_of_a_type_are_out_of_range(dtype: np.dtype[Any]) -> None:
    """Their places wrap round, to the one that follows the last."""
    limits = np.iinfo(dtype)
    for lowest, stray in ((int(limits.min), limits.max), (int(limits.max) - 999, limits.min)):
        keys = np.full(3000, lowest, dtype)
        out = np.full(3000, 7, dtype)
        assert sort_by_counting(keys, lowest, 1000, out, 1)
        keys[1234], out[:] = stray, 7
        assert not sort_by_counting(keys, lowest, 1000, out, 1)
        assert (out == 7).all()


def test_lists_and_empty_arrays_are_sorted() -> None:
    assert sort([3, 1, 2]).tolist() == [1, 2, 3]
    assert argsort([3, 1, 2]).tolist() == [1, 2, 0]
    for algorithm in ("auto", "numpy", "halves", "partition", "counting"):
        assert sort(np.empty(0, np.int32), algorithm=algorithm).dtype == np.int32
    assert argsort([]).dtype == np.int64
    assert sort([]).shape == (0,)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_can_be_named(machine: smp.Machine, name: str) -> None:
    for dtype in DTYPES:
        given = laid_out(random_keys(dtype, 100), "other byte order")
        np.testing.assert_array_equal(sort(given, machine=machine, algorithm=name), np.sort(given))


def test_programs_run_on_the_enclosing_machine() -> None:
    keys = random_keys(np.int64, 100)
    expected = np.sort(keys)
    with smp.emulated(3, trace=True) as around:
        assert sort(keys, algorithm="sample", out=keys) is keys
        assert {processor for processor, *_ in around.trace} == {0, 1, 2}
    np.testing.assert_array_equal(keys, expected)


def test_programs_open_a_machine_if_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "host", lambda: smp.emulated(2))

    def in_no_block() -> None:
        assert sort([2.0, 1.0], algorithm="radix").tolist() == [1.0, 2.0]

    contextvars.Context().run(in_no_block)


# ---------------------------------------------------------------------------------- the result's array


@pytest.mark.parametrize("algorithm", ["auto", "numpy", "halves", "partition", "counting"])
@pytest.mark.parametrize("kind", ["itself", "overlapping", "strided", "backwards", "other byte order"])
def test_out_may_be_any_array(algorithm: str, kind: str) -> None:
    expected = np.sort(np.random.default_rng(0).integers(0, 5000, 3000))
    store = np.zeros(9000, np.int64)
    keys = store[1000:4000]
    keys[:] = np.random.default_rng(0).integers(0, 5000, 3000)
    out = {
        "itself": keys,
        "overlapping": store[2000:5000],
        "strided": store[::3],
        "backwards": store[4000:1000:-1],
        "other byte order": np.zeros(3000, ">i8"),
    }[kind]
    assert sort(keys, algorithm=algorithm, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("keys", "options", "error", "message"),
    [
        (
            [1.5, 2.5],
            {"algorithm": "quick"},
            ValueError,
            "unknown algorithm 'quick'; choose one of auto, numpy, vectors, halves, partition",
        ),
        ([[1, 2]], {}, ValueError, r"one-dimensional array, not one of shape \(1, 2\)"),
        (7, {}, ValueError, r"shape \(\)"),
        (
            np.zeros(3, np.int16),
            {},
            TypeError,
            "int16, but must be one of int32, int64, uint32, uint64, float32, float64",
        ),
        (["a", "b"], {}, TypeError, "keys are <U1"),
        ([1, 2], {"out": np.zeros(2, np.int32)}, TypeError, "ndarray of int64.* not int32"),
        ([1, 2], {"out": [0, 0]}, TypeError, "not list"),
        ([1, 2], {"out": np.zeros(3, np.int64)}, ValueError, r"shape \(3,\), but the keys have shape \(2,\)"),
        ([1, 2], {"out": laid_out(np.zeros(2, np.int64), "read-only")}, ValueError, "read-only"),
        ([1.0], {"algorithm": "counting"}, TypeError, "integers, not float64"),
        ([-1, 1 << 17], {"algorithm": "counting"}, ValueError, "131,072 integers.* between -1 and 131072"),
    ],
)
def test_invalid_arguments_are_refused(
    keys: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        sort(keys, **options)


def test_argsort_refuses_programs() -> None:
    with pytest.raises(ValueError, match=r"'radix'; choose one of auto, numpy, packed, partition, values$"):
        argsort([1], algorithm="radix")


# ------------------------------------------------------------------------------------------ the choice


def shapes(n: int) -> dict[str, Array]:
    rng = np.random.default_rng(1)
    heavy = rng.standard_normal(n)
    heavy[rng.random(n) < 0.9] = 1.0
    return {
        "spread": rng.standard_normal(n),
        "log-normal": rng.lognormal(0, 4, n),
        "NaN in part": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
        "narrow": rng.integers(1000, 3000, n),
        "few": rng.integers(0, 5, n) * 1000,
        "equal": np.full(n, 3.0),
        "one heavy": heavy,
        "NaN": np.full(n, np.nan),
        "infinities": np.where(rng.random(n) < 0.5, np.inf, -np.inf),
        "two scales": np.where(rng.random(n) < 0.5, rng.random(n), 1e6 * rng.random(n)),
    }


@pytest.mark.parametrize(
    ("shape", "way"),
    [
        ("spread", "partition"),
        ("log-normal", "partition"),
        ("NaN in part", "partition"),
        ("narrow", "counting"),
        ("few", "numpy"),
        ("equal", "numpy"),
        ("one heavy", "numpy"),
        ("NaN", "numpy"),
        ("infinities", "numpy"),
        ("two scales", "partition"),
    ],
)
def test_auto_takes_the_form_that_pays(
    shape: str, way: str, without_vectors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All forms give the same result; a wrong choice shows only in the functions that are called."""
    taken = set()

    def noted(name: str, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            taken.add(name)
            return function(*args, **options)

        return call

    for least in ("WORTH_HALVING", "WORTH_PARTS"):
        monkeypatch.setattr(fast, least, 1)
    monkeypatch.setattr(fast, "worth_a_glance", lambda by_vectors: 1)
    monkeypatch.setattr(fast, "partition", noted("partition", move_all))
    for form in ("sort_by_counting", "count_exactly"):
        monkeypatch.setattr(fast, form, noted("counting", getattr(fast, form)))
    keys = shapes(20_000)[shape]
    out = np.empty_like(keys)
    sort_fast(keys, out, 2)
    np.testing.assert_array_equal(out, np.sort(keys))
    assert (taken or {"numpy"}) == {way}
    taken.clear()
    sort_fast(keys, out, 1)
    assert taken == {way} & {"counting"}


def test_short_arrays_and_a_single_stream_stay_in_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(fast, "partition")
    keys = random_keys(np.int64, 1000)
    np.testing.assert_array_equal(sort(keys), np.sort(keys))
    np.testing.assert_array_equal(sort(keys[::-2]), np.sort(keys[::-2]))
    assert_order(argsort(keys), keys)
    with smp.emulated(1):
        long = random_keys(np.int64, fast.WORTH_PARTS)
        np.testing.assert_array_equal(sort(long), np.sort(long))


# ------------------------------------------------------------------------------------------- the halves


@pytest.mark.parametrize("shape", shapes(10))
@pytest.mark.parametrize("streams", [*STREAMS, 3])
def test_halves_keep_the_order_of_their_keys(shape: str, streams: int) -> None:
    keys = shapes(5000)[shape]
    pivot = keys[4999:]
    into = np.empty_like(keys)
    below = keys < pivot
    assert halve(keys, pivot, streams, into).tolist() == [below.sum(), 5000]
    np.testing.assert_array_equal(into, np.concatenate((keys[below], keys[~below])))


def test_there_is_no_pivot_if_it_would_split_unevenly() -> None:
    pivot = pivot_of(np.arange(1000))
    assert pivot is not None
    assert pivot.tolist() == [500]
    for sample in (np.zeros(100), np.full(100, np.nan), np.repeat([0.0, 1.0], [29, 71])):
        assert pivot_of(sample) is None
    assert pivot_of(np.repeat([0.0, np.nan], [60, 40])) is None
    assert pivot_of(np.repeat([0.0, 1.0], [30, 70])) is not None


def test_arrays_of_medium_length_are_halved(without_vectors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def noted(*args: Any) -> Any:
        taken.append(1)
        return halve(*args)

    monkeypatch.setattr(fast, "halve", noted)
    monkeypatch.setattr(fast, "WORTH_HALVING", 8000)
    keys = random_keys(np.int64, 1000)
    for some, halved in ((keys, 1), (keys[::-1], 1), (keys[1:], 0), (np.zeros(1000, np.int64), 0)):
        out = np.empty_like(some)
        sort_fast(some, out, 2)
        np.testing.assert_array_equal(out, np.sort(some))
        assert len(taken) == halved
        taken.clear()
    sort_fast(keys, np.empty_like(keys), 1)
    assert not taken


# ---------------------------------------------------------------------------------------- the partition


@pytest.mark.parametrize("shape", shapes(10))
@pytest.mark.parametrize("streams", STREAMS)
def test_parts_are_in_order_and_keep_every_key(shape: str, streams: int) -> None:
    keys = shapes(5000)[shape]
    scale = scale_of(np.sort(keys[::5])) or Scale(0.0, 1.0, False)
    into, numbers = np.empty_like(keys), np.empty(len(keys), np.int64)
    ends = move_all(keys, scale, 20, streams, into, numbers)
    np.testing.assert_array_equal(into, keys[numbers])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(len(keys)))
    assert (ends[-1], len(ends)) == (len(keys), 20)
    for start, stop in itertools.pairwise([0, *ends]):
        into[start:stop].sort()
    np.testing.assert_array_equal(into, np.sort(keys))  # so no key was in an earlier part than a smaller key


def test_evenly_spread_keys_give_even_parts() -> None:
    keys = random_keys(np.float64, 200_000)
    scale = scale_of(np.sort(keys[:1024]))
    assert scale is not None
    assert not scale.by_bits
    ends = move_all(keys, scale, MOST_PARTS, 2, np.empty_like(keys))
    sizes = np.diff(ends, prepend=0)
    assert sizes.max() < 3 * len(keys) / MOST_PARTS  # each tail beyond the scale is one cell
    assert np.median(sizes) == pytest.approx(len(keys) / MOST_PARTS, rel=0.1)


def test_the_scale_is_logarithmic_if_the_keys_are() -> None:
    keys = np.sort(shapes(4000)["log-normal"])
    scale = scale_of(keys)
    assert scale is not None
    assert scale.by_bits
    assert heaviest(keys, scale) < 0.05
    assert heaviest(keys, Scale(keys[31], (CELLS - 1) / (keys[-32] - keys[31]), False)) > 0.2


@pytest.mark.parametrize("keys", [[], [np.nan], [np.inf, np.nan], [2.0, 2.0]])
def test_there_is_no_scale_for_keys_that_cannot_be_distinguished(keys: list[float]) -> None:
    assert scale_of(np.array(keys)) is None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_scale_handles_extreme_keys(dtype: np.dtype[Any]) -> None:
    limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    keys = np.array([limits.min, limits.max] * 50, dtype)
    assert scale_of(np.sort(keys)) is not None
    np.testing.assert_array_equal(sort(keys, algorithm="partition"), np.sort(keys))


def test_the_entropy_is_in_bits() -> None:
    assert entropy(np.arange(1024)) == pytest.approx(10)
    assert entropy(np.zeros(1024)) == pytest.approx(0)
    assert entropy(np.repeat(np.arange(8), 4)) == pytest.approx(3)
    assert entropy(np.sort([0] * 8 + [1] * 4 + [2, 2, 3, 3])) == pytest.approx(1.75)


def test_a_look_at_few_keys_detects_repeated_ones() -> None:
    n = 20_000
    assert [name for name, keys in shapes(n).items() if repeats(keys)] == ["few", "equal", "one heavy", "infinities"]
    assert not repeats(np.arange(100))
    assert all(repeats(keys) != vary(keys, FEW_DIFFERENT) for keys in shapes(n).values())


@settings(deadline=None)
@given(data=st.data())
def test_compiled_code_sees_whether_few_keys_differ_as_a_set_of_them_does(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    n, values, seed = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 60)), data.draw(st.integers(0, 9))
    keys = np.random.default_rng(seed).integers(0, values, n).astype(dtype)
    if dtype.kind == "f":
        keys[:: data.draw(st.integers(2, 300))] = np.nan  # each differs from all others
    assert vary(keys, FEW_DIFFERENT) != repeats(keys)
    assert [vary(keys, least) for least in (1, 2, 52)] == [different(keys) >= least for least in (1, 2, 52)]
    assert different_unless_running(keys) in (0, different(keys))
    assert (different_unless_running(keys) == 0) == bool(first_way(keys))


def test_the_range_around_a_sample_is_widened() -> None:
    assert range_around(np.array([100, 200])) == (78, 145)  # a sixteenth of 100, and 16, on each side
    assert range_around(np.array([3, 5], np.uint32)) == (0, 22)
    assert range_around(np.array([2**64 - 2], np.uint64)) == (2**64 - 18, 18)
    assert range_around(np.array([0, 1 << 17])) is None
    assert range_around(np.array([0.0, 1.0])) is None


def test_the_largest_part_is_taken_first_and_each_part_once() -> None:
    ends = np.cumsum([3, 0, 7, 5])
    done: list[slice] = []
    each_part(done.append, ends, 1)
    assert [part.stop - part.start for part in done] == [7, 5, 3, 0]
    assert {(part.start, part.stop) for part in done} == {(0, 3), (3, 3), (3, 10), (10, 15)}
    lock, seen = threading.Lock(), []

    def note(part: slice) -> None:
        with lock:
            seen.append(part.start)

    each_part(note, np.arange(1, 201), 3)
    assert sorted(seen) == list(range(200))


# ------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("algorithm", "most"), [("auto", 1.2), ("partition", 1.2), ("counting", 1.2), ("in place", 1.2), ("argsort", 2.2)]
)
@pytest.mark.parametrize("layout", each(2, ["plain", "other byte order"]))
def test_peak_memory_is_bounded(algorithm: str, most: float, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Peak memory in addition to the input, as a multiple of it; an order of uint32 keys has twice their size."""
    monkeypatch.setattr(fast, "PART_BYTES", 1 << 17)
    monkeypatch.setattr(parts, "_PIECE", 1 << 12)
    for least in ("WORTH_HALVING", "WORTH_PARTS"):
        monkeypatch.setattr(fast, least, 1)
    monkeypatch.setattr(fast, "worth_a_glance", lambda by_vectors: 1)
    n = 1 << 20
    spread = np.random.default_rng(0).integers(0, 10_000 if algorithm == "counting" else 1 << 32, n, np.uint32)
    keys = laid_out(spread, layout)

    def run() -> None:
        if algorithm == "argsort":
            argsort_fast(keys, 2)
        elif algorithm == "in place":
            sort_fast(keys, keys, 2)
        else:
            sort_fast(keys, np.empty(n, np.uint32), 2, "partition" if algorithm == "partition" else "auto")

    run()  # compiled by now
    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    moved = not (vectors.beat_numpy() or vectors.split_for_streams())  # the words, which are twice as long as the keys
    copied = ((layout != "plain") + 2 * moved) * (algorithm == "argsort")
    assert peak < (most + copied) * keys.size * keys.itemsize


@pytest.mark.parametrize("dtype", [one for one in DTYPES if one.kind != "f"], ids=str)
@pytest.mark.parametrize("outlier", [None, "lowest", "highest"])
def test_short_arrays_of_a_narrow_range_are_counted_unless_a_key_lies_elsewhere(
    dtype: np.dtype[Any], outlier: str | None, without_vectors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, n = np.iinfo(dtype), 70_000
    counted = list[bool]()
    monkeypatch.setattr(at_once, "count_various", lambda *args: counted.append(count_various(*args)) or counted[-1])
    for lowest in (int(limits.min), int(limits.max) - 1000, 0):
        keys = (np.random.default_rng(1).integers(0, 1000, n).astype(np.uint64) + np.uint64(lowest % 2**64)).astype(
            dtype
        )
        if outlier:
            keys[17] = limits.max if outlier == "highest" else limits.min
        counted.clear()
        assert fast.is_narrow(keys)
        np.testing.assert_array_equal(sort(keys), np.sort(keys))
        wide = int(keys.max()) - int(keys.min()) + 1
        assert counted == [wide <= keys.nbytes // fast.BYTES_A_COUNTER[vectors.width()]]


def test_a_glance_shows_which_keys_may_be_counted() -> None:
    rng, n = np.random.default_rng(1), 70_000
    assert fast.is_narrow(rng.integers(0, 1000, n))
    assert not fast.is_narrow(rng.integers(0, 2 * n, n))
    assert not fast.is_narrow(rng.integers(0, 100, 1000))  # too few
    assert not fast.is_narrow(rng.integers(0, 4, n))  # few distinct keys take longer to count
    assert not fast.is_narrow(rng.integers(0, 1000, n).astype(np.float64))
