"""Sorts that send each key in a message of its own: the keys are in order, on every kind of machine."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp.kernels.sorting.by_messages import sort_radix_by_messages, sort_sample_by_messages

SORTS = {"radix": sort_radix_by_messages, "sample": sort_sample_by_messages}


def sorted_by(sort: str, keys: Any, machine: smp.Machine, **how: Any) -> list[Any]:
    def program(proc: smp.Processor) -> Any:
        return SORTS[sort](proc, keys[proc.rank], **how)

    return machine.run(program).results


@settings(max_examples=10, deadline=None)
@given(
    p=st.integers(1, 6),
    k=st.integers(1, 30),
    bits=st.integers(1, 32),
    digit=st.integers(1, 11),
    name=st.sampled_from([None, "cm5", "alewife", "atm"]),
    seed=st.integers(0, 99),
)
def test_keys_are_in_order(p: int, k: int, bits: int, digit: int, name: str | None, seed: int) -> None:
    keys = np.random.default_rng(seed).integers(0, 1 << bits, (p, k), np.uint64).astype(np.uint32)
    made = smp.emulated(p, schedule="clock") if name is None else smp.emulated(p, machine=name)
    with made as machine:
        by_digits = sorted_by("radix", keys, machine, digit=digit, bits=bits)
        by_sample = sorted_by("sample", keys, machine, digit=digit, seed=seed)
    assert [len(part) for part in by_digits] == [k] * p
    assert np.array_equal(np.concatenate(by_digits), np.sort(keys, axis=None))
    assert np.array_equal(np.concatenate(by_sample), np.sort(keys, axis=None))


def test_any_order_of_steps_gives_the_same() -> None:
    keys = np.random.default_rng(3).integers(0, 1 << 12, (3, 15)).astype(np.uint32)
    for seed in range(5):
        with smp.emulated(3, seed=seed, limit=100_000_000) as machine:
            for sort in SORTS:
                assert np.array_equal(np.concatenate(sorted_by(sort, keys, machine)), np.sort(keys, axis=None))


def test_a_host_sorts_by_messages_too() -> None:
    keys = np.random.default_rng(4).integers(0, 1 << 32, (2, 300), np.uint64).astype(np.uint32)
    with smp.host(2) as machine:
        for sort in SORTS:
            assert np.array_equal(np.concatenate(sorted_by(sort, keys, machine)), np.sort(keys, axis=None))


def test_parts_of_sample_sort_are_about_equal() -> None:
    """Brewer's thesis, section 4.5.2: with 64 keys of each processor, hardly ever more than twice the mean."""
    keys = np.random.default_rng(5).integers(0, 1 << 32, (16, 200), np.uint64).astype(np.uint32)
    with smp.emulated(16, machine="cm5") as machine:
        lengths = [len(part) for part in sorted_by("sample", keys, machine)]
    assert max(lengths) < 2 * 200


@pytest.mark.parametrize(
    ("sort", "keys", "how", "message"),
    [
        ("radix", np.zeros((2, 3)), {}, "must be a one-dimensional array of uint32"),
        ("radix", np.zeros((2, 3), np.uint32), {"digit": 17}, "17"),
        ("radix", np.zeros((2, 3), np.uint32), {"bits": 33}, "33"),
        ("sample", np.zeros((2, 0), np.uint32), {}, "has none"),
    ],
)
def test_wrong_arguments_are_refused(sort: str, keys: Any, how: Any, message: str) -> None:
    with smp.emulated(2, machine="cm5") as machine, pytest.raises(smp.errors.ProcessorRaised, match=message):
        sorted_by(sort, keys, machine, **how)
