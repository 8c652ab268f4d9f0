"""The time of two equal parts on two CPUs: by helpers of the kernels, by a pool of threads, and by one thread.

    python benchmarks/helpers.py [--rounds 300]

Each part keeps a CPU busy in compiled code, for the microseconds in the first column.  A call follows the one before
at once, or after 5 ms without work, as in a program that waits for something between its calls.  The three ways take
turns in each round.  A ratio is the median over the rounds of the time over that of a single part: 1 if two CPUs work
at once, 2 if one does both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import smp
from smp.compiled import clock
from smp.kernels.in_process import side_by_side


@smp.local
def busy(ns: int) -> None:
    """Keep the CPU busy."""
    until = clock() + ns
    while clock() < until:
        pass


def seconds(call: Callable[[], object], idle: float) -> float:
    time.sleep(idle)
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    with ThreadPoolExecutor(1) as pool:

        def by_pool(part: Callable[[], None]) -> None:
            other = pool.submit(part)
            part()
            other.result()

        print(f"{'us a part':>9}{'between calls':>16}{'helpers':>10}{'a pool':>10}{'one thread':>12}")
        for us in (10, 100, 400, 2000):
            part = partial(busy, 1000 * us)
            ways = [partial(side_by_side, part, part), partial(by_pool, part), lambda part=part: (part(), part())]
            for idle in (0.0, 0.005):
                for way in ways:
                    way()
                taken = np.array([[seconds(way, idle) for way in ways] for _ in range(rounds)])
                ratios = np.median(taken, axis=0) / us * 1e6
                print(f"{us:>9}{'5 ms' if idle else 'none':>16}{ratios[0]:>10.2f}{ratios[1]:>10.2f}{ratios[2]:>12.2f}")


if __name__ == "__main__":
    main()
