"""sort and argsort choose by models.  The models are made up, so that no test depends on measured times."""

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import each, examples

import smp
from smp.kernels.sorting import at_once, choice, forms, functions, programs
from smp.kernels.sorting import fast as fast_sorting
from smp.kernels.sorting.by_vectors import in_place, vectors
from smp.kernels.sorting.choice import Request
from smp.kernels.sorting.counting import WIDEST, count_various, range_around, sort_by_counting
from smp.kernels.sorting.data import SHAPES, sort_data
from smp.kernels.sorting.fast import KEYS_TO_COUNT, WORTH_HALVING, worth_a_glance, worth_counting
from smp.kernels.sorting.functions import argsort, sort
from smp.kernels.sorting.keys import DTYPES
from smp.kernels.sorting.orders import at_once as orders_at_once
from smp.kernels.sorting.orders import fast as fast_orders
from smp.kernels.sorting.programs import ProgramRequest
from smp.kernels.sorting.sampling import (
    ALL_DIFFER,
    AT_ONCE,
    FIRST,
    SOME,
    Variety,
    direction,
    figures,
    look,
    variety,
)
from smp.models.fit.model import Model
from smp.models.fit.records import Quality
from smp.models.fit.specification import Specification, expressions_of
from smp.selection.library import Library, typical

Array = NDArray[Any]
LONG, LONGER = choice.WORTH_A_LOOK // 8, WORTH_HALVING // 8
"""Numbers of 64-bit keys that suffice for a look: if NumPy may not be the best, and whatever they are."""


def model(specification: Specification, term: str) -> Model:
    """Return a model of one term, in nanoseconds."""
    names = [given.name for given in specification.ranges]
    terms = {"term": expressions_of([term], names)[term]}
    quality = Quality(count=10, verified=10, r_squared=1.0, mre_fit=0.0, mre=0.0, worst=0.0)
    one, none = np.full(1, 1e-9), np.zeros((1, 1))
    return Model(specification.name, specification.ranges, terms, one, none, 0.1, 9, specification.when, quality)


def with_models(library: Library, terms: Mapping[str, str]) -> Library:
    """Give a library a model of one term for each implementation; unnamed implementations take very long.

    The times of calls do not correct these models, which say nothing about this computer.
    """
    library.correct = False
    library.use(
        {each.name: model(each, terms.get(each.name.split("/")[1], "1e9")) for each in library.specifications()}
    )
    return library


