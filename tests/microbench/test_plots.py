"""The figures show the numbers of the profile, in their descriptions and in the drawings."""

import struct
import subprocess
import sys
from math import nan
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from support import pictures
from support.pictures import described, points, series

from smp._output.drawing import draw
from smp.errors import MachineError
from smp.microbench.report import plots
from smp.microbench.sections.access import plots as plots_access
from smp.microbench.sections.access.predicted import by_function
from smp.microbench.sections.latency import plots as plots_latency
from smp.profiles.access import Access

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
        "shared": [point(1.1 * nbytes**0.25, bytes=nbytes) for nbytes in sizes],
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


def pixels(path):
    """Return the width and height in the header of a PNG file."""
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:])


# files


def test_every_plot_is_written_in_full_size(profile, tmp_path):
    files = plots.draw(profile, None, tmp_path / "new" / "folder")
    assert [file.name for file in files] == [f"{name}.png" for names in NAMES.values() for name in names]
    assert {pixels(file) for file in files} == {(1200, 800)}


@pytest.mark.parametrize("section", NAMES)
def test_sections_that_were_not_measured_have_no_figures(profile, section):
    assert [figure.id for figure in plots.figures({section: profile[section]})] == NAMES[section]


def test_an_empty_profile_has_no_plots(tmp_path):
    assert plots.draw({}, {}, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_this_process_draws_if_no_machine_can_be_opened(profile, tmp_path, monkeypatch):
    def refused(processors):
        raise MachineError("no shared memory")

    monkeypatch.setattr(plots, "host", refused)
    lists = {"lists": profile["lists"]}
    assert [file.stem for file in plots.draw(lists, None, tmp_path)] == NAMES["lists"]


def test_drawing_does_not_change_the_settings_of_matplotlib(profile, tmp_path):
    def settings():
        return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}

    before = settings()
    plots.draw({"lists": profile["lists"]}, None, tmp_path)
    assert settings() == before


def test_plots_do_not_import_pyplot():
    code = "import sys, smp.microbench.report.plots; print('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_every_figure_has_a_title_and_axis_names_and_fits_its_picture(profile):
    made = list(plots.figures(profile))
    assert len(made) == sum(map(len, NAMES.values()))
    for figure in made:
        pictures.check(figure)


# latency


def test_the_plot_of_strides_has_a_line_with_its_spread_for_each_array(profile):
    figure = described("latency", profile["latency"])["latency-strides"]
    (panel,) = figure.panels
    assert [one.name for one in panel.series][-2:] == ["8 KiB", "4 KiB"]
    found = series(panel, "1 MiB")
    mine = [row for row in profile["latency"]["stride"] if row["bytes"] == MIB]
    for name, field in (("x", "stride"), ("y", "ns"), ("low", "minimum_ns"), ("high", "p95_ns")):
        assert getattr(found, name) == [row[field] for row in mine]
    assert panel.x.scale == panel.y.scale == "log"


def test_the_map_has_a_cell_for_each_array_and_stride(profile):
    rows = profile["latency"]["stride"]
    rows.append(point(9.0, bytes=4096, stride=4095))  # a stride of one array only
    figure = described("latency", profile["latency"])["latency-map"]
    (panel,) = figure.panels
    cells, arrays, strides = np.array(panel.cells.values), panel.x.names, panel.y.names
    assert cells[strides.index("512 B"), arrays.index("1 MiB")] == 1.0 + 1 + 8
    assert np.isnan(cells[strides.index("2 MiB"), arrays.index("1 MiB")])
    assert np.isfinite(cells).sum() == len(rows) - 1
    drawn = pictures.check(figure).axes[0]
    assert [label.get_text() for label in drawn.get_xticklabels()] == arrays
    written = {text.get_position(): text.get_text() for text in drawn.texts}
    assert written[arrays.index("1 MiB"), strides.index("512 B")] == "10.0"
    assert len(written) == len(rows) - 1
    assert not panel.series


def test_cells_of_the_map_that_are_not_valid_are_ringed(profile):
    rows = profile["latency"]["stride"]
    bad = [row for row in rows if row["bytes"] == MIB and row["stride"] in (64, 512)]
    for row in bad:
        row |= {"valid": False, "why": ["unstable"]}
    figure = described("latency", profile["latency"])["latency-map"]
    (panel,) = figure.panels
    (rings,) = panel.series
    ringed = [(round(x), round(y)) for x, y, why in zip(rings.x, rings.y, rings.invalid, strict=True) if why]
    assert ringed == [(panel.x.names.index("1 MiB"), panel.y.names.index(name)) for name in ("64 B", "512 B")]
    (drawn,) = [one for one in draw(figure).axes[0].get_lines() if one.get_markeredgecolor() == "#cc0000"]
    assert len(drawn.get_xdata()) == 2


