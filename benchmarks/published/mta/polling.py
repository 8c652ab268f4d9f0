"""The question that the study leaves for the future: retries on the network, and the best number of them."""

from __future__ import annotations

from smp._output.figure import Axis, Figure, Panel, Series
from smp._output.table import Column, Table, counted
from smp._runtime.emulated.multithreaded.experiments.polling import WORKERS, Interference, interference
from smp.machines import MachineFile

from ..rows import Part

WAITING = (0, 5, 10, 20, 30, 40, 50, 60, 70, 80)
LIMITS = (16, 64, 256, 512, 1024, 2048, 4096, 16384)
WAITS = (3_000, 10_000, 30_000, 100_000, 200_000, 400_000, 800_000, 1_600_000)
NEVER = 1 << 40  # accesses before a trap: no thread traps
MANY = 60  # waiting streams of the second figure
Found = dict[int, dict[int, Interference]]  # by wait, then by limit


def part(machine: MachineFile, quick: bool) -> Part:
    """Measure the work of streams next to others that wait; the quick form is the same.

    The work uses all issue slots only without streams of the runtime, so the load is measured in both cases.
    """
    alone = machine.replace("streams.background", 0)
    loads = {
        name: {k: interference(one.replace("streams.retries", NEVER), k, 0) for k in WAITING}
        for name, one in (("no stream of the runtime", alone), ("with streams of the runtime", machine))
    }
    found: Found = {
        wait: {limit: interference(alone.replace("streams.retries", limit), MANY, wait) for limit in LIMITS}
        for wait in WAITS
    }
    data = {
        "by waiting streams": {name: {k: vars(one) for k, one in of.items()} for name, of in loads.items()},
        "by wait and limit": {wait: {k: vars(one) for k, one in of.items()} for wait, of in found.items()},
    }
    return Part("polling", figures=[_load(loads), _limits(found)], tables=[_table(found)], data=data)


def worst_losses(found: Found) -> dict[int, float]:
    """Return, for each limit, the largest part of the work that it loses against the best limit for the same wait."""
    limits = next(iter(found.values()))
    return {
        limit: max(1 - of[limit].work / max(one.work for one in of.values()) for of in found.values())
        for limit in limits
    }


def _table(found: Found) -> Table:
    losses = worst_losses(found)
    columns = [
        counted("limit"),
        *(Column(f"{wait:,}", form="fixed", digits=3) for wait in found),
        Column("largest loss", "%", "fixed", digits=1, scale=100.0),
    ]
    rows = [[limit, *(of[limit].work for of in found.values()), losses[limit]] for limit in losses]
    best = min(losses, key=losses.__getitem__)
    note = (
        f"Work is words per cycle of {WORKERS} streams that load, next to {MANY} that wait again and again. There is a "
        f"column for each length of the waits, in cycles. The largest loss is against the best limit of each column. "
        f"It is smallest with {best:,} accesses."
    )
    return Table("work by accesses before a trap, and by length of the waits", columns, rows, [note])


def _load(loads: dict[str, dict[int, Interference]]) -> Figure:
    def panel(name: str, of: dict[int, Interference]) -> Panel:
        streams = list(of)
        series = [
            Series("work", streams, [one.work for one in of.values()], marker=0),
            Series("retries", streams, [one.retries for one in of.values()], colour=1, marker=1),
            Series("a retry in 115 cycles", streams, [k / 115 for k in streams], colour=6, dash="dashed"),
        ]
        return Panel(Axis("waiting streams", low=0), Axis("words per cycle", low=0, high=1), series, name)

    return Figure(
        "mta-polling-load",
        "The load of waiting streams on the network",
        f"Words per cycle that {WORKERS} working streams and the retries of waiting streams send into the network.",
        [panel(name, of) for name, of in loads.items()],
        share_y="row",
        legend_at="below",
        remarks="The network takes one word per cycle from a processor. Retries are free as long as it has room. On "
        "the left it has none, so that retries wait behind loads: each takes up to 390 cycles.",
    )


def _limits(found: Found) -> Figure:
    def panel(title: str, unit: str, values: dict[int, list[float]], scale: str) -> Panel:
        series = [
            Series(f"{wait:,}", list(next(iter(found.values()))), of, shade=n / (len(values) - 1), marker=0)
            for n, (wait, of) in enumerate(values.items())
        ]
        y = Axis(title, unit, "log" if scale == "log" else "linear", 0 if scale != "log" else None)
        return Panel(Axis("accesses before a trap", scale="log"), y, series)

    work = {wait: [one.work for one in of.values()] for wait, of in found.items()}
    delay = {wait: [one.delay for one in of.values()] for wait, of in found.items()}
    return Figure(
        "mta-polling-limit",
        "The number of accesses before a trap",
        f"{WORKERS} working streams next to {MANY} that wait again and again, each time for the same number of cycles.",
        [panel("work", "words per cycle", work, "linear"), panel("delay after a fill", "cycles", delay, "log")],
        legend="wait (cycles)",
        remarks="Waits that end during a trap cost most. The hardware has 1,024.",
    )
