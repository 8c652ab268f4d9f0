"""Mesh without a barrier: neighbours exchange their states through cells, one for each datum and direction.

    cells of node r      from north │ from south │ from west │ from east      ``words`` cells each, empty between rounds

    a round     send: writeef into the four neighbours' cells ─▶ receive: readfe of one's own ─▶ update

A node sends before it receives, and a cell is empty again once its node has received.  So a node is at most one round
ahead of its neighbours, and nodes never wait in a circle.  The sends of round r wait for the receives of round r - 1,
and those receives wait for the sends of round r - 1.

Places where perturbation tuning inserts delays: those of `relax_mesh`, but `send` and `receive` for each neighbour, so
four times per round.

Source: that of `relax_mesh`, whose form for distributed memory passes messages between neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Processor, inline, stream
from smp._runtime.memory.cells import Cells
from smp.compiled import delay, readfe, writeef

from ..costs import Costs, costs_of
from .mesh import NEIGHBOURS, Shape, States, check_mesh, mesh_shape, neighbours, update


@inline
def send(cells: Cells, around: NDArray[np.int64], mine: States) -> None:
    """Send a node's own state to its four neighbours: to the northern one as from the south, and so on."""
    words = len(mine)
    for direction in range(NEIGHBOURS):
        delay("send")
        place = (around[direction] * NEIGHBOURS + (direction ^ 1)) * words
        for k in range(words):
            writeef(cells, place + k, mine[k])


@inline
def receive(cells: Cells, rank: int, received: States) -> None:
    """Wait for the states of the four neighbours and write them into ``received``."""
    words = received.shape[1]
    for direction in range(NEIGHBOURS):
        delay("receive")
        place = (rank * NEIGHBOURS + direction) * words
        for k in range(words):
            received[direction, k] = readfe(cells, place + k)


@stream
def main(cells: Cells, rank: int, around: NDArray[np.int64], mine: States, rounds: int, grain: int) -> None:
    """Take one node's state through all rounds."""
    received = np.empty((NEIGHBOURS, len(mine)))
    for _ in range(rounds):
        delay("main_loop")
        send(cells, around, mine)
        receive(cells, rank, received)
        update(mine, received, grain)


def relax_mesh_cells(
    proc: Processor, state: GlobalArray, *, rounds: int, grain: int = 1, shape: Shape | None = None
) -> None:
    """Relax the states of a wrapped mesh whose nodes wait only for their neighbours (SPMD program).

    Parameters
    ----------
    proc, state, rounds, grain, shape
        As for `smp.kernels.messages.mesh.relax_mesh`; the result is the same, bit for bit.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors alike, before the first superstep.

    Notes
    -----
    Supersteps: ``start`` (``words`` reads per processor), ``end`` (``words`` writes per processor); see `cost`.
    Between them, every round takes 4 ``words`` writeef and as many readfe per processor.  The cells take 64 bytes for
    each datum.
    """
    check_mesh(proc, state, rounds, grain)
    around = neighbours(proc.rank, mesh_shape(proc.size, shape))
    cells = proc.cells(NEIGHBOURS * state.size, np.float64)
    with proc.superstep("start") as step:
        mine = step.copy_in(state, proc.rank)
    main(cells, proc.rank, around, mine, rounds, grain)
    with proc.superstep("end") as step:
        step.compute()
        step.copy_out(state, proc.rank, mine)


def cost(p: int, words: int) -> Costs:
    """Return exactly what the supersteps of `relax_mesh_cells` access; the cells are not counted."""
    return costs_of([("start", words, 0, words * p), ("end", 0, words, words * p)])
