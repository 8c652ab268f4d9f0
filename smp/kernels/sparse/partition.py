"""The cost of a sparse matrix-vector product, predicted after the rows have been shared out to processors.

    matrix, owner of each row  ─▶  words that each processor reads and writes, entries that it multiplies
                               ─▶  predicted time

Nothing short of the whole matrix determines the time of a product.  Once its rows have owners, though, the
communication and the balance of the load can be counted.  So partitions can be compared by a factored model before one
is used.

Source: Brewer, Portable High-Performance Supercomputing, section 8.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import GlobalArray, Processor

from ..costs import Costs, costs_of

LABEL = "multiply"
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """A sparse square matrix in compressed rows, and the processor that owns each row.

    Attributes
    ----------
    first : ndarray (n + 1,) int64
        Index of the first entry of each row, and the number of entries.
    columns : ndarray of int64
        Column of each entry.
    owner : ndarray (n,) int64
        Rank of the processor that owns each row.
    processors : int
    """

    first: Integers
    columns: Integers
    owner: Integers
    processors: int

    @classmethod
    def of(cls, first: ArrayLike, columns: ArrayLike, owner: ArrayLike, processors: int) -> Partition:
        """Return the partition of a matrix, checked.

        Raises
        ------
        ValueError
            If the arrays do not describe a square matrix and an owner of each of its rows.
        """
        arrays = [np.ascontiguousarray(each, np.int64) for each in (first, columns, owner)]
        made = cls(arrays[0], arrays[1], arrays[2], processors)
        n = len(made.owner)
        if len(made.first) != n + 1 or made.first[0] != 0 or made.first[-1] != len(made.columns):
            raise ValueError(
                f"a matrix of {n} rows needs {n + 1} numbers from 0 to its {len(made.columns)} entries in `first`, not "
                f"{len(made.first)} that end with {made.first[-1] if len(made.first) else 'none'}"
            )
        if (np.diff(made.first) < 0).any():
            raise ValueError("the numbers in `first` must not descend, since a row cannot have fewer than no entries")
        for name, values, end in (("columns", made.columns, n), ("owner", made.owner, processors)):
            if len(values) and not 0 <= values.min() <= values.max() < end:
                raise ValueError(
                    f"`{name}` has values from {values.min()} to {values.max()}; they must be 0 to {end - 1}"
                )
        return made

    def rows(self, rank: int) -> Integers:
        """Return the rows of a processor."""
        return np.flatnonzero(self.owner == rank)

    def entries(self, rank: int) -> Integers:
        """Return the indices of a processor's entries, row by row."""
        counts = np.diff(self.first)
        return np.flatnonzero(np.repeat(self.owner == rank, counts))

    @cached_property
    def reads(self) -> Integers:
        """Number of different elements of the vector that each processor needs, shape (processors,)."""
        return np.array([len(np.unique(self.columns[self.entries(rank)])) for rank in range(self.processors)], np.int64)

    @cached_property
    def writes(self) -> Integers:
        """Number of elements of the result that each processor computes, shape (processors,)."""
        return np.bincount(self.owner, minlength=self.processors).astype(np.int64)

    @cached_property
    def work(self) -> Integers:
        """Number of entries that each processor multiplies, shape (processors,)."""
        counts = np.bincount(self.owner, np.diff(self.first), self.processors)
        return counts.astype(np.int64)

    @property
    def balance(self) -> float:
        """Average work of a processor over the largest: 1 if all have the same."""
        return float(self.work.mean() / self.work.max()) if self.work.max() else 1.0

    def costs(self, products: int = 1) -> Costs:
        """Return what the supersteps of products access, for `smp.microbench.model_of` and others.

        Examples
        --------
        The matrix has the entries (0, 0), (0, 1), (1, 1), (2, 0), (2, 2); the first processor owns rows 0 and 1.

        >>> matrix = Partition.of([0, 2, 3, 5], [0, 1, 1, 0, 2], owner=[0, 0, 1], processors=2)
        >>> matrix.costs().tolist()
        [('multiply', 2, 2, 7)]
        >>> matrix.work.tolist(), round(matrix.balance, 3)
        ([3, 2], 0.833)
        """
        reads, writes = self.reads, self.writes
        each = LABEL, int(reads.max()), int(writes.max()), int(reads.sum() + writes.sum())
        return costs_of([each] * products)


def equal_rows(n: int, processors: int) -> Integers:
    """Return owners that have equal numbers of consecutive rows."""
    return np.arange(n) * processors // max(n, 1)


def equal_entries(first: ArrayLike, processors: int) -> Integers:
    """Return owners of consecutive rows that have about equal numbers of entries.

    Examples
    --------
    >>> equal_entries([0, 6, 7, 8, 9, 10, 11, 12], 2).tolist()
    [0, 1, 1, 1, 1, 1, 1]
    """
    ends = np.asarray(first, np.int64)
    middles = (ends[:-1] + ends[1:]) / 2
    return np.minimum(middles * processors // max(int(ends[-1]), 1), processors - 1).astype(np.int64)


def multiply_sparse(
    proc: Processor, vectors: GlobalArray, values: NDArray[np.float64], partition: Partition, products: int = 1
) -> None:
    """Multiply a vector by a sparse matrix again and again (SPMD program).

    Parameters
    ----------
    proc : Processor
    vectors : GlobalArray of shape (2, n), float64
        The vector, in row 0. After k products, the result is in row k % 2.
    values : ndarray of float64
        Values of the entries.
    partition : Partition
        The matrix, and the owners of its rows.
    products : int
    """
    mine, entries = partition.rows(proc.rank), partition.entries(proc.rank)
    needed, place = np.unique(partition.columns[entries], return_inverse=True)
    counts = np.diff(partition.first)[mine]
    row = np.repeat(np.arange(len(mine)), counts)
    own = values[entries]
    for k in range(products):
        with proc.superstep(LABEL) as step:
            vector = step.copy_in(vectors, (k % 2, needed))
            step.compute()
            result = np.bincount(row, own * vector[place], len(mine))
            step.copy_out(vectors, ((k + 1) % 2, mine), result)
