"""The fast form of list ranking: streams, long sublists, invalid lists, and its protocol under all schedules."""

import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import examples

import smp
from smp.errors import InvalidList
from smp.kernels import random_list
from smp.kernels.lists import fast
from smp.kernels.lists.fast import begin, cut, mark, rank_fast, walk
from smp.kernels.lists.serial import rank_here


@settings(max_examples=examples(60), deadline=None)
@given(
    n=st.integers(1, 3000),
    streams=st.integers(1, 5),
    nodes=st.sampled_from([1, 2, 7, 1000]),
    cursors=st.sampled_from([1, 2, 64]),
    seed=st.integers(0, 2**32),
    tail=st.booleans(),
    wide=st.booleans(),
    words_of_64=st.booleans(),
)
def test_any_cut_gives_the_ranks_of_the_serial_loop(
    n: int, streams: int, nodes: int, cursors: int, seed: int, tail: bool, wide: bool, words_of_64: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "NODES_A_SUBLIST", nodes)
        patch.setattr(fast, "CURSORS", cursors)
        patch.setattr(fast, "LONGEST_NARROW", 0 if words_of_64 else n)
        successor = random_list(n, seed, np.int64 if wide else np.int32)
        ranks = rank_fast(successor, streams, tail, seed=seed)
    np.testing.assert_array_equal(ranks, rank_here(successor, tail))
    assert ranks.dtype == successor.dtype


@pytest.mark.parametrize("streams", [1, 3])
def test_a_sublist_too_long_for_its_word_continues_under_another_number(
    streams: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast, "MOST_SUBLISTS", 2)
    n = 5 * (1 << 16) + 3
    ordered = np.minimum(np.arange(1, n + 1, dtype=np.int32), np.int32(n - 1))
    np.testing.assert_array_equal(rank_fast(ordered, streams), np.arange(n))
    np.testing.assert_array_equal(rank_fast(random_list(n), streams), rank_here(random_list(n)))


@pytest.mark.parametrize("n", [1 << 16, (1 << 16) + 1])
def test_a_sublist_may_have_as_many_nodes_as_its_word_can_count(n: int) -> None:
    words = np.minimum(np.arange(1, n + 1, dtype=np.int32), np.int32(n - 1))
    seconds, links, shared = np.empty(1, np.int64), np.zeros((3, 2), np.int64), np.array([0, 1, 0])
    mark(words, np.array([0]), seconds)
    walk(words, seconds, 4, links, shared)
    assert shared[1:].tolist() == [1 + (n > 1 << 16), 0]
    firsts = np.zeros(3, np.int32)
    assert begin(links, 0, firsts) == n
    fast.finish(words, words, firsts, -1)
    np.testing.assert_array_equal(words, np.arange(n))


