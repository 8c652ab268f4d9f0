"""Clients and servers in the LoPC model (chapter 6): throughput for each number of nodes that serve.

    P_c clients ── W ──► S_l ──► one of P_s servers, at random ──► S_l ──► reply handler ──► the client again

A client works for W between two requests, S_l is the time of a trip through the network, and S_o that of a handler. No
node sends requests to a client, so its thread is never interrupted and its reply never waits. A server is busy for the
share U_s of its time, and a request takes R_s there. Its queue is Q_s = U_s R_s / S_o, with
R_s = S_o (1 + a U_s) / (1 - U_s) and a = (C² - 1) / 2, which makes the model a quadratic equation in U_s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from .node import checked_scalars


@dataclass(frozen=True, eq=False)
class ClientServer:
    """Solutions of the model for n numbers of servers, in the units of its arguments.

    Attributes
    ----------
    clients, servers : ndarray (n,) float64
        P_c and P_s, the numbers of clients and of servers.
    throughput : ndarray (n,)
        X, cycles per unit of time by all clients together.
    response : ndarray (n,)
        R, the time of a client's cycle.
    request : ndarray (n,)
        R_s, a request's time at its server, waiting included.
    utilisation, queue : ndarray (n,)
        U_s and Q_s of a server: the share of its time that requests take, and the average number of requests there.
    logp : float
        R without contention, W + 2 S_l + 2 S_o.
    upper : ndarray (n,)
        Upper bound of the throughput: the smaller of P_s / S_o, if servers are always busy, and
        P_c / (W + 2 S_l + 2 S_o), if clients never wait.
    """

    clients: FloatArray
    servers: FloatArray
    throughput: FloatArray
    response: FloatArray
    request: FloatArray
    utilisation: FloatArray
    queue: FloatArray
    logp: float
    upper: FloatArray

    @property
    def contention(self) -> FloatArray:
        """C, the part of R that LogP leaves out."""
        return self.response - self.logp


def client_server(
    work: float, latency: float, occupancy: float, processors: int, servers: ArrayLike, *, variation: float = 1.0
) -> ClientServer:
    """Solve the LoPC model for clients and servers.

    Parameters
    ----------
    work : float
        W, the average work of a client between two requests.
    latency : float
        S_l, the time of each trip through the network.
    occupancy : float
        S_o, the time of a handler.
    processors : int
        P, the number of all nodes.
    servers : array_like of int
        P_s, the number of servers, from 1 to P - 1; one number, or an array of numbers to solve for.
    variation : float
        C², the squared coefficient of variation of the handlers' times: 1 exponential, 0 constant.

    Returns
    -------
    ClientServer

    Raises
    ------
    ValueError
        Numbers of nodes that leave no client or no server, numbers that are negative, infinite or NaN, or a cycle
        that takes no time.

    Notes
    -----
    All times are in the same unit, which may be any. The solution is in closed form: 30 us.

    Source: M. Frank, "LoPC: Modeling Contention in Parallel Algorithms", 1997, chapter 6. For the throughput of
    servers that are always busy, the thesis prints P_s S_o; it means P_s / S_o.

    Examples
    --------
    >>> found = client_server(1000.0, 50.0, 100.0, 32, [3, 4, 5])
    >>> (1000 * found.throughput).round(2).tolist()
    [19.51, 20.0, 19.77]
    """
    w, s_l, s_o, c2 = checked_scalars(work=work, latency=latency, occupancy=occupancy, variation=variation)
    p_s = np.asarray(servers)
    if not (p_s.size and np.issubdtype(p_s.dtype, np.integer) and ((p_s >= 1) & (p_s < processors)).all()):
        raise ValueError(
            f"{p_s.tolist()} servers of {processors} processors: give whole numbers that leave a server and a client"
        )
    logp = w + 2.0 * s_l + 2.0 * s_o
    if logp == 0.0:
        raise ValueError("a cycle takes no time, because work, latency and occupancy are 0: make one of them larger")
    a, away, load = (c2 - 1.0) / 2.0, logp - s_o, s_o * (processors - p_s) / p_s
    # U (away + S_o (1 + a U) / (1 - U)) = load: the smaller root, in the form that loses no digits
    half = logp + load
    busy = 2.0 * load / (half + np.sqrt(half * half + 4.0 * (a * s_o - away) * load))
    request = s_o * (1.0 + a * busy) / (1.0 - busy)
    response = away + request
    throughput = (processors - p_s) / response
    with np.errstate(divide="ignore"):
        upper = np.minimum(np.divide(p_s, s_o), (processors - p_s) / logp)
    return ClientServer(
        clients=np.asarray(processors - p_s, np.float64),
        servers=np.asarray(p_s, np.float64),
        throughput=throughput,
        response=response,
        request=request,
        utilisation=busy,
        queue=throughput / p_s * request,
        logp=logp,
        upper=upper,
    )


def throughput_curve(
    work: float, latency: float, occupancy: float, processors: int, *, variation: float = 1.0
) -> ClientServer:
    """Return the solutions of `client_server` for every number of servers, from 1 to P - 1 (figure 6-2)."""
    return client_server(work, latency, occupancy, processors, np.arange(1, processors), variation=variation)
