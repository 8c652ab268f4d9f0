"""The report shows the numbers of the profile: every number is read back from the printed text."""

import copy
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reports import cells as every
from support.reports import first_screen, printed, section_text

from smp._output.numbers import number, size
from smp.microbench.report import whole_report
from smp.microbench.sections.lists.report import worst_steps
from smp.microbench.sections.lists.rows import ListStep
from smp.profiles.profile import Profile

MIB = 1 << 20
SECTIONS = {
    "latency": "Memory latency",
    "bandwidth": "Bandwidth",
    "synchronisation": "Synchronisation",
    "access": "Access patterns and cost functions",
    "lists": "List ranking by programs",
}


def point(ns, **more):
    return {"ns": ns, "cycles": 3 * ns, "minimum_ns": 0.9 * ns, "p95_ns": 1.5 * ns, "valid": True, "why": [], **more}


def latency():
    levels = [("L1", 1.25, 34000, 32768), ("L2", 4.5, 3 * MIB // 2, 2 * MIB), ("DRAM", 110.0, None, None)]
    return {
        "levels": [
            {"name": name, "ns": ns, "cycles": 3 * ns, "found_bytes": found, "reported_bytes": reported}
            for name, ns, found, reported in levels
        ],
        "levels_from": "huge",
        "levels_missing": ["L3"],
        "page_walk": [{"bytes": 64 * MIB, "ns": 49.7, "cycles": 149.1, "valid": True}],
        "page_walk_ns": 49.7,
        "page_walk_bytes": 64 * MIB,
        "page_walk_from": "huge",
        "random": [point(1.3, bytes=4096), point(159.7, bytes=64 * MIB)],
        "huge": [point(1.25, bytes=4096), point(110.0, bytes=64 * MIB)],
        "page_local": [],
        "stride": [point(1.75, bytes=4096, stride=8), point(2.25, bytes=4096, stride=64)],
        "huge_pages": {"granted": True, "why": None},
        "capped": None,
        "valid": True,
        "why": [],
    }


def bandwidth():
    def row(p, kernel, rate):
        return {
            "processors": p,
            "kernel": kernel,
            "GBps": rate,
            "median_GBps": 0.9 * rate,
            "GBps_write_allocate": 1.5 * rate,
            "verified": True,
            "valid": True,
            "why": [],
        }

    rates = {1: (10.1, 9.9, 12.2, 12.4), 2: (19.4, 19.0, 22.8, 23.3)}
    return {
        "stream": [
            row(p, kernel, rate)
            for p, of_p in rates.items()
            for kernel, rate in zip(("copy", "scale", "add", "triad"), of_p, strict=True)
        ],
        "loaded_latency": [point(231.0, loading_processors=1, load_GBps=12.3)],
        "array_bytes": 256 * MIB,
        "chase_bytes": 64 * MIB,
        "repeats": 10,
        "capped": None,
        "left_out": "p = [4], since there are 2 CPUs",
        "valid": True,
        "why": [],
    }


def synchronisation():
    def row(what, p, ns):
        return point(ns, what=what, processors=p, oversubscribed=p > 2, clean_fraction=0.97)

    return {
        "fetch_add_ns": {"alone": 4.75, "contended": {"2": 25.0}},
        "handoff_cpus": [0, 3],
        "handoff_ns": {"store": [[None, 108.0], [108.0, None]], "exchange": [[None, 48.5], [48.5, None]]},
        "handoff_store_ns": 108.0,
        "handoff_exchange_ns": 48.5,
        "barrier_us": {"2": {"compiled": 0.185, "python": 3.5}, "4": {"compiled": 7.5, "python": 16.0}},
        "superstep_us": {"2": 12.0},
        "rows": [
            row("alone", 1, 4.75),
            row("contended", 2, 25.0),
            row("compiled", 2, 185.0),
            row("compiled", 4, 7500.0),
        ],
        "oversubscribed": [4],
        "valid": True,
        "why": [],
    }


def function(family, name, terms, nanoseconds, label="all", p=2, **more):
    seconds = [ns * 1e-9 for ns in nanoseconds]
    return {
        "family": family,
        "p": p,
        "name": name,
        "set": label,
        "fit_suite": 1,
        "terms": terms,
        "coefficients": seconds,
        "low": [0.5 * s for s in seconds],
        "high": [1.5 * s for s in seconds],
        "unidentified": [],
        "condition": 3.0,
        "count": 9,
        "h_range": [5000.0, 100_000.0],
        **more,
    }


def error(family, name, label, suite, average, maximum, p=2):
    return {
        "family": family,
        "p": p,
        "name": name,
        "set": label,
        "suite": suite,
        "average": average,
        "maximum": maximum,
        "count": 9,
    }


def access():
    def pattern(family, h, seconds, suite=1, clean=9):
        row = {"family": family, "p": 2, "suite": suite, "kind": "vary", "x": 2, "h": h}
        return row | {"hr": h, "hw": h, "m": 4 * h, "seconds": seconds, "supersteps": 9, "clean": clean}

    tiered = ["L", "ghr1", "ghw1", "ghr2", "ghw2", "gM"]
    return {
        "word_bytes": 8,
        "line_words": 8,
        "tiers": [{"name": "L2", "words": 131072}, {"name": "beyond", "words": None}],
        "private_words": 131072,
        "processors": [2],
        "overhead_s": {"2": [8e-6, 12e-6]},
        "functions": [
            function("good", "HrHwM-c", tiered, [2000.0, 0.75, 0.25, 1.25, 1.125, 0.0]),
            function("good", "H", ["L", "gh"], [0.0, 2.0], unidentified=["gh"]),
            # 4 h + 6 h over 2 h words: 5 ns a word
            function("bad", "HrHwM", ["L", "ghr", "ghw", "gM"], [0.0, 4.0, 6.0, 0.0], fit_suite=2),
        ],
        "validation": [
            error("good", "H", "R0", 2, 0.1504, 0.400),
            error("good", "HrHwM-c", "R1", 2, 0.015, 0.070),
            error("bad", "HrHwM", "all", 3, 0.03, 0.1),
            error("bad", "HrHwM", "all", 3, 0.04, 0.2, p=3),
        ],
        "patterns": [
            pattern("good", 50_000, 50e-6),
            pattern("bad", 50_000, 0.4e-3),
            pattern("good", 100_000, 120e-6),
            pattern("bad", 100_000, 1.25e-3, clean=7),
            pattern("good", 200_000, 250e-6),
            pattern("bad", 200_000, 9e-3, clean=0),
            pattern("good", 100_000, 120e-6, suite=3),
            pattern("good", 900_000, 37e-3, suite=3, clean=0),
        ],
        "valid": True,
        "why": [],
    }


def step(label, m, loc, n=1_000_000):
    row = {"n": n, "p": 2, "algorithm": "helman-jaja", "step": 0, "label": label, "hr": 500_000, "hw": 400_000, "m": m}
    times = {"compute_s": 1.5e-3, "measured_s": 12.5e-3, "good_s": 4e-3, "bad_s": 30e-3, "random_s": 20e-3}
    return row | times | {"loc": loc, "m_over_g": 3.125, "inside": True, "verdict": "half way"}


def lists():
    def row(n, algorithm, ns, **more):
        return {
            "n": n,
            "p": 2,
            "algorithm": algorithm,
            "seconds": ns * n * 1e-9,
            "ns_per_element": ns,
            "speedup": 170.0 / ns,
            "repeats": 3,
            "compute_s": 0.1 * ns * n * 1e-9,
            "measured_s": 0.8 * ns * n * 1e-9,
            "good_s": 0.25 * ns * n * 1e-9,
            "bad_s": 2.5 * ns * n * 1e-9,
            "random_s": 2.0 * ns * n * 1e-9,
            "loc": 0.67,
            "m_over_g": 3.2,
            "inside": True,
            "supersteps": 5,
            "supersteps_inside": 4,
            "note": "",
        } | more

    steps = [step("walk", 900_000, 0.25), step("split", 900_000, 0.75), step("tiny", 900, 0.01)]
    return {
        "rows": [
            row(1000, "helman-jaja", 2.0),
            row(1_000_000, "reid-miller", 68.0, inside=False, note="p = 2 was not measured"),
            row(1_000_000, "helman-jaja", 34.0),
        ],
        "serial": [{"n": 1_000_000, "ns_per_element": 170.0, "repeats": 3}],
        "steps": steps,
        "superstep": steps[0],
        "valid": True,
        "why": [],
    }


@pytest.fixture
def profile():
    return {
        "format": "smp-profile",
        "version": 1,
        "created": "2026-11-21T08:40:00+00:00",
        "smp": "0.1.0",
        "machine": {
            "cpu": "Xeon [bold] 2000",
            "cpus": 2,
            "clock_GHz": 3.125,
            "clock_source": "estimate (a chain of additions); system reports 2.70 GHz",
            "virtual": True,
        },
        "conditions": {
            "mode": "quick",
            "seed": 7,
            "processors": [2],
            "seconds": 27.4,
            "stolen_fraction": 0.004,
            "clean_fraction": 0.87,
            "load_before": 0.31,
        },
        "latency": latency(),
        "bandwidth": bandwidth(),
        "synchronisation": synchronisation(),
        "access": access(),
        "lists": lists(),
    }


def summary(profile, width=100):
    return first_screen(profile, width)


def whole(profile, width=100):
    return printed(*whole_report.sections(Profile(profile)), width=width)


def section(profile, name):
    return section_text(name, profile[name], machine=profile["machine"])


def cells(text, *start):
    """Return the other cells of the only line that begins with the given cells."""
    rows = every(text, *start)
    assert len(rows) == 1, (start, rows)
    return rows[0]


def flat(text):
    return " ".join(text.split())


# numbers


@given(st.floats(1e-3, 1e9))
def test_a_number_is_printed_to_half_a_per_cent(value):
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.0051)
    assert number(-value) == f"-{number(value)}"


@given(st.integers(1, 1 << 50))
def test_a_size_is_printed_to_half_a_per_cent(nbytes):
    text, unit = size(nbytes).split()
    scale = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
    assert float(text) * scale == pytest.approx(nbytes, rel=0.0051)


def test_a_value_that_is_not_a_number_is_a_dash():
    assert [number(None), number(float("nan")), number(float("inf")), size(None)] == ["-"] * 4


# the first screen


def test_the_first_screen_fits(profile):
    lines = summary(profile).rstrip().splitlines()
    assert len(lines) <= 35
    assert max(map(len, lines)) <= 100


def test_the_first_screen_has_the_conditions(profile):
    text = flat(summary(profile))
    assert "Xeon [bold] 2000, 2 CPUs, virtual" in text  # brackets are not markup
    assert "3.12 GHz (estimate; system reports 2.70 GHz)" in text
    assert "stolen time 0.4%, clean measurements 87.0%, load before 0.31" in text
    assert "quick, 27.4 s, seed 7" in text
    assert "INTERRUPTED" not in text


def test_conditions_that_the_system_does_not_report_are_named(profile):
    profile["conditions"] |= {"stolen_fraction": None, "load_before": None, "interrupted": True}
    profile["machine"] |= {"virtual": None, "clock_GHz": None}
    text = flat(summary(profile))
    assert "stolen time not known" in text
    assert "load before not known" in text
    assert "virtual or not: not known" in text
    assert "GHz" not in text
    assert "INTERRUPTED" in text


def test_the_first_screen_has_the_levels(profile):
    text = summary({"latency": profile["latency"]})
    assert cells(text, "L1") == ["1.25", "3.75", "33.2 KiB", "32 KiB"]
    assert cells(text, "L2") == ["4.50", "13.5", "1.5 MiB", "2 MiB"]
    assert cells(text, "DRAM") == ["110", "330", "-", "-"]
    assert cells(text, "page walk") == ["49.7", "149", "-", "-"]


def test_the_first_screen_has_the_bandwidth_of_one_and_of_all(profile):
    text = summary({"bandwidth": profile["bandwidth"]})
    assert cells(text, "1") == ["10.1", "12.4"]
    assert cells(text, "2") == ["19.4", "23.3"]


def test_the_first_screen_has_synchronisation(profile):
    text = summary({"synchronisation": profile["synchronisation"]})
    assert cells(text, "line hand-off, one way") == ["108"]
    assert cells(text, "by compare-exchange") == ["48.5"]
    assert cells(text, "fetch-add alone") == ["4.75"]
    assert cells(text, "fetch-add by 2, contended") == ["25.0"]
    assert cells(text, "barrier, p = 2") == ["185", "3,500"]
    assert cells(text, "barrier, p = 4") == ["7,500", "16,000"]


def test_the_first_screen_has_the_measured_and_the_predicted_cost_of_a_word(profile):
    text = summary({"access": profile["access"]})
    # measured 120 us over 2 h words, h = 100,000; predicted 2,000 ns and h (0.75 + 0.25)
    assert cells(text, "2", "Good") == ["0.600", "0.510", "-15", "1.00", "9", "9", "-"]  # fitted on all suites
    assert cells(text, "2", "Bad") == ["6.25", "5.00", "-20", "10.4", "7", "9", "3.0"]
    assert "every processor reads 100,000 words and writes as many" in text
    assert "200,000" not in text  # Bad has no clean sample of this size


def test_a_word_that_was_never_measured_cleanly_has_no_measured_cost(profile):
    for row in profile["access"]["patterns"]:
        row["clean"] = 0
    text = summary({"access": profile["access"]})
    assert cells(text, "2", "Bad") == ["-", "5.00", "-", "-", "0", "9", "3.0"]
    assert "One superstep" not in text


def test_the_first_screen_has_the_costs_of_only_a_few_numbers_of_processors(profile):
    access = profile["access"]
    access["patterns"] = [
        row | {"p": p, "x": p} for row in access["patterns"] for p in range(1, 6) if row["suite"] == 1
    ]
    access["functions"] += [row | {"p": p} for row in access["functions"] for p in (1, 3, 4, 5)]
    text = summary({"access": access})
    assert re.findall(r"^(\d)  Bad", text, re.MULTILINE) == ["1", "3", "5"]


def test_functions_with_large_errors_on_other_suites_are_marked(profile):
    profile["access"]["validation"] += [error("bad", "HrHwM", "all", 1, 0.334, 0.57)]
    text = summary({"access": profile["access"]})
    assert cells(text, "2", "Bad")[-1] == "33.4 !"
    assert cells(text, "2", "Good")[-1] == "-"
    assert "! not valid: above 25%." in text


def test_the_first_screen_has_the_barriers_of_only_a_few_numbers_of_processors(profile):
    barriers = {str(p): {"compiled": p / 10, "python": p} for p in range(1, 12)}
    text = summary({"synchronisation": {"barrier_us": barriers}})
    assert re.findall(r"barrier, p = (\d+)", text) == ["1", "6", "11"]


def test_the_first_screen_has_one_superstep_and_the_best_ranking(profile):
    text = flat(summary(profile))
    assert '"walk" (h_r 500,000, h_w 400,000, M 900,000): measured 12.5 ms (and 1.50 ms of local computation)' in text
    assert "good 4.00 ms, bad 30.0 ms, random 20.0 ms; Loc 0.25, M/G 3.12: half way" in text
    assert (
        "n = 1,000,000: Helman-JaJa, p = 2: 34.0 ns per element, 5.00 times as fast as the serial loop (170 ns)" in text
    )


def test_predictions_by_functions_that_are_off_have_a_footnote(profile):
    profile["access"] |= {"valid": False, "why": ["HrHwM is off by 43%"]}
    text = flat(summary(profile))
    assert "One superstep [1]" in text
    assert "List ranking [1]" in text
    assert "[1] access patterns not valid: HrHwM is off by 43%" in text


def test_without_lists_the_superstep_is_a_pattern_of_suite_3(profile):
    text = flat(summary({"access": profile["access"]}))
    assert "measured 120 us, predicted 102 us (-15%)" in text


@pytest.mark.parametrize("name", SECTIONS)
def test_sections_that_were_not_measured_are_left_out(profile, name):
    titles = {
        "latency": "Memory latency",
        "bandwidth": "STREAM",
        "synchronisation": "Synchronisation",
        "access": "Good, Bad and Random",
        "lists": "List ranking",
    }
    text = summary({name: profile[name], "machine": profile["machine"]})
    assert [other for other, title in titles.items() if title in text] == [name]
    headings = [
        line.split(" -")[0] for line in section(profile, name).splitlines() if line.endswith("--") and line[0] != "-"
    ]
    assert headings == [SECTIONS[name]]


def test_an_empty_profile_has_conditions_only():
    assert whole({}) == ""
    assert flat(summary({})).startswith("Machine unknown")


# results that are not valid


def test_a_section_that_is_not_valid_is_marked_and_gives_the_reason(profile):
    profile["bandwidth"] |= {"valid": False, "why": ["the values are wrong"]}
    text = summary(profile)
    assert "Bandwidth, STREAM [1]" in text
    assert "[1] bandwidth not valid: the values are wrong" in text
    assert "Not valid: the values are wrong." in section(profile, "bandwidth")


def test_valid_sections_have_no_marks(profile):
    text = summary(profile) + whole(profile)
    assert "ot valid" not in text
    assert "!" not in text


def test_a_page_walk_below_zero_has_no_number_on_the_first_screen(profile):
    profile["latency"]["page_walk"][0] |= {"valid": False, "why": ["the rounds differ"]}
    profile["latency"]["page_walk_ns"] = -12.5
    text = summary({"latency": profile["latency"]})
    assert cells(text, "page walk !") == ["-", "-", "-", "-"]
    assert "! not valid: page walk: the rounds differ" in text


def test_single_numbers_that_are_not_valid_are_marked(profile):
    profile["latency"]["page_walk"][0]["valid"] = False
    profile["latency"]["huge"][1] |= {"valid": False, "why": ["2 clean windows of 12"]}
    profile["synchronisation"]["rows"][1] |= {"valid": False, "why": ["unstable"]}
    text = summary(profile)
    assert "page walk !" in text
    assert "fetch-add by 2, contended !" in text
    assert "barrier, p = 2 !" not in text
    assert "! not valid: page walk: 2 clean windows of 12; fetch-add by 2, contended: unstable" in text
    found = section(profile, "latency")
    assert cells(found, "64 MiB")[:2] == ["160", "110 !"]
    assert "! not valid, 1 of 4: 2 clean windows of 12" in found
    assert cells(found, "64 MiB")[-1] == "49.7 !"
    assert (
        "a page walk is the difference of two loads: not valid if one of them is not, or if the rounds differ" in found
    )


# the sections


def test_nothing_is_cut_off(profile):
    assert "…" not in whole(profile)


def test_latency_is_shown_by_array(profile):
    text = section(profile, "latency")
    assert cells(text, "64 MiB") == ["160", "110", "99.0", "165", "49.7"]
    assert "no separate level was found for L3" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("4 KiB")]
    assert rows[-1] == ["4", "KiB", "1.75", "2.25"]


