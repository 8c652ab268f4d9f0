"""List ranking, timed: each algorithm of the study on a random list.

Source: the study of the Tera MTA, section 4.4, figures 18 to 20.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smp.machines import MachineFile

from ..emulation import Emulation
from . import list_programs
from .list_programs import BARRIER, NEXT
from .reid_miller import sublist_program

ALGORITHMS = ("serial", "wyllie_cells", "wyllie_lists", "reid_miller", "reid_miller_threads")
SUBLISTS = 8
"""Sublists for each stream, if the list is long enough."""
_SHORTEST = 8  # nodes of a sublist, on average


@dataclass(frozen=True)
class Ranked:
    """The ranks of a list's nodes, and the cycles that they took."""

    ranks: NDArray[np.int64]
    cycles: int
    seconds: float


def random_list(n: int, seed: int = 0) -> NDArray[np.int64]:
    """Return the nodes of a list in their order, at random places."""
    return np.random.default_rng(seed).permutation(n)


def ranked(machine: MachineFile, algorithm: str, order: NDArray[np.int64], streams: int = 1, seed: int = 0) -> Ranked:
    """Rank a list on one processor.

    Parameters
    ----------
    machine : MachineFile
    algorithm : str
        One of `ALGORITHMS`. The runtime creates the streams of "wyllie_lists" and "reid_miller_threads", and the
        hardware starts those of the others. This belongs to the time.
    order : ndarray of int (n,)
        The nodes, in the order of the list.
    streams : int
        Number of streams.
    seed : int
        Of the random nodes at which Reid-Miller divides the list.
    """
    n = len(order)
    end = int(order[-1])
    share = -(-n // streams)
    given = {
        "number": streams - 1,
        "share": share,
        "n": n,
        "end": end,
        "head": int(order[0]),
        "rounds": max((n - 1).bit_length(), 1),
        "last": streams - 1,
        "one": 1,
        "other": 2 * n,
    }
    if algorithm.startswith("reid_miller"):
        made = sublist_program(streams, algorithm.endswith("threads"))
        splits = _splits(n, streams, seed)
        count, values = len(splits) + 1, NEXT + n
        given |= {"values": values, "ranks": values + n, "marks": values + 2 * n, "count": count}
        lists = values + 3 * n
        given |= {name: lists + k * count for k, name in enumerate(("heads", "sums", "successors", "firsts"))}
        words = lists + 4 * count
    else:
        made = {
            "serial": lambda streams: list_programs.serial(),
            "wyllie_cells": list_programs.wyllie_cells,
            "wyllie_lists": list_programs.wyllie_lists,
        }[algorithm](streams)
        values = NEXT + n
        given |= {"values": values, "ranks": values + n if algorithm == "serial" else values}
        words = NEXT + 4 * n
    emulation = Emulation(machine, made.program, words, processors=1)
    memory = emulation.values
    memory[NEXT + order[:-1]], memory[NEXT + end] = order[1:], end
    memory[values : values + n] = 1
    if algorithm.startswith("wyllie"):
        memory[values + end] = 0
    if algorithm.startswith("reid_miller"):
        memory[given["marks"] + order[splits]] = np.arange(1, count)
        memory[given["heads"] : given["heads"] + count] = order[np.concatenate(([0], splits + 1))]
    emulation.make_empty((BARRIER + 1, BARRIER + 2))
    emulation.start(made.start, {register: given[name] for name, register in made.inputs.items()})
    emulation.run()
    at = given["ranks"]
    if algorithm == "wyllie_lists" and given["rounds"] % 2:
        at += given["other"]
    found = memory[at : at + n].copy()
    return Ranked(n - 1 - found if algorithm.startswith("wyllie") else found, emulation.cycle, emulation.seconds)


def _splits(n: int, streams: int, seed: int) -> NDArray[np.int64]:
    """Return the places, in the order of the list, of random nodes behind which sublists begin."""
    count = min(SUBLISTS * streams, n // _SHORTEST)
    return np.sort(np.random.default_rng([seed, n]).choice(n - 1, max(count - 1, 0), replace=False))
