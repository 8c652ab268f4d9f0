"""The orders of keys of few values, compared with NumPy's, on keys of any bits and in any layout."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from smp.kernels.sorting import choice, functions
from smp.kernels.sorting.by_vectors import vectors
from smp.kernels.sorting.functions import argsort
from smp.kernels.sorting.keys import DTYPES, unsigned
from smp.kernels.sorting.orders import at_once, fast
from smp.kernels.sorting.orders.passes import count_few, most_passes, write_passes
from smp.kernels.sorting.orders.values import MOST_VALUES, argsort_values
from smp.kernels.sorting.sampling import ALL_DIFFER

Array = NDArray[Any]


def assert_order(order: Array, keys: Array) -> None:
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(len(keys)))
    np.testing.assert_array_equal(keys[order], np.sort(keys))


def values_of(dtype: np.dtype[Any], count: int) -> Array:
    """Return different values of a type, among them its ends; of floats also infinities, NaN and two zeros."""
    rng = np.random.default_rng(count)
    if dtype.kind == "f":
        ends = [np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).tiny]
        return np.concatenate([np.array(ends, dtype), rng.standard_normal(count).astype(dtype)])[:count]
    limits = np.iinfo(dtype)
    some = rng.choice(2**31 - 2, count, replace=False).astype(dtype) + dtype.type(1)
    return np.concatenate([np.array([limits.min, limits.max], dtype), some])[:count]


@settings(deadline=None)
@given(data=st.data())
def test_any_few_values_in_any_layout_are_ordered(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    n, count = data.draw(st.integers(0, 500)), data.draw(st.integers(1, MOST_VALUES))
    values, rng = values_of(dtype, count), np.random.default_rng(data.draw(st.integers(0, 9)))
    keys = values[np.minimum(rng.geometric(data.draw(st.sampled_from([0.5, 0.01])), n), count) - 1]
    layout = data.draw(st.sampled_from(["plain", "strided", "read-only", "other byte order"]))
    if layout == "strided":
        keys = np.repeat(keys, 2)[::-2]
    elif layout == "read-only":
        keys.flags.writeable = False
    elif layout == "other byte order":
        keys = keys.astype(dtype.newbyteorder())
    before, threads = keys.copy(), data.draw(st.sampled_from([1, 2, 3, 8]))
    assert_order(argsort(keys, algorithm="values", threads=threads), keys)
    np.testing.assert_array_equal(keys, before)


@settings(deadline=None)
@given(data=st.data())
def test_keys_of_very_few_values_are_ordered_by_passes(data: st.DataObject) -> None:
    """Some values come late, and some rarely, so that no whole vector of their indices may be stored."""
    dtype, n = data.draw(st.sampled_from(DTYPES)), data.draw(st.integers(1, 3000))
    most = most_passes(np.empty(0, dtype))
    some = values_of(dtype, data.draw(st.integers(1, most)))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    keys = rng.choice(some[: data.draw(st.integers(1, len(some)))], n)
    for value in some:
        at = data.draw(st.integers(0, n - 1))
        keys[at : at + data.draw(st.integers(0, 20))] = value
    bits = keys.view(unsigned(dtype))
    found, counts = np.empty(most, bits.dtype), np.empty(most, np.int64)
    assert count_few(bits, most, found, counts) == len(np.unique(bits)), "so that they are not numbered"
    assert_order(argsort(keys, algorithm="values", threads=data.draw(st.sampled_from([1, 2, 3, 8]))), keys)


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@pytest.mark.parametrize("most", [1, 3, 8])
def test_values_are_counted_as_they_come_until_there_are_too_many(kind: Any, most: int) -> None:
    for n in (0, 1, 127, 128, 129, 1151, 1152, 5000):
        bits = np.zeros(n, kind)
        found, counts = np.empty(most, kind), np.full(most, -1)
        for k in range(1, most):  # each comes once, the last one at the end
            bits[k * n // most + n // most - 1 : k * n // most + n // most] = 7 * k
        count = count_few(bits, most, found, counts)
        expected = dict(zip(*np.unique(bits, return_counts=True), strict=True))
        assert dict(zip(found[:count].tolist(), counts[:count].tolist(), strict=True)) == expected
        if n >= 127:
            bits[0] = 7 * most
            assert count_few(bits, most, found, counts) == -1


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_a_pass_writes_to_the_places_of_its_value_alone(kind: Any) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 8, 9, 100, 1001):
        for share in (0.0, 0.01, 0.3, 1.0):
            bits = (rng.random(n) < share).astype(kind)
            size = int(bits.sum())
            order = np.full(size + 20, -1)
            write_passes(bits, 500, np.ones(1, kind), 1, np.array([10]), np.array([10 + size]), order)
            expected = [-1] * 10 + [500 + i for i in range(n) if bits[i]] + [-1] * 10
            assert order.tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_there_may_be_256_values_whatever_the_number_of_threads(dtype: np.dtype[Any], threads: int) -> None:
    rng = np.random.default_rng(0)
    keys = rng.permutation(np.tile(values_of(dtype, MOST_VALUES), 3))
    assert_order(argsort(keys, algorithm="values", threads=threads), keys)
    more = values_of(dtype, MOST_VALUES + 1)
    for keys in (np.tile(more, 3), np.repeat(more, 3)):  # blocks have values in common, or hardly any
        assert argsort_values(keys, threads) is None
        with pytest.raises(ValueError, match=r"more than 256 values.*use algorithm='packed'"):
            argsort(keys, algorithm="values", threads=threads)


@pytest.mark.parametrize("by_vectors", [False, True])
def test_auto_orders_keys_of_few_values_by_them_unless_vectors_beat_numpy(
    by_vectors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[str]()

    def noted(keys: Array, streams: int, seen: int) -> Any:
        taken.append("values")
        return argsort_values(keys, streams)

    def others(keys: Array, *_: object) -> Array:
        taken.append("another")
        return np.argsort(keys)

    monkeypatch.setattr(vectors, "beat_numpy", lambda: by_vectors)
    monkeypatch.setattr(fast, "worth_packing", lambda octets: 5000)
    monkeypatch.setattr(at_once, "worth_packing", lambda octets: 5000)
    monkeypatch.setattr(at_once, "argsort_few", noted)
    monkeypatch.setattr(at_once, "argsort_packed", others)
    monkeypatch.setattr(at_once, "argsort_fast", others)
    monkeypatch.setattr(functions, "argsort_fast", others)
    rng, shortest = np.random.default_rng(1), fast.SHORTEST_FEW
    few, many = rng.integers(0, 30, 8000), rng.integers(0, 2**40, 8000)
    hidden = np.where(rng.random(8000) < 0.9, few, many)  # the few that are looked at show few values
    for keys, way in (
        (few, ["values"]),
        (np.tile(few, 10), ["values"]),
        (np.where(rng.random(80_000) < 0.05, 0, 1), ["values"]),  # most have neither smaller nor larger neighbours
        (many, ["another"]),
        (rng.integers(0, 2**40, 80_000), ["another"]),
        (hidden, ["values", "another"]),
        (np.tile(hidden, 10), ["values", "another"]),
        (few[:shortest], ["values"]),
        (few[: shortest - 1], []),  # NumPy
        (many[:shortest], []),
    ):
        taken.clear()
        assert_order(argsort(keys), keys)
        assert taken == (["another"] * (len(keys) >= 5000) if by_vectors else way)


def test_each_stream_counts_a_number_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "beat_numpy", lambda: False)
    taken = list[int]()
    monkeypatch.setattr(fast, "argsort_values", lambda keys, streams: taken.append(streams) or keys.argsort())
    for each, values in ((fast.KEYS_TO_NUMBER, 20), (fast.KEYS_TO_PASS, 2)):
        taken.clear()
        for n, threads in ((3 * each - 1, 3), (3 * each, 3), (3 * each, 1), (9 * each, 3)):
            keys = np.random.default_rng(0).integers(0, values, n) << 40
            assert_order(argsort(keys, threads=threads), keys)
        assert taken == [2, 3, 1, 3]


def test_keys_of_too_many_values_are_packed_without_another_look(
    splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No models are asked where vectors split the words."""
    monkeypatch.setattr(functions, "_argsort", None)
    done = list[str]()
    for name in ("argsort_few", "argsort_fast"):
        function = getattr(at_once, name)
        monkeypatch.setattr(at_once, name, lambda *args, of=function, name=name: done.append(name) or of(*args))
    rng, n = np.random.default_rng(1), fast.worth_two()
    few, often, varied = (rng.integers(0, values, n) << 20 for values in (4, 300, 1 << 40))
    skewed = np.where(np.arange(n) % 9 < 4, often[0], often)
    for keys, calls in (
        (few, ["argsort_few"]),
        (skewed, ["argsort_few", "argsort_fast"]),
        (varied, ["argsort_fast"]),
    ):
        for threads in (1, 2):
            done.clear()
            assert_order(argsort(keys, threads=threads), keys)
            assert done == calls