@settings(max_examples=examples(100), deadline=None)
@given(n=st.integers(1, 5000), seed=st.integers(0, 2**32), data=st.data())
def test_each_block_has_a_start_and_the_head_is_one(n: int, seed: int, data: st.DataObject) -> None:
    head, blocks = data.draw(st.integers(0, n - 1)), data.draw(st.integers(1, min(n, 8)) | st.just(n))
    words, starts, seconds = np.arange(n, dtype=np.int32), np.empty(blocks + 1, np.int64), np.empty(blocks + 1, int)
    count, of_head = cut(words, head, seed, starts, seconds)
    edges = [j * n // blocks for j in range(blocks + 1)]
    assert all(first <= start < stop for start, first, stop in zip(starts, edges, edges[1:], strict=False))
    assert starts[of_head] == head
    assert len(set(starts[:count])) == count == len({*starts[:blocks], head})
    assert set(np.flatnonzero(words < 0)) == set(starts[:count])
    assert seconds[:count].tolist() == starts[:count].tolist()


def test_starts_are_spread_over_their_blocks_and_differ_with_the_seed() -> None:
    n, blocks = 1_000_000, 1000
    places = np.empty((20, blocks))
    for seed in range(20):
        starts, seconds = np.empty((2, blocks + 1), np.int64)
        cut(np.arange(n), 0, seed, starts, seconds)
        places[seed] = starts[:-1] % 1000 / 1000
    counts = np.histogram(places, 50, (0, 1))[0]
    assert ((counts - 400) ** 2 / 400).sum() < 94  # chi-square of 49 degrees of freedom: exceeded once in 10,000 times
    assert abs(np.corrcoef(places)[np.triu_indices(20, 1)]).max() < 0.15


def test_a_walk_ends_when_the_numbers_for_long_sublists_run_out() -> None:
    n = 1 << 18
    comb = np.minimum(np.arange(1, n + 1, dtype=np.int32), np.int32(n - 1))
    comb[: n // 2] = n // 2  # half of the nodes lead to the beginning of the other half
    comb[0] = 1
    for streams in (1, 2, 4):
        with pytest.raises(InvalidList, match="node"):
            rank_fast(comb, streams)
    words, starts = np.minimum(np.arange(1, n + 1, dtype=np.int32), np.int32(n - 1)), np.array([0])
    seconds, links = np.empty(1, np.int64), np.zeros((2, 2), np.int64)
    mark(words, starts, seconds)
    shared = np.array([0, 1, 0], np.int64)
    walk(words, seconds, 4, links, shared)  # a sublist of 4 x 65,536 nodes, with one additional number for it
    assert shared[fast._FAILED] == 1


@pytest.mark.parametrize(("dtype", "streams", "most"), [(np.int32, 2, 1.1), (np.int64, 2, 1.6), (np.int64, 1, 1.1)])
def test_additional_memory_is_at_most_about_one_and_a_half_times_the_successors(
    dtype: Any, streams: int, most: float
) -> None:
    successor = random_list(1_000_000, dtype=dtype)
    rank_fast(random_list(1000, dtype=dtype), streams)  # compiles
    tracemalloc.start()
    rank_fast(successor, streams)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= most * successor.nbytes


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_two_streams_rank_a_list_under_all_schedules(dtype: Any) -> None:
    successor = random_list(9, 5, dtype)
    expected = rank_here(successor)
    starts = np.array([int(np.argmin(expected)), 2, 7, 4])
    assert len(set(starts.tolist())) == 4

    def setup(machine: smp.Machine) -> tuple[NDArray[Any], ...]:
        words, seconds = successor.copy(), np.empty(4, np.int64)
        mark(words, starts, seconds)
        return words, seconds, np.zeros((4, 2), np.int64), np.array([0, 4, 0])

    def program(proc: smp.Processor, words: Any, seconds: Any, links: Any, shared: Any) -> None:
        walk(words, seconds, 2, links, shared)

    def ranked(run: smp.Run, words: Any, seconds: Any, links: Any, shared: Any) -> bool:
        firsts, ranks = np.zeros(4, dtype), np.empty(9, dtype)
        reached = begin(links, 0, firsts)
        fast.finish(words, ranks, firsts, -1)
        return reached == 9 and ranks.tolist() == expected.tolist()

    report = smp.explore(program, 2, None, setup=setup, check=ranked)
    assert report.failure is None
    assert report.complete
    assert report.schedules >= 20


@pytest.mark.parametrize(("streams", "nodes"), [(1, 1), (2, 2)])
def test_of_all_successors_of_five_nodes_only_lists_are_ranked(
    streams: int, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast, "NODES_A_SUBLIST", nodes)
    lists = 0
    for successor in itertools.product(range(5), repeat=5):
        given = np.array(successor, np.int32)
        try:
            ranks = rank_fast(given, streams)
        except InvalidList:
            continue
        lists += 1
        order = np.argsort(ranks)
        assert ranks[order].tolist() == [0, 1, 2, 3, 4]
        assert given[order].tolist() == [*order[1:], order[-1]]
    assert lists == math.factorial(5)
