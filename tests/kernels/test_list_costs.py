"""Every superstep of the list programs accesses exactly as many elements as its closed form says."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.machines import Machines
from support.sampled import each, examples

import smp
from smp.kernels import (
    rank_helman_jaja,
    rank_reid_miller,
    rank_reid_miller_streams,
    rank_serial,
    rank_wyllie,
    rank_wyllie_cells,
    rank_wyllie_streams,
    scan_ranked,
)
from smp.kernels.costs import Costs, recorded
from smp.kernels.lists import helman_jaja, on_streams, reid_miller, scan, serial, wyllie, wyllie_cells
from smp.kernels.lists.sublists import cut, expected_lengths, place

SIZES = [0, 1, 2, 3, 10, 1000, 5000]
FEW = settings(max_examples=25, deadline=None)
Order = NDArray[np.int64]


@pytest.fixture(scope="module")
def emulated() -> Iterator[dict[int, smp.Machine]]:
    opened = {p: smp.emulated(p) for p in (1, 2, 3, 5)}
    yield opened
    for machine in opened.values():
        machine.close()


@pytest.fixture(params=["emulated 1", "emulated 2", "emulated 3", "emulated 5", "host 2"])
def machine(request: pytest.FixtureRequest, machines: Machines, emulated: dict[int, smp.Machine]) -> smp.Machine:
    kind, p = request.param.split()
    return machines(int(p)) if kind == "host" else emulated[int(p)]


def order_of(n: int, seed: int) -> Order:
    return np.random.default_rng(seed).permutation(n)


def ran(machine: smp.Machine, program: Callable[..., None], order: Order, **options: Any) -> Costs:
    """Return the recorded accesses of the program's supersteps on the list that visits the nodes in this order."""
    successor = np.empty(len(order), np.int64)
    successor[order[:-1]], successor[order[-1:]] = order[1:], order[-1:]
    ranks = machine.empty(len(order), np.int64)
    run = machine.run(program, machine.array(successor), ranks, **options)
    np.testing.assert_array_equal(ranks.view[order], np.arange(len(order)))
    return recorded(run)


def lengths_of(order: Order, wanted: int, seed: int) -> NDArray[np.int64]:
    """Return the length of each sublist, by number: cut before the head and the nodes placed below the count."""
    pieces = cut(len(order), int(order[0]), wanted, seed)
    numbers = place(order, pieces.key)
    starts = np.flatnonzero((numbers < pieces.count) | (order == order[0]))
    lengths = np.zeros(pieces.count + 1, np.int64)
    lengths[np.where(numbers < pieces.count, numbers, pieces.count)[starts]] = np.diff(starts, append=len(order))
    return lengths


# ----------------------------------------------------------- programs with the same cost for every list


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("program", "cost"), [(rank_serial, serial.cost), (rank_wyllie, wyllie.cost)])
def test_costs_of_programs_that_treat_all_lists_alike_equal_the_closed_form(
    machine: smp.Machine, program: Any, cost: Any, n: int
) -> None:
    np.testing.assert_array_equal(ran(machine, program, order_of(n, 1)), cost(n, machine.size))


@pytest.mark.parametrize("n", SIZES)
def test_costs_of_a_scan_equal_the_closed_form(machine: smp.Machine, n: int) -> None:
    order = order_of(n, 2)
    ranks, values, scanned = machine.array(np.argsort(order)), machine.array(np.ones(n)), machine.empty(n)
    run = machine.run(scan_ranked, ranks, values, scanned)
    np.testing.assert_array_equal(scanned.view[order], np.arange(1, n + 1))
    np.testing.assert_array_equal(recorded(run), scan.cost(n, machine.size))


@pytest.mark.parametrize("n", each(2, [0, 2, 1, 3, 41, 10]))
@pytest.mark.parametrize("program", [rank_wyllie_cells, rank_wyllie_streams, rank_reid_miller_streams])
def test_costs_of_programs_on_streams_equal_the_closed_form(machine: smp.Machine, program: Any, n: int) -> None:
    costs = ran(machine, program, order_of(n, 3), streams=2)
    np.testing.assert_array_equal(costs, on_streams.cost(n, machine.size))
    np.testing.assert_array_equal(costs, wyllie_cells.cost(n, machine.size))


