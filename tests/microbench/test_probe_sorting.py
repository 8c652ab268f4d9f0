"""Sorting is measured, counted and predicted as in the SMP paper; also tests the code shared by probes of programs."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import pictures
from support.machines import Machines
from support.placement import Still
from support.profiles import MEASURED, charging
from support.reports import cells, first_screen, section_text, summed_up
from support.shapes import NEWER, assert_same_keys, measured

import smp
from smp._output.figure import Axis, Series
from smp.microbench.campaign import Campaign
from smp.microbench.method.plan import Measurement, Plan, Stopped
from smp.microbench.sections.lists.rows import ListRun, ListStep
from smp.microbench.sections.programs import probe as probe_programs
from smp.microbench.sections.programs import report as report_programs
from smp.microbench.sections.programs.intervals import OFF, curves
from smp.microbench.sections.programs.plots import with_room
from smp.microbench.sections.programs.probe import Found, averages, in_supersteps, pooled, steps_of, unsteady
from smp.microbench.sections.programs.rows import Ran
from smp.microbench.sections.sorting import probe
from smp.microbench.sections.sorting import report as report_sorting
from smp.microbench.sections.sorting.rows import SortSuperstep
from smp.models.placement_log import PlacementLog
from smp.models.supersteps.locality import SMALL
from smp.models.supersteps.published import PAPER_STEPS

PLAN = Plan("quick", (1, 2), 7, 64, placement=Still())
LENGTHS = (400, 12_000)


def copied(proc: smp.Processor, given: smp.GlobalArray, out: smp.GlobalArray, rounds: int) -> None:
    for _ in range(rounds):
        for label in ("there", "back"):
            with proc.superstep(label) as step:
                mine = step.copy_in(given, proc.block(len(given)))
                step.compute()
                step.copy_out(out, proc.block(len(out)), mine)


# --- rows of runs


def step(
    label: str, m: int, measured: float, good: float, bad: float, n: int = 1, p: int = 1, **more: Any
) -> SortSuperstep:
    times: dict[str, Any] = {"compute_s": 0.5, "measured_s": measured, "good_s": good, "bad_s": bad, "random_s": None}
    counts: dict[str, Any] = {"label": label, "hr": m // 2, "hw": m // 2, "m": m}
    return SortSuperstep(n=n, p=p, algorithm="radix", **counts, **times, **more)


def test_the_supersteps_of_a_label_are_pooled() -> None:
    steps = [step("a", SMALL, 2.0, 1.0, 4.0), step("b", SMALL - 1, 1.0, 1.0, 2.0), step("a", 6, 4.0, 2.0, 6.0)]
    a, b = pooled(steps)
    assert (a.label, a.times, a.m, b.times) == ("a", 2, SMALL, 1)
    assert (a.compute_s, a.measured_s, a.good_s, a.bad_s, a.random_s) == (1.0, 6.0, 3.0, 10.0, None)
    assert (a.loc, a.m_over_g, a.inside) == (pytest.approx(1 - 3 / 7), 2.0, True)
    assert (b.loc, b.m_over_g, b.verdict) == (None, None, "too small to tell")


def test_without_predictions_pooled_supersteps_have_only_counts_and_time() -> None:
    what: dict[str, Any] = {"n": 9, "p": 1, "algorithm": "radix", "label": "a", "hr": 1, "hw": 2, "m": 3}
    (only,) = pooled([SortSuperstep(**what, compute_s=0.5, measured_s=s) for s in (1.0, 2.0)])
    assert only.to_json() == what | {"compute_s": 1.0, "measured_s": 3.0, "times": 2, "faults": 0}


def test_averages_leave_small_supersteps_out() -> None:
    steps = [
        step("a", SMALL - 1, 9.0, 1.0, 9.0, n=1, p=1, loc=-31.0, m_over_g=9.0),
        step("a", 2 * SMALL, 2.0, 1.0, 9.0, n=2, p=1, loc=0.4, m_over_g=2.0),
        step("a", 4 * SMALL, 4.0, 1.0, 9.0, n=3, p=1, loc=0.6, m_over_g=4.0),
        step("a", 4, 2.0, 1.0, 2.0, n=1, p=2, loc=None, m_over_g=2.0),
        step("a", 4, 2.0, 1.0, 2.0, n=2, p=2, loc=0.5, m_over_g=2.0),
    ]
    one, two = averages(steps, "p")
    assert (one.loc, one.m_over_g, one.runs, one.m, one.n) == (pytest.approx(0.5), 3.0, 3, 4 * SMALL, 3)
    assert (two.loc, two.m_over_g, two.n) == (None, None, 2)


def test_a_row_shows_the_repeat_of_median_time(machines: Machines) -> None:
    two = machines(2)
    given, out = two.array(np.arange(SMALL)), two.empty(SMALL, np.int64)
    runs = [two.run(copied, given, out, rounds) for rounds in (1, 3, 2)]
    found: Found[Ran, ListStep] = Found(charging(), ListStep, Still())
    row = found.add({"n": 1000, "p": 2, "algorithm": "copied"}, runs, [0.37, 0.43, 0.4])
    interval = runs[2].interval(charging())
    assert (row["seconds"], row["repeats"]) == (0.4, 3)
    assert row["measured_s"] == pytest.approx(in_supersteps(runs[2]))
    assert row["compute_s"] == pytest.approx(interval.compute.sum())
    times = (row["measured_s"], row["good_s"], row["bad_s"], row["random_s"])
    assert times == pytest.approx(tuple(interval.whole))
    assert (row["loc"], row["m_over_g"]) == pytest.approx((interval.total.loc[0], interval.total.m_over_g[0]))
    assert [(step.n, step.label) for step in found.steps] == [(1000, "there"), (1000, "back")] * 2
    assert found.samples == [(1000, 2, "copied", k, each) for k, each in enumerate((0.37, 0.43, 0.4))]
    assert found.judged() == {"functions_of": MEASURED, "valid": True, "why": []}


def test_a_program_is_repeated_until_most_repeats_lie_in_the_main_state(monkeypatch: pytest.MonkeyPatch) -> None:
    log = PlacementLog()
    log.note(2, np.arange(40.0), [30.0] * 30 + [200.0] * 10)

    def repeated(*hand_overs: float) -> list[float]:
        left = iter(hand_overs)
        runs = found.repeat(lambda: SimpleNamespace(placement=(next(left),) * 2, results=[None] * 2), 3)  # type: ignore[arg-type, return-value]
        return [run.placement[0] for run in runs]

    found: Found[Ran, ListStep] = Found(None, ListStep, log)
    assert repeated(30, 31, 200) == [30, 31, 200], "most of the three do"
    assert repeated(30, 200, 200, 200, 29) == [30, 200, 200, 200, 29], "until most of the requested number do"
    assert repeated(*[200] * 20) == [200] * 9, "at most three times the requested number"
    monkeypatch.setattr(probe_programs, "MORE_S", 0.0)
    assert repeated(*[200] * 20) == [200] * 3, "the time for more repeats is over"


def test_supersteps_are_those_of_the_interval(machines: Machines) -> None:
    two = machines(2)
    run = two.run(copied, two.array(np.arange(SMALL)), two.empty(SMALL, np.int64), 2)
    copying = partial(ListStep, n=SMALL, p=2, algorithm="copied")
    interval, steps = run.interval(charging()), steps_of(run, charging(), copying)
    for name in ("step", "hr", "hw", "m", "loc", "m_over_g"):
        assert [getattr(step, name) for step in steps] == pytest.approx(getattr(interval, name).tolist())
    for name in ("compute", "measured", "good", "bad", "random"):
        assert [getattr(step, f"{name}_s") for step in steps] == pytest.approx(getattr(interval, name).tolist())
    assert [step.verdict for step in steps] == interval.verdict.tolist()
    known = ("n", "p", "algorithm", "step", "hr", "hw", "m", "label", "compute_s", "measured_s", "footprint", "faults")
    bare = [{name: getattr(step, name) for name in known} for step in steps]
    assert [step.to_json() for step in steps_of(run, None, copying)] == bare


# --- the probe


@pytest.fixture(scope="module")
def section() -> Iterator[Measurement]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(probe.LENGTHS, "quick", LENGTHS)
        patch.setattr(probe, "REPEATS", 3)
        patch.setattr(probe_programs, "unsteady", lambda seconds: [])  # whatever else this computer does
        ticks: list[float] = []
        made = probe.measure(PLAN, lambda part, text: ticks.append(part), charging())
        assert ticks == sorted(ticks)
        assert ticks[-1] == pytest.approx(1)
        yield made


def test_every_sort_is_measured(section: Measurement) -> None:
    data, samples = section.data.to_json(), section.samples["sorting"]
    assert json.loads(json.dumps(data)) == data
    assert_same_keys(data, measured("sorting"), but=NEWER | {"valid", "why", "off"})
    assert data["valid"]
    found = [(row["n"], row["p"], row["algorithm"]) for row in data["rows"]]
    assert sorted(found) == sorted((n, p, name) for n in LENGTHS for p in (1, 2) for name in probe.FORMS)
    for row in data["rows"]:
        mine = samples[
            (samples["n"] == row["n"]) & (samples["p"] == row["p"]) & (samples["algorithm"] == row["algorithm"])
        ]
        assert len(mine) == row["repeats"] == 3
        assert row["seconds"] == pytest.approx(np.median(mine["seconds"])) == pytest.approx(row["measured_s"])
        assert row["ns_per_element"] == pytest.approx(row["seconds"] / row["n"] * 1e9)
    for n in LENGTHS:
        numpy, fast = (form for form in data["forms"] if form["n"] == n)
        assert (numpy["form"], numpy["streams"], numpy["speedup"], fast["form"]) == ("numpy", 1, 1.0, "fast")
        assert fast["speedup"] == pytest.approx(numpy["ns_per_element"] / fast["ns_per_element"])


def formula(text: str, n: int, p: int) -> int:
    """Return the value of a formula such as "2n + 3p^2"."""
    plain = re.sub(r"(\d)([np])", r"\1*\2", text.removesuffix(" ideally").replace("^", "**"))
    return int(eval(plain, {"n": n, "p": p}))


def test_supersteps_are_counted_as_in_the_tables_of_the_paper(section: Measurement) -> None:
    rows = section.data.to_json()["analysis"]
    for p in (1, 2):
        for name, table in PAPER_STEPS.items():
            mine = [row for row in rows if (row["algorithm"], row["p"]) == (name, p)]
            assert [row["label"] for row in mine] == list(table)
            assert {row["times"] for row in mine} == {6 if name == "radix" else 1}
            assert {row["runs"] for row in mine} == {len(LENGTHS)}
            for row in mine:
                assert row["n"] == max(LENGTHS)
                paper = [formula(count, row["n"], p) for count in table[row["label"]].counts]
                assert [row[f"{count}_closed"] for count in ("hr", "hw", "m")] == paper
                if (name, row["label"]) != ("sample", "sort"):  # the table assumes ideal buckets
                    assert [row[count] for count in ("hr", "hw", "m")] == paper
                assert (row["loc"] is None) == (row["m_over_g"] is None) == (row["m"] < SMALL)


def test_the_full_mode_has_the_lengths_of_the_paper() -> None:
    lengths = probe.lengths_of("full", 4)
    paper = {5000 * 4 * i for i in range(1, 11)} | {50_000 * 4 * i for i in range(1, 11)}
    paper |= {550_000 + 150_000 * 4 * i for i in range(10)}
    assert (set(lengths), list(lengths)) == (paper, sorted(paper))


def test_without_cost_functions_there_are_counts_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.LENGTHS, "quick", (500,))
    data = probe.measure(Plan("quick", (1,), 7, 64), lambda part, text: None).data.to_json()
    assert not data["valid"]
    assert "no cost functions" in data["why"][0]
    assert {row["loc"] for row in data["analysis"]} == {None}
    text = section_text("sorting", data)
    assert "Not valid: no cost functions" in text
    assert "steps inside" not in text


def forgotten(proc: smp.Processor, keys: smp.GlobalArray) -> None:
    with proc.superstep("nothing") as step:
        step.compute()


def test_a_sort_that_does_not_sort_raises_an_error(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(probe.FORMS, "radix", replace(probe.FORMS["radix"], program=forgotten))
    with pytest.raises(probe.WrongOrder, match="radix sort on 1 processors: the order of 50 keys"):
        probe._sort(machines(1), np.arange(50, dtype=np.uint32)[::-1].copy(), probe._Found(None, Still()))
    monkeypatch.setitem(probe.HERE, "fast", np.copy)
    with pytest.raises(probe.WrongOrder, match="sort, fast: the order of 50 keys"):
        probe._sort_here(np.arange(50, dtype=np.uint32)[::-1].copy(), probe._Found(None, Still()))


def test_ctrl_c_keeps_the_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(probe.LENGTHS, "quick", (50, 60))
    monkeypatch.setattr(probe, "_sort", interrupted)
    with pytest.raises(Stopped) as stopped:
        probe.measure(Plan("quick", (1,), 7, 64), lambda part, text: None)
    assert stopped.value.name == "sorting"
    data = stopped.value.section.data.to_json()
    assert (data["rows"], [form["n"] for form in data["forms"]]) == ([], [50, 50, 60, 60])
    assert "NumPy" in section_text("sorting", data)
    monkeypatch.setattr(probe, "_sort_here", interrupted)
    with pytest.raises(KeyboardInterrupt) as nothing:
        probe.measure(Plan("quick", (1,), 7, 64), lambda part, text: None)
    assert not isinstance(nothing.value, Stopped)


def test_predictions_come_from_this_profile_or_the_last_one_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMP_DATA_DIR", str(tmp_path))
    assert Campaign(PLAN)._fitted() is None
    charging().keep()
    kept = Campaign(PLAN)._fitted()
    assert kept is not None
    assert kept.data["created"] == MEASURED
    own = Campaign(PLAN, charging())
    assert own._fitted() is own.profile


# --- its report and its plots


@pytest.fixture
def told(section: Measurement) -> dict[str, Any]:
    """The section with known numbers in the place of the measured ones."""
    data: dict[str, Any] = json.loads(json.dumps(section.data.to_json()))
    for row in data["rows"]:
        row |= {"ns_per_element": 40.0 / row["p"], "good_s": row["n"] * 8e-9, "loc": 0.75, "m_over_g": 2.5}
        row |= {"supersteps": 5, "supersteps_inside": 4, "inside": True, "compute_s": row["n"] * 3e-9}
    for form in data["forms"]:
        form |= {"ns_per_element": 8.0 if form["form"] == "numpy" else 4.0, "streams": 2}
        form["speedup"] = 8.0 / form["ns_per_element"]
    for row in data["analysis"]:
        row |= {"loc": 0.5 + row["p"] / 10, "m_over_g": 1.0 + row["p"], "compute_s": row["p"] * 1e-3}
    return data


def test_the_report_shows_the_numbers(told: dict[str, Any]) -> None:
    text = section_text("sorting", told)
    times, interval = cells(text, "Radix sort", "12,000", "2")
    assert times == ["20.0", "0.400"]
    assert (interval[1:3], interval[-5:]) == (["3.00", "8.00"], ["0.75", "2.50", "yes", "4", "5"])
    assert cells(text, "fast form", "400", "2")[0][:2] == ["4.00", "2.00"]
    (row,) = cells(text, "1", "count")
    assert row == ["paper", "n/p", "64", "n + 64p", *["0.97", "1.65"] * 2]  # the paper's p = 2 stands above p = 1, too
    assert cells(text, "counted", "6,000", "64", "12,128") == [["0.60", "2.00", "0.70", "3.00", "2.00"]]
    assert cells(text, "3", "offsets") == [["paper", "64", "64", "128p", *["0.99", "-"] * 2]]
    assert cells(text, "counted", "64", "64", "256") == [["-", "-", "-", "-", "2.00"]] * 2  # too small to tell
    assert "SGI Power Challenge, p = 2 for p = 1. local" in " ".join(text.split())
    assert "after table 10" in text
    assert report_programs.EARLIER not in " ".join(text.split())
    assert f"measured on {MEASURED}" in " ".join(text.split())
    assert f"measured on {MEASURED}" not in section_text("sorting", told, created=MEASURED)


def test_a_section_of_an_earlier_version_says_that_computation_is_included(told: dict[str, Any]) -> None:
    for row in [*told["rows"], *told["analysis"]]:
        del row["compute_s"]
    text = section_text("sorting", told)
    assert report_programs.EARLIER in " ".join(text.split())
    assert cells(text, "counted", "6,000", "64", "12,128") == [["0.60", "2.00", "0.70", "3.00", "-"]]


def test_predictions_of_functions_that_are_not_valid_say_so(told: dict[str, Any]) -> None:
    for valid in (False, True):
        text = section_text("sorting", told, created=MEASURED, access={"valid": valid})
        assert (report_programs.INVALID in text) is not valid


def test_the_closed_form_is_shown_if_it_differs(told: dict[str, Any]) -> None:
    row = told["analysis"][0] | {"hr": 7, "hw": 8, "m": 9000, "hr_closed": 7, "hw_closed": 8, "m_closed": 9000}
    for closed in (8, 6):
        text = section_text("sorting", told | {"analysis": [row | {"hw_closed": closed}]})
        assert cells(text, "1", "count", "paper", "n/p", "64", "n + 64p")
        assert cells(text, "counted", "7", "8", "9,000")
        assert bool(cells(text, "closed form", "7", "6", "9,000")) == (closed != 8)


def test_the_first_screen_has_a_line_on_sorting(told: dict[str, Any]) -> None:
    assert summed_up("sorting", told) == (
        "Sorting",
        "n = 12,000, in ns per element: radix sort 20.0 (Loc 0.75), sample sort 20.0 (Loc 0.75), column sort 20.0 "
        "(Loc 0.75) with p = 2; fast form 4.00 with 2 streams, 2.00 times as fast as NumPy",
    )
    assert "Sorting  n = 12,000, in ns" in first_screen({"sorting": told})


def test_the_table_shows_only_some_of_many_lengths(told: dict[str, Any]) -> None:
    told["rows"] = [row | {"n": n} for row in told["rows"] if row["n"] == 400 for n in range(1000, 31_000, 1000)]
    text = section_text("sorting", told)
    assert "6 of 30 lengths; the profile has all." in text
    assert len(re.findall(r"^Radix sort +\d", text, re.MULTILINE)) == 2 * 2 * 6  # two tables
    assert len(cells(text, "Radix sort", "1,000", "1")) == len(cells(text, "Radix sort", "30,000", "2")) == 2


def test_figure_3_has_each_sort_against_both_ends(section: Measurement) -> None:
    figure = pictures.described("sorting", section.data.to_json())["sorting-predicted"]
    pictures.check(figure)
    places = [(p, end) for p in (1, 2) for end in ("good", "bad")]
    assert len(figure.panels) == len(places)
    for panel, (p, end) in zip(figure.panels, places, strict=True):
        assert f"p = {p}" in panel.title
        for name, title in report_sorting.TITLES.items():
            rows = [row for row in section.data.to_json()["rows"] if (row["algorithm"], row["p"]) == (name, p)]
            line = pictures.series(panel, title)
            assert line.x == list(LENGTHS)
            assert line.y == pytest.approx([row["measured_s"] / row["n"] * 1e9 for row in rows])
            ends = [max(row["bad_s"], row["random_s"]) if end == "bad" else row["good_s"] for row in rows]
            (predicted,) = [one for one in panel.series if not one.name and one.colour == line.colour]
            assert predicted.y == pytest.approx(ends / np.array(LENGTHS) * 1e9)
            assert (line.dash, predicted.dash) == ("solid", "dashed")


def test_times_are_drawn_next_to_those_of_numpy(section: Measurement) -> None:
    made = pictures.described("sorting", section.data, section.samples["sorting"])
    assert list(made) == ["sorting-predicted", "sorting-paper", "sorting-supersteps", "sorting-time"]
    figure = made["sorting-time"]
    pictures.check(figure)
    (panel,) = figure.panels
    numpy = [[form["n"], form["ns_per_element"]] for form in section.data.to_json()["forms"] if form["form"] == "numpy"]
    assert pictures.points(panel, "NumPy") == numpy
    rows = [row for row in section.data.to_json()["rows"] if (row["algorithm"], row["p"]) == ("sample", 2)]
    assert pictures.points(panel, "Sample sort, p = 2") == [[row["n"], row["ns_per_element"]] for row in rows]
    bars = [(low, high) for one in panel.series for low, high in zip(one.low, one.high, strict=True)]
    assert len(bars) == len(LENGTHS) * (2 * 3 + 2)
    assert all(low <= high for low, high in bars)


def test_supersteps_are_drawn_between_good_and_bad_by_label(told: dict[str, Any]) -> None:
    for row in told["analysis"]:
        row |= {"good_s": 1e-9 * row["n"], "bad_s": 3e-9 * row["n"], "random_s": 5e-9 * row["n"], "off": []}
        row |= {"measured_s": 2e-9 * row["n"], "inside": row["label"] != "init"}
    told["analysis"] += [row | {"p": 4, "off": ["bad"]} for row in told["analysis"] if row["p"] == 2]
    figure = pictures.described("sorting", told)["sorting-supersteps"]
    pictures.check(figure)
    assert [panel.title for panel in figure.panels] == [
        f"{sort}, p = {p}" for p in (1, 2, 4) for sort in report_sorting.TITLES.values()
    ]
    radix, _, column = figure.panels[6:]
    assert list(radix.y.names) == ["count", "move"]  # the others are too small to tell
    bar, took, paper = radix.series
    assert (bar.start, bar.x, took.x) == (*(pytest.approx([each] * 2) for each in (1.0, 4.0, 2.0)),)
    assert paper.x == pytest.approx([1 + 4 * 0.04] * 2)  # the paper's Loc for p = 4 is 0.96
    assert figure.panels[0].series[2].x == pytest.approx([1 + 4 * 0.03] * 2)  # p = 2 is closest to p = 1
    assert [bool(why) for panel in (figure.panels[0], radix) for why in panel.series[0].invalid] == [False] * 2 + [
        True
    ] * 2
    assert "not valid" in figure.remarks
    assert "its p = 2 for p = 1" in figure.reading
    shown = [row for row in told["analysis"] if row["m"] >= SMALL]
    inside = sum(row["inside"] for row in shown)
    assert f"{inside} of {len(shown)} lie" in figure.title
    assert inside < len(shown)
    assert len(column.y.names) == 5


def test_figure_3_of_the_paper_is_drawn_from_its_tables(told: dict[str, Any]) -> None:
    figure = pictures.described("sorting", told)["sorting-paper"]
    pictures.check(figure)
    assert [panel.title[-4:].strip() for panel in figure.panels] == ["= 4", "= 4", "= 8", "= 8", "= 12", "= 12"]
    good = figure.panels[2]
    sort = pictures.series(good, "Column sort")
    predicted = next(one for one in good.series if not one.name and one.colour == sort.colour)
    # five supersteps of n/p reads and writes each, M/G as in table 11, p = 8
    n = sort.x[0]
    one = 140 + (0.0184 + 0.0087) * n / 8 + 0.00005 * 2 * n
    assert n == 40_000
    assert predicted.y[0] == pytest.approx(5 * one / n * 1e3)
    assert sort.y[0] == pytest.approx((7.41 + 4.61 + 19.69 + 5.26 + 4.45) * one / n * 1e3)
    assert "2.4 to 11.6 times" in figure.title


# --- unsteady results


def test_repeats_that_differ_are_not_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_programs, "unsteady", unsteady)
    found: Found[Ran, ListStep] = Found(charging(), ListStep, Still())
    assert found.sample({"n": 9}, [1.0, 1.0, 1.1, 1.1, 9.0]) == {"valid": True, "why": []}
    assert found.sample({"n": 9}, [2.0, 1.0, 1.1, 1.5, 1.0]) == {
        "valid": False,
        "why": ["unstable: the third quartile is 1.50 times the first, above 1.25"],
    }
    assert not found.judged()["valid"]
    assert "1 of 2 times are not valid; the first: unstable" in found.judged()["why"][0]
    for _ in range(2):
        found.sample({"n": 9}, [1.0])
    assert found.judged()["valid"]


def test_predictions_by_functions_that_do_not_hold_are_marked(machines: Machines) -> None:
    profile = charging()
    off = {
        "family": "bad",
        "p": 2,
        "name": "HrHwM",
        "set": "all",
        "suite": 1,
        "average": 0.4,
        "maximum": 0.5,
        "count": 3,
    }
    profile.data["access"]["validation"] = [off, off | {"family": "good", "name": "HrHwM-c", "average": 0.1}]
    two = machines(2)
    run = two.run(copied, two.array(np.arange(SMALL)), two.empty(SMALL, np.int64), 1)
    found: Found[ListRun, ListStep] = Found(profile, ListStep, Still())
    key: dict[str, Any] = {"n": SMALL, "p": 2, "algorithm": "copied"}
    row = ListRun(**key, ns_per_element=1.0, **found.add(key, [run], [1.0]))
    assert row.off == ["bad"]
    assert [step.off for step in found.steps] == [["bad"]] * 2
    marks = {line.name: list(line.invalid) for line in curves([row])}
    assert marks == {"interval": [], "bad": [OFF], "random": [""], "good": [""], "measured": [""]}


def test_unsteady_results_are_marked_everywhere(told: dict[str, Any]) -> None:
    told["rows"][-1] |= {"valid": False, "why": ["it swings"]}
    slow = told["rows"][-1]
    text = section_text("sorting", told)
    assert len(re.findall(r"20\.0 +!", text)) == 1
    assert "! not valid, 1 of 16: it swings" in text
    made = pictures.described("sorting", told)
    for name in ("sorting-predicted", "sorting-time"):
        marks = [why for panel in made[name].panels for one in panel.series for why in one.invalid if why]
        assert set(marks) == {"it swings"}
    assert "Red rings" in made["sorting-predicted"].remarks
    assert "Red rings" in made["sorting-time"].remarks
    assert made["sorting-time"].title == "Sorting 12,000 keys: which form is the fastest?"
    slow["valid"] = True
    title = pictures.described("sorting", told)["sorting-time"].title
    assert title == "Sorting 12,000 keys: the fastest form is fast form (2.00 times NumPy's speed)"


def test_a_bar_that_would_flatten_the_rest_is_cut_with_a_note() -> None:
    x, y = Axis("keys", scale="log"), Axis("time", "ns", "log")
    steady = Series("steady", [10, 100], [2.0, 4.0], low=[1.5, 3.0], high=[2.5, 5.0], spread="bars")
    whole, said = with_room(x, y, [steady])
    assert (list(whole.series), said, whole.y) == ([steady], "", y)
    slow = Series("slow", [10, 100], [3.0, 5.0], low=[2.0, 0.01], high=[4.0, 7000.0], spread="bars", colour=2)
    panel, said = with_room(x, y, [steady, slow])
    assert "slow, 100: 0.01" in said
    assert "slow, 100: 7,000" in said
    assert panel.series[0] == steady
    assert (panel.series[1].low, panel.series[1].high) == (pytest.approx([2.0, 2 / 3]), pytest.approx([4.0, 15.0]))
    assert [(one.x, one.y, one.colour) for one in panel.series[2:]] == [
        ([100], [pytest.approx(2 / 3)], 2),
        ([100], [15.0], 2),
    ]
    assert panel.y.low is not None
    assert panel.y.high is not None
    assert (panel.y.low < 2 / 3, 15 < panel.y.high < 20) == (True, True)
