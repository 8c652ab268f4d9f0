"""The processors of a machine of MPI: workers that share memory if all are on this computer, else those of nodes."""

from __future__ import annotations

import operator
import os
import sys
import time
from collections.abc import Sequence

from smp._computer.interrupt import HeldBack
from smp._computer.limits import usable_cpus

from ..host.pinning import pinned
from ..host.workers import START, Workers
from ..nodes.layout import Nodes
from ..nodes.parent import NodesParent
from ..program.port import Processors
from .jobs import Place
from .ranks import RankProcesses, ranks_of_job
from .world import World


def opened(
    size: int,
    job: Place | None,
    command: Sequence[str],
    far: bool,
    pin: bool | Sequence[int] | None,
    patience: float,
) -> Processors:
    """Return the processors of a new machine.

    Parameters
    ----------
    size : int
        Number of ranks.
    job : Place or None
        Place of this process in the job of a launcher.
    command : sequence of str
        Command of the launcher, if there is no job.
    far : bool
        Whether ranks may be on other computers.
    pin : bool, sequence of int or None
    patience : float
        See `smp.mpi`.
    """
    cpus = usable_cpus()
    with HeldBack() as ctrl_c:
        ranks = RankProcesses(World(size, command, joined=False, far=far)) if job is None else ranks_of_job(job)
        try:
            ranks.prepare(ctrl_c, time.monotonic() + START)
            apart = ranks.places[-1][0] > 0 or not all(line.is_local() for line in ranks.lines)
            where = None if apart else pinned(size, cpus, pin)
            named = _named(pin, size) if apart else []
        except BaseException:
            ranks.close()
            raise
        if where is None:
            return _on_nodes(ranks, pin is True, named, patience, ctrl_c)
    return Workers("mpi", size, lambda: ranks, lambda: where)


def _named(pin: bool | Sequence[int] | None, size: int) -> list[int]:
    """Return the CPUs that a user names for processors on several nodes, if any."""
    if pin is None or isinstance(pin, bool):
        return []
    named = [operator.index(cpu) for cpu in pin]
    if len(named) < size:
        raise ValueError(f"pin={named} must name a CPU for each of {size} processors")
    return named


def _on_nodes(
    ranks: RankProcesses, to_pin: bool, named: Sequence[int], patience: float, ctrl_c: HeldBack
) -> NodesParent:
    cpus, nodes = usable_cpus(), Nodes([node for node, _ in ranks.places])
    crowded = max(nodes.count) > len(cpus)

    def start(rank: int, key: str) -> None:
        place = ranks.places[rank][1]
        specification = {
            "key": key,
            "nodes": nodes.of,
            "path": [entry for entry in sys.path if isinstance(entry, str)],
            "cwd": os.getcwd(),
            "pin": cpus[place % len(cpus)] if to_pin else named[rank] if named else None,
            "spin": not crowded,
            "patience": patience,
        }
        ranks.start_on_nodes(rank, specification)

    return NodesParent(ranks, nodes, start, patience, ctrl_c)