# -------------------------------------------------- programs whose cost depends on the lengths of the sublists


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("program", "kernel"), [(rank_helman_jaja, helman_jaja), (rank_reid_miller, reid_miller)], ids=["hj", "rm"]
)
def test_costs_of_programs_that_cut_the_list_equal_the_closed_form(
    machine: smp.Machine, program: Any, kernel: Any, n: int
) -> None:
    order, p = order_of(n, 4), machine.size
    lengths = lengths_of(order, kernel.default_sublists(n, p), seed=0) if n > 1 else None
    np.testing.assert_array_equal(ran(machine, program, order), kernel.cost(n, p, lengths))


CUTS = {"n": st.integers(2, 300), "wanted": st.integers(1, 400), "seed": st.integers(0, 2**32)}
PROCESSORS = st.sampled_from([1, 2, 3, 5])


@FEW
@given(**CUTS, p=PROCESSORS, cursors=st.integers(1, 40))
def test_costs_of_helman_jaja_equal_the_closed_form_for_any_cut(
    emulated: dict[int, smp.Machine], n: int, wanted: int, seed: int, p: int, cursors: int
) -> None:
    order = order_of(n, seed)
    costs = ran(emulated[p], rank_helman_jaja, order, sublists=wanted, cursors=cursors, seed=seed)
    np.testing.assert_array_equal(costs, helman_jaja.cost(n, p, lengths_of(order, wanted, seed)))


@settings(max_examples=examples(60), deadline=None)
@given(**CUTS, p=PROCESSORS, pack=st.none() | st.integers(1, 20), rebalance=st.integers(0, 4))
def test_costs_of_reid_miller_equal_the_closed_form_however_it_cuts_packs_and_deals_out(
    emulated: dict[int, smp.Machine], n: int, wanted: int, seed: int, p: int, pack: int | None, rebalance: int
) -> None:
    order = order_of(n, seed)
    costs = ran(emulated[p], rank_reid_miller, order, sublists=wanted, pack=pack, rebalance=rebalance, seed=seed)
    lengths = lengths_of(order, wanted, seed)
    np.testing.assert_array_equal(costs, reid_miller.cost(n, p, lengths, pack=pack, rebalance=rebalance))


@pytest.mark.parametrize("p", [2, 3, 5])
@pytest.mark.parametrize("rebalance", [0, 1, 2, 7])
def test_reid_miller_deals_out_unevenly_distributed_cursors(
    emulated: dict[int, smp.Machine], p: int, rebalance: int
) -> None:
    n, wanted, seed = 3000, 60, 9
    order = order_of(n, seed)
    lengths = lengths_of(order, wanted, seed)
    costs = ran(emulated[p], rank_reid_miller, order, sublists=wanted, pack=2, rebalance=rebalance, seed=seed)
    np.testing.assert_array_equal(costs, reid_miller.cost(n, p, lengths, pack=2, rebalance=rebalance))
    besides = costs[costs["label"] == "expand"]["m"].sum() - 2 * n  # cursors written into the pool and read from it
    assert besides % 6 == 0
    assert (besides > 0) == (rebalance > 0)


# ------------------------------------------------------------------------------ expected lengths of random cuts


@given(n=st.integers(2, 10_000), wanted=st.integers(1, 12_000))
def test_expected_lengths_are_those_of_a_possible_cut(n: int, wanted: int) -> None:
    expected = expected_lengths(n, wanted)
    pieces = np.count_nonzero(expected)
    assert len(expected) == cut(n, 0, wanted, 0).count + 1
    assert expected.sum() == n
    assert expected[0] >= 1
    assert (np.diff(expected[:pieces]) >= 0).all()  # ascending, then zeros


