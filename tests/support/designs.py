"""Measures of designs that several tests use."""

from collections import Counter
from itertools import combinations


def overlaps(levels):
    """Count the sets of three factors by the overlap between the interaction of two and the main effect of the third.

    The overlap is the absolute difference between the numbers of trials in which the two agree and differ.
    """
    signs = levels.astype(int)
    return Counter(abs(int(signs[:, list(who)].prod(axis=1).sum())) for who in combinations(range(signs.shape[1]), 3))
