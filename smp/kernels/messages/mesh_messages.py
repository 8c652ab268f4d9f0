"""Mesh by messages: neighbours send their states to each other.

    a round     send: one's own state to the four neighbours ─▶ receive: theirs ─▶ update

The kind of a message is the direction that it comes from, and messages of one kind arrive in the order in which they
were sent.  So a message from a neighbour that is a round ahead is not taken for another, and in a mesh of one or two
rows the directions are kept apart.

Places where perturbation tuning inserts delays: those of `relax_mesh`, but `send` and `receive` for each neighbour, so
four times per round.

Source: Synthetic-perturbation tuning of MIMD programs, section 4.2, example 3-DM.  There messages congest, as they do
on an emulated machine with the network `smp.networks.congested`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Processor
from smp.compiled import delay

from ..costs import Costs
from .mailbox import Mailbox
from .mesh import NEIGHBOURS, Shape, States, check_mesh, mesh_shape, neighbours, update
from .mesh_cells import cost as cost_of_cells


def send(mailbox: Mailbox, around: NDArray[np.int64], mine: States) -> None:
    """Send a node's own state to its four neighbours: to the northern one as from the south, and so on."""
    for direction in range(NEIGHBOURS):
        delay("send")
        mailbox.send(int(around[direction]), direction ^ 1, mine)


def receive(mailbox: Mailbox, received: States) -> None:
    """Wait for the states of the four neighbours and write them into ``received``."""
    for direction in range(NEIGHBOURS):
        delay("receive")
        received[direction] = mailbox.receive(direction, received.shape[1])


def relax_mesh_messages(
    proc: Processor, state: GlobalArray, *, rounds: int, grain: int = 1, shape: Shape | None = None
) -> dict[str, int]:
    """Relax the states of a wrapped mesh whose nodes send each other messages (SPMD program).

    Parameters
    ----------
    proc, state, rounds, grain, shape
        As for `smp.kernels.messages.mesh.relax_mesh`; the result is the same, bit for bit.

    Returns
    -------
    dict of str to int
        On a network that congests, ``attempts`` and ``failures``: number of transmissions of all nodes, and of those
        that had to be repeated.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors alike, before the first superstep.

    Notes
    -----
    The supersteps are those of `relax_mesh_cells`; see `cost`.  Between them, every processor sends four messages of
    ``words`` in every round.
    """
    check_mesh(proc, state, rounds, grain)
    around = neighbours(proc.rank, mesh_shape(proc.size, shape))
    mailbox = Mailbox(proc)
    with proc.superstep("start") as step:
        mine = step.copy_in(state, proc.rank)
    received = np.empty((NEIGHBOURS, len(mine)))
    for _ in range(rounds):
        delay("main_loop")
        send(mailbox, around, mine)
        receive(mailbox, received)
        update(mine, received, grain)
    with proc.superstep("end") as step:
        step.compute()
        step.copy_out(state, proc.rank, mine)
    return mailbox.transmissions()


def cost(p: int, words: int) -> Costs:
    """Return exactly what the supersteps of `relax_mesh_messages` access; the messages are not counted."""
    return cost_of_cells(p, words)
