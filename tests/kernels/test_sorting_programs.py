"""Radix, sample and column sort: compared with NumPy's order, the 0-1 principle, and the SMP cost study's tables."""

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import each

import smp
from smp._runtime.program.superstep import Superstep
from smp.errors import ProcessorRaised
from smp.kernels.costs import Costs, costs_of, recorded
from smp.kernels.sorting import column, radix
from smp.kernels.sorting import sample as sample_sort
from smp.kernels.sorting.column import column_length, sort_column
from smp.kernels.sorting.distribution import by_digit, by_floors, deal, tally
from smp.kernels.sorting.keys import DTYPES, images, keys_of, unsigned
from smp.kernels.sorting.radix import sort_radix
from smp.kernels.sorting.sample import SLACK, TRIES, sort_sample

Keys = NDArray[Any]
PROGRAMS: list[Callable[..., None]] = [sort_radix, sort_sample, sort_column]
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
LENGTHS = [0, 1, 2, 5, 24, 25, 144, 1000]


@pytest.fixture(scope="module", params=[1, 2, 3, 5])
def machine(request: pytest.FixtureRequest) -> Iterator[smp.Machine]:
    with smp.emulated(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def two() -> Iterator[smp.Machine]:
    with smp.host(2) as opened:
        yield opened


def bits_of(keys: Keys) -> Keys:
    return keys.view(unsigned(keys.dtype))


def extremes(dtype: np.dtype[Any]) -> Keys:
    """Return keys for which the order or the arithmetic could go wrong."""
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        values = [limits.min, limits.min + 1, 0, 1, limits.max // 2, limits.max - 1, limits.max]
        return np.array([*values, *([] if limits.min == 0 else [-1, -2])], dtype)
    limits = np.finfo(dtype)
    tiny = float(limits.smallest_subnormal)
    values = [0.0, tiny, float(limits.tiny), 1.0, 1.5, float(limits.max), np.inf, np.nan]
    odd_nans = np.array([np.nan], dtype)
    bits_of(odd_nans)[0] += 3  # a payload
    return np.concatenate([np.array(values, dtype), -np.array(values, dtype), odd_nans, -odd_nans])


@st.composite
def some_keys(draw: st.DrawFn, longest: int = 60) -> Keys:
    """Draw a few extreme keys many times, a few small ones, or any bits."""
    dtype, n = draw(st.sampled_from(DTYPES)), draw(st.integers(0, longest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.sampled_from(["extremes", "few", "any"]))
    if shape == "extremes":
        return rng.choice(extremes(dtype), n)
    if shape == "few":
        return rng.integers(0, 5, n).astype(dtype)
    return rng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)


def check_sorted(found: Keys, keys: Keys) -> None:
    """Check that the keys are in NumPy's order and the same bit for bit, including NaNs."""
    np.testing.assert_array_equal(found, np.sort(keys))
    np.testing.assert_array_equal(np.sort(bits_of(found)), np.sort(bits_of(keys)))


def check_costs(run: smp.Run, expected: Costs) -> None:
    assert recorded(run).tolist() == expected.tolist()


# ------------------------------------------------------------------------------------- keys and images


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_images_are_in_the_order_of_the_keys(dtype: np.dtype[Any]) -> None:
    keys = np.sort(extremes(dtype))
    mapped = images(keys)
    assert mapped.dtype == unsigned(dtype)
    for (a, b), (x, y) in zip(itertools.combinations(mapped, 2), itertools.combinations(keys, 2), strict=True):
        assert (a < b) or x == y or (np.isnan(x) and np.isnan(y))


def test_signed_zeros_and_nans_have_different_images() -> None:
    keys = np.array([np.inf, 0.0, -np.nan, np.nan, -0.0, -np.inf])
    np.testing.assert_array_equal(np.argsort(images(keys)), [5, 4, 1, 0, 3, 2])
    assert images(keys)[5] == 0


@settings(deadline=None)
@given(keys=some_keys())
def test_keys_come_back_from_their_images(keys: Keys) -> None:
    mapped = images(keys)
    np.testing.assert_array_equal(bits_of(keys_of(mapped, keys.dtype)), bits_of(keys))
    np.testing.assert_array_equal(keys_of(np.sort(mapped), keys.dtype), np.sort(keys))


# ---------------------------------------------------------------------------------------- distribution


def test_a_distribution_matches_the_picture_in_its_docstring() -> None:
    keys = np.array([6, 2, 9, 4, 8, 1], np.uint32)
    parts = by_floors(keys, np.array([0, 3, 7], np.uint32))
    assert parts.tolist() == [1, 0, 2, 1, 2, 0]
    assert tally(parts, 3).tolist() == [2, 2, 2]
    dealt, places = np.empty_like(keys), np.array([0, 2, 4])
    assert deal(dealt, keys, parts, places) == 6
    assert dealt.tolist() == [2, 1, 6, 4, 9, 8]
    assert places.tolist() == [2, 4, 6]


@settings(deadline=None)
@given(keys=some_keys(), shift=st.integers(0, 31), width=st.integers(1, 16))
def test_keys_are_dealt_stably_by_their_digits(keys: Keys, shift: int, width: int) -> None:
    parts = by_digit(images(keys), shift, width)
    assert parts.tolist() == [(int(image) >> shift) % 2**width for image in images(keys)]
    counts = tally(parts, 1 << width)
    np.testing.assert_array_equal(counts, np.bincount(parts, minlength=1 << width))
    dealt = np.empty_like(keys)
    deal(dealt, keys, parts, np.cumsum(counts) - counts)
    np.testing.assert_array_equal(bits_of(dealt), bits_of(keys)[np.argsort(parts, kind="stable")])


@settings(deadline=None)
@given(keys=some_keys(), m=st.integers(1, 40), seed=st.integers(0, 99))
def test_every_key_lies_between_the_floors_of_its_part(keys: Keys, m: int, seed: int) -> None:
    mapped = images(keys)
    ends = np.array([0, np.iinfo(mapped.dtype).max], mapped.dtype)
    floors = np.sort(np.random.default_rng(seed).choice(np.concatenate([mapped, ends]), m))
    parts = by_floors(mapped, floors).astype(np.int64)
    assert ((parts == 0) | (floors[parts] <= mapped)).all()
    assert ((parts == m - 1) | (mapped <= floors[(parts + 1) % m])).all()
    for floor in np.unique(floors):  # keys equal to it alternate between all the parts that they may be in
        equal = np.flatnonzero(floors == floor)
        shares = np.bincount(parts[mapped == floor], minlength=m)[max(0, equal[0] - 1) : equal[-1] + 1]
        assert shares.sum() == np.count_nonzero(mapped == floor)
        assert shares.max() - shares.min() <= 1


def test_equal_keys_alternate_between_their_parts() -> None:
    keys, floors = np.full(1000, 7, np.uint64), np.array([3, 7, 7, 7, 9], np.uint64)
    assert tally(by_floors(keys, floors), 5).tolist() == [250, 250, 250, 250, 0]
    mixed = np.tile(np.array([7, 1, 7, 9], np.uint64), 100)  # each value alternates on its own
    assert tally(by_floors(mixed, floors), 5).tolist() == [150, 50, 50, 100, 50]


# --------------------------------------------------------------------------------------------- sorting


@every_program
@settings(max_examples=25, deadline=None)
@given(keys=some_keys())
def test_every_program_sorts_any_keys(machine: smp.Machine, program: Callable[..., None], keys: Keys) -> None:
    shared = machine.array(keys)
    machine.run(program, shared)
    check_sorted(shared.view, keys)


@settings(max_examples=10, deadline=None)
@given(keys=some_keys(), digit=st.integers(1, 16), oversampling=st.integers(1, 30), room=st.floats(1, 3))
def test_tuning_never_changes_the_order(
    machine: smp.Machine, keys: Keys, digit: int, oversampling: int, room: float
) -> None:
    for program, tuning in (
        (sort_radix, {"digit": digit}),
        (sort_sample, {"oversampling": oversampling, "room": room, "seed": digit}),
    ):
        shared = machine.array(keys)
        machine.run(program, shared, **tuning)
        check_sorted(shared.view, keys)


@every_program
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", each(3, ["random", "ordered", "reversed", "few", "equal", "skewed"]))
def test_every_program_sorts_longer_arrays(
    two: smp.Machine, program: Callable[..., None], dtype: np.dtype[Any], shape: str
) -> None:
    n, rng = 30_011, np.random.default_rng(5)
    keys = {
        "random": rng.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype),
        "ordered": np.arange(n),
        "reversed": np.arange(n)[::-1],
        "equal": np.full(n, 3),
        "few": rng.integers(0, 7, n),
        "skewed": rng.zipf(1.3, n).clip(max=2**30),
    }[shape].astype(dtype)
    shared = two.array(keys)
    two.run(program, shared)
    check_sorted(shared.view, keys)


@settings(max_examples=25, deadline=None)
@given(
    bits=st.integers(1, 64), digit=st.integers(1, 16), wide=st.booleans(), signed=st.booleans(), n=st.integers(0, 50)
)
def test_radix_sort_sorts_narrow_keys_at_the_predicted_cost(
    bits: int, digit: int, wide: bool, signed: bool, n: int, two: smp.Machine
) -> None:
    whole = 64 if wide else 32
    given_bits = min(bits, whole - signed)
    dtype = np.dtype(f"{'i' if signed else 'u'}{whole // 8}")
    keys = np.random.default_rng(bits).integers(0, 2**given_bits, n, np.uint64).astype(dtype)
    shared = two.array(keys)
    check_costs(
        two.run(sort_radix, shared, bits=given_bits, digit=digit), radix.cost(n, 2, bits=given_bits, digit=digit)
    )
    check_sorted(shared.view, keys)


@pytest.mark.parametrize(("p", "r"), [(1, 5), (2, 2), (2, 4), (2, 6), pytest.param(3, 9, marks=pytest.mark.slow)])
def test_column_sort_sorts_all_zeros_and_ones(p: int, r: int) -> None:
    """Apart from sorting columns, its moves do not depend on keys: if it sorts zeros and ones, it sorts any keys."""
    assert column_length(p * r, p) == r
    with smp.emulated(p) as machine:
        shared = machine.empty(p * r, np.uint32)
        for ones in itertools.product(range(r + 1), repeat=p):  # per column; their order in it does not matter
            shared.view[:] = np.concatenate([np.arange(r) < k for k in ones])
            machine.run(sort_column, shared)
            np.testing.assert_array_equal(shared.view, np.arange(p * r) >= p * r - sum(ones))


# ---------------------------------------------------------------------------------------------- counts


@pytest.mark.parametrize(("digit", "bits"), each(3, [(6, None), (8, None), (16, None), (5, 12), (5, 7)]))
def test_costs_of_radix_sort_equal_the_closed_form(machine: smp.Machine, digit: int, bits: int | None) -> None:
    for n in LENGTHS:
        keys = np.random.default_rng(n).integers(0, 2 ** (bits or 32), n).astype(np.uint32)
        run = machine.run(sort_radix, machine.array(keys), digit=digit, bits=bits)
        check_costs(run, radix.cost(n, machine.size, bits=bits or 32, digit=digit))


def test_costs_of_column_sort_equal_the_closed_form(machine: smp.Machine) -> None:
    for n in LENGTHS:
        run = machine.run(sort_column, machine.array(np.random.default_rng(n).standard_normal(n)))
        check_costs(run, column.cost(n, machine.size))


def foretold(keys: Keys, p: int, oversampling: int, seed: int, room: float) -> dict[str, int]:
    """Return how often sample sort draws again, and its largest bucket: computed from the draws, for unsigned keys."""
    blocks = np.array_split(keys, p)
    for restarts in range(TRIES):
        draws = [
            block[
                np.random.default_rng((seed, restarts, rank)).choice(len(block), min(oversampling, len(block)), False)
            ]
            for rank, block in enumerate(blocks)
        ]
        sample = np.sort(np.concatenate(draws))
        floors = sample[[k * len(sample) // p for k in range(p)]]
        sizes = np.zeros(p, np.int64)
        for block in blocks:
            least, most = (np.searchsorted(floors[1:], block, side) for side in ("left", "right"))
            turns = np.array([np.count_nonzero(block[:i] == key) for i, key in enumerate(block)], np.int64)
            sizes += np.bincount(least + turns % (most - least + 1), minlength=p)
        if sizes.max() <= room * len(keys) / p + SLACK:
            break
    return {"restarts": restarts, "largest": int(sizes.max())}


@pytest.mark.parametrize(("oversampling", "room"), each(2, [(100, 2.0), (3, 2.0), (1, 1.2)]))
@pytest.mark.parametrize("values", [7, 2**32])
def test_costs_of_sample_sort_follow_from_its_draws(
    machine: smp.Machine, oversampling: int, room: float, values: int
) -> None:
    for n in LENGTHS:
        keys = np.random.default_rng(n).integers(0, values, n).astype(np.uint32)
        run = machine.run(sort_sample, machine.array(keys), oversampling=oversampling, seed=n, room=room)
        data = foretold(keys, machine.size, oversampling, n, room) if n else {}
        check_costs(run, sample_sort.cost(n, machine.size, oversampling=oversampling, **data))


def test_sample_sort_draws_before_its_first_superstep(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    enter, generator = Superstep.__enter__, np.random.default_rng

    def entered(step: Superstep) -> Superstep:
        seen.append("superstep")
        return enter(step)

    def drawing(seed: Any) -> Any:
        def choice(*given: Any, **more: Any) -> Any:
            seen.append("draw")
            return generator(seed).choice(*given, **more)

        return SimpleNamespace(choice=choice)

    keys = np.arange(500)[::-1].copy()
    with smp.emulated(1) as machine:
        shared = machine.array(keys)
        monkeypatch.setattr(Superstep, "__enter__", entered)
        monkeypatch.setattr(np.random, "default_rng", drawing)
        machine.run(sort_sample, shared)
        assert list(shared.view) == sorted(keys)
    assert seen == ["draw", *["superstep"] * 5]


def test_a_too_large_bucket_restarts_sample_sort() -> None:
    keys = np.random.default_rng(0).permutation(5000).astype(np.uint64)
    with smp.emulated(5) as machine:
        tries = []
        for seed in range(12):
            shared = machine.array(keys)
            run = machine.run(sort_sample, shared, oversampling=4, seed=seed, room=1.4)
            check_sorted(shared.view, keys)
            data = foretold(keys, 5, 4, seed, 1.4)
            check_costs(run, sample_sort.cost(5000, 5, oversampling=4, **data))
            tries.append(data["restarts"] + 1)
            assert data["largest"] <= 1.4 * 1000 + SLACK or tries[-1] == TRIES
        assert len(set(tries)) > 3  # the draws are independent: sometimes one suffices, sometimes several are needed
        run = machine.run(sort_sample, shared := machine.array(keys), oversampling=1, room=1)
        check_sorted(shared.view, keys)
        assert np.count_nonzero(recorded(run)["label"] == "sample") == TRIES


def test_equal_keys_are_shared_among_the_buckets(machine: smp.Machine) -> None:
    p, n = machine.size, 3001
    run = machine.run(sort_sample, machine.array(np.full(n, 7, np.int32)))
    largest = sum(-(-len(block) // p) for block in np.array_split(np.arange(n), p))
    check_costs(run, sample_sort.cost(n, p, largest=largest))
    assert largest < n / p + p


@pytest.mark.parametrize("p", [2, 4, 8, 12])
def test_costs_equal_those_of_the_published_tables(p: int) -> None:
    """Tables 9, 10 and 11, for n = 1,152,000.  For these p, p^2 divides n, so column sort needs no pads.

    No entry differs.  In table 10 the sizes of the buckets are the ideal ones, as the table itself says.
    """
    n = 1_152_000
    round_of_radix_sort = [
        ("count", n // p, 64, n + 64 * p),
        ("prefix sum", 64, 64, 128 * p),
        ("offsets", 64, 64, 128 * p),
        ("move", n // p + 64, n // p, 2 * n + 64 * p),
    ]
    assert radix.cost(n, p).tolist() == costs_of(6 * round_of_radix_sort).tolist()
    table_10 = [
        ("sample", 100, 100, 200 * p),
        ("count", n // p + p, p, n + 2 * p**2),
        ("prefix sum", p, p, 2 * p**2),
        ("move", n // p + 3 * p, n // p, 2 * n + 3 * p**2),
        ("sort", n // p, n // p, 2 * n),
    ]
    assert sample_sort.cost(n, p).tolist() == costs_of(table_10).tolist()
    labels = ["init", "sort/transpose", "sort/reverse", "sort", "shift/sort/unshift"]
    assert column.cost(n, p).tolist() == costs_of((label, n // p, n // p, 2 * n) for label in labels).tolist()


@pytest.mark.parametrize(
    ("n", "p", "pads"), [(960_000, 8, 0), (960_000, 12, 48), (100, 3, 8), (10, 3, 17), (1, 5, 174)]
)
def test_columns_get_as_few_pads_as_possible(n: int, p: int, pads: int) -> None:
    r = column_length(n, p)
    assert (r % p, p * r - n) == (0, pads)
    assert r >= 2 * (p - 1) ** 2
    assert p * (r - p) < n or r - p < 2 * (p - 1) ** 2
    assert column.cost(n, p)["m"][[0, 1, 4]].tolist() == [n + p * r, 2 * p * r, p * r + n]


@every_program
def test_costs_on_the_host_equal_the_closed_forms(two: smp.Machine, program: Callable[..., None]) -> None:
    keys = np.random.default_rng(8).integers(0, 2**32, 10_001).astype(np.uint32)
    expected = {
        sort_radix: lambda: radix.cost(10_001, 2),
        sort_sample: lambda: sample_sort.cost(10_001, 2, **foretold(keys, 2, 100, 0, 2.0)),
        sort_column: lambda: column.cost(10_001, 2),
    }[program]
    check_costs(two.run(program, two.array(keys)), expected())


# ---------------------------------------------------------------------------------------------- errors


def refused(machine: smp.Machine, program: Callable[..., None], keys: Keys, **tuning: Any) -> BaseException:
    """Return the error that the program raises; the keys stay as they were."""
    shared = machine.array(keys)
    with pytest.raises(ProcessorRaised) as caught:
        machine.run(program, shared, **tuning)
    np.testing.assert_array_equal(shared.view, keys)
    assert caught.value.__cause__ is not None
    return caught.value.__cause__


@every_program
@pytest.mark.parametrize("dtype", ["i2", "f2", ">i4", "c16", "bool", "M8[s]"])
def test_keys_of_other_types_are_refused(two: smp.Machine, program: Callable[..., None], dtype: str) -> None:
    error = refused(two, program, np.zeros(4, dtype))
    assert isinstance(error, TypeError)
    assert "take int32, int64, uint32, uint64, float32, float64" in str(error)


@every_program
def test_keys_of_other_shapes_are_refused(two: smp.Machine, program: Callable[..., None]) -> None:
    error = refused(two, program, np.zeros((3, 2)))
    assert isinstance(error, ValueError)
    assert "(3, 2)" in str(error)


KEYS = np.array([5, 70_000, 3, -1, 2])


@pytest.mark.parametrize(
    ("program", "keys", "tuning", "error", "words"),
    [
        (sort_radix, KEYS, {"digit": 0}, ValueError, "digit must be from 1 to 16, not 0"),
        (sort_radix, KEYS, {"digit": 17}, ValueError, "digit .* not 17"),
        (sort_radix, KEYS, {"digit": 2.5}, TypeError, "digit .* whole number, not 2.5"),
        (sort_radix, KEYS, {"bits": 0}, ValueError, "bits must be from 1 to 64, not 0"),
        (sort_radix, KEYS.astype(np.int32), {"bits": 33}, ValueError, "bits must be from 1 to 32, not 33"),
        (sort_radix, KEYS.astype(float), {"bits": 16}, ValueError, "floats .* all their 64 bits"),
        (sort_radix, KEYS, {"bits": 16}, ValueError, "^2 keys .* from 0 to 2\\*\\*16 - 1"),
        (sort_radix, KEYS, {"bits": 63}, ValueError, "^1 key is "),
        (sort_radix, KEYS[:3], {"bits": 2}, ValueError, "^2 keys"),
        (sort_sample, KEYS, {"oversampling": 0}, ValueError, "oversampling must be at least 1, not 0"),
        (sort_sample, KEYS, {"oversampling": "3"}, TypeError, "oversampling .* whole number"),
        (sort_sample, KEYS, {"seed": -1}, ValueError, "seed must be at least 0, not -1"),
        (sort_sample, KEYS, {"room": 0.9}, ValueError, "room must be at least 1, not 0.9"),
        (sort_sample, KEYS, {"room": float("nan")}, ValueError, "room must be at least 1, not nan"),
    ],
)
def test_numbers_out_of_range_are_refused(
    two: smp.Machine, program: Callable[..., None], keys: Keys, tuning: Any, error: type[Exception], words: str
) -> None:
    found = refused(two, program, keys, **tuning)
    assert isinstance(found, error)
    with pytest.raises(error, match=words):
        raise found
    shared = two.array(KEYS)
    two.run(program, shared)  # the machine still works
    assert shared[:].tolist() == [-1, 2, 3, 5, 70_000]


@pytest.mark.parametrize(("bits", "digit"), [(0, 6), (32, 0), (32, 17)])
def test_an_invalid_radix_sort_has_no_cost(bits: int, digit: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        radix.cost(10, 2, bits=bits, digit=digit)
