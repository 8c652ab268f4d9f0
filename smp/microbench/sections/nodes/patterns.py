"""Patterns of near and far accesses: those of the suites of the SMP cost study, of which shares go to other nodes.

    a processor's reads     near ────────────────│ far ──────────────│─────────────│
                            a processor of       an equal part from each of some processors
                            its node             of other nodes

The far shares of suite 1 are 0, a half and 1 in turn.  In suites 2 and 3 they are drawn for each pattern, one for the
reads and one for the writes.  The functions are fitted on suites 1 and 2, and suite 3 is kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from smp.models.supersteps.suites import suite

SUITES = (1, 2, 3)
APART = 3
"""The suite that is not fitted."""
MOST = 12
"""Most patterns of a suite that are measured for each size; more processors have more, and some are drawn."""


@dataclass(frozen=True)
class Pattern:
    """Words that each processor copies in one superstep.

    Attributes
    ----------
    family : {"good", "bad"}
    suite : int
    near_reads, far_reads, near_writes, far_writes : tuple of int
        Words of each processor.
    owners : int
        Number of processors of other nodes that each processor accesses.
    """

    family: str
    suite: int
    near_reads: tuple[int, ...]
    far_reads: tuple[int, ...]
    near_writes: tuple[int, ...]
    far_writes: tuple[int, ...]
    owners: int

    @property
    def words(self) -> int:
        """The most words that a processor reads or writes."""
        near_and_far = zip(self.near_reads + self.near_writes, self.far_reads + self.far_writes, strict=True)
        return max(near + far for near, far in near_and_far)


def patterns_of(family: str, nodes: Sequence[int], sizes: Sequence[int], rng: np.random.Generator) -> list[Pattern]:
    """Return the patterns of a family.

    Parameters
    ----------
    family : {"good", "bad"}
    nodes : sequence of int
        Node of each processor.
    sizes : sequence of int
        Words that the busiest processors read or write.
    rng : numpy.random.Generator
    """
    p, found = len(nodes), list[Pattern]()
    most_owners = p - max(map(list(nodes).count, nodes))  # processors of other nodes that every processor has
    for number in SUITES:
        drawn = [(h, pattern) for h in sizes for pattern in suite(number, p, [h], rng, max(sizes))]
        for h in sizes:
            same = [pattern for size, pattern in drawn if size == h]
            kept = rng.permutation(len(same))[:MOST]
            for (read, written), k in zip(_shares(number, len(kept), rng), kept, strict=True):
                if not most_owners:
                    read = written = 0.0
                reads, writes = same[k].reads, same[k].writes
                far_reads, far_writes = (reads * read).astype(int), (writes * written).astype(int)
                words = (reads - far_reads, far_reads, writes - far_writes, far_writes)
                counts = [tuple(map(int, each)) for each in words]
                owners = int(rng.integers(1, most_owners, endpoint=True)) if most_owners else 0
                found.append(Pattern(family, number, counts[0], counts[1], counts[2], counts[3], owners))
    return found


def _shares(number: int, count: int, rng: np.random.Generator) -> Iterator[tuple[float, float]]:
    """Yield the far shares of the reads and of the writes of each pattern of a suite."""
    for k in range(count):
        yield (k % 3 / 2, k // 3 % 3 / 2) if number == 1 else (float(rng.random()), float(rng.random()))
