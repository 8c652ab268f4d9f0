"""Reductions and scans of short arrays that a program has asked for before: all that is known of them is kept.

The first call looks at operator, dtype and shape, and makes views of the slots (see ``stage``).  Every further call
with the same ones copies the array into the slot, takes one barrier, and folds the slots.  A processor that has a
boundary is not here, and votes at the barrier; the others then look at the boundaries.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...protocols import folds
from .combination import Combination, Out
from .exchange import Exchange
from .operators import Operator
from .segments import NONE

KEPT = 1000
"""Combinations that are kept."""
_FOLDS: dict[tuple[Operator, np.dtype[Any]], int] = {
    (np.add, np.dtype(np.float64)): folds.ADD,
    (np.multiply, np.dtype(np.float64)): folds.MULTIPLY,
    (np.add, np.dtype(np.int64)): folds.ADD_INTEGERS,
    (np.multiply, np.dtype(np.int64)): folds.MULTIPLY_INTEGERS,
}
"""Codes of the operators of float64 and int64 that machine code can fold."""


class Repeated:
    """The short combinations of one processor that can be asked for again."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._made: dict[Hashable, _Plan] = {}

    def result(self, key: Hashable, value: Any, out: Out) -> Any:
        """Return the result of a combination that is kept; NotImplemented if it is not."""
        plan = self._made.get(key)
        if plan is None or (out is not None and not plan.takes(out)):
            return NotImplemented
        return plan(value, out)

    def keep(self, key: Hashable, asked: Combination, agreed: str) -> None:
        """Keep a combination whose arrays fit into slots."""
        if len(self._made) == KEPT:
            self._made.clear()
        self._made[key] = _Plan(self._exchange, asked, agreed)


class _Plan:
    """One combination, for other values again and again."""

    def __init__(self, exchange: Exchange, asked: Combination, agreed: str) -> None:
        port, mine = exchange.port, asked.mine
        assert port.memory is not None
        self._asked, self._agreed, self._exchange, self._port = asked.without_value(), agreed, exchange, port
        self._slots, self._rank, self._fold = port.memory.slots, port.rank, port.memory.fold
        self._dtype, self._shape = mine.dtype, mine.shape
        self._exact = asked.exact
        self._number = type(asked.value) is not np.ndarray  # the result is a number of Python
        self._traffic = asked.name, mine.itemsize, port.size * mine.nbytes, mine.nbytes
        self._views = []
        for octets, boundaries in self._slots.sets:
            own = octets[:, : mine.nbytes].view(mine.dtype).reshape(port.size, *mine.shape)
            read = own.view()
            read.flags.writeable = False  # the operator may be a function that changes its arguments, or returns one
            self._views.append((own[port.rank, ...], [read[rank, ...] for rank in range(port.size)], boundaries))
        self._row: list[float] | None = None  # of the record outside supersteps
        self._native = self._folding()

    def _folding(self) -> tuple[int, NDArray[Any]] | None:
        """Return the plan of a fold by machine code, and where its result will be; None if NumPy must fold."""
        asked, span = self._asked, self._asked.span(None, self._rank, self._port.size)
        op = _FOLDS.get((asked.op, self._dtype))
        if self._fold is None or op is None or not span:
            return None
        (first, second), total = self._slots.sets[:2], np.zeros(self._shape, self._dtype)
        plan = np.zeros(folds.PLAN, np.int64)
        plan[[folds.AT, folds.SET]] = _address(first.octets), _address(second.octets) - _address(first.octets)
        plan[[folds.SLOT, folds.COUNT]] = first.octets.strides[0], total.size
        plan[[folds.FIRST, folds.STEP, folds.NUMBER]] = span[0], span.step, len(span)
        plan[[folds.OP, folds.OUT]] = op, _address(total)
        self._plan = plan
        return _address(plan), total

    def takes(self, out: NDArray[Any]) -> bool:
        """Return True if ``out`` can take the result."""
        return type(out) is np.ndarray and out.dtype == self._dtype and out.shape == self._shape and out.flags.writeable

    def __call__(self, value: Any, out: Out) -> Any:
        began = self._exchange.begin()
        turn = self._slots.turn()
        own, arrays, boundaries = self._views[turn]
        own[...] = value
        boundaries[self._rank] = NONE
        votes = self._port.synchronise(self._agreed)
        if votes or self._native is None or self._fold is None:
            total = self._asked.of(arrays, boundaries.tolist() if votes else None, self._rank)
        else:
            plan, total = self._native
            self._fold(plan, turn)
            if self._exact and self._plan[folds.WRAPPED]:
                self._asked.of(arrays, None, self._rank)  # looks closely, and raises an error if it is so
            if out is None and not self._number:
                total = total.copy()
        self._record(began)
        if out is None:
            return total.item() if self._number else total
        if total.dtype == self._dtype:
            out[...] = total
        else:
            np.copyto(out, total)  # refuses a result of another kind, such as a quotient of integers
        return out

    def _record(self, began: float) -> None:
        recorder = self._exchange.recorder
        if recorder.going_on is not None or self._port.priced is not None:
            self._exchange.record(*self._traffic, began)
            return
        name, itemsize, read, written = self._traffic
        row = self._row
        if row is None:
            row = self._row = recorder.exchanges(None, name, itemsize)
        row[0] += 1
        row[1] += read
        row[2] += written
        row[3] += self._port.clock() - began


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
