"""Measure the memory of one node from the CPUs of another: latency of a random chase, and GB/s that all CPUs read.

    memory on node       0        1                  an array is on the node of the thread that touches it first
    CPUs of node 0     local   remote
    CPUs of node 1    remote    local

Each thread is bound to a CPU.  A node of memory without a usable CPU is left out, since no thread can touch its memory
first.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from smp._computer.limits import ROOT, read, usable_cpus
from smp.microbench.method.clocks import HostClock, timer_cost
from smp.microbench.method.overlaps import SPAN, together
from smp.microbench.method.result import Result, summarise
from smp.microbench.method.rounds import measure_points
from smp.microbench.method.visit import Point

from ..latency.pages import Pages
from ..latency.walks import UNROLLED, random_walk
from .inject import Words, inject_until
from .stream import LIMITS

FOLDER = "sys/devices/system/node"
LINES = 16_384
"""Lines that a window reads: 1 MB."""
SHORTEST_NS = 20_000
"""Shortest window: the array of spans has room for as many of them as fit into the time."""

Made = TypeVar("Made")


@dataclass(frozen=True)
class Pair:
    """Results of one node's CPUs with the memory of a node: ns of a load, and ns per line that each CPU reads."""

    cpus: int
    memory: int
    latency: Result
    reading: list[Result]


def nodes_of_memory(root: Path = ROOT, usable: Sequence[int] | None = None) -> dict[int, list[int]]:
    """Return the nodes of memory with the usable CPUs of each; nodes without any are left out.

    Parameters
    ----------
    root : Path
    usable : sequence of int, optional
        CPUs that may be used; by default those of this process.
    """
    allowed = set(usable_cpus() if usable is None else usable)
    folders = {int(one.name[4:]): one for one in (root / FOLDER).glob("node[0-9]*")}
    found = {node: sorted(allowed & _numbers(read(folders[node] / "cpulist") or "")) for node in sorted(folders)}
    return {node: cpus for node, cpus in found.items() if cpus}


def _numbers(text: str) -> set[int]:
    """Return the CPUs of a list in the form in which the kernel writes it: ``0-2,5``."""
    ends = (re.findall(r"\d+", part) for part in text.split(","))
    return {cpu for part in ends if part for cpu in range(int(part[0]), int(part[-1]) + 1)}


def measure_nodes(
    found: Mapping[int, Sequence[int]], nbytes: int, line_bytes: int, seconds: float, seed: int
) -> list[Pair]:
    """Measure the CPUs of every node against the memory of every node.

    Parameters
    ----------
    found : mapping of int to sequence of int
        CPUs of each node.
    nbytes : int
        Bytes of the chased array. The arrays that the CPUs of a node read have as many bytes together.
    line_bytes : int
    seconds : float
        Seconds for all pairs of nodes.
    seed : int
    """
    rng = np.random.default_rng([seed, 9])
    share = seconds / (2 * len(found) ** 2)
    pairs = []
    for memory, owners in found.items():
        walk = _on(owners[0], random_walk, nbytes, line_bytes, True, rng)
        for node, cpus in found.items():
            point = Point((node, memory), walk, UNROLLED, quote="median")
            (latency,) = _on(cpus[0], measure_points, [point], share, rng, HostClock())
            each = max(LINES * line_bytes, nbytes // len(cpus))
            arrays = [_on(owners[k % len(owners)], _touched, each) for k in range(len(cpus))]
            pairs.append(Pair(node, memory, latency, _read(arrays, cpus, line_bytes, share)))
    return pairs


def _on(cpu: int, work: Callable[..., Made], *args: object) -> Made:
    """Do some work on a CPU, and return its result."""

    def bound() -> Made:
        os.sched_setaffinity(0, {cpu})  # of this thread
        return work(*args)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(bound).result()


def _touched(nbytes: int) -> Words:
    """Return memory in huge pages, on the node where this thread runs."""
    words = Pages(nbytes, huge=True).words
    words[:] = 1
    return words


def _read(arrays: Sequence[Words], cpus: Sequence[int], line_bytes: int, seconds: float) -> list[Result]:
    """Have a thread on each CPU read its array, all at once, for some seconds; return the ns per line of each."""
    inject_until(arrays[0], line_bytes // 8, 0, 0, LINES, 0.0, np.zeros((1, 4), np.int64))  # compiles
    together_now = threading.Barrier(len(cpus))

    def work(words: Words) -> Words:
        room = np.zeros((int(seconds * 1e9) // SHORTEST_NS + 1, 4), np.int64)
        together_now.wait()
        count, _ = inject_until(words, line_bytes // 8, 0, 0, LINES, seconds, room)
        return room[:count]

    with ThreadPoolExecutor(len(cpus)) as threads:
        spans = [one.view(SPAN)[:, 0] for one in threads.map(_on, cpus, [work] * len(cpus), arrays)]
    windows = together(spans, timer_cost())
    return [summarise((cpu,), windows[windows["rank"] == k], "median", limits=LIMITS) for k, cpu in enumerate(cpus)]
