"""Scans along one long vector, of which every processor has a part.

    processor         0              1                2
    vector            a b c d        e f │ g          h i                    │ a segment begins
    scan of the part  a .. abcd      e ef│ g          h hi
    arrives                          abcd             g                      of the parts before this one
    result            a .. abcd      abcde abcdef│ g  gh ghi

Every processor scans its part, and brings the total of its last segment to one exchange.  Then it combines what arrives
from the parts before it with its own elements up to the first boundary.  A reverse scan is the same on the mirrored
vector.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..port import Buffer
from .combination import Combination
from .operators import Operator

_SHORT = 64  # elements: shorter segments are scanned side by side
_EMPTY, _FIRST, _INNER = 1, 2, 4


class _Part(NamedTuple):
    """The state of a part: whether a segment begins with it, or in it, and the total of its last segment."""

    empty: bool
    first: bool
    inner: bool
    total: Any


class Along:
    """A scan along a vector, of which this processor has the part ``asked.mine``.

    Parameters
    ----------
    segments : bool array, optional
        True where a segment begins; of the length of the part.
    """

    def __init__(self, asked: Combination, segments: Any) -> None:
        mine = asked.mine
        if mine.ndim != 1:
            raise ValueError(f"a scan along a vector takes a one-dimensional part of it, not {list(mine.shape)}")
        starts = np.zeros(mine.shape, bool) if segments is None else np.asarray(segments)
        if starts.dtype != bool or starts.shape != mine.shape:
            raise ValueError(
                f"segments= of a scan along a vector must be a boolean array of the length of the part, {len(mine)}, "
                f"not {starts.dtype}{list(starts.shape)}"
            )
        self._asked, self._empty, self._first = asked, len(mine) == 0, bool(starts[:1].any())
        inner = starts[1:][::-1] if asked.reverse else starts[1:]
        self._begins = np.flatnonzero(inner) + 1  # where segments begin in the part, in the direction of the scan
        with np.errstate(over="ignore"):
            self._local = _scanned(asked.op, mine[::-1] if asked.reverse else mine, self._begins)

    def block(self) -> tuple[Buffer, ...]:
        """Return what this processor brings."""
        state = _EMPTY * self._empty | _FIRST * self._first | _INNER * bool(len(self._begins))
        return bytes([state]), self._local[-1:].view(np.uint8).data

    def result(self, blocks: Sequence[Buffer], rank: int) -> NDArray[Any]:
        """Return the part of the result, given the blocks of all."""
        asked, local = self._asked, self._local
        carry = self._arriving([self._part(block) for block in blocks], rank)
        if carry is not None:
            first = self._begins[0] if len(self._begins) else len(local)
            with np.errstate(over="ignore"):
                local[:first] = _each(asked.op, carry, local[:first])
        if asked.exclusive and len(local):
            local[1:] = local[:-1].copy()
            local[self._begins] = asked.identity
            local[0] = asked.identity if carry is None else carry
        return local[::-1].copy() if asked.reverse else local

    def _part(self, block: Buffer) -> _Part:
        state = memoryview(block)[0]
        empty = bool(state & _EMPTY)
        total = None if empty else np.frombuffer(memoryview(block)[1:], self._local.dtype)[0]
        return _Part(empty, bool(state & _FIRST), bool(state & _INNER), total)

    def _arriving(self, parts: Sequence[_Part], rank: int) -> Any:
        """Return the value that arrives at this part from those before it, or None."""
        if parts[rank].empty:
            return None
        reverse = self._asked.reverse
        before = reversed(parts[rank + 1 :]) if reverse else parts[:rank]
        carry: Any = None
        edge = False  # whether a segment begins at the edge that comes next in the direction of the scan
        for part in before:
            if part.empty:
                continue
            if edge or (not reverse and part.first):
                carry = None
            with np.errstate(over="ignore"):
                carry = part.total if carry is None or part.inner else self._asked.op(carry, part.total)
            edge = reverse and part.first
        return None if edge or (not reverse and parts[rank].first) else carry


def _scanned(op: Operator, part: NDArray[Any], begins: NDArray[np.intp]) -> NDArray[Any]:
    """Return the scan of each segment of a part, in memory of its own; segments begin at 0 and at ``begins``."""
    result = part.copy()
    bounds = np.concatenate(([0], begins, [len(part)]))
    lengths = np.diff(bounds)
    long = lengths > (_SHORT if len(begins) else 0)
    for start, stop in zip(bounds[:-1][long].tolist(), bounds[1:][long].tolist(), strict=True):
        if isinstance(op, np.ufunc):
            op.accumulate(part[start:stop], dtype=part.dtype, out=result[start:stop])
        else:
            result[start:stop] = list(itertools.accumulate(part[start:stop], op))
    starts, lengths = bounds[:-1][~long], lengths[~long]
    for step in range(1, int(lengths.max(initial=0))):
        at = starts[lengths > step] + step
        result[at] = _pairs(op, result[at - 1], result[at])
    return result


def _each(op: Operator, carry: Any, values: NDArray[Any]) -> Any:
    return op(carry, values) if isinstance(op, np.ufunc) else [op(carry, value) for value in values]


def _pairs(op: Operator, left: NDArray[Any], right: NDArray[Any]) -> Any:
    return op(left, right) if isinstance(op, np.ufunc) else list(map(op, left, right))
