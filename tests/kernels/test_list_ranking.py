"""List ranking and list scan: compared with the order that each list was made from; counts; invalid lists."""

import contextvars
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.sampled import campaigns, each, examples

import smp
from smp._computer.limits import usable_cpus
from smp.errors import InvalidList, ProcessorRaised
from smp.kernels import (
    in_process,
    random_list,
    rank_helman_jaja,
    rank_list,
    rank_reid_miller,
    rank_serial,
    rank_wyllie,
    scan_list,
)
from smp.kernels.lists import functions
from smp.kernels.lists.forms import FORMS
from smp.kernels.lists.helman_jaja import walk
from smp.kernels.lists.lists import describe, fault
from smp.kernels.lists.reid_miller import advance
from smp.kernels.lists.serial import rank_here
from smp.kernels.lists.sublists import UNKNOWN, cut, place

PROGRAMS = {name: form.loaded() for name, form in FORMS.items() if form.terms}
ALGORITHMS = ["fast", *PROGRAMS]
DTYPES = [np.int32, np.int64]


@pytest.fixture(scope="module", params=[1, *campaigns(2), 3])
def machine(request: pytest.FixtureRequest) -> Iterator[smp.Machine]:
    with smp.host(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def two() -> Iterator[smp.Machine]:
    with smp.host(2) as opened:
        yield opened


def chained(order: Any, dtype: Any = np.int64) -> NDArray[Any]:
    """Return the list that visits the nodes in this order."""
    nodes = np.asarray(order, dtype)
    successor = np.empty_like(nodes)
    successor[nodes[:-1]] = nodes[1:]
    successor[nodes[-1:]] = nodes[-1:]
    return successor


def ranked(order: Any) -> NDArray[Any]:
    """Return the ranks of that list, known from the order without following any link."""
    ranks = np.empty(len(order), np.int64)
    ranks[np.asarray(order, np.int64)] = np.arange(len(order))
    return ranks


def is_list(successor: list[int]) -> bool:
    """Return True if the successors form a list, by following them from every possible head."""
    n = len(successor)
    if any(not 0 <= y < n for y in successor):
        return False
    for head in range(n):
        seen, x = {head}, head
        while successor[x] not in seen:
            x = successor[x]
            seen.add(x)
        if len(seen) == n and successor[x] == x:
            return True
    return n == 0


def totals(run: smp.Run, label: str) -> tuple[int, int]:
    """Return the reads and writes of all processors in the supersteps of that label."""
    rows = run.steps[run.steps["label"] == label]
    return int(rows["reads"].sum()), int(rows["writes"].sum())


def labels(run: smp.Run) -> list[str]:
    return [str(label) for label in run.steps["label"][run.steps["rank"] == 0]]


# ---------------------------------------------------------------------------------------------- ranks


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=10, deadline=None)
@given(
    order=st.integers(0, 60).flatmap(lambda n: st.permutations(range(n))), from_tail=st.booleans(), wide=st.booleans()
)
def test_every_algorithm_ranks_any_list(
    machine: smp.Machine, algorithm: str, order: list[int], from_tail: bool, wide: bool
) -> None:
    dtype = DTYPES[wide]
    ranks = rank_list(chained(order, dtype), machine=machine, algorithm=algorithm, from_tail=from_tail)
    expected = len(order) - 1 - ranked(order) if from_tail else ranked(order)
    np.testing.assert_array_equal(ranks, expected)
    assert ranks.dtype == dtype


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("shape", ["random", "ordered", "reversed", "strided", "halves"])
def test_every_algorithm_ranks_longer_lists(machine: smp.Machine, algorithm: str, shape: str) -> None:
    n = 30_011
    order = {
        "random": np.random.default_rng(7).permutation(n),
        "ordered": np.arange(n),
        "reversed": np.arange(n)[::-1],
        "strided": np.arange(n) * 1009 % n,
        "halves": np.concatenate((np.arange(1, n, 2), np.arange(0, n, 2))),
    }[shape]
    ranks = rank_list(chained(order, np.int32), machine=machine, algorithm=algorithm)
    np.testing.assert_array_equal(ranks, ranked(order))


