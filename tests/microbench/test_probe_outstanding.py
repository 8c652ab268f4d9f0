"""Loads under way: loops load the right words, groups of threads do their jobs, and results follow from the times."""

import json
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import pictures
from support.reports import section_text, summed_up
from support.sampled import examples
from support.shapes import assert_same_keys, measured

from smp._computer.cpus import Cache
from smp._computer.limits import usable_cpus
from smp.microbench.method.plan import Plan
from smp.microbench.method.visit import Point
from smp.microbench.sections.latency.pages import Pages
from smp.microbench.sections.latency.walks import link_random
from smp.microbench.sections.outstanding import probe
from smp.microbench.sections.outstanding.loops import DEEPEST, MIX, chase_chains, gather
from smp.microbench.sections.outstanding.plots import gains, groups
from smp.microbench.sections.outstanding.probe import Effort, bytes_of, saturation, sustained
from smp.microbench.sections.outstanding.rows import Loads
from smp.microbench.sections.outstanding.together import Crew, Job

MIB = 1 << 20
QUICKLY = settings(max_examples=examples(40), deadline=None)  # the first call compiles
PLAN = Plan("quick", (1, 2), 7, 64, 8, (Cache(1, 32 << 10, 1), Cache(2, MIB, 1)))
WORDS_64 = (1 << 64) - 1


# --- the loops


@QUICKLY
@given(st.integers(1, 200), st.integers(1, 9), st.integers(0, 70), st.integers(0, 99))
def test_every_chain_takes_every_step(nodes: int, chains: int, steps: int, seed: int) -> None:
    words = np.zeros(nodes, np.int64)
    base = words.ctypes.data
    link_random(words, base, 1, nodes, seed + 1)
    following = (words - base) // 8
    expected = np.random.default_rng(seed).integers(0, nodes, chains)
    at = base + 8 * expected
    chase_chains(at, steps)
    for _ in range(steps):
        expected = following[expected]
    assert at.tolist() == (base + 8 * expected).tolist()


def line_of(position: int, lines: int) -> int:
    """Return the line at a position of the pseudo-random order, computed with Python's integers."""
    x = ((position ^ (position >> 31)) * MIX) & WORDS_64
    x = ((x ^ (x >> 29)) * MIX) & WORDS_64
    return (x >> 32) & (lines - 1)


@QUICKLY
@given(
    st.lists(st.integers(0, 9), min_size=16, max_size=16),
    st.integers(0, 12),
    st.integers(1, DEEPEST),
    st.integers(0, 5),
    st.booleans(),
    st.integers(0, 1 << 40),
)
def test_groups_load_their_words_and_wait_for_the_work_on_them(
    values: list[int], groups: int, depth: int, work: int, far: bool, first: int
) -> None:
    # words that are not zero move the next group, whose place then shows all loads and the work on them
    words, per_line = np.array(values, np.int64), 4
    at = first
    for _ in range(groups):
        seen = 0
        for j in range(depth):
            place = per_line * line_of(at + j, 16 // per_line) if far else (at + j) % 16
            seen |= values[place] * (values[0] + 3) ** work
        at += depth + seen
    assert gather(words, per_line, first, groups, depth, work, far) == at


def test_far_loads_go_to_lines_all_over_the_memory() -> None:
    lines = 1 << 12
    drawn = len({line_of(position, lines) for position in range(lines)})
    assert drawn / lines == pytest.approx(1 - np.exp(-1), abs=0.03), "as many lines as of random draws"


# --- groups of threads (`Crew`)


def test_a_group_of_threads_does_its_jobs_and_ends() -> None:
    before = threading.active_count()
    cpus = usable_cpus()[:1]
    with Crew(np.zeros(1 << 12, np.int64), 8, cpus, 3) as crew:
        assert threading.active_count() == before + 3
        for job in (Job(True, 0, 1, 3), Job(False, 2, 3, 8), Job(False, 0, 2, 1)):
            (window,) = crew.visit(job, 2_000_000, 4)
            spans = crew._spans
            assert window["operations"] == spans[: job.streams, 3].sum()
            assert window["operations"] % job.depth == 0
            assert window["wall_ns"] == spans[: job.streams, 1].max() - spans[: job.streams, 0].min()
            assert window["cpu_ns"] == spans[: job.streams, 2].sum(), "one CPU runs all of the streams"
            assert window["round"] == 4
    assert threading.active_count() == before


def test_streams_that_do_not_take_part_are_not_counted() -> None:
    with Crew(np.zeros(1 << 12, np.int64), 8, usable_cpus(), 2) as crew:
        crew.visit(Job(True, 0, 2, 1), 1_000_000, 0)
        crew._spans[1] = -1
        crew.visit(Job(True, 0, 1, 1), 1_000_000, 0)
        assert crew._spans[1].tolist() == [-1] * 4


def test_a_group_of_threads_ends_when_its_user_fails() -> None:
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), Crew(np.zeros(1 << 12, np.int64), 8, usable_cpus(), 2):
        raise KeyboardInterrupt
    assert threading.active_count() == before


