"""The plots draw the profile's numbers: what is on the axes is what went in."""

import struct
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from support import pictures

from smp.microbench.report import plots
from smp.microbench.sections.access import plots as plots_access
from smp.microbench.sections.bandwidth import plots as plots_bandwidth
from smp.microbench.sections.latency import plots as plots_latency
from smp.microbench.sections.lists import plots as plots_lists

MIB = 1 << 20
NAMES = {
    "latency": ["latency-strides", "latency-map", "latency-random"],
    "bandwidth": ["bandwidth"],
    "access": ["access-functions", "access-h"],
    "lists": ["lists-interval", "lists-time"],
}


def point(ns, **more):
    return {"ns": ns, "minimum_ns": 0.9 * ns, "p95_ns": 1.5 * ns, "valid": True, "why": [], **more}


def latency():
    sizes = [4096 << k for k in range(15)]
    grid = [(nbytes, 8 << 3 * k) for nbytes in sizes for k in range(9) if 8 << 3 * k <= nbytes]
    return {
        "stride": [point(1.0 + nbytes / MIB + stride / 64, bytes=nbytes, stride=stride) for nbytes, stride in grid],
        "random": [point(2.0 * nbytes**0.25, bytes=nbytes) for nbytes in sizes],
        "page_local": [point(1.5 * nbytes**0.25, bytes=nbytes) for nbytes in sizes],
        "huge": [point(1.0 * nbytes**0.25, bytes=nbytes, valid=nbytes != MIB) for nbytes in sizes],
        "levels": [
            {"name": "L1", "ns": 1.3, "found_bytes": 40_000, "reported_bytes": 32_768},
            {"name": "L2", "ns": 5.0, "found_bytes": 1_500_000, "reported_bytes": 512 * MIB},
            {"name": "DRAM", "ns": 90.0, "found_bytes": None, "reported_bytes": None},
        ],
    }


def bandwidth():
    rates = {"copy": (10.0, 19.0), "scale": (9.0, 18.0), "add": (12.0, 21.0), "triad": (12.5, 22.0)}
    return {
        "stream": [
            {"processors": p, "kernel": kernel, "GBps": rate, "median_GBps": 0.9 * rate, "valid": True}
            for kernel, of_p in rates.items()
            for p, rate in zip((1, 2), of_p, strict=True)
        ],
        "loaded_latency": [
            point(110.0, loading_processors=0, load_GBps=0.0),
            point(180.0, loading_processors=1, load_GBps=9.0),
        ],
    }


EDGE, H = 50_000, (5_000, 20_000, 100_000, 400_000)
TERMS = {"H": ["L", "gh"], "HM": ["L", "gh", "gM"], "HrHw": ["L", "ghr", "ghw"], "HrHwM": ["L", "ghr", "ghw", "gM"]}
COST = {"L": 2e-6, "gh": 3e-9, "ghr": 1e-9, "ghw": 2e-9, "gM": 0.5e-9}


def pattern(family, suite, kind, x, h, seconds):
    hr, hw = (h, h * x // 2) if kind == "like-gather" else (h * x // 2, h) if kind == "like-scatter" else (h, h)
    row = {"family": family, "p": 2, "suite": suite, "kind": kind, "x": x, "h": h}
    return row | {"hr": hr, "hw": hw, "m": 2 * x * h, "seconds": seconds, "supersteps": 9, "clean": 9}


def access():
    functions = []
    for family, names in plots_access.FUNCTIONS.items():
        for name in names:
            for label, factor in (("R0", 1.0), ("R1", 3.0), ("all", 2.0)) if family == "good" else (("all", 1.0),):
                terms = TERMS.get(name, ["L", "ghr1", "ghw1", "ghr2", "ghw2", "gM"])
                coefficients = [factor * COST[term.rstrip("12")] for term in terms]
                head = {"family": family, "p": 2, "name": name, "set": label, "fit_suite": 1}
                functions.append(head | {"terms": terms, "coefficients": coefficients, "h_range": [5e3, 4e5]})
    kinds = [("like-gather", 1), ("like-scatter", 1), ("vary", 1), ("vary", 2)]
    return {
        "word_bytes": 8,
        "tiers": [{"name": "L2", "words": EDGE}, {"name": "beyond", "words": None}],
        "private_words": EDGE,
        "functions": functions,
        "patterns": [
            pattern(family, suite, kind, x, h, seconds=h * (1 + suite) * x * 1e-9)
            for family in ("good", "bad")
            for suite in (1, 2, 3)
            for h in H
            for kind, x in kinds
        ],
    }


LENGTHS = (1_000, 100_000, 1_000_000)


def lists():
    rows = []
    for k, name in enumerate(("reid-miller", "helman-jaja")):
        for p in (1, 2):
            for n in LENGTHS:
                seconds = n * (k + 1) * 20e-9 / p + 1e-5
                row = {"n": n, "p": p, "algorithm": name, "seconds": seconds, "ns_per_element": seconds / n * 1e9}
                row |= {"measured_s": 0.9 * seconds, "good_s": 0.5 * seconds, "bad_s": 2 * seconds}
                rows.append(row | {"random_s": 3 * seconds})
    return {"rows": rows, "serial": [{"n": n, "ns_per_element": 100.0 + n / 1e5} for n in LENGTHS]}


@pytest.fixture
def profile():
    return {"latency": latency(), "bandwidth": bandwidth(), "access": access(), "lists": lists()}


def line(axes, label):
    """x and y of the only line with this label."""
    (found,) = [one for one in axes.get_lines() if one.get_label() == label]
    return found.get_data()


def pixels(path):
    """Width and height as a PNG file's header tells them."""
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:])


