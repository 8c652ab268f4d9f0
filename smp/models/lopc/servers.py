"""Choice of the number of nodes, out of P, that should serve the others.

By Bard's approximation, an arriving request finds the average queue of all clients, and is itself one of them. With
many clients its own part of the queue is negligible; with three clients it is a third. The arrival theorem itself says
that the request finds the average queue of a machine with one client fewer. Applied client by client, starting from
none, it gives the throughput for any number of servers. The result is exact for C² = 1 (C² is the squared coefficient
of variation of the handlers' times). So it finds the best number of servers on small machines too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray
from .client_server_model import throughput_curve
from .node import checked_scalars


@dataclass(frozen=True)
class Servers:
    """Best numbers of servers among P nodes.

    Attributes
    ----------
    ideal : float
        P_s of equation 6.8: the real number that is best by the model, with one request at each server on average.
    by_model : int
        The whole number that is best by the model: one of the two around `ideal`.
    servers : int
        The whole number that is best by the arrival theorem with one client fewer. Take this one.
    throughput : float
        Throughput with `servers` servers, by the arrival theorem.
    """

    ideal: float
    by_model: int
    servers: int
    throughput: float


def best_servers(work: float, latency: float, occupancy: float, processors: int, *, variation: float = 1.0) -> Servers:
    """Choose the number of servers of a work-pile.

    Parameters
    ----------
    work : float
        W, the average work of a client between two requests.
    latency : float
        S_l, the time of each trip through the network.
    occupancy : float
        S_o, the time of a handler.
    processors : int
        P, the number of all nodes, 2 or more.
    variation : float
        C², the squared coefficient of variation of the handlers' times: 1 exponential, 0 constant.

    Returns
    -------
    Servers

    Raises
    ------
    ValueError
        Fewer than 2 processors, numbers that are negative, infinite or NaN, or a cycle that takes no time.

    Notes
    -----
    All times are in the same unit, which may be any. O(P²): 0.2 ms for 32 nodes.

    Source: M. Frank, "LoPC: Modeling Contention in Parallel Algorithms", 1997, equation 6.8. The thesis rounds its
    result; on machines of 4 to 16 nodes that can cost a tenth of the throughput (docs/lopc.md has the figures).

    Examples
    --------
    >>> found = best_servers(1000.0, 50.0, 100.0, 32)
    >>> found.ideal, found.servers, round(1000 * found.throughput, 2)
    (4.0, 4, 20.14)

    Of four nodes that hardly work, the model would take two:

    >>> found = best_servers(10.0, 10.0, 100.0, 4)
    >>> found.by_model, found.servers
    (2, 1)
    """
    curve = throughput_curve(work, latency, occupancy, processors, variation=variation)
    exact = arrival_curve(work, latency, occupancy, processors, variation=variation)
    best = int(exact.argmax())
    root = np.sqrt((1.0 + variation) / 2.0)  # R_s / S_o - 1 in equation 6.6
    request = occupancy * (1.0 + root)
    ideal = processors * request / (curve.logp - occupancy + 2.0 * request)
    return Servers(float(ideal), int(curve.throughput.argmax()) + 1, best + 1, float(exact[best]))


def arrival_curve(
    work: float, latency: float, occupancy: float, processors: int, *, variation: float = 1.0
) -> FloatArray:
    """Return the throughput with 1 to P - 1 servers, by the arrival theorem without Bard's approximation.

    Parameters
    ----------
    work, latency, occupancy, processors, variation
        As `best_servers` takes them.

    Returns
    -------
    ndarray (P - 1,) float64
        Cycles per unit of time by all clients together. Exact for C² = 1 (exponential times of the handlers) and any
        distribution of the work; for other C², corrected by the residual life of section 5.2.

    Notes
    -----
    Source: M. Reiser and S. Lavenberg, "Mean Value Analysis of Closed Multichain Queueing Networks", 1980.

    Examples
    --------
    One client and one server never wait for each other:

    >>> arrival_curve(100.0, 10.0, 20.0, 2).tolist()
    [0.00625]
    """
    w, s_l, s_o, c2 = checked_scalars(work=work, latency=latency, occupancy=occupancy, variation=variation)
    away, a = w + 2.0 * s_l + s_o, (c2 - 1.0) / 2.0
    servers = np.arange(1, processors)
    queue, busy, found = (np.zeros(processors - 1) for _ in range(3))
    for clients in range(1, processors):
        request = s_o * (1.0 + queue + a * busy)
        request = np.maximum(request, clients * s_o / servers - away)  # for C² < 1 utilisations could exceed 1
        throughput = clients / (away + request)
        queue, busy = throughput * request / servers, throughput * s_o / servers
        found[processors - clients - 1] = throughput[processors - clients - 1]
    return found