# --- what follows from the times


@given(st.integers(2, 32), st.floats(10, 1000))
def test_a_core_sustains_as_many_misses_as_it_has_places(places: int, latency: float) -> None:
    counts = range(1, 41)
    found = sustained(counts, [latency / min(k, places) for k in counts])
    assert found.misses == pytest.approx(places)
    assert places / 1.1 <= found.knee_chains <= places
    assert found.flat or places > 20  # 40 chains are twice 20
    assert not found.flat or places < 22


@pytest.mark.parametrize(("places", "most", "flat"), [(3, 8, True), (48, 128, True), (500, 256, False)])
def test_chains_are_doubled_until_a_load_gets_no_faster(
    monkeypatch: pytest.MonkeyPatch, places: int, most: int, flat: bool
) -> None:
    followed = []

    def timed(points: Sequence[Point], *rest: Any, **more: Any) -> list[SimpleNamespace]:
        followed.extend(point.key[0] for point in points)  # type: ignore[index]
        return [SimpleNamespace(key=k.key, median=100 / min(k.operations, places), valid=True) for k in points]

    monkeypatch.setattr(probe, "measure_points", timed)
    results = probe._chains(Pages(MIB, huge=False), (1, 2, 4, 8), PLAN, 0.1, lambda part, text: None)
    assert max(followed) == most
    assert followed == sorted(set(followed))
    assert probe.sustained(*probe._times(results)).flat is flat


def followed(chains: int, ns: float, valid: bool = True) -> Any:
    return SimpleNamespace(key=(chains,), median=ns, valid=valid, why=[] if valid else ["unstable"])


def test_points_that_are_not_valid_do_not_change_the_result() -> None:
    good = [followed(1, 100.0), followed(2, 50.0), followed(4, 25.0)]
    found = probe.of_chains([*good, followed(8, 99.0, valid=False)])
    assert (found.misses, found.flat, found.valid) == (4, False, None), "a slow point does not end the gain"
    found = probe.of_chains([*good, followed(8, 1.0, valid=False)])
    assert found.misses == 4
    found = probe.of_chains([followed(1, 500.0, valid=False), *good[1:]])
    assert (found.valid, found.why) == (False, ["one chain: unstable"])


def group(streams: int, depth: int, rate: float, cpus: int = 1) -> Loads:
    return Loads(order="far", cpus=cpus, work=0, streams=streams, depth=depth, GBps=rate, ns=8 / rate)


