"""Compare partitions of a sparse matrix by their predicted times, before the products are computed."""

import numpy as np

import smp
from smp.kernels.sparse.partition import Partition, equal_entries, equal_rows, multiply_sparse
from smp.microbench import model_of
from smp.profiles import published_machine

n, processors, products = 20_000, 4, 3
rng = np.random.default_rng(1)
counts = np.where(np.arange(n) < n // 10, 30, 5)  # the first rows have more entries
columns = np.concatenate([i + np.arange(c) - c // 2 for i, c in enumerate(counts)]).clip(0, n - 1)
first = np.concatenate([[0], np.cumsum(counts)])

profile = published_machine("SGI Power Challenge")
owners = {
    "equal rows": equal_rows(n, processors),
    "equal entries": equal_entries(first, processors),
    "random rows": rng.integers(0, processors, n),
}
print("partition       words read  balance  predicted good to bad (ms)  emulated (ms)")
for name, owner in owners.items():
    partition = Partition.of(first, columns, owner, processors)
    good, bad = (
        model_of(profile, lambda n, p, made=partition: made.costs(products), n, processors, loc=loc).total()
        for loc in (1, 0)
    )
    with smp.emulated(processors, machine="powerchallenge") as machine:
        vectors = machine.array(np.ones((2, n)))
        steps = machine.run(multiply_sparse, vectors, np.ones(len(columns)), partition, products).summary()
    taken = float(steps["copy_in"].sum() + steps["copy_out"].sum())
    print(
        f"{name:<14} {partition.reads.max():>11,} {partition.balance:>8.2f} {1e3 * good:>14.2f} to {1e3 * bad:>5.2f}"
        f"{1e3 * taken:>19.2f}"
    )
