"""Cells on several nodes: each cell lives on one node, and operations from elsewhere are done there by request.

    own node      as on the host
    other node    ask a processor of the node ─▶ one of its threads does the operation, and waits if it must
                                             ◀─ the status and the value

So a cell has one protocol, and those who wait for it are served in the order in which they came to its node.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from smp.errors import Unsupported

from ..memory.cell_values import addition, store
from ..memory.cells import Cells
from ..memory.segment import Block
from ..memory.threads import Threads
from ..protocols import cell, wait
from ..protocols.stream_slots import LOCKED
from .holders import Holder, attached_cells
from .layout import Nodes
from .messages import About, Name, Request

DO, TRY, PEEK, STATE = range(4)
"""Requests: an operation that may wait, one that does not, the value and whether it is full, the state word."""


class CellsOnNodes(Cells):
    """The cells of a machine of several nodes; see `Cells`.

    Parameters
    ----------
    node : int
        Node of this process; -1 for the parent.
    block, threads : optional
        Memory of the cells of the node, and the threads of this process; None in the parent.
    """

    def __init__(
        self, holder: Holder, about: About, nodes: Nodes, node: int, block: Block | None, threads: Threads | None
    ) -> None:
        self._of, self._about, self._node = holder, about, node
        self._bounds = nodes.bounds(about.n, about.at)
        if block is not None and threads is not None:
            super().__init__(block, about.n, about.dtype, about.words, about.retries, threads)
            self._address -= int(self._bounds[node]) * self._bytes  # where cell 0 would be
        self._n, self.dtype, self._add = about.n, about.dtype, addition(about.dtype)
        self._first, self._end = (int(self._bounds[node]), int(self._bounds[node + 1])) if node >= 0 else (0, 0)

    @property
    def name(self) -> Name:
        """Name of the cells."""
        return self._about.name

    def __reduce__(self) -> tuple[Callable[..., Cells], tuple[Any, ...]]:
        return attached_cells, (self._of.key, self._about)

    def _holder(self, i: Any) -> tuple[int, int]:
        """Return the node of a cell, and its number there."""
        index = operator.index(i)
        if not -self._n <= index < self._n:
            raise IndexError(f"cell {index} is out of bounds: the number of cells is {self._n}")
        index += self._n if index < 0 else 0
        node = int(np.searchsorted(self._bounds, index, side="right")) - 1
        return node, index - int(self._bounds[node])

    def _far(self, i: Any, what: int, op: int = 0, value: Any = None, timeout: float | None = None) -> tuple[int, int]:
        node, index = self._holder(i)
        given = np.zeros(1, np.int64)
        if value is not None:
            store(value, given.view(self.dtype))
        return self._of.cell(
            node, Request(self._about.name, index, what, op, int(given[0]), self._about.retries, timeout)
        )

    def _is_near(self, i: Any) -> bool:
        index = operator.index(i)
        return self._first <= (index if index >= 0 else index + self._n) < self._end

    def _is_closed(self) -> bool:
        return False  # otherwise the request has been refused

    def counters(self) -> np.ndarray[Any, np.dtype[np.void]]:
        """Raise `Unsupported`: each processor counts for itself."""
        raise Unsupported("the streams of several nodes have no common counters: ask each processor, proc.counters()")

    def _value(self, bits: int) -> Any:
        return np.array([bits], np.int64).view(self.dtype)[0].item()

    @property
    def _native(self) -> tuple[int, int, int, int, int]:
        others = [node for node in range(len(self._bounds) - 1) if self._bounds[node] < self._bounds[node + 1]]
        if others and others != [self._node]:
            raise Unsupported(
                f"a compiled loop was given cells of which some live on node {(set(others) - {self._node}).pop()}, and "
                f"it runs on node {self._node}: use them from Python, or make them with cells(..., at=rank)"
            )
        return super()._native

    def _do(self, op: int, i: Any, value: Any, timeout: float | None) -> Any:
        if self._is_near(i):
            return super()._do(op, i, value, timeout)
        wait.deadline_after(timeout, 0)  # raises here if it is not valid
        status, bits = self._far(i, DO, op, value, timeout)
        if status:
            self._ended(status, op, i, timeout)
        return self._value(bits)

    def _try(self, op: int, i: Any, value: Any) -> tuple[bool, Any]:
        if self._is_near(i):
            return super()._try(op, i, value)
        status, bits = self._far(i, TRY, op, value)
        if status == wait.ABORTED:
            self._ended(status, op, i, None)
        return status == wait.OK, self._value(bits)

    def purge(self, i: int, value: Any = 0) -> int:
        """Store ``value`` in cell ``i`` and set it to empty; see `Cells.purge`."""
        if self._is_near(i):
            return super().purge(i, value)
        status, bits = self._far(i, DO, cell.PURGE, value)
        if status:
            self._ended(status, cell.PURGE, i, None)
        return bits

    def peek(self, i: int) -> tuple[bool, Any]:
        """Return whether cell ``i`` is full, and its value, both at the same moment."""
        if self._is_near(i):
            return super().peek(i)
        full, bits = self._far(i, PEEK)
        return bool(full), self._value(bits)

    def full_together(self, indices: Iterable[int]) -> bool:
        """Return True if all these cells were seen full at one and the same moment; see `Cells.full_together`."""
        chosen = list(indices)
        states = [self._state(i) for i in chosen]
        if not all(state & (cell.FULL | LOCKED) == cell.FULL for state in states):
            return False
        return states == [self._state(i) for i in chosen]

    def _state(self, i: int) -> int:
        return int(self._threads.state(self._at(i))) if self._is_near(i) else self._far(i, STATE)[1]


def storage(words: int) -> np.dtype[Any]:
    """Return the dtype of the memory of a cell, which has a number of words."""
    return np.dtype((np.void, 8 * words))
