"""The general LoPC model (appendix A): any work, any pattern of requests, any number of hops.

    thread c ── W_c ──► S_l ──► node k, V_ck visits in all, S_l each ──► S_l ──► reply at home ──┐
       ▲                                                                                         │
       └─────────────────────────────────────────────────────────────────────────────────────────┘

Given the threads' throughputs X, each node's load is known, so every response time, so R: the model is the system
X_c R_c(X) = 1. It is solved by Newton's method for log X, each step cut until no queue is without an average and
the residual falls.
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
"""Of X_c R_c = 1, relative: asked for, and accepted where rounding allows no better."""
STEPS = 200
CUTS = 0.5 ** np.arange(30)
"""Of Newton's step, tried in turn."""


@dataclass(frozen=True, eq=False)
class General:
    """What the model says of each of P threads and nodes, in the units of its arguments.

    Attributes
    ----------
    throughput : ndarray (P,)
        X_c, compute/request cycles a unit of time; 0 for a node without a thread.
    response : ndarray (P,)
        R_c, the time of a cycle; infinite for a node without a thread.
    work : ndarray (P,)
        R_w, the thread's part of it: its work and what handlers take in between.
    request : ndarray (P,)
        R_q of a request at each node, waiting included.
    reply : ndarray (P,)
        R_y of a reply at each node.
    request_utilisation, reply_utilisation : ndarray (P,)
        U_q and U_y of each node.
    request_queue, reply_queue : ndarray (P,)
        Q_q and Q_y, those in service included.
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
        """C of each thread: R less what LogP charges; NaN for a node without a thread."""
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
        V_ck, how often a request of thread c is handled at node k, on average. Rows may sum to anything: above
        1 where requests go on from node to node, to 0 where a request is only a wire time and a reply.
    latency : float
        S_l, of each trip through the network.
    occupancy : float or array_like (P,)
        S_o, of a handler; one for all nodes or one for each.
    variation : float
        C², the squared coefficient of variation of the handlers' times: 1 exponential, 0 constant.
    protocol_processor : bool
        Handlers run beside the thread, on hardware of their own (shared memory): R_w = W.

    Returns
    -------
    General

    Raises
    ------
    ValueError
        Shapes that do not agree, numbers that are negative or NaN, or a thread whose cycle takes no time.
    NotConverged
        No fixed point found; tells the residual.

    Notes
    -----
    All times are in one unit, whichever it is. That there is only one solution is not proved; from other starts no
    other was found in 1,000 random settings. O(P³) for each of 5 to 60 steps: about 1 ms for 64 nodes.

    Source: M. Frank, "LoPC: Modeling Contention in Parallel Algorithms", 1997, equations A.1 to A.10 and, for C²,
    5.9 and 5.10.

    Examples
    --------
    Two nodes that ask each other, and a third that hears of every fourth request on the way back:

    >>> found = general([100.0, 100.0, float("inf")], [[0, 1, 0.25], [1, 0, 0.25], [0, 0, 0]], 10.0, 20.0)
    >>> found.logp[:2].tolist(), found.response[:2].round(3).tolist()
    ([167.5, 167.5], [190.118, 190.118])
    """
    setting = checked_setting(work, visits, latency, occupancy, variation, protocol_processor)
    return _Equations(setting).solution()


class _Equations:
    """The system h(x) = x + log R(exp x) = 0 of x = log X, for the threads that there are."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.threads = setting.threads
        self.v = setting.visits[self.threads]
        self.s_o = setting.occupancy
        self.w = setting.work[self.threads]

    def loads(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return u and y of each node."""
        with np.errstate(over="ignore", invalid="ignore"):  # a step may lead too far: it is not taken then
            throughput = np.exp(x)
            y = np.zeros_like(self.s_o)
            y[self.threads] = throughput
            return self.s_o * (throughput @ self.v), self.s_o * y

    def responses(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return R of each thread, and its derivative by each x; infinite where a queue has no average."""
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
        """Return x by Newton's method, from a load that every node can bear."""
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
            else:  # no way down: what is left is rounding, or there is no solution
                break
            x, off = tried, found
        if off <= ROUNDING:
            return x
        raise NotConverged(
            f"X R = 1 holds for all threads to {off:.1e} after Newton's method has done what it can (at most {STEPS} "
            f"steps), not to {ROUNDING:.0e}: please report these arguments; times and visits that differ less may do"
        )

    def solution(self) -> General:
        """Solve, and return all that follows."""
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
