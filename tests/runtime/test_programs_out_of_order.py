"""Programs of ``examples/`` and loops of messages, on networks that give up the order of packets, against NumPy."""

import runpy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from support import packet_loops, unordered_loops
from support.machines import ROOT, Machines, guarded

import smp

HISTOGRAM, GATHER, TRIANGULAR, PILE, DARTS = (
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    for name in ("histogram", "gather", "triangular", "pile", "darts")
)
Results = list[Any]
Case = tuple[Callable[..., Any], tuple[Any, ...], Callable[[Results], bool]]
"""A program, its arguments, and a function that checks the results of all processors."""


def histogram(size: int, draw: np.random.Generator, looped: bool) -> Case:
    width, keys = 3, draw.integers(0, 3 * size, 12)
    expected = np.bincount(keys, minlength=width * size)

    def loop(proc: smp.Processor) -> Any:
        counts = np.zeros(width, np.int64)
        unordered_loops.histogram(proc.net, proc.rank, proc.size, keys[proc.block(len(keys))], counts)
        return counts

    if looped:
        return loop, (), lambda counts: bool((np.stack(counts, axis=1).ravel() == expected).all())
    return (
        HISTOGRAM["program"],
        (keys, width),
        lambda found: all((np.concatenate(parts) == expected).all() for parts in zip(*found, strict=True)),
    )


def gather(size: int, draw: np.random.Generator, looped: bool) -> Case:
    table, places = draw.integers(0, 1_000, 3 * size), draw.integers(0, 3 * size, (size, 4))

    def loop(proc: smp.Processor) -> Any:
        part, out = table[proc.rank :: proc.size].copy(), np.zeros(4, np.int64)
        packet_loops.gather(proc.net, proc.rank, proc.size, places[proc.rank], part, out)
        return out

    def asked(proc: smp.Processor) -> Any:
        return GATHER["by_requests"](proc, table[3 * proc.rank : 3 * proc.rank + 3], 3, places[proc.rank])

    return loop if looped else asked, (), lambda found: bool((np.array(found) == table[places]).all())


def triangular(size: int, draw: np.random.Generator, looped: bool) -> Case:
    n = 3 * size
    lower = sparse.csr_array(np.tril(draw.integers(-2, 3, (n, n)) * (draw.random((n, n)) < 0.4), -1))
    b = draw.integers(-9, 10, n)
    expected = np.linalg.solve(lower.toarray() + np.eye(n), b)
    parts = [lower[rank::size].tocsc() for rank in range(size)]
    needed = np.stack([np.diff(part.indptr) > 0 for part in parts], axis=1)

    def loop(proc: smp.Processor) -> Any:
        part, x = parts[proc.rank], b[proc.rank :: proc.size].copy()
        columns, missing = (part.indptr, part.indices, part.data), np.bincount(part.indices, minlength=len(x))
        ready = np.zeros(len(x), np.int64)
        unordered_loops.triangular(proc.net, proc.rank, proc.size, *columns, needed, x, missing, ready)
        return x

    def sent(proc: smp.Processor) -> Any:
        return TRIANGULAR["by_messages"](proc, parts, b.astype(float))

    return loop if looped else sent, (), lambda x: np.allclose(np.stack(x, axis=1).ravel(), expected)


def darts(size: int, draw: np.random.Generator, looped: bool) -> Case:
    n = 3 * size + 1
    width = -(-2 * n // size)
    drawn = draw.integers(0, width * size, (size, 50))

    def loop(proc: smp.Processor) -> Any:
        table = np.full(width, -1)
        unordered_loops.darts(proc.net, proc.size, np.arange(n)[proc.block(n)], width, drawn[proc.rank], table)
        return DARTS["compacted"](proc, table)

    def thrown(proc: smp.Processor) -> Any:
        return DARTS["by_requests"](proc, np.arange(n)[proc.block(n)], width)

    return loop if looped else thrown, (), lambda parts: is_permutation(parts, n)


def is_permutation(parts: list[tuple[int, NDArray[np.int64]]], n: int) -> bool:
    """Return True if parts that begin at the given places have each of n elements once, and fit together."""
    lengths = [len(part) for _, part in parts]
    begin = [first for first, _ in parts] == [0, *np.cumsum(lengths)[:-1]]
    return begin and bool((np.sort(np.concatenate([part for _, part in parts])) == np.arange(n)).all())


def pile(size: int, draw: np.random.Generator, looped: bool) -> Case:
    return (
        PILE["by_requests"],
        (90, 7),
        lambda found: (
            sorted(task for done in found for task in done) == list(range(7))
            and {task: factor for done in found for task, factor in done.items()}
            == {task: largest_factor(90 + task) for task in range(7)}
        ),
    )


def largest_factor(n: int) -> int:
    divisors = np.flatnonzero(n % np.arange(1, n + 1) == 0) + 1
    return int(max((d for d in divisors if np.count_nonzero(d % np.arange(1, d + 1) == 0) == 2), default=1))


CASES = [(case, looped) for case in (histogram, gather, triangular, darts) for looped in (False, True)]
CASES.append((pile, False))
SEEDS = [range(20), pytest.param(range(20, 200), marks=pytest.mark.slow)]
NAMES = [f"{case.__name__}{'-loop' * looped}" for case, looped in CASES]


@pytest.mark.parametrize("seeds", SEEDS, ids=("few", "many"))
@pytest.mark.parametrize(("case", "looped"), CASES, ids=NAMES)
def test_no_example_relies_on_the_order_of_packets(case: Callable[..., Case], looped: bool, seeds: range) -> None:
    for seed in seeds:
        size, room = 3 + seed % 2, 1 + seed // 2 % 2
        program, args, right = case(size, np.random.default_rng(seed), looped)
        with smp.emulated(size, seed=seed, network=smp.networks.delayed(room, ordered=False)) as machine:
            assert right(machine.run(program, *args).results), f"seed {seed}"


@pytest.mark.parametrize(
    "case", [darts, *(pytest.param(case, marks=pytest.mark.slow) for case in (histogram, triangular))]
)
def test_compiled_loops_do_what_interpreted_ones_do(machines: Machines, case: Callable[..., Case]) -> None:
    program, args, right = case(2, np.random.default_rng(0), True)
    with guarded(machines(2)) as machine:
        assert right(machine.run(program, *args).results)


@pytest.mark.parametrize("form", ["by_requests", "by_transposes"])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
def test_darts_make_a_permutation(n: int, form: str) -> None:
    for size in (1, 3):
        with smp.emulated(size, seed=n) as machine:
            found = machine.run(lambda proc: DARTS["program"](proc, n)).results
        assert is_permutation([each[form == "by_transposes"] for each in found], n)


def test_a_loop_that_relies_on_the_order_of_packets_is_found() -> None:
    """If a sender's end comes before its only key, the receiver ends its loop too early, and the key is left."""

    def program(proc: smp.Processor) -> int:
        counts, ends = np.zeros(1, np.int64), np.zeros(proc.size, np.int64)
        packet_loops.histogram(proc.net, proc.rank, proc.size, np.zeros(proc.rank, np.int64), counts, ends)
        return int(counts[0])

    for ordered in (True, False):
        network = smp.networks.delayed(2, ordered=ordered)
        found = smp.explore(program, 2, 1, check=lambda run: run.results == [1, 0], limit=300, network=network)
        assert (found.failure is None) == ordered
