"""STREAM's kernels compute what they say, bytes and times are counted its way, and the probe's numbers make sense."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shapes import assert_same_keys, measured

import smp
from smp._computer.cpus import Cache
from smp.microbench.method.plan import Plan
from smp.microbench.sections.bandwidth import probe
from smp.microbench.sections.bandwidth.facts import KERNELS
from smp.microbench.sections.bandwidth.loaded import Load, measure_loaded
from smp.microbench.sections.bandwidth.loops import (
    SCALAR,
    add,
    chase_until,
    copy,
    expected,
    scale,
    stream,
    triad,
    triad_until,
)
from smp.microbench.sections.bandwidth.probe import (
    EFFORTS,
    STAMP,
    TOLERANCE,
    Effort,
    array_bytes,
    counts_of,
    loading_of,
    stream_rows,
)

MIB = 1 << 20
CACHES = (Cache(1, 32 << 10, 1), Cache(2, 4 * MIB, 1))
QUICKLY = settings(max_examples=30, deadline=None)  # the first call compiles


def plan(mode: str = "quick", processors: tuple[int, ...] = (1, 2), caches: tuple[Cache, ...] = CACHES) -> Plan:
    return Plan(mode, processors, 7, 64, 8, caches)


# --- the kernels


@QUICKLY
@given(st.integers(0, 70), st.floats(-8, 8), st.integers(0, 99))
def test_kernels_are_those_of_stream(n: int, scalar: float, seed: int) -> None:
    a, b, c = np.random.default_rng(seed).normal(size=(3, n))
    out = np.full(n, np.nan)
    copy(a, out)
    assert out.tolist() == a.tolist()
    scale(out, c, scalar)
    assert out.tolist() == (scalar * c).tolist()
    add(a, b, out)
    assert out.tolist() == (a + b).tolist()
    triad(out, b, c, scalar)
    assert out == pytest.approx(b + scalar * c, rel=1e-12, abs=1e-12), "one rounding or two"


@given(st.integers(0, 12))
def test_expected_values_are_those_of_the_arrays(repeats: int) -> None:
    a, b, c = np.full(3, 2.0), np.full(3, 2.0), np.zeros(3)
    for _ in range(repeats):
        c[:] = a
        b[:] = SCALAR * c
        c[:] = a + b
        a[:] = b + SCALAR * c
    assert (a[0], b[0], c[0]) == pytest.approx(expected(repeats), rel=1e-14)


def streamed(proc: smp.Processor, repeats: int) -> tuple[Any, np.ndarray]:
    arrays = [np.full(1000 + proc.rank, value) for value in (2.0, 2.0, 0.0)]
    stamps = np.zeros((repeats, 4, 3), np.int64)
    stream(proc.sync, *arrays, SCALAR, stamps)
    return arrays, stamps


def test_processors_take_every_kernel_together_and_in_turn() -> None:
    repeats = 5
    with smp.host(2) as machine:
        results = machine.run(streamed, repeats).results
    for arrays, _ in results:
        for values, value in zip(arrays, expected(repeats), strict=True):
            assert values == pytest.approx(value, rel=TOLERANCE)
    start, end, cpu = np.moveaxis(np.stack([stamps for _, stamps in results]), 3, 0)
    start, end = start.reshape(2, -1), end.reshape(2, -1)
    assert (start <= end).all()
    assert (cpu > 0).all()
    # nobody begins a kernel before everybody has ended the one before
    assert (start.min(axis=0)[1:] >= end.max(axis=0)[:-1]).all()


def test_the_load_runs_triad_over_whole_windows() -> None:
    a, b, c, spans = np.zeros(100), np.arange(100.0), np.ones(100), np.zeros((7, 4), np.int64)
    assert triad_until(a, b, c, 3.0, 40, 60.0, spans) == 7, "it ends when there is no more room"
    assert a[:80].tolist() == (b + 3).tolist()[:80]
    assert not a[80:].any(), "what does not fill a window is left out"
    assert spans[:, 3].tolist() == [40] * 7
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    assert triad_until(a, b, c, 3.0, 40, 0.0, spans) == 0


def test_a_chase_for_a_time_goes_on_where_it_stopped() -> None:
    words, spans = np.zeros(3, np.int64), np.zeros((2, 4), np.int64)
    base = words.ctypes.data
    words[:] = base + 8, base + 16, base
    at, count = chase_until(base, 1, 16, 60.0, spans)
    assert count == 2
    assert at == base + 8 * (32 % 3)
    assert spans[:, 3].tolist() == [16, 16]


# --- the rows


def stamps_of(walls: list[list[tuple[int, int]]], off_cpu: dict[int, int] | None = None) -> np.ndarray:
    """Stamps of one run: for each processor the (start, end) of each repeat, the same for all kernels."""
    made = np.zeros((len(walls), len(walls[0]), 4), STAMP)
    for rank, of_rank in enumerate(walls):
        for repeat, (start, end) in enumerate(of_rank):
            one = made[rank, repeat]
            one["rank"], one["repeat"], one["kernel"] = rank, repeat, KERNELS
            one["start"], one["end"] = start, end
            one["cpu_ns"] = end - start - (off_cpu or {}).get(repeat, 0)
    return made.ravel()


def test_bytes_are_counted_as_stream_does_over_the_time_from_first_start_to_last_end() -> None:
    # the first repeat would be the best, but does not count
    walls = [[(0, 10), (1000, 1100), (2000, 2300)], [(0, 10), (1050, 1200), (2100, 2400)]]
    rows = {row.kernel: row for row in stream_rows(stamps_of(walls), 1000, 0.0)}
    assert {kernel: row.GBps for kernel, row in rows.items()} == {"copy": 80, "scale": 80, "add": 120, "triad": 120}
    assert [rows[kernel].GBps_write_allocate for kernel in KERNELS] == [120, 120, 160, 160]
    assert rows["copy"].median_GBps == pytest.approx(16 * 1000 / 300)
    assert (rows["add"].processors, rows["add"].repeats, rows["add"].best_ns) == (2, 2, 200)
    assert all(row.valid and row.verified for row in rows.values())


def test_the_median_is_of_clean_repeats_and_wrong_values_are_said() -> None:
    walls = [[(0, 10), (1000, 1100), (2000, 2300), (3000, 3100)]]
    (row, *_) = stream_rows(stamps_of(walls, {2: 200}), 1000, 0.0)
    assert row.clean_fraction == pytest.approx(2 / 3)
    assert row.median_ns == 100
    (row, *_) = stream_rows(stamps_of(walls), 1000, 1e-9)
    assert (row.verified, row.valid) == (False, False)
    assert row.why == ["the values are wrong: relative error 1e-09"]
    (row, *_) = stream_rows(stamps_of(walls, dict.fromkeys(range(4), 50)), 1000, 0.0)
    assert row.why == ["none of 3 repeats is clean"]


# --- sizes and counts


def test_arrays_follow_streams_rule_unless_capped() -> None:
    assert array_bytes(plan("default"), 64 << 30) == (80_000_000 // MIB * MIB, None)
    assert array_bytes(plan("default", caches=(Cache(3, 40 * MIB, 1),)), 64 << 30) == (160 * MIB, None)
    vast = plan("full", caches=(Cache(3, 480 * MIB, 2),))
    nbytes, why = array_bytes(vast, 64 << 30)
    assert nbytes == EFFORTS["full"].cap_bytes
    assert why is not None
    assert why.endswith("these have 1,073,741,824 bytes, since the mode is full")
    nbytes, why = array_bytes(vast, 1 << 30)
    assert nbytes == 128 * MIB
    assert why is not None
    assert "1,073,741,824 bytes of memory are available" in why


def test_counts_go_from_one_to_the_cpus() -> None:
    assert counts_of(plan(processors=(2,)), 2) == ([1, 2], None)
    assert counts_of(plan(processors=(1, 4)), 4) == ([1, 2, 3, 4], None)
    assert counts_of(plan(processors=(1, 2, 4)), 2) == ([1, 2], "p = [4]: there are 2 CPUs")
    assert counts_of(plan(processors=(8, 64)), 64) == ([1, 8, 64], None)
    assert loading_of(plan(), 2) == [0, 1]
    assert loading_of(plan(processors=(1, 16, 64)), 64) == [0, 1, 15, 63]


@given(st.integers(1, 64), st.integers(1, 40))
def test_loads_fit_into_memory(processors: int, log: int) -> None:
    load = Load(64 * MIB, 16 * MIB, 3)
    fitting = load.fitting(1 << log, processors)
    whole = fitting.chase_bytes + 3 * processors * fitting.triad_bytes
    assert whole <= (1 << log) + 4096 * (1 + 3 * processors), "a page for each array at least"
    assert fitting.chase_bytes % 4096 == fitting.triad_bytes % 4096 == 0
    if 1 << log >= 64 * MIB + 3 * processors * 16 * MIB:
        assert fitting == load


# --- the probe


def test_loaded_latency_has_a_result_for_each_number_of_loading_processors() -> None:
    with smp.host(2) as machine:
        results, moved = measure_loaded(machine, [0, 1], Load(8 * MIB, MIB, 2), 64, 1)
    assert [result.key for result in results] == [(0,), (1,)]
    assert all(result.minimum > 0 and result.quoted == "median" for result in results)
    assert all((result.windows["rank"] == 0).all() for result in results)
    assert all(set(result.windows["round"].tolist()) == {0, 1} for result in results)
    assert moved[0] == 0
    assert 0.01 < moved[1] < 10_000


def test_the_probe_measures_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.EFFORTS, "quick", Effort(2 * MIB, 4, Load(8 * MIB, MIB, 2)))
    ticks: list[float] = []
    section = probe.measure(plan(processors=(1, 2, 999)), lambda part, text: ticks.append(part))
    data, samples = section.data.to_json(), section.samples
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("bandwidth"))
    assert ticks == sorted(ticks)
    assert ticks[-1] == 1
    counts = list(range(1, data["all_processors"] + 1))
    assert [(row["processors"], row["kernel"]) for row in data["stream"]] == [(p, k) for p in counts for k in KERNELS]
    for row in data["stream"]:
        assert row["GBps"] >= row["median_GBps"] * (1 - 1e-12) or row["clean_fraction"] < 1
        assert 0.01 < row["GBps"] < row["GBps_write_allocate"] < 10_000
        assert row["verified"]
        assert row["repeats"] == 3
    assert len(samples["bandwidth_stream"]) == 4 * 4 * sum(counts)
    loaded = data["loaded_latency"]
    assert [row["loading_processors"] for row in loaded] == [p - 1 for p in counts]
    assert len(samples["bandwidth_loaded"]) == sum(row["windows"] for row in loaded)
    assert "999" in data["left_out"]
    assert data["capped"].startswith("STREAM asks for")
    assert data["valid"] == (not data["why"])