def test_keys_of_too_many_values_are_ordered_by_the_models_as_if_all_differed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models take NumPy to be twice as fast as it is for a million keys of 300 to 2,000 values.

    They are asked where vectors do not split the words.
    """
    monkeypatch.setattr(vectors, "beat_numpy", lambda: False)
    monkeypatch.setattr(vectors, "split_for_streams", lambda: False)
    library = choice.argsort_library(np.dtype(np.int64), 2)
    monkeypatch.setattr(library, "models", {"numpy": None})
    monkeypatch.setattr(library, "worth", 0)
    seen = list[Any]()

    def by_models(library: Any, request: Any, glance: Any) -> Any:
        seen.append(glance and glance.bits)
        return np.argsort(request.keys)

    monkeypatch.setattr(at_once, "by_models", by_models)
    tried = list[int]()
    for module in (at_once, functions):
        monkeypatch.setattr(module, "argsort_few", lambda keys, streams, seen=0: tried.append(streams))
    rng = np.random.default_rng(1)
    for values, n, times in ((300, 200_000, 1), (2**40, 200_000, 0), (300, 1 << 20, 1)):
        keys = np.where(np.arange(n) % 9 < 4 * times, 7, rng.integers(0, values, n))
        tried.clear()
        assert_order(argsort(keys, threads=2), keys)
        assert tried == [2] * times, "they are counted in vain once at most"
    assert seen == [ALL_DIFFER, ALL_DIFFER, ALL_DIFFER]
