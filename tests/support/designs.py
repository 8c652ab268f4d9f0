"""Measures of designs that several tests use."""

from collections import Counter
from itertools import combinations


def overlaps(levels):
    """How many interactions of two factors are in a main effect, by how many trials more agree than differ."""
    signs = levels.astype(int)
    return Counter(abs(int(signs[:, list(who)].prod(axis=1).sum())) for who in combinations(range(signs.shape[1]), 3))
