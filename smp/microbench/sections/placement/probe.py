"""Looks at the placement of the CPUs, some milliseconds apart, on a machine that does nothing else.

    look ── pause ── look ── pause ── look       each: hand-off, clock, a loop on one CPU and on all CPUs

The other sections take further readings of the hand-off next to their samples.  When a campaign ends, the states are
found in all readings.  None of the papers has this section, since in the 1990s a CPU stayed where it was.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smp._computer.limits import measuring_cpus, usable_cpus
from smp._computer.system import Stolen
from smp._runtime.kinds import host
from smp._runtime.program.processor import Processor
from smp._runtime.protocols.placement import UNKNOWN
from smp._runtime.protocols.wait import RETRIES
from smp.microbench.method.placement import records
from smp.microbench.method.plan import Measurement, Plan, Tick
from smp.models.placement import Placement as States
from smp.models.placement_log import PlacementLog
from smp.profiles.records import PlacementState

from .loops import CHAIN, LOOK, look
from .rows import Placement, Seen

SECONDS = {"quick": 0.6, "default": 2.0, "full": 16.0}
"""Seconds for all numbers of processors together, by mode."""
PAUSE = 0.005  # seconds between two looks
SPINS = 1 << 40  # polls of a barrier before a processor blocks: in effect never, as it would be late for the look

SAMPLE = np.dtype(
    [
        ("p", np.int16),
        ("at_s", np.float64),
        ("ns", np.float32),
        ("GHz", np.float32),
        ("slowest_GHz", np.float32),
        ("together", np.float32),
    ]
)


class Looks(NamedTuple):
    """Looks at p processors, and the states of their placement."""

    taken: NDArray[np.void]
    states: States

    def rows(self, p: int) -> list[Seen]:
        """Return a row for each state, with medians of the looks in it."""
        labels = self.states.label(self.taken["ns"])
        return [_seen(p, record, self.taken[labels == k]) for k, record in enumerate(records(self.states))]


def _seen(p: int, state: PlacementState, mine: NDArray[np.void]) -> Seen:
    clock, slowest, together = (
        float(np.median(mine[field])) if len(mine) else None for field in ("GHz", "slowest_GHz", "together")
    )
    return Seen(p=p, looks=len(mine), clock_GHz=clock, slowest_GHz=slowest, together=together, **state.model_dump())


def measure(plan: Plan, tick: Tick) -> Measurement:
    """Look at the CPUs for every p of the plan that is at least two and at most the number of usable CPUs.

    Parameters
    ----------
    plan : Plan
    tick : callable
        Called with the fraction done.

    Returns
    -------
    Measurement
        ``rows`` has a row for each p and state, and ``samples`` has every look (of dtype `SAMPLE`).
    """
    chosen = [p for p in sorted(set(plan.processors)) if 1 < p <= len(usable_cpus())]
    stolen, taken, rows = Stolen(), [np.zeros(0, SAMPLE)], list[Seen]()
    for k, p in enumerate(chosen):
        tick(k / len(chosen), f"placement, p = {p}")
        found = look_around(p, plan.seconds(SECONDS[plan.mode]) / len(chosen), plan.placement)
        rows += found.rows(p)
        taken.append(found.taken)
    counts = {str(p): len(part) for p, part in zip(chosen, taken[1:], strict=True)}
    data = Placement(rows=rows, looks=counts, stolen_fraction=stolen.fraction(), valid=True, why=[])
    return Measurement(data, {"looks": np.concatenate(taken)})


def look_around(p: int, seconds: float, log: PlacementLog) -> Looks:
    """Look at p CPUs for some seconds, note the readings in the log, and find the states in all of its readings.

    Parameters
    ----------
    p : int
        Number of processors, each on a CPU of its own.
    seconds : float
    log : PlacementLog
    """
    with host(p, pin=measuring_cpus(p)) as machine:
        machine.run(_looks, 0.0)
        answers = np.stack(machine.run(_looks, seconds).results)
    placed, chains = answers[:, :, 1], answers[:, :, 2]
    taken = np.zeros(answers.shape[1], SAMPLE)
    taken["p"], taken["at_s"] = p, answers[0, :, 0] * 1e-9
    taken["ns"] = np.where((placed != UNKNOWN).all(0), placed.max(0) / 1e3, np.nan)
    taken["GHz"], taken["slowest_GHz"] = CHAIN / np.median(chains, 0), CHAIN / chains.max(0)
    taken["together"] = answers[:, :, 4].max(0) / answers[0, :, 3]
    log.note(p, taken["at_s"], taken["ns"])
    return Looks(taken, log.placement(p))


def _looks(proc: Processor, seconds: float) -> NDArray[np.int64]:
    """Take looks, at least one, until the time is over on processor 0."""
    found: list[NDArray[np.int64]] = []
    usual = int(proc.sync[RETRIES])
    end = time.monotonic() + seconds
    while proc.broadcast(not found or time.monotonic() < end, root=0):
        time.sleep(PAUSE)
        proc.sync[RETRIES] = SPINS
        row = np.zeros(LOOK, np.int64)
        look(proc.sync, proc.rank, row)
        proc.sync[RETRIES] = usual
        found.append(row)
    return np.stack(found)
