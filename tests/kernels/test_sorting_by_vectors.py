"""Sorting in place with vectors, against NumPy's sort.  The tests need a CPU that has the instructions."""

import itertools
import math
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from support.keys_of_types import Keys, drawn, every_type, needs_vectors, same
from support.sampled import each

import smp
from smp.kernels.sorting import at_once, choice, fast, functions
from smp.kernels.sorting.by_vectors import in_place, vectors
from smp.kernels.sorting.by_vectors.blocks import sort_part, split_block, split_into
from smp.kernels.sorting.by_vectors.in_place import sort_in_place
from smp.kernels.sorting.by_vectors.vectors import (
    GROUP_BYTES,
)
from smp.kernels.sorting.functions import sort
from smp.kernels.sorting.keys import DTYPES
from smp.kernels.sorting.sampling import KEYS_THAT_REPEAT
from smp.selection.library import Library

either_end = pytest.mark.parametrize("by_numpy", [False, True], ids=["network", "NumPy"])


def small_parts(patch: pytest.MonkeyPatch, by_numpy: bool, together: bool) -> None:
    """Let arrays of some thousand keys be split as long ones are, and two streams split them together or not."""
    patch.setattr(vectors, "split_for_streams", lambda: by_numpy)
    patch.setattr(vectors, "numpy_sorts_alone", lambda dtype: by_numpy)
    octets = {"CHUNK_BYTES": 1 << 12, "LAST_BYTES": 1 << 11, "WORTH_SHARING": 1 << 12, "NUMPY_BYTES": 1 << 14}
    of_two = dict.fromkeys(("WORTH_TWO_BLOCKS", "COPIED_IN_TWO"), 0 if together else 1 << 30)
    for name, value in {**octets, "WORTH_BYTES": 1 << 13, **of_two}.items():
        patch.setattr(in_place, name, value)


SHAPES = {
    "any": lambda keys: keys,
    "few": lambda keys: keys[np.arange(len(keys)) * 7 % 5] if len(keys) > 4 else keys,
    "equal": lambda keys: np.full_like(keys, 3),
    "sorted": np.sort,
    "reversed": lambda keys: np.sort(keys)[::-1].copy(),
    "organ pipe": lambda keys: np.concatenate((np.sort(keys[::2]), np.sort(keys[1::2])[::-1])),
    "one low": lambda keys: np.where(np.arange(len(keys)) == 5, keys, keys.dtype.type(9)),
}


