"""Figures 8 to 11: threads that wait at words until other threads fill them."""

from __future__ import annotations

import itertools

import numpy as np

from smp._output.figure import Axis, Figure, Panel, Series
from smp._runtime.emulated.multithreaded.experiments.chains import passed
from smp._runtime.emulated.multithreaded.experiments.waking import Woken, addition, woken
from smp.machines import MachineFile

from ..rows import Part, Row

STREAMS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)
CHAINS = (1, 2, 3, 5, 7, 8, 9, 10, 11, 12, 15, 17, 18, 19, 20, 21, 22, 25, 30, 40, 50, 60, 70)
LATENCY, LOOPS = 170, 150  # turns of the initial loop after which all have trapped
Totals = dict[int, Woken]


def part(machine: MachineFile, quick: bool) -> Part:
    """Measure how long waiting threads take to go on."""
    streams = STREAMS[::3] if quick else STREAMS
    streams = tuple(sorted({*streams, 1, 10, 20, 50, 100}))
    polling = {k: woken(machine, k, 0) for k in streams}
    trapped = {k: woken(machine, k, LOOPS) for k in streams}
    polling_in_turn = {k: woken(machine, k, 0, one_by_one=True) for k in streams}
    trapped_in_turn = {k: woken(machine, k, 200, one_by_one=True) for k in streams}
    counts = tuple(sorted({*(CHAINS[::4] if quick else CHAINS), *range(8, 12), *range(17, 23), 70}))
    chains = {
        (iterations, chained): {k: passed(machine, k, iterations, chained) for k in counts}
        for iterations in (0, 100, 200)
        for chained in (False, True)
    }
    times = {key: {k: one.total for k, one in found.items()} for key, found in chains.items()}
    add = addition(machine)
    rows = [*_all_at_once(polling, trapped, add), *_in_turn(polling_in_turn, trapped_in_turn)]
    rows += _chains({key: {k: (one.total, one.traps) for k, one in found.items()} for key, found in chains.items()})
    figures = [
        _figure_8(polling, trapped),
        _figure_9(polling_in_turn, trapped_in_turn),
        _figure_10(times),
        _figure_11(times),
    ]
    data = {
        "all, polling": {k: vars(one) for k, one in polling.items()},
        "all, trapped": {k: vars(one) for k, one in trapped.items()},
        "in turn, polling": {k: vars(one) for k, one in polling_in_turn.items()},
        "in turn, trapped": {k: vars(one) for k, one in trapped_in_turn.items()},
        "chains": {f"{n} iterations, {_how(chained)}": found for (n, chained), found in times.items()},
        "addition": add,
    }
    return Part("synchronisation", rows, figures, data=data)


def _how(chained: bool) -> str:
    return "chained" if chained else "mass"


def _all_at_once(polling: Totals, trapped: Totals, add: float) -> list[Row]:
    falls = [one.total / k for k, one in polling.items()]
    rows = [
        Row("figure 8", f"polling, {k} streams: time not explained", "about 0",
            1 - (LATENCY + k * add) / polling[k].total, "of total", "pred", -0.1, 0.1)
        for k in (20, 50, 100)
    ]  # fmt: skip
    largest = max(b / a for a, b in itertools.pairwise(falls))
    return [
        *rows,
        Row("figure 8", "time per stream, from one point to the next", "falls", largest, "ratio", "pred", None, 1),
        Row("figure 8", "trapped, 50 streams: per stream, before the additions", 14, trapped[50].last / 50,
            "cycles", "pred", 10, 30),
        Row("figure 8", "trapped, 50 streams: per stream, with additions", 14, trapped[50].total / 50,
            "cycles", "shown"),
        Row("figure 8", "trapped / polling, 50 streams", "below 1", trapped[50].total / polling[50].total,
            "ratio", "pred", None, 1),
    ]  # fmt: skip


def _in_turn(polling: Totals, trapped: Totals) -> list[Row]:
    rows = []
    for name, found in (("polling", polling), ("trapped", trapped)):
        streams = np.array(list(found), float)
        total = np.array([one.total for one in found.values()], float)
        straight = np.corrcoef(streams, total)[0, 1] ** 2
        rows += [
            Row("figure 9", f"{name}: R^2 of a straight line", "linear", straight, "", "pred", 0.99, 1),
            Row(
                "figure 9", f"{name}: per thread at 100", "three accesses", total[-1] / 100, "cycles", "pred", 345, 510
            ),
        ]
    return rows


