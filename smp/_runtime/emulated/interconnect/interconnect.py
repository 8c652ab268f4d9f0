"""A network of packets, as Python sees it."""

from __future__ import annotations

import numpy as np

from ....errors import DeadlockError
from ....machines import MachineFile, load
from . import layout
from .blocks import Blocks, Loaded
from .building import Array, State
from .events import ANY, NOTHING, SHORT
from .layout import NEVER, NONE
from .machine_code import core
from .naming import deadlock
from .outcomes import Counters, Outcome, counters
from .prices import PICO, prices_of
from .sleeping import IDLE


class Interconnect:
    """The wires, switches and queues between the nodes of a machine, event by event.

    Times are whole picoseconds, and must not decrease from call to call. A call first processes what happens up to its
    time; only `advance` reports watched nodes that wake.

    Parameters
    ----------
    machine : MachineFile or str
        A machine with messages, or its name.
    nodes : int, optional
        Number of nodes; by default that of the machine.
    seed : int
        Seed of all that is drawn: links, the times of interrupts, the first steps of ``run``.
    fidelity : {"contention", "latency"}
        With "latency", packets do not meet, and queues are never full.
    drawn_first : bool
        True if a switch draws one of its equal links upward, and waits for it. By default it draws one of those that
        are free.

    Raises
    ------
    Unsupported
        If the machine has no messages.
    ValueError
        If an argument is not allowed.
    """

    def __init__(
        self,
        machine: MachineFile | str,
        nodes: int | None = None,
        *,
        seed: int = 1,
        fidelity: str = "contention",
        drawn_first: bool = False,
    ) -> None:
        if fidelity not in ("contention", "latency"):
            raise ValueError(f"fidelity is {fidelity!r}; it must be 'contention' or 'latency'")
        self.machine = load(machine) if isinstance(machine, str) else machine
        self.nodes = self.machine.processors if nodes is None else nodes
        self.prices = prices_of(self.machine)
        self.state = State(self.prices, self.nodes, seed, fidelity == "contention", drawn_first)
        self._random = np.random.default_rng(seed)
        self._core = core()

    @property
    def channels(self) -> int:
        """Number of independent networks."""
        return self.state.channels

    @property
    def now(self) -> int:
        """The time that was reached."""
        return int(self.state.header[layout.NOW])

    def advance(self, until: int = NEVER) -> int | None:
        """Process all events up to a time.

        It ends before, if a node that is watched wakes or one that transfers blocks is done, and returns that node.
        Otherwise it returns None.
        """
        while True:
            self._core.smp_advance(self.state.address, until)
            node = self._core.smp_woken(self.state.address)
            if node != SHORT:
                return None if node == NONE else node
            self.state.grow()

    def next_event(self) -> int | None:
        """Return the time of the next event, or None if nothing will happen."""
        time = self._core.smp_next_event(self.state.address)
        return None if time == NEVER else time

    def inject(self, time: int, node: int, destination: int, size: int, tag: int = 0, channel: int = 0) -> bool:
        """Put a packet into an output queue; return False if the queue is full.

        Parameters
        ----------
        time : int
        node, destination : int
        size : int
            Bytes of data.
        tag : int
            A number of the caller's, at least 0, which `take` returns.
        channel : int
        """
        self._check(node, channel)
        self._check(destination, channel)
        if size < 0 or tag < 0:
            raise ValueError(f"size is {size} and tag is {tag}; both must be at least 0")
        if self.state.header[layout.BY_BYTES] and size > (room := self.prices.interface.out_fifo):
            raise ValueError(f"size is {size}, but an output queue has room for {room} bytes: send several packets")
        self._reach(time)
        while True:
            done = self._core.smp_inject(self.state.address, time, node, channel, destination, size, tag)
            if done >= 0:
                return bool(done)
            self.state.grow()

    def take(self, time: int, node: int, channel: int | None = None) -> int | None:
        """Take a packet that has arrived; return its tag, or None if there is none.

        Without a channel, it is that on which the first packet came.
        """
        self._check(node, channel or 0)
        self._reach(time)
        tag = self._core.smp_take(self.state.address, time, node, ANY if channel is None else channel)
        return None if tag == NOTHING else tag

    def waiting(self, time: int, node: int, channel: int = 0) -> int:
        """Return how many packets can be taken."""
        self._check(node, channel)
        self._reach(time)
        return self._core.smp_waiting(self.state.address, time, node, channel)

    def arrival(self, node: int, channel: int = 0) -> int | None:
        """Return the time from which the next packet can be taken, or None if none is on its last link."""
        self._check(node, channel)
        time = self._core.smp_arrival(self.state.address, node, channel)
        return None if time == NEVER else time

    def crossing(self, node: int, destination: int, size: int, channel: int = 0) -> int:
        """Return the time of a packet if nothing else is in the network."""
        self._check(node, channel)
        self._check(destination, channel)
        return self._core.smp_crossing(self.state.address, channel, node, destination, size)

    def watch(self, time: int, node: int, arrivals: bool = True, room: bool = False) -> None:
        """Let `advance` end when a packet arrives at a node, or when an output queue of it gets room again."""
        self._check(node, 0)
        self._reach(time)
        self._core.smp_watch(self.state.address, time, node, arrivals + 2 * room)

    def counters(self) -> Counters:
        """Return the counters since the network was built."""
        return counters(self.state)

    def run(self, blocks: Blocks, *, sample_every: float = 0.0, samples: int = 4096) -> Outcome:
        """Let all nodes send blocks, and return when each was done.

        Parameters
        ----------
        blocks : Blocks
        sample_every : float
            Cycles between two samples of the packets in the network for each node; 0 for no samples.
        samples : int
            Most samples.

        Raises
        ------
        DeadlockError
            If nothing can happen any more, and some nodes are not done. The message names the full queues.
        ValueError
            If the blocks do not fit the machine.
        """
        outcome = self.saturate(blocks, sample_every=sample_every, samples=samples)
        if (self.state.node_rows[:, layout.DONE_AT] == NEVER).any():
            raise DeadlockError(deadlock(self.state))
        return outcome

    def saturate(self, blocks: Blocks, *, sample_every: float = 0.0, samples: int = 4096) -> Outcome:
        """Let all nodes send blocks until they are done, or until nothing can happen any more.

        The times of nodes that are not done are NaN. Otherwise it is like `run`.
        """
        state, begun = self.state, self.now
        if (state.node_rows[:, layout.MODE] != IDLE).any():
            raise ValueError("an earlier run on this network did not end: build another Interconnect")
        loaded = Loaded(blocks, state)
        picture = np.zeros((samples if sample_every else 0, self.nodes), np.int64)
        if sample_every:
            state.sample(picture, begun, self.prices.time(sample_every))
        spread = self.prices.time(blocks.spread)
        starts = begun + self._random.integers(0, spread + 1, self.nodes)
        for node in np.argsort(starts, kind="stable").tolist():
            self._core.smp_begin(state.address, int(starts[node]), node)
        done: Array = state.node_rows[:, layout.DONE_AT]
        while (done == NEVER).any() and self.advance() is not None:
            pass
        del loaded
        state.stop_sampling()
        seconds = np.where(done == NEVER, np.nan, (done - begun) / PICO)
        sampled = int(state.header[layout.SAMPLED])
        return Outcome(seconds, state.node_rows[:, layout.SENT].copy(), self.counters(), picture[:sampled])

    def _check(self, node: int, channel: int) -> None:
        if not (0 <= node < self.nodes and 0 <= channel < self.channels):
            raise ValueError(
                f"node {node}, channel {channel}: the nodes are 0 to {self.nodes - 1}, the channels 0 to "
                f"{self.channels - 1}"
            )

    def _reach(self, time: int) -> None:
        """Process what happens up to a time, also if watched nodes wake on the way."""
        if time < self.now:
            raise ValueError(f"time is {time} ps, but the network is at {self.now} ps: times must not decrease")
        while self.advance(time) is not None:
            pass
