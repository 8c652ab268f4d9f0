"""The chases visit the right words, the knees are those of the curve, and the numbers of the probe are plausible."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.reports import section_text
from support.sampled import examples
from support.shapes import NEWER, assert_same_keys, measured

from smp._computer.cpus import Cache
from smp._computer.huge_pages import SWITCH
from smp._runtime.memory.segment import Segment
from smp.microbench.method.plan import Plan
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.rows import complaints, row, stack
from smp.microbench.method.windows import WINDOW
from smp.microbench.sections.latency import probe, sizes
from smp.microbench.sections.latency.knees import find_levels, match
from smp.microbench.sections.latency.pages import HUGE, Pages, huge_between, huge_bytes
from smp.microbench.sections.latency.rows import GlobalArrays
from smp.microbench.sections.latency.sizes import EFFORTS, Effort, largest_array, random_sizes, stride_grid
from smp.microbench.sections.latency.walks import (
    UNROLLED,
    Walk,
    chase,
    global_walk,
    link_page_local,
    link_random,
    link_strided,
    page_local_walk,
    random_walk,
)

KIB, MIB = 1 << 10, 1 << 20
CACHES = (Cache(1, 32 * KIB, 1), Cache(2, MIB, 1), Cache(3, 32 * MIB, 2))
QUICKLY = settings(max_examples=examples(60), deadline=None)  # the first call compiles
SEEDS = st.integers(1, (1 << 62) - 1)


def plan(mode: str = "quick", caches: tuple[Cache, ...] = CACHES) -> Plan:
    return Plan(mode, (1, 2), 7, 64, 8, caches)


def lap(words: np.ndarray, base: int) -> list[int]:
    """Return the indices of the words in the order of the chase, from the first word until it comes again."""
    visited = [0]
    while (at := (int(words[visited[-1]]) - base) // 8) != visited[0]:
        visited.append(at)
        assert len(visited) <= words.size, "the chase never comes back to its first node"
    return visited


# --- the chases


@QUICKLY
@given(st.integers(1, 200), st.integers(1, 9), SEEDS)
def test_a_random_chase_visits_every_node_exactly_once(count: int, stride: int, seed: int) -> None:
    words = np.zeros(count * stride, np.int64)
    link_random(words, words.ctypes.data, stride, count, seed)
    assert sorted(lap(words, words.ctypes.data)) == list(range(0, count * stride, stride))
    touched = np.zeros(words.size, bool)
    touched[::stride] = True
    assert not words[~touched].any(), "a word between the nodes was written"


def test_every_cycle_is_equally_likely() -> None:
    words, counts = np.zeros(4, np.int64), {}
    for seed in np.random.default_rng(0).integers(1, 1 << 62, 6000).tolist():
        link_random(words, words.ctypes.data, 1, 4, seed)
        order = tuple(lap(words, words.ctypes.data))
        counts[order] = counts.get(order, 0) + 1
    assert sorted(order[1:] for order in counts) == sorted(itertools.permutations((1, 2, 3)))
    # chi squared with 5 degrees of freedom exceeds 20.5 once in a thousand times
    assert sum((n - 1000) ** 2 / 1000 for n in counts.values()) < 20.5


@QUICKLY
@given(st.integers(1, 100), st.integers(1, 17))
def test_a_strided_chase_takes_every_stride_in_order(count: int, stride: int) -> None:
    words = np.zeros(count * stride, np.int64)
    link_strided(words, words.ctypes.data, stride, count)
    assert lap(words, words.ctypes.data) == list(range(0, count * stride, stride))


@QUICKLY
@given(st.integers(1, 12), st.sampled_from([1, 2, 8, 16]), st.integers(0, 99))
def test_a_page_local_chase_leaves_each_page_once(pages: int, stride: int, seed: int) -> None:
    page_bytes = 512
    per_page = page_bytes // 8
    words = np.zeros(pages * per_page, np.int64)
    rng = np.random.default_rng(seed)
    link_page_local(words, words.ctypes.data, stride, words.size // stride, page_bytes, rng)
    visited = lap(words, words.ctypes.data)
    assert sorted(visited) == list(range(0, words.size, stride))
    page = np.array(visited) // per_page
    # in one round of the cycle, each page is left once
    assert np.count_nonzero(page != np.roll(page, 1)) == (pages if pages > 1 else 0)
    if pages > 2 and stride < 8:
        assert visited != sorted(visited), "the order is not random"


@QUICKLY
@given(st.integers(1, 64), st.integers(0, 12), SEEDS)
def test_the_compiled_chase_ends_where_the_links_lead(count: int, repeat: int, seed: int) -> None:
    words = np.zeros(count, np.int64)
    base = words.ctypes.data
    link_random(words, base, 1, count, seed)
    at, wall, cpu = chase(base, repeat)
    visited = lap(words, base)
    assert at == base + 8 * visited[repeat * UNROLLED % count]
    assert wall >= 0
    assert cpu >= 0


def test_a_walk_continues_where_it_stopped() -> None:
    pages = Pages(8 * 3, huge=False)
    link_strided(pages.words, pages.address, 1, 3)
    walk = Walk(pages)
    steps = []
    for _ in range(3):
        walk(1)
        steps.append((walk.at - pages.address) // 8)
    assert steps == [UNROLLED % 3, 2 * UNROLLED % 3, 0]


@pytest.mark.parametrize("huge", [False, True])
def test_walks_have_a_node_in_every_line(huge: bool) -> None:
    nbytes, rng = 12 * KIB, np.random.default_rng(3)
    for walk in (random_walk(nbytes, 64, huge, rng), page_local_walk(nbytes, 64, 4 * KIB, rng)):
        assert sorted(lap(walk.pages.words, walk.pages.address)) == list(range(0, nbytes // 8, 8))


# --- pages


def test_memory_begins_on_a_huge_page_and_consists_of_whole_words_of_zero() -> None:
    pages = Pages(1001, huge=True)
    assert pages.address % HUGE == 0
    assert pages.words.size == 126
    assert not pages.words.any()


def test_small_pages_are_small_and_huge_ones_are_counted_as_the_kernel_does() -> None:
    small, huge = Pages(4 * MIB, huge=False), Pages(4 * MIB, huge=True)
    assert huge_bytes(huge) == 0, "no page is touched yet"
    small.words[:] = huge.words[:] = 1
    assert huge_bytes(small) == 0
    assert huge_bytes(huge) in range(0, huge.length + 1, HUGE)


def test_only_memory_areas_between_the_addresses_count() -> None:
    smaps = "".join(
        f"{start:x}-{end:x} rw-p 00000000 00:00 0 \nSize: {(end - start) >> 10} kB\nRss: 9 kB\n"
        f"AnonHugePages:   {kb} kB\nVmFlags: rd wr mr mw me ac sd hg \n"
        for start, end, kb in [(0x1000, 0x2000, 1), (0x2000, 0x6000, 16), (0x6000, 0x8000, 4), (0x9000, 0xF000, 32)]
    )
    assert huge_between(0x2000, 0x8000, smaps) == 20 * KIB
    assert huge_between(0x2000, 0x7000, smaps) == 16 * KIB
    assert huge_between(0x2000, 0x8000, "") == 0


@pytest.mark.parametrize("field", ["ShmemPmdMapped", "Shared_Hugetlb"])
def test_huge_pages_of_shared_memory_count_too(field: str) -> None:
    assert huge_between(0, 1 << 40, f"2000-6000 rw-s 0 00:01 9 /memfd:smp\n{field}:   16 kB\n") == 16 * KIB


def test_a_walk_through_a_segment_stays_in_its_blocks() -> None:
    segment = Segment()
    walk = global_walk(segment, 3 * MIB, 64, np.random.default_rng(1))
    assert segment.address <= walk.pages.address < segment.address + segment.size
    assert sorted(lap(walk.pages.words, walk.pages.address)) == list(range(0, 3 * MIB // 8, 8))


# --- global arrays


def found(curve: str, nbytes: int, ns: float, clean: int = 8) -> Result:
    windows = np.zeros(8, WINDOW)
    windows["wall_ns"], windows["operations"] = 1000 * ns, 1000
    windows["flags"][clean:] = 1
    return summarise((curve, nbytes, 64), windows, "median")


def report(data: GlobalArrays) -> str:
    levels = [{"name": "L1", "ns": 1}]
    return " ".join(section_text("latency", {"global_arrays": data.to_json(), "levels": levels}).split())


def test_global_arrays_are_compared_at_sizes_at_which_both_curves_are_valid() -> None:
    results = [found("huge", 32 * MIB, 100), found("shared", 32 * MIB, 150)]
    results += [found("huge", 64 * MIB, 110, clean=1), found("shared", 64 * MIB, 300)]
    made = probe.global_arrays(results, Segment(), "never")
    assert made is not None
    assert (made.bytes, made.ns, made.factor) == (32 * MIB, 150, 1.5)
    made = probe.global_arrays(results[2:], Segment(), "never")
    assert made is not None
    assert (made.bytes, made.factor) == (64 * MIB, None)
    assert probe.global_arrays(results[:1], Segment(), "never") is None


def test_the_switch_is_recommended_only_if_it_would_help() -> None:
    small = GlobalArrays(pages="small", huge_bytes=0, bytes=32 * MIB, ns=150, factor=1.5, switch="never")
    text = report(small)
    assert "a load from one of 32 MiB takes 150 ns, 1.50 times as long as from private memory in huge pages" in text
    assert "1.50 times as fast in huge pages" in text
    assert f"{SWITCH} is never" in text
    assert f"echo advise > {SWITCH}" in text
    assert "echo" not in report(small.model_copy(update={"factor": 1.05}))
    pool = report(small.model_copy(update={"pages": "pool", "factor": 1.2}))
    assert "huge pages of the system's pool" in pool
    assert "echo" not in pool
    some = report(small.model_copy(update={"pages": "transparent", "huge_bytes": 4 * MIB}))
    assert "if it has any (4 MiB of those measured here)" in some


# --- knees


def curve(grid: np.ndarray, ns: list[float], knees: list[float]) -> np.ndarray:
    return np.asarray(ns)[np.searchsorted(knees, grid)]


GRID = 2.0 ** np.arange(12, 30, 0.5)


@QUICKLY
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
    st.lists(st.floats(1.6, 8), min_size=3, max_size=3),
    st.integers(0, 2**32 - 1),
)
def test_levels_are_found_under_noise_and_spikes(gaps: list[int], rises: list[float], seed: int) -> None:
    # knees at least three octaves apart, each half-way between two sizes
    places = np.cumsum([3.25, *(3 + gap for gap in gaps)])[: len(gaps)]
    knees = [2.0 ** (12 + place) for place in places]
    true = np.cumprod([1.3, *rises[: len(knees)]])
    rng = np.random.default_rng(seed)
    noisy = curve(GRID, true.tolist(), knees) * rng.normal(1, 0.02, GRID.size)
    # single spikes only: two next to each other, or one right before a knee, could also be a level
    clear = np.abs(np.log2(GRID)[:, None] - np.log2(knees)).min(axis=1) > 1
    first, second = rng.choice(np.flatnonzero(clear), 2)
    noisy[first] *= 3
    noisy[second] *= 3 if abs(first - second) > 4 else 1
    levels = find_levels(GRID, noisy, 4)
    assert len(levels) == len(true)
    assert [level.ns for level in levels] == pytest.approx(true.tolist(), rel=0.1)
    assert levels[-1].knee_bytes is None
    for level, knee in zip(levels, knees, strict=False):
        assert level.knee_bytes is not None
        assert abs(math.log2(level.knee_bytes / knee)) <= 0.75


def test_a_ramp_is_not_a_level_of_its_own() -> None:
    ns = np.interp(np.log2(GRID), [0, 18, 20, 40], [1.3, 1.3, 4.6, 4.6])
    levels = find_levels(GRID, ns, 4)
    assert [level.ns for level in levels] == pytest.approx([1.3, 4.6], rel=0.05)
    assert levels[0].knee_bytes == pytest.approx(2.0**18.7, rel=0.2), "half-way up on a log scale"


def test_a_flat_noisy_curve_has_one_level_and_an_empty_curve_has_none() -> None:
    ns = 100 * np.random.default_rng(1).normal(1, 0.1, GRID.size)
    (level,) = find_levels(GRID, ns, 4)
    assert level.ns == pytest.approx(100, rel=0.05)
    assert (level.smallest_bytes, level.largest_bytes) == (GRID[0], pytest.approx(GRID[-1]))
    assert find_levels([], [], 4) == []
    assert [level.ns for level in find_levels([4096], [1.5], 4)] == pytest.approx([1.5])


def test_there_are_no_more_levels_than_requested() -> None:
    ns = curve(GRID, [1, 4, 16, 64], [2.0**15.25, 2.0**19.25, 2.0**23.25])
    assert [len(find_levels(GRID, ns, most)) for most in (1, 2, 3, 4, 5)] == [1, 2, 3, 4, 4]


def test_a_measured_curve_gives_the_levels_that_one_sees_in_it() -> None:
    # huge pages, on a processor with caches of 48 KiB and 2 MiB, whose share of the last cache is a few MiB
    KiB = [4, 8, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576]
    KiB += [32768, 49152, 65536, 98304, 131072, 196608, 262144, 393216, 524288, 1048576]
    ns = [1.28, 1.29, 1.28, 1.30, 1.31, 4.13, 4.13, 4.14, 4.14, 4.65, 5.30, 9.18, 17.0, 31.9, 33.1, 52.3, 73.2, 197.5]
    ns += [69.0, 176.4, 156.8, 167.8, 183.3, 192.9, 150.9, 140.9, 219.7, 232.6, 173.2, 193.8]
    levels = find_levels(np.array(KiB) * KIB, ns, 4)
    assert [level.ns for level in levels] == pytest.approx([1.3, 4.14, 33, 180], rel=0.1)
    for level, low, high in zip(levels, (48 * KIB, 1536 * KIB, 6 * MIB), (64 * KIB, 2 * MIB, 12 * MIB), strict=False):
        assert level.knee_bytes is not None
        assert low <= level.knee_bytes <= high


def test_knees_are_matched_to_the_nearest_caches_in_order() -> None:
    caches = [48 * KIB, 2 * MIB, 480 * MIB]
    assert match([50e3, 1.8e6, 6e6], caches) == [0, 1, 2]
    assert match([50e3, 1.8e6], caches) == [0, 1]
    assert match([1.8e6, 300e6], caches) == [1, 2]
    assert match([], caches) == []


# --- sizes


def test_arrays_reach_four_times_the_last_cache_unless_capped() -> None:
    small = (Cache(1, 32 * KIB, 1), Cache(2, 24 * MIB, 1))
    assert largest_array(plan(caches=small), 64 << 30) == (128 * MIB, None)
    assert largest_array(plan(caches=()), 64 << 30) == (64 * MIB, None)
    vast = (Cache(3, 480 * MIB, 2),)
    for mode in EFFORTS:
        largest, why = largest_array(plan(mode, vast), 64 << 30)
        assert largest == min(EFFORTS[mode].cap_bytes, 2048 * MIB)
        assert (why is None) == (largest >= 4 * 480 * MIB)
    largest, why = largest_array(plan("full", vast), 3 << 30)
    assert largest == 128 * MIB
    assert why is not None
    assert "3,221,225,472 bytes of memory are available" in why


def test_the_strides_of_the_full_mode_are_those_of_the_figure() -> None:
    grid = stride_grid(EFFORTS["full"], 16 * MIB)
    sizes_of = sorted({nbytes for nbytes, _ in grid})
    assert sizes_of == [KIB << k for k in range(15)]
    for nbytes in sizes_of:
        assert [stride for size, stride in grid if size == nbytes] == [
            8 << k for k in range(int(math.log2(nbytes)) - 2)
        ]


@pytest.mark.parametrize("mode", EFFORTS)
def test_every_grid_goes_from_the_smallest_to_the_largest(mode: str) -> None:
    grid = stride_grid(EFFORTS[mode], 64 * MIB)
    assert len(set(grid)) == len(grid)
    for nbytes in (KIB, 64 * MIB):
        strides = [stride for size, stride in grid if size == nbytes]
        assert (strides[0], strides[-1]) == (8, nbytes)
    assert all(nbytes % stride == 0 for nbytes, stride in grid)
    random = random_sizes(plan(mode), 64 * MIB)
    assert (random[0], random[-1]) == (4 * KIB, 64 * MIB)
    assert random == sorted(set(random))


# --- rows


def test_rows_and_samples_hold_every_window() -> None:
    results = []
    for key, count in ((("stride", 1024, 8), 3), (("huge", 4096, 64), 5)):
        windows = np.zeros(count, WINDOW)
        windows["wall_ns"], windows["operations"] = 1000 + np.arange(count), 100
        results.append(summarise(key, windows, "median"))
    joined = stack(results, {"curve": "U10", "bytes": "i8", "stride": "i8"})
    assert joined["curve"].tolist() == ["stride"] * 3 + ["huge"] * 5
    assert joined["wall_ns"].tolist() == [1000, 1001, 1002, 1000, 1001, 1002, 1003, 1004]
    assert row(results[1], GHz=2.0)["cycles"] == pytest.approx(2 * 10.02)
    assert "cycles" not in row(results[1])
    assert complaints(results, 0.5) == []
    assert "1 of 2 points are not valid; the first, stride, 1024, 8: 3 clean" in complaints(results)[0]


def disturbed(curve: str, nbytes: int, stride: int, clean: int) -> Result:
    return dataclasses.replace(found(curve, nbytes, 9.0, clean), key=(curve, nbytes, stride))


def test_points_of_the_last_cache_need_a_quiet_computer() -> None:
    for nbytes in (MIB, 4 * MIB, 32 * MIB):
        assert not probe.undisturbed(disturbed("huge", nbytes, 64, 6), plan()).valid, "its clean windows may be slow"
        assert probe.undisturbed(disturbed("huge", nbytes, 64, 8), plan()).valid
    for nbytes in (32 * KIB, MIB - 64, 64 * MIB):
        assert probe.undisturbed(disturbed("huge", nbytes, 64, 6), plan()).valid, "nearer caches are private"
    assert probe.undisturbed(disturbed("stride", 32 * MIB, 8 * KIB, 6), plan()).valid, "4,096 lines fit into L2"
    assert not probe.undisturbed(disturbed("stride", 64 * MIB, 512, 6), plan()).valid, "131,072 lines need L3"
    (why,) = probe.undisturbed(disturbed("huge", 4 * MIB, 64, 6), plan()).why
    assert why == "75% of the windows are clean, below the 80% that the last cache needs"


def test_a_point_of_the_last_cache_whose_loads_mostly_go_to_memory_is_not_valid() -> None:
    taken = dataclasses.replace(disturbed("huge", 4 * MIB, 64, 8), minimum=10.0, median=90.0)
    (why,) = probe.undisturbed(taken, plan()).why
    assert why == "other programs use the last cache at times: the median is 9.0 times the minimum, above 2"
    assert probe.undisturbed(dataclasses.replace(taken, median=19.0), plan()).valid
    assert probe.undisturbed(dataclasses.replace(taken, key=("huge", 64 * MIB, 64)), plan()).valid


def in_rounds(curve: str, rounds: list[float]) -> Result:
    """Return a point whose windows took the given ns in each round."""
    windows = np.zeros(4 * len(rounds), WINDOW)
    windows["round"], windows["operations"] = np.repeat(np.arange(len(rounds)), 4), 1000
    windows["wall_ns"] = windows["cpu_ns"] = np.repeat(rounds, 4) * 1000
    return summarise((curve, 64 * MIB, 64), windows, "median")


def test_a_page_walk_is_the_difference_of_two_loads_in_the_same_round() -> None:
    """Both loads are slower by 40% in the second half of the rounds, but their difference is not."""
    slow = [100.0] * 4 + [140.0] * 4
    (walk,) = probe.walk_rows([in_rounds("random", [ns + 20 for ns in slow]), in_rounds("huge", slow)], "random", 2.0)
    assert (walk.ns, walk.cycles) == pytest.approx((20, 40))
    assert not walk.valid, "neither load is valid"
    few = [100.0, 101.0, 99.0, 100.0]
    (walk,) = probe.walk_rows([in_rounds("random", [ns + 20 for ns in few]), in_rounds("huge", few)], "random", 2.0)
    assert walk.valid
    (walk,) = probe.walk_rows([in_rounds("random", [103.0, 130, 98, 121]), in_rounds("huge", few)], "random", 2.0)
    assert walk.why == ["the rounds differ: half of the differences lie between 2.0 and 23.0 ns"]
    (walk,) = probe.walk_rows([in_rounds("random", [100.4, 100.8, 99.1, 100.0]), in_rounds("huge", few)], "random", 2.0)
    assert walk.valid, "it is certain that the difference is small"


def test_a_level_of_points_that_are_not_valid_is_not_valid() -> None:
    results = [found("huge", 4 * KIB << k, 1.0) for k in range(4)]
    results += [found("huge", MIB << k, 100.0, clean=1 if k < 3 else 8) for k in range(4)]
    first, last = probe.levels(plan(caches=CACHES[:1]), results, 1.0)["levels"]
    assert (first.valid, last.valid) == (True, False)
    assert last.why
    assert last.why[0].startswith("3 of 4 points are not valid; the first, huge, 1,048,576 bytes: ")
    text = section_text("latency", {"levels": [first.to_json(), last.to_json()]})
    assert "DRAM !" in text


# --- the probe

TINY = Effort(0.5, 32 * MIB, 32, 64, 0)


def tiny(monkeypatch: pytest.MonkeyPatch) -> tuple[dict, dict, list[float]]:
    monkeypatch.setitem(sizes.EFFORTS, "quick", TINY)
    ticks: list[float] = []
    section = probe.measure(plan(), lambda part, text: ticks.append(part))
    return section.data.to_json(), section.samples, ticks


def test_the_probe_measures_every_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    data, samples, ticks = tiny(monkeypatch)
    assert json.loads(json.dumps(data)) == data
    for level in data["levels"]:
        judgement = [level.pop(name) for name in ("valid", "why", "clean_fraction")]  # not in earlier profiles
        assert judgement[0] == (not judgement[1])
    assert_same_keys(data, measured("latency"), NEWER | {"clean_fraction", "valid", "why"})  # if a level has no points
    assert ticks == sorted(ticks)
    assert ticks[-1] == 1
    assert [(r["bytes"], r["stride"]) for r in data["stride"]] == stride_grid(TINY, 32 * MIB)
    assert [r["bytes"] for r in data["random"]] == random_sizes(plan(), 32 * MIB)
    rows = [r for curve in ("stride", "random", "page_local", "huge", "shared") for r in data[curve]]
    assert len(samples["latency"]) == sum(r["windows"] for r in rows)
    for r in rows:
        assert 0 < r["minimum_ns"] <= r["ns"] <= r["p95_ns"]
        assert r["cycles"] == pytest.approx(r["ns"] * data["clock_GHz"])
        assert r["valid"] == (not r["why"])
    first, last = data["random"][0], data["random"][-1]
    assert last["minimum_ns"] > 3 * first["minimum_ns"], "loads from 32 MiB are as fast as from 4 KiB"
    assert data["levels"][-1]["name"] == "DRAM"
    assert data["levels"][-1]["found_bytes"] is None
    ns = [level["ns"] for level in data["levels"]]
    assert ns == sorted(ns)
    assert len(data["levels"]) + len(data["levels_missing"]) == len(CACHES) + 1
    assert data["capped"].startswith("the largest array should have four times the last cache")
    assert data["valid"] == (not data["why"])
    if data["huge_pages"]["granted"]:
        assert [r["bytes"] for r in data["huge"]] == [r["bytes"] for r in data["page_local"]]
        assert [r["bytes"] for r in data["shared"]] == [r["bytes"] for r in data["huge"]]
        assert data["page_walk_bytes"] == 32 * MIB
    else:
        assert data["huge"] == []


def test_without_huge_pages_the_curve_is_left_out_and_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "huge_bytes", lambda pages, smaps: 0)
    monkeypatch.setitem(sizes.EFFORTS, "quick", dataclasses.replace(TINY, seconds=0.2, cap_bytes=2 * MIB))
    data = probe.measure(plan(), lambda part, text: None).data.to_json()
    assert data["huge"] == []
    assert data["huge_pages"]["granted"] is False
    assert "0 of 2,097,152 bytes in huge pages" in data["huge_pages"]["why"]
    assert (data["page_walk_from"], data["levels_from"]) == ("page_local", "random")
    assert data["page_walk"][-1]["bytes"] == 2 * MIB
