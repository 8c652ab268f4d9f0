"""A network of packets in Python, for experiments and for the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ....machines import MachineFile, load
from . import layout
from .building import Array, State
from .layout import NEVER, NONE
from .machine_code import core
from .prices import prices
from .transfers import EMPTY, NO_POLL, ONCE

POLLS = {"none": NO_POLL, "once": ONCE, "empty": EMPTY}


@dataclass(frozen=True)
class Blocks:
    targets: Any
    packets: Any
    phase: int = 0
    barrier: bool = False
    collect: bool = False
    poll: str = "empty"
    match: float = 0
    interleave: int = 1
    batch: int = 2
    polls_in_barrier: bool = True


class Interconnect:
    def __init__(self, machine, nodes=None, *, seed=1, fidelity="contention", strict=False, turn=0):
        machine = load(machine) if isinstance(machine, str) else machine
        self.machine = machine
        self.nodes = nodes or machine.processors
        self.prices = prices(machine)
        self.state = State(self.prices, self.nodes, seed, fidelity == "contention")
        self.state.header[layout.STRICT] = strict
        self.state.header[layout.TURN] = self.prices.time(turn)
        self.core = core()

    def run(self, blocks: Blocks, picture=0, until=NEVER):
        st, P = self.state, self.nodes
        targets = np.asarray(blocks.targets, np.int64)
        T = targets.shape[1]
        packets = np.broadcast_to(np.asarray(blocks.packets, np.int64), targets.shape)
        per = blocks.phase or T
        phases = -(-T // per)
        tr = np.zeros((P, T, layout.TRANSFER), np.int64)
        tr[:, :, layout.TO] = targets
        tr[:, :, layout.LEFT] = packets
        ph = np.zeros((P, phases, layout.PHASE_ROW), np.int64)
        ph[:, :, layout.BEGIN] = np.arange(phases) * per
        ph[:, :, layout.FINISH] = np.minimum(np.arange(1, phases + 1) * per, T)
        exp = np.zeros((P, phases), np.int64)
        for f in range(phases):
            s = slice(f * per, (f + 1) * per)
            exp[:, f] = np.bincount(targets[:, s].ravel(), packets[:, s].ravel(), minlength=P)
        exp = exp.cumsum(1)
        if blocks.collect or blocks.barrier:
            ph[:, :, layout.EXPECTED] = exp
        ph[:, -1, layout.EXPECTED] = exp[:, -1]
        ph[:, :, layout.MEETS] = blocks.barrier
        rows = st.node_rows
        rows[:, layout.RULE] = POLLS[blocks.poll]
        rows[:, layout.MATCH] = self.prices.time(blocks.match)
        rows[:, layout.INTERLEAVE] = blocks.interleave
        rows[:, layout.BATCH] = blocks.batch
        rows[:, layout.POLLS_IN_BARRIER] = blocks.polls_in_barrier
        rows[:, layout.PHASES_AT] = ph.ctypes.data + np.arange(P) * ph[0].nbytes
        rows[:, layout.TRANSFERS_AT] = tr.ctypes.data + np.arange(P) * tr[0].nbytes
        rows[:, layout.PHASE] = 0
        rows[:, layout.LAST_PHASE] = phases
        rows[:, layout.GOT] = 0
        rows[:, layout.DONE_AT] = NEVER
        st.header[layout.PARTIES] = P
        if picture:
            self.picture = np.zeros((200000, P), np.int64)
            st.header[layout.PICTURE] = self.picture.ctypes.data
            st.header[layout.SAMPLES] = len(self.picture)
            st.header[layout.EVERY] = picture
        now = int(st.header[layout.NOW])
        for n in range(P):
            self.core.smp_begin(st.address, now, n)
        left = P
        while left:
            t = self.core.smp_advance(st.address, until)
            w = self.core.smp_woken(st.address)
            if w == NONE:
                break
            left -= 1
        self.done = rows[:, layout.DONE_AT].copy()
        return left