@pytest.fixture(autouse=True)
def no_models(without_vectors: None) -> Iterator[None]:
    """Every test begins and ends without models, and runs as on a CPU without vector instructions."""
    caches = choice._sort_library, choice._argsort_library, programs._program_library
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.fixture(autouse=True)
def numpy_for_vectors(no_models: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy sorts where vectors are chosen: without vector instructions, their loops are compiled from definitions."""

    def in_numpy(keys: Array, streams: int, sample: Array | None = None, source: Array | None = None) -> None:
        np.copyto(keys, keys if source is None else source)
        keys.sort()

    monkeypatch.setattr(in_place, "sort_in_place", in_numpy)
    monkeypatch.setattr(at_once, "sort_alone", lambda keys, low, high: keys[low:high].sort())


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Record the algorithm and the streams that sort_fast and argsort_fast are called with."""
    asked: list[tuple[str, int]] = []
    sort_fast, argsort_fast = fast_sorting.sort_fast, fast_orders.argsort_fast

    def noted_sort(keys: Array, out: Array, streams: int, algorithm: str = "auto", sample: Array | None = None) -> None:
        asked.append((algorithm, streams))
        sort_fast(keys, out, streams, algorithm, sample)

    def noted_argsort(keys: Array, streams: int, algorithm: str = "auto", sample: Array | None = None) -> Array:
        asked.append((algorithm, streams))
        return argsort_fast(keys, streams, algorithm, sample)

    for module in (functions, choice):
        monkeypatch.setattr(module, "sort_fast", noted_sort)
    for module in (functions, choice, orders_at_once):
        monkeypatch.setattr(module, "argsort_fast", noted_argsort)
    return asked


@pytest.fixture(scope="module")
def machine() -> Iterator[smp.Machine]:
    """A machine whose size gives the number of streams of sort, if there are as many CPUs."""
    with smp.emulated(2) as opened:
        yield opened


def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sort use two streams, as on a computer with two CPUs."""
    for module in (functions, at_once):
        monkeypatch.setattr(module, "streams_for", lambda machine: 2)


# -------------------------------------------------------------------------------------------- statistics


def test_a_sample_consists_of_keys_in_ascending_order() -> None:
    keys = np.random.default_rng(0).integers(0, 10**9, 10**5)
    for n, count in ((1, 256), (1000, 256), (10**5, 256)):
        seen = look(keys[:n])
        assert len(seen.sample) == count
        assert np.isin(seen.sample, keys[:n]).all()
        assert (np.diff(seen.sample) >= 0).all()
    assert len(look(np.zeros(600 * 1024)).sample) == 600
    assert len(look(np.zeros(2 << 20)).sample) == 1024
    assert look(np.array([3.0, np.nan])).sample[0] == 3


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        (np.arange(5000), 1.0),
        (np.arange(5000)[::-1], 1.0),
        (np.zeros(5000), 1.0),
        (np.repeat(np.arange(5), 1000), 1.0),
        (np.tile([1, 2], 2500), 0.0),
        (np.full(5000, np.nan), 0.0),
    ],
)
def test_the_order_of_keys_is_estimated(keys: Array, order: float) -> None:
    assert look(keys).order == pytest.approx(order, abs=0.15)


def test_the_order_of_partly_random_keys_is_in_between() -> None:
    keys = np.arange(100_000)
    keys[50_000:] = np.random.default_rng(0).permutation(50_000)
    assert look(keys).order == pytest.approx(0.5, abs=0.15)


@given(st.lists(st.integers(-3, 3), max_size=20), st.sampled_from(["i4", ">i8", "f4"]), st.integers(1, 2))
@settings(deadline=None)
def test_the_direction_is_that_of_all_keys(values: list[int], kind: str, step: int) -> None:
    keys = np.repeat(np.array(values, kind), step)[::step]
    ascending, descending = bool((np.diff(keys) >= 0).all()), bool((np.diff(keys) <= 0).all())
    found = direction(keys)
    assert (found == 1) == ascending
    assert (found == -1) == (descending and not ascending)


@pytest.mark.parametrize("last", [1, FIRST, FIRST + 1, SOME, SOME + 1, SOME + AT_ONCE, SOME + AT_ONCE + 1, -2, -1])
@pytest.mark.parametrize("way", [1, -1])
def test_one_key_out_of_order_is_seen_wherever_it_is(last: int, way: int) -> None:
    keys = np.arange(3 * AT_ONCE) * way
    assert direction(keys) == way
    keys[last] = keys[last - 1] - way
    assert direction(keys) == 0
    assert direction(np.append(np.arange(100.0), np.nan)) == 0


@pytest.mark.parametrize("dtype", each(2, DTYPES), ids=str)
def test_a_glance_shows_how_many_keys_differ(dtype: np.dtype[Any]) -> None:
    rng, n = np.random.default_rng(0), 50_000
    for bits in (*range(ALL_DIFFER), 14, 17):
        different = 1000 * rng.permutation(1 << bits)
        seen = [variety(different[rng.integers(0, 1 << bits, n)].astype(dtype)) for _ in range(100)]
        found = [each.bits for each in seen if each]
        assert len(found) > 90 or bits == 0
        if bits:
            assert np.mean(found) == pytest.approx(min(bits, ALL_DIFFER), abs=0.75)
    assert variety(rng.permutation(n).astype(dtype)) is not None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("way", [1, -1])
def test_a_glance_shows_nothing_of_keys_that_may_run_one_way(dtype: np.dtype[Any], way: int) -> None:
    rng, n = np.random.default_rng(0), 50_000
    nearly, runs = np.arange(n), np.repeat(rng.permutation(50), n // 50)
    nearly[rng.integers(0, n, n // 100)] = n
    nearly[: FIRST + 1] = rng.permutation(FIRST + 1)
    first = rng.permutation(n)
    first[: FIRST + 1] = np.arange(FIRST + 1)
    for keys in (np.arange(n), nearly, runs, first, np.zeros(n, int), np.arange(2), np.zeros(1, int)):
        assert variety((keys if way > 0 else n - keys).astype(dtype)) is None
    assert variety(first[FIRST + 1 :].astype(dtype)) is not None
    assert variety(np.zeros(0, dtype)) is None


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind != "f"], ids=str)
def test_a_glance_shows_the_range_of_integers(dtype: np.dtype[Any]) -> None:
    limits, rng = np.iinfo(dtype), np.random.default_rng(0)
    for low, high in ((limits.min, limits.max), (limits.max - 999, limits.max), (limits.min, limits.min + 999)):
        seen = variety(rng.integers(low, high, 10_000, dtype, endpoint=True))
        assert seen is not None
        assert (high - low) * 0.8 < seen.width <= high - low


@pytest.mark.parametrize(("bits", "counted"), [(15, True), (16, True), (17, False), (20, False)])
def test_a_range_that_counting_would_refuse_is_shown_as_too_wide(bits: int, counted: bool) -> None:
    """Of 17 bits, the keys themselves are in range, but with a margin around a sample of them it is too wide."""
    keys = np.random.default_rng(0).integers(0, 1 << bits, 1 << 20, np.int32)
    width = Request(keys).inputs()[-1]
    assert (width < WIDEST) == counted
    assert (range_around(look(keys).sample) is not None) == counted


def test_the_look_does_not_depend_on_the_layout() -> None:
    keys = np.random.default_rng(0).integers(0, 1000, 3000)
    expected = look(keys)
    for laid_out in (keys.astype(">i8"), np.repeat(keys, 2)[::2], keys[::-1].copy()[::-1]):
        seen = look(laid_out)
        np.testing.assert_array_equal(seen.sample, expected.sample)
        assert seen.sample.dtype == np.int64
        assert seen.order == expected.order


@pytest.mark.parametrize("bits", [0, 1, 4, 7, 9])
def test_bits_are_the_logarithm_of_the_number_of_equally_frequent_keys(bits: int) -> None:
    assert figures(np.sort(np.arange(1024) % 2**bits), 10**6).bits == pytest.approx(bits)


def test_bits_are_estimated_even_if_all_keys_of_a_sample_differ() -> None:
    assert figures(np.arange(1024), 10**6).bits == pytest.approx(21)
    assert figures(np.arange(256), 10**6).bits == pytest.approx(17)


@pytest.mark.parametrize("bits", [5, 8, 10, 12, 14])
def test_bits_are_estimated_for_more_keys_than_were_sampled(bits: int) -> None:
    found = [figures(np.sort(np.random.default_rng(seed).integers(0, 2**bits, 1024)), 10**6).bits for seed in range(20)]
    assert np.mean(found) == pytest.approx(bits, abs=0.7)


def test_the_share_of_rare_keys_is_estimated() -> None:
    assert figures(np.arange(1024), 10**7).rare == 1  # no key was seen twice
    assert figures(np.zeros(1024), 10**6).rare == 0  # a million equal ones
    assert figures(np.zeros(256), 200).rare == 1  # 200 equal ones are few
    half = np.sort(np.concatenate((np.zeros(512), np.arange(1, 513))))
    assert figures(half, 10**6).rare == pytest.approx(0.5)
    rng = np.random.default_rng(0)
    for equals, share in ((64, 1), (4096, 0)):
        sample = np.sort(rng.integers(0, 2**20 // equals, 1024))
        assert figures(sample, 2**20).rare == pytest.approx(share, abs=0.15)


def test_unevenness_is_zero_for_equally_frequent_keys() -> None:
    assert figures(np.zeros(100), 1000).uneven == 0
    assert figures(np.arange(100), 1000).uneven == pytest.approx(0)
    assert figures(np.repeat([1, 2, 3], 50), 1000).uneven == pytest.approx(0)
    assert figures(np.sort([0] * 8 + [1] * 4 + [2, 2, 3, 3]), 1000).uneven == pytest.approx(1 - 1.75 / 2)


def test_the_share_below_the_median_is_estimated() -> None:
    assert figures(np.arange(100), 1000).below == 0.5
    assert figures(np.zeros(100), 1000).below == 0
    assert figures(np.repeat([1, 2], [30, 70]), 1000).below == pytest.approx(0.3)
    assert figures(np.array([1.0, np.nan, np.nan]), 1000).below == 0


@pytest.mark.parametrize("shape", range(len(SHAPES)), ids=SHAPES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_data_have_the_requested_properties(dtype: np.dtype[Any], shape: int) -> None:
    for span in (4, 12, 64):
        keys = sort_data(dtype, 3000, shape, span)
        assert (keys.dtype, keys.shape) == (dtype, (3000,))
        assert keys.min() >= 0
        assert float(keys.max()) <= 2.0**span
        assert float(keys.max()) > 2.0 ** min(span, 8 * dtype.itemsize - 2) / 4
        np.testing.assert_array_equal(keys, sort_data(dtype, 3000, shape, span))
    if SHAPES[shape] == "few":
        assert len(np.unique(sort_data(dtype, 3000, shape, 12))) == 8
    if SHAPES[shape] == "nearly sorted":
        assert look(keys).order > 0.8


# ------------------------------------------------------------------------------------------- the library


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_inputs_of_a_request_are_those_of_its_library(dtype: np.dtype[Any]) -> None:
    keys = np.arange(1000).astype(dtype)
    library = choice.sort_library(dtype, 2)
    inputs = dict(zip([given.name for given in library.ranges], Request(keys).inputs(), strict=True))
    assert inputs["n"] == 1000
    assert inputs["below"] == pytest.approx(0.5, abs=0.02)
    assert inputs["order"] == 1
    assert ("width" in inputs) == (dtype.kind != "f")
    if dtype.kind != "f":
        assert inputs["width"] == pytest.approx(1000 * 9 / 8, rel=0.05)
    shared = [inputs[name] for name in choice.INPUTS]
    assert Request(keys).inputs_of_order() == (*shared, figures(look(keys).sample, 1000).uneven)


def test_unsigned_keys_share_the_library_of_signed_ones() -> None:
    for size in (4, 8):
        signed, unsigned = (choice.sort_library(np.dtype(f"{kind}{size}"), 2) for kind in "iu")
        assert signed is unsigned
    names = [library.name for library in choice.libraries(2)]
    assert len(names) == len(set(names)) == 8
    assert [*choice.sort_library(np.dtype(np.int64), 1).implementations] == ["numpy", "counting alone"]
    assert [*choice.sort_library(np.dtype(np.float64), 2).implementations] == ["numpy", "halves", "partition"]


CASES: dict[str, tuple[str, int]] = {
    "numpy": ("numpy", 1),
    "counting alone": ("counting", 1),
    "counting": ("counting", 2),
    "halves": ("halves", 2),
    "partition": ("partition", 2),
}


@pytest.mark.parametrize(
    ("dtype", "name"),
    each(2, [(dtype, name) for dtype in DTYPES for name in CASES if dtype.kind != "f" or "counting" not in name]),
    ids=str,
)
def test_sort_runs_the_form_that_the_models_choose(
    dtype: np.dtype[Any], name: str, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    two(monkeypatch)
    with_models(choice.sort_library(dtype, 2), {name: "n"})
    n = max(2 * KEYS_TO_COUNT, WORTH_HALVING // dtype.itemsize)  # fewer are counted before models are asked
    keys = np.random.default_rng(0).integers(0, 50_000, n).astype(dtype)
    before = keys.copy()
    np.testing.assert_array_equal(sort(keys), np.sort(keys))
    np.testing.assert_array_equal(keys, before)
    assert ran == [CASES[name]]
    assert sort(keys, out=keys) is keys
    np.testing.assert_array_equal(keys, np.sort(before))


ORDERS = {"numpy": ("numpy", 1), "packed alone": ("packed", 1), "packed": ("packed", 2), "partition": ("partition", 2)}


@pytest.mark.parametrize(("name", "asked"), ORDERS.items())
@pytest.mark.parametrize("dtype", each(2, DTYPES), ids=str)
def test_argsort_runs_the_form_that_the_models_choose(
    dtype: np.dtype[Any], name: str, asked: tuple[str, int], monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    two(monkeypatch)
    with_models(choice.argsort_library(dtype, 2), {name: "n"})
    keys = np.random.default_rng(0).integers(0, 50_000, choice.WORTH_A_LOOK // 4).astype(dtype)
    order = argsort(keys)
    assert ran == [asked]
    np.testing.assert_array_equal(np.sort(order), np.arange(len(keys)))
    np.testing.assert_array_equal(keys[order], np.sort(keys))


@pytest.mark.parametrize("function", [sort, argsort])
def test_keys_that_run_no_way_get_no_look(
    function: Any, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    """The models are asked once for lengths in an eighth of an octave and a number of different keys.

    New models are noticed.  Keys of any layout are looked at, and so are keys to order of which few differ.
    """
    two(monkeypatch)
    monkeypatch.setattr(vectors, "beat_numpy", lambda: True)
    monkeypatch.setattr(functions, "counts_few", lambda: False)
    library = (choice.sort_library if function is sort else choice.argsort_library)(np.dtype(np.int64), 2)
    names = ("vectors", "vectors alone") if function is sort else ("packed", "packed alone")
    algorithm, rng = names[0], np.random.default_rng(0)
    varied, few = rng.permutation(LONG * 17 // 16) << 32, rng.integers(0, 9, LONG * 17 // 16) << 32

    def called(keys: Array) -> tuple[str, int]:
        made = function(keys)
        np.testing.assert_array_equal(made if function is sort else keys[made], np.sort(keys))
        return ran.pop()

    for bits, streams in ((16.9, 2), (18.0, 1)):  # 256 different keys count as 17 bits
        terms = dict(zip(names, (f"n * (1 + (bits < {bits}))", "n * 1.5"), strict=True))
        with_models(library, terms | {"numpy": "n * 9", "counting": "n * 9", "partition": "n * 9"})
        library.worth = 0
        assert called(varied) == (algorithm, streams)
        assert called(few) == (algorithm, 1)
        with monkeypatch.context() as patch:
            patch.setattr(choice, "look", None)
            patch.setattr(Library, "best", None)
            patch.setattr(Library, "predictions", None)
            assert called(varied[:LONG]) == (algorithm, streams)
            if function is sort:
                assert called(few[:LONG]) == (algorithm, 1)
            else:
                with pytest.raises(TypeError, match="not callable"):
                    argsort(few[:LONG])
            with pytest.raises(TypeError, match="not callable"):
                function(np.repeat(varied, 2)[::2])
            with pytest.raises(TypeError, match="not callable"):
                function(varied[: LONG // 2])  # half as many
        assert called(np.repeat(varied, 2)[::2]) == (algorithm, streams)


@pytest.mark.parametrize(("n", "values", "asked"), [(300_000, 70_000, 0), (300_000, 90_000, 1), (600_000, 900, 1)])
def test_integers_of_a_narrow_range_are_counted_at_a_glance_or_looked_at(
    n: int, values: int, asked: int, monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    """With four integers to a value and less than half a million of them, it is not worth while to look at them."""
    two(monkeypatch)
    monkeypatch.setattr(vectors, "beat_numpy", lambda: True)
    monkeypatch.setattr(vectors, "width", lambda: 64)
    library = with_models(choice.sort_library(np.dtype(np.int32), 2), {"counting": "n", "vectors": "2 * n"})
    library.worth = 0
    looked = list[Array]()
    monkeypatch.setattr(choice, "look", lambda keys: looked.append(keys) or look(keys))
    keys = np.random.default_rng(0).integers(0, values, n, np.int32) - 1000
    for one in (keys, keys + np.int32(7)):
        np.testing.assert_array_equal(sort(one), np.sort(one))
    assert ran == [("counting", 2)] * 2 * asked
    assert len(looked) == 2 * asked


def test_a_remembered_choice_is_corrected_by_recent_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "beat_numpy", lambda: True)
    library = with_models(choice.sort_library(np.dtype(np.float64), 2), {"vectors": "n", "vectors alone": "n * 1.5"})
    inputs = choice._inputs_of(library, ALL_DIFFER, typical(1_000_000, 1e7))
    first = library.remembered(*inputs)
    assert (first.name, first.seconds, first.factors) == ("vectors", pytest.approx(1e-9 * inputs[0]), {})
    library.correct = True
    for _ in range(5):
        library.note(first, 2 * first.seconds)
    then = library.remembered(*inputs)
    assert then.name == "vectors alone"
    assert then.seconds == pytest.approx(1.5 * first.seconds)
    assert then.factors["vectors"] > 1.5
    assert library.best(*inputs).seconds == pytest.approx(then.seconds)
    library.note(then, then.seconds)  # not divided by the factor of the other
    for _ in range(3):
        library.note(then, 4 * then.seconds)
    assert library.remembered(*inputs).name == "vectors"
    assert library.remembered(*inputs).seconds > first.seconds


def test_the_largest_calibrated_length_is_not_beyond_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    library = with_models(choice.argsort_library(np.dtype(np.int32), 2), {"packed": "n"})
    asked = list[int]()
    monkeypatch.setattr(choice, "argsort_fast", lambda keys, *_: asked.append(len(keys)))
    most, seen = int(library.ranges[0].high), Variety(ALL_DIFFER, 1 << 31)
    for n in (most, most - 1, most + 1):
        keys = np.broadcast_to(np.int32(1), n)
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            choice.by_models(library, Request(keys), seen)
        assert [f"n = {n:.4g}" in str(one.message) for one in noted] == [True] * (n > most)
    assert asked == [most, most - 1, most + 1]


def test_at_most_a_thousand_predictions_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smp.selection.library.MOST_KNOWN", 3)
    library = with_models(choice.argsort_library(np.dtype(np.float64), 2), {"numpy": "n"})
    for n in (*range(1000, 1010), *range(1000, 1010)):
        assert library.remembered(n, 9.0, 1.0, 0.0, 0.5, 0.0) == library.best(n, 9.0, 1.0, 0.0, 0.5, 0.0)
        assert 1 <= len(library._known) <= 3


@pytest.mark.parametrize("bits", range(ALL_DIFFER + 1))
@pytest.mark.parametrize("n", [70_000, 1_000_000])
def test_the_inputs_of_a_variety_are_those_of_such_keys(bits: int, n: int) -> None:
    library = choice.sort_library(np.dtype(np.int64), 2)
    keys = np.random.default_rng(0).integers(0, 1 << (bits if bits < ALL_DIFFER else 60), n) << 3
    seen, made = Request(keys).inputs(), choice._inputs_of(library, bits, typical(n, 1e7))
    assert 2**-0.07 <= made[0] / n < 2**0.07
    np.testing.assert_allclose(made[1:4], seen[1:4], atol=2.5 if bits == ALL_DIFFER else 0.35)
    assert made[4] == pytest.approx(seen[4], abs=0.5**bits + 0.01)
    assert made[5] == 2.0**64


def test_statistics_from_the_look_decide_the_choice(
    monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]
) -> None:
    two(monkeypatch)
    with_models(
        choice.sort_library(np.dtype(np.int64), 2),
        {"numpy": "n * (0.5 + (bits < 3) + (order > 0.5))", "counting": "n / 4", "halves": "n"},
    )
    rng = np.random.default_rng(0)
    few, narrow = rng.integers(0, 5, LONGER) * 10**12, rng.integers(0, 5000, 2 * KEYS_TO_COUNT)
    wide = rng.integers(0, 10**12, LONGER)
    nearly = np.sort(wide)
    nearly[[0, -1]] = nearly[[-1, 0]]
    for keys, expected in ((few, "halves"), (narrow, "counting"), (wide, "numpy"), (nearly, "halves")):
        np.testing.assert_array_equal(sort(keys), np.sort(keys))
        assert ran.pop()[0] == expected


def test_preconditions_hold_whatever_the_models_predict() -> None:
    library = with_models(choice.sort_library(np.dtype(np.int64), 2), {"numpy": "n"})
    fast = {name: "1e-3 * n" for name in CASES if name != "numpy"}
    with_models(library, {"numpy": "n", **fast})
    plain = {"n": 1e6, "bits": 15.0, "rare": 1.0, "order": 0.0, "below": 0.5, "width": 1000.0}
    for name, change in {
        "counting": {"width": 2.0**18},
        "counting alone": {"width": 2.0**18},
        "halves": {"below": 0.1},
        "partition": {"bits": 0.5},
    }.items():
        assert math.isfinite(library.predictions(*plain.values())[name].seconds)
        assert math.isinf(library.predictions(*(plain | change).values())[name].seconds)
    assert library.choose(*(plain | {"n": 500.0}).values()) == "numpy"


def test_wide_keys_that_are_too_few_to_move_get_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy sorts them, and narrow ones are counted. Keys that may be in order, and others with models, get a look."""
    two(monkeypatch)
    looks: list[int] = []
    whole = functions._sort
    monkeypatch.setattr(functions, "_sort", lambda keys, *rest: looks.append(len(keys)) or whole(keys, *rest))
    monkeypatch.setattr(vectors, "split_for_streams", lambda: False)
    counted: list[Array] = []
    count = at_once.count_various
    monkeypatch.setattr(
        at_once, "count_various", lambda keys, *rest: count(keys, *rest) and (counted.append(keys) or True)
    )
    n, rng = LONG // 2, np.random.default_rng(0)
    assert worth_a_glance(False) <= 4 * n
    for keys, looked in (
        (rng.integers(0, 2**31, n, np.int32), []),
        (rng.random(n), []),
        (rng.integers(0, 5, n), []),
        (narrow := rng.integers(0, 1000, n), []),
        (np.arange(n)[::-1].astype(np.float32), [n]),
        (np.repeat(rng.permutation(n // 2), 2)[::2], []),
        (rng.random(LONGER), [LONGER]),
    ):
        looks.clear()
        np.testing.assert_array_equal(sort(keys), np.sort(keys))
        assert looks == looked
    assert len(counted) == 1
    assert counted[0] is narrow
    looks.clear()
    with_models(choice.sort_library(np.dtype(np.float64), 2), {"numpy": "n"}).worth = n
    sort(rng.random(n))
    assert looks == [n]


def test_without_models_sort_follows_the_rule(monkeypatch: pytest.MonkeyPatch, ran: list[tuple[str, int]]) -> None:
    two(monkeypatch)
    keys = np.random.default_rng(0).integers(0, 2**62, LONGER)
    np.testing.assert_array_equal(sort(keys), np.sort(keys))
    np.testing.assert_array_equal(keys[argsort(keys)], np.sort(keys))
    assert ran == [("auto", 2), ("auto", 2)]
    rule = choice.sort_library(np.dtype(np.int64), 2).choose
    spread = {"n": 1e6, "bits": 20.0, "rare": 1.0, "order": 0.0, "below": 0.5, "width": 1e18}
    assert rule(*spread.values()) == "halves"
    for name, change in {
        "numpy": {"n": 3e5},
        "partition": {"n": 4e6},
        "counting alone": {"width": 1e5, "n": 5e5},
        "counting": {"width": 2e5, "n": 2e6},
    }.items():
        assert rule(*(spread | change).values()) == name
    assert rule(*(spread | {"bits": 5.0}).values()) == "numpy"
    assert choice.sort_library(np.dtype(np.float64), 1).choose(1e7, 20.0, 1.0, 0.0, 0.5) == "numpy"
    ranks = choice.argsort_library(np.dtype(np.float64), 2).choose
    named = ["numpy", "packed alone", "packed", "partition"]
    assert [ranks(n, bits, 1.0, 0.0, 0.5) for n, bits in ((1e3, 9), (2e4, 2), (1e6, 9), (1e6, 2))] == named
    alone = choice.argsort_library(np.dtype(np.int32), 1).choose
    assert [alone(n, 9.0, 1.0, 0.0, 0.5) for n in (1e3, 1e6)] == ["numpy", "packed alone"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [20_000, 400_000])
def test_keys_in_order_are_copied(dtype: np.dtype[Any], n: int, ran: list[tuple[str, int]]) -> None:
    ascending = np.sort(np.random.default_rng(0).integers(0, 10**6, n)).astype(dtype)
    for keys in (
        ascending,
        ascending[::-1],
        ascending[::-1].astype(dtype.newbyteorder(">")),
        np.repeat(ascending, 2)[::2],
    ):
        before = keys.copy()
        found = sort(keys)
        np.testing.assert_array_equal(found, ascending)
        assert found.dtype == dtype
        assert not np.may_share_memory(found, keys)
        order = argsort(keys)
        assert order.dtype == np.int64
        np.testing.assert_array_equal(np.sort(order), np.arange(n))
        np.testing.assert_array_equal(keys[order], ascending)
        np.testing.assert_array_equal(keys, before)
        into = keys.copy()
        assert sort(into, out=into) is into
        np.testing.assert_array_equal(into, ascending)
    both = np.append(ascending[::-1], ascending)
    sort(both[:n], out=both[n // 2 : n // 2 + n])  # the result overlaps the keys
    np.testing.assert_array_equal(both[n // 2 : n // 2 + n], ascending)
    assert ran == []


def test_short_arrays_get_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("the library was asked")

    monkeypatch.setattr(functions, "sort_library", asked)
    monkeypatch.setattr(choice, "sort_library", asked)
    for module in (functions, orders_at_once):
        monkeypatch.setattr(module, "models_of_order", asked)
    keys = np.random.default_rng(0).integers(0, 99, at_once.LEAST // 8 - 1)
    np.testing.assert_array_equal(sort(keys), np.sort(keys))
    np.testing.assert_array_equal(argsort(keys[:100]), np.argsort(keys[:100]))
    assert argsort(keys[:100]).dtype == np.int64
    assert sort(np.zeros(0)).shape == argsort(np.zeros(0)).shape == (0,)


def test_short_arrays_that_only_seem_narrow_are_sorted_by_numpy_at_once(
    monkeypatch: pytest.MonkeyPatch, splitting: None
) -> None:
    """Their first and last key are near each other, but few of them differ, or one lies far away.

    Narrow ones are counted, whatever their layout.
    """

    def asked(*_: object) -> None:
        raise AssertionError("not at once")

    for name in ("different", "models_are_asked", "first_differ", "first_way", "worth_alone"):
        monkeypatch.setattr(at_once, name, asked)
    counted = list[bool]()
    monkeypatch.setattr(at_once, "count_various", lambda *args: counted.append(count_various(*args)) or counted[-1])
    rng, n = np.random.default_rng(0), worth_counting(False, 8) // 8
    few, stray, narrow = rng.integers(0, 4, n) << 9, rng.integers(0, 99, n), rng.integers(0, 99, n)
    few[0], few[-1], stray[n // 2] = 0, 1 << 9, 1 << 40
    for keys in (few, stray, narrow, np.repeat(narrow, 2)[::2]):
        np.testing.assert_array_equal(sort(keys), np.sort(keys))
    assert counted == [False, False, True, True]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("cpu", ["vectors beat NumPy", "vectors sort alone", "NumPy sorts alone", "no vectors"])
def test_numpy_sorts_short_arrays_before_anything_else_is_looked_at(
    cpu: str, dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Integers in a narrow range are the exception; of the others, two are enough to see that they are not."""
    for name, on in {
        "beat_numpy": ["vectors beat NumPy"],
        "split_for_streams": ["vectors sort alone", "NumPy sorts alone"],
        "numpy_sorts_alone": ["NumPy sorts alone"],
    }.items():
        monkeypatch.setattr(vectors, name, lambda *of_dtype, on=on: cpu in on)
    limits = at_once._limits()[dtype]
    most, most_apart, turning = (int(octets) for octets in (limits.most, limits.most_apart, limits.most_turning))
    assert (turning > most_apart) == (cpu == "NumPy sorts alone")
    counter, floats = fast_sorting.BYTES_A_COUNTER[vectors.width()], dtype.kind == "f"
    others = list[int]()

    def noted(keys: Array, *_: object) -> None:
        others.append(keys.nbytes)

    monkeypatch.setattr(functions, "sort_at_once", noted)
    rng, size = np.random.default_rng(0), dtype.itemsize
    for octets, apart, left in (
        (0, 0, True),
        (size, 0, True),
        (most - size, 0, True),
        (most, most // counter, most < turning),
        (most, most // counter - 1, floats and most < turning),
        (most, 0, most < most_apart),  # all equal
        (most_apart - size, 1 << 30, True),
        (most_apart, 1 << 30, most_apart < turning),
        (turning - size, 1 << 30, True),
        (turning, 1 << 30, False),
    ):
        keys = rng.integers(0, apart + 1, octets // size).astype(dtype)
        keys[:1], keys[-1:] = 0, apart
        both = np.concatenate([keys, keys])
        mine, beyond, shifted = both[: len(keys)], np.empty_like(keys), both[len(keys) // 2 :][: len(keys)]
        for out in (None, beyond, mine, shifted):
            others.clear()
            mine[:] = keys
            result = sort(mine, out=out, threads=None if out is mine else 1)
            np.testing.assert_array_equal(result, np.sort(keys))
            assert out is None or result is out
            assert others == [octets] * (not left and out is not shifted), (octets, apart)


@pytest.mark.parametrize("first", [[0, 1, 1, 2, 3], [3, 2, 2, 1, 0], [1, 1, 1, 1, 1], [0, 1, 2, 3, 2]])
def test_keys_whose_first_ones_run_one_way_are_looked_at(
    first: list[int], splitting: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = list[int]()
    monkeypatch.setattr(functions, "sort_at_once", lambda keys, *_: others.append(len(keys)))
    n = int(at_once._limits()[np.dtype(np.int32)].most_apart) // 4
    keys = np.append(first, np.random.default_rng(0).integers(0, 1 << 30, n - 5)).astype(np.int32)
    np.testing.assert_array_equal(sort(keys), np.sort(keys))
    assert others == [n] * (first[-1] != 2)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_form_sorts_any_keys(data: st.DataObject) -> None:
    """Even if it was a bad choice."""
    dtype = data.draw(st.sampled_from(DTYPES))
    n, shape = data.draw(st.integers(1, 3000)), data.draw(st.integers(0, 3))
    keys = sort_data(dtype, n, shape, data.draw(st.integers(1, 64)), data.draw(st.integers(0, 9)))
    if data.draw(st.booleans()):
        keys[data.draw(st.integers(0, n - 1))] = np.iinfo(dtype).max if dtype.kind != "f" else np.nan
    for form in choice.sort_library(dtype, 2).implementations.values():
        np.testing.assert_array_equal(form.function(Request(keys)), np.sort(keys))
    for form in choice.argsort_library(dtype, 2).implementations.values():
        np.testing.assert_array_equal(keys[form.function(Request(keys))], np.sort(keys))


def test_counting_tries_a_wider_range_once_and_then_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    count = sort_by_counting

    def noted(keys: Array, lowest: int, width: int, out: Array, streams: int) -> bool:
        tried.append(width)
        return count(keys, lowest, width, out, streams)

    monkeypatch.setattr(fast_sorting, "sort_by_counting", noted)
    middle = np.random.default_rng(0).integers(1000, 2000, 5000)
    for stray, attempts in ((1999, 1), (2300, 2), (10**6, 2)):
        tried.clear()
        keys = np.append(middle, stray)
        np.testing.assert_array_equal(Request(keys).sort("counting", 2), np.sort(keys))
        assert len(tried) == attempts
        assert tried == sorted(tried)


# ------------------------------------------------------------------------------------------- the programs


@pytest.mark.parametrize(
    ("keys", "span"),
    [
        (np.array([0, 5, 255], np.int32), 8),
        (np.array([256], np.int64), 9),
        (np.array([-1, 1], np.int32), 32),
        (np.zeros(3, np.uint64), 1),
        (np.array([2**64 - 1], np.uint64), 64),
        (np.array([1.0]), 64),
        (np.array([1.0], np.float32), 32),
        (np.array([], np.int32), 32),
    ],
)
def test_the_span_of_keys_is_found(machine: smp.Machine, keys: Array, span: int) -> None:
    assert ProgramRequest(keys, keys, machine).span == span


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["radix", "sample", "column"])
def test_sort_runs_the_program_that_the_models_choose(p: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    run = ProgramRequest.run

    def noted(request: ProgramRequest, algorithm: str, **keywords: int) -> Array:
        ran.append(algorithm)
        return run(request, algorithm, **keywords)

    monkeypatch.setattr(ProgramRequest, "run", noted)
    with smp.emulated(p) as machine:
        for dtype in (np.dtype(np.int32), np.dtype(np.float64)):
            with_models(programs.program_library(dtype, p), {name: "n"})
            keys = np.random.default_rng(p).integers(0, 1000, 200).astype(dtype)
            np.testing.assert_array_equal(sort(keys, machine=machine, algorithm="program"), np.sort(keys))
    assert ran == [name] * 2


def test_without_models_narrow_keys_are_sorted_by_digits(machine: smp.Machine) -> None:
    for dtype in DTYPES:
        library = programs.program_library(dtype, 2)
        for high, name in ((4000, "radix"), (5000, "sample")):
            keys = np.arange(high).astype(dtype)
            chosen = library.choose(*ProgramRequest(keys, keys, machine).inputs())
            assert chosen == (name if dtype.kind != "f" else "sample")
    for keys in (np.array([3, 1, 2]), np.array([3, 1, 10**9]), np.array([], np.int64), np.array([-3, 1])):
        np.testing.assert_array_equal(sort(keys, machine=machine, algorithm="program"), np.sort(keys))


@settings(max_examples=examples(60), deadline=None)
@given(span=st.integers(1, 64), n=st.integers(1, 2 * 10**6), each=st.floats(1, 1000))
def test_the_chosen_digit_is_the_best_of_all(span: int, n: int, each: float) -> None:
    """No digit has a smaller predicted time than the one that the search over rounds finds, within the ranges."""
    library = programs.program_library(np.dtype(np.int64), 2)
    term = f"n * {forms.ROUNDS} + {each!r} * 2 ** {forms.USED} * {forms.ROUNDS}"
    with_models(library, {"radix": term})
    inputs = (float(max(n, 100)), float(span), 10.0, 1.0)
    chosen = library.best(*inputs)
    fewest = max(1, math.ceil(span / max(1, math.isqrt(span))))  # smaller digits need more rounds than are tried
    times = [library.models["radix"].predict(*inputs, digit) for digit in range(fewest, 17)]
    assert chosen.name == "radix"
    assert 1 <= chosen.keywords["digit"] <= 16
    assert chosen.seconds == pytest.approx(min(times))


def test_the_libraries_of_programs_are_listed() -> None:
    assert [library.name for library in programs.libraries(3)] == [
        "sort programs[int32, 3 processors]",
        "sort programs[int64, 3 processors]",
    ]
