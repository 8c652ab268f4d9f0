"""Kernels, bytes and times are those of STREAM, and the numbers of the probe are plausible."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import pictures
from support.reports import cells, section_text
from support.shapes import assert_same_keys, measured

import smp
from smp._computer.cpus import Cache
from smp._computer.limits import usable_cpus
from smp.microbench.method.placement import records
from smp.microbench.method.plan import Plan
from smp.microbench.sections.bandwidth import probe
from smp.microbench.sections.bandwidth.facts import KERNELS
from smp.microbench.sections.bandwidth.inject import OF, inject_until, lines
from smp.microbench.sections.bandwidth.loaded import Load, Traffic, measure_loaded
from smp.microbench.sections.bandwidth.loops import (
    SCALAR,
    add,
    chase_until,
    copy,
    expected,
    read,
    scale,
    stream,
    triad,
    triad_until,
)
from smp.microbench.sections.bandwidth.nodes import measure_nodes, nodes_of_memory
from smp.microbench.sections.bandwidth.probe import EFFORTS, Effort, array_bytes, counts_of, loading_of, node_row
from smp.microbench.sections.bandwidth.report import in_other_states
from smp.microbench.sections.bandwidth.rows import Bandwidth
from smp.microbench.sections.bandwidth.stream import STAMP, TOLERANCE, Ran, note_placement, stream_rows
from smp.models.placement_log import PlacementLog

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
    assert out == pytest.approx(b + scalar * c, rel=1e-12, abs=1e-12), "the result is rounded once or twice"
    assert read(a) == a.view(np.int64).sum(), "the sum is modulo 2^64, as in NumPy"


@given(st.integers(0, 12))
def test_expected_values_are_those_of_the_arrays(repeats: int) -> None:
    a, b, c = np.full(3, 2.0), np.full(3, 2.0), np.zeros(3)
    for _ in range(repeats):
        c[:] = a
        b[:] = SCALAR * c
        c[:] = a + b
        a[:] = b + SCALAR * c
    assert (a[0], b[0], c[0]) == pytest.approx(expected(repeats), rel=1e-14)


def streamed(proc: smp.Processor, repeats: int, piece: int) -> tuple[Any, np.ndarray]:
    size = 1000 + proc.rank
    arrays = [np.full(size, value) for value in (2.0, 2.0, 0.0)]
    stamps = np.zeros((repeats, len(KERNELS), -(-size // piece), 4), np.int64)
    readings = np.zeros((repeats, len(KERNELS) + 1), np.int64)
    total = stream(proc.sync, proc.rank, *arrays, SCALAR, piece, stamps, readings)
    assert total == arrays[0].view(np.int64).sum(), "the sum covers the whole block"
    return arrays, stamps


def test_processors_run_every_kernel_together_one_after_another() -> None:
    repeats, piece = 5, 400
    with smp.host(2) as machine:
        results = machine.run(streamed, repeats, piece).results
    for rank, (arrays, stamps) in enumerate(results):
        for values, value in zip(arrays, expected(repeats), strict=True):
            assert values == pytest.approx(value, rel=TOLERANCE)
        assert stamps[0, 0, :, 3].tolist() == [400, 400, 200 + rank], "the pieces make up the block"
    start, end, cpu, _ = np.moveaxis(np.stack([stamps for _, stamps in results]), 4, 0)
    assert (start <= end).all()
    assert (cpu > 0).all()
    assert (start[..., 1:] >= end[..., :-1]).all(), "the pieces follow one another"
    # no processor begins a kernel before all processors have ended the previous one
    first, last = start.min(axis=(0, 3)).ravel(), end.max(axis=(0, 3)).ravel()
    assert (first[1:] >= last[:-1]).all()


@QUICKLY
@given(st.integers(0, OF), st.integers(0, 3), st.integers(1, 6))
def test_traffic_writes_its_share_of_the_lines(written: int, steps: int, groups: int) -> None:
    words, per_line = np.full(8 * OF * groups, -1), 8
    lines(words, per_line, 0, OF * groups, written, steps, 5)
    changed = np.flatnonzero(words != -1)
    assert changed.tolist() == [8 * k for k in range(OF * groups) if k % OF < written]


def test_traffic_cycles_through_the_words_in_whole_windows() -> None:
    words, spans = np.zeros(8 * 10, np.int64), np.zeros((5, 4), np.int64)
    count, _ = inject_until(words, 8, OF, 0, 8, 60.0, spans)
    assert count == 5, "it ends when there is no room for more spans"
    assert spans[:, 3].tolist() == [8] * 5
    assert not words[64:].any(), "words that do not fill a window are left out"
    assert inject_until(words, 8, OF, 0, 8, 0.0, spans)[0] == 0


def test_a_longer_delay_reduces_the_traffic() -> None:
    words, spans = np.zeros(8 * 64, np.int64), np.zeros((50, 4), np.int64)
    shortest = []
    for steps in (1, 64):
        inject_until(words, 8, 0, steps, 64, 60.0, spans)
        shortest.append((spans[:, 1] - spans[:, 0]).min())
    assert shortest[1] > 4 * shortest[0]


def test_the_load_runs_triad_over_whole_windows() -> None:
    a, b, c, spans = np.zeros(100), np.arange(100.0), np.ones(100), np.zeros((7, 4), np.int64)
    assert triad_until(a, b, c, 3.0, 40, 60.0, spans) == 7, "it ends when there is no room for more spans"
    assert a[:80].tolist() == (b + 3).tolist()[:80]
    assert not a[80:].any(), "elements that do not fill a window are left out"
    assert spans[:, 3].tolist() == [40] * 7
    assert (spans[1:, 0] >= spans[:-1, 1]).all()
    assert triad_until(a, b, c, 3.0, 40, 0.0, spans) == 0


def test_a_timed_chase_continues_where_it_stopped() -> None:
    words, spans = np.zeros(3, np.int64), np.zeros((2, 4), np.int64)
    base = words.ctypes.data
    words[:] = base + 8, base + 16, base
    at, count = chase_until(base, 1, 16, 60.0, spans)
    assert count == 2
    assert at == base + 8 * (32 % 3)
    assert spans[:, 3].tolist() == [16, 16]


# --- the rows


PIECES = 10


def ran(
    walls: list[list[tuple[int, int]]], off_cpu: dict[tuple[int, int], int] | None = None, error: float = 0.0
) -> Ran:
    """Return one run, given the (start, end) of each repeat of each processor, which are the same for all kernels.

    The pieces of a repeat have equal length. ``off_cpu`` has the ns that a piece of a repeat was off the CPU.
    """
    made = np.zeros((len(walls), len(walls[0]), len(KERNELS), PIECES), STAMP)
    for rank, of_rank in enumerate(walls):
        for repeat, (start, end) in enumerate(of_rank):
            ends = np.linspace(start, end, PIECES + 1).astype(int)
            for piece in range(PIECES):
                one = made[rank, repeat, :, piece]
                one["rank"], one["repeat"], one["kernel"], one["piece"] = rank, repeat, KERNELS, piece
                one["start"], one["end"] = ends[piece : piece + 2]
                one["cpu_ns"] = one["end"] - one["start"] - (off_cpu or {}).get((repeat, piece), 0)
                one["operations"] = 1000 // PIECES // len(walls)
    return Ran("shared", made.ravel(), error)


def test_bytes_are_counted_as_in_stream_over_the_time_from_the_first_start_to_the_last_end() -> None:
    # the first repeat would be the best, but does not count
    walls = [[(0, 10), (10_000, 11_000), (20_000, 23_000)], [(0, 10), (10_500, 12_000), (21_000, 24_000)]]
    rows = {row.kernel: row for row in stream_rows(ran(walls), 1000)}
    assert {kernel: row.GBps for kernel, row in rows.items()} == {
        "copy": 8,
        "scale": 8,
        "add": 12,
        "triad": 12,
        "read": 4,
    }
    assert [rows[kernel].GBps_write_allocate for kernel in KERNELS] == [12, 12, 16, 16, 4]
    assert (rows["add"].processors, rows["add"].repeats, rows["add"].best_ns) == (2, 2, 2000)
    assert all(row.verified for row in rows.values())


def test_the_median_is_that_of_pieces_during_which_all_processors_ran() -> None:
    walls = [[(0, 10), *((10_000 * k, 10_000 * k + 1000) for k in (1, 2, 3))]] * 2
    (row, *_) = stream_rows(ran(walls), 1000)
    assert (row.valid, row.clean_fraction) == (True, 1)
    assert row.median_GBps == pytest.approx(16)
    # processor 1 starts later: the first half of processor 0's pieces and the last half of its own do not count
    late = [walls[0], [(start + 500, end + 500) for start, end in walls[1]]]
    (row, *_) = stream_rows(ran(late), 1000)
    assert row.clean_fraction == pytest.approx(0.5)
    assert row.GBps == row.median_GBps == pytest.approx(16), "not the time from the first start to the last end"


def test_a_busy_computer_does_not_slow_down_a_valid_row() -> None:
    # in each repeat the processor is off the CPU for a long time in one of the pieces: no repeat is undisturbed
    walls = [[(0, 10), *((100_000 * k, 100_000 * k + 30_000) for k in range(1, 10))]]
    taken = ran(walls)
    stamps = taken.stamps.reshape(1, 10, len(KERNELS), PIECES)
    for repeat in range(1, 10):
        start = stamps["start"][0, repeat, 0, 0]
        lengths = np.full(PIECES, 100)
        lengths[repeat % PIECES] = 29_000
        ends = start + np.cumsum(lengths)
        stamps["end"][0, repeat], stamps["start"][0, repeat] = ends, ends - lengths
        stamps["cpu_ns"][0, repeat] = np.minimum(lengths, 100)
    (row, *_) = stream_rows(taken, 1000)
    assert row.valid
    assert row.clean_fraction == pytest.approx(0.9)
    assert row.GBps == pytest.approx(16), "as on a quiet computer: the undisturbed pieces take 1,000 ns together"


def test_wrong_values_and_too_few_clean_pieces_are_reported() -> None:
    walls = [[(0, 10), (1000, 2000), (3000, 4000)]]
    (row, *_) = stream_rows(ran(walls, error=1e-9), 1000)
    assert (row.verified, row.valid) == (False, False)
    assert row.why == ["the values are wrong: relative error 1e-09"]
    away = {(repeat, piece): 50 for repeat in range(3) for piece in range(PIECES) if piece > 1}
    (row, *_) = stream_rows(ran(walls, away), 1000)
    assert row.why == ["processor 0: 4 clean windows of 20, fewer than 5"]


def test_rates_are_those_of_the_main_placement_and_other_states_are_shown_next_to_them() -> None:
    """In repeats 5 to 8 the CPUs lie far apart and a repeat takes twice as long; during the fourth they are moved."""
    walls = [[(0, 10), *((10_000 * k, 10_000 * k + (2000 if k > 4 else 1000)) for k in range(1, 9))]] * 2
    taken = ran(walls)
    stamps, log = taken.stamps.reshape(2, 9, len(KERNELS), PIECES), PlacementLog()
    stamps["placed_before_ns"], stamps["placed_after_ns"] = 30.0, 30.0
    stamps["placed_after_ns"][:, 4], stamps["placed_before_ns"][:, 5:], stamps["placed_after_ns"][:, 5:] = 200, 200, 200
    note_placement(taken.stamps, 2, log)
    assert len(log.samples()) == 2 * 9 * len(KERNELS)
    log.note(2, np.arange(100.0), np.full(100, 30.0))  # readings of other sections
    (row, *_) = stream_rows(taken, 1000, log.placement(2))
    assert (row.GBps, row.median_GBps, row.repeats) == (16, pytest.approx(16), 3)
    assert row.elsewhere_GBps == pytest.approx([8])
    states = {"2": records(log.placement(2))}
    (table,) = in_other_states(Bandwidth(stream=[row], placement=states, valid=True))
    assert table.rows == [["copy", pytest.approx(16), pytest.approx(8)]]
    assert [column.name[:6] for column in table.columns] == ["kernel", "30.0 n", "200 ns"]


# --- nodes


def node_files(root: Path, lists: dict[int, str]) -> Path:
    for node, cpus in lists.items():
        folder = root / f"sys/devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(cpus)
    return root


def test_nodes_have_only_the_cpus_that_may_be_used(tmp_path: Path) -> None:
    root = node_files(tmp_path, {0: "0-3,8\n", 10: "12\n", 2: "4-7\n", 3: "\n"})
    assert nodes_of_memory(root, [1, 3, 5, 8, 12]) == {0: [1, 3, 8], 2: [5], 10: [12]}
    assert list(nodes_of_memory(root, range(20))) == [0, 2, 10]
    assert nodes_of_memory(tmp_path / "elsewhere", [0]) == {}


def test_every_node_is_measured_against_every_node() -> None:
    cpus = usable_cpus()
    found = {0: cpus[:1], 1: cpus[-1:]}  # the CPUs are real, the numbers of the nodes are made up
    measured = [node_row(pair, 64, 2.0) for pair in measure_nodes(found, 4 * MIB, 64, 0.2, 1)]
    rows = [row.model_copy(update={"valid": True, "why": []}) for row in measured]  # whatever else this computer does
    assert [(row.memory_of_node, row.cpus_of_node) for row in rows] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(row.ns > 0 and row.GBps > 0.01 for row in rows)
    data = Bandwidth(nodes=rows, nodes_found=[0, 1]).to_json()
    text = section_text("bandwidth", data)
    assert "Memory of one node for the CPUs of another" in text
    assert len(cells(text, "1")) == 2
    (figure,) = pictures.described("bandwidth", data).values()
    latency, reading = figure.panels
    assert latency.cells is not None
    assert latency.cells.values[0][1] == rows[2].ns, "rows stand for CPUs, columns for memory"
    assert reading.cells is not None
    pictures.check(figure)


def test_a_single_node_is_reported_in_one_line() -> None:
    assert "to one node, so there is no matrix" in section_text("bandwidth", {"nodes": [], "nodes_found": [0]})
    assert "node" not in section_text("bandwidth", {"one_GBps": 1.0}), "an earlier profile does not say"


# --- sizes and counts


def test_arrays_follow_the_rule_of_stream_unless_capped() -> None:
    assert array_bytes(plan("default"), 64 << 30) == (80_000_000 // MIB * MIB, None)
    assert array_bytes(plan("default", caches=(Cache(3, 40 * MIB, 1),)), 64 << 30) == (160 * MIB, None)
    vast = plan("full", caches=(Cache(3, 480 * MIB, 2),))
    nbytes, why = array_bytes(vast, 64 << 30)
    assert nbytes == EFFORTS["full"].cap_bytes
    assert why is not None
    assert why.endswith("these have 1,073,741,824 bytes, since the mode is full")
    nbytes, why = array_bytes(vast, 1 << 30)
    assert nbytes == 64 * MIB
    assert why is not None
    assert "1,073,741,824 bytes of memory are available" in why


def test_counts_go_from_one_to_the_number_of_cpus() -> None:
    assert counts_of(plan(processors=(2,)), 2) == ([1, 2], None)
    assert counts_of(plan(processors=(1, 4)), 4) == ([1, 2, 3, 4], None)
    assert counts_of(plan(processors=(1, 2, 4)), 2) == ([1, 2], "p = [4], since there are 2 CPUs")
    assert counts_of(plan(processors=(8, 64)), 64) == ([1, 8, 64], None)
    assert loading_of(plan(), 2) == [0, 1]
    assert loading_of(plan(processors=(1, 16, 64)), 64) == [0, 1, 15, 63]


@given(st.integers(1, 64), st.integers(1, 40))
def test_loads_fit_into_memory(processors: int, log: int) -> None:
    load = Load(64 * MIB, 16 * MIB, 3)
    fitting = load.fitting(1 << log, processors)
    whole = fitting.chase_bytes + 3 * processors * fitting.triad_bytes
    assert whole <= (1 << log) + 4096 * (1 + 3 * processors), "each array has at least a page"
    assert fitting.chase_bytes % 4096 == fitting.triad_bytes % 4096 == 0
    if 1 << log >= 64 * MIB + 3 * processors * 16 * MIB:
        assert fitting == load


# --- the probe


def test_loaded_latency_has_a_result_for_each_kind_of_traffic() -> None:
    traffics = [Traffic(0), Traffic(1), Traffic(1, 2, 16), Traffic(1, 2, 512)]
    with smp.host(2) as machine:
        results, moved = measure_loaded(machine, traffics, Load(8 * MIB, MIB, 2), 64, 1, PlacementLog())
    assert [result.key for result in results] == [(0, -1, 0), (1, -1, 0), (1, 2, 16), (1, 2, 512)]
    assert all(result.minimum > 0 and result.quoted == "median" for result in results)
    assert all((result.windows["rank"] == 0).all() for result in results)
    assert all(set(result.windows["round"].tolist()) == {0, 1} for result in results)
    assert moved[0] == 0
    assert 0.01 < moved[1] < 10_000
    assert moved[2] > 4 * moved[3] > 0, "a longer delay moves fewer bytes"


def test_bytes_of_traffic_count_a_written_line_twice() -> None:
    assert [Traffic(1, written).bytes(64) for written in (0, 2, 4)] == [64, 96, 128]
    assert Traffic(1).bytes(64) == 24, "bytes are counted as in STREAM"


def test_the_heaviest_load_is_compared_with_no_load() -> None:
    def point(ns: float, GBps: float, **more: Any) -> dict[str, Any]:
        spread = {"minimum_ns": 0.9 * ns, "p95_ns": 9 * ns}
        return {"ns": ns, "load_GBps": GBps, "loading_processors": 1, "valid": True, **spread, **more}

    curve = [
        point(ns, GBps, write_share=share, delay_cycles=0, valid=GBps < 99)
        for ns, GBps, share in ((150, 40, 0.5), (120, 20, 0.0), (999, 100, 0.5))
    ]
    data = {"load_curve": curve, "loaded_latency": [point(100, 0) | {"loading_processors": 0}]}
    text = " ".join(section_text("bandwidth", data).split())
    assert "while 40.0 GB/s are moved, a load takes 150 ns, 1.50 times as long as alone" in text
    figure = pictures.described("bandwidth", data)["bandwidth-loaded"]
    pictures.check(figure)
    half = pictures.series(figure.panels[0], "50% of the lines written")
    assert list(zip(half.x, half.y, strict=True)) == [(40, 150), (100, 999)]
    assert [bool(why) for why in half.invalid] == [False, True]
    assert half.high[0] == 1350
    assert np.isnan(half.high[1]), "the band of a point that is not valid would flatten the others"
    assert figure.title.startswith("While 40.0 GB/s are moved")


def test_the_probe_measures_every_kernel_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.EFFORTS, "quick", Effort(2 * MIB, 4, Load(8 * MIB, MIB, 2, (0, 64)), 0.1))
    monkeypatch.setattr(probe, "note_placement", lambda *_: None)  # wherever the host moves the CPUs, all repeats count
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
        assert row["GBps"] >= row["median_GBps"] * (1 - 1e-12)
        assert 0.01 < row["GBps"] <= row["GBps_write_allocate"] < 10_000
        assert (row["GBps"] == row["GBps_write_allocate"]) == (row["kernel"] == "read"), "it writes nothing"
        assert row["verified"]
        assert row["repeats"] == 3
    assert [(row["processors"], row["kernel"]) for row in data["private"]] == [(p, k) for p in counts for k in KERNELS]
    assert all(row["verified"] for row in data["private"])
    assert len(samples["bandwidth_stream"]) == 2 * 4 * len(KERNELS) * sum(counts), "each block is one piece"
    loaded = data["loaded_latency"]
    assert [row["loading_processors"] for row in loaded] == [p - 1 for p in counts]
    curve = [(row["write_share"], row["delay_cycles"]) for row in data["load_curve"]]
    assert curve == ([(share, delay) for share in (0, 0.5) for delay in (0, 128)] if len(counts) > 1 else [])
    assert len(samples["bandwidth_loaded"]) == sum(row["windows"] for row in loaded + data["load_curve"])
    assert data["nodes_found"] == list(nodes_of_memory())
    assert "999" in data["left_out"]
    assert data["capped"].startswith("STREAM requires")
    assert data["valid"] == (not data["why"])
