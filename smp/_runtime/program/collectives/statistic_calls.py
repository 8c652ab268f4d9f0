"""The statistics of a processor: collectives on one real number of each processor.

    block of a processor     the bytes of its number, and one byte with its boundary

The processors exchange their blocks at one barrier.  Each of them then has all numbers, and computes the statistic of
its segment in the order of the ranks, so the result has the same bits on every processor and every kind of machine.

Source: E. A. Brewer, Portable High-Performance Supercomputing, section 6.1 and Strata manual, section 5.  There, the
sum under an average of integers overflows, and segments are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import statistics
from .calls import CollectiveCalls
from .segments import NONE, Boundary, checked_boundary, segment_of


class StatisticCalls(CollectiveCalls):
    """The statistics of a processor."""

    def min(self, x: Any, segments: Boundary | None = None) -> Any:
        """Return the smallest of the numbers that the processors give; all call it.

        Parameters
        ----------
        x : number
            Real number of this processor: a Python bool, int (of 64 bits) or float, or a NumPy scalar or array without
            axes.  It has the same dtype on all processors.
        segments : Boundary, optional
            Boundary between the previous processor and this one, `smp.NONE` by default.  A segment begins at
            `smp.ELEMENT` and at `smp.ARRAY`.  Each processor gets the result of its segment.

        Returns
        -------
        number
            Like ``x``: a Python number, or a NumPy scalar of the same dtype.  It is NaN if one of the numbers is NaN.
            Of equal numbers, such as 0.0 and -0.0, it is that of the lowest rank.

        Raises
        ------
        TypeError
            If ``x`` is complex or no number, or ``segments`` is not a boundary.
        ValueError
            If ``x`` is an array with axes, or a Python int of more than 64 bits.
        CollectiveMismatch
            If processors differ in the dtype of ``x``, or call different collectives.

        Notes
        -----
        A call takes one barrier.  Each processor reads the numbers of all.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc: proc.min(5 - proc.rank)).results
        [4, 4]
        """
        return self._chosen("min", statistics.smallest, x, segments)

    def max(self, x: Any, segments: Boundary | None = None) -> Any:
        """Return the largest of the numbers that the processors give.

        Parameters, result, errors and cost are those of `min`.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc: proc.max(proc.rank / 2)).results
        [0.5, 0.5]
        """
        return self._chosen("max", statistics.largest, x, segments)

    def median(self, x: Any, segments: Boundary | None = None) -> Any:
        """Return the median of the numbers that the processors give: of n numbers, the ceil(n/2)-th smallest.

        It is always one of the numbers, the smaller of the middle ones if n is even.  Parameters, errors and cost are
        those of `min`.

        Returns
        -------
        number
            Like ``x``, as for `min`; NaN if one of the numbers is NaN.

        Examples
        --------
        >>> import smp
        >>> with smp.host(4) as machine:
        ...     machine.run(lambda proc: proc.median(proc.rank**2)).results
        [1, 1, 1, 1]
        """
        return self._chosen("median", statistics.median, x, segments)

    def mean(self, x: Any, segments: Boundary | None = None) -> float:
        """Return the mean of the numbers that the processors give, correctly rounded.

        No sum overflows or rounds.  Parameters, errors and cost are those of `min`.

        Returns
        -------
        float
            The float nearest to the mean, for every dtype of ``x``.  It is infinite for longdoubles whose mean float64
            cannot hold.  Infinite numbers give what NumPy gives: infinity, or NaN if there are some of both signs.  One
            NaN gives NaN.

        Examples
        --------
        >>> import smp
        >>> with smp.host(2) as machine:
        ...     machine.run(lambda proc: proc.mean(2**62 + proc.rank * 2**61)).results
        [5.764607523034235e+18, 5.764607523034235e+18]
        """
        return statistics.mean(self._numbers("mean", _checked("mean", x), segments))

    def variance(self, x: Any, segments: Boundary | None = None) -> float:
        """Return the sample variance of the numbers that the processors give, correctly rounded.

        It is the sum of the squared distances from the mean, divided by n - 1.  Parameters, errors and cost are those
        of `min`.

        Returns
        -------
        float
            The float nearest to the variance, for every dtype of ``x``: 0.0 for one number, and infinity if float64
            cannot hold it.  A number that is infinite or NaN gives NaN.

        Examples
        --------
        >>> import smp
        >>> with smp.host(3) as machine:
        ...     machine.run(lambda proc: proc.variance(1e9 + proc.rank)).results
        [1.0, 1.0, 1.0]
        """
        return statistics.variance(self._numbers("variance", _checked("variance", x), segments))

    def _chosen(self, name: str, choose: Callable[[Sequence[Any]], Any], x: Any, segments: Boundary | None) -> Any:
        """Return the number that a function chooses from those of the segment, of the type of ``x``."""
        mine = _checked(name, x)
        found = choose(self._numbers(name, mine, segments))
        plain = isinstance(x, int | float) and not isinstance(x, np.generic)
        return found if plain else mine.dtype.type(found)

    def _numbers(self, name: str, mine: NDArray[Any], segments: Boundary | None) -> list[Any]:
        """Return the numbers of this processor's segment by rank, as Python numbers where Python has the dtype."""
        block = mine.tobytes() + bytes([self._boundary(name, segments)])
        blocks = self._exchange(name, (block,), self._exchange.agreed(name, mine), len(block))
        numbers: list[Any] = np.frombuffer(b"".join(each[:-1] for each in blocks), mine.dtype).tolist()
        return numbers[segment_of([each[-1] for each in blocks], self.rank)]

    def _boundary(self, name: str, segments: Boundary | None) -> Boundary:
        """Return the boundary of this processor for a statistic."""
        return NONE if segments is None else checked_boundary(f"segments= of {name}", segments)


def _checked(name: str, x: Any) -> NDArray[Any]:
    """Return a real number as an array without axes, or raise an error that says why it is not one."""
    given = np.asarray(x)
    if given.ndim:
        raise ValueError(
            f"{name} takes one number of each processor, not an array of shape {given.shape}: reduce it along an axis "
            "of your own first, or combine arrays element by element with proc.reduce"
        )
    if isinstance(x, int) and given.dtype.kind not in "bi":
        raise ValueError(
            f"{name} takes a Python int of at most 64 bits with its sign, not one of {x.bit_length()} bits and a sign: "
            "give np.uint64(x) or float(x) on all processors"
        )
    kind = type(given[()]).__name__
    if given.dtype.kind == "c":
        raise TypeError(f"{name} takes a real number, not a {kind}: give its real or its imaginary part")
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} takes a real number, such as an int or a float, not a {kind}")
    return given