def _chains(found: dict[tuple[int, bool], dict[int, tuple[int, int]]]) -> list[Row]:
    rows = []
    for chained in (False, True):
        total, traps = found[0, chained][70]
        what = f"{_how(chained)}, no computation: per thread at 70"
        rows.append(Row("figure 10", what, "2 latencies and retries", total / 70, "cycles", "pred", 340, 570))
        rows.append(Row("figure 10", f"{_how(chained)}, no computation: traps", 0, traps, "", "pred", 0, 0))
    cheaper = found[0, False][70][0] / found[0, True][70][0]
    rows.append(Row("figure 10", "mass / chained at 70", "slightly below 1", cheaper, "ratio", "pred", None, 1))
    for iterations, printed, kind in ((200, 10, "set"), (100, 20, "pred")):
        for chained in (False, True):
            first = min(k for k, (_, traps) in found[iterations, chained].items() if traps)
            what = f"{_how(chained)}, {iterations} iterations: streams at the first trap"
            rows.append(Row("figure 11", what, printed, first, "streams", kind, 0.9 * printed, 1.1 * printed))
        ratio = found[iterations, False][70][0] / found[iterations, True][70][0] - 1
        what = f"{iterations} iterations: mass / chained - 1 at 70"
        rows.append(Row("figure 11", what, "no difference", ratio, "", "pred", -0.03, 0.03))
    return rows


def _panels(
    series: dict[str, dict[int, float]], high: float, per_stream: float, dashed: tuple[str, ...] = ()
) -> list[Panel]:
    def of(divided: bool) -> list[Series]:
        return [
            Series(
                name,
                list(found),
                [total / (k if divided else 1) for k, total in found.items()],
                colour=n,
                marker=n,
                dash="dashed" if name in dashed else "solid",
            )
            for n, (name, found) in enumerate(series.items())
        ]

    x = Axis("streams", low=0)
    return [
        Panel(x, Axis("total", "cycles", low=0, high=high), of(divided=False)),
        Panel(x, Axis("total per stream", "cycles", low=0, high=per_stream), of(divided=True)),
    ]


AXES = "The ends of the axes are those of the study's figure."


def _figure_8(polling: Totals, trapped: Totals) -> Figure:
    before = "trapped, until the last goes on"
    series = {
        "polling (0 turns)": {k: float(one.total) for k, one in polling.items()},
        "trapped (150 turns)": {k: float(one.total) for k, one in trapped.items()},
        "polling, until the last goes on": {k: float(one.last) for k, one in polling.items()},
        before: {k: float(one.last) for k, one in trapped.items()},
    }
    return Figure(
        "mta-figure-08",
        "Threads that wait at one word, and leave it full (figure 8)",
        "Time from the write until all have gone on and added 1 to a counter.",
        _panels(series, 14_000, 3_500, ("polling, until the last goes on", before)),
        legend_at="below",
        remarks=AXES + " At 50 trapped threads the study saw 14 cycles per stream, and could not explain where the "
        "additions were; without them the emulated machine takes 30.",
    )


def _figure_9(polling: Totals, trapped: Totals) -> Figure:
    series = {
        "polling (0 turns)": {k: float(one.total) for k, one in polling.items()},
        "trapped (200 turns)": {k: float(one.total) for k, one in trapped.items()},
    }
    return Figure(
        "mta-figure-09",
        "Threads that wait at one word, empty it and fill it again (figure 9)",
        "Time from the first write until all have gone on, one after the other.",
        _panels(series, 45_000, 4_000),
        legend_at="below",
        remarks=AXES,
    )


def _figure_10(times: dict[tuple[int, bool], dict[int, int]]) -> Figure:
    series = {_how(chained): {k: float(total) for k, total in times[0, chained].items()} for chained in (False, True)}
    return Figure(
        "mta-figure-10",
        "Chains of threads without computation (figure 10)",
        "mass: all wait at one word. chained: each waits at a word of its own.",
        _panels(series, 40_000, 3_500),
        legend_at="below",
        remarks=AXES,
    )


def _figure_11(times: dict[tuple[int, bool], dict[int, int]]) -> Figure:
    series = {
        f"{_how(chained)}, {iterations} iterations": {k: float(total) for k, total in found.items()}
        for (iterations, chained), found in times.items()
        if iterations
    }
    dashed = tuple(name for name in series if name.startswith("chained"))
    return Figure(
        "mta-figure-11",
        "Chains of threads that compute (figure 11)",
        "Each thread computes between its read and its write; threads that wait too long trap.",
        _panels(series, 3e6, 45_000, dashed),
        legend_at="below",
        remarks=AXES
        + " Below the first trap both machines have straight lines. Beyond it, the study's threads took up to "
        "four times as long, and the emulated ones do not: they keep their streams, so they go on at once.",
    )
