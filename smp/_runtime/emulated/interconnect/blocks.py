"""Blocks that all nodes of a network send: to whom, how long, in which order, with which polls and barriers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from . import layout
from .building import Array, State
from .layout import NEVER
from .transfers import EMPTY, NO_POLL, ONCE

POLLS = {"none": NO_POLL, "once": ONCE, "empty": EMPTY}
MOST = 1 << 31  # packets of a transfer


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Blocks of all nodes, which are sent packet by packet.

    Attributes
    ----------
    targets : array_like of int, shape (nodes, transfers)
        The node to which each transfer of each node goes.
    packets : int or array_like of int, shape (nodes, transfers)
        Packets of each transfer.
    barrier_every : int
        Number of transfers after which a node enters a barrier; 0 for no barriers.
    barrier_after : {"received", "sent"}
        When a node enters: as soon as it has also received all that was sent to it until then, or before.
    poll : {"empty", "once", "none"}
        Polls after each packet that is sent: until nothing is there, one, or none. A machine whose packets interrupt
        the processor receives all packets that are there.
    wait : float
        Cycles that a sender waits after a packet, if it has received none since: bandwidth matching.
    interleave : int
        Transfers of a node that are open at a time.
    batch : int
        Packets that each of the open transfers gets in turn.
    turn : float
        Cycles that it takes to go on to another of the open transfers.
    polls_in_barrier : bool
        False if a node receives nothing while it waits in a barrier.
    spread : float
        The nodes begin at times that are drawn from 0 to this number of cycles.
    """

    targets: ArrayLike
    packets: ArrayLike
    barrier_every: int = 0
    barrier_after: str = "received"
    poll: str = "empty"
    wait: float = 0.0
    interleave: int = 1
    batch: int = 2
    turn: float = 0.0
    polls_in_barrier: bool = True
    spread: float = 0.0


class Loaded:
    """The arrays of some blocks, while the nodes of a network send them.

    Raises
    ------
    ValueError
        If the blocks do not fit the machine.
    """

    def __init__(self, blocks: Blocks, state: State) -> None:
        nodes, prices = state.nodes, state.prices
        targets, packets = _checked(blocks, nodes)
        if prices.pace and blocks.interleave > 1:
            raise ValueError(
                f"interleave is {blocks.interleave}, but on this machine a device sends one block after the other: "
                "set it to 1"
            )
        transfers = targets.shape[1]
        every = blocks.barrier_every or max(1, transfers)
        if blocks.barrier_every and not prices.barrier:
            raise ValueError("barrier_every is not 0, but this machine has no network for barriers: set it to 0")
        phases = max(1, -(-transfers // every))
        early = blocks.barrier_every > 0 and blocks.barrier_after == "sent"
        self._transfers = np.zeros((nodes, max(1, transfers), layout.TRANSFER), np.int64)
        self._transfers[:, :transfers, layout.TO] = targets
        self._transfers[:, :transfers, layout.LEFT] = packets
        self._phases = np.zeros((nodes, phases + early, layout.PHASE_ROW), np.int64)  # the last one only collects
        rows = self._phases[:, :phases]
        firsts = np.arange(phases) * every
        rows[:, :, layout.BEGIN], rows[:, :, layout.FINISH] = firsts, np.minimum(firsts + every, transfers)
        rows[:, :, layout.MEETS] = blocks.barrier_every > 0
        expected = _expected(targets, packets, phases, every)
        if early:
            self._phases[:, -1, layout.EXPECTED] = expected[:, -1]
        else:
            rows[:, :, layout.EXPECTED] = expected
        self._set_rows(blocks, state)

    def _set_rows(self, blocks: Blocks, state: State) -> None:
        rows, prices = state.node_rows, state.prices
        numbers = np.arange(state.nodes)
        rows[:, layout.RULE] = EMPTY if prices.interrupts else POLLS[blocks.poll]
        rows[:, layout.MATCH] = prices.time(blocks.wait)
        rows[:, layout.INTERLEAVE], rows[:, layout.BATCH] = blocks.interleave, blocks.batch
        rows[:, layout.POLLS_IN_BARRIER] = blocks.polls_in_barrier
        rows[:, layout.PHASES_AT] = self._phases.ctypes.data + numbers * self._phases[0].nbytes
        rows[:, layout.TRANSFERS_AT] = self._transfers.ctypes.data + numbers * self._transfers[0].nbytes
        rows[:, layout.LAST_PHASE] = self._phases.shape[1]
        rows[:, [layout.PHASE, layout.GOT, layout.SENT, layout.OUT_TURN, layout.IN_TURN]] = 0
        rows[:, layout.DONE_AT] = NEVER
        state.header[layout.TURN] = prices.time(blocks.turn)
        state.header[layout.PARTIES], state.header[layout.ENTERED] = state.nodes, 0


def _checked(blocks: Blocks, nodes: int) -> tuple[Array, Array]:
    """Return the targets and the packets as arrays of the same shape."""
    targets = np.asarray(blocks.targets)
    if targets.ndim != 2 or targets.shape[0] != nodes or targets.dtype.kind not in "iu":
        raise ValueError(
            f"targets have the shape {targets.shape} and the dtype {targets.dtype}; they must be integers with a row "
            f"for each of the {nodes} nodes"
        )
    if targets.size and not (targets.min() >= 0 and targets.max() < nodes):
        raise ValueError(f"targets are {targets.min()} to {targets.max()}; the nodes are 0 to {nodes - 1}")
    packets = np.asarray(blocks.packets)
    if packets.dtype.kind not in "iu" or (packets.size and not (packets.min() >= 0 and packets.max() < MOST)):
        raise ValueError(f"packets are {blocks.packets!r}; they must be integers from 0 to {MOST - 1}")
    if blocks.poll not in POLLS:
        raise ValueError(f"poll is {blocks.poll!r}; it must be one of {', '.join(map(repr, POLLS))}")
    if blocks.barrier_after not in ("received", "sent"):
        raise ValueError(f"barrier_after is {blocks.barrier_after!r}; it must be 'received' or 'sent'")
    for name, least in (("barrier_every", 0), ("wait", 0), ("interleave", 1), ("batch", 1), ("turn", 0), ("spread", 0)):
        if not getattr(blocks, name) >= least:
            raise ValueError(f"{name} is {getattr(blocks, name)}; it must be at least {least}")
    return targets.astype(np.int64), np.broadcast_to(packets.astype(np.int64), targets.shape)


def _expected(targets: Array, packets: Array, phases: int, every: int) -> Array:
    """Return how many packets must have come to each node at the end of each phase: those of it and of all before."""
    nodes, transfers = targets.shape
    phase = np.broadcast_to(np.arange(transfers) // every, targets.shape)
    counts = np.bincount((targets * phases + phase).ravel(), packets.ravel(), minlength=nodes * phases)
    return counts.astype(np.int64).reshape(nodes, phases).cumsum(axis=1)
