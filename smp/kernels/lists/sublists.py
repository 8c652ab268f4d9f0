"""Random sublists: a list cut before pseudo-random nodes, and the list of the pieces.

    nodes       3 ─▶ 1 ─▶ 4 ─▶ 0 ─▶ 2 ⟲        place(4) = 1 and place(2) = 0 are below ``count`` = 2:
                ╰ 2 ────╯╰ 1 ────╯╰ 0            so nodes 4 and 2 start sublists 1 and 0, and the head sublist 2
    links       2 ─▶ 1 ─▶ 0 ─▶ end               (length, next sublist) of each: (2, 1), (2, 0), (1, END)

A bijection of the nodes onto pseudo-random places says which nodes start a sublist: the ones whose place is
below ``count``.  So a walk recognises the end of a sublist, and knows the next one's number, without any memory,
and the starts are the images of 0 to count - 1 under the inverse.  (A bitmap of the starts would compete for
the cache, a mark in the list would have to be written.)

The bijection is two rounds of x ^= x >> h, x *= odd (mod 2^k), and x ^= x >> h: each step is invertible.  The
lengths of sublists are then as those of truly random cuts are, on ordered and strided lists too: exponential.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smp import GlobalArray, inline, local
from smp._runtime.program.superstep import Superstep

END = -1
"""Next sublist of the last one."""
UNKNOWN = -2
"""Next sublist of one whose walk has not come to its end."""

Key = tuple[int, int, int]  # shift, mask, odd factor


@inline
def place(node: Any, key: Key) -> Any:
    """The pseudo-random place of a node (int64), or of an array of nodes."""
    shift, mask, factor = key
    x = node ^ (node >> shift)
    x = (x * factor) & mask
    x = x ^ (x >> shift)
    x = (x * factor) & mask
    return x ^ (x >> shift)


@dataclass(frozen=True)
class Sublists:
    """How a list of n nodes is cut.

    Attributes
    ----------
    n : int
        Nodes of the list.
    head : int
    count : int
        Places below it start a sublist.  Places without a node start none, so at least about half as many sublists.
    key : tuple
        Of the bijection.
    """

    n: int
    head: int
    count: int
    key: Key

    @property
    def first(self) -> int:
        """Number of the head's sublist: its own place, or ``count``, which is left free for it."""
        at_head = int(place(self.head, self.key))
        return at_head if at_head < self.count else self.count

    def share(self, rank: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers and the starting nodes of the sublists that are processor ``rank``'s."""
        shift, mask, factor = self.key
        inverse = pow(factor, -1, mask + 1)
        numbers = np.arange(rank, self.count + 1, size)
        x = numbers ^ (numbers >> shift)
        for _ in range(2):
            x = (x * inverse) & mask
            x = x ^ (x >> shift)
        if len(numbers) and numbers[-1] == self.count:
            x[-1] = self.head if self.first == self.count else self.n
        return numbers[x < self.n], x[x < self.n]


def cut(n: int, head: int, wanted: int, seed: int) -> Sublists:
    """Cut a list of n >= 2 nodes into about ``wanted`` sublists, at most half as many as nodes."""
    if wanted < 1:
        raise ValueError(f"a list is cut into 1 sublist or more, not {wanted}")
    bits = (n - 1).bit_length()
    places = 1 << bits
    count = min(-(-wanted * places // n), n // 2 - 1)
    factor = random.Random(seed).randrange(places) | 1
    return Sublists(n, head, count, ((bits + 1) // 2, places - 1, factor))


def put_links(step: Superstep, scratch: GlobalArray, numbers: NDArray[np.int64], links: NDArray[np.int64]) -> None:
    """Copy out (length, next) of some sublists.

    The ``scratch`` is the array of the ranks to be: it has room for two words of every sublist, of a dtype that
    counts nodes, and holds nothing yet.
    """
    step.copy_out(scratch, 2 * numbers, links[:, 0])
    step.copy_out(scratch, 2 * numbers + 1, links[:, 1])


def get_links(step: Superstep, scratch: GlobalArray, sublists: Sublists) -> NDArray[np.int64]:
    """Copy in what all processors have put; rows of sublists that do not exist are arbitrary."""
    words = step.copy_in(scratch, slice(0, 2 * (sublists.count + 1)))
    return words.astype(np.int64).reshape(-1, 2)


@local
def offsets_along(links: NDArray[np.int64], first: int, offsets: NDArray[np.int64]) -> int:
    """Scan the list of sublists: write the rank at which each starts, return how many nodes lead to the tail.

    Zero is returned when the sublists from the first on do not end at the tail.
    """
    reached = 0
    sublist = first
    for _ in range(len(links)):
        offsets[sublist] = reached
        reached += links[sublist, 0]
        sublist = links[sublist, 1]
        if sublist < 0:
            break
    return reached if sublist == END else 0


def expected_lengths(n: int, wanted: int) -> NDArray[np.int64]:
    """Return how long the sublists of a list of n >= 2 nodes are expected to be, cut into about ``wanted``.

    Returns
    -------
    int64 array of shape (count + 1,)
        ``count`` is that of `cut`.  As many entries as places below it are expected to have a node, and one for the
        head's sublist, shortest first; then zeros.  They sum to n.

    Notes
    -----
    Where k random cuts leave k + 1 pieces of 1, the i-th shortest is expected to have 1/(k + 1) times
    1/(k + 1) + 1/k + ... (i terms); where they have fewer than about ten nodes on average, the longest are longer than
    that, because nodes are whole.  Source: Pyke, Spacings, Journal of the Royal Statistical Society B 27, 1965.
    """
    pieces = cut(n, 0, wanted, 0)
    _, mask, _ = pieces.key
    k = round(pieces.count * n / (mask + 1))
    parts = np.cumsum(1 / np.arange(k + 1, 0, -1)) / (k + 1)
    ends = np.rint(np.cumsum(parts) * (n - k - 1)).astype(np.int64)  # beyond the one node that each has
    lengths = np.zeros(pieces.count + 1, np.int64)
    lengths[: k + 1] = 1 + np.sort(np.diff(ends, prepend=0))
    return lengths


def known_or_expected(lengths: ArrayLike | None, n: int, wanted: int) -> NDArray[np.int64]:
    """Return the lengths of all sublists by number, or the `expected_lengths` where they are not known.

    Raises
    ------
    ValueError
        When they are not those of n nodes.
    """
    if lengths is None:
        return expected_lengths(n, wanted)
    known = np.asarray(lengths, np.int64)
    if known.ndim != 1 or known.min(initial=0) < 0 or known.sum() != n:
        raise ValueError(
            f"lengths of shape {known.shape} that sum to {known.sum():,}, the least {known.min(initial=0)}: give one "
            f"for each number of a sublist, 0 where there is none, which sum to the {n:,} nodes"
        )
    return known