# files


def test_every_plot_is_written_in_full_size(profile, tmp_path):
    files = plots.draw(profile, None, tmp_path / "new" / "folder")
    assert [file.name for file in files] == [f"{name}.png" for names in NAMES.values() for name in names]
    assert {pixels(file) for file in files} == {(1200, 800)}


@pytest.mark.parametrize("section", NAMES)
def test_plots_of_what_was_not_measured_are_skipped(profile, section):
    made = [name for name, figure in plots.figures({section: profile[section]}) if figure is not None]
    assert made == NAMES[section]


def test_an_empty_profile_has_no_plots(tmp_path):
    assert plots.draw({}, {}, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_drawing_changes_no_settings(profile, tmp_path):
    def settings():
        return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}

    before = settings()
    plots.draw(profile, None, tmp_path)
    assert settings() == before


def test_no_window_system_and_no_figures_kept():
    code = "import sys, smp.microbench.report.plots; print('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_every_plot_is_titled_named_and_inside_its_picture(profile):
    made = [(name, figure) for name, figure in plots.figures(profile) if figure is not None]
    assert len(made) == sum(map(len, NAMES.values()))
    for name, figure in made:
        pictures.check(figure, name)


# latency


def test_strides_have_a_line_for_each_array(profile):
    (axes,) = plots_latency.strides(profile).axes
    rows = profile["latency"]["stride"]
    assert [one.get_label() for one in axes.get_lines()][:2] == ["4 KiB", "8 KiB"]
    x, y = line(axes, "1 MiB")
    mine = [row for row in rows if row["bytes"] == MIB]
    assert x.tolist() == [row["stride"] for row in mine]
    assert y.tolist() == [row["ns"] for row in mine]
    assert axes.get_xscale() == "log"


def test_bands_go_from_the_minimum_to_the_95th_percentile(profile):
    (axes,) = plots_latency.strides(profile).axes
    first = [row for row in profile["latency"]["stride"] if row["bytes"] == 4096]
    corners = set(map(tuple, axes.collections[0].get_paths()[0].vertices))
    for row in first:
        assert {(row["stride"], row["minimum_ns"]), (row["stride"], row["p95_ns"])} <= corners


def test_the_map_has_a_cell_for_each_array_and_stride(profile):
    rows = profile["latency"]["stride"]
    rows.append(point(9.0, bytes=4096, stride=4095))  # of one array alone
    axes = plots_latency.stride_map(profile).axes[0]
    (mesh,) = [one for one in axes.collections if isinstance(one, QuadMesh)]
    cells = mesh.get_array()
    arrays, strides = (
        [label.get_text() for label in axes.get_xticklabels()],
        [t.get_text() for t in axes.get_yticklabels()],
    )
    assert cells[strides.index("512 B"), arrays.index("1 MiB")] == 1.0 + 1 + 8
    assert np.ma.getmaskarray(np.ma.masked_invalid(cells))[strides.index("2 MiB"), arrays.index("1 MiB")]
    assert np.isfinite(cells).sum() == len(rows) - 1


