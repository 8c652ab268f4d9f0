"""Homogeneous all-to-all communication in the LoPC model (chapter 5): every node sends to every other alike.

R is the time of a cycle, from one request of a thread to its next, S_o that of a handler, and S_l that of a trip over
the wire. Requests load a node by u = S_o / R, and replies by as much, so the model is one equation for u,

    R(u) = R_w(u) + 2 S_l + R_q(u) + R_y(u) = S_o / u        falling on the right, rising on the left: one solution

The work W between two requests takes R_w = (W + S_o Q_q) / (1 - u), or W if a protocol processor runs the handlers. Q_q
is the queue of requests. R_q and R_y are the times of a request and of a reply, waiting included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .node import checked_scalars, handlers

SATURATED = (math.sqrt(5.0) - 1.0) / 2.0
"""The u at which 1 - u - u² is 0, so that the queue has no average."""


@dataclass(frozen=True)
class AllToAll:
    """Solution of the model for one of many identical threads, in the units of its arguments.

    Attributes
    ----------
    throughput : float
        Cycles per unit of time by each thread; P threads together have P times as many.
    response : float
        R, the time of a cycle.
    work, request, reply : float
        R_w, R_q and R_y: the parts of R for the work, the request and the reply, waiting included.
    utilisation : float
        U_q = U_y: the share of a node's time that requests take; replies take the same share.
    request_queue, reply_queue : float
        Q_q and Q_y, the average numbers of requests and replies at a node.
    logp : float
        R without contention, W + 2 S_l + 2 S_o.
    rule : float
        The rule of thumb: contention costs as much as one more handler, W + 2 S_l + 3 S_o.
    lower, upper : float
        Bounds of `response` that need no solver; see `all_to_all`.
    """

    throughput: float
    response: float
    work: float
    request: float
    reply: float
    utilisation: float
    request_queue: float
    reply_queue: float
    logp: float
    rule: float
    lower: float
    upper: float

    @property
    def contention(self) -> float:
        """C, the part of R that LogP leaves out."""
        return self.response - self.logp


def all_to_all(
    work: float, latency: float, occupancy: float, *, variation: float = 1.0, protocol_processor: bool = False
) -> AllToAll:
    """Solve the LoPC model for all-to-all communication.

    Parameters
    ----------
    work : float
        W, the average work of a thread between two requests.
    latency : float
        S_l, the time of each trip through the network.
    occupancy : float
        S_o, the time of a handler.
    variation : float
        C², the squared coefficient of variation of the handlers' times: 1 exponential, 0 constant.
    protocol_processor : bool
        True if handlers run on hardware of their own while the thread continues its work (shared memory): R_w = W.

    Returns
    -------
    AllToAll

    Raises
    ------
    ValueError
        Numbers that are negative, infinite or NaN, or a cycle that takes no time.

    Notes
    -----
    All times are in the same unit, which may be any. The number of processors P does not matter: a node gets one in
    P - 1 of the requests of each of P - 1 threads. Takes 0.2 ms.

    With L = W + 2 S_l + 2 S_o, without a protocol processor and for every C² >= 0,

        (L + S_o + sqrt((L + S_o)² - 8 S_l S_o)) / 2  <=  R  <=  L + (k - 2) S_o

    where k S_o is R for W = S_l = 0. For C² = 0, k is 3.452, and the thesis has 3.46; for C² = 1 it is 3.94, for
    C² = 2 it is 4.31. Both bounds follow from C / S_o = (1 - u) (R_w' + R_q + R_y) / S_o - 1 - 2 u S_l / S_o, where
    R_w' is R_w for W = 0: the first term grows with u from 2, and u is largest without work and wire. The lower bound
    is tight if W or S_l is large; LogP's L, the thesis' bound, lies below it. With a protocol processor,
    L <= R <= L + (k - 2) S_o, with a k of its own.

    Source: M. Frank, "LoPC: Modeling Contention in Parallel Algorithms", 1997, equations 4.1 to 5.12.

    Examples
    --------
    The handlers of figure 5-2, without work and wire between them: contention costs 1.45 handlers.

    >>> found = all_to_all(0.0, 0.0, 200.0, variation=0.0)
    >>> found.logp, round(found.response, 3), round(found.contention / 200.0, 3)
    (400.0, 690.338, 1.452)
    """
    w, s_l, s_o, c2 = checked_scalars(work=work, latency=latency, occupancy=occupancy, variation=variation)
    logp = w + 2.0 * s_l + 2.0 * s_o
    if logp == 0.0:
        raise ValueError("a cycle takes no time, because work, latency and occupancy are 0: make one of them larger")

    def parts(u: float) -> tuple[float, float, float]:
        at = handlers(u, u, c2)
        thread = w if protocol_processor else (w + s_o * u * at.request) / (1.0 - u)
        return thread, s_o * at.request, s_o * at.reply

    u = _rising_root(lambda u: u * (2.0 * s_l + sum(parts(u))) - s_o) if s_o else 0.0
    thread, request, reply = parts(u)
    response = thread + 2.0 * s_l + request + reply
    lower, upper = _bounds(logp, s_l, s_o, c2, protocol_processor)
    return AllToAll(
        throughput=1.0 / response,
        response=response,
        work=thread,
        request=request,
        reply=reply,
        utilisation=u,
        request_queue=request / response,
        reply_queue=reply / response,
        logp=logp,
        rule=logp + s_o,
        lower=lower,
        upper=upper,
    )


def most_contention(variation: float, *, protocol_processor: bool = False) -> float:
    """Return the most that contention can cost a cycle, in times of a handler.

    It is k - 2 of `all_to_all`: C / S_o for W = S_l = 0.

    Examples
    --------
    >>> [round(most_contention(c2), 3) for c2 in (0.0, 1.0, 2.0)]
    [1.452, 1.935, 2.315]
    """

    def cycles(u: float) -> float:
        at = handlers(u, u, variation)
        thread = 0.0 if protocol_processor else u * at.request / (1.0 - u)
        return float(u * (thread + at.request + at.reply) - 1.0)

    return 1.0 / _rising_root(cycles) - 2.0


def _bounds(logp: float, s_l: float, s_o: float, c2: float, protocol_processor: bool) -> tuple[float, float]:
    upper = logp + most_contention(c2, protocol_processor=protocol_processor) * s_o
    if protocol_processor:
        return logp, upper
    rule = logp + s_o
    return (rule + math.sqrt(rule * rule - 8.0 * s_l * s_o)) / 2.0, upper


def _rising_root(f: Callable[[float], float]) -> float:
    """Return by bisection the root of a function that rises from below 0 to infinity between u = 0 and `SATURATED`."""
    low, high = 0.0, SATURATED
    while low < (middle := (low + high) / 2.0) < high:
        if f(middle) < 0.0:
            low = middle
        else:
            high = middle
    return low