def test_saturation_reports_the_best_rate_and_the_fewest_streams_near_it() -> None:
    rows = [group(1, 1, 1.0), group(1, 8, 4.0), group(2, 8, 7.9), group(4, 8, 8.0), group(4, 1, 3.0)]
    rows += [group(1, 1, 5.0, cpus=2)]
    one, two = saturation(rows)
    assert (one.best_GBps, one.best_streams, one.best_depth) == (8.0, 4, 8)
    assert (one.enough_streams, one.gain) == (2, 2.0)
    assert (two.cpus, two.gain) == (2, 1.0)


def test_the_size_of_the_memory_is_a_power_of_two_that_fits() -> None:
    assert bytes_of(PLAN, 64 * MIB, 64 << 30) == (64 * MIB, None)
    nbytes, why = bytes_of(PLAN, 64 * MIB, 15 * MIB)
    assert nbytes == 2 * MIB
    assert why is not None
    assert "15,728,640 bytes of memory are available" in why
    vast = Plan("quick", (1,), 7, 64, 8, (Cache(3, 480 * MIB, 2),))
    nbytes, why = bytes_of(vast, 64 * MIB, None)
    assert nbytes == 64 * MIB
    assert why is not None
    assert "the mode is quick" in why


# --- the probe, its report and its plots


@pytest.fixture(scope="module")
def section() -> probe.Measurement:
    effort = probe.EFFORTS["quick"]
    probe.EFFORTS["quick"] = Effort(0.2, MIB, (1, 2, 4), (1, 8), (1, 3))
    ticks: list[float] = []
    try:
        made = probe.measure(PLAN, lambda part, text: ticks.append(part))
    finally:
        probe.EFFORTS["quick"] = effort
    assert ticks == sorted(ticks)
    assert ticks[-1] == 1
    return made


