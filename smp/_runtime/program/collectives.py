"""Collectives on numbers and arrays, written once over a port's ``exchange``.

Every processor gets the blocks of all processors and folds them in the order of the ranks.  The same floats therefore
come out, bit for bit, on every processor and in every repeat.  The operator, dtype, shape and root, on which the
processors must agree, are part of the barrier's signature.  If they do not agree, all processors find out at that
barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pickling import dumps, loads
from .port import Port
from .steps import Recorder

Operator = np.ufunc | Callable[[Any, Any], Any]
WORD = 8
"""Bytes that count as one element of a value that is sent as a pickle."""


class Exchange:
    """A port's ``exchange`` that records its traffic: the processor writes its own block and reads those of all."""

    def __init__(self, port: Port, recorder: Recorder, settle: Callable[[], None]) -> None:
        self.rank, self.size, self._settle = port.rank, port.size, settle
        self._clock, self._exchange, self._recorder = port.clock, port.exchange, recorder

    def __call__(self, name: str, block: bytes, agreed: str = "", itemsize: int = WORD) -> list[bytes]:
        self._settle()
        began = self._clock()
        blocks = self._exchange(name + agreed, block)
        seconds = self._clock() - began
        self._recorder.exchanged(name, itemsize, sum(map(len, blocks)), len(block), seconds)
        return blocks


def broadcast(exchange: Exchange, value: Any, root: int) -> Any:
    _check_root(exchange, root)
    blocks = exchange(f"broadcast(root={root})", dumps(value) if exchange.rank == root else b"")
    return value if exchange.rank == root else loads(blocks[root])


def gather(exchange: Exchange, value: Any) -> list[Any]:
    return [loads(block) for block in exchange("gather", dumps(value))]


def reduce(exchange: Exchange, value: Any, op: Operator) -> Any:
    blocks = _all(exchange, "reduce", value, op)
    return _as_given(value, _fold(op, blocks))


def scan(exchange: Exchange, value: Any, op: Operator) -> Any:
    blocks = _all(exchange, "scan", value, op)
    return _as_given(value, _fold(op, blocks[: exchange.rank + 1]))


def _check_root(exchange: Exchange, root: int) -> None:
    if not 0 <= root < exchange.size:
        raise ValueError(f"root {root} is not a processor: ranks begin at 0 and are below {exchange.size}")


def _all(exchange: Exchange, name: str, value: Any, op: Operator) -> list[NDArray[Any]]:
    mine = np.asarray(value)
    if mine.dtype.hasobject:
        raise TypeError(f"{name} works on numbers and arrays of numbers, not on a {type(value).__name__}")
    if not callable(op):
        raise TypeError(f"{name} needs an operator of two arguments, such as np.add, not {op!r}")
    operator = getattr(op, "__name__", type(op).__name__)
    blocks = exchange(f"{name}({operator})", mine.tobytes(), f" of {mine.dtype}{list(mine.shape)}", mine.itemsize)
    return [np.frombuffer(block, mine.dtype).reshape(mine.shape) for block in blocks]


def _fold(op: Operator, blocks: list[NDArray[Any]]) -> Any:
    total: Any = blocks[0].copy()
    with np.errstate(over="ignore"):  # integers wrap around, as NumPy's arrays do
        for block in blocks[1:]:
            total = op(total, block)
    return total


def _as_given(value: Any, total: Any) -> Any:
    """Return a number for a number, and an array for an array."""
    if isinstance(value, np.ndarray):
        made = np.asarray(total)
        return made if made.flags.writeable else made.copy()  # a received block is read-only
    scalar = np.asarray(total)[()]
    return scalar.item() if isinstance(value, int | float | complex) and not isinstance(value, np.generic) else scalar
