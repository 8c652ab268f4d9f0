"""The bursts of blocks: one at a time, several in turn, transposes, and clearing memory.

Blocks by packets exist only between processors that share no memory, so they are not measured here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.program.collectives.patterns import rounds
from smp._runtime.program.collectives.relay import SHORT, WINDOW
from smp._runtime.program.messages.deliveries import CHUNK
from smp._runtime.program.processor import Processor

from .primitive import Burst, Primitive, repeated

BYTES = {"length": "64..1e6 x 12"}
CLEARED = {"length": "1e3..1e6 x 12"}
TRANSFERS = {"transfers": "powers 1..16", "length": "1e3..3e5 x 8"}
PARTS = {"length": "1..1e5 x 12"}
IN_CHUNKS = (f"ceil(length / {CHUNK})",)
"""Term for the parts in which queued blocks are sent."""
IN_ROUNDS = (f"(length * p > {SHORT // 8})", f"ceil(length * (p - 1) / {WINDOW // 8})")
"""Terms for parts that do not fit into a slot, and for the rounds in which they are then passed on."""


def block(proc: Processor, length: int) -> Burst:
    """Time the blocks that processor 0 sends to the next one, which waits and handles them."""
    sending = block_both_ways(proc, length)
    return lambda calls: sending(calls) if proc.rank == 0 else math.nan


def block_both_ways(proc: Processor, length: int) -> Burst:
    """Time the blocks that all processors send at once, each to the next one."""
    port, data = proc.port(length, np.uint8), np.ones(length, np.uint8)
    to = (proc.rank + 1) % proc.size
    return repeated(proc, lambda: proc.send_block(to, port, data))


def queued_blocks(proc: Processor, transfers: int, length: int) -> Burst:
    """Time all the transfers that are started and served together."""
    port, data = proc.port((transfers, length), np.uint8), np.ones((transfers, length), np.uint8)
    to = (proc.rank + 1) % proc.size

    def call() -> None:
        for k in range(transfers):
            proc.start_block(to, port, data[k], k * length)
        proc.serve_blocks()

    return repeated(proc, call)


def transpose(proc: Processor, length: int) -> Burst:
    data, out = _parts(proc, length)
    return repeated(proc, lambda: proc.transpose(data, out))


def transpose_by_permutations(proc: Processor, length: int) -> Burst:
    """Time a transpose of one permutation after the other, each of which takes a barrier."""
    data, out = _parts(proc, length)
    port = proc.port(length)
    patterns = [targets.tolist() for targets in rounds(proc.size)[1:]]
    pairs = [(targets[proc.rank], targets.index(proc.rank)) for targets in patterns]

    def call() -> None:
        out[proc.rank] = data[proc.rank]
        for to, source in pairs:
            out[source] = proc.permute(port, data[to], to)

    return repeated(proc, call)


def transpose_without_barriers(proc: Processor, length: int) -> Burst:
    """Time a transpose of one block after the other, in which processors wait only for the data.

    There are two ports, used in turn: a processor that writes to one again has received all parts of the transpose
    since, so the others have all parts of the one before.
    """
    data, _ = _parts(proc, length)
    ports = [proc.port((proc.size, length)) for _ in range(2)]
    order = [int(targets[proc.rank]) for targets in rounds(proc.size)[1:]]
    others, turn = length * len(order), 0

    def call() -> None:
        nonlocal turn
        turn = 1 - turn
        port = ports[turn]
        port.expect(others)
        port.data[proc.rank] = data[proc.rank]
        for to in order:
            proc.send_block(to, port, data[to], proc.rank * length)
        port.wait()

    return repeated(proc, call)


def clear(proc: Processor, length: int) -> Burst:
    return repeated(proc, np.ones(length, np.uint8).fill, 0)


def _parts(proc: Processor, length: int) -> NDArray[Any]:
    """Return a part for each processor, and an array for those that come."""
    return np.ones((2, proc.size, length))


PRIMITIVES = (
    Primitive("block by copy", block, BYTES, "bytes"),
    Primitive("block by copy, both ways", block_both_ways, BYTES, "bytes"),
    Primitive("start_block and serve_blocks", queued_blocks, TRANSFERS, "bytes of each", IN_CHUNKS),
    Primitive("transpose", transpose, PARTS, "words of a part", IN_ROUNDS),
    Primitive("transpose by permutations", transpose_by_permutations, PARTS, "words of a part"),
    Primitive("transpose without barriers", transpose_without_barriers, PARTS, "words of a part"),
    Primitive("clear memory", clear, CLEARED, "bytes", published="69.28 + 1.005 * length (figure 6-6)"),
)