def test_the_plot_of_random_order_marks_knees_and_points_that_are_not_valid(profile):
    profile["latency"]["huge"][8] |= {"why": ["unstable"]}
    figure = described("latency", profile["latency"])["latency-random"]
    (panel,) = figure.panels
    for name, label in plots_latency.CURVES.items():
        assert points(panel, label) == [[row["bytes"], row["ns"]] for row in profile["latency"][name]]
    assert [(mark.group, mark.value, mark.text) for mark in panel.marks] == [
        ("found:", 40_000, "L1 39.1 KiB"),
        ("found:", 1_500_000, "L2 1.43 MiB"),
        ("system:", 32_768, "L1 32 KiB"),
        ("system:", 512 * MIB, "L2 512 MiB"),
    ]
    huge = series(panel, plots_latency.CURVES["huge"])
    assert {x: why for x, why in zip(huge.x, huge.invalid, strict=True) if why} == {MIB: "unstable"}
    (axes,) = draw(figure).axes
    knees = {one.get_xdata()[0] for one in axes.get_lines() if list(one.get_ydata()) == [0, 1]}
    assert knees == {40_000, 1_500_000, 32_768}, "the last knee lies beyond the arrays"
    assert "L2 512 MiB >" in [text.get_text() for text in axes.texts]
    (ringed,) = [one for one in axes.get_lines() if one.get_markeredgecolor() == "#cc0000"]
    assert ringed.get_xdata().tolist() == [MIB]


def test_a_single_random_curve_is_drawn_alone(profile):
    made = described("latency", {"random": profile["latency"]["random"], "huge": []})
    assert list(made) == ["latency-random"]
    assert len(made["latency-random"].panels[0].series) == 1


# bandwidth


def test_bandwidth_is_drawn_by_number_of_processors(profile):
    figure = described("bandwidth", profile["bandwidth"])["bandwidth"]
    stream, loaded = figure.panels
    assert points(stream, "triad") == [[1, 12.5], [2, 22.0]]
    assert points(loaded, "") == [[0.0, 110.0], [9.0, 180.0]]
    assert series(loaded, "").notes == ["0 loading", "1 loading"]
    assert [axes.get_ylim()[0] for axes in draw(figure).axes] == [0, 0]


def test_without_loaded_latency_the_bandwidth_has_one_panel(profile):
    assert len(described("bandwidth", profile["bandwidth"] | {"loaded_latency": []})["bandwidth"].panels) == 1


# cost functions


def test_measured_points_are_those_of_the_suites_of_the_paper(profile):
    panels = described("access", profile["access"])["access-functions"].panels
    assert [one.title for one in panels] == [
        f"{family}, {kind}, x = 1, suite {suite}"
        for family, gather in (("Good", 2), ("Bad", 1))
        for kind, suite in (("like-gather", gather), ("like-scatter", gather), ("vary", 3))
    ]
    for one, suite in zip(panels, (2, 2, 3, 1, 1, 3), strict=True):
        measured = series(one, "measured")
        assert measured.x == list(H)
        assert measured.y == pytest.approx([1 + suite] * len(H))  # seconds are h (1 + suite) x ns


def test_predicted_lines_are_the_functions(profile):
    panels = described("access", profile["access"])["access-functions"].panels
    good, bad = panels[0], panels[3]
    h = np.array(H)
    hr, hw, m = h, h // 2, 2 * h  # like-gather, x = 1
    expected = {
        "H": 2e-6 + 3e-9 * h,
        "HM": 2e-6 + 3e-9 * h + 0.5e-9 * m,
        "HrHw": 2e-6 + 1e-9 * hr + 2e-9 * hw,
        "HrHwM": 2e-6 + 1e-9 * hr + 2e-9 * hw + 0.5e-9 * m,
    }
    for name, seconds in expected.items():
        assert series(bad, name).y == pytest.approx(seconds / h * 1e9)
        # the function of R0 applies in cache, that of R1 beyond it; both tiers cost the same here
        factor = np.where(h <= EDGE, 1.0, 3.0)
        assert series(good, name.replace("HrHwM", "HrHwM-c")).y == pytest.approx(factor * seconds / h * 1e9)


def test_without_sets_r0_and_r1_the_function_of_set_all_predicts(profile):
    data = profile["access"]
    data["functions"] = [row for row in data["functions"] if row["set"] == "all"]
    found = Access.model_validate(data)
    counts = [{"hr": 10, "hw": 20, "m": 30}, {"hr": 100_000, "hw": 0, "m": 0}]
    two, three = (
        [SimpleNamespace(family="good", p=p, reads=None, writes=None, **row) for row in counts] for p in (2, 3)
    )
    assert by_function(found, "H", two) == pytest.approx([4e-6 + 6e-9 * 20, 4e-6 + 6e-4])
    assert np.isnan(by_function(found, "H", three)).all()


