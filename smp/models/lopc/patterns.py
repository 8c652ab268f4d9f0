"""Patterns of requests for `general` and `simulate`: the work and the visits of each thread.

all_to_all_pattern      every thread sends to every other node alike
client_server_pattern   the first nodes send to the last ones, which have no thread

simulate(*client_server_pattern(1000.0, 32, 4), latency, occupancy)

The visits V_ck are the average number of times that a request of thread c is handled at node k.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray

Pattern = tuple[FloatArray, FloatArray]


def all_to_all_pattern(work: float, processors: int) -> Pattern:
    """Return the pattern of chapter 5: each request goes to one of the P - 1 other nodes.

    Parameters
    ----------
    work : float
        W, the work of every thread between two requests.
    processors : int
        P, the number of nodes, 2 or more.

    Returns
    -------
    work : ndarray (P,) float64
    visits : ndarray (P, P) float64

    Raises
    ------
    ValueError
        Fewer than 2 processors.

    Examples
    --------
    >>> all_to_all_pattern(5.0, 3)[1].tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    if processors < 2:
        raise ValueError(f"an all-to-all pattern needs at least 2 processors, not {processors}")
    return np.full(processors, float(work)), (1.0 - np.eye(processors)) / (processors - 1)


def client_server_pattern(work: float, processors: int, servers: int) -> Pattern:
    """Return the pattern of chapter 6: each request goes to one of the last P_s nodes, which send no requests.

    Parameters
    ----------
    work : float
        W, the work of every client between two requests.
    processors : int
        P, the number of all nodes.
    servers : int
        P_s, the number of servers, from 1 to P - 1.

    Returns
    -------
    work : ndarray (P,) float64
        Infinite for the servers: they have no thread.
    visits : ndarray (P, P) float64

    Raises
    ------
    ValueError
        Numbers of nodes that leave no client or no server.

    Examples
    --------
    >>> work, visits = client_server_pattern(5.0, 3, 2)
    >>> work.tolist(), visits.tolist()
    ([5.0, inf, inf], [[0.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    """
    if not 1 <= servers < processors:
        raise ValueError(
            f"{servers} servers of {processors} processors: give a whole number that leaves a server and a client"
        )
    clients = processors - servers
    works, visits = np.full(processors, np.inf), np.zeros((processors, processors))
    works[:clients] = work
    visits[:clients, clients:] = 1.0 / servers
    return works, visits
