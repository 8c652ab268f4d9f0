"""Reductions and scans, written once for all machines: in slots, on the stage, or by an exchange of whole arrays.

    short arrays in shared memory     slots               one barrier     any operator
    long arrays in shared memory      stage               two barriers    ufuncs; not if the collective is split
    all others                        exchange of blocks  one barrier     any operator

A collective that is split cannot have a second barrier, so its long arrays are exchanged, and all processors must split
it: its description differs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..port import Buffer
from .along import Along
from .combination import Combination, Out
from .exchange import Exchange
from .operators import LOGICAL, WORD, Operator
from .repeated import Repeated
from .segments import NONE, Boundary
from .stage import Stage
from .tickets import Ticket, Tickets


class Combining:
    """Reductions and scans of one processor: at once, or as tickets if they are split.

    Attributes
    ----------
    boundary : Boundary
        Boundary before this processor, for scans that are given none.
    """

    def __init__(self, exchange: Exchange, tickets: Tickets) -> None:
        self._exchange, self._tickets = exchange, tickets
        self.stage = Stage(exchange.port)
        self.boundary = NONE
        self._repeated = Repeated(exchange)

    def reduce(self, split: bool, value: Any, op: Operator, segments: Boundary | None, out: Out) -> Any:
        """Reduce; see `Processor.reduce`."""
        key = None if split or segments is not None else _key(value, op, False, False, False)
        if key is not None and (known := self._repeated.result(key, value, out)) is not NotImplemented:
            return known
        asked = Combination("reduce", value, op, segments, out=out)
        return self._split(asked) if split else self._result(asked, key)

    def scan(
        self,
        split: bool,
        value: Any,
        op: Operator,
        exclusive: bool,
        reverse: bool,
        segments: Any,
        identity: Any,
        along: bool,
        out: Out,
    ) -> Any:
        """Scan; see `Processor.scan`."""
        if along:
            asked = Combination("scan", value, op, NONE, exclusive, reverse, identity, out)
            return self._along(split, asked, Along(asked, segments))
        boundary = self.boundary if segments is None else segments
        plain = not split and boundary is NONE and identity is None
        key = _key(value, op, True, exclusive, reverse) if plain else None
        if key is not None and (known := self._repeated.result(key, value, out)) is not NotImplemented:
            return known
        asked = Combination("scan", value, op, boundary, exclusive, reverse, identity, out)
        return self._split(asked) if split else self._result(asked, key)

    def _along(self, split: bool, asked: Combination, part: Along) -> Any:
        exchange, rank = self._exchange, self._exchange.rank
        name, itemsize = asked.description, asked.mine.itemsize
        agreed = f"{name} along a vector of {asked.mine.dtype}"

        def made(blocks: list[Buffer]) -> Any:
            return asked.given_back(part.result(blocks, rank))

        if split:
            return exchange.split(name, part.block(), made, agreed, itemsize)
        return made(exchange(name, part.block(), agreed, itemsize))

    def _result(self, asked: Combination, key: Hashable) -> Any:
        """Wait for the values of all processors, and return the result; keep short combinations that have a key."""
        exchange, mine = self._exchange, asked.mine
        agreed = exchange.agreed(asked.description, mine)
        if self.stage.fits(asked) and not self.stage.combines(asked):
            began = exchange.begin()
            total = self.stage.fold(agreed, asked)
            if key is not None:
                self._repeated.keep(key, asked, agreed)
            exchange.record(asked.name, mine.itemsize, exchange.size * mine.nbytes, mine.nbytes, began)
        elif self.stage.combines(asked):
            began = exchange.begin()
            total = self.stage.combine(agreed, asked)
            own = 0 if asked.scan else mine.nbytes // exchange.size  # bytes that are not read from shared memory
            written = 2 * mine.nbytes if asked.scan else mine.nbytes
            exchange.record(asked.name, mine.itemsize, 2 * (mine.nbytes - own), written, began, mine.nbytes)
        else:
            total = self._of_blocks(asked, exchange(asked.description, _block(asked), agreed, mine.itemsize))
        return asked.given_back(total)

    def _split(self, asked: Combination) -> Ticket:
        """Begin a reduction or a scan."""
        exchange, mine = self._exchange, asked.mine
        agreed = exchange.agreed(asked.description, mine)
        if self.stage.fits(asked) and not self.stage.combines(asked):
            self._tickets.check_room(agreed)
            slots = self.stage.put(asked)

            def finish(votes: int, _: list[Buffer]) -> Any:
                total = self.stage.read(asked, slots, votes)
                began = exchange.port.clock()
                exchange.record(asked.name, mine.itemsize, exchange.size * mine.nbytes, mine.nbytes, began)
                return asked.given_back(total)

            return self._tickets.begin(agreed, finish, vote=asked.boundary != NONE)
        if self.stage.combines(asked):
            agreed = f"split {agreed}"

        def finish_blocks(blocks: list[Buffer]) -> Any:
            return asked.given_back(self._of_blocks(asked, blocks))

        return exchange.split(asked.description, _block(asked), finish_blocks, agreed, mine.itemsize)

    def _of_blocks(self, asked: Combination, blocks: list[Buffer]) -> Any:
        mine = asked.mine
        views = [memoryview(block) for block in blocks]
        arrays = [np.frombuffer(view[: mine.nbytes], mine.dtype).reshape(mine.shape) for view in views]
        edges = [view[mine.nbytes] for view in views]
        return asked.of(arrays, edges if any(edges) else None, self._exchange.rank)


def _key(value: Any, op: Operator, scan: bool, exclusive: bool, reverse: bool) -> Hashable:
    """Return what a short combination has in common with further ones, or None if it is not of the usual kinds."""
    kind: Any = value.__class__
    if op.__class__ is not np.ufunc or op in LOGICAL:
        return None
    if kind is np.ndarray:
        return op, value.dtype, value.shape, scan, exclusive, reverse
    if kind is float or (kind is int and -WORD <= value < WORD):
        return op, kind, scan, exclusive, reverse
    return None


def _block(asked: Combination) -> tuple[Buffer, ...]:
    """Return the block of an array: its elements, and the boundary in the last byte."""
    return np.ascontiguousarray(asked.mine).reshape(-1).view(np.uint8).data, bytes([asked.boundary])
