"""Significant differences between profiles, in simulated runs of one machine, a slower one and a disturbed one."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.profiles import document

from smp.microbench.method.figures import Figure
from smp.microbench.method.spreads import Spread, of_best, of_record, of_repeats, of_visits
from smp.microbench.method.windows import WINDOW
from smp.microbench.predictions.comparison import compare
from smp.microbench.predictions.differences import apart
from smp.microbench.sections import SECTIONS
from smp.microbench.sections.synchronisation.rows import Operation
from smp.profiles.access import Access
from smp.profiles.profile import Profile

SIZES = [1 << k for k in range(12, 28)]
LENGTHS = [(n, p) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000) for p in (1, 2)]
VISITS, WINDOWS, REPEATS = 4, 8, 5
RUN, VISIT, WINDOW_NOISE = 0.015, 0.02, 0.03
"""Noise that all times of a run share, that all times of a visit share, and that each window or repeat has alone."""
PAIRS = 25


def written(folder: Path, rng: np.random.Generator, slow: float = 1.0, busy: bool = False) -> Path:
    """Write the profile and the samples of one run on a machine whose latencies and rankings are known.

    On a busy machine, half of the repeats of programs on two processors take two to four times as long.
    """

    def noise(scale: float, *shape: int) -> Any:
        return np.exp(rng.normal(0, scale, shape))

    windows, random = [], []
    for k, size in enumerate(SIZES):
        per_load = slow * 1.3**k * noise(RUN, 1) * noise(VISIT, VISITS, 1) * noise(WINDOW_NOISE, VISITS, WINDOWS)
        taken = np.zeros(per_load.size, [("curve", "U10"), ("bytes", "i8"), *WINDOW.descr])
        taken["curve"], taken["bytes"], taken["operations"] = "random", size, 1_000_000
        taken["round"], taken["wall_ns"] = np.repeat(np.arange(VISITS), WINDOWS), per_load.ravel() * 1e6
        windows.append(taken)
        random.append({"bytes": size, "ns": float(np.median(per_load)), "valid": True})
    repeats, rows = [], []
    for n, p in LENGTHS:
        seconds = slow * n * 1e-8 / p * noise(RUN, 1) * noise(WINDOW_NOISE, REPEATS)
        if busy and p == 2:
            seconds = seconds * np.where(rng.random(REPEATS) < 0.5, 1.0, rng.uniform(2, 4, REPEATS))
        repeats += [(n, p, "wyllie", k, each) for k, each in enumerate(seconds)]
        median = float(np.median(seconds))
        rows.append({"n": n, "p": p, "algorithm": "wyllie", "seconds": median, "ns_per_element": median / n * 1e9})
    data = document() | {"latency": {"levels": [], "random": random}, "lists": {"rows": rows}}
    folder.mkdir()
    (folder / "profile.json").write_text(json.dumps({k: v for k, v in data.items() if k != "access"}))
    key = [("n", "i8"), ("p", "i4"), ("algorithm", "U16"), ("repeat", "i4"), ("seconds", "f8")]
    np.savez(folder / "samples.npz", latency=np.concatenate(windows), lists=np.array(repeats, key))
    return folder


def test_runs_of_one_machine_do_not_differ_but_those_of_a_slower_machine_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    same, slower = [], []
    for pair in range(PAIRS):
        base, again = (written(tmp_path / f"{name}{pair}", rng) for name in "ab")
        less = written(tmp_path / f"c{pair}", rng, slow=1.1)
        found = compare(base, again, less)
        by_name = {name: [row for row in found.rows if row.name == name] for name in "bc"}
        assert all(row.valid and row.known for row in found.rows)
        same.append(np.mean([row.told != "" for row in by_name["b"]]))
        slower.append(np.mean([row.told == "slower" for row in by_name["c"]]))
        assert not [row for row in by_name["c"] if row.told == "faster"]
        assert {row.name for row in found.slower(5)} <= {"b", "c"}
        assert not found.slower(60)
    assert np.mean(same) <= 0.05
    assert np.mean(slower) > 0.6


def test_a_program_that_lost_its_processors_now_and_then_is_neither_slower_nor_valid(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for turn in range(5):
        quiet, busy = written(tmp_path / f"a{turn}", rng), written(tmp_path / f"b{turn}", rng, busy=True)
        found = compare(quiet, busy)
        disturbed = [row for row in found.rows if row.what.endswith("p = 2")]
        assert disturbed
        assert not any(row.valid or row.told for row in disturbed)
        assert all(row.valid for row in found.rows if row.what.endswith("p = 1"))
        (line,) = [line for line in str(found).splitlines() if line.startswith("List ranking by programs ")]
        assert line.split()[4:8] == ["10", "5", "0", "0"]  # figures, valid, faster, slower


def test_on_a_busy_computer_no_figure_is_valid_however_steady_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    quiet, slow = written(tmp_path / "a", rng), written(tmp_path / "b", rng, slow=3.0)
    file = slow / "profile.json"
    data = json.loads(file.read_text())
    for conditions in ({"load_before": data["machine"]["cpus"]}, {"clean_fraction": 0.5}):
        file.write_text(json.dumps(data | {"conditions": conditions}))
        found = compare(quiet, slow)
        assert not any(row.valid or row.told for row in found.rows)
        assert "b was measured on a busy computer" in str(found)


def test_without_samples_windows_have_a_spread_from_the_record_and_repeats_have_none(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    folders = [written(tmp_path / name, rng, slow) for name, slow in (("a", 1.0), ("b", 3.0))]
    for folder in folders:
        (folder / "samples.npz").unlink()
        data = json.loads((folder / "profile.json").read_text())
        for row in data["latency"]["random"]:
            row |= {"minimum_ns": 0.97 * row["ns"], "p95_ns": 1.05 * row["ns"]}
        (folder / "profile.json").write_text(json.dumps(data))
    found = compare(*folders)
    assert {row.told for row in found.rows if row.section == "latency"} == {"slower"}
    assert not any(row.known or row.told for row in found.rows if row.section == "lists")
    assert "spread not known" in str(found)


def test_an_interval_excludes_1_exactly_if_the_two_figures_differ() -> None:
    rng = np.random.default_rng(4)
    shifts = np.repeat([0.0, 0.3], 20)
    ratios = shifts + rng.normal(0, 0.05, 40)
    found = apart(ratios, np.full((40, 2), 0.035), np.full((40, 2), 4.0), np.repeat(["one"], 40), same=False)
    assert found.told[20:].all()
    assert found.told[:20].sum() <= 2
    assert ((found.low > 0) | (found.high < 0)).tolist() == found.told.tolist()
    assert ((found.low < ratios) & (ratios < found.high)).all()


def test_without_figures_there_are_no_differences() -> None:
    nothing = np.zeros((0, 2))
    assert not len(apart(nothing[:, 0], nothing, nothing, np.zeros(0, "U1"), same=True).told)


@pytest.mark.parametrize("same", [False, True])
def test_a_few_changed_figures_are_found_among_many(same: bool) -> None:
    rng = np.random.default_rng(5)
    ratios = np.array([0.5, -0.5, *[0.0] * 58]) + rng.normal(0, 0.03, 60)
    found = apart(ratios, np.full((60, 2), 0.02), np.full((60, 2), 4.0), np.repeat(["one", "two"], 30), same=same)
    assert found.told[:2].all()
    assert found.told.sum() <= 4


def test_noise_that_a_visit_shares_is_not_counted_once_for_each_of_its_windows() -> None:
    rng = np.random.default_rng(6)
    visits = np.repeat(np.arange(4), 500)
    within = np.exp(rng.normal(0, 0.01, 2_000))
    apart_by_visit = within * np.exp(0.1 * np.array([-1, 1, -1, 1]))[visits]
    steady, moved = of_visits(within, visits), of_visits(apart_by_visit, visits)
    assert steady is not None
    assert steady.error < 0.002
    assert moved == Spread(pytest.approx(0.1 * (4 / 3) ** 0.5 / 2, rel=0.05), 3)
    assert of_visits(within, np.zeros(2_000)) is None


def test_the_spread_of_repeats_agrees_with_that_of_many_such_runs() -> None:
    rng = np.random.default_rng(7)
    runs = np.exp(rng.normal(0, 0.1, (400, 9)))
    said = np.sqrt(np.mean([of_repeats(run).error ** 2 for run in runs]))  # type: ignore[union-attr]
    assert said == pytest.approx(np.log(np.median(runs, axis=1)).std(), rel=0.2)
    assert of_repeats(runs[0, :2]) is None
    best = of_best(np.array([2.0, 4.0, 2.2]))
    assert best is not None
    assert best.error == pytest.approx(np.log(1.1))


def figure(name: str, data: dict[str, Any], samples: dict[str, Any], what: str) -> Figure:
    """Return the named figure of a section, from its record and samples."""
    compared = SECTIONS[name].part("facts", "compared")
    (found,) = [each for each in compared(Profile({name: data}).section(name), samples) if each.what == what]
    return found


def test_the_spread_of_bandwidth_comes_from_its_best_repeats() -> None:
    fields = [(name, "i8") for name in ("processors", "rank", "repeat", "start", "end")]
    stamps = np.zeros(16, [*fields, ("kernel", "U5"), ("memory", "U7")])
    stamps["processors"], stamps["kernel"] = 2, "triad"
    stamps["memory"], stamps["start"] = np.repeat(["shared", "private"], 8), np.repeat([0, 1_000], 8)
    stamps["rank"], stamps["repeat"] = np.tile([0, 1], 8), np.tile(np.repeat(np.arange(4), 2), 2)
    stamps["end"][:8] = [1, 1, 90, 100, 110, 105, 150, 120]  # the slower one: 100, 110, 150 after the warm-up
    stamps["end"][8:] = 2_000
    row = {"processors": 2, "kernel": "triad", "GBps": 20.0}
    found = figure("bandwidth", {"stream": [row]}, {"bandwidth_stream": stamps}, "triad, p = 2")
    assert found.spread == Spread(pytest.approx(np.log(1.1)), 2)
    assert figure("bandwidth", {"stream": [row]}, {}, "triad, p = 2").spread is None


def test_the_spread_of_a_barrier_comes_from_its_visits_and_its_validity_from_its_own_row() -> None:
    windows = np.zeros(4, [("what", "U10"), ("processors", "i4"), *WINDOW.descr])
    windows["what"], windows["processors"], windows["operations"] = "python", 2, 1
    windows["round"], windows["wall_ns"] = [0, 0, 1, 1], [1_000, 1_000, 1_210, 1_210]
    rows = [
        {"what": what, "processors": 2, "ns": 1_100.0, "p95_ns": 1_200.0, "valid": what == "python"}
        for what in ("python", "compiled")
    ]
    data = {"barrier_us": {"2": {"python": 1.1, "compiled": 1.1}}, "rows": rows}
    python, compiled = (
        figure("synchronisation", data, {"synchronisation": windows}, f"barrier {how}, p = 2")
        for how in ("from Python", "compiled")
    )
    assert python.valid
    assert python.spread == Spread(pytest.approx(np.log(1.1)), 1)
    assert not compiled.valid
    assert compiled.spread == of_record(Operation(**rows[1]))  # without windows, from the record
    assert compiled.spread is not None


def test_the_spread_of_words_comes_from_the_rounds_that_their_patterns_share() -> None:
    sizes, shared = (4_000, 10_000, 30_000, 900_000), 0.1 * np.array([-1, 1, -1, 1])
    head = {"family": "good", "p": 2, "suite": 1, "kind": "gather", "x": 0, "seconds": 1.0, "supersteps": 4}
    patterns = [{**head, "h": h, "hr": h, "hw": h, "m": 4 * h, "clean": 4} for h in sizes]
    fields = ("family", "p", "suite", "pattern", "round", "copy_in_ns", "copy_out_ns")
    taken = np.zeros(16, [*((name, "i8") for name in fields), ("clean", "?")])
    taken["p"], taken["suite"], taken["clean"] = 2, 1, True
    taken["pattern"], taken["round"] = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    taken["copy_in_ns"] = 1e9 * np.exp(np.where(taken["pattern"] < 3, shared[taken["round"]], 0.0))
    access = document()["access"] | {"patterns": patterns}
    found = figure("access", access, {"access": taken}, "good, 10,000 words, p = 2")
    assert found.spread == Spread(pytest.approx(0.1 * (4 / 3) ** 0.5 / 2), 3)
    large = figure("access", access, {"access": taken}, "good, 1,000,000 words, p = 2")
    assert large.spread == Spread(pytest.approx(0.0), 3)
    for pattern in patterns[:2]:
        pattern["clean"] = 0
    assert not figure("access", access, {"access": taken}, "good, 10,000 words, p = 2").valid


def test_patterns_in_pieces_are_compared_piece_by_piece() -> None:
    """A long piece in one round and a short piece in the next do not count as a difference between the rounds."""
    fields = ("family", "footprint", "p", "suite", "pattern", "round", "phase", "piece", "alike", "ns")
    taken = np.zeros(8, [*((name, "i8") for name in fields), ("clean", "?")])
    taken["p"], taken["suite"], taken["clean"], taken["footprint"] = 2, 1, True, np.repeat([0, 64], 4)
    taken["round"], taken["alike"] = [0, 1, 0, 1] * 2, [0, 0, 1, 1] * 2
    taken["ns"] = [100, 121, 7_000, 8_470, 1, 50, 1, 50]
    head = {"family": "good", "p": 2, "kind": "gather", "x": 0, "seconds": 1.0, "supersteps": 4}
    pattern = {**head, "suite": 1, "h": 10_000, "hr": 10_000, "hw": 10_000, "m": 40_000, "clean": 4}
    access = document()["access"] | {"patterns": [pattern]}
    found = figure("access", access, {"access": taken}, "good, 10,000 words, p = 2")
    assert found.spread == Spread(pytest.approx(np.log(1.21) / 2, rel=1e-3), 1)


def test_a_price_is_compared_only_if_its_interval_excludes_zero() -> None:
    access = document()["access"]
    (bad,) = [row for row in access["functions"] if (row["family"], row["p"]) == ("bad", 2)]
    prices = bad["coefficients"]
    bad |= {"low": [0.0, 0.9 * prices[1], 0.0, prices[3]], "high": [1.0, 1.1 * prices[1], 1.0, None], "count": 14}
    found = {each.what: each for each in SECTIONS["access"].part("facts", "compared")(Access(**access), {})}
    read = found["bad: a word read, p = 2"]
    assert read.spread == Spread(pytest.approx(0.1 / 2.228, rel=1e-3), 10)  # t for 14 - 4 degrees of freedom
    assert "bad: a word written, p = 2" not in found
    assert found["bad: a word moved by any processor, p = 2"].spread is None


def test_profiles_of_several_machines_are_compared_with_the_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    folders = [written(tmp_path / name, rng, slow) for name, slow in (("a", 1.0), ("b", 2.0), ("c", 0.5))]
    found = compare(*folders)
    told = {name: {row.told for row in found.rows if row.name == name} for name in "bc"}
    assert told == {"b": {"slower"}, "c": {"faster"}}
    assert [each.same for each in found.profiles] == ["computer"] * 3
    text = str(found)
    for said in ("In short: b against a", "Memory latency: c against a", "b and a are the same computer."):
        assert said in text
    assert found.to_json()["profiles"][2]["name"] == "c"
    assert len(found.rows) == 2 * len({(row.section, row.what) for row in found.rows})
    with pytest.raises(ValueError, match="at most 26"):
        compare(*itertools.repeat(folders[0], 27))