@needs_vectors
@every_type
@pytest.mark.parametrize("shape", each(2, SHAPES))
@either_end
def test_keys_are_sorted_in_place_as_numpy_sorts_them(
    dtype: np.dtype[Any], shape: str, by_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (0, 1, 2, 31, 33, 1000, 30_011):
        keys = SHAPES[shape](drawn(dtype, n))
        expected = np.sort(keys)
        for streams, together in ((1, True), (2, True), (2, False), (3, True), (7, True)):
            small_parts(monkeypatch, by_numpy, together)
            found, copied = keys.copy(), np.empty_like(keys)
            sort_in_place(found, streams)
            sort_in_place(copied, streams, source=keys)
            assert same(found, expected)
            assert same(copied, expected)


@needs_vectors
@settings(deadline=None)
@given(
    st.sampled_from(DTYPES).flatmap(lambda dtype: of_numpy.arrays(dtype, st.integers(0, 3000), fill=st.nothing())),
    st.integers(0, 10),
)
def test_any_keys_are_sorted(keys: Keys, repeats: int) -> None:
    found = np.concatenate([keys] * repeats) if repeats else keys.copy()
    expected = np.sort(found)
    sort(found, algorithm="vectors", out=found)
    assert same(found, expected)


class Other(np.ndarray[Any, Any]):
    """An array of another class, which `sort` does not sort at once."""


def noted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """Return a list that gets the third argument of each call of a function of `fast`: streams, or a width."""
    calls, function = list[int](), getattr(fast, name)
    for module in (fast, at_once):
        monkeypatch.setattr(module, name, lambda *args: calls.append(args[2]) or function(*args), raising=False)
    return calls


def counts(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[int]:
    """Return a list that gets the number of keys whenever a function of a module has sorted them by counting."""
    calls, function = list[int](), getattr(module, name)
    monkeypatch.setattr(module, name, lambda keys, *rest: function(keys, *rest) and (calls.append(len(keys)) or True))
    return calls


def few_values(dtype: np.dtype[Any], n: int, count: int, skew: float, seed: int) -> Keys:
    """Return keys of a few values, among them the ends of the type; with a skew, some are far rarer than others."""
    ends = [np.inf, -np.inf, np.nan] if dtype.kind == "f" else [np.iinfo(dtype).min, np.iinfo(dtype).max, 0]
    values = np.concatenate([np.array(ends, dtype), drawn(dtype, 3, seed)])
    rng = np.random.default_rng(seed)
    rng.shuffle(values)
    shares = np.arange(1.0, count + 1) ** -skew
    return rng.choice(values[:count], n, p=shares / shares.sum())


@needs_vectors
@settings(deadline=None)
@given(st.sampled_from(DTYPES), st.integers(0, 6000), st.integers(1, 6), st.floats(0, 8), st.integers(0, 99))
def test_keys_of_few_values_are_sorted(dtype: np.dtype[Any], n: int, count: int, skew: float, seed: int) -> None:
    keys = few_values(dtype, n, count, skew, seed)
    expected = np.sort(keys)
    sort_in_place(keys, 1)
    assert same(keys, expected)


@needs_vectors
@every_type
@pytest.mark.parametrize("skew", [0.0, 3.0, 8.0])
@either_end
def test_keys_of_few_values_are_sorted_on_several_streams(
    dtype: np.dtype[Any], skew: float, by_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(12):
        small_parts(monkeypatch, by_numpy, together=seed % 2 > 0)
        keys = few_values(dtype, 20_000 + seed, 1 + seed % 6, skew, seed)
        expected = np.sort(keys)
        sort_in_place(keys, 1 + seed % 3)
        assert same(keys, expected)


@needs_vectors
@every_type
def test_keys_of_few_values_are_split_a_few_times(dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """No part is left to NumPy, however often its median is one of the values."""
    for seed in range(40):
        keys = few_values(dtype, 5000, 1 + seed % 6, seed % 4, seed)
        if (keys != keys).any():
            continue
        left = np.empty((64, 2), np.int64)
        assert sort_part(keys, 0, len(keys), left) == 0
        assert same(keys, np.sort(keys))


@needs_vectors
@every_type
def test_a_block_is_split_at_the_place_that_is_returned(dtype: np.dtype[Any]) -> None:
    group = GROUP_BYTES // dtype.itemsize
    for n in (group, 2 * group, 2 * group + 1, 3 * group - 1, 4 * group, 5 * group - 1, 7 * group, 1000, 1001):
        for seed in range(20):
            keys = drawn(dtype, n + 6, seed)
            pivot = keys[3 + seed % n]
            if pivot != pivot:
                continue
            found = keys.copy()
            middle = split_block(found, 3, n + 3, pivot)
            assert (found[3:middle] <= pivot).all()
            assert not (found[middle : n + 3] <= pivot).any()
            assert sorted(found.view(f"u{dtype.itemsize}")) == sorted(keys.view(f"u{dtype.itemsize}"))
            outside = [0, 1, 2, n + 3, n + 4, n + 5]
            assert found[outside].tobytes() == keys[outside].tobytes()


@needs_vectors
@every_type
def test_keys_are_split_into_another_array(dtype: np.dtype[Any]) -> None:
    group = GROUP_BYTES // dtype.itemsize
    for n in (0, 1, group - 1, group, 2 * group + 3, 1000, 1001):
        keys = drawn(dtype, n + 6, n)
        pivot = np.sort(keys)[n // 3]
        found = np.full(n + 6, 7, dtype)
        middle = split_into(keys, found, 3, n + 3, pivot)
        assert (found[3:middle] <= pivot).all()
        assert not (found[middle : n + 3] <= pivot).any()
        assert same(np.sort(found[3 : n + 3]), np.sort(keys[3 : n + 3]))
        assert found[[0, 1, 2, n + 3, n + 4, n + 5]].tolist() == [7] * 6


@needs_vectors
@settings(deadline=None)
@given(st.sampled_from(DTYPES), st.lists(st.sampled_from([0, 4, 8]), max_size=60), st.integers(0, 70))
def test_any_order_of_low_and_high_keys_leaves_room_on_both_sides(
    dtype: np.dtype[Any], eighths: list[int], more: int
) -> None:
    """Each group has some eighths of low keys, before the high ones, so that one side gets all keys or few of them."""
    group = GROUP_BYTES // dtype.itemsize
    low = np.concatenate([np.arange(group) < group // 8 * count for count in [4, *eighths]] + [np.arange(more) % 3 < 1])
    keys = np.arange(1, len(low) + 1).astype(dtype)
    keys[~low] += dtype.type(10_000)
    found = keys.copy()
    assert split_block(found, 0, len(keys), dtype.type(10_000)) == low.sum()
    assert same(np.sort(found[: low.sum()]), keys[low])
    assert same(np.sort(found[low.sum() :]), keys[~low])


@needs_vectors
def test_parts_with_bad_pivots_are_left_to_numpy() -> None:
    """Half of the keys are NaN, so the median of some of them is, too."""
    keys = np.where(np.arange(20_000) % 3 > 0, np.nan, np.arange(20_000.0)[::-1])
    left = np.empty((64, 2), np.int64)
    found = keys.copy()
    assert sort_part(found, 0, len(keys), left) == 1
    assert left[0].tolist() == [0, len(keys)]
    sort_in_place(found, 2)
    assert same(found, np.sort(keys))


@needs_vectors
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_short_parts_with_nan_are_given_back_complete(dtype: Any, share: float) -> None:
    """A pivot that is NaN is found after some splits, while parts wait in both halves of the buffer."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        keys = rng.permutation(1500 + 10 * seed).astype(dtype)
        keys[rng.random(len(keys)) < share] = np.nan
        found, left = keys.copy(), np.empty((64, 2), np.int64)
        for low, high in left[: sort_part(found, 0, len(keys), left)].tolist():
            found[low:high].sort()
        assert same(found, np.sort(keys))


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("together", [False, True])
def test_the_failure_of_one_stream_leaves_no_other_one_waiting(
    calls: int, together: bool, with_vectors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, by_numpy=True, together=together)
    left, function = itertools.count(1), in_place.sort_shared

    def failing(*args: Any) -> Any:
        if next(left) == calls:
            raise MemoryError("made up")
        return function(*args)

    monkeypatch.setattr(in_place, "sort_shared", failing)
    keys = np.random.default_rng(0).random(50_000)
    with pytest.raises(MemoryError, match="made up"):
        sort_in_place(np.empty_like(keys), 2, source=keys)


@needs_vectors
@pytest.mark.parametrize("together", [False, True])
def test_streams_share_keys_of_any_source(together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch, by_numpy=True, together=together)
    monkeypatch.setattr(in_place, "sort_alone", None)
    keys = drawn(np.dtype(np.float64), 40_000)
    for source in (keys[::2], keys[20_000:], keys[:20_000].astype(">f8")):
        found = np.empty(20_000)
        sort_in_place(found, 2, source=source)
        assert same(found, np.sort(source).astype(float))


@needs_vectors
def test_no_memory_is_needed_in_place() -> None:
    import tracemalloc

    keys = np.random.default_rng(0).random(1 << 20)
    sort(keys.copy(), algorithm="vectors")  # compiles
    tracemalloc.start()
    sort(keys, algorithm="vectors", out=keys)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < keys.nbytes / 50


def test_auto_takes_vectors_for_all_but_short_arrays_and_narrow_ranges(
    with_vectors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, alone = noted(monkeypatch, "sort_by_vectors"), at_once.sort_alone
    monkeypatch.setattr(at_once, "sort_alone", lambda *args: taken.append(1) or alone(*args))
    rng = np.random.default_rng(1)
    short = fast.WORTH_VECTORS // 8
    for keys, expected in (
        (rng.random(short - 1), []),
        (rng.random(short), [1]),
        (rng.random(1 << 19), [2]),
        (np.tile([1.0, 0.0], 1 << 18), [2]),
        (np.arange(1 << 19), []),  # copied
        (rng.integers(0, 1000, 1 << 20), []),  # counted
    ):
        taken.clear()
        assert same(sort(keys, threads=2), np.sort(keys))
        assert taken == expected


@every_type
@pytest.mark.parametrize("way", ["of all kinds", "short", "narrow", "with an outlier", "in order"])
def test_short_arrays_are_sorted_at_once(
    dtype: np.dtype[Any], way: str, with_vectors: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go through no other function, unless they are in order; in place, too."""
    n = {"short": fast.WORTH_VECTORS // 8}.get(way, in_place.CHUNK_BYTES // dtype.itemsize)
    keys = drawn(dtype, n)
    if way in ("narrow", "with an outlier") and dtype.kind != "f":
        keys = np.random.default_rng(1).integers(0, 1000, n).astype(dtype)
        keys[17] = np.iinfo(dtype).max if way == "with an outlier" else keys[17]
    elif way == "in order":
        keys = keys[np.argsort(keys)]
    counted, asked, others = counts(monkeypatch, at_once, "count_exactly"), list[int](), functions._sort
    monkeypatch.setattr(functions, "_sort", lambda *args: asked.append(len(args[0])) or others(*args))
    before, expected = keys.copy(), np.sort(keys)
    assert same(sort(keys), expected)
    assert same(keys, before)
    assert sort(keys, out=keys) is keys
    assert same(keys, expected)
    assert asked == ([n] * 2 if way == "in order" else [])
    assert len(counted) == (2 if way == "narrow" and dtype.kind != "f" else 0)


def test_short_arrays_that_cannot_be_written_are_refused_in_place(with_vectors: None) -> None:
    for n in (10, 3000):
        keys = drawn(np.dtype(np.int64), n)
        keys.flags.writeable = False
        assert same(sort(keys), np.sort(keys))
        with pytest.raises(ValueError, match="out is read-only"):
            sort(keys, out=keys)


def test_libraries_with_vectors_choose_among_them_counting_and_numpy(with_vectors: None) -> None:
    names: Any = [*choice.sort_library(np.dtype(np.int64), 2).implementations]
    assert names == ["numpy", "vectors alone", "counting alone", "counting", "vectors"]
    library: Library = choice.sort_library(np.dtype(np.float64), 1)
    assert [*library.implementations] == ["numpy", "vectors alone"]
    assert [library.choose(n, 15.0, 1.0, 0.0, 0.5) for n in (700, 710, 10**7)] == ["numpy", *["vectors alone"] * 2]
    two: Library = choice.sort_library(np.dtype(np.int64), 2)
    assert [two.choose(n, 15.0, 1.0, 0.0, 0.5, 1e9) for n in (3e4, 4e4)] == ["vectors alone", "vectors"]
    assert [two.choose(n, 3.0, 0.0, 0.0, 0.5, 1e9) for n in (1e5, 2e5)] == ["vectors alone", "vectors"]
    assert [two.choose(n, 9.0, 1.0, 0.0, 0.5, 1e3) for n in (2e3, 4e3, 2e6)] == [
        "vectors alone", "counting alone", "counting"
    ]  # fmt: skip


def test_without_the_instructions_vectors_are_refused(without_vectors: None) -> None:
    with pytest.raises(smp.errors.Unsupported, match=r"algorithm=\"vectors\" needs a CPU with AVX-512 or AVX2"):
        sort([2, 1], algorithm="vectors")
    assert "vectors" not in choice.sort_library(np.dtype(np.int32), 2).implementations


def test_auto_lets_vectors_split_long_arrays_for_numpy(splitting: None, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = noted(monkeypatch, "sort_by_vectors")
    rng = np.random.default_rng(1)
    short = fast.worth_moving(True) // 8
    for keys, by_two, by_many in (
        (rng.random(short - 1), [], []),
        (rng.random(short), [2], [2]),
        (rng.random(1 << 21), [2], []),  # by many, moved into parts
        (np.tile([1.0, 0.0], short), [], []),
        (rng.integers(0, 30, fast.FEWER_FOR_STREAMS[vectors.width()] * short + 16) / 1.0, [2], [2]),
        (np.arange(1 << 19), [], []),  # copied
        (rng.integers(0, 1000, 1 << 20), [], []),  # counted
    ):
        for threads, expected in ((1, []), (2, by_two), (fast.MOST_SPLITTING + 1, by_many)):
            taken.clear()
            assert same(sort(keys, threads=threads), np.sort(keys))
            assert taken == expected


LONGER = at_once._longer(9)
"""Length from which two streams split keys of nine values, over that of keys that all differ."""


@pytest.mark.parametrize(
    ("way", "split", "asked"),
    [
        ("many", [2, 2], 0),
        ("narrow integers", [], 0),
        ("long and narrow", [], 2),
        ("nearly in order", [2, 2], 0),
        ("in order", [], 2),
        ("few", [], 0),
        ("few of a longer array", [2, 2], 0),
        ("short and nearly in order", [], 0),
        ("short, narrow and nearly in order", [], 0),
        ("short and in order", [], 2),
    ],
)
def test_keys_are_split_or_left_to_numpy_at_once_where_a_few_of_them_show_that_it_pays(
    way: str, split: list[int], asked: int, splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    n, rng, short = fast.worth_moving(True) // 8, np.random.default_rng(1), fast.worth_a_glance(False) // 8
    keys = {
        "many": rng.random(n),
        "narrow integers": rng.integers(0, 10_000, n),
        "long and narrow": rng.integers(0, 10_000, 2 * fast.KEYS_TO_COUNT),
        "nearly in order": np.append(np.arange(300.0), np.arange(1.0 * n)),
        "in order": np.arange(1.0 * n),
        "few": rng.integers(0, 9, n) / 2,
        "few of a longer array": rng.integers(0, 9, LONGER * n) / 2,
        "short and nearly in order": np.append(np.arange(300.0), np.arange(1.0 * short)),
        "short, narrow and nearly in order": np.append(np.arange(300), np.sort(rng.integers(0, 8000, short))),
        "short and in order": np.arange(1.0 * short),
    }[way]
    monkeypatch.setattr(at_once, "streams_for", lambda machine: 2)
    taken, others = noted(monkeypatch, "sort_by_vectors"), functions._sort
    calls: list[int] = []
    monkeypatch.setattr(functions, "_sort", lambda *args: calls.append(1) or others(*args))
    expected = np.sort(keys)
    assert same(sort(keys), expected)
    sort(keys, out=keys)
    assert same(keys, expected)
    assert taken == split
    assert len(calls) == asked


@pytest.fixture
def split(splitting: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two streams share the keys; the list gets the number of streams whenever vectors would split some at once."""
    taken = list[int]()

    def sort_by_numpy(keys: Keys, out: Keys, several: int) -> None:
        taken.append(several)
        out[...] = np.sort(keys)

    monkeypatch.setattr(at_once, "streams_for", lambda machine: 2)
    monkeypatch.setattr(at_once, "sort_by_vectors", sort_by_numpy)
    return taken


@pytest.mark.parametrize("width", [32, 64])
def test_keys_of_few_values_are_split_at_once_if_they_are_enough_for_several_streams(
    width: int, split: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "width", lambda: width)
    keys = np.random.default_rng(1).integers(0, 9, at_once._longer(9) * fast.worth_moving(True) // 8) / 2
    assert same(sort(keys), np.sort(keys))
    assert split == [2]


@pytest.mark.parametrize(
    ("seen", "by_width"),
    [
        *((seen, {32: 11, 64: 40}) for seen in (1, 4)),
        *((seen, {32: 4, 64: 14}) for seen in (5, 31)),
        *((seen, {32: 3, 64: 8}) for seen in (32, 51)),
        *((seen, {32: 2, 64: 4}) for seen in (52, 60)),
        *((seen, {32: 1, 64: 1}) for seen in (61, 64)),
    ],
)
@pytest.mark.parametrize("width", [32, 64])
def test_the_fewer_keys_differ_the_longer_are_the_arrays_that_two_streams_split(
    width: int, seen: int, by_width: dict[int, int], split: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    longer = by_width[width]
    monkeypatch.setattr(vectors, "width", lambda: width)
    monkeypatch.setattr(at_once, "different_unless_running", lambda keys: seen)
    keys = np.random.default_rng(1).random(longer * fast.worth_moving(True) // 8)
    assert same(sort(keys[1:]), np.sort(keys[1:]))
    assert split == []
    assert same(sort(keys), np.sort(keys))
    assert split == [2]


@needs_vectors
@pytest.mark.parametrize(("numpys", "fewer"), [(False, 2), (False, math.inf), (True, 2)])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_one_stream_takes_vectors_for_many_different_keys_unless_numpy_sorts_alone(
    dtype: Any, numpys: bool, fewer: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fast.FEWER_ALONE, vectors.width(), fewer)
    monkeypatch.setitem(fast.DIFFERENT_ALONE, vectors.width(), 32)
    monkeypatch.setattr(vectors, "beat_numpy", lambda: False)
    monkeypatch.setattr(vectors, "numpy_sorts_alone", lambda dtype: numpys)
    alone, function = list[int](), at_once.sort_alone
    monkeypatch.setattr(at_once, "sort_alone", lambda *args: alone.append(1) or function(*args))
    by_rule = noted(monkeypatch, "sort_by_vectors")
    n = fast.WORTH_ALONE[np.dtype(dtype).itemsize] // np.dtype(dtype).itemsize
    many = drawn(np.dtype(dtype), n)
    few = many[np.arange(n) % 5]
    more = np.tile(few, 2)
    cases = (many, not numpys), (many[:-1], False), (few, False), (more, not numpys and fewer == 2), (more[:-1], False)
    for keys, pays in (*cases, (many[::2], False)):
        alone.clear()
        by_rule.clear()
        assert same(sort(keys), np.sort(keys))
        assert len(alone) == pays
        assert by_rule == []
        assert same(sort(keys.view(Other), threads=1), np.sort(keys))
        assert by_rule == [1] * pays


@pytest.mark.parametrize("least", [32, KEYS_THAT_REPEAT])
def test_equal_keys_among_the_first_ones_show_that_not_all_differ(
    least: int, splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If vectors sort only keys that all differ, nothing else is asked then; it takes 10 us in cold caches."""
    for name, value in (("DIFFERENT_ALONE", least), ("FEWER_ALONE", math.inf)):
        monkeypatch.setitem(getattr(fast, name), vectors.width(), value)
    monkeypatch.setattr(vectors, "numpy_sorts_alone", lambda dtype: False)
    asked = list[int]()
    monkeypatch.setattr(at_once, "worth_alone", lambda keys: bool(asked.append(len(keys))))
    n = fast.WORTH_ALONE[8] // 8
    keys = np.random.default_rng(0).random(n)
    for first, apart in ((keys[8], least == 32), (0.0, True)):
        asked.clear()
        keys[0], keys[1] = first, 2.0
        assert same(sort(keys), np.sort(keys))
        assert asked == [n] * apart


def test_models_are_asked_where_vectors_would_split_keys_at_once(
    splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        functions, "by_models", lambda library, request, seen: np.copyto(request.out, np.sort(request.keys))
    )
    monkeypatch.setattr(at_once, "streams_for", lambda machine: 2)
    keys = np.random.default_rng(1).random(1 << 18)
    library = choice.sort_library(keys.dtype, 2)
    monkeypatch.setattr(library, "models", {"numpy": None})
    monkeypatch.setattr(library, "worth", len(keys))
    taken = noted(monkeypatch, "sort_by_vectors")
    assert same(sort(keys), np.sort(keys))
    assert taken == []
    assert same(sort(keys[1:]), np.sort(keys[1:]))
    assert taken == [2]


def test_models_are_not_asked_about_arrays_that_are_too_short_to_split(
    splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule decides, because to look for the models would take a tenth of the time."""
    asked: list[int] = []
    monkeypatch.setattr(functions, "by_models", lambda library, request, seen: asked.append(len(request.keys)))
    monkeypatch.setattr(at_once, "streams_for", lambda machine: 2)
    library = choice.sort_library(np.dtype(np.float64), 2)
    monkeypatch.setattr(library, "models", {"numpy": None})
    monkeypatch.setattr(library, "worth", 0)
    n = fast.worth_moving(True) // 8
    keys = np.random.default_rng(1).random(n)
    assert same(sort(keys[1:].copy()), np.sort(keys[1:]))
    assert asked == []
    sort(keys)
    assert asked == [n]


def test_in_place_vectors_split_whatever_the_models_of_new_arrays_say(
    splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = noted(monkeypatch, "sort_by_vectors")
    asked: list[Any] = []
    monkeypatch.setattr(functions, "by_models", lambda library, request, seen: asked.append(request.out.sort()))
    keys = np.random.default_rng(1).random(1 << 19)
    library = choice.sort_library(keys.dtype, 2)
    monkeypatch.setattr(library, "models", {"numpy": None})
    monkeypatch.setattr(library, "worth", 0)
    sort(keys, threads=2)
    assert (len(asked), taken) == (1, [])
    expected = np.sort(keys)
    sort(keys, threads=2, out=keys)
    assert same(keys, expected)
    assert (len(asked), taken) == (1, [2])


@pytest.mark.parametrize("width", [32, 64])
def test_auto_counts_keys_of_12_or_20_kib_on_these_cpus(
    width: int, splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "width", lambda: width)
    counted = counts(monkeypatch, at_once, "count_various")
    rng = np.random.default_rng(1)
    n = {32: 12 << 10, 64: 20 << 10}[width] // 4
    assert fast.worth_counting(False, 8) == 12 << 10
    for keys, expected in (
        (rng.integers(0, 1000, n - 1, np.int32), []),
        (rng.integers(0, 1000, n, np.int32), [n]),
        (rng.integers(0, n, n, np.int32), []),  # too wide a range
        (rng.integers(0, 5, n, np.int32), []),  # NumPy sorts keys of few values faster
        (rng.random(n, np.float32), []),
    ):
        counted.clear()
        assert same(sort(keys), np.sort(keys))
        assert counted == expected


@pytest.mark.parametrize("width", [32, 64])
def test_auto_counts_wider_ranges_with_avx2(width: int, splitting: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 8 bytes of keys for each integer instead of 16."""
    monkeypatch.setattr(vectors, "width", lambda: width)
    counted = counts(monkeypatch, at_once, "count_various")
    keys = np.random.default_rng(1).integers(0, 10_000, 15_000)
    assert same(sort(keys), np.sort(keys))
    assert counted == [15_000] * (width == 32)


@pytest.mark.parametrize("size", [2**19, 2**18])
def test_narrow_integers_are_counted_before_models_are_asked(
    size: int, splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless two streams may count them sooner."""
    for module in (at_once, functions):
        monkeypatch.setattr(module, "models_are_asked", lambda keys, inside, streams: asked.append(len(keys)) or True)
    monkeypatch.setattr(functions, "by_models", lambda library, request, seen: np.copyto(request.out, np.sort(keys)))
    asked: list[int] = []
    keys = np.random.default_rng(1).integers(0, 1000, size)
    assert same(sort(keys), np.sort(keys))
    assert asked == [size] * (size >= 2**19)


def test_libraries_of_cpus_whose_vectors_split_choose_them_by_rule(splitting: None) -> None:
    library: Library = choice.sort_library(np.dtype(np.float64), 2)
    assert [*library.implementations] == ["numpy", "vectors", "halves", "partition"]
    least = fast.worth_moving(True) // 8
    assert [library.choose(n, 15.0, 1.0, 0.0, 0.5) for n in (least - 1, least, 10**7)] == ["numpy", *["vectors"] * 2]
    longer = fast.FEWER_FOR_STREAMS[vectors.width()] * least
    assert [library.choose(n, 2.0, 0.0, 0.0, 0.5) for n in (longer - 1, longer)] == ["numpy", "vectors"]
    assert "vectors" not in choice.sort_library(np.dtype(np.float64), 5).implementations


def test_libraries_of_cpus_whose_vectors_sort_alone_choose_them_for_one_stream_too(
    splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no halves and parts where two streams may split keys with vectors, which takes less time."""
    monkeypatch.setattr(vectors, "numpy_sorts_alone", lambda dtype: False)
    monkeypatch.setitem(fast.FEWER_ALONE, vectors.width(), 2)
    one, two, many = (choice.sort_library(np.dtype(np.float64), streams) for streams in (1, 2, 5))
    assert [*one.implementations] == ["numpy", "vectors alone"]
    assert [*two.implementations] == ["numpy", "vectors alone", "vectors"]
    assert [*many.implementations] == ["numpy", "vectors alone", "halves", "partition"]
    alone, least = fast.WORTH_ALONE[8] // 8, fast.worth_moving(True) // 8
    chosen = [two.choose(n, 15.0, 1.0, 0.0, 0.5) for n in (alone - 1, alone, least - 1, least)]
    assert chosen == ["numpy", "vectors alone", "vectors alone", "vectors"]
    longer = fast.FEWER_FOR_STREAMS[vectors.width()] * least
    chosen = [two.choose(n, 2.0, 0.0, 0.0, 0.5) for n in (2 * alone - 1, 2 * alone, longer - 1, longer)]
    assert chosen == ["numpy", "vectors alone", "vectors alone", "vectors"]
    assert [one.choose(n, 15.0, 1.0, 0.0, 0.5) for n in (alone - 1, 10**7)] == ["numpy", "vectors alone"]


def test_loops_that_are_compiled_for_another_cpu_have_no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert not vectors.has_vectors.__wrapped__()


@pytest.mark.parametrize(
    ("cpu", "width", "faster"),
    [
        ("znver3", 32, False),
        ("znver4", 64, True),
        ("znver4", 32, False),
        ("znver5", 64, False),
        ("emeraldrapids", 64, False),
    ],
)
def test_vectors_replace_numpy_where_it_stores_lanes_slowly(
    with_vectors: None, cpu: str, width: int, faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llvmlite import binding

    monkeypatch.undo()
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: cpu)
    monkeypatch.setattr(vectors, "width", lambda: width)
    assert vectors.beat_numpy.__wrapped__() is faster


@needs_vectors
@pytest.mark.parametrize(
    ("cpu", "width", "chosen", "ours"),
    [
        ("emeraldrapids", 64, [4], ["int64", "uint64"]),
        ("znver5", 64, [], ["int64", "uint64"]),
        ("znver3", 32, [], DTYPES),
    ],
)
def test_each_cpu_splits_and_sorts_the_keys_that_it_is_good_at(
    cpu: str, width: int, chosen: list[int], ours: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intel's store chosen lanes of 32 bits; with AVX-512, one stream sorts only 64-bit integers with vectors."""
    from llvmlite import binding

    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: cpu)
    for name, function in (("width", lambda: width), ("_of_amd", vectors._of_amd.__wrapped__)):
        monkeypatch.setattr(vectors, name, function)
    monkeypatch.setattr(vectors, "beat_numpy", lambda: False)
    assert [octets for octets in (4, 8) if vectors.store_chosen(octets)] == chosen
    assert [dtype for dtype in DTYPES if vectors.sort_alone(dtype)] == [np.dtype(name) for name in ours]
    assert vectors.most_split(8) == 8


@pytest.mark.skipif(vectors.width() != 64 or not vectors.has_vectors(), reason="the CPU has no AVX-512")
@pytest.mark.parametrize("distinct", [0, 100])
def test_numpy_sorts_parts_of_repeated_integers(distinct: int, monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch, True, True)
    monkeypatch.setattr(vectors, "numpy_sorts_alone", lambda dtype: False)
    left, function = list[int](), in_place.sort_shared
    monkeypatch.setattr(in_place, "sort_shared", lambda *args: left.append(function(*args)) or left[-1])
    keys = drawn(np.dtype(np.int64), 30_000)
    if distinct:
        keys %= distinct
    expected = np.sort(keys)
    sort_in_place(keys, 2)
    assert same(keys, expected)
    assert any(left) == bool(distinct)
