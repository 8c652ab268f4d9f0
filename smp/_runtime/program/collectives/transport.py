"""Broadcast and gather: values that can be pickled, and arrays of numbers as they are."""

from __future__ import annotations

from typing import Any

from ..port import Buffer
from .exchange import Exchange
from .values import checked_out, filled, packed, unpacked


class Transport:
    """Broadcasts and gathers of one processor."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def broadcast(self, split: bool, value: Any, root: int, out: Any) -> Any:
        """Broadcast at once, or as a ticket if it is split; see `Processor.broadcast`."""
        exchange, rank = self._exchange, self._exchange.rank
        if not 0 <= root < exchange.size:
            raise ValueError(f"root {root} is not a processor: ranks begin at 0 and are below {exchange.size}")
        checked_out("broadcast", out)
        if rank == root and out is not None:
            filled(out, value)
        name, parts = f"broadcast(root={root})", packed(value) if rank == root else ()

        def received(blocks: list[Buffer]) -> Any:
            if rank == root:
                return value if out is None else out
            return unpacked(blocks[root], out)

        return exchange.split(name, parts, received) if split else received(exchange(name, parts))

    def gather(self, value: Any) -> list[Any]:
        """Gather; see `Processor.gather`."""
        return [unpacked(block) for block in self._exchange("gather", packed(value))]
