"""Plots of the LoPC model beside its simulation, after figures 5-1, 5-2, 5-3 and 6-2 of the thesis.

Lines are the model, points the simulation with its 95% intervals, dotted lines what bounds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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

from .axes import COLOURS, GREY, MARKERS, canvas, legend, whole_numbers

WORKS = (0, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048)
"""W of the simulated points, in cycles of the clock."""


def shares(work: float = 1000.0, latency: float = 40.0, occupancies: Sequence[float] = (64, 128, 256, 512)) -> Figure:
    """Draw the share of the response time that is contention, by C² (figure 5-1)."""
    figure, ((axes,),) = canvas(
        "The more the handlers' times vary, the more of a cycle is contention",
        f"all-to-all, W = {work:g}, wire time {latency:g} cycles: the LoPC model (after figure 5-1)",
        right=0.84,
    )
    variations = np.linspace(0.0, 2.0, 41)
    for occupancy, colour in zip(reversed(occupancies), COLOURS, strict=False):
        found = [all_to_all(work, latency, occupancy, variation=c2) for c2 in variations]
        part = [100.0 * one.contention / one.response for one in found]
        axes.plot(variations, part, color=colour, label=f"{occupancy:g} cycles")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("squared coefficient of variation of the handlers' times, C²")
    axes.set_ylabel("contention (% of the response time)")
    legend(axes, "a handler takes")
    return figure


def responses(
    processors: int = 32, latency: float = 40.0, occupancy: float = 200.0, variation: float = 0.0, cycles: int = 20_000
) -> Figure:
    """Draw the response time of all-to-all communication by work, with its bounds and LogP's (figure 5-2)."""
    figure, ((axes,),) = canvas(
        "Contention costs about one handler more, whatever the work",
        _caption(processors, latency, occupancy, variation, "5-2"),
        right=0.84,
    )
    works = np.linspace(0.0, WORKS[-1], 129)
    found = [all_to_all(work, latency, occupancy, variation=variation) for work in works]
    axes.fill_between(
        *(works, [one.lower for one in found], [one.upper for one in found]),
        color=COLOURS[5],
        alpha=0.3,
        linewidth=0,
        label="bounds",
    )
    axes.plot(works, [one.response for one in found], color=COLOURS[0], label="LoPC")
    axes.plot(works, [one.rule for one in found], ":", color=COLOURS[2], label="rule of thumb")
    axes.plot(works, [one.logp for one in found], "--", color=GREY, label="LogP")
    simulated = _simulated(WORKS, processors, latency, occupancy, variation, cycles)
    _points(axes, WORKS, [one.response for one in simulated], "black", MARKERS[0], label="simulation")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("work between two requests, W (cycles)")
    axes.set_ylabel("response time of a cycle, R (cycles)")
    legend(axes)
    return figure


def components(
    processors: int = 32, latency: float = 40.0, occupancy: float = 200.0, variation: float = 0.0, cycles: int = 20_000
) -> Figure:
    """Draw who waits in a cycle, in handlers, by work (figure 5-3)."""
    figure, ((axes,),) = canvas(
        "With work the thread is interrupted; without, requests and replies wait for each other",
        _caption(processors, latency, occupancy, variation, "5-3"),
        right=0.84,
    )
    works = np.linspace(0.0, WORKS[-1], 129)
    found = [all_to_all(work, latency, occupancy, variation=variation) for work in works]
    simulated = _simulated(WORKS, processors, latency, occupancy, variation, cycles)
    parts = {
        "all": ([one.contention for one in found], [one.contention for one in simulated]),
        "the thread": (
            [one.work - work for one, work in zip(found, works, strict=True)],
            [one.thread_wait for one in simulated],
        ),
        "a request": ([one.request - occupancy for one in found], [one.request_wait for one in simulated]),
        "a reply": ([one.reply - occupancy for one in found], [one.reply_wait for one in simulated]),
    }
    for (name, (line, points)), colour, marker in zip(parts.items(), ("black", *COLOURS), MARKERS, strict=False):
        axes.plot(works, np.array(line) / occupancy, color=colour, label=name)
        _points(axes, WORKS, points, colour, marker, scale=occupancy)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("work between two requests, W (cycles)")
    axes.set_ylabel("contention in a cycle (handlers)")
    legend(axes, "lines: LoPC\npoints: simulation\n\nwaiting of")
    return figure


