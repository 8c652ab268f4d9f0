"""Figures of the LoPC model and its simulation, after figures 5-1, 5-2, 5-3 and 6-2 of the thesis.

Lines are the model, points the simulation with its 95% intervals, dotted lines what bounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smp._output.figure import BLACK, GREY, Axis, Figure, Mark, Panel, Series
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

WORKS = (0, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048)
"""W of the simulated points, in cycles of the clock."""
WORK = Axis("work between two requests, W", "cycles")
THOUSAND = 1000.0


@dataclass(frozen=True)
class Setting:
    """A machine, and how many cycles each simulated point takes."""

    occupancy: float = 200.0
    processors: int = 32
    latency: float = 40.0
    variation: float = 0.0
    cycles: int = 20_000

    def reading(self, figure: str) -> str:
        machine = f"{self.processors} processors, wire {self.latency:g}, handlers {self.occupancy:g} cycles"
        thesis = f"after figure {figure} of the LoPC thesis"
        return f"{machine}, C² = {self.variation:g}; work constant; 95% intervals ({thesis})"

    def simulated(self, pattern: Pattern) -> Simulated:
        about: dict[str, Any] = {"variation": self.variation, "work_variation": 0.0, "cycles": self.cycles}
        return simulate(*pattern, latency=self.latency, occupancy=self.occupancy, **about)

    def all_to_all(self) -> list[Simulated]:
        return [self.simulated(all_to_all_pattern(work, self.processors)) for work in WORKS]

    def model(self, works: Sequence[float]) -> list[Any]:
        return [all_to_all(work, self.latency, self.occupancy, variation=self.variation) for work in works]


def figures(cycles: int = 20_000) -> Iterator[Figure]:
    """Describe the figures, one at a time; ``cycles`` in each simulated point."""
    yield shares()
    yield responses(Setting(cycles=cycles))
    yield components(Setting(cycles=cycles))
    yield servers(Setting(occupancy=131.0, cycles=cycles))


def shares(work: float = 1000.0, latency: float = 40.0, occupancies: Sequence[float] = (64, 128, 256, 512)) -> Figure:
    """Return the share of the response time that is contention, by C² (figure 5-1)."""
    variations = np.linspace(0.0, 2.0, 41)
    lines = []
    for k, occupancy in enumerate(reversed(occupancies)):
        found = [all_to_all(work, latency, occupancy, variation=c2) for c2 in variations]
        part = [100.0 * one.contention / one.response for one in found]
        lines.append(Series(f"{occupancy:g} cycles", variations, part, colour=k))
    x = Axis("squared coefficient of variation of the handlers' times, C²")
    return Figure(
        "lopc-shares",
        "The more the handlers' times vary, the more of a cycle is contention",
        f"all-to-all, W = {work:g}, wire time {latency:g} cycles: the LoPC model (after figure 5-1)",
        [Panel(x, Axis("contention", "% of the response time", low=0), lines)],
        legend="a handler takes",
    )


def responses(given: Setting) -> Figure:
    """Return the response time of all-to-all communication by work, with its bounds and LogP's (figure 5-2)."""
    works = np.linspace(0.0, WORKS[-1], 129).tolist()
    found = given.model(works)
    lower, upper = ([getattr(one, end) for one in found] for end in ("lower", "upper"))
    series = [
        Series("bounds", works, kind="band", low=lower, high=upper, colour=5),
        Series("LoPC", works, [one.response for one in found]),
        Series("rule of thumb", works, [one.rule for one in found], colour=2, dash="dotted"),
        Series("LogP", works, [one.logp for one in found], colour=GREY, dash="dashed"),
        _points("simulation", WORKS, [one.response for one in given.all_to_all()]),
    ]
    return Figure(
        "lopc-responses",
        "Contention costs about one handler more, whatever the work",
        given.reading("5-2"),
        [Panel(WORK, Axis("response time of a cycle, R", "cycles", low=0), series)],
    )


def components(given: Setting) -> Figure:
    """Return who waits in a cycle, in handlers, by work (figure 5-3)."""
    works = np.linspace(0.0, WORKS[-1], 129)
    found, simulated = given.model(works.tolist()), given.all_to_all()
    parts: dict[str, tuple[Any, Callable[[Simulated], Estimate], int]] = {
        "all": ([one.contention for one in found], lambda one: one.contention, BLACK),
        "the thread": ([one.work for one in found] - works, lambda one: one.thread_wait, 0),
        "a request": ([one.request - given.occupancy for one in found], lambda one: one.request_wait, 1),
        "a reply": ([one.reply - given.occupancy for one in found], lambda one: one.reply_wait, 2),
    }
    series = []
    for k, (name, (line, wait, colour)) in enumerate(parts.items()):
        points = [wait(one) for one in simulated]
        series.append(Series(name, works, np.array(line) / given.occupancy, colour=colour))
        series.append(_points("", WORKS, points, 1 / given.occupancy, colour=colour, marker=k))
    return Figure(
        "lopc-components",
        "With work the thread is interrupted; without, requests and replies wait for each other",
        given.reading("5-3"),
        [Panel(WORK, Axis("contention in a cycle", "handlers", low=0), series)],
        legend="lines: LoPC\npoints: simulation\n\nwaiting of",
    )


def servers(given: Setting, work: float = 1000.0) -> Figure:
    """Return the throughput of a work-pile by the number of servers (figure 6-2)."""
    machine = (work, given.latency, given.occupancy, given.processors)
    curve = throughput_curve(*machine, variation=given.variation)
    exact = arrival_curve(*machine, variation=given.variation)
    best = best_servers(*machine, variation=given.variation)
    counts = range(1, given.processors)
    measured = [given.simulated(client_server_pattern(work, given.processors, k)).throughput for k in counts]
    series = [
        Series("LoPC", curve.servers, THOUSAND * curve.throughput),
        Series("one client fewer", curve.servers, THOUSAND * exact, colour=2),
        Series("LogP, no waiting", curve.servers, THOUSAND * curve.clients / curve.logp, colour=GREY, dash="dashed"),
        Series(
            "servers never rest", curve.servers, THOUSAND * curve.servers / given.occupancy, colour=GREY, dash="dotted"
        ),
        _points("simulation", counts, measured, THOUSAND),
        Series(
            "to choose",
            [best.servers],
            [THOUSAND * best.throughput],
            "points",
            colour=1,
            marker=1,
            hollow=True,
            bold=True,
        ),
    ]
    y = Axis("throughput", "requests in 1,000 cycles", low=0, high=1.25 * THOUSAND * best.throughput)
    ideal = Mark(best.ideal, text=f"equation 6.8: {best.ideal:.2f}", colour=1)
    return Figure(
        "lopc-servers",
        "Too few servers are a bottleneck, too many leave no processor to work",
        f"W = {work:g}; {given.reading('6-2')}",
        [Panel(Axis("servers", f"of {given.processors} processors"), y, series, marks=[ideal])],
    )


def _points(name: str, x: Sequence[float], y: Sequence[Estimate], scale: float = 1.0, **look: Any) -> Series:
    """Return estimates with their intervals, times ``scale``."""
    middle, low, high = (scale * np.array([getattr(one, end) for one in y]) for end in ("mean", "low", "high"))
    return Series(name, x, middle, "points", low, high, "bars", **{"colour": BLACK} | look)
