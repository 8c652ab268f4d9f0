"""The emulated Tera MTA has the latencies, retries, traps and bandwidths of its study, and ranks lists correctly.

Tests with numbers that were set from the study check the settings; ``benchmarks/machines.py mta`` has all numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sampled import examples

import smp
from smp._runtime.emulated.multithreaded.experiments.chains import passed
from smp._runtime.emulated.multithreaded.experiments.latencies import memory_latency, word_latency
from smp._runtime.emulated.multithreaded.experiments.loads import WORK, read_bandwidth
from smp._runtime.emulated.multithreaded.experiments.polling import interference
from smp._runtime.emulated.multithreaded.experiments.ranking import ALGORITHMS, random_list, ranked
from smp._runtime.emulated.multithreaded.experiments.runtime import counted_retries, remapping, stream_start
from smp._runtime.emulated.multithreaded.experiments.triad import KERNELS, stream_bandwidth
from smp._runtime.emulated.multithreaded.experiments.waking import addition, woken

MTA = smp.machines.load("mta")
QUIET = MTA.replace("streams.background", 0)
KB, MB = 1 << 10, 1 << 20


@pytest.mark.parametrize("size", [pytest.param(16 * KB, marks=pytest.mark.slow), 256 * KB, 4 * MB])
def test_a_load_takes_170_cycles_and_one_of_a_hot_spot_115(size: int) -> None:
    assert memory_latency(MTA, size, 8) == pytest.approx(170, rel=0.001)
    assert memory_latency(MTA, size, size) == pytest.approx(115, rel=0.001)


def test_hot_spots_are_about_256_words() -> None:
    assert memory_latency(MTA, 128 * 8, 8) == pytest.approx(115, rel=0.01)
    assert memory_latency(MTA, 512 * 8, 8) == pytest.approx(170, rel=0.01)


@pytest.mark.parametrize("streams", [1, 5, 20, 40, 80])
def test_a_word_takes_as_many_cycles_as_there_are_streams_and_20(streams: int) -> None:
    assert word_latency(MTA, streams, 500) == pytest.approx(streams + 20, rel=0.01)
    assert word_latency(QUIET, streams, 500) == pytest.approx(max(streams, 21), rel=0.01)


def test_costs_of_the_runtime_are_those_of_the_tables() -> None:
    assert counted_retries(MTA) == 1023
    assert stream_start(MTA) == pytest.approx(27_200, abs=972)
    found = remapping(MTA)
    assert found.total == found.retries + found.words + found.saving + found.restoring + 170  # the access that parks
    assert found.remainders == pytest.approx((53_900, 42_000, 30_100), rel=0.02)


def test_fewer_retries_shorten_a_remapping_by_their_time() -> None:
    few = remapping(MTA.replace("streams.retries", 24))
    assert remapping(MTA).total - few.total == pytest.approx(1_000 * 115, abs=60)


@pytest.mark.parametrize("streams", [20, 50, 100])
def test_polling_threads_go_on_within_a_latency_and_an_addition_each(streams: int) -> None:
    found = woken(MTA, streams, 0)
    assert found.trapped == 0
    assert 170 + streams * addition(MTA) == pytest.approx(found.total, rel=0.1)


def test_trapped_threads_go_on_one_instruction_word_apart() -> None:
    found = woken(MTA, 50, 150)
    assert found.trapped == 50
    assert 50 * 21 < found.last < 50 * 30


@pytest.mark.parametrize("turns", [0, 200])
def test_threads_that_empty_a_word_follow_one_another(turns: int) -> None:
    streams = [10, 40, 70, 100]
    total = [woken(MTA, k, turns, one_by_one=True).total for k in streams]
    assert np.corrcoef(streams, total)[0, 1] ** 2 > 0.99
    slope = (total[-1] - total[0]) / 90
    assert 113 + 2 * 57 < slope < 3 * 170  # both ways through the network, a write and a read; three accesses


def test_one_word_for_all_is_faster_than_a_word_for_each_only_without_computation() -> None:
    mass, chained = (passed(MTA, 70, 0, one) for one in (False, True))
    assert mass.total < chained.total
    assert mass.traps == chained.traps == 0
    mass, chained = (passed(MTA, 70, 200, one) for one in (False, True))
    assert mass.total == pytest.approx(chained.total, rel=0.03)


@pytest.mark.parametrize(("iterations", "least", "most"), [(200, 9, 11), (100, 18, 22)])
def test_threads_trap_in_chains_as_long_as_those_of_the_study(iterations: int, least: int, most: int) -> None:
    assert passed(MTA, least - 1, iterations, chained=True).traps == 0
    assert passed(MTA, most, iterations, chained=True).traps > 0


def test_loads_come_one_a_cycle_at_most() -> None:
    rates = [read_bandwidth(QUIET, streams, 8, elements=40_000) for streams in (10, 20, 40, 100)]
    assert rates[:3] == sorted(rates[:3])
    assert all(2.0e9 < rate < 2.08e9 for rate in rates[2:])
    bound = 10 * 8 * 8 / 170 * 260e6  # ten windows of 8 words in each latency, if no two words meet in a bank
    assert 0.85 * bound < rates[0] < bound


def test_work_between_loads_takes_the_issue_slots() -> None:
    rate = read_bandwidth(QUIET, 30, 5, WORK, elements=5_000)
    assert rate == pytest.approx(8 * 260e6 / (WORK + 1), rel=0.03)


@pytest.mark.parametrize("kernel", KERNELS)
def test_vectors_on_four_processors_meet_at_the_modules(kernel: str) -> None:
    one, four = (stream_bandwidth(MTA, kernel, processors, 6_000) / 1e9 for processors in (1, 4))
    assert 1.53 < one < 1.87
    assert 5.2 < four < 6.38


@given(st.integers(1, 300), st.sampled_from(ALGORITHMS), st.integers(1, 60), st.integers(0, 5))
@settings(max_examples=examples(60), deadline=None)
def test_lists_are_ranked(n: int, algorithm: str, streams: int, seed: int) -> None:
    order = random_list(n, seed)
    found = ranked(MTA, algorithm, order, 1 if algorithm == "serial" else streams, seed)
    assert (found.ranks[order] == np.arange(n)).all()


def test_algorithms_for_lists_have_the_order_of_the_study() -> None:
    order = random_list(10_000)
    serial = ranked(MTA, "serial", order).seconds
    assert serial / 10_000 == pytest.approx(2.1e-6, rel=0.1)
    assert ranked(MTA, "wyllie_cells", order, 40).seconds > serial
    assert ranked(MTA, "wyllie_lists", order, 64).seconds < serial
    assert ranked(MTA, "reid_miller", order, 120).seconds < serial
    assert ranked(MTA, "reid_miller_threads", order, 64).seconds < serial
    short = random_list(1_000)
    assert ranked(MTA, "reid_miller_threads", short, 64).seconds > ranked(MTA, "serial", short).seconds


def test_retries_take_from_work_only_if_the_network_has_no_room() -> None:
    never = 1 << 40
    alone, with_others = (
        [interference(one.replace("streams.retries", never), k, 0, cycles=20_000) for k in (0, 20)]
        for one in (QUIET, MTA)
    )
    assert with_others[1].work == pytest.approx(with_others[0].work, rel=0.01)
    assert with_others[1].retries == pytest.approx(20 / 115, rel=0.05)
    assert alone[1].work + alone[1].retries == pytest.approx(1, rel=0.01)
    assert alone[1].work < 0.95 * alone[0].work


def test_a_wait_that_ends_after_the_last_retry_traps() -> None:
    traps = [
        interference(MTA.replace("streams.retries", limit), 10, 60_000, workers=10, cycles=120_000).traps
        for limit in (64, 1_024)
    ]
    assert traps == [1, 0]
