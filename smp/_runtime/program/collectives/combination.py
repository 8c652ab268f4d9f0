"""A reduction or a scan, as one processor asks for it: what it brings, what must agree, and how the result is made."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .operators import WORD, Operator, can_overflow, folded, identity_of, must_fit, name_of, operand
from .segments import NONE, Boundary, checked_boundary, scanned, segment_of

Out = NDArray[Any] | None


class Combination:
    """A reduction or a scan of one processor.

    Parameters
    ----------
    name : str
        "reduce" or "scan".
    value : number or ndarray
        What this processor brings.
    op : ufunc or callable
        Operator of two arguments.
    boundary : Boundary, optional
        Boundary before this processor.
    exclusive, reverse : bool
        Whether a scan leaves out the processor's own value, and whether it begins with the last processor.
    identity : number, optional
        Number that the operator combines with x into x.
    out : ndarray, optional
        Receives the result.

    Attributes
    ----------
    mine : ndarray
        The value as the operator combines it.
    description : str
        What all processors must agree on, but for the dtype and the shape.
    exact : bool
        Whether the value is an integer of Python, and the result may not wrap around.
    """

    def __init__(
        self,
        name: str,
        value: Any,
        op: Operator,
        boundary: Boundary | None = None,
        exclusive: bool = False,
        reverse: bool = False,
        identity: Any = None,
        out: Out = None,
    ) -> None:
        if type(value) is int and not -WORD <= value < WORD:
            raise OverflowError(
                f"{name} takes a Python integer of at most 63 bits and a sign, not one of {value.bit_length()} bits "
                "and a sign: bring it as a float, or gather the integers, which may then be of any size"
            )
        given = np.asarray(value)
        if given.dtype.hasobject:
            raise TypeError(f"{name} works on numbers and arrays of numbers, not on a {type(value).__name__}")
        if not callable(op):
            raise TypeError(f"{name} needs an operator of two arguments, such as np.add, not {op!r}")
        self.boundary = NONE if boundary is None else checked_boundary(f"segments= of {name}", boundary)
        if out is not None:
            check_out(name, given, out)
        self.op, self.mine, self.out, self._value = op, operand(op, given), out, value
        self.exact = type(value) is int and can_overflow(op)
        self.scan, self.exclusive, self.reverse = name == "scan", exclusive, reverse
        self.name = _described(name, name_of(op), exclusive, reverse)
        self.identity = self._identity(identity) if exclusive else None
        self.description = self.name if identity is None or not exclusive else f"{self.name} from {self.identity}"

    def _identity(self, identity: Any) -> Any:
        if identity is not None:
            return _converted(identity, self.mine.dtype)
        known = identity_of(self.op, self.mine.dtype)
        if known is None:
            raise ValueError(
                f"an exclusive scan gives processor 0 the identity of its operator, and none is known of "
                f"{name_of(self.op)} for {self.mine.dtype}: give identity="
            )
        return known

    @property
    def value(self) -> Any:
        """Return the value of this processor, as it was given."""
        return self._value

    def without_value(self) -> Combination:
        """Return a copy that keeps what other values of the same dtype and shape have in common."""
        kept = copy.copy(self)
        kept.mine, kept.out, kept._value = np.zeros_like(self.mine), None, None
        return kept

    def span(self, edges: Sequence[int] | None, rank: int, size: int) -> range:
        """Return the ranks whose values make the result of processor ``rank``, in the order of their combination."""
        if self.scan:
            return scanned(edges, rank, size, self.exclusive, self.reverse)
        part = slice(0, size) if edges is None else segment_of(edges, rank)
        return range(part.start, part.stop)

    def of(self, arrays: Sequence[NDArray[Any]], edges: Sequence[int] | None, rank: int) -> Any:
        """Return the result of processor ``rank`` from the values of all."""
        span = self.span(edges, rank, len(arrays))
        if not span:
            return np.full(self.mine.shape, self.identity, self.mine.dtype)
        chosen = [arrays[other] for other in span]
        if self.exact:
            must_fit(self.name, self.op, chosen)
        return folded(self.op, chosen)

    def given_back(self, total: Any) -> Any:
        """Return the result as the caller wants it: in ``out``, as an array for an array, or as a number."""
        if self.out is not None:
            if total is not self.out:
                np.copyto(self.out, total)  # refuses a result of another kind, such as a quotient of integers
            return self.out
        if isinstance(self._value, np.ndarray):
            made = np.asarray(total)
            return made if made.flags.writeable else made.copy()  # a received block is read-only
        scalar = np.asarray(total)[()]
        python = isinstance(self._value, int | float | complex) and not isinstance(self._value, np.generic)
        return scalar.item() if python else scalar


@functools.lru_cache(maxsize=1024)
def _described(name: str, op: str, exclusive: bool, reverse: bool) -> str:
    return f"{name}({', '.join([op, *['exclusive'] * exclusive, *['reverse'] * reverse])})"


def _converted(identity: Any, dtype: np.dtype[Any]) -> Any:
    made = np.asarray(identity).astype(dtype)[()]
    if made != identity and identity == identity:  # NaN differs from itself
        raise ValueError(f"identity {identity!r} is not a number of {dtype}: it would become {made!r}")
    return made


def check_out(name: str, given: NDArray[Any], out: Any) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out= of {name} must be a NumPy array, not a {type(out).__name__}")
    if (out.dtype, out.shape) != (given.dtype, given.shape) or not out.flags.writeable:
        raise ValueError(
            f"out= of {name} must be a writeable array of {given.dtype}{list(given.shape)}, like the value, not of "
            f"{out.dtype}{list(out.shape)}"
        )
