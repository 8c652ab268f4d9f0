"""Figures of LoPC, a model of contention, and of its simulation, after figures 5-1, 5-2, 5-3 and 6-2 of the thesis.

Solid lines are the model, and points the simulation with its 95% intervals. Dashed and dotted lines are bounds and
simpler models. See `smp.models.lopc` for the model and for the thesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from smp._output.figure import BLACK, GREY, Axis, Figure, Mark, Panel, Series
from smp._output.numbers import percent
from smp.models.lopc import (
    Estimate,
    Simulated,
    all_to_all,
    all_to_all_pattern,
    arrival_curve,
    best_servers,
    client_server_pattern,
    simulate,
    throughput_curve,
)
from smp.models.lopc.patterns import Pattern

PROCESSORS, LATENCY, OCCUPANCY, SERVICE = 32, 40.0, 200.0, 131.0
"""Processors of the machine, and its times in clock cycles: on the wire, in a handler, in a handler of a server."""
WORKS = (0, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048)
"""Work W of a thread between two requests, at the simulated points, in cycles."""
LINE = np.linspace(0.0, WORKS[-1], 129).tolist()
"""W of the points of the model's lines, in cycles."""
WORK = Axis("work between two requests, W", "cycles")
THOUSAND = 1000.0
"""W in cycles, in figures with another quantity on the x axis; also the number of cycles that throughput refers to."""


def figures(cycles: int = 20_000) -> Iterator[Figure]:
    """Describe the figures, one at a time; each point is simulated for ``cycles`` cycles."""
    yield shares()
    found = [all_to_all(work, LATENCY, OCCUPANCY, variation=0.0) for work in LINE]
    simulated = [_simulated(all_to_all_pattern(work, PROCESSORS), OCCUPANCY, cycles) for work in WORKS]
    yield responses(found, simulated)
    yield components(found, simulated)
    yield servers(cycles)


def shares() -> Figure:
    """Return the figure of contention as a share of the response time, by C² (figure 5-1)."""
    variations = np.linspace(0.0, 2.0, 41)
    lines = []
    for k, occupancy in enumerate((512, 256, 128, 64)):
        found = [all_to_all(THOUSAND, LATENCY, occupancy, variation=c2) for c2 in variations]
        part = [100.0 * one.contention / one.response for one in found]
        lines.append(Series(f"{occupancy} cycles", variations, part, colour=k))
    x = Axis("squared coefficient of variation of the handlers' times, C²")
    return Figure(
        "lopc-shares",
        "How much of a cycle is contention, by the variation of the handlers' times?",
        f"all-to-all, W = {THOUSAND:g}, wire time {LATENCY:g} cycles: the LoPC model (after figure 5-1)",
        [Panel(x, Axis("contention", "% of the response time", low=0), lines)],
        legend="a handler takes",
    )


def responses(found: Sequence[Any], simulated: Sequence[Simulated]) -> Figure:
    """Return the figure of all-to-all response times by work, with bounds and the time by LogP (figure 5-2)."""
    lower, upper, lopc, rule, logp = (
        [getattr(one, name) for one in found] for name in ("lower", "upper", "response", "rule", "logp")
    )
    series = [
        Series("bounds", LINE, kind="band", low=lower, high=upper, colour=5),
        Series("LoPC", LINE, lopc),
        Series("rule of thumb", LINE, rule, colour=2, dash="dotted"),
        Series("LogP", LINE, logp, colour=GREY, dash="dashed"),
        _points("simulation", WORKS, [one.response for one in simulated]),
    ]
    model = dict(zip(LINE, lopc, strict=True))
    off = (abs(model[work] / one.response.mean - 1) for work, one in zip(WORKS, simulated, strict=True))
    return Figure(
        "lopc-responses",
        f"LoPC's response times are within {percent(max(off))}% of the simulation's",
        _reading(OCCUPANCY, "5-2"),
        [Panel(WORK, Axis("response time of a cycle, R", "cycles", low=0), series)],
    )


