"""Mesh: every node of a wrapped mesh computes a new state from those of its four neighbours, round after round.

                     (0,1)
                       │ north                     row 0 is south of the last row, column 0 east of the last column:
        west           ▼           east            in a mesh of two rows north and south are the same node, read
     (1,0) ────────▶ (1,1) ◀──────── (1,2)         twice; in one of a single row they are the node itself
                       ▲
                       │ south
                     (2,1)

    a round     receive the four neighbours' states ─▶ update one's own ─▶ send it

Each node is a processor, and each round is a superstep.  `smp.kernels.messages.mesh_cells` does the same without a
barrier, and `smp.kernels.messages.mesh_messages` by messages.

Places where perturbation tuning inserts delays: `main_loop`, `receive` and `send`, when each of them begins, once per
round; and `update`, before each unit of its work.

Source: Synthetic-perturbation tuning of MIMD programs, section 4, example 3; there on 4 x 4 processors.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import GlobalArray, Processor, local, stream
from smp._runtime.loops.places import delay
from smp._runtime.program.superstep import Superstep

from ..costs import Costs, costs_of

NEIGHBOURS = 4
NORTH, SOUTH, WEST, EAST = range(NEIGHBOURS)
States = NDArray[np.float64]
Shape = tuple[int, int]


def mesh_shape(size: int, shape: Shape | None = None) -> Shape:
    """Return the rows and columns of a mesh of ``size`` nodes: those given, or those nearest to a square.

    Raises
    ------
    TypeError, ValueError
        The shape is not two numbers whose product is ``size``.

    Examples
    --------
    >>> from smp.kernels.messages.mesh import mesh_shape
    >>> mesh_shape(16), mesh_shape(12), mesh_shape(7)
    ((4, 4), (3, 4), (1, 7))
    """
    if shape is None:
        rows = next(rows for rows in range(math.isqrt(size), 0, -1) if size % rows == 0)
        return rows, size // rows
    rows, columns = (operator.index(length) for length in shape)
    if rows < 1 or rows * columns != size:
        raise ValueError(
            f"a mesh of {rows} x {columns} nodes does not fit {size} processor{'s' * (size != 1)}: it needs one "
            "processor per node"
        )
    return rows, columns


def neighbours(rank: int, shape: Shape) -> NDArray[np.int64]:
    """Return the nodes north, south, west and east of a node; nodes are numbered row by row.

    Examples
    --------
    >>> from smp.kernels.messages.mesh import neighbours
    >>> neighbours(0, (4, 4))
    array([12,  4,  3,  1])
    """
    rows, columns = shape
    row, column = divmod(rank, columns)
    around = np.empty(NEIGHBOURS, np.int64)
    around[NORTH] = (row - 1) % rows * columns + column
    around[SOUTH] = (row + 1) % rows * columns + column
    around[WEST] = row * columns + (column - 1) % columns
    around[EAST] = row * columns + (column + 1) % columns
    return around


def check_mesh(proc: Processor, state: GlobalArray, rounds: Any, grain: Any) -> None:
    """Raise an error, on all processors alike, for arguments with which no mesh can be relaxed."""
    if state.dtype != np.float64:
        raise TypeError(f"the states must be a global array of float64, not of {state.dtype}")
    if state.ndim != 2 or len(state) != proc.size:
        raise ValueError(
            f"states of shape {state.shape} do not fit {proc.size} processor{'s' * (proc.size != 1)}: give a "
            "two-dimensional array with one row per processor"
        )
    for name, number in (("rounds", rounds), ("grain", grain)):
        if operator.index(number) < 0:
            raise ValueError(f"{name} must be at least 0, not {number}")


@local
def approach(mine: States, received: States) -> None:
    """Move a state half of the way to the mean of the neighbours' states, with a multiply-and-add for each datum."""
    for k in range(len(mine)):
        around = received[NORTH, k] + received[SOUTH, k] + received[WEST, k] + received[EAST, k]
        mine[k] = 0.5 * mine[k] + 0.125 * around


@stream
def update(mine: States, received: States, grain: int) -> None:
    """Do ``grain`` units of work for each datum of a node's state: approach the neighbours' mean that many times.

    The emulated machine charges each unit for the bytes of the five states.
    """
    for _ in range(grain):
        delay("update")
        approach(mine, received)


def receive(step: Superstep, state: GlobalArray, around: NDArray[np.int64]) -> States:
    """Return the neighbours' states, one row each."""
    delay("receive")
    return step.copy_in(state, around)


def send(step: Superstep, state: GlobalArray, rank: int, mine: States) -> None:
    """Pass on a node's own state."""
    delay("send")
    step.copy_out(state, rank, mine)


def relax_mesh(proc: Processor, state: GlobalArray, *, rounds: int, grain: int = 1, shape: Shape | None = None) -> None:
    """Relax the states of a wrapped mesh, with a processor for each node (SPMD program).

    Parameters
    ----------
    proc : Processor
    state : GlobalArray of shape (p, words), float64
        States of the nodes, one row each, relaxed in place; `new_state` makes them.
    rounds : int
        Number of rounds, from 0.
    grain : int
        Units of work for each datum in a round.  Each unit moves the datum half of the way to the mean of the
        neighbours' data, as they were at the beginning of the round.
    shape : (int, int), optional
        Rows and columns of the mesh, whose product is p; by default those nearest to a square: 4 x 4 for 16.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors alike, before the first superstep.

    Notes
    -----
    Supersteps: ``start`` (``words`` reads per processor), then ``rounds`` of ``round`` (4 ``words`` reads and ``words``
    writes per processor); see `cost`.  A node that is a neighbour in two directions is read twice.

    Examples
    --------
    >>> import numpy as np, smp
    >>> from smp.kernels.messages.mesh import relax_mesh
    >>> with smp.emulated(4) as machine:
    ...     state = machine.array(np.array([[0.0], [8.0], [16.0], [24.0]]))  # on 2 x 2 nodes
    ...     run = machine.run(relax_mesh, state, rounds=1)
    ...     print(state[:, 0])
    [ 6. 10. 14. 18.]
    """
    check_mesh(proc, state, rounds, grain)
    around = neighbours(proc.rank, mesh_shape(proc.size, shape))
    with proc.superstep("start") as step:
        mine = step.copy_in(state, proc.rank)
    for _ in range(rounds):
        delay("main_loop")
        with proc.superstep("round") as step:
            received = receive(step, state, around)
            step.compute()
            update(mine, received, grain)
            send(step, state, proc.rank, mine)


def cost(p: int, rounds: int, words: int) -> Costs:
    """Return exactly what the supersteps of `relax_mesh` access, which depends on neither the shape nor the grain.

    Examples
    --------
    >>> from smp.kernels.messages.mesh import cost
    >>> cost(16, 2, 64)["m"]
    array([1024, 5120, 5120])
    """
    one_round = ("round", NEIGHBOURS * words, words, (NEIGHBOURS + 1) * words * p)
    return costs_of([("start", words, 0, words * p), *[one_round] * rounds])


def new_state(p: int, words: int = 64, seed: int = 0) -> States:
    """Return random states of p nodes, each of ``words`` numbers from 0 to 1."""
    return np.random.default_rng(seed).random((p, words))
