"""The access patterns touch the words that the paper prescribes, and the section holds their times."""

import json
from typing import Any

import numpy as np
import pytest
from support.shapes import assert_same_keys, measured

import smp
from smp._computer.cpus import Cache
from smp._runtime.protocols.placement import UNKNOWN
from smp.microbench.method.plan import Plan
from smp.microbench.sections.access import probe, processor, visits
from smp.microbench.sections.access.fits import (
    COPY_IN,
    COPY_OUT,
    SAMPLE,
    Found,
    counting,
    least,
    middle,
    seconds_of,
    tiers_of,
)
from smp.microbench.sections.access.loops import BAD, GOOD, RANDOM, STAMPS, _scattered, supersteps
from smp.models.placement import Placement, find_states
from smp.models.supersteps.suites import Pattern, suite
from smp.profiles.access import Access

LINE = 8
SIZES = (5_000, 7_000, 10_000, 14_000, 20_000)


def _one(proc: Any, family: int, shared: Any, reads: list[int], writes: list[int], repeats: int) -> Any:
    """Run one pattern on this processor; return its local words and stamps."""
    local = np.arange(1, 101, dtype=np.int64) * (proc.rank + 1) * -1
    piece = 7
    copy_in, copy_out = (
        np.zeros((repeats, max(1, -(-max(words) // piece)), STAMPS), np.int64) for words in (reads, writes)
    )
    base, step = (proc.rank * 100, 1) if family == GOOD else (proc.rank, LINE)
    counts = reads[proc.rank], writes[proc.rank]
    spoiler = np.zeros(64, np.int64)
    span, move = len(shared), processor._memmove()
    place = (base, step, span, 0, move)
    supersteps(proc.sync, proc.rank, family, shared.view, local, spoiler, *counts, piece, *place, copy_in, copy_out)
    return local, np.concatenate([copy_in.reshape(-1, STAMPS), copy_out.reshape(-1, STAMPS)])


def _run(
    machine: smp.Machine, family: int, reads: list[int], writes: list[int], words: int = 1000, repeats: int = 1
) -> Any:
    shared = machine.array(np.arange(words))
    results = machine.run(_one, family, shared, reads, writes, repeats).results
    return results, np.array(shared)


def test_good_copies_each_processors_own_run(pair: smp.Machine) -> None:
    ((first, _), (second, _)), shared = _run(pair, GOOD, [10, 20], [0, 0])
    assert list(first[:10]) == list(range(10))
    assert list(second[:20]) == list(range(100, 120))
    assert first[10] == -11
    assert list(shared) == list(range(1000))


def test_good_writes_each_processors_own_run(pair: smp.Machine) -> None:
    _, shared = _run(pair, GOOD, [0, 0], [5, 3])
    expected = np.arange(1000)
    expected[:5] = [-1, -2, -3, -4, -5]
    expected[100:103] = [-2, -4, -6]
    assert list(shared) == list(expected)


def test_bad_takes_one_word_of_each_line_next_to_the_other_processors(pair: smp.Machine) -> None:
    ((first, _), (second, _)), shared = _run(pair, BAD, [6, 6], [0, 0])
    assert list(first[:6]) == [k * LINE for k in range(6)]
    assert list(second[:6]) == [1 + k * LINE for k in range(6)]
    _, shared = _run(pair, BAD, [0, 0], [4, 2])
    changed = np.flatnonzero(shared != np.arange(1000))
    assert list(changed) == [0, 1, 8, 9, 16, 24]


def test_random_words_are_spread_evenly_over_the_array() -> None:
    with np.errstate(over="ignore"):
        words = np.array([_scattered(k, 1000) for k in range(20_000)])
    assert words.min() >= 0
    assert words.max() < 1000
    counts = np.bincount(words, minlength=1000)
    chi_square = ((counts - 20) ** 2 / 20).sum()
    assert abs(chi_square - 999) < 5 * np.sqrt(2 * 999)


def test_random_reads_and_writes_go_to_the_shared_array(pair: smp.Machine) -> None:
    ((first, _), _), shared = _run(pair, RANDOM, [50, 50], [0, 0])
    assert set(first[:50]) <= set(range(1000))
    assert len(set(first[:50])) > 40
    _, shared = _run(pair, RANDOM, [0, 0], [50, 0])
    assert 40 < (shared != np.arange(1000)).sum() <= 50


def test_every_repeat_is_stamped(pair: smp.Machine) -> None:
    for (_, first), (_, second) in [_run(pair, GOOD, [100, 0], [0, 100], repeats=3)[0]]:
        for out in (first, second):
            assert len(out) == 3 * 2 * 15  # in pieces of 7 words
            assert ((out[:, 4:] > 0) | (out[:, 4:] == UNKNOWN)).all()
            assert (out[:, :2] > 0).all()
            assert (out[:, 3] >= out[:, 2]).all()


def test_overlap_is_that_of_the_processors_that_copied() -> None:
    start = np.array([[0, 0, 0, 0], [0, 50_000, 0, 200_000]])
    end = np.array([[100_000, 100_000, 100_000, 100_000], [100_000, 150_000, 10, 300_000]])
    assert list(probe._overlap(start, end)) == [1.0, 0.5, 1.0, 0.0]


def test_tiers_hold_words_and_their_copies_and_caches_that_no_pattern_fits_are_left_out() -> None:
    caches = (Cache(1, 48 << 10, 1), Cache(2, 2 << 20, 1), Cache(3, 32 << 20, 8))
    tiers = tiers_of(Plan("quick", (1,), 0, 64, 8, caches))
    assert [(tier.name, tier.words) for tier in tiers] == [("L2", 131_072), ("L3", 2_097_152), ("beyond", None)]


def test_good_has_sizes_of_whole_arrays_as_far_as_memory_suffices(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, rng = Plan("default", (1, 2), 0, 64, 8, ()), np.random.default_rng(0)

    def largest(family: int) -> int:
        return max(
            visit.pattern.h
            for visit in visits.visits_of(visits.groups_of(plan, 2, rng))
            if visit.group.family == family
        )

    monkeypatch.setattr(visits, "available_memory", lambda: 1 << 40)
    assert (largest(GOOD), largest(BAD)) == (8_000_000, 1_900_000)
    monkeypatch.setattr(visits, "available_memory", lambda: visits.ROOM * 2 * 2 * 4_000_000 * 8)
    assert largest(GOOD) == 4_000_000
    monkeypatch.setattr(visits, "available_memory", lambda: 1 << 20)
    assert largest(GOOD) == 1_900_000


def test_the_functions_of_the_study_use_its_sizes_and_the_forms_use_all_sizes() -> None:
    found, rng = Found(Plan("default", (1,), 0, 64, 8, ())), np.random.default_rng(0)
    heights = [1_000 * k for k in range(5, 25)] + [4_000_000, 8_000_000]
    group = visits.Group(GOOD, 0, {n: suite(n, 1, heights, rng, 8_000_000) for n in (1, 2, 3)})
    rows = [
        (GOOD, 0, 1, number, index, 0, repeat, phase, 0, 0, 1000 + int(words.max()), 0, 1, 0, 0, True)
        for number, patterns in group.suites.items()
        for index, pattern in enumerate(patterns)
        for repeat in range(3)
        for phase, words in enumerate((pattern.reads, pattern.writes))
    ]
    found.add(1, np.array(rows, SAMPLE), [group], [0.0, 0.0])
    assert {row.count for row in found.functions} <= {20, None}
    assert {round(row.h_range[1]) for row in found.forms if row.h_range} == {max(a.h for a in group.suites[3])}


@pytest.fixture(scope="module")
def section() -> Any:
    smallest = SIZES
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(probe.BUDGET, "quick", 1.0)
        patch.setattr(visits, "sizes", lambda mode: smallest)
        patch.setattr(visits, "RANDOM_SIZES", dict.fromkeys(visits.RANDOM_SIZES, smallest))
        plan = Plan("quick", (1, 2), 3, 64, 8, (Cache(2, 2 << 20, 1),))
        ticks: list[float] = []
        made = probe.measure(plan, lambda done, text: ticks.append(done))
    assert ticks == sorted(ticks)
    assert ticks[-1] == pytest.approx(1.0)
    return made


def test_the_section_has_every_pattern_of_every_suite_and_family(section: Any) -> None:
    rows = section.data.to_json()["patterns"]
    for p in (1, 2):
        expected = [len(suite(number, p, SIZES, np.random.default_rng(0))) for number in (1, 2, 3)]
        for family in ("good", "bad", "random"):
            mine = [row for row in rows if (row["family"], row["p"]) == (family, p)]
            footprints = len(visits.FOOTPRINTS) if family == "random" else 1
            found = [sum(row["suite"] == number for row in mine) for number in (1, 2, 3)]
            assert found == [footprints * count for count in expected]
            assert len({row["footprint"] for row in mine}) == footprints
        assert all((max(row["reads"]), max(row["writes"])) == (row["hr"], row["hw"]) for row in rows)
    samples = section.samples["access"]
    whole = (samples["phase"] == COPY_IN) & (samples["piece"] == 0)
    assert whole.sum() == sum(row["supersteps"] for row in rows)
    assert (samples["ns"] > 0).all()
    assert json.loads(json.dumps(section.data.to_json(), allow_nan=False)) == section.data.to_json()
    assert_same_keys(section.data.to_json(), measured("access"))


def test_the_time_of_a_pattern_is_the_middle_of_the_supersteps_that_count(section: Any) -> None:
    samples = section.samples["access"]
    row = next(
        row
        for row in section.data.to_json()["patterns"]
        if row["family"] == "bad" and row["p"] == 2 and row["suite"] == 2
    )
    main = section.data.placement["2"][0]
    chosen = samples[
        (samples["family"] == BAD) & (samples["p"] == 2) & (samples["suite"] == 2) & (samples["pattern"] == 0)
    ]
    high = np.inf if main.high_ns is None else main.high_ns
    inside = [(chosen[end] >= main.low_ns) & (chosen[end] < high) for end in ("before_ns", "after_ns")]
    counts = chosen["clean"] & inside[0] & inside[1]
    total = 0.0
    for phase in (COPY_IN, COPY_OUT):
        mine = chosen["phase"] == phase
        used = np.sort(chosen["ns"][mine & counts if (mine & counts).any() else mine])
        cut = len(used) // 4
        total += used[cut : len(used) - cut].mean() * 1e-9
    assert row["seconds"] == pytest.approx(total)
    assert row["clean"] == min((counts & (chosen["phase"] == phase)).sum() for phase in (COPY_IN, COPY_OUT))


def test_the_time_of_a_pattern_is_the_sum_of_its_pieces_even_if_no_superstep_is_clean() -> None:
    taken = np.zeros(12, SAMPLE)
    taken["repeat"], taken["piece"] = np.divmod(np.arange(12), 4)
    taken["ns"], taken["clean"] = 1_000 * (1 + taken["piece"]), True
    for repeat, piece in ((0, 1), (1, 3), (2, 0)):  # every superstep has a piece that does not count
        at = (taken["repeat"] == repeat) & (taken["piece"] == piece)
        taken["ns"][at], taken["clean"][at] = 10**9, False
    taken["alike"] = taken["piece"]
    assert least(taken, taken["clean"]) == 2
    assert seconds_of(taken, taken["clean"]) == pytest.approx((1 + 2 + 3 + 4) * 1e-6)
    # a piece without clean times takes those of a piece that is alike
    taken["alike"] = np.array([0, 1, 1, 3])[taken["piece"]]
    taken["clean"] &= taken["piece"] != 1
    assert least(taken, taken["clean"]) == 2
    assert seconds_of(taken, taken["clean"]) == pytest.approx((1 + 3 + 3 + 4) * 1e-6)


def test_pieces_are_alike_if_every_processor_copies_the_same_number_of_words() -> None:
    reads, writes = np.array([5 * visits.PIECE, 2 * visits.PIECE + 7]), np.array([0, 100])
    bad = visits.Visit(visits.Group(BAD, 0, {}), 1, 0, Pattern("vary", 1, 1, reads, writes), 1)
    assert [alike.tolist() for alike in bad.alike] == [[0, 0, 2, 3, 3], [0]]
    assert bad.pieces == (5, 1)


def test_times_taken_in_another_state_do_not_count() -> None:
    taken = np.zeros(6, SAMPLE)
    taken["clean"] = [True, True, True, True, False, True]
    taken["before_ns"] = [70, 70, 280, 280, 70, np.nan]
    taken["after_ns"] = [71, 280, 279, 72, 70, 70]
    states = find_states([70.0] * 20 + [280.0] * 10)
    assert counting(taken, states).tolist() == [True, False, False, False, False, False]
    assert counting(taken, Placement()).tolist() == [True, True, True, True, False, True]


def test_the_middle_of_times_around_two_values_lies_between_them() -> None:
    assert middle(np.array([10] * 4 + [20] * 4)) == 15.0
    assert middle(np.array([10, 10, 10, 10, 1_000])) == 10.0


def test_functions_are_fitted_for_both_ends_and_forms_for_every_family(section: Any) -> None:
    made = {(row.family, row.p, row.name) for row in section.data.functions}
    assert {("bad", 2, "HrHwM"), ("good", 2, "HrHwM-c")} <= made
    for family in ("good", "bad", "random"):
        for p in (1, 2):
            mine = [row for row in section.data.forms if (row.family, row.p) == (family, p)]
            footprints = {row.footprint for row in mine}
            assert len(footprints) == (len(visits.FOOTPRINTS) if family == "random" else 1)
            assert sum(row.chosen for row in mine) == len(footprints)
            assert all(off.suite != row.fit_suite for row in mine for off in row.off)
    for turn in section.data.turns:
        assert len({turn.chosen_by, turn.suite, 2 if turn.p > 1 else 3}) == 3


def test_bad_costs_more_than_good(section: Any) -> None:
    def total(family: str) -> float:
        return sum(
            row["seconds"] for row in section.data.to_json()["patterns"] if row["family"] == family and row["p"] == 2
        )

    assert total("bad") > 2 * total("good")


def test_more_processors_than_cpus_are_measured_while_they_take_turns() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "LEAST", 1)
        patch.setitem(probe.BUDGET, "quick", 0.1)
        patch.setattr(visits, "sizes", lambda mode: (2_000, 4_000))
        patch.setattr(visits, "RANDOM_SIZES", dict.fromkeys(visits.RANDOM_SIZES, (2_000, 4_000)))
        patch.setattr(probe, "usable_cpus", lambda: [0])
        made = probe.measure(Plan("quick", (2,), 3, 64, 8, (Cache(2, 2 << 20, 1),)), lambda done, text: None)
    assert made.samples["access"]["clean"].all()
    assert np.isnan(made.samples["access"]["before_ns"]).all()
    assert {row.family for row in made.data.forms} == {"good", "bad", "random"}


def test_functions_that_are_off_make_the_section_invalid(section: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smp.profiles.kept_apart.LIMIT", 0.0)
    found = Found(Plan("quick", (1,), 0, 64, 8, (Cache(2, 2 << 20, 1),)))
    found.overheads, found.samples = {"2": [0.0, 0.0]}, [section.samples["access"]]
    known = Access(**section.data.to_json())
    found.functions, found.forms, found.turns = known.functions, known.forms, known.turns
    data = found.section().data.to_json()
    assert not data["valid"]
    for form in (form for form in known.forms if form.chosen and form.family != "random"):
        said = f"p = {form.p}, {form.family}: {form.name} is off by "
        assert any(why.startswith(said) for why in data["why"]), said
