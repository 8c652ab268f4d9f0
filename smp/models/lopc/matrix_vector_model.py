"""Matrix-vector multiplication in the LoPC model, the worked example of chapter 3.

    y = A x, A of N x N with its rows dealt out to P processors in turn, x on all of them

Each processor takes the dot products of its N / P rows, and puts each result to the P - 1 others, one at a time. Each
put is a request that is answered. So there are n = (N / P) (P - 1) requests with W = N / (P - 1) multiply-adds between
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from .all_to_all_model import AllToAll, all_to_all
from .node import checked_scalars


@dataclass(frozen=True)
class MatrixVector:
    """A matrix-vector multiplication of N x N on P processors.

    Attributes
    ----------
    operations : int
        m, the multiply-adds of the processor with the most rows.
    requests : int
        n, the requests that it makes.
    work : float
        W, the time of work between two requests.
    cycle : AllToAll
        The model's solution for one compute/request cycle.
    lopc, logp, lower, upper : float
        Times of the whole multiplication: n times the model's R, LogP's R, and the bounds of R.
    """

    operations: int
    requests: int
    work: float
    cycle: AllToAll
    lopc: float
    logp: float
    lower: float
    upper: float


def matrix_vector(
    size: int, processors: int, multiply_add: float, latency: float, occupancy: float, *, variation: float = 1.0
) -> MatrixVector:
    """Predict the time of a matrix-vector multiplication.

    Parameters
    ----------
    size : int
        N, the number of rows and of columns.
    processors : int
        P, the number of processors, 2 or more.
    multiply_add : float
        Time of one multiply-add.
    latency, occupancy : float
        S_l and S_o, the times of a trip through the network and of a handler, in the same unit.
    variation : float
        C², the squared coefficient of variation of the handlers' times.

    Returns
    -------
    MatrixVector
        If P does not divide N, the times are those of the processor with the most rows.

    Raises
    ------
    ValueError
        Fewer than 2 processors or 1 row; also as `all_to_all` raises it.

    Notes
    -----
    The model knows only the average work between two requests. In this program the work comes in one piece before P - 1
    requests in a row, and all processors send these at about the same time. The more closely the processors stay in
    step, the more they wait for each other.

    Source: M. Frank, "LoPC: Modeling Contention in Parallel Algorithms", 1997, chapter 3.

    Examples
    --------
    512 rows on 8 processors: n = 64 * 7 puts, and a seventh of a dot product between two of them.

    >>> found = matrix_vector(512, 8, 4.0, 50.0, 200.0, variation=0.0)
    >>> found.operations, found.requests, round(found.work, 2)
    (32768, 448, 292.57)
    >>> round(found.logp), round(found.lopc)
    (355072, 454677)
    """
    if processors < 2 or size < 1:
        raise ValueError(
            f"a matrix of {size} rows on {processors} processors: give at least 1 row and at least 2 processors"
        )
    (operation,) = checked_scalars(multiply_add=multiply_add)
    rows = -(-size // processors)
    operations, requests = rows * size, rows * (processors - 1)
    work = operation * operations / requests
    cycle = all_to_all(work, latency, occupancy, variation=variation)
    times = (requests * value for value in (cycle.response, cycle.logp, cycle.lower, cycle.upper))
    return MatrixVector(operations, requests, work, cycle, *times)