def test_the_probe_measures_every_group_and_number_of_chains(section: probe.Measurement) -> None:
    data, samples = section.data.to_json(), section.samples
    assert json.loads(json.dumps(data)) == data
    found = data["sustained"]
    assert found.pop("valid", True) == (not found.pop("why", [])) == data["chains"][0]["valid"]
    assert_same_keys(data, measured("outstanding"))
    counts = [row["chains"] for row in data["chains"]]
    assert counts[:3] == [1, 2, 4]
    assert counts[3:] == [c for k in (4, 8, 16, 32, 64, 128) for c in (k + k // 2, 2 * k)][: len(counts) - 3]
    places = sorted({1, len(usable_cpus())})
    keys = [(row["order"], row["cpus"], row["work"], row["streams"], row["depth"]) for row in data["groups"]]
    assert sorted(keys) == sorted(
        (order, p, work, s, d)
        for order in ("far", "near")
        for p in places
        for work in (0, 40)
        for s in (1, 3)
        for d in (1, 8)
    )
    for row in data["groups"]:
        moved = 64 if row["order"] == "far" else 8
        assert row["GBps"] == pytest.approx(moved / row["ns"])
        assert row["windows"] >= 7
    counted = [row for row in data["chains"] if row["valid"]] if data["chains"][0]["valid"] else data["chains"]
    assert found == sustained([row["chains"] for row in counted], [row["ns"] for row in counted]).to_json()
    assert len(samples["outstanding_groups"]) == sum(row["windows"] for row in data["groups"])
    assert len(samples["outstanding_chains"]) == sum(row["windows"] for row in data["chains"])
    assert data["valid"] == (not data["why"])


def test_the_report_shows_the_numbers(section: probe.Measurement) -> None:
    data = section.data.to_json()
    data["sustained"] |= {"misses": 12.34, "latency_ns": 111.4, "best_ns": 9.03, "knee_chains": 14, "flat": True}
    for row in data["saturation"]:
        row["gain"] = 1.0625 if row["cpus"] == 1 else 1.9375
    text = section_text("outstanding", data, 150)
    assert "sustains 12.3 misses, 111 ns per load in one chain, 9.03 at best; 14 chains come within 10%" in text
    assert "Streams on one CPU: 1.06 times the bandwidth of one stream" in text
    assert all(f"depth {depth}" in text for depth in (1, 8))
    data["sustained"] |= {"valid": False, "why": ["one chain: unstable"]}
    assert "14 chains come within 10%; not valid: one chain: unstable" in section_text("outstanding", data, 150)
    assert pictures.described("outstanding", data)["outstanding-chains"].title == "How many misses does a core sustain?"
    heading, said = summed_up("outstanding", data)
    assert heading == "Loads under way"
    assert "not valid: one chain" in said
    assert "12.3 misses" in said
    assert "a factor of 1.06" in said


def test_without_a_flat_end_the_number_of_misses_is_a_lower_bound(section: probe.Measurement) -> None:
    data = json.loads(json.dumps(section.data.to_json()))
    for name in ("flat", "valid", "why"):  # as in profiles whose chains ended at 32
        data["sustained"].pop(name, None)
    for flat in (None, False):
        data["sustained"] |= {"misses": 28.94} | ({} if flat is None else {"flat": flat})
        assert "sustains at least 28.9 misses" in section_text("outstanding", data, 150)
        assert "a core sustains at least 28.9 misses (" in summed_up("outstanding", data)[1]
        assert "at least 28.9 misses" in pictures.described("outstanding", data)["outstanding-chains"].title


def test_the_figures_show_the_numbers(section: probe.Measurement) -> None:
    made = pictures.described("outstanding", section.data.to_json())
    assert list(made) == [
        *("outstanding-far", "outstanding-far-streams", "outstanding-near", "outstanding-near-streams"),
        "outstanding-chains",
    ]
    places = sorted({1, len(usable_cpus())})
    for order in ("far", "near"):
        figure = made[f"outstanding-{order}"]
        drawn = pictures.check(figure)
        assert len(figure.panels) == 2 * len(places)
        rows = [
            r
            for r in section.data.to_json()["groups"]
            if (r["order"], r["cpus"], r["work"], r["streams"]) == (order, 1, 0, 3)
        ]
        assert pictures.points(figure.panels[0], "3 streams") == [[row["depth"], row["GBps"]] for row in rows]
        highest = max(
            row["GBps"] for row in section.data.to_json()["groups"] if row["order"] == order and row["work"] == 0
        )
        assert all(axes.get_ylim()[0] == 0 <= highest < axes.get_ylim()[1] for axes in drawn.axes[: len(places)])
        turned = made[f"outstanding-{order}-streams"]
        pictures.check(turned)
        # the same numbers, with streams and depth exchanged
        assert sorted(
            (x, float(one.name.split()[1]), y)
            for panel in turned.panels
            for one in panel.series
            for x, y in zip(one.x, one.y, strict=True)
        ) == sorted(
            (r["streams"], r["depth"], r["GBps"]) for r in section.data.to_json()["groups"] if r["order"] == order
        )
    chains = made["outstanding-chains"]
    pictures.check(chains)
    assert pictures.series(chains.panels[0], "measured").y == [row["ns"] for row in section.data.to_json()["chains"]]


def test_titles_of_groups_say_what_depth_and_streams_gain() -> None:
    def row(streams: int, depth: int, rate: float, cpus: int = 1, valid: bool = True) -> Loads:
        return group(streams, depth, rate, cpus).model_copy(update={"valid": valid, "why": [] if valid else ["x"]})

    rows = [row(1, 1, 0.5), row(1, 8, 2.5), row(4, 8, 4.0, cpus=2), row(8, 8, 9.0, cpus=2, valid=False)]
    assert gains(rows) == "8 loads in a group gain a factor of 5.00, 4 streams on 2 CPUs 1.60"
    assert gains([row(1, 1, 0.5), row(1, 8, 2.5, valid=False)]) == "what do depth and streams gain?"
    pictures.check(groups("far", [row(1, 1, 0.5), row(1, 8, 1234.5), row(64, 8, 4000.0, cpus=64)]))
