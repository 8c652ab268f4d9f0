"""Messages as words: up to seven numbers fit into one packet, everything else is a pickle in one packet or several.

``protocols.packet_heads`` describes the head of a packet.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...protocols.packet_heads import CONTINUES, HANDLERS, MORE, NAME_AT, NAMES, NUMBERS, PICKLED, TYPES, TYPES_AT
from ..pickling import dumps, loads

LONGEST = 2048
"""Bytes of the longest pickle of a message."""
_WHOLE = frozenset((int, np.int64, np.int32))
_REAL = frozenset((float, np.float64))


@functools.cache
def _layout(count: int, types: int) -> struct.Struct:
    return struct.Struct("=" + "".join("d" if types >> k & 1 else "q" for k in range(count)))


@functools.lru_cache(maxsize=1024)
def _numbers(kinds: tuple[type, ...]) -> tuple[int, struct.Struct] | None:
    """Return the part of the head and the layout of arguments of these types; None if they are not a few numbers."""
    if len(kinds) > NUMBERS or not all(kind in _WHOLE or kind in _REAL for kind in kinds):
        return None
    types = sum(1 << k for k, kind in enumerate(kinds) if kind in _REAL)
    return types << TYPES_AT, _layout(len(kinds), types)


def head_of(number: int, name: int) -> int:
    """Return the head of messages to a handler, to which the rest is added."""
    return number | name % NAMES << NAME_AT


def number_of(head: int) -> tuple[int, int]:
    """Return the number of the handler, and the part of the hash of its name."""
    return head & HANDLERS - 1, head >> NAME_AT


def encoded(args: Sequence[Any]) -> tuple[int, bytes]:
    """Return arguments as a part of the head, and bytes.

    Raises
    ------
    ValueError
        If their pickle is too long.
    """
    numbers = _numbers(tuple(map(type, args)))
    if numbers is not None:
        try:
            return numbers[0], numbers[1].pack(*args)
        except struct.error:  # an int of more than 64 bits
            pass
    data = dumps(tuple(args))
    if len(data) > LONGEST:
        raise ValueError(
            f"the arguments of a message take {len(data):,} bytes, and at most {LONGEST:,} are possible: send long "
            "data as a block, with proc.send_block"
        )
    whole = len(data).to_bytes(8, "little") + data
    return PICKLED, whole + bytes(-len(whole) % 8)


def decoded(head: int, data: bytes | memoryview) -> tuple[Any, ...]:
    """Return the arguments of a whole message."""
    if head & PICKLED:
        length = int.from_bytes(data[:8], "little")
        args: tuple[Any, ...] = loads(data[8 : 8 + length])
        return args
    count = len(data) >> 3
    return _layout(count, (head & TYPES) >> TYPES_AT).unpack(data)


def parts(head: int, data: bytes, most: int) -> list[tuple[int, bytes]]:
    """Return the packets of a message, as heads and bytes; a packet has at most ``most`` words."""
    size = 8 * most
    if len(data) <= size:
        return [(head, data)]
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    flags = [MORE, *[CONTINUES | MORE] * (len(pieces) - 2), CONTINUES]
    return [(head | flag, piece) for flag, piece in zip(flags, pieces, strict=True)]


class Assembly:
    """The packets of one sender on one network that have come and whose messages are not complete.

    A processor that waits for room in the middle of a message may send another one from a handler.  It then sends that
    one as a whole, so the messages that are not complete are nested.
    """

    def __init__(self) -> None:
        self._open: list[list[bytes]] = []

    def add(self, head: int, data: bytes) -> bytes | None:
        """Take a packet of a message that has several; return the bytes of the message if this was the last."""
        if not head & CONTINUES:
            self._open.append([data])
            return None
        self._open[-1].append(data)
        return None if head & MORE else b"".join(self._open.pop())
