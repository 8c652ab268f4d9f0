"""Measure what places of perturbation tuning cost when nothing is treated, and how long a screening takes.

    python benchmarks/perturb.py [--only compiled|python|screening]

Each cost is the difference between a loop with the place and the same loop without it, which alternate: the median of
many pairs. The noise is half the distance between the quartiles of the same difference for two loops without a place.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import smp
from smp.compiled import delay
from smp.perturb import factor, screen

PAIRS, LENGTH, PASSES = 301, 200_000, 20_000


@smp.local
def chain(a: Any) -> float:
    """Each addition waits for the one before."""
    s = 0.0
    for k in range(a.size):
        s = s * 0.5 + a[k]
    return s


@smp.local
def chain_with_a_place(a: Any) -> float:
    s = 0.0
    for k in range(a.size):
        s = s * 0.5 + a[k]
        delay("one")
    return s


@smp.local
def counts(a: Any, into: Any) -> None:
    """Each step goes to memory and does not wait for the one before."""
    for k in range(a.size):
        into[k & 63] += a[k]


@smp.local
def counts_with_a_place(a: Any, into: Any) -> None:
    for k in range(a.size):
        into[k & 63] += a[k]
        delay("one")


@smp.local
def counts_with_six_places(a: Any, into: Any) -> None:
    for k in range(a.size):
        delay("one")
        delay("two")
        delay("three")
        into[k & 63] += a[k]
        delay("four")
        delay("five")
        delay("six")


def nothing() -> None:
    pass


placed = factor("four")(nothing)


def plain(passes: int) -> None:
    for _ in range(passes):
        pass


def with_block(passes: int) -> None:
    for _ in range(passes):
        with factor("one"):
            pass


def with_kept_block(passes: int) -> None:
    place = factor("two")
    for _ in range(passes):
        with place:
            pass


def with_point(passes: int) -> None:
    for _ in range(passes):
        delay("three")


def calling(passes: int) -> None:
    for _ in range(passes):
        nothing()


def calling_placed(passes: int) -> None:
    for _ in range(passes):
        placed()


def seconds(function: Callable[..., object], *arguments: Any) -> float:
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def tell(what: str, with_: Callable[..., object], without: Callable[..., object], count: int, *arguments: Any) -> None:
    """Print the difference of two loops, in ns per step."""
    for function in (with_, without):
        function(*arguments)
    pairs = np.array([[seconds(f, *arguments) for f in (without, with_, without)] for _ in range(PAIRS)]) * 1e9 / count
    low, high = np.quantile(pairs[:, 2] - pairs[:, 0], [0.25, 0.75])
    cost = float(np.median(pairs[:, 1] - (pairs[:, 0] + pairs[:, 2]) / 2))
    print(f"{what:<44} {cost:8.3f} ns   noise {(high - low) / 2:6.3f}   without {np.median(pairs[:, 0]):7.2f}")


def compiled() -> None:
    print("Compiled, without treatments")
    a, into = np.ones(LENGTH), np.zeros(64)
    tell("a place in a chain of additions", chain_with_a_place, chain, LENGTH, a)
    tell("a place in additions to memory", counts_with_a_place, counts, LENGTH, a, into)
    tell("six places in the same loop", counts_with_six_places, counts, LENGTH, a, into)


def python() -> None:
    print("Python, without treatments")
    tell("with factor(...):", with_block, plain, PASSES, PASSES)
    tell("with a factor that is kept", with_kept_block, plain, PASSES, PASSES)
    tell("@factor(...) on a function", calling_placed, calling, PASSES, PASSES)
    tell("delay(...)", with_point, plain, PASSES, PASSES)


def program(passes: int) -> None:
    a = np.ones(10_000)
    for name in ("p1", "p2", "p3", "p4", "p5", "p6"):
        for _ in range(passes):
            with factor(name):
                chain(a)


def screening() -> None:
    program(1)
    passes = round(0.2 / min(seconds(program, 20) for _ in range(5)) * 20)
    began = time.perf_counter()
    trials = screen(program, "2^(6-2)", treatment="1us", arguments=(passes,), replicates=3)
    took = time.perf_counter() - began
    runs, bare = float(trials.responses().sum()), float(trials.responses()[:, 0].min())
    print(f"A screening of 6 factors, 2^(6-2) with 3 replicates, of a program of {bare:.3f} s")
    print(f"{took:.1f} s, of which {runs:.1f} s in the 48 trials")
    print(trials.analyse())


def main() -> None:
    parts = {"compiled": compiled, "python": python, "screening": screening}
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", choices=parts)
    chosen = options.parse_args().only
    for name, part in parts.items():
        if chosen in (None, name):
            part()


if __name__ == "__main__":
    main()
