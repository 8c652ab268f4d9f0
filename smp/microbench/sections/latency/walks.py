"""Pointer chases: cycles of words, each of which holds the address of the next, and the walk through them.

    strided       0 -> s -> 2s -> ... -> 0              every s-th byte of the array, in order
    random        a random cycle through all lines      each load goes to any page
    page-local    lines of a page in random order,      as many cache misses, but a new page only when
                  then the next page, also at random    the lines of the last one are used up

Each load needs the address that the load before has fetched, so no two loads overlap, and the time of a step is a
latency.  The walk follows raw addresses, since an index into an array costs one more cycle.  Source: the MTA
evaluation, section 3.1.1, after lmbench.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from smp._runtime.loops.atomics import clock, peek, thread_clock
from smp._runtime.loops.compiler import local
from smp._runtime.memory.segment import Segment

from .pages import GlobalPages, Pages

Words = NDArray[np.int64]
UNROLLED = 16
"""Number of loads in one repeat."""


@local
def chase(at: int, repeat: int) -> tuple[int, int, int]:
    """Follow the addresses from ``at``; return the address reached, and wall and CPU time in ns."""
    cpu = thread_clock()
    wall = clock()
    for _ in range(repeat):
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
        at = peek(at)
    wall = clock() - wall
    return at, wall, thread_clock() - cpu


@local
def link_strided(words: Words, base: int, stride: int, count: int) -> None:
    """Link every ``stride``-th word, ``count`` of them, in order, and the last of them to the first."""
    for k in range(count - 1):
        words[k * stride] = base + 8 * stride * (k + 1)
    words[(count - 1) * stride] = base


@local
def link_random(words: Words, base: int, stride: int, count: int, seed: int) -> None:
    """Link every ``stride``-th word, ``count`` of them, in one random cycle.

    Every cycle is equally likely (Sattolo 1986): each word is exchanged with an earlier one, never with itself.
    """
    for k in range(count):
        words[k * stride] = base + 8 * stride * k
    random = np.uint64(seed)
    for k in range(count - 1, 0, -1):
        random ^= random << np.uint64(13)  # Marsaglia's xorshift
        random ^= random >> np.uint64(7)
        random ^= random << np.uint64(17)
        other = np.int64(((random >> np.uint64(32)) * np.uint64(k)) >> np.uint64(32)) * stride
        words[k * stride], words[other] = words[other], words[k * stride]


def link_page_local(
    words: Words, base: int, stride: int, count: int, page_bytes: int, rng: np.random.Generator
) -> None:
    """Link every ``stride``-th word, ``count`` of them, page by page.

    The order of the pages and the order of the words in each page are random. The words fill whole pages.
    """
    per_page = page_bytes // (8 * stride)
    pages = rng.permutation(count // per_page)[:, None] * per_page
    within = rng.permuted(np.broadcast_to(np.arange(per_page), (pages.size, per_page)), axis=1)
    order = (pages + within).ravel() * stride
    words[order] = base + 8 * np.roll(order, -1)


class Walk:
    """A walk that continues where it stopped; the work of a measured point.

    Parameters
    ----------
    pages : Pages or GlobalPages
        Memory that is linked into one cycle through its first word.
    """

    def __init__(self, pages: Pages | GlobalPages) -> None:
        self.pages = pages
        self.at = pages.address

    def __call__(self, repeat: int) -> tuple[int, int]:
        """Take ``repeat`` times `UNROLLED` steps; return wall and CPU time in ns."""
        self.at, wall, cpu = chase(self.at, repeat)
        return wall, cpu


def random_walk(nbytes: int, line_bytes: int, huge: bool, rng: np.random.Generator) -> Walk:
    """Return a walk in random order, with one node in each line.

    Parameters
    ----------
    nbytes : int
        Bytes of the array, a multiple of the line.
    line_bytes : int
    huge : bool
        True to ask for huge pages; `pages.huge_bytes` returns the number of bytes that got them.
    rng : numpy.random.Generator

    Notes
    -----
    Linking takes 10 to 90 ns a node.
    """
    return _linked(Pages(nbytes, huge), nbytes, line_bytes, rng)


def global_walk(segment: Segment, nbytes: int, line_bytes: int, rng: np.random.Generator) -> Walk:
    """Return a walk in random order through memory allocated like a global array; see `random_walk`."""
    return _linked(GlobalPages(segment, nbytes), nbytes, line_bytes, rng)


def _linked(pages: Pages | GlobalPages, nbytes: int, line_bytes: int, rng: np.random.Generator) -> Walk:
    link_random(pages.words, pages.address, line_bytes // 8, nbytes // line_bytes, int(rng.integers(1, 1 << 62)))
    return Walk(pages)


def page_local_walk(nbytes: int, line_bytes: int, page_bytes: int, rng: np.random.Generator) -> Walk:
    """Return a walk through small pages, one page after the other; see `random_walk`."""
    pages = Pages(nbytes, huge=False)
    link_page_local(pages.words, pages.address, line_bytes // 8, nbytes // line_bytes, page_bytes, rng)
    return Walk(pages)
