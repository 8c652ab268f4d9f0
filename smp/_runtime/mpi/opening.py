"""The processors of a machine of MPI: workers that share memory if all ranks are on one node, else those of nodes."""

from __future__ import annotations

import operator
import os
import sys
import time
from collections.abc import Sequence

from smp._computer.interrupt import HeldBack
from smp._computer.limits import places_of, usable_cpus

from ..host.workers import START, Workers
from ..nodes.layout import Nodes
from ..nodes.parent import NodesParent
from ..program.port import Processors
from .jobs import Place
from .ranks import RankProcesses, ranks_of_job
from .world import World


def opened(
    size: int, job: Place | None, command: Sequence[str], far: bool, pin: bool | Sequence[int] | None
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
        See `smp.mpi`.
    """
    cpus = usable_cpus()
    with HeldBack() as ctrl_c:
        ranks = RankProcesses(World(size, command, joined=False, far=far)) if job is None else ranks_of_job(job)
        try:
            ranks.prepare(ctrl_c, time.monotonic() + START)
            if ranks.places[-1][0] > 0:
                return _on_nodes(ranks, pin, ctrl_c)
            places = places_of(size, cpus, pin)
        except BaseException:
            ranks.close()
            raise
    roomy = size <= len(cpus) and len(set(places)) in (1 if places[0] is None else size, size)
    return Workers("mpi", lambda: ranks, places, roomy)


def _on_nodes(ranks: RankProcesses, pin: bool | Sequence[int] | None, ctrl_c: HeldBack) -> NodesParent:
    cpus, nodes = usable_cpus(), Nodes([node for node, _ in ranks.places])
    named = [operator.index(cpu) for cpu in pin] if pin and pin is not True else []
    if named and len(named) < len(nodes.of):
        raise ValueError(f"pin={named} must name a CPU for each of {len(nodes.of)} processors")
    crowded = max(place for _, place in ranks.places) >= len(cpus)

    def start(rank: int, key: str) -> None:
        place = ranks.places[rank][1]
        given = cpus[place % len(cpus)] if pin is True else named[rank] if named else None
        path = [entry for entry in sys.path if isinstance(entry, str)]
        specification = {
            "key": key,
            "nodes": nodes.of,
            "path": path,
            "cwd": os.getcwd(),
            "pin": given,
            "spin": not crowded,
        }
        ranks.start_on_nodes(rank, specification)

    return NodesParent(ranks, nodes, start, ctrl_c)
