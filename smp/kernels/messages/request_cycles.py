"""Requests: each processor works, sends a request to another one, and waits for the reply, again and again.

    processor c    work ── request ──▶                  ...waits...                 ──▶ reply handler ── work ...
    processor k                        request handler ── reply ──▶

This is the program that the LoPC model describes.  Its times and destinations are drawn from the same random numbers as
those of `smp.models.lopc.simulate`, in the same order: thread c draws those of its own cycles, and a request carries
the times of the handlers that it will meet.  So on a machine that does what the model assumes, `model_machine`, each
cycle takes the time that it takes in the simulation.

Source: M. Frank, LoPC: Modeling Contention in Parallel Algorithms, chapters 4 to 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp import Message, Processor
from smp.models.lopc.draws import Purpose, Route, times
from smp.models.lopc.setting import Setting

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cycles:
    """The cycles of one processor's thread.

    Attributes
    ----------
    ended : ndarray (n,) float64
        Time at which each cycle ended, in seconds of `Processor.clock`.  The first one began with the program, each
        other one when the one before it ended.
    busy : ndarray (n,) float64
        Work and handlers of each cycle, in cycles of the machine, as they were drawn.
    """

    ended: Array
    busy: Array


def model_machine(
    latency: float, *, processors: int = 64, hz: float = 1e9, protocol_processor: bool = False
) -> dict[str, Any]:
    """Return the machine file of the machine that the LoPC model describes, as a mapping.

    Messages interrupt, the queues are large, the wires take the same time everywhere, and a handler takes only the time
    that its program states.  A barrier takes a cycle: time must pass while `Processor.quiet` waits for messages.

    Parameters
    ----------
    latency : float
        S_l, the time of each trip through the network, in cycles.
    processors : int
        P, if `smp.emulated` is given no other number.
    hz : float
        Cycles in a second.
    protocol_processor : bool
        True if handlers run on hardware of their own while the thread continues its work.
    """
    nothing = dict.fromkeys(("request", "rpc", "inject", "receive", "poll_empty"), 0)
    return {
        "name": "lopc",
        "processors": processors,
        "source": "M. Frank, LoPC: Modeling Contention in Parallel Algorithms, MIT, 1997, section 2",
        "clock": {"hz": hz},
        "message": {"notify": "interrupt", **nothing, "payload": 1 << 20, "words": 1 << 18},
        "interface": {"in_fifo": 1 << 40, "out_fifo": 1 << 40},
        "network": {"kind": "ideal", "latency": latency, "hop": 0},
        "control": {"kind": "tree", "barrier": 1, "combine": _FREE, "broadcast": _FREE, "global_or": 0},
        "protocol": {"processor": protocol_processor},
    }


_FREE = {"start": 0, "per_word": 0}


class Requests:
    """The requests of one processor; all processors make theirs alike.

    Parameters
    ----------
    proc : Processor
    setting : Setting
        Times, in cycles of the machine, and visits, as the model has them; the latency is that of the machine.
    work_variation : float
        C² of the threads' work.
    seed : int
        Seed of the random numbers, as for `smp.models.lopc.simulate`.
    padding : int
        Numbers of 8 bytes that each message carries in addition to those that it needs, which are four for a request of
        one hop, and one for a reply.
    """

    def __init__(
        self, proc: Processor, setting: Setting, work_variation: float = 1.0, seed: int = 0, padding: int = 0
    ) -> None:
        self._proc, self._waiting, self._padding = proc, False, (0,) * padding
        c = proc.rank
        self._work = float(setting.work[c])
        self._occupancy = setting.occupancy.tolist()
        self._draw_work = times(seed, c, Purpose.WORK, work_variation)
        self._draw_handler = times(seed, c, Purpose.HANDLERS, setting.variation)
        self._route = Route(setting.visits[c], seed, c)
        self._reply = proc.handler(self._replied)
        self._request = proc.handler(self._requested, replies=True)

    def run(self, until: float) -> Cycles:
        """Begin cycles until a time, in seconds of `Processor.clock`, if this processor has a thread."""
        proc = self._proc
        ended: list[float] = []
        busy: list[float] = []
        while self._work < float("inf") and proc.clock() < until:
            work = self._work * self._draw_work()
            proc.work(cycles=work)
            nodes = self._drawn_route()
            handlers = [self._occupancy[node] * self._draw_handler() for node in (*nodes, proc.rank)]
            self._waiting = True
            stops = zip(handlers, (*nodes[1:], proc.rank), strict=False)  # each handler, and where it sends the message
            onward = [number for stop in stops for number in stop]
            proc.request(nodes[0], self._request, len(nodes), *onward, handlers[-1], *self._padding)
            proc.wait_until(lambda: not self._waiting)
            ended.append(proc.clock())
            busy.append(work + sum(handlers))
        return Cycles(np.array(ended), np.array(busy))

    def _drawn_route(self) -> list[int]:
        hops = self._route.hops()
        return [self._route.node() for _ in range(hops)]

    def _requested(self, message: Message, hops: int, took: float, to: int, *rest: float) -> None:
        """Handle a request that has some hops left with this one, and then goes to a node, from the last as a reply."""
        self._proc.work(cycles=took)
        if hops > 1:
            message.forward(self._request, hops - 1, *rest, to=to)
        else:
            message.reply(self._reply, *rest, to=to)

    def _replied(self, message: Message, took: float, *padding: float) -> None:
        self._proc.work(cycles=took)
        self._waiting = False


def requests(
    proc: Processor, setting: Setting, until: float, work_variation: float = 1.0, seed: int = 0, padding: int = 0
) -> Cycles:
    """Run the cycles of a setting until a time, as an SPMD program; see `Requests`."""
    return Requests(proc, setting, work_variation, seed, padding).run(until)
