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
from smp.kernels.lists.fast import begin, mark, random_starts, rank_fast, walk
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
def test_a_sublist_may_have_as_many_nodes_as_its_word_can_count(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MOST_SUBLISTS", 1)
    monkeypatch.setattr(fast, "random_starts", lambda n, head, seed: np.array([head]))
    ordered = np.minimum(np.arange(1, n + 1, dtype=np.int32), np.int32(n - 1))
    np.testing.assert_array_equal(rank_fast(ordered, 1), np.arange(n))


@settings(max_examples=examples(100), deadline=None)
@given(n=st.integers(1, 5000), seed=st.integers(0, 2**32), data=st.data())
def test_starts_are_distinct_nodes_with_the_head_among_them(n: int, seed: int, data: st.DataObject) -> None:
    head = data.draw(st.integers(0, n - 1))
    starts = random_starts(n, head, seed)
    assert head in starts
    assert len(np.unique(starts)) == len(starts)
    assert starts.min() >= 0
    assert starts.max() < n


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


def test_additional_memory_is_at_most_about_one_and_a_half_times_the_successors() -> None:
    for dtype, most in ((np.int32, 1.1), (np.int64, 1.6)):
        successor = random_list(1_000_000, dtype=dtype)
        rank_fast(successor[:0].copy(), 2)
        rank_fast(random_list(1000, dtype=dtype), 2)
        tracemalloc.start()
        rank_fast(successor, 2)
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