def test_h_charges_all_x_alike_and_hrhwm_does_not(profile):
    by_h, by_best = described("access", profile["access"])["access-h"].panels
    lines = []
    for panel in (by_h, by_best):
        for x in (1, 2):
            assert series(panel, f"x = {x}").y == pytest.approx([2.0 * x] * len(H))
        lines.append([np.array(one.y) for one in panel.series if one.kind == "line"])  # x = 1, x = 2
    assert lines[0][0] == pytest.approx(lines[0][1])
    # x = 2: twice the writes (2 ns for h / 2 more), twice the total (0.5 ns for 2 h more)
    assert lines[1][1] - lines[1][0] == pytest.approx([2.0] * len(H))


def test_one_processor_has_only_the_patterns_that_vary(profile):
    data = profile["access"]
    data["patterns"] = [row | {"p": 1, "x": 1} for row in data["patterns"] if row["kind"] == "vary" and row["x"] == 2]
    data["functions"] = [row | {"p": 1} for row in data["functions"]]
    made = described("access", data)
    assert list(made) == ["access-functions"]
    assert len(made["access-functions"].panels) == 2


def test_the_spread_of_the_samples_is_shown(profile):
    fields = [(name, "i4") for name in ("family", "p", "suite", "pattern")]
    pieces = [(name, "i4") for name in ("phase", "piece", "alike")]
    samples = np.zeros(103, [*fields, *pieces, ("ns", "i8"), ("clean", "?")])
    # Bad, suite 1: the first pattern is like-gather with h = 5,000
    samples["family"], samples["p"], samples["suite"], samples["pattern"] = 1, 2, 1, 0
    samples["ns"][:101] = 1000 * np.arange(101) + 5000
    samples["ns"][101:], samples["clean"][:101] = 10**9, True
    figure = described("access", profile["access"], samples)["access-functions"]
    gather = series(figure.panels[3], "measured")
    assert (gather.x[0], gather.low[0], gather.high[0]) == (5000, 10_000 / 5000, 100_000 / 5000)
    assert np.isnan([gather.low[1:], gather.high[1:]]).all()
    (bars,) = draw(figure).axes[3].collections
    assert bars.get_segments()[0].tolist() == [[5000, 2.0], [5000, 20.0]]


# list ranking


def test_intervals_are_drawn_by_p_and_algorithm(profile):
    figure = described("lists", profile["lists"])["lists-interval"]
    assert [one.title for one in figure.panels] == [
        f"{name}, p = {p}" for p in (1, 2) for name in ("Reid-Miller", "Helman-JaJa")
    ]
    rows = [row for row in profile["lists"]["rows"] if (row["algorithm"], row["p"]) == ("helman-jaja", 2)]
    panel = figure.panels[3]
    for label, name in (("measured", "measured_s"), ("good", "good_s"), ("bad", "bad_s"), ("random", "random_s")):
        found = series(panel, label)
        assert found.x == list(LENGTHS)
        assert found.y == pytest.approx([row[name] / row["n"] * 1e9 for row in rows])
    interval = series(panel, "interval")  # it ends at the larger of bad and random
    assert interval.low == series(panel, "good").y
    assert interval.high == series(panel, "random").y


def test_without_predictions_there_are_no_intervals(profile):
    for row in profile["lists"]["rows"]:
        row["good_s"] = None
    assert list(described("lists", profile["lists"])) == ["lists-time"]


def test_times_are_drawn_for_every_algorithm_and_p(profile):
    (panel,) = described("lists", profile["lists"])["lists-time"].panels
    assert series(panel, "serial").y == [row["ns_per_element"] for row in profile["lists"]["serial"]]
    rows = [row for row in profile["lists"]["rows"] if (row["algorithm"], row["p"]) == ("reid-miller", 1)]
    assert points(panel, "Reid-Miller, p = 1") == [[row["n"], row["ns_per_element"]] for row in rows]
    assert len(panel.series) == 5
    assert (panel.x.scale, panel.y.scale) == ("log", "log")


def test_the_spread_of_the_repeats_is_shown(profile):
    samples = np.array(
        [(1000, 2, "helman-jaja", 0, 3e-5), (1000, 2, "helman-jaja", 1, 5e-5), (1000, 1, "serial", 0, 1e-5)],
        [("n", "i8"), ("p", "i4"), ("algorithm", "U16"), ("repeat", "i4"), ("seconds", "f8")],
    )
    (panel,) = described("lists", profile["lists"], samples)["lists-time"].panels
    for name, ends in (("serial", (10, 10)), ("Helman-JaJa, p = 2", (30, 50)), ("Helman-JaJa, p = 1", (nan, nan))):
        found = series(panel, name)
        assert (found.low[0], found.high[0]) == pytest.approx(ends, nan_ok=True)
