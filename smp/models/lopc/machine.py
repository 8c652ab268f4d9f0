"""The simulated machine: its nodes and threads between two events, and the loop over the events.

Each thread has one pending event, so the heap holds one entry per thread, and the thread's next event replaces it:

    its work ends (unless handlers have come in between: then later)  ──►  request arrives  ──► ...
    ──►  reply arrives  ──►  its work ends

Handlers need no events of their own. All handlers of a node are done at its time `free`, so a handler that arrives at t
and takes S is done at max(t, free) + S. A request handler that comes while the node's thread is at work, or before its
work has begun, puts off the end of the work by S.

Of several events at the same time, the one that was sent first comes first; the end of a thread's work is sent when it
comes. Then the order is that of the senders. It is the order in which processors would act at the same time: by node,
the handlers of a node before its thread; with protocol processors, the handlers of all nodes before the threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import inf

import numpy as np

from .._types import FloatArray
from .draws import Purpose, Route, times
from .setting import Setting

PARTS = ("response", "thread_wait", "request_wait", "reply_wait")
"""Names of the times that are added up over cycles."""


@dataclass(frozen=True, eq=False)
class State:
    """Sums since the start of the simulation.

    Attributes
    ----------
    now : float
        Simulated time.
    sums : ndarray (4,)
        Sums of `PARTS` over all cycles.
    cycles : ndarray (P,)
        Number of finished cycles of each thread.
    requests, replies : ndarray (P,)
        Total time of the request and of the reply handlers at each node.
    """

    now: float
    sums: FloatArray
    cycles: FloatArray
    requests: FloatArray
    replies: FloatArray


class Machine:
    """Nodes and threads between two events; `work_variation` and `seed` are those of `simulate`.

    Attributes
    ----------
    ended : list of (int, float) or None
        If it is a list, the thread and the time of the end of each cycle are appended to it.
    """

    def __init__(self, setting: Setting, work_variation: float, seed: int) -> None:
        nodes = range(len(setting.work))
        threads = setting.threads.tolist()
        self.latency, self.occupancy, self.work = setting.latency, setting.occupancy.tolist(), setting.work.tolist()
        self.draw_work = {c: times(seed, c, Purpose.WORK, work_variation) for c in threads}
        self.draw_handler = {c: times(seed, c, Purpose.HANDLERS, setting.variation) for c in threads}
        self.routes = {c: Route(setting.visits[c], seed, c) for c in threads}
        self.free = [0.0 for _ in nodes]
        self.ready = [0.0 for _ in nodes]
        self.ends = [self.work[c] * self.draw_work[c]() if c in self.routes else inf for c in nodes]
        self.alone = list(self.ends)  # when the work would have ended without handlers in between
        self.put_off = [0.0 for _ in nodes] if setting.protocol_processor else self.ends  # by request handlers
        self.ended: list[tuple[int, float]] | None = None
        count = len(nodes)
        apart = setting.protocol_processor
        self.of_handlers = list(range(count)) if apart else list(range(0, 2 * count, 2))  # places among the senders
        self.of_thread = [count + k if apart else 2 * k + 1 for k in nodes]
        # time of the event, time and place of its sender, thread, hops left, node
        self.heap = [(self.ends[c], self.ends[c], self.of_thread[c], c, -1, c) for c in threads]
        heapify(self.heap)
        self.now = 0.0
        self.sums = [0.0] * len(PARTS)
        self.cycles = [0 for _ in nodes]
        self.requests, self.replies = [0.0 for _ in nodes], [0.0 for _ in nodes]

    def state(self) -> State:
        """Return the sums so far."""
        return State(self.now, *map(np.array, (self.sums, self.cycles, self.requests, self.replies)))

    def run(self, cycles: int) -> None:
        """Continue until the given number of further cycles have ended."""
        heap, latency, occupancy, work = self.heap, self.latency, self.occupancy, self.work
        draw_work, draw_handler, routes = self.draw_work, self.draw_handler, self.routes
        of_handlers, of_thread = self.of_handlers, self.of_thread
        free, ready, ends, alone, put_off = self.free, self.ready, self.ends, self.alone, self.put_off
        done, requests, replies, ended = self.cycles, self.requests, self.replies, self.ended
        response, thread_wait, request_wait, reply_wait = self.sums
        now = self.now
        while cycles:
            now, _, place, c, hops, node = heap[0]
            if hops < 0:  # the thread's work ends
                if ends[c] > now:  # not yet: handlers have come in between
                    heapreplace(heap, (ends[c], ends[c], place, c, -1, c))
                    continue
                thread_wait += now - alone[c]
                sent, hops = now, routes[c].hops()
            else:  # a message arrives
                took = occupancy[node] * draw_handler[c]()
                begun = free[node] if free[node] > now else now
                free[node] = sent = begun + took
                if not hops:  # the reply
                    reply_wait += begun - now
                    replies[c] += took
                    response += sent - ready[c]
                    done[c] += 1
                    cycles -= 1
                    ready[c] = sent
                    if ended is not None:
                        ended.append((c, sent))
                    ends[c] = alone[c] = end = sent + work[c] * draw_work[c]()
                    heapreplace(heap, (end, end, of_thread[c], c, -1, c))
                    continue
                place = of_handlers[node]
                put_off[node] += took
                request_wait += begun - now
                requests[node] += took
                hops -= 1
            to = routes[c].node() if hops else c
            heapreplace(heap, (sent + latency, sent, place, c, hops, to))
        self.now = now
        self.sums = [response, thread_wait, request_wait, reply_wait]
