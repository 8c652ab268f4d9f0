"""The throughput of a work-pile on 32 processors, for every number of servers (chapter 6, figure 6-2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smp._output.figure import Axis, Figure, Panel, Series
from smp._output.table import Column, Table
from smp.models.lopc import arrival_curve, best_servers, throughput_curve

from ..rows import Part, Row
from .runs import Case, all_found

PROCESSORS, WIRE, HANDLER = 32, 40.0, 131.0
WORKS = (200.0, 1000.0, 5000.0)
QUICK = (1, 2, 4, 6, 8, 9, 16, 31)
"""Numbers of servers of the quick form."""
THOUSAND = 1000.0


def part(quick: bool) -> Part:
    """Run all numbers of servers, with and without protocol processors."""
    servers = QUICK if quick else tuple(range(1, PROCESSORS))
    chosen = [
        Case(PROCESSORS, work, WIRE, HANDLER, 0.0, servers=n, apart=apart, cycles=600 if quick else 2000)
        for apart in (False, True)
        for work in (WORKS if not apart else WORKS[1:2])
        for n in servers
    ]
    found = all_found(chosen, "client-server")
    throughput = [(PROCESSORS - case.servers) / one.measured for case, one in zip(chosen, found, strict=True)]
    curves = {work: throughput[k * len(servers) :][: len(servers)] for k, work in enumerate(WORKS)}
    apart = throughput[len(WORKS) * len(servers) :]
    rows, tables, figures = [], [], []
    for work, curve in curves.items():
        rows += _rows(work, servers, curve)
        tables.append(_table(work, servers, curve))
        figures.append(_figure(work, servers, curve))
    same = max(abs(np.array(apart) / np.array(curves[WORKS[1]]) - 1))
    what = "change of the throughput by protocol processors, most"
    rows.append(
        Row(f"W = {WORKS[1]:g}", what, "none: a thread that waits has no work", 100 * same, "%", "pred", 0, 0.01)
    )
    data = {f"{work:g}": {"servers": servers, "throughput": curve} for work, curve in curves.items()}
    return Part("client-server", rows, figures=figures, tables=tables, data=data)


def _rows(work: float, servers: Sequence[int], curve: Sequence[float]) -> list[Row]:
    lopc, fewer = _models(work, servers)
    measured, name = np.array(curve), f"W = {work:g}"
    errors, closer = 100 * (lopc / measured - 1), 100 * (fewer / measured - 1)
    choice = best_servers(work, WIRE, HANDLER, PROCESSORS, variation=0.0)
    loss = 100 * (1 - measured[servers.index(choice.servers)] / measured.max())
    return [
        Row(name, "error of the throughput by LoPC, least", "-3%, conservative", float(errors.min()), "%", "pred", -3),
        Row(name, "error of the throughput by LoPC, most", "3%", float(errors.max()), "%", "pred", None, 3),
        Row(name, "the same with one client fewer, least", "", float(closer.min()), "%", "shown"),
        Row(name, "the same with one client fewer, most", "", float(closer.max()), "%", "shown"),
        Row(name, f"loss with {choice.servers} servers (best_servers)", "2%", loss, "%", "pred", None, 2),
    ]


def _models(work: float, servers: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the throughput by the model, and by the arrival theorem with one client fewer."""
    at = np.array(servers) - 1
    lopc = throughput_curve(work, WIRE, HANDLER, PROCESSORS, variation=0.0).throughput
    return lopc[at], arrival_curve(work, WIRE, HANDLER, PROCESSORS, variation=0.0)[at]


def _table(work: float, servers: Sequence[int], curve: Sequence[float]) -> Table:
    error = {"unit": "%", "form": "fixed", "digits": 1, "scale": 100.0}
    columns = (
        Column("servers"),
        Column("emulated", form="fixed", digits=2),
        Column("LoPC", form="fixed", digits=2),
        Column("error", **error),  # type: ignore[arg-type]
        Column("one client fewer", form="fixed", digits=2),
    )
    models = zip(servers, curve, *_models(work, servers), strict=True)
    rows = [[n, x * THOUSAND, lopc * THOUSAND, lopc / x - 1, fewer * THOUSAND] for n, x, lopc, fewer in models]
    return Table(f"client-server, W = {work:g}: chunks in 1,000 cycles", columns, rows)


def _figure(work: float, servers: Sequence[int], curve: Sequence[float]) -> Figure:
    lopc, fewer = (THOUSAND * values for values in _models(work, servers))
    series = [
        Series("LoPC", servers, lopc, colour=0),
        Series("one client fewer", servers, fewer, colour=1, dash="dashed"),
        Series("emulated", servers, THOUSAND * np.array(curve), kind="points", colour=2, marker=0),
    ]
    return Figure(
        f"lopc-machine-servers-{work:g}",
        f"A work-pile on {PROCESSORS} emulated processors, W = {work:g} cycles",
        "Points are runs of the emulated machine, lines are models.",
        [Panel(Axis("servers"), Axis("chunks in 1,000 cycles"), series)],
    )