def test_bandwidth_is_shown_by_kernel(profile):
    text = section(profile, "bandwidth")
    assert cells(text, "triad", "2") == ["23.3", "21.0", "35.0", "1.88", "yes"]
    assert cells(text, "1") == ["12.3", "231", "693", "346"]
    assert "left out: p = [4], since there are 2 CPUs" in text
    profile["bandwidth"]["stream"][-1]["verified"] = False
    assert cells(section(profile, "bandwidth"), "triad", "2")[-1] == "NO"


def test_synchronisation_is_shown_in_full(profile):
    text = section(profile, "synchronisation")
    assert cells(text, "barrier in a compiled loop", "2") == ["185", "555", "166", "278", "97.0"]
    assert cells(text, "barrier in a compiled loop", "4 *")[0] == "7,500"
    assert "they take turns" in text
    assert [row.split()[-2:] for row in text.splitlines() if row.startswith("CPU 3")] == [["108", "-"], ["48.5", "-"]]


def test_coefficients_have_their_intervals(profile):
    profile["access"]["functions"][0]["high"][0] = None
    text = section(profile, "access")
    assert cells(text, "HrHwM-c all", "L2") == ["2.00 [1.0, open]", "0.750 [0.38, 1.1]", "0.250 [0.12, 0.38]", "0"]
    assert cells(text, "beyond") == ["1.25 [0.62, 1.9]", "1.13 [0.56, 1.7]"]
    assert cells(text, "H all") == ["0", "?"]
    assert cells(text, "HrHwM all") == ["0", "4.00 [2.0, 6.0]", "6.00 [3.0, 9.0]", "0"]
    assert "Good, p = 2: every function (after table 1)\n" in text
    assert "Time that the runtime adds to each superstep of a program: 8.00 us to 12.0 us (p = 2)." in text


