"""Collectives on numbers and arrays, written once over a port's ``exchange``; see `stage` for long arrays.

Every processor gets the blocks of all processors and folds them in the order of the ranks.  The same floats therefore
come out, bit for bit, on every processor and in every repeat.  The operator, dtype, shape and root, on which the
processors must agree, are part of the barrier's signature.  If they do not agree, all processors find out at that
barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..pickling import dumps, loads
from ..port import Port
from ..steps import Recorder
from .stage import Operator, Out, Stage, folded

WORD = 8
"""Bytes that count as one element of a value that is sent as a pickle."""


class Exchange:
    """A port's ``exchange`` that records its traffic: the processor writes its own block and reads those of all.

    Long arrays go through a `Stage` instead, if the processors share memory.
    """

    def __init__(self, port: Port, recorder: Recorder, settle: Callable[[], None]) -> None:
        self.rank, self.size, self._settle = port.rank, port.size, settle
        self._clock, self._exchange, self._recorder = port.clock, port.exchange, recorder
        self.stage = Stage(port)
        self._agreed: dict[tuple[np.dtype[Any], tuple[int, ...]], str] = {}

    def __call__(self, name: str, block: bytes, agreed: str = "", itemsize: int = WORD) -> list[bytes]:
        self._settle()
        began = self._clock()
        blocks = self._exchange(name + agreed, block)
        seconds = self._clock() - began
        self._recorder.exchanged(name, itemsize, sum(map(len, blocks)), len(block), seconds)
        return blocks

    def agreed(self, mine: NDArray[Any]) -> str:
        """Return the text for the dtype and the shape of an array; making it takes NumPy longer than a barrier."""
        key = (mine.dtype, mine.shape)
        if key not in self._agreed:
            self._agreed[key] = f" of {mine.dtype}{list(mine.shape)}"
        return self._agreed[key]

    def folded(self, name: str, agreed: str, mine: NDArray[Any], op: Operator, scanned: bool) -> Any:
        """Combine short arrays in the slots: a processor reads those of all."""
        self._settle()
        began = self._clock()
        total = self.stage.fold(name + agreed, mine, op, scanned)
        seconds = self._clock() - began
        self._recorder.exchanged(name, mine.itemsize, self.size * mine.nbytes, mine.nbytes, seconds)
        return total

    def combined(self, name: str, agreed: str, mine: NDArray[Any], op: np.ufunc, scanned: bool, out: Out) -> Any:
        """Combine long arrays on the stage: a processor reads its part of all arrays, and the result."""
        self._settle()
        began = self._clock()
        total = self.stage.combine(name + agreed, mine, op, scanned, out)
        part = mine.nbytes if scanned else mine.nbytes // self.size
        self._recorder.exchanged(name, mine.itemsize, 2 * mine.nbytes, mine.nbytes + part, self._clock() - began)
        return total

    def shared(self, name: str, root: int, array: NDArray[Any]) -> NDArray[Any]:
        """Broadcast a long array on the stage, as a part of a collective that has sent its dtype and shape to all."""
        began = self._clock()
        self.stage.share(f"{name} of {array.dtype}{list(array.shape)}", root, array)
        read, written = (0, array.nbytes) if self.rank == root else (array.nbytes, 0)
        self._recorder.exchanged(name, array.itemsize, read, written, self._clock() - began, calls=0)
        return array


class _Staged(NamedTuple):
    """Stands for a long array that is broadcast on the stage."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def broadcast(exchange: Exchange, value: Any, root: int) -> Any:
    _check_root(exchange, root)
    name, sent = f"broadcast(root={root})", value
    if exchange.rank == root and type(value) is np.ndarray and exchange.stage.holds(value):
        sent = _Staged(value.dtype, value.shape)
    blocks = exchange(name, dumps(sent) if exchange.rank == root else b"")
    if exchange.rank != root:
        sent = loads(blocks[root])
    if isinstance(sent, _Staged):
        return exchange.shared(name, root, value if exchange.rank == root else np.empty(sent.shape, sent.dtype))
    return sent


def gather(exchange: Exchange, value: Any) -> list[Any]:
    return [loads(block) for block in exchange("gather", dumps(value))]


def reduce(exchange: Exchange, value: Any, op: Operator, out: Out = None) -> Any:
    return _combined(exchange, "reduce", value, op, out, scanned=False)


def scan(exchange: Exchange, value: Any, op: Operator, out: Out = None) -> Any:
    return _combined(exchange, "scan", value, op, out, scanned=True)


def _check_root(exchange: Exchange, root: int) -> None:
    if not 0 <= root < exchange.size:
        raise ValueError(f"root {root} is not a processor: ranks begin at 0 and are below {exchange.size}")


def _combined(exchange: Exchange, name: str, value: Any, op: Operator, out: Out, scanned: bool) -> Any:
    mine = np.asarray(value)
    if mine.dtype.hasobject:
        raise TypeError(f"{name} works on numbers and arrays of numbers, not on a {type(value).__name__}")
    if not callable(op):
        raise TypeError(f"{name} needs an operator of two arguments, such as np.add, not {op!r}")
    if out is not None:
        _check_out(name, mine, out)
    name = f"{name}({getattr(op, '__name__', type(op).__name__)})"
    agreed = exchange.agreed(mine)
    if isinstance(op, np.ufunc) and exchange.stage.combines(mine, op):
        return exchange.combined(name, agreed, mine, op, scanned, out)
    if exchange.stage.fits(mine):
        total = exchange.folded(name, agreed, mine, op, scanned)
    else:
        blocks = exchange(name, mine.tobytes(), agreed, mine.itemsize)
        arrays = [np.frombuffer(block, mine.dtype).reshape(mine.shape) for block in blocks]
        total = folded(op, arrays[: exchange.rank + 1] if scanned else arrays)
    if out is not None:
        np.copyto(out, total)  # refuses a result of another kind, such as a quotient of integers
        return out
    return _as_given(value, total)


def _check_out(name: str, mine: NDArray[Any], out: Any) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out= of {name} must be a NumPy array, not a {type(out).__name__}")
    if (out.dtype, out.shape) != (mine.dtype, mine.shape) or not out.flags.writeable:
        raise ValueError(
            f"out= of {name} must be a writeable array of {mine.dtype}{list(mine.shape)}, like the value, not of "
            f"{out.dtype}{list(out.shape)}"
        )


def _as_given(value: Any, total: Any) -> Any:
    """Return a number for a number, and an array for an array."""
    if isinstance(value, np.ndarray):
        made = np.asarray(total)
        return made if made.flags.writeable else made.copy()  # a received block is read-only
    scalar = np.asarray(total)[()]
    return scalar.item() if isinstance(value, int | float | complex) and not isinstance(value, np.generic) else scalar
