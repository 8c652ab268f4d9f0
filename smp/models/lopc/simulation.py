"""Event-driven simulation of the machine that LoPC models, to check the model with.

    each node     a FIFO of handlers, each run to its end; below them in priority the thread, interrupted and resumed
    each thread   work ──► a request that visits some nodes, a wire time before each ──► a wire time, a reply handler
                  at home ──► work

The request of a cycle makes n hops. On average n is the sum of the thread's row of the visits V: if the sum is not a
whole number, n is drawn from the two whole numbers around it. Each hop goes to node k with probability V_ck over that
sum, independently of earlier hops. So node k is visited V_ck times on average. A request that makes no hop is a wire
time and a reply.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray
from .batches import Estimate
from .machine import PARTS, Machine, State
from .node import checked_scalars
from .setting import checked_setting

WARM_UP = 10
"""Number of counted cycles for each cycle of the warm-up, which is not counted."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """Results of a simulated machine after its warm-up, in the units of the arguments.

    Attributes
    ----------
    throughput : Estimate
        Cycles per unit of time by all threads together.
    response : Estimate
        R, the mean time of a cycle over all threads.
    contention : Estimate
        C, the time that a cycle waits for others; much less noisy than the difference of R and LogP's time.
    thread_wait, request_wait, reply_wait : Estimate
        The parts of C: the model's R_w - W, the sum of V_ck (R_q - S_o), and R_y - S_o.
    each : ndarray (P,)
        Throughput of each thread.
    request_utilisation, reply_utilisation : ndarray (P,)
        Share of its time that each node spent in request and in reply handlers.
    cycles : int
        Number of cycles that were counted.
    """

    throughput: Estimate
    response: Estimate
    contention: Estimate
    thread_wait: Estimate
    request_wait: Estimate
    reply_wait: Estimate
    each: FloatArray
    request_utilisation: FloatArray
    reply_utilisation: FloatArray
    cycles: int


def simulate(
    work: ArrayLike,
    visits: ArrayLike,
    latency: float,
    occupancy: ArrayLike,
    *,
    variation: float = 1.0,
    protocol_processor: bool = False,
    work_variation: float = 1.0,
    cycles: int = 20_000,
    batches: int = 20,
    seed: int = 0,
) -> Simulated:
    """Simulate the machine that `general` models, with the same arguments.

    Parameters
    ----------
    work, visits, latency, occupancy, variation, protocol_processor
        As `general` takes them. Handlers' times are constant for C² = 0, exponential for 1, and otherwise follow a
        gamma distribution.
    work_variation : float
        C² of the threads' work, with the same distributions. The wire time is constant.
    cycles : int
        Compute/request cycles to count, by all threads together. A warm-up of a tenth as many cycles, and one more per
        thread, is not counted, because the machine starts with all threads at work.
    batches : int
        Number of batches into which the cycles are cut. The confidence intervals take the batches as independent.
    seed : int
        Seed of the random numbers. Settings simulated from the same seed see the same random numbers.

    Returns
    -------
    Simulated

    Raises
    ------
    ValueError
        As `general` raises it; also if there is no thread, if there are fewer than 2 batches, or if a batch has fewer
        cycles than there are threads.

    Notes
    -----
    Takes about 1 us for each trip through the network and for each piece of work.
    If two messages arrive at the same time, the one that was sent first is first, and then that of the lower node.

    Examples
    --------
    Two clients alternate at one server, and all times are constant: the server is always busy.

    >>> found = simulate([0, 0, float("inf")], [[0, 0, 1], [0, 0, 1], [0, 0, 0]], 0.0, 10.0, variation=0.0, cycles=1000)
    >>> round(found.throughput.mean, 6), round(found.response.mean, 6)
    (0.1, 20.0)
    """
    setting = checked_setting(work, visits, latency, occupancy, variation, protocol_processor)
    (of_work,) = checked_scalars(work_variation=work_variation)
    threads = len(setting.threads)
    if not threads:
        raise ValueError(
            "there is no thread, because the work of all nodes is infinite: give at least one of them a finite work"
        )
    if batches < 2 or cycles < batches * threads:
        raise ValueError(
            f"{cycles} cycles of {threads} threads in {batches} batches are too few: give at least 2 batches, "
            "and enough cycles for one of each thread in each batch"
        )
    machine, each = Machine(setting, of_work, seed), cycles // batches
    machine.run(cycles // WARM_UP + threads)
    marks = [machine.state()]
    for _ in range(batches):
        machine.run(each)
        marks.append(machine.state())
    return _summary(marks, each)


def _summary(marks: list[State], each: int) -> Simulated:
    spans = np.diff([mark.now for mark in marks])
    sums = np.diff([mark.sums for mark in marks], axis=0) / each
    first, last = marks[0], marks[-1]
    took = last.now - first.now
    parts = {name: Estimate.of(sums[:, k]) for k, name in enumerate(PARTS)}
    return Simulated(
        throughput=Estimate.of(each / spans),
        **parts,
        contention=Estimate.of(sums[:, 1:].sum(axis=1)),
        each=(last.cycles - first.cycles) / took,
        request_utilisation=(last.requests - first.requests) / took,
        reply_utilisation=(last.replies - first.replies) / took,
        cycles=each * (len(marks) - 1),
    )