@pytest.mark.parametrize("algorithm", ["fast", "reid-miller", "helman-jaja"])
def test_several_million_nodes_are_ranked(two: smp.Machine, algorithm: str) -> None:
    order = np.random.default_rng(3).permutation(3_000_000)
    ranks = rank_list(chained(order, np.int32), machine=two, algorithm=algorithm)
    np.testing.assert_array_equal(ranks, ranked(order))


@settings(max_examples=examples(40), deadline=None)
@given(
    n=st.integers(2, 300),
    sublists=st.integers(1, 400),
    cursors=st.integers(1, 40),
    pack=st.none() | st.integers(1, 20),
    rebalance=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_tuning_never_changes_the_ranks(
    two: smp.Machine, n: int, sublists: int, cursors: int, pack: int | None, rebalance: int, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(n)
    successor = two.array(chained(order, np.int32))
    for program, tuning in (
        (rank_helman_jaja, {"cursors": cursors}),
        (rank_reid_miller, {"pack": pack, "rebalance": rebalance}),
    ):
        ranks = two.full(n, -1, np.int64)
        two.run(program, successor, ranks, sublists=sublists, seed=seed, **tuning)
        np.testing.assert_array_equal(ranks.view, ranked(order))


@pytest.mark.parametrize(
    ("program", "tuning"),
    [
        (rank_helman_jaja, {"sublists": 0}),
        (rank_helman_jaja, {"cursors": 0}),
        (rank_reid_miller, {"sublists": -3}),
        (rank_reid_miller, {"pack": 0}),
        (rank_reid_miller, {"rebalance": -1}),
    ],
)
def test_invalid_tuning_is_refused(two: smp.Machine, program: Callable[..., None], tuning: dict[str, int]) -> None:
    with pytest.raises(ProcessorRaised) as caught:
        two.run(program, two.array(random_list(100)), two.zeros(100, np.int32), **tuning)
    assert isinstance(caught.value.__cause__, ValueError)
    assert str(next(iter(tuning.values()))) in str(caught.value)


# ------------------------------------------------------------------------------------- the interface


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_any_array_of_integers_is_accepted(two: smp.Machine, algorithm: str) -> None:
    successor, expected = [2, 4, 2, 1, 0], [3, 1, 4, 0, 2]
    spread = np.full(15, 99)
    spread[::3] = successor
    frozen = np.array(successor)
    frozen.setflags(write=False)
    given: list[Any] = [successor, tuple(successor), spread[::3], frozen, np.array(successor[::-1])[::-1]]
    given += [np.array(successor, dtype) for dtype in ("u1", "i2", ">i4", ">i8", "u8", np.int32)]
    for array in given:
        ranks = rank_list(array, machine=two, algorithm=algorithm)
        np.testing.assert_array_equal(ranks, expected)
        assert ranks.dtype == (np.int32 if np.can_cast(np.asarray(array).dtype, np.int32) else np.int64)
    np.testing.assert_array_equal(frozen, successor)


def test_lists_of_no_nodes_and_of_one_are_ranked(two: smp.Machine) -> None:
    for algorithm in ALGORITHMS:
        assert rank_list([], machine=two, algorithm=algorithm).shape == (0,)
        assert rank_list([0], machine=two, algorithm=algorithm).tolist() == [0]
        assert scan_list([0], [7], machine=two, algorithm=algorithm).tolist() == [7]
    for program in PROGRAMS.values():
        two.run(program, two.empty(0, np.int32), two.empty(0, np.int32))


@pytest.mark.parametrize(
    ("successor", "error", "words"),
    [
        ([0.0, 1.0], TypeError, "float64"),
        ([True, False], TypeError, "bool"),
        (np.empty(0), TypeError, "float64"),
        ([[0, 1], [1, 1]], ValueError, r"\(2, 2\)"),
        (0, ValueError, r"\(\)"),
    ],
)
def test_an_argument_that_is_not_an_array_of_nodes_is_refused(
    successor: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        rank_list(successor)


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(ValueError, match=r"quick.*fast, serial, wyllie, reid-miller, helman-jaja"):
        rank_list([0], algorithm="quick")


def test_programs_run_on_the_enclosing_machine_or_on_one_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[smp.Machine] = []

    def host() -> smp.Machine:
        opened.append(smp.host(1))
        return opened[-1]

    def rank(algorithm: str) -> None:
        np.testing.assert_array_equal(rank_list(chained(range(50)), algorithm=algorithm), ranked(range(50)))

    def in_turn() -> None:
        for algorithm in ("auto", "fast", "serial"):  # these need no machine
            rank(algorithm)
        with smp.emulated(2, trace=True) as around:
            rank("wyllie")
            assert {processor for processor, *_ in around.trace} == {0, 1}
        assert opened == []
        rank("wyllie")
        assert len(opened) == 1
        assert "closed" in repr(opened[0])

    monkeypatch.setattr(in_process, "host", host)
    contextvars.Context().run(in_turn)  # outside the with blocks of the fixtures


def test_auto_is_serial_then_fast_then_fast_on_all_streams(two: smp.Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def rank_fast(nodes: NDArray[Any], streams: int, from_tail: bool) -> NDArray[Any]:
        calls.append(streams)
        return rank_here(nodes, from_tail)

    monkeypatch.setattr(functions, "rank_fast", rank_fast)
    monkeypatch.setattr(functions, "go_far", lambda nodes: True)
    monkeypatch.setattr(functions, "_has_two_cpus", lambda: False)
    for name, nodes in (("WORTH_SUBLISTS", 50), ("GLANCED", 55), ("WORTH_STREAMS", 60)):
        monkeypatch.setattr(functions, name, nodes)
    for n in (49, 50, 59, 60):
        np.testing.assert_array_equal(rank_list(chained(range(n)), machine=two), np.arange(n))
    assert calls == [1, min(2, len(usable_cpus()))]  # a list of 50 nodes is ranked at once


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_refuse_arrays_that_do_not_fit(two: smp.Machine, program: Callable[..., None]) -> None:
    successor = two.array(random_list(10))
    for ranks, words in ((two.zeros(9, np.int32), r"\(9,\)"), (two.zeros(10, np.float64), "float64")):
        with pytest.raises(ProcessorRaised, match=words):
            two.run(program, successor, ranks)


# -------------------------------------------------------------------------------------------- counts


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_of_the_serial_program(machine: smp.Machine, dtype: Any) -> None:
    n = 5000
    run = machine.run(rank_serial, machine.array(random_list(n, 1, dtype)), machine.empty(n, dtype))
    assert labels(run) == ["head", "walk"]
    assert totals(run, "head") == (n, 0)
    assert totals(run, "walk") == (n, n)
    assert run.steps["bytes_read"].sum() == 2 * n * np.dtype(dtype).itemsize


@pytest.mark.parametrize("n", [2, 3, 4, 5, 1000, 1024, 1025])
def test_counts_of_wyllie(machine: smp.Machine, n: int) -> None:
    run = machine.run(rank_wyllie, machine.array(random_list(n)), machine.empty(n, np.int32))
    rounds = int(np.ceil(np.log2(n)))
    assert labels(run) == ["head", "pairs", *["round"] * rounds, "check", "ranks"]
    assert totals(run, "pairs") == (n, 2 * n)
    assert totals(run, "check") == (machine.size, 0)
    assert totals(run, "ranks") == (0, n)
    each = run.steps[run.steps["label"] == "round"]
    share = [2 * len(part) for part in np.array_split(np.arange(n), machine.size)]
    assert each["reads"].tolist() == each["writes"].tolist() == share * rounds


@pytest.mark.parametrize("dtype", DTYPES)
def test_counts_of_helman_jaja(machine: smp.Machine, dtype: Any) -> None:
    n = 50_000
    successor = random_list(n, 1, dtype)
    run = machine.run(rank_helman_jaja, machine.array(successor), machine.empty(n, dtype), sublists=512, seed=5)
    head = int(np.flatnonzero(rank_list(successor) == 0)[0])
    pieces = cut(n, head, 512, 5)
    pieces_made = sum(len(pieces.share(rank, machine.size)[0]) for rank in range(machine.size))
    assert labels(run) == ["head", "walk", "ranks"]
    assert totals(run, "head") == (n, 0)
    assert totals(run, "walk") == (n, 2 * pieces_made)
    assert totals(run, "ranks") == (2 * (pieces.count + 1) * machine.size, n)
    visits = run.steps["reads"][run.steps["label"] == "walk"]
    assert visits.max() < 1.3 * n / machine.size  # random sublists are shared evenly
    assert visits.tolist() == run.steps["writes"][run.steps["label"] == "ranks"].tolist()


def test_counts_of_reid_miller(machine: smp.Machine) -> None:
    n, p = 50_000, machine.size
    successor, ranks = machine.array(random_list(n)), machine.empty(n, np.int32)
    whole = machine.run(rank_reid_miller, successor, ranks, sublists=512, rebalance=0)
    head = int(np.flatnonzero(ranks.view == 0)[0])
    pieces = cut(n, head, 512, 0)
    pieces_made = sum(len(pieces.share(rank, p)[0]) for rank in range(p))
    assert labels(whole) == ["head", "reduce", "scan", "expand"]
    assert totals(whole, "reduce") == (n, 2 * pieces_made)
    assert totals(whole, "scan") == (2 * (pieces.count + 1) * p, 0)
    assert totals(whole, "expand") == (n, n)

    dealt = machine.run(rank_reid_miller, successor, ranks, sublists=512, rebalance=2)
    assert labels(dealt).count("reduce") == labels(dealt).count("expand") > 4
    for label, written in (("reduce", 2 * pieces_made), ("expand", n)):
        reads, writes = totals(dealt, label)
        assert reads - n == writes - written  # a cursor that is dealt out is written once and read once
        assert (reads > n) == (p > 1)
        assert (reads - n) % 3 == 0


def test_rebalancing_evens_out_the_active_sublists(two: smp.Machine) -> None:
    """Processor 0 has the even numbers; a list that visits most nodes in those sublists leaves it with more to do."""
    n, seed = 20_000, 11
    order = np.random.default_rng(0).permutation(n)
    pieces = cut(n, int(order[0]), 64, seed)
    starts = [set(pieces.share(rank, 2)[1].tolist()) for rank in (0, 1)]
    rest = [x for x in order.tolist() if x not in starts[0] | starts[1]]
    long, short = sorted(starts[0] - {order[0]}), sorted(starts[1] - {order[0]})
    each = len(rest) // len(long)
    uneven = [int(order[0]), *short]
    for k, start in enumerate(long):
        uneven += [start, *rest[k * each : (k + 1) * each if k + 1 < len(long) else None]]
    successor, ranks = two.array(chained(uneven, np.int32)), two.empty(n, np.int32)
    slowest = {}
    for rebalance in (0, 1):
        run = two.run(rank_reid_miller, successor, ranks, sublists=64, seed=seed, rebalance=rebalance)
        np.testing.assert_array_equal(ranks.view, ranked(uneven))
        reads = run.steps[run.steps["label"] == "reduce"]["reads"].reshape(-1, 2)
        slowest[rebalance] = reads.max(axis=1).sum() / reads.sum()
    assert slowest[0] > 0.95
    assert slowest[1] < 0.7


# -------------------------------------------------------------------------------------- random cuts


@given(n=st.integers(2, 5000), wanted=st.integers(1, 6000), seed=st.integers(0, 2**40), size=st.integers(1, 5))
def test_every_sublist_of_a_cut_belongs_to_one_processor(n: int, wanted: int, seed: int, size: int) -> None:
    head = seed % n
    pieces = cut(n, head, wanted, seed)
    mask = pieces.key[1]
    everywhere = np.arange(mask + 1)
    places = place(everywhere, pieces.key)
    assert sorted(places.tolist()) == everywhere.tolist()  # a bijection
    shares = [pieces.share(rank, size) for rank in range(size)]
    found = dict(pair for numbers, nodes in shares for pair in zip(nodes.tolist(), numbers.tolist(), strict=True))
    assert sum(len(nodes) for _, nodes in shares) == len(found)
    expected = {x: int(places[x]) for x in range(n) if places[x] < pieces.count}
    assert found == expected | {head: pieces.first}
    assert 2 * (pieces.count + 1) <= n
    assert all((numbers % size == rank).all() for rank, (numbers, _) in enumerate(shares))


@pytest.mark.parametrize("shape", ["random", "ordered", "strided", "columns"])
def test_sublists_have_the_lengths_of_random_cuts(shape: str) -> None:
    n, wanted = 1 << 18, 1024
    order = {
        "random": np.random.default_rng(0).permutation(n),
        "ordered": np.arange(n),
        "strided": np.arange(n) * 2**9 % n + np.arange(n) // 2**9,
        "columns": np.arange(n).reshape(-1, 512).T.ravel(),
    }[shape]
    lengths = []
    for seed in range(8):
        pieces = cut(n, int(order[0]), wanted, seed)
        starts = np.flatnonzero(place(order, pieces.key) < pieces.count)
        lengths.append(np.diff(np.concatenate(([0], starts, [n]))))
    together = np.concatenate(lengths) * wanted / n
    assert together.mean() == pytest.approx(1, abs=0.05)
    assert together.std() == pytest.approx(1, abs=0.1)  # exponential distribution: the deviation equals the mean
    assert together.max() < 2.5 * np.log(wanted)


# -------------------------------------------------------------------------------------------- scans

SCANS = [
    (np.add, np.int64),
    (np.add, np.int8),
    (np.multiply, np.uint32),
    (np.copysign, np.float64),  # associative and not commutative
    (np.minimum, np.float32),
    (np.maximum, np.int16),
    (np.logical_or, np.bool_),
    (np.bitwise_xor, np.int64),
    (np.logical_and, np.int32),
    (np.gcd, np.int64),
]


@pytest.mark.parametrize("algorithm", ["serial", "fast", "helman-jaja"])
@pytest.mark.parametrize(("op", "dtype"), each(3, SCANS), ids=[op.__name__ + np.dtype(d).name for op, d in SCANS])
def test_a_scan_combines_values_in_list_order(machine: smp.Machine, algorithm: str, op: np.ufunc, dtype: Any) -> None:
    for n in (0, 1, 2, 3, 1000):
        rng = np.random.default_rng(n)
        order = rng.permutation(n)
        values = rng.integers(0 if np.dtype(dtype).kind in "ub" else -100, 100, n).astype(dtype)
        found = scan_list(chained(order), values, op, machine=machine, algorithm=algorithm)
        in_order = op.accumulate(values[order])
        assert found.dtype == in_order.dtype
        np.testing.assert_array_equal(found[order], in_order)


def test_floats_and_ones_are_scanned(machine: smp.Machine) -> None:
    order = np.random.default_rng(1).permutation(4000)
    values = np.random.default_rng(2).standard_normal(8000)[::2]
    for algorithm in ALGORITHMS:
        found = scan_list(chained(order), values, machine=machine, algorithm=algorithm)
        np.testing.assert_allclose(found[order], np.cumsum(values[order]), rtol=0, atol=1e-11)
    ones = scan_list(chained(order), np.ones(4000, int), machine=machine, algorithm="wyllie")
    np.testing.assert_array_equal(ones, ranked(order) + 1)


@pytest.mark.parametrize(
    ("values", "op", "error", "words"),
    [
        ([1, 2], np.add, ValueError, r"\(2,\).*3 nodes"),
        ([1, 2, 3], np.negative, TypeError, "two arguments"),
        ([1, 2, 3], np.matmul, TypeError, "two arguments"),
        ([1, 2, 3], max, TypeError, "ufunc"),
        ([1, 2, 3], np.frompyfunc(max, 2, 1), TypeError, "Python objects"),
        ([[1], [2], [3]], np.add, ValueError, r"\(3, 1\)"),
    ],
)
def test_an_invalid_scan_is_refused(values: Any, op: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        scan_list([1, 2, 2], values, op)


# ----------------------------------------------------------------------------------- invalid lists

NO_LISTS: dict[str, tuple[list[int], str]] = {
    "out of range": ([1, 2, 9, 3], r"successor of node 2 is 9, but the nodes are 0 to 3"),
    "negative": ([1, 2, -1, 3], r"successor of node 2 is -1"),
    "two tails": ([1, 1, 3, 3], r"nodes 1 and 3 are both their own successor"),
    "no tail": ([1, 2, 0], r"node [012] lies on a cycle: no node is its own successor"),
    "a cycle beside": ([1, 1, 3, 4, 2], r"node [234] lies on a cycle, which never reaches the tail 1"),
    "a cycle that the head leads to": ([1, 2, 3, 1, 4], r"node [123] lies on a cycle, which never reaches the tail 4"),
    "two predecessors": ([2, 2, 3, 3], r"nodes 0 and 1 have the same successor 2"),
    "a tail with two predecessors": ([2, 2, 2], r"nodes 0 and 1 have the same successor 2"),
    "one node pointing out": ([1], r"successor of node 0 is 1, but the nodes are 0 to 0"),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", NO_LISTS)
def test_the_reason_why_an_array_is_not_a_list_is_named(machine: smp.Machine, algorithm: str, name: str) -> None:
    successor, words = NO_LISTS[name]
    for dtype in DTYPES:
        with pytest.raises(InvalidList, match=words):
            rank_list(np.array(successor, dtype), machine=machine, algorithm=algorithm)
    assert rank_list([1, 1], machine=machine, algorithm=algorithm).tolist() == [0, 1]  # the machine still works


def test_programs_raise_the_same_error(two: smp.Machine) -> None:
    with pytest.raises(ProcessorRaised, match="nodes 1 and 3") as caught:
        two.run(rank_helman_jaja, two.array(np.array([1, 1, 3, 3])), two.empty(4, np.int64))
    assert isinstance(caught.value.__cause__, InvalidList)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.integers(-1, n), min_size=n, max_size=n)))
def test_a_fault_is_found_exactly_if_there_is_one(successor: list[int]) -> None:
    message = fault(np.array(successor))
    assert (message is None) == is_list(successor)
    if message is None:
        return
    n, numbers = len(successor), [int(word) for word in re.findall(r"-?\d+", message)]
    if "but the nodes are" in message:
        assert successor[numbers[0]] == numbers[1] not in range(n)
    elif "both" in message:
        assert all(successor[x] == x for x in numbers[:2])
        assert numbers[0] != numbers[1]
    elif "cycle" in message:
        x = successor[numbers[0]]
        assert x != numbers[0]
        for _ in range(n):
            if x == numbers[0]:
                break
            x = successor[x]
        assert x == numbers[0]
    else:
        assert successor[numbers[0]] == successor[numbers[1]] == numbers[2]
        assert len(set(numbers)) == 3


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=examples(40), deadline=None)
@given(successor=st.integers(1, 12).flatmap(lambda n: st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
def test_no_algorithm_accepts_an_invalid_list(two: smp.Machine, algorithm: str, successor: list[int]) -> None:
    if is_list(successor):
        assert sorted(rank_list(successor, machine=two, algorithm=algorithm)) == list(range(len(successor)))
    else:
        with pytest.raises(InvalidList):
            rank_list(successor, machine=two, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("shape", ["comb", "loop", "star"])
def test_long_invalid_lists_are_refused_without_hanging(two: smp.Machine, algorithm: str, shape: str) -> None:
    n = 200_000
    successor = np.arange(1, n + 1).clip(max=n - 1)
    if shape == "comb":  # half of the nodes lead to the beginning of the other half
        successor[: n // 2] = n // 2
    elif shape == "loop":  # two nodes that no walk leaves
        successor[n - 3] = n - 4
    else:
        successor[:] = n - 1
    with pytest.raises(InvalidList, match="node"):
        rank_list(successor, machine=two, algorithm=algorithm)


def test_walks_on_an_invalid_list_are_bounded() -> None:
    n = 4096
    comb = np.arange(1, n + 1).clip(max=n - 1)
    comb[: n // 2] = n // 2  # every sublist of the first half is followed by the same long one
    pieces = cut(n, 0, 256, 0)
    starts = pieces.share(0, 1)[1]
    notes, links = np.empty(n, np.int64), np.full((len(starts), 2), UNKNOWN)
    assert walk(comb, pieces.key, 0, starts, 32, notes, links)[0] <= n  # no place is below 0: sublists do not end
    cursors = np.column_stack((np.arange(len(starts)), starts, np.zeros_like(starts)))
    none, left = np.empty(0, np.int64), np.empty(1, np.int64)
    reads, _ = advance(comb, pieces.key, 0, 8, n, cursors, 1, none, none, left)
    assert n <= reads <= n + 8 * len(starts)
    assert left[0] > 0


def test_a_valid_list_is_described_as_changed_during_the_walk() -> None:
    assert fault(random_list(100)) is None
    assert "changed" in describe(random_list(100))