def test_random_order_with_knees_and_what_is_not_valid(profile):
    (axes,) = plots_latency.random_order(profile).axes
    for name, label in plots_latency.CURVES.items():
        rows = profile["latency"][name]
        x, y = line(axes, label)
        assert (x.tolist(), y.tolist()) == ([row["bytes"] for row in rows], [row["ns"] for row in rows])
    knees = {one.get_linestyle(): [] for one in axes.get_lines()}
    for one in axes.get_lines():
        if len(set(one.get_xdata())) == 1 and len(one.get_xdata()) == 2:
            knees[one.get_linestyle()].append(one.get_xdata()[0])
    assert (knees["-"], knees["--"]) == ([40_000, 1_500_000], [32_768])  # the last lies beyond the arrays
    assert "L2 512 MiB >" in [text.get_text() for text in axes.texts]
    (ringed,) = [one for one in axes.get_lines() if one.get_markeredgecolor() == "#cc0000"]
    assert ringed.get_xdata().tolist() == [MIB]


def test_one_random_curve_alone(profile):
    (axes,) = plots_latency.random_order({"latency": {"random": profile["latency"]["random"], "huge": []}}).axes
    assert len(axes.get_legend().get_texts()) == 1


# bandwidth


def test_bandwidth_by_processors(profile):
    axes, loaded = plots_bandwidth.bandwidth(profile).axes
    x, y = line(axes, "triad")
    assert (x.tolist(), y.tolist()) == ([1, 2], [12.5, 22.0])
    assert loaded.get_lines()[0].get_xydata().tolist() == [[0.0, 110.0], [9.0, 180.0]]
    assert axes.get_ylim()[0] == loaded.get_ylim()[0] == 0


def test_bandwidth_without_loaded_latency(profile):
    profile["bandwidth"]["loaded_latency"] = []
    assert len(plots_bandwidth.bandwidth(profile).axes) == 1


# cost functions


def test_measured_points_are_those_of_the_paper_s_suites(profile):
    axes = plots_access.every_function(profile).axes
    assert [one.get_title(loc="left") for one in axes] == [
        f"{family}, {kind}, x = 1, suite {suite}"
        for family, gather in (("Good", 2), ("Bad", 1))
        for kind, suite in (("like-gather", gather), ("like-scatter", gather), ("vary", 3))
    ]
    for one, suite in zip(axes, (2, 2, 3, 1, 1, 3), strict=True):
        h, ns = line(one, "measured")
        assert h.tolist() == list(H)
        assert ns == pytest.approx([1 + suite] * len(H))  # seconds are h (1 + suite) x ns


def test_predicted_lines_are_the_functions(profile):
    good, bad = plots_access.every_function(profile).axes[0], plots_access.every_function(profile).axes[3]
    h = np.array(H)
    hr, hw, m = h, h // 2, 2 * h  # like-gather, x = 1
    expected = {
        "H": 2e-6 + 3e-9 * h,
        "HM": 2e-6 + 3e-9 * h + 0.5e-9 * m,
        "HrHw": 2e-6 + 1e-9 * hr + 2e-9 * hw,
        "HrHwM": 2e-6 + 1e-9 * hr + 2e-9 * hw + 0.5e-9 * m,
    }
    for name, seconds in expected.items():
        assert line(bad, name)[1] == pytest.approx(seconds / h * 1e9)
        # in cache by R0's function, beyond it by R1's; both tiers cost the same here
        factor = np.where(h <= EDGE, 1.0, 3.0)
        assert line(good, name.replace("HrHwM", "HrHwM-c"))[1] == pytest.approx(factor * seconds / h * 1e9)


def test_without_sets_the_function_of_all_predicts(profile):
    data = profile["access"]
    data["functions"] = [row for row in data["functions"] if row["set"] == "all"]
    rows = [{"hr": 10, "hw": 20, "m": 30}, {"hr": 100_000, "hw": 0, "m": 0}]
    assert plots_access.predicted(data, "good", 2, "H", rows) == pytest.approx([4e-6 + 6e-9 * 20, 4e-6 + 6e-4])
    assert np.isnan(plots_access.predicted(data, "good", 3, "H", rows)).all()


