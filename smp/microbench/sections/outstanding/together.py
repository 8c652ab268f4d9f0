"""A crew is a group of threads, bound to CPUs, that wait for a job, do it for a fixed time, and wait again.

    main      write job, GO + 1, wake │ sleep                              │ a window of what all have done
    stream 0                          │ load load load ... until DEADLINE  │
    stream 1                           │ load load load ... until DEADLINE│

The window lasts from the first start to the last end and has the loads of all streams.  Streams that share a CPU take
turns on it, so the time of a single stream means nothing.  All of them together keep the CPU busy for the whole window.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from smp._computer.system import stolen_ns
from smp._runtime.loops.atomics import clock, futex_wait, futex_wake, load, store
from smp.errors import SmpError
from smp.microbench.method.clocks import timer_cost
from smp.microbench.method.overlaps import SPAN
from smp.microbench.method.windows import WINDOW, Windows

from .loops import DEADLINE, DEPTH, DONE, FAR, GO, GROUPS, JOB_WORDS, SLICE_NS, STOP, STREAMS, WORK, Words, serve

FEW_GROUPS, MANY_GROUPS = 128, 2048
"""Groups between two looks at the clock: few for far loads or loads with work (about 20 us), many for near loads
without work."""


@dataclass(frozen=True)
class Job:
    """A job of a crew: far or near loads, operations on each word, streams that take part, and loads in a group."""

    far: bool
    work: int
    streams: int
    depth: int


class Crew:
    """Threads that do jobs together, each bound to one CPU if the system can do so; a context manager that ends them.

    Parameters
    ----------
    words : int64 array, all zero, its length a power of two
    per_line : int
        Number of words in a line.
    cpus : sequence of int
        CPUs that the threads are bound to, in turn.
    most : int
        Number of threads, and so of streams that a job can use.
    """

    def __init__(self, words: Words, per_line: int, cpus: Sequence[int], most: int) -> None:
        self._cpus = cpus
        self._job, self._spans = np.zeros(JOB_WORDS, np.int64), np.zeros((most, 4), np.int64)
        self._timer_ns = timer_cost()
        self._job[GO] = STOP
        serve(self._job, 0, words, per_line, self._spans[0])  # compiles
        self._job[GO] = 0

        def body(k: int) -> None:
            if hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(0, {cpus[k % len(cpus)]})  # 0: this thread only
            serve(self._job, k, words, per_line, self._spans[k])

        self._threads = [threading.Thread(target=body, args=(k,), name=f"stream {k}", daemon=True) for k in range(most)]
        for thread in self._threads:
            thread.start()
        self.visit(Job(False, 0, most, 1), 0, 0)  # returns when all threads run and have their code

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._go(STOP)
        for thread in self._threads:
            thread.join()

    def visit(self, job: Job, ns: int, turn: int) -> Windows:
        """Do a job for the given number of ns; return its one window.

        The window's CPU time is that of all streams, divided by the number of CPUs that they can keep busy.
        """
        words = self._job
        words[STREAMS], words[DEPTH], words[WORK], words[FAR] = job.streams, job.depth, job.work, job.far
        words[GROUPS] = FEW_GROUPS if job.far or job.work else MANY_GROUPS
        words[DONE] = 0
        stolen = stolen_ns(self._cpus) or 0
        words[DEADLINE] = clock() + ns
        self._go(int(words[GO]) + 1)
        while (done := load(words, DONE)) < job.streams:
            if not all(thread.is_alive() for thread in self._threads):  # the ended thread has printed why
                self._go(STOP)
                raise SmpError("a stream that takes part in the measurement has ended with an exception")
            futex_wait(words, DONE, done, SLICE_NS)
        spans = self._spans[: job.streams].view(SPAN)[:, 0]
        window = np.zeros(1, WINDOW)
        window["round"] = turn
        window["operations"] = spans["operations"].sum()
        window["wall_ns"] = spans["end"].max() - spans["start"].min()
        window["cpu_ns"] = spans["cpu_ns"].sum() // min(job.streams, len(self._cpus))
        window["timer_ns"], window["overlap"] = self._timer_ns, 1.0
        window["stolen_ns"] = (stolen_ns(self._cpus) or 0) - stolen
        window["before_GHz"] = window["after_GHz"] = np.nan
        return window

    def _go(self, number: int) -> None:
        store(self._job, GO, number)
        futex_wake(self._job, GO, len(self._threads))
