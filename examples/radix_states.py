"""States: where the time of a radix sort goes, as a picture.

Keys of 28 bits are sorted by 4 bits in each of seven passes.  Each processor says what it does with proc.state.
"python examples/radix_states.py radix.png" draws these states: processors upwards, time to the right.
"""

import sys
from itertools import pairwise

import numpy as np

import smp

BITS, DIGIT = 28, 4
VALUES = 1 << DIGIT


def radix_sort(proc, array):
    proc.state("initialise")
    block = proc.block(len(array))
    keys = proc.random.integers(0, 1 << BITS, block.stop - block.start)
    before = proc.reduce(keys.sum())
    for shift in range(0, BITS, DIGIT):
        proc.state("count")
        digits = (keys >> shift).astype(np.uint8) % VALUES
        counts = np.bincount(digits, minlength=VALUES)
        proc.state("scan")
        total = proc.reduce(counts)
        lower = proc.scan(counts) - counts  # keys of each digit on lower processors
        first = np.cumsum(total) - total + lower  # place of this processor's first key of each digit
        proc.state("order")
        order = np.argsort(digits, kind="stable")
        ranks = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)  # among its keys of this digit
        places = np.repeat(first, counts) + ranks
        proc.state("move")
        with proc.superstep("move") as step:
            step.compute()
            step.copy_out(array, places, keys[order])
        with proc.superstep("read") as step:
            step.copy_in(array, block, out=keys)
    proc.state("check")
    kept = proc.reduce(keys.sum()) == before
    last = proc.gather((int(keys[0]), int(keys[-1])))
    in_order = all(one[1] <= two[0] for one, two in pairwise(last))
    return kept and in_order and bool((np.diff(keys) >= 0).all())


with smp.host(2) as machine:
    run = machine.run(radix_sort, machine.empty(1_000_000, np.int64), warmup=1, seed=1)

states, lasted = run.states, run.states["end"] - run.states["start"]
sums = np.bincount(states["rank"], lasted)
print("sorted:", run.results)
print("states of processor 0:", *states["state"][states["rank"] == 0])
print("their sum is the time of the program:", np.allclose(sums, run.seconds, rtol=0.01))
for path in sys.argv[1:]:
    run.state_graph(path)
