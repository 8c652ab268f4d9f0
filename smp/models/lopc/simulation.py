"""An event-driven simulation of the machine that LoPC models, to check the model with.

    each node     a FIFO of handlers, each run to its end; below them in priority the thread, interrupted and resumed
    each thread   work ──► a request that visits some nodes, a wire time before each ──► a wire time, a reply handler
                  at home ──► work

A cycle's request makes n hops, n being the sum of the thread's row of V, or the whole numbers around it in such
proportion that it is so on average; each hop goes to node k with probability V_ck over that sum, whatever went before.
So node k is visited V_ck times on average. A request that makes no hop is a wire time and a reply.
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
"""Cycles that are counted for one that is not."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """What a simulated machine did once it was warm, in the units of the arguments.

    Attributes
    ----------
    throughput : Estimate
        Cycles a unit of time by all threads.
    response : Estimate
        R, the mean time of a cycle over all threads.
    contention : Estimate
        C, what a cycle waits for others; much less noisy than R less what LogP charges.
    thread_wait, request_wait, reply_wait : Estimate
        Its parts: the model's R_w - W, the sum of V_ck (R_q - S_o), and R_y - S_o.
    each : ndarray (P,)
        Throughput of each thread.
    request_utilisation, reply_utilisation : ndarray (P,)
        Share of its time that each node spent in request and in reply handlers.
    cycles : int
        How many were counted.
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
        As `general` takes them. Handlers' times are constant for C² = 0, exponential for 1, else of a gamma law.
    work_variation : float
        C² of the threads' work, by the same laws. The wire time is constant.
    cycles : int
        Compute/request cycles to count, by all threads together. A tenth as many, and one a thread, are done before
        and not counted: the machine starts with all threads at work, and is to be warm.
    batches : int
        For the confidence intervals: the cycles are cut into so many batches, which are taken as independent.
    seed : int
        Settings simulated from one seed meet the same random numbers.

    Returns
    -------
    Simulated

    Raises
    ------
    ValueError
        As `general`; no thread at all; fewer than 2 batches, or of fewer cycles than there are threads.

    Notes
    -----
    About 1 us for each trip through the network and for each work.
    Where two things happen at the same time, the thread with the lower number goes first.

    Examples
    --------
    Two clients in turn at one server, all times constant: the server never rests.

    >>> found = simulate([0, 0, float("inf")], [[0, 0, 1], [0, 0, 1], [0, 0, 0]], 0.0, 10.0, variation=0.0, cycles=1000)
    >>> round(found.throughput.mean, 6), round(found.response.mean, 6)
    (0.1, 20.0)
    """
    setting = checked_setting(work, visits, latency, occupancy, variation, protocol_processor)
    (of_work,) = checked_scalars(work_variation=work_variation)
    threads = len(setting.threads)
    if not threads:
        raise ValueError("no thread: the work of all nodes is infinite; give one of them a work")
    if batches < 2 or cycles < batches * threads:
        raise ValueError(
            f"{cycles} cycles of {threads} threads in {batches} batches: give 2 batches or more, "
            "and cycles enough for one of each thread in each batch"
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
