"""The general LoPC model (appendix A): any work, any pattern of requests, any number of hops.

    thread c ── W_c ──► V_ck visits at each node k, S_l before each ───► S_l ──► reply at home ──┐
       ▲                                                                                         │
       └─────────────────────────────────────────────────────────────────────────────────────────┘

W_c is the work of thread c between two requests, V_ck the average visits of its request at node k, and S_l the latency
of the wire. The threads' throughputs X determine the load of each node, hence every response time, hence R_c, the time
of thread c's cycle. So the model is the system X_c R_c(X) = 1. It is solved by Newton's method for log X. Each step is
cut until every queue has an average and the residual falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from smp.errors import NotConverged

from .._types import FloatArray
from .node import handlers
from .setting import Setting, checked_setting

TOLERANCE, ROUNDING = 1e-13, 1e-10
"""Relative residuals of X_c R_c = 1: the goal, and the largest that is accepted if rounding allows no better."""
STEPS = 200
CUTS = 0.5 ** np.arange(30)
"""Fractions of Newton's step that are tried in turn."""


@dataclass(frozen=True, eq=False)
class General:
    """Solution of the model for P threads and nodes, in the units of its arguments.

    Attributes
    ----------
    throughput : ndarray (P,)
        X_c, compute/request cycles per unit of time; 0 for a node without a thread.
    response : ndarray (P,)
        R_c, the time of a cycle; infinite for a node without a thread.
    work : ndarray (P,)
        R_w, the thread's part of the cycle: its work and the handlers that interrupt it.
    request : ndarray (P,)
        R_q, the time of a request at each node, waiting included.
    reply : ndarray (P,)
        R_y, the time of a reply at each node, waiting included.
    request_utilisation, reply_utilisation : ndarray (P,)
        U_q and U_y, the shares of each node's time that request and reply handlers take.
    request_queue, reply_queue : ndarray (P,)
        Q_q and Q_y, the average numbers of requests and replies at each node, those in service included.
    logp : ndarray (P,)
        R_c without contention.
    """

    throughput: FloatArray
    response: FloatArray
    work: FloatArray
    request: FloatArray
    reply: FloatArray
    request_utilisation: FloatArray
    reply_utilisation: FloatArray
    request_queue: FloatArray
    reply_queue: FloatArray
    logp: FloatArray

    @property
    def contention(self) -> FloatArray:
        """C of each thread: R less the cycle's time by LogP; NaN for a node without a thread."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.response - self.logp)


def general(
    work: ArrayLike,
    visits: ArrayLike,
    latency: float,
    occupancy: ArrayLike,
    *,
    variation: float = 1.0,
    protocol_processor: bool = False,
) -> General:
    """Solve the general LoPC model.

    Parameters
    ----------
    work : array_like (P,)
        W_c, the average work of thread c between two requests; ``inf`` for a node without a thread.
    visits : array_like (P, P)
        V_ck, the average number of times that a request of thread c is handled at node k. Rows may have any sum: above
        1 if requests go on from node to node, 0 if a request is only a wire time and a reply.
    latency : float
        S_l, the time of each trip through the network.
    occupancy : float or array_like (P,)
        S_o, the time of a handler; one for all nodes or one for each.
    variation : float
        C², the squared coefficient of variation of the handlers' times: 1 exponential, 0 constant.
    protocol_processor : bool
        True if handlers run on hardware of their own while the thread continues its work (shared memory): R_w = W.

    Returns
    -------
    General

    Raises
    ------
    ValueError
        Shapes that do not agree, numbers that are negative or NaN, or a thread whose cycle takes no time.
    NotConverged
        No solution was found; the message gives the residual.

    Notes
    -----
    All times are in the same unit, which may be any. It is not proved that there is only one solution; in 1,000 random
    settings, other starting points led to no other solution. O(P³) for each of 5 to 60 steps: about 1 ms for 64 nodes.

    Source: M. Frank, "LoPC: Modeling Contention in Parallel Algorithms", 1997, equations A.1 to A.10 and, for C²,
    5.9 and 5.10.

    Examples
    --------
    Two nodes send requests to each other, and every fourth request also visits a third node on the way back:

    >>> found = general([100.0, 100.0, float("inf")], [[0, 1, 0.25], [1, 0, 0.25], [0, 0, 0]], 10.0, 20.0)
    >>> found.logp[:2].tolist(), found.response[:2].round(3).tolist()
    ([167.5, 167.5], [190.118, 190.118])
    """
    setting = checked_setting(work, visits, latency, occupancy, variation, protocol_processor)
    return _Equations(setting).solution()


class _Equations:
    """The system h(x) = x + log R(exp x) = 0 for x = log X, over the nodes that have a thread."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.threads = setting.threads
        self.v = setting.visits[self.threads]
        self.s_o = setting.occupancy
        self.w = setting.work[self.threads]

    def loads(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return u and y of each node, its utilisations by request and by reply handlers."""
        with np.errstate(over="ignore", invalid="ignore"):  # a step may lead too far: then it is not taken
            throughput = np.exp(x)
            y = np.zeros_like(self.s_o)
            y[self.threads] = throughput
            return self.s_o * (throughput @ self.v), self.s_o * y

    def responses(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return R of each thread and its derivatives with respect to x; R is infinite if a queue has no average."""
        u, y = self.loads(x)
        count = len(self.threads)
        if not ((u * (1.0 + y) < 1.0) & np.isfinite(y)).all():
            return np.full(count, np.inf), np.zeros((count, count))
        at, home, s_o = handlers(u, y, self.setting.variation), self.threads, self.s_o
        response = self.w + self.v @ (self.setting.latency + s_o * at.request)
        response += self.setting.latency + (s_o * at.reply)[home]
        by_u = self.v * (s_o * at.request_u)  # (threads, nodes): through the requests at a node
        by_y = self.v * (s_o * at.request_y)  # and through its replies
        rows = np.arange(count)
        by_u[rows, home] += (s_o * at.reply_u)[home]
        by_y[rows, home] += (s_o * at.reply_y)[home]
        if not self.setting.protocol_processor:
            q, busy, s = (u * at.request)[home], u[home], s_o[home]
            thread = (self.w + s * q) / (1.0 - busy)
            response += thread - self.w
            by_u[rows, home] += (s * (at.request + u * at.request_u)[home] + thread) / (1.0 - busy)
            by_y[rows, home] += s * (u * at.request_y)[home] / (1.0 - busy)
        slope = by_u @ (self.v * s_o).T
        slope += (by_y * s_o)[:, home]
        return response, slope * np.exp(x)

    def solve(self) -> FloatArray:
        """Return x by Newton's method, starting from a load that every node can bear."""
        x = -np.log(self.setting.logp[self.threads])
        u, y = self.loads(x)
        x -= np.log(max(1.0, 4.0 * float((u * (1.0 + y)).max())))
        response, slope = self.responses(x)
        off = _largest(x + np.log(response))
        for _ in range(STEPS):
            if off <= TOLERANCE:
                return x
            step = np.linalg.solve(np.eye(len(x)) + slope / response[:, None], -x - np.log(response))
            for cut in CUTS:
                tried = x + cut * step
                response, slope = self.responses(tried)
                found = _largest(tried + np.log(response))
                if found < (1.0 - 0.1 * cut) * off:
                    break
            else:  # no cut reduces the residual: it is rounding, or there is no solution
                break
            x, off = tried, found
        if off <= ROUNDING:
            return x
        raise NotConverged(
            f"Newton's method did not converge within {STEPS} steps: X R = 1 holds for all threads to {off:.1e}, not "
            f"to {ROUNDING:.0e}; please report these arguments, and try times and visits that differ less"
        )

    def solution(self) -> General:
        """Solve the system, and return all results of the model."""
        x = self.solve()
        u, y = self.loads(x)
        at, s_o, setting = handlers(u, y, self.setting.variation), self.s_o, self.setting
        throughput = np.zeros_like(s_o)
        throughput[self.threads] = np.exp(x)
        work = setting.work if setting.protocol_processor else (setting.work + s_o * u * at.request) / (1.0 - u)
        request, reply = s_o * at.request, s_o * at.reply
        response = work + setting.visits @ (setting.latency + request) + setting.latency + reply
        return General(
            throughput=throughput,
            response=response,
            work=work,
            request=request,
            reply=reply,
            request_utilisation=u,
            reply_utilisation=y,
            request_queue=u * at.request,
            reply_queue=y * at.reply,
            logp=setting.logp,
        )


def _largest(h: FloatArray) -> float:
    return float(np.abs(h).max(initial=0.0))
