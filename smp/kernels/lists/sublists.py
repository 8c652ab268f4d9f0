"""Random sublists: a list that is cut before pseudo-random nodes, and the list of the pieces.

    nodes       3 ─▶ 1 ─▶ 4 ─▶ 0 ─▶ 2 ⟲        place(4) = 1 and place(2) = 0 are below ``count`` = 2:
                ╰ 2 ────╯╰ 1 ────╯╰ 0            so nodes 4 and 2 start sublists 1 and 0, and the head sublist 2
    links       2 ─▶ 1 ─▶ 0 ─▶ end               (length, next sublist) of each: (2, 1), (2, 0), (1, END)

A bijection maps the nodes onto pseudo-random places.  The nodes whose place is below ``count`` start a sublist.  So a
walk recognises the end of a sublist, and knows the number of the next, without looking anything up in memory.  The
starts are the images of 0 to count - 1 under the inverse.  (A bitmap of the starts would compete for the cache, and
marks in the list would have to be written.)

The bijection is two rounds of x ^= x >> h and x *= odd (mod 2^k), followed by x ^= x >> h.  Each step is invertible.
The lengths of the sublists are distributed exponentially, as with truly random cuts, on ordered and strided lists too.
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
"""Next sublist of the last sublist."""
UNKNOWN = -2
"""Next sublist of a sublist whose walk has not come to its end."""

Key = tuple[int, int, int]  # shift, mask, odd factor


@inline
def place(node: Any, key: Key) -> Any:
    """Return the pseudo-random place of a node (int64), or of each node of an array."""
    shift, mask, factor = key
    x = node ^ (node >> shift)
    x = (x * factor) & mask
    x = x ^ (x >> shift)
    x = (x * factor) & mask
    return x ^ (x >> shift)


@dataclass(frozen=True)
class Sublists:
    """A cut of a list of n nodes into sublists.

    Attributes
    ----------
    n : int
        Number of nodes of the list.
    head : int
        First node of the list.
    count : int
        The nodes on places below ``count`` start a sublist.  A place without a node starts none, so there are about
        ``count`` / 2 sublists or more.
    key : tuple
        Constants of the bijection.
    """

    n: int
    head: int
    count: int
    key: Key

    @property
    def first(self) -> int:
        """Number of the head's sublist: the head's place if that starts a sublist, else ``count``, reserved for it."""
        at_head = int(place(self.head, self.key))
        return at_head if at_head < self.count else self.count

    def share(self, rank: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers and the starting nodes of the sublists of processor ``rank``."""
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
    """Cut a list of n >= 2 nodes into about ``wanted`` sublists, but at most half as many as there are nodes."""
    if wanted < 1:
        raise ValueError(f"sublists must be at least 1, not {wanted}")
    bits = (n - 1).bit_length()
    places = 1 << bits
    count = min(-(-wanted * places // n), n // 2 - 1)
    factor = random.Random(seed).randrange(places) | 1
    return Sublists(n, head, count, ((bits + 1) // 2, places - 1, factor))


def put_links(step: Superstep, scratch: GlobalArray, numbers: NDArray[np.int64], links: NDArray[np.int64]) -> None:
    """Copy out (length, next) of some sublists.

    ``scratch`` is the array that will hold the ranks.  It holds nothing yet, has room for two words of every sublist,
    and its dtype can count the nodes.
    """
    step.copy_out(scratch, 2 * numbers, links[:, 0])
    step.copy_out(scratch, 2 * numbers + 1, links[:, 1])


def get_links(step: Superstep, scratch: GlobalArray, sublists: Sublists) -> NDArray[np.int64]:
    """Copy in the links that all processors have put; rows of sublists that do not exist are arbitrary."""
    words = step.copy_in(scratch, slice(0, 2 * (sublists.count + 1)))
    return words.astype(np.int64).reshape(-1, 2)


@local
def offsets_along(links: NDArray[np.int64], first: int, offsets: NDArray[np.int64]) -> int:
    """Scan the list of sublists: write the rank at which each starts, and return the number of nodes to the tail.

    Return 0 if the sublists from the first on do not end at the tail.
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
    """Return the expected lengths of the sublists when a list of n >= 2 nodes is cut into about ``wanted``.

    Returns
    -------
    int64 array of shape (count + 1,)
        The lengths, shortest first, and then zeros; they sum to n.  There is one length for each place below ``count``
        that is expected to have a node, and one for the head's sublist.  ``count`` is that of `cut`.

    Notes
    -----
    When k random cuts divide a line of length 1 into k + 1 pieces, the expected length of the i-th shortest is
    1/(k + 1) times 1/(k + 1) + 1/k + ... (i terms).  If the pieces have fewer than about ten nodes on average, the
    longest are longer than that, because nodes are whole.  Source: Pyke, Spacings, Journal of the Royal Statistical
    Society B 27, 1965.
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
    """Return the lengths of all sublists by number, or the `expected_lengths` if they are not known.

    Raises
    ------
    ValueError
        The lengths are not those of n nodes.
    """
    if lengths is None:
        return expected_lengths(n, wanted)
    known = np.asarray(lengths, np.int64)
    if known.ndim != 1 or known.min(initial=0) < 0 or known.sum() != n:
        raise ValueError(
            f"lengths has shape {known.shape} and the sum {known.sum():,}, with no value below {known.min(initial=0)}: "
            f"give one length per sublist number, or 0 if no sublist has that number; they must sum to the {n:,} nodes"
        )
    return known
