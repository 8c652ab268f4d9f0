"""The cost of a sparse product is known once its rows have owners, and decides between partitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import smp
from smp.kernels.costs import recorded
from smp.kernels.sparse.partition import Partition, equal_entries, equal_rows, multiply_sparse
from smp.microbench import model_of
from smp.profiles import published_machine


def matrix(n: int, seed: int, skew: float = 0.0) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Return first and columns of a random matrix; with skew, the first rows have more entries."""
    rng = np.random.default_rng(seed)
    counts = np.minimum(rng.integers(0, 6, n) + (skew * n / (1 + np.arange(n))).astype(int), n)
    columns = [np.sort(rng.choice(n, count, replace=False)) for count in counts]
    return np.concatenate([[0], np.cumsum(counts)]), np.concatenate(columns).astype(np.int64)


@settings(max_examples=15, deadline=None)
@given(n=st.integers(1, 40), seed=st.integers(0, 1000), p=st.integers(1, 5), products=st.integers(0, 3))
def test_the_counts_are_those_of_a_run_and_the_product_is_right(n: int, seed: int, p: int, products: int) -> None:
    first, columns = matrix(n, seed)
    rng = np.random.default_rng(seed)
    values, start = rng.random(len(columns)), rng.random(n)
    partition = Partition.of(first, columns, rng.integers(0, p, n), p)
    dense = np.zeros((n, n))
    dense[np.repeat(np.arange(n), np.diff(first)), columns] = values
    with smp.emulated(p) as machine:
        vectors = machine.array(np.stack([start, np.zeros(n)]))
        run = machine.run(multiply_sparse, vectors, values, partition, products)
        found = np.array(vectors[products % 2])
    np.testing.assert_allclose(found, np.linalg.matrix_power(dense, products) @ start)
    np.testing.assert_array_equal(recorded(run), partition.costs(products))


def banded(n: int, width: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Return first and columns of a matrix whose entries lie close to the diagonal."""
    ends = [(max(i - width, 0), min(i + width + 1, n)) for i in range(n)]
    counts = [high - low for low, high in ends]
    return np.concatenate([[0], np.cumsum(counts)]), np.concatenate([np.arange(low, high) for low, high in ends])


def test_the_better_partition_by_the_prediction_is_the_better_one_in_virtual_time() -> None:
    n, p, products = 20_000, 4, 3
    first, columns = banded(n, 3)
    values, start = np.ones(len(columns)), np.ones(n)
    profile = published_machine("SGI Power Challenge")
    owners = {"rows": equal_rows(n, p), "random": np.random.default_rng(5).integers(0, p, n)}
    predicted, taken = {}, {}
    bad = {}
    for name, owner in owners.items():
        partition = Partition.of(first, columns, owner, p)
        predicted[name] = model_of(profile, lambda n, p, part=partition: part.costs(products), n, p).total()
        bad[name] = model_of(profile, lambda n, p, part=partition: part.costs(products), n, p, loc=0).total()
        with smp.emulated(p, machine="powerchallenge") as machine:
            vectors = machine.array(np.stack([start, start]))
            summary = machine.run(multiply_sparse, vectors, values, partition, products).summary()
        taken[name] = float(summary["copy_in"].sum() + summary["copy_out"].sum())
    assert predicted["random"] > 1.5 * predicted["rows"], "a random partition needs nearly the whole vector everywhere"
    assert taken["random"] > 1.5 * taken["rows"]
    for name, seconds in taken.items():
        assert predicted[name] < seconds < bad[name]


def test_owners_with_equal_entries_balance_the_work() -> None:
    first, columns = matrix(400, 1, skew=0.5)
    even, by_entries = (
        Partition.of(first, columns, owner, 4) for owner in (equal_rows(400, 4), equal_entries(first, 4))
    )
    assert even.writes.tolist() == [100] * 4
    assert by_entries.balance > even.balance
    assert sum(by_entries.work) == len(columns)


def test_arrays_that_are_no_matrix_are_refused() -> None:
    with pytest.raises(ValueError, match="a matrix of 2 rows needs 3 numbers"):
        Partition.of([0, 1], [0], [0, 0], 1)
    with pytest.raises(ValueError, match="must not descend"):
        Partition.of([0, 2, 1, 2], [0, 1], [0, 0, 0], 1)
    with pytest.raises(ValueError, match="`columns` has values from 0 to 7; they must be 0 to 1"):
        Partition.of([0, 1, 2], [0, 7], [0, 0], 1)
    with pytest.raises(ValueError, match="`owner` has values from 0 to 2"):
        Partition.of([0, 1, 2], [0, 1], [0, 2], 2)
