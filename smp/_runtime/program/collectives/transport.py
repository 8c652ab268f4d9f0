"""Broadcast and gather: values that can be pickled, and arrays of numbers as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..port import Buffer
from .exchange import WORD, Exchange
from .in_slots import InSlots
from .values import checked_out, filled, packed, unpacked


class Transport:
    """Broadcasts and gathers of one processor."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        memory = exchange.port.memory
        self._in_slots = None if memory is None else InSlots(exchange.port, memory)
        self._names: dict[int, str] = {}  # by root

    def broadcast(self, split: bool, value: Any, root: int, out: Any) -> Any:
        """Broadcast at once, or as a ticket if it is split; see `Processor.broadcast`."""
        exchange, rank = self._exchange, self._exchange.rank
        if not 0 <= root < exchange.size:
            raise ValueError(f"root {root} is not a processor: ranks begin at 0 and are below {exchange.size}")
        checked_out("broadcast", out)
        if rank == root and out is not None:
            filled(out, value)
        name = self._names.get(root) or self._names.setdefault(root, f"broadcast(root={root})")
        if self._in_slots is not None and not split:
            return self._at_once(self._in_slots, name, value, root, out)
        parts = packed(value) if rank == root else ()

        def received(blocks: list[Buffer]) -> Any:
            if rank == root:
                return value if out is None else out
            return unpacked(blocks[root], out)

        return exchange.split(name, parts, received) if split else received(exchange(name, parts))

    def _at_once(self, slots: InSlots, name: str, value: Any, root: int, out: Any) -> Any:
        exchange = self._exchange
        began = exchange.begin()
        if exchange.rank == root:
            length = slots.send(name, value)
            exchange.record(name, WORD, length, length, began, _nbytes(value))
            return value if out is None else out
        value, length = slots.receive(name, root, out)
        exchange.record(name, WORD, length, 0, began, _nbytes(value))
        return value

    def gather(self, value: Any) -> list[Any]:
        """Gather; see `Processor.gather`."""
        return [unpacked(block) for block in self._exchange("gather", packed(value))]


def _nbytes(value: Any) -> int | None:
    """Return the bytes of an array; None for another value, of which only the length of its pickle is known."""
    return value.nbytes if isinstance(value, np.ndarray) else None
