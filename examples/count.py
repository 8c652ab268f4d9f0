"""Count keys in a superstep, each processor in its own half."""

import numpy as np

import smp


def count(proc, keys, counts):
    with proc.superstep("count") as step:
        mine = step.copy_in(keys, proc.block(len(keys)))  # global -> local: these are the reads
        step.compute()  # barrier; from here on only local data
        local = np.bincount(mine, minlength=counts.shape[1])
        step.copy_out(counts, proc.rank, local)  # local -> global, after the next barrier: the writes
    return int(local.sum())


with smp.host(2) as machine:
    keys = machine.array(np.random.default_rng(0).integers(0, 64, 1_000_000))
    counts = machine.zeros((2, 64), np.int64)
    run = machine.run(count, keys, counts)

print("counted by each:", run.results)
print("in all:", int(counts[:].sum()))
for row in run.steps:
    print(row["label"], "rank", row["rank"], "reads", row["reads"], "writes", row["writes"])