def test_the_best_function_is_shown_for_every_p(profile):
    profile["access"]["functions"].append(
        function("bad", "HrHwM", ["L", "ghr", "ghw"], [0.0, 3.0, 5.0], p=1, fit_suite=3)
    )
    text = section(profile, "access")
    assert "Bad, every p: HrHwM (after table 4)" in text
    assert cells(text, "p = 1 all") == ["0", "3.00 [1.5, 4.5]", "5.00 [2.5, 7.5]"]
    assert "fitted on suite 2; p = 1 all: on suite 3" in text


def test_errors_are_shown_next_to_those_of_the_paper(profile):
    text = section(profile, "access")
    table5 = text[text.index("(after table 5)") :]
    # table 5, p = 2: H in R0 0.151 and 0.430, HrHwM-c in R1 0.014 and 0.077
    assert cells(table5, "H", "R0") == ["15.0", "40.0", "15.1", "43.0"]
    assert cells(table5, "HrHwM-c", "R1") == ["1.5", "7.0", "1.4", "7.7"]
    assert "No worse than the paper in both errors: 1 of 2." in text
    table8 = text[text.index("(after table 8)") :]
    assert cells(table8, "HrHwM", "all") == ["3.0", "10.0", "4.8", "35.9", "4.0", "20.0"]  # the paper has no p = 3