def servers(
    processors: int = 32,
    work: float = 1000.0,
    latency: float = 40.0,
    occupancy: float = 131.0,
    variation: float = 0.0,
    cycles: int = 20_000,
) -> Figure:
    """Draw the throughput of a work-pile by the number of servers (figure 6-2)."""
    figure, ((axes,),) = canvas(
        "Too few servers are a bottleneck, too many leave nobody to work",
        f"W = {work:g}; " + _caption(processors, latency, occupancy, variation, "6-2"),
        right=0.84,
    )
    curve = throughput_curve(work, latency, occupancy, processors, variation=variation)
    exact = arrival_curve(work, latency, occupancy, processors, variation=variation)
    best = best_servers(work, latency, occupancy, processors, variation=variation)
    thousand = 1000.0
    axes.plot(curve.servers, thousand * curve.throughput, color=COLOURS[0], label="LoPC")
    axes.plot(curve.servers, thousand * exact, color=COLOURS[2], linewidth=1.2, label="one client fewer")
    axes.plot(curve.servers, thousand * curve.clients / curve.logp, "--", color=GREY, label="LogP, no waiting")
    axes.plot(curve.servers, thousand * curve.servers / occupancy, ":", color=GREY, label="servers never rest")
    counts = range(1, processors)
    measured = [
        simulate(
            *client_server_pattern(work, processors, count),
            *(latency, occupancy),
            variation=variation,
            work_variation=0.0,
            cycles=cycles,
        ).throughput
        for count in counts
    ]
    _points(axes, counts, measured, "black", MARKERS[0], scale=1.0 / thousand, label="simulation")
    axes.axvline(best.ideal, color=COLOURS[1], linewidth=1.2, label=f"equation 6.8: {best.ideal:.2f}")
    axes.plot(
        best.servers, thousand * best.throughput, "s", color=COLOURS[1], markersize=11, zorder=1, label="to choose"
    )
    axes.set_ylim(0, 1.25 * thousand * best.throughput)
    whole_numbers(axes.xaxis)
    axes.set_xlabel(f"servers, of {processors} processors")
    axes.set_ylabel("throughput (requests in 1,000 cycles)")
    legend(axes)
    return figure


def figures(cycles: int = 20_000) -> Iterator[tuple[str, Figure]]:
    """Make the plots with their names, one at a time; ``cycles`` in each simulated point."""
    yield "lopc-shares", shares()
    yield "lopc-responses", responses(cycles=cycles)
    yield "lopc-components", components(cycles=cycles)
    yield "lopc-servers", servers(cycles=cycles)


def _caption(processors: int, latency: float, occupancy: float, variation: float, figure: str) -> str:
    machine = f"{processors} processors, wire {latency:g}, handlers {occupancy:g} cycles, C² = {variation:g}"
    return f"{machine}; work constant; 95% intervals (after figure {figure} of the LoPC thesis)"


def _simulated(
    works: Sequence[float], processors: int, latency: float, occupancy: float, variation: float, cycles: int
) -> list[Simulated]:
    return [
        simulate(
            *all_to_all_pattern(work, processors),
            *(latency, occupancy),
            variation=variation,
            work_variation=0.0,
            cycles=cycles,
        )
        for work in works
    ]


def _points(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[Estimate],
    colour: str,
    marker: str,
    *,
    scale: float = 1.0,
    label: str = "",
) -> None:
    """Draw estimates with their intervals, in units of ``scale``."""
    middle = np.array([one.mean for one in y]) / scale
    reach = np.array([(one.high - one.low) / 2.0 for one in y]) / scale
    axes.errorbar(
        x, middle, reach, fmt=marker, color=colour, markersize=5, capsize=2, elinewidth=1, label=label or None
    )