@pytest.mark.parametrize(("n", "wanted"), [(2, 1), (3, 9), (100, 1), (1000, 20), (4096, 64), (5000, 500)])
def test_expected_lengths_are_the_mean_lengths_of_random_cuts(n: int, wanted: int) -> None:
    expected = expected_lengths(n, wanted)
    pieces = np.count_nonzero(expected)
    trials = [lengths_of(order_of(n, seed), wanted, seed) for seed in range(60)]
    assert np.mean([np.count_nonzero(one) for one in trials]) == pytest.approx(pieces, rel=0.05, abs=0.7)
    longest_eighth = -(-pieces // 8)
    mean = np.mean([np.sort(one)[-longest_eighth:].sum() for one in trials])
    assert mean == pytest.approx(expected[:pieces][-longest_eighth:].sum(), rel=0.15)
    assert np.mean([one.max() for one in trials]) == pytest.approx(expected.max(), rel=0.15)


@pytest.mark.parametrize("kernel", [helman_jaja, reid_miller])
@pytest.mark.parametrize("p", [1, 2, 8])
def test_costs_without_lengths_are_close_to_those_of_random_cuts(kernel: Any, p: int) -> None:
    n = 200_000
    expected = kernel.cost(n, p)
    trials = [
        kernel.cost(n, p, lengths_of(order_of(n, seed), kernel.default_sublists(n, p), seed)) for seed in range(8)
    ]
    assert np.mean([len(one) for one in trials]) == pytest.approx(len(expected), rel=0.15)
    assert np.mean([one["m"].sum() for one in trials]) == pytest.approx(expected["m"].sum(), rel=0.05)
    for most in ("hr", "hw"):
        assert 0.99 < np.mean([one[most].sum() for one in trials]) / expected[most].sum() < 1.2


@pytest.mark.parametrize("kernel", [helman_jaja, reid_miller])
@pytest.mark.parametrize("lengths", [[], [5, 4], [5, 6, -1], [[5, 5]]])
def test_lengths_that_do_not_fit_the_list_are_refused(kernel: Any, lengths: Any) -> None:
    with pytest.raises(ValueError, match="sum to the 10 nodes"):
        kernel.cost(10, 2, lengths)


def test_invalid_tuning_has_no_cost() -> None:
    for tuning in ({"pack": 0}, {"rebalance": -1}):
        with pytest.raises(ValueError, match="pack must be at least 1, and rebalance at least 0"):
            reid_miller.cost(10, 2, **tuning)


# ------------------------------------------------------------------------------------ chains of dependent reads


def chains(machine: smp.Machine, program: Callable[..., None], order: Order, **options: Any) -> dict[str, list[int]]:
    """Return the longest chains of dependent reads in the program's supersteps, by label."""
    successor = np.empty(len(order), np.int64)
    successor[order[:-1]], successor[order[-1:]] = order[1:], order[-1:]
    run = machine.run(program, machine.array(successor), machine.empty(len(order), np.int64), **options)
    found: dict[str, list[int]] = {}
    for row in run.summary():
        found.setdefault(str(row["label"]), []).append(int(row["chain"]))
    return found


@pytest.mark.parametrize("p", [1, 3])
def test_the_serial_walk_is_a_single_chain(emulated: dict[int, smp.Machine], p: int) -> None:
    assert chains(emulated[p], rank_serial, order_of(100, 5)) == {"head": [0], "walk": [100]}


@FEW
@given(**CUTS, p=PROCESSORS)
def test_with_one_cursor_a_walk_is_one_chain_and_with_many_it_is_the_longest_sublist(
    emulated: dict[int, smp.Machine], n: int, wanted: int, seed: int, p: int
) -> None:
    order = order_of(n, seed)
    lengths = lengths_of(order, wanted, seed)
    one_by_one = max(int(lengths[rank::p].sum()) for rank in range(p))
    for cursors, longest in ((1, one_by_one), (n, lengths.max())):
        found = chains(emulated[p], rank_helman_jaja, order, sublists=wanted, cursors=cursors, seed=seed)
        assert found["walk"] == [longest]


@FEW
@given(**CUTS, pack=st.integers(1, 30))
def test_the_chain_of_sublists_in_lock_step_is_as_long_as_the_longest(
    emulated: dict[int, smp.Machine], n: int, wanted: int, seed: int, pack: int
) -> None:
    order = order_of(n, seed)
    options = {"sublists": wanted, "pack": pack, "rebalance": 2, "seed": seed}
    found = chains(emulated[1], rank_reid_miller, order, **options)
    longest = int(lengths_of(order, wanted, seed).max())
    for label in ("reduce", "expand"):
        assert sum(found[label]) == longest
        assert max(found[label]) <= 2 * pack