def test_lists_are_shown_by_length_and_algorithm(profile):
    text = section(profile, "lists")
    times, intervals = text.split("Intervals, per element")
    assert cells(times, "Helman-JaJa", "1,000,000", "2") == ["34.0", "5.00"]
    found = cells(intervals, "Helman-JaJa", "1,000,000", "2")
    assert found == ["27.2", "3.40", "8.50", "85.0", "68.0", "0.67", "3.20", "yes", "4", "5"]
    assert cells(intervals, "Reid-Miller", "1,000,000", "2")[-3] == "no"
    assert cells(text, "serial", "1,000,000", "1")[:2] == ["170", "1.00"]
    assert "p = 2 was not measured" in text
    assert cells(text, "Helman-JaJa", "walk", "1,000,000", "2")[:4] == ["900,000", "1.50", "12.5", "4.00"]


def test_lists_of_an_earlier_version_say_that_computation_is_included(profile):
    for row in [*profile["lists"]["rows"], *profile["lists"]["steps"]]:
        del row["compute_s"]
    assert "An earlier version measured this section" in section(profile, "lists")
    text = flat(summary(profile))
    assert "measured 12.5 ms, local computation included" in text
    assert "M/G 3.20 with local computation" in text


def test_lists_without_predictions_say_so(profile):
    for row in profile["lists"]["rows"]:
        for name in ("good_s", "bad_s", "random_s", "loc", "m_over_g", "inside"):
            del row[name]
    profile["lists"] |= {"steps": [], "superstep": None, "valid": False, "why": ["no cost functions"]}
    text = section(profile, "lists")
    assert cells(text, "Helman-JaJa", "1,000,000", "2") == ["34.0", "5.00"]
    assert "Loc" not in text
    assert "Not valid: no cost functions." in text
    assert "34.0 ns per element" in flat(summary(profile))


def test_the_worst_superstep_is_one_of_the_longest_list_and_not_a_small_one():
    steps = [step("old", 900_000, -1.0, n=1000), *lists()["steps"], step("none", 900_000, None)]
    assert [row.label for row in worst_steps([ListStep(**row) for row in steps])] == ["walk"]


def numbers(text):
    return sorted(re.findall(r"\d[\d.,]*", text))


def test_a_wide_terminal_shows_the_same_numbers(profile):
    for shown in (summary, whole):
        assert numbers(shown(profile, 200)) == numbers(shown(profile, 100))


def test_the_first_screen_needs_no_more_than_80_columns(profile):
    assert numbers(summary(profile, 80)) == numbers(summary(profile, 100))
    assert max(map(len, summary(profile, 80).splitlines())) <= 80


def test_a_report_does_not_change_its_profile(profile):
    before = copy.deepcopy(profile)
    summary(profile), whole(profile)
    assert profile == before
