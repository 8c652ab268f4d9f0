"""Loc and M/G of the supersteps of three sorting programs, as the SMP paper printed them (tables 9 to 11).

Loc is 1 if the measured time is at the good prediction, and 0 at the bad one; M/G is measured over good. The printed
values are averages over the paper's numbers of keys. They are of communication alone, copy-in and copy-out.
"""

from dataclasses import dataclass

from .coefficients import PROCESSORS

TABLES = {"radix": 9, "sample": 10, "column": 11}
"""Number of the paper's table for a sorting program."""


@dataclass(frozen=True)
class PaperStep:
    """A row of tables 9 to 11.

    Attributes
    ----------
    counts : tuple of str (3,)
        h_r and h_w, the most words that any processor reads and writes, and M, the words of all processors, as
        formulas of n keys and p processors.
    loc, m_over_g : tuple of float
        Values for each of `PROCESSORS`; `m_over_g` is empty for a superstep that is not "significant".
    """

    counts: tuple[str, str, str]
    loc: tuple[float, ...]
    m_over_g: tuple[float, ...] = ()

    def at(self, p: int) -> tuple[float, float | None]:
        """Return Loc and M/G, or None for M/G, for one of `PROCESSORS`."""
        k = PROCESSORS.index(p)
        return self.loc[k], self.m_over_g[k] if self.m_over_g else None


_EVEN = ("n/p", "n/p", "2n")

PAPER_STEPS: dict[str, dict[str, PaperStep]] = {
    "radix": {
        "count": PaperStep(("n/p", "64", "n + 64p"), (0.97, 0.96, 0.95, 0.96), (1.65, 1.84, 2.78, 3.76)),
        "prefix sum": PaperStep(("64", "64", "128p"), (0.99, 0.99, 0.97, 0.95)),
        "offsets": PaperStep(("64", "64", "128p"), (0.99, 0.99, 0.98, 0.95)),
        "move": PaperStep(("n/p + 64", "n/p", "2n + 64p"), (0.97, 0.96, 0.96, 0.96), (2.55, 2.77, 4.03, 5.05)),
    },
    "sample": {
        "sample": PaperStep(("100", "100", "200p"), (0.96, 0.97, 0.95, 0.91)),
        "count": PaperStep(("n/p + p", "p", "n + 2p^2"), (0.82, 0.85, 0.91, 0.93), (7.34, 6.83, 6.81, 7.12)),
        "prefix sum": PaperStep(("p", "p", "2p^2"), (0.99, 0.99, 0.97, 0.95)),
        "move": PaperStep(("n/p + 3p", "n/p", "2n + 3p^2"), (0.86, 0.88, 0.91, 0.94), (8.58, 8.21, 8.58, 8.69)),
        "sort": PaperStep(("n/p", "n/p", "2n ideally"), (0.87, 0.87, 0.91, 0.94), (7.82, 7.80, 7.81, 7.65)),
    },
    "column": {
        "init": PaperStep(_EVEN, (0.93, 0.93, 0.93, 0.94), (5.18, 5.44, 7.41, 8.36)),
        "sort/transpose": PaperStep(_EVEN, (0.95, 0.96, 0.95, 0.96), (3.62, 3.72, 4.61, 6.16)),
        "sort/reverse": PaperStep(_EVEN, (0.85, 0.81, 0.78, 0.76), (9.97, 13.34, 19.69, 31.09)),
        "sort": PaperStep(_EVEN, (0.95, 0.95, 0.95, 0.95), (3.89, 4.06, 5.26, 6.62)),
        "shift/sort/unshift": PaperStep(_EVEN, (0.95, 0.96, 0.96, 0.96), (3.72, 3.70, 4.45, 5.52)),
    },
}
"""Supersteps of each sorting program, by the labels that the kernels give them, in the paper's order."""


def closest_p(p: int) -> int:
    """Return the number closest to p of those that the paper measured; of two equally close, the smaller.

    Examples
    --------
    >>> [closest_p(p) for p in (1, 2, 3, 10, 64)]
    [2, 2, 2, 8, 12]
    """
    return min(PROCESSORS, key=lambda known: abs(known - p))


def paper_lengths(p: int) -> tuple[int, ...]:
    """Return the numbers of keys that the paper sorted with p processors, ascending (section 5.2).

    Examples
    --------
    >>> paper_lengths(2)[:3], paper_lengths(2)[-3:]
    ((10000, 20000, 30000), (2650000, 2950000, 3250000))
    """
    first = {step * p * i for step in (5_000, 50_000) for i in range(1, 11)}
    return tuple(sorted(first | {550_000 + 150_000 * p * i for i in range(10)}))