def components(found: Sequence[Any], simulated: Sequence[Simulated]) -> Figure:
    """Return the figure of the waiting times in a cycle, in units of a handler's time, by work (figure 5-3)."""
    parts: dict[str, tuple[list[float], Callable[[Simulated], Estimate], int]] = {
        "all": ([one.contention for one in found], lambda one: one.contention, BLACK),
        "the thread": ([one.work - w for one, w in zip(found, LINE, strict=True)], lambda one: one.thread_wait, 0),
        "a request": ([one.request - OCCUPANCY for one in found], lambda one: one.request_wait, 1),
        "a reply": ([one.reply - OCCUPANCY for one in found], lambda one: one.reply_wait, 2),
    }
    series = []
    for k, (name, (line, wait, colour)) in enumerate(parts.items()):
        series.append(Series(name, LINE, np.array(line) / OCCUPANCY, colour=colour))
        points = [wait(one) for one in simulated]
        series.append(_points("", WORKS, points, 1 / OCCUPANCY, colour=colour, marker=k))
    return Figure(
        "lopc-components",
        "Where does a cycle wait, by the work between two requests?",
        _reading(OCCUPANCY, "5-3"),
        [Panel(WORK, Axis("contention in a cycle", "handlers", low=0), series)],
        legend="lines: LoPC\npoints: simulation\n\nwaiting of",
    )


def servers(cycles: int) -> Figure:
    """Return the figure of the throughput of a work-pile by the number of servers (figure 6-2)."""
    machine = (THOUSAND, LATENCY, SERVICE, PROCESSORS)
    curve = throughput_curve(*machine, variation=0.0)
    exact, best = arrival_curve(*machine, variation=0.0), best_servers(*machine, variation=0.0)
    counts, most = range(1, PROCESSORS), THOUSAND * best.throughput
    patterns = (client_server_pattern(THOUSAND, PROCESSORS, count) for count in counts)
    measured = [_simulated(pattern, SERVICE, cycles).throughput for pattern in patterns]
    grey: dict[str, Any] = {"colour": GREY}
    series = [
        Series("LoPC", curve.servers, THOUSAND * curve.throughput),
        Series("one client fewer", curve.servers, THOUSAND * exact, colour=2),
        Series("LogP, no waiting", curve.servers, THOUSAND * curve.clients / curve.logp, dash="dashed", **grey),
        Series("servers never rest", curve.servers, THOUSAND * curve.servers / SERVICE, dash="dotted", **grey),
        _points("simulation", counts, measured, THOUSAND),
        Series("best choice", [best.servers], [most], "points", colour=1, marker=1, hollow=True, bold=True),
    ]
    y = Axis("throughput", "requests in 1,000 cycles", low=0, high=1.25 * most)
    ideal = Mark(best.ideal, text=f"equation 6.8: {best.ideal:.2f}", colour=1)
    return Figure(
        "lopc-servers",
        f"{best.servers} of {PROCESSORS} processors as servers give the highest throughput, by LoPC",
        f"W = {THOUSAND:g}; {_reading(SERVICE, '6-2')}",
        [Panel(Axis("servers", f"of {PROCESSORS} processors"), y, series, marks=[ideal])],
    )


def _reading(occupancy: float, figure: str) -> str:
    machine = f"{PROCESSORS} processors, wire {LATENCY:g}, handlers {occupancy:g} cycles, C² = 0; work constant"
    return f"{machine}; 95% intervals (after figure {figure} of the LoPC thesis)"


def _simulated(pattern: Pattern, occupancy: float, cycles: int) -> Simulated:
    return simulate(*pattern, LATENCY, occupancy, variation=0.0, work_variation=0.0, cycles=cycles)


def _points(name: str, x: Sequence[float], y: Sequence[Estimate], scale: float = 1.0, **look: Any) -> Series:
    """Return a series of estimates with their intervals, multiplied by ``scale``."""
    middle, low, high = (scale * np.array([getattr(one, end) for one in y]) for end in ("mean", "low", "high"))
    return Series(name, x, middle, "points", low, high, "bars", **{"colour": BLACK} | look)
