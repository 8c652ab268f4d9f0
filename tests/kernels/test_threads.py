"""The number of threads that a caller of a kernel requests: the results, how many are used, and which are refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.sampled import each

from smp.kernels import argsort, random_list, rank_list, relax, scan_list, sort
from smp.kernels.grids import blocked
from smp.kernels.in_process import MOST_THREADS, side_by_side
from smp.kernels.lists import fast
from smp.kernels.sorting import counting, halves, parts
from smp.kernels.sorting.orders import packed

THREADS = [None, 1, 2, 3, 8]
LONG = 3_000_000
"""Keys, nodes or cells from which "auto" uses several threads."""
MODULES = [blocked, counting, fast, halves, packed, parts]


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of parts that have run side by side."""
    seen: list[int] = []

    def counted(*pieces: Callable[[], Any]) -> list[Any]:
        seen.append(len(pieces))
        return side_by_side(*pieces)

    for module in MODULES:
        monkeypatch.setattr(module, "side_by_side", counted)
    return seen


@pytest.mark.parametrize("threads", each(2, THREADS))
@pytest.mark.parametrize("algorithm", ["auto", "halves", "partition", "counting"])
@pytest.mark.parametrize("n", [0, 7, 300_000])
def test_keys_are_sorted_as_by_numpy(n: int, algorithm: str, threads: int | None) -> None:
    keys = np.random.default_rng(n).integers(-500, 500, n)
    expected = np.sort(keys)
    assert np.array_equal(sort(keys, algorithm=algorithm, threads=threads), expected)
    target = keys.copy()
    assert sort(target, algorithm=algorithm, threads=threads, out=target) is target
    assert np.array_equal(target, expected)
    if algorithm != "counting":
        numbers = np.random.default_rng(n).standard_normal(n).astype(np.float32)
        assert np.array_equal(sort(numbers, algorithm=algorithm, threads=threads), np.sort(numbers))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("algorithm", ["auto", "packed", "partition"])
@pytest.mark.parametrize("n", [0, 7, 300_000])
def test_orders_are_those_of_numpy(n: int, algorithm: str, threads: int | None) -> None:
    keys = np.random.default_rng(n).permutation(n)
    assert np.array_equal(argsort(keys, algorithm=algorithm, threads=threads), np.argsort(keys))


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("algorithm", ["auto", "fast"])
@pytest.mark.parametrize("n", [0, 7, 300_000])
def test_lists_are_ranked_and_scanned(n: int, algorithm: str, threads: int | None) -> None:
    order = np.random.default_rng(n).permutation(n)
    successor, ranks = np.empty(n, np.int64), np.empty(n, np.int64)
    successor[order] = np.append(order[1:], order[-1:])
    ranks[order] = np.arange(n)
    assert np.array_equal(rank_list(successor, algorithm=algorithm, threads=threads), ranks)
    assert np.array_equal(rank_list(successor, algorithm=algorithm, threads=threads, from_tail=True), n - 1 - ranks)
    values = np.random.default_rng(n).integers(0, 10, n)
    expected = np.empty(n, np.int64)
    expected[order] = np.cumsum(values[order])
    assert np.array_equal(scan_list(successor, values, algorithm=algorithm, threads=threads), expected)


@pytest.mark.parametrize("threads", each(2, THREADS[1:]))
@pytest.mark.parametrize("shape", [(2, 9), (300, 200)])
def test_grids_are_relaxed_to_the_same_bits(shape: tuple[int, int], threads: int) -> None:
    grid = np.random.default_rng(0).random(shape)
    expected, took = relax(grid, iterations=11, layout="uniprocessor", full_output=True)
    relaxed, same = relax(grid, iterations=11, threads=threads, full_output=True)
    assert np.array_equal(relaxed, expected)
    assert same == took


@pytest.mark.parametrize("threads", THREADS[1:])
def test_a_form_that_is_named_uses_all_threads(used: list[int], threads: int) -> None:
    keys = np.random.default_rng(0).integers(0, 1000, 50_000)
    for algorithm in ("halves", "partition", "counting"):
        used.clear()
        sort(keys, algorithm=algorithm, threads=threads)
        assert max(used, default=1) == threads  # one thread counts without parts
    for algorithm in ("packed", "partition"):
        used.clear()
        argsort(keys, algorithm=algorithm, threads=threads)
        assert max(used) == threads
    for call in (rank_list, lambda nodes, **how: scan_list(nodes, nodes, **how)):
        used.clear()
        call(random_list(50_000), algorithm="fast", threads=threads)
        assert max(used, default=1) == threads  # one thread ranks without parts


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_auto_uses_all_threads_for_much_work_and_one_for_little(
    used: list[int], without_vectors: None, threads: int
) -> None:
    keys = np.random.default_rng(0).random(LONG)
    grid = np.zeros((2000, LONG // 2000))
    for work in (
        lambda n: sort(keys[:n], threads=threads),
        lambda n: argsort(keys[:n], threads=threads),
        lambda n: rank_list(random_list(n), threads=threads),
        lambda n: relax(grid[: max(3, n // grid.shape[1])], iterations=8, threads=threads),
    ):
        for n in (1000, LONG):
            used.clear()
            work(n)
            assert max(used, default=1) == (threads if n == LONG else 1)


@pytest.mark.parametrize("wrong", [0, -1, MOST_THREADS + 1, True, 1.0, "2"])
@pytest.mark.parametrize("kernel", [sort, argsort, rank_list, lambda x, **how: scan_list(x, x, **how), relax])
def test_wrong_numbers_are_refused(kernel: Callable[..., Any], wrong: Any) -> None:
    for given in [np.zeros((4, 4))] if kernel is relax else ([0], np.zeros(1, np.int64)):
        with pytest.raises((TypeError, ValueError), match=r"threads must be (a whole number|from 1 to 256), not"):
            kernel(given, threads=wrong)


def test_forms_that_use_no_threads_refuse_them() -> None:
    for form in ("radix", "sample", "column", "program"):
        with pytest.raises(ValueError, match=rf"threads=2 .* algorithm='{form}', which runs on the processors"):
            sort([2, 1], algorithm=form, threads=2)
    for form in ("wyllie", "program"):
        with pytest.raises(ValueError, match=rf"threads=1 .* algorithm='{form}', which runs on the processors"):
            rank_list([0], algorithm=form, threads=1)
    with pytest.raises(ValueError, match=r"threads=2 .* layout='square', which runs on the processors"):
        relax(np.zeros((4, 4)), layout="square", threads=2)
    for kernel, form in ((sort, "numpy"), (argsort, "numpy"), (rank_list, "serial")):
        with pytest.raises(ValueError, match=rf"threads=2 .* algorithm='{form}', which runs in the calling thread"):
            kernel([0], algorithm=form, threads=2)
        assert len(kernel([0], algorithm=form, threads=1)) == 1
