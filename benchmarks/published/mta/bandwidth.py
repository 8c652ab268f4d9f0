"""Figure 14 and table 4: the bandwidth of loads, and STREAM."""

from __future__ import annotations

from smp._output.figure import Axis, Figure, Mark, Panel, Series
from smp._runtime.emulated.multithreaded.experiments.loads import WORK, read_bandwidth
from smp._runtime.emulated.multithreaded.experiments.triad import KERNELS, stream_bandwidth
from smp.machines import MachineFile

from ..rows import Part, Row, near

DEPTHS = (2, 3, 4, 5, 6, 7, 8)
STREAMS = (5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70, 76, 80, 90, 100)
Plane = dict[int, dict[int, float]]


def part(machine: MachineFile, quick: bool) -> Part:
    """Measure bandwidths.

    Figure 14 is measured without streams of the runtime, because its printed maximum leaves no issue slot for them.
    """
    alone = machine.replace("streams.background", 0)
    depths, streams = ((2, 5, 8), STREAMS[1::2]) if quick else (DEPTHS, STREAMS)
    streams = tuple(sorted({*streams, 26, 30, 76, 100}))
    elements = 100_000 if quick else 400_000
    bare = {d: {k: read_bandwidth(alone, k, d, 0, elements) / 1e6 for k in streams} for d in depths}
    work = {d: {k: read_bandwidth(alone, k, d, WORK, elements // 20) / 1e6 for k in streams} for d in depths}
    best = max(max(found.values()) for found in bare.values())
    loaded = max(read_bandwidth(machine, 100, d, 0, elements) / 1e6 for d in depths)
    rows = [
        Row("figure 14", "no work: the best", 2300, best, "MB/s", "pred", 2000, 2080),
        Row("figure 14", "no work: the best next to streams of the runtime", 2300, loaded, "MB/s", "shown"),
    ]
    for depth, most in ((5, 34), (8, 30)):
        fewest = _fewest(alone, depth, 0.95 * max(bare[depth].values()), elements)
        what = f"no work, depth {depth}: streams for 95% of its maximum"
        rows.append(Row("figure 14", what, 30, fewest, "streams", "pred", None, most))
    for depth in (5, 8):
        what = f"40 iterations, depth {depth}, 30 streams"
        rows.append(Row("figure 14", what, "axis to 45", work[depth][30], "MB/s", "pred", 38, 47))
    size = 30_000 if quick else 120_000
    teams = {p: {k: stream_bandwidth(machine, k, p, size) / 1e9 for k in KERNELS} for p in (1, 2, 3, 4)}
    mean = {p: sum(found.values()) / len(found) for p, found in teams.items()}
    rows += [
        near("table 4", "STREAM on 1 team", 1.7, mean[1], "GB/s", "pred", 0.1),
        near("table 4", "STREAM on 4 teams", 5.8, mean[4], "GB/s", "pred", 0.1),
        Row("table 4", "4 teams / 1 team", 3.4, mean[4] / mean[1], "ratio", "shown"),
    ]
    data = {"no work": bare, "40 iterations": work, "STREAM": teams}
    return Part("bandwidth", rows, [_figure_14(bare, work), _table_4(teams)], data=data)


def _fewest(machine: MachineFile, depth: int, enough: float, elements: int) -> int:
    """Return the smallest number of streams that load so much."""
    return next(k for k in range(10, 101) if read_bandwidth(machine, k, depth, 0, elements) / 1e6 >= enough)


def _figure_14(bare: Plane, work: Plane) -> Figure:
    def panel(title: str, plane: Plane, high: float, marks: list[Mark]) -> Panel:
        series = [
            Series(str(depth), list(found), list(found.values()), shade=n / (len(plane) - 1), marker=0)
            for n, (depth, found) in enumerate(plane.items())
        ]
        return Panel(
            Axis("streams", low=0, high=100), Axis("bandwidth", "MB/s", low=0, high=high), series, title, marks
        )

    limits = [
        Mark(2_080, text="a word a cycle", axis="y", dash="dashed"),
        Mark(2_300, text="printed: over 2,300", axis="y", dash="dotted"),
    ]
    end = Mark(45, text="end of the study's axis", axis="y", dash="dashdot")
    return Figure(
        "mta-figure-14",
        "Bandwidth of loads by streams and depth of unrolling (figure 14)",
        "Each stream keeps up to as many loads under way as its loop is unrolled.",
        [
            panel("no work", bare, 2_500, limits),
            panel("40 iterations of work", work, 50, [end]),
        ],
        legend="depth",
        remarks="The study printed more than 2,300 MB/s, which is more than a word a cycle at 260 MHz. Its planes are "
        "drawn as lines here. No stream of the runtime takes issue slots.",
    )


def _table_4(teams: dict[int, dict[str, float]]) -> Figure:
    series = [
        Series(kernel, list(teams), [found[kernel] for found in teams.values()], colour=n, marker=n)
        for n, kernel in enumerate(KERNELS)
    ]
    series.append(Series("printed", [1, 4], [1.7, 5.8], "points", colour=6, marker=6, hollow=True))
    return Figure(
        "mta-table-04",
        "STREAM on one to four processors (table 4)",
        "Words of different processors meet at the links of the four modules, one word a cycle each.",
        [Panel(Axis("processors", ticks=(1, 2, 3, 4)), Axis("bandwidth", "GB/s", low=0, high=8.5), series)],
        legend_at="upper left",
    )