def test_h_charges_all_x_alike_and_hrhwm_does_not(profile):
    by_h, by_best = plots_access.h_against_best(profile).axes
    # points and lines in turn, x = 1 then x = 2
    for axes in (by_h, by_best):
        for x in (1, 2):
            assert line(axes, f"x = {x}")[1] == pytest.approx([2.0 * x] * len(H))
    first, second = (by_h.get_lines()[k].get_ydata() for k in (1, 3))
    assert first == pytest.approx(second)
    first, second = (by_best.get_lines()[k].get_ydata() for k in (1, 3))
    # x = 2: twice the writes (2 ns for h / 2 more), twice the total (0.5 ns for 2 h more)
    assert second - first == pytest.approx([2.0] * len(H))


def test_one_processor_has_only_vary(profile):
    data = profile["access"]
    data["patterns"] = [row | {"p": 1, "x": 1} for row in data["patterns"] if row["kind"] == "vary" and row["x"] == 2]
    data["functions"] = [row | {"p": 1} for row in data["functions"]]
    assert len(plots_access.every_function(profile).axes) == 2
    assert plots_access.h_against_best(profile) is None


def test_the_spread_of_the_samples_is_drawn(profile):
    fields = [(name, "i4") for name in ("family", "p", "suite", "pattern")]
    samples = np.zeros(103, [*fields, ("copy_in_ns", "i8"), ("copy_out_ns", "i8"), ("clean", "?")])
    # Bad, suite 1: the first pattern is like-gather with h = 5,000
    samples["family"], samples["p"], samples["suite"], samples["pattern"] = 1, 2, 1, 0
    samples["copy_in_ns"][:101], samples["copy_out_ns"] = 1000 * np.arange(101), 5000
    samples["copy_in_ns"][101:], samples["clean"][:101] = 10**9, True
    gather = plots_access.every_function(profile, samples).axes[3]
    (bar,) = gather.collections
    assert bar.get_segments()[0].tolist() == [[5000, 10_000 / 5000], [5000, 100_000 / 5000]]


# list ranking


def test_intervals_by_p_and_algorithm(profile):
    figure = plots_lists.intervals(profile)
    assert [one.get_title(loc="left") for one in figure.axes] == [
        f"{name}, p = {p}" for p in (1, 2) for name in ("Reid-Miller", "Helman-JaJa")
    ]
    rows = [row for row in profile["lists"]["rows"] if (row["algorithm"], row["p"]) == ("helman-jaja", 2)]
    axes = figure.axes[3]
    for label, name in (("measured", "measured_s"), ("good", "good_s"), ("bad", "bad_s"), ("random", "random_s")):
        n, ns = line(axes, label)
        assert n.tolist() == list(LENGTHS)
        assert ns == pytest.approx([row[name] / row["n"] * 1e9 for row in rows])
    corners = axes.collections[0].get_paths()[0].vertices  # the interval ends at the larger of bad and random
    assert corners[:, 1].max() == pytest.approx(max(row["random_s"] / row["n"] * 1e9 for row in rows))
    assert corners[:, 1].min() == pytest.approx(min(row["good_s"] / row["n"] * 1e9 for row in rows))


def test_without_predictions_there_are_no_intervals(profile):
    for row in profile["lists"]["rows"]:
        row["good_s"] = None
    assert plots_lists.intervals(profile) is None
    assert plots_lists.times(profile) is not None


def test_times_of_every_algorithm_and_p(profile):
    (axes,) = plots_lists.times(profile).axes
    assert line(axes, "serial")[1].tolist() == [row["ns_per_element"] for row in profile["lists"]["serial"]]
    rows = [row for row in profile["lists"]["rows"] if (row["algorithm"], row["p"]) == ("reid-miller", 1)]
    n, ns = line(axes, "Reid-Miller, p = 1")
    assert (n.tolist(), ns.tolist()) == ([row["n"] for row in rows], [row["ns_per_element"] for row in rows])
    assert len(axes.get_lines()) == 5
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_the_spread_of_the_repeats_is_drawn(profile):
    samples = np.array(
        [(1000, 2, "helman-jaja", 0, 3e-5), (1000, 2, "helman-jaja", 1, 5e-5), (1000, 1, "serial", 0, 1e-5)],
        [("n", "i8"), ("p", "i4"), ("algorithm", "U16"), ("repeat", "i4"), ("seconds", "f8")],
    )
    (axes,) = plots_lists.times(profile, samples).axes
    ends = sorted(bar.get_segments()[0][:, 1].tolist() for bar in axes.collections)
    assert ends == [pytest.approx([10.0, 10.0]), pytest.approx([30.0, 50.0])]
