"""Estimate how a list lies in memory from a sample of its links, to predict what following it will cost.

    successor     1  2  3  7,921  5  6  4,310  8 ...
    jump          1  1  1  7,918  1  1  4,304  1 ...      far: 1/4 of the links;  span: 14.5 doublings of a byte

A link to a node within a kilobyte is followed at the rate of the nearest cache.  The length of any other link shows in
which cache the nodes of that neighbourhood stay, and so how long such a link takes.  In a long list in which every
window of 10,000 nodes is shuffled, it takes about as long as in a random list of 10,000 nodes.
"""

from __future__ import annotations

import numpy as np

from smp import local

from .lists import Nodes

NEAR = 10
"""Doublings of a byte from which a link is far: 1 KiB."""
FEWEST, MOST, NODES_A_SAMPLE = 64, 512, 2048
"""Links in a sample: at least 64, at most 512, and between these one for every 2048 nodes."""
GLANCE, LEAVING, BEYOND, SHORT_WAITS = 32, 14, 15, 1 << 19
"""Links of a glance, the doublings of a byte from which they often and always leave the nearest cache, and bytes of the
next one."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # golden section of 2^64: its multiples lie evenly and fit no stride
_MUCH = 1e200  # a product of jumps up to this can take one more; a logarithm takes longer than looking at a link


@local
def far_jumps(successor: Nodes, samples: int, near: int) -> tuple[int, float]:
    """Look at ``samples`` links; return how many span ``near`` nodes or more, and the sum of their doublings."""
    n, far, doublings, product, position = len(successor), 0, 0.0, 1.0, np.uint64(0)
    for _ in range(samples):
        x = np.int64((position >> np.uint64(11)) * 2.0**-53 * n)  # a fraction of n, less than n
        position += _GOLDEN
        jump = abs(np.int64(successor[x]) - x)
        if jump >= near:
            far += 1
            product *= jump
            if product > _MUCH:
                doublings += np.log2(product)
                product = 1.0
    return far, doublings + np.log2(product)


@local
def go_far(successor: Nodes) -> bool:
    """Return True if enough of a few links leave the nearest cache that following them one by one is slow.

    A quarter that go 16 KiB are enough, as many as if the nodes were shuffled within 32 KiB.  In a list that does not
    fit into most second-level caches, where a wait is longer, so is an eighth that go 32 KiB.
    """
    width, octets = successor.itemsize, len(successor) * successor.itemsize
    if 4 * far_jumps(successor, GLANCE, (1 << LEAVING) // width)[0] >= GLANCE:
        return True
    return octets >= SHORT_WAITS and 8 * far_jumps(successor, GLANCE, (1 << BEYOND) // width)[0] >= GLANCE


def locality(successor: Nodes) -> tuple[float, float]:
    """Return the share of a list's links that go far in memory, and how far those links go.

    Parameters
    ----------
    successor : int32 or int64 array of shape (n,)

    Returns
    -------
    far : float
        Share of the links that span 1 KiB or more.
    span : float
        Mean of the binary logarithm of their distance in bytes; `NEAR` if there are none.

    Notes
    -----
    The sample has n/2048 links, at least 64 and at most 512.  Looking at it takes 3 us, and 10 to 50 us if the list is
    in no cache: under 5% of the time of ranking the list.
    """
    if len(successor) == 0:
        return 0.0, float(NEAR)
    samples = min(max(len(successor) // NODES_A_SAMPLE, FEWEST), MOST)
    far, doublings = far_jumps(successor, samples, (1 << NEAR) // successor.itemsize)
    span = doublings / far + np.log2(successor.itemsize) if far else NEAR
    return far / samples, float(span)
