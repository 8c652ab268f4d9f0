"""Collectives, in which each processor gets the bytes of all others: first on each node, then between the nodes.

    node 0   processors 1, 2, ... ──▶ processor 0 ─┐           in the memory of the node (see ``meeting``)
    node 1   processors 5, 6, ... ──▶ processor 4 ─┤
                                                   │           messages between the first processors of all nodes:
                                                   │           log2(number of nodes) steps
    node 0   processors 1, 2, ... ◀── processor 0 ◀┤
    node 1   processors 5, 6, ... ◀── processor 4 ◀┘           in the memory of the node

    step      node n sends to n - d what it has, and gets from n + d what that one has           d = 1, 2, 4, ...
    after it  it has what n, n + 1, ..., n + 2 d - 1 have brought (modulo the number of nodes)

Votes are added on the way, so the messages of a barrier have the same length in all steps, on however many nodes.  Two
sums are enough (see ``known``).  Bytes are only passed on; the last step sends those that are missing.

A round is one collective; its number is the ticket.  Rounds of a program follow one another, and three of them may be
open at once.  What comes early is kept.  Whichever thread of a first processor looks for messages also looks for the
parts of its node, so a round goes on while the program computes.  Source of the steps: Bruck et al., "Efficient
algorithms for all-to-all communications in multiport message-passing systems" (1997), the concatenation algorithm.
"""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...memory.segment import Segment
from ..layout import Nodes
from ..progress import Progress
from .known import DIFFER, Blocks, Known, Votes
from .meeting import Meeting, Part


class Outcome(NamedTuple):
    """The result of a round.

    Attributes
    ----------
    agreed : bool
        Whether all processors were in the same collective.
    votes : int
    blocks : sequence of bytes
        What they have brought, by rank; empty if all have brought nothing.
    """

    agreed: bool
    votes: int
    blocks: Sequence[bytes]


class Rounds:
    """The collectives of one processor in a run.

    Parameters
    ----------
    nodes : Nodes
        At least two.
    segment : Segment
        The memory of its node.
    """

    def __init__(self, progress: Progress, rank: int, nodes: Nodes, segment: Segment) -> None:
        node = nodes.of[rank]
        self._progress, self._firsts, self._counts, self._node = progress, nodes.first, nodes.count, node
        self._first, self._count = nodes.first[node], nodes.count[node]
        self._place = rank - self._first
        self._meeting = Meeting(segment, self._place, self._count)
        self.begin_run(0)
        progress.on("round", self._came)
        progress.on("brought", self._brought)
        progress.on("result", self._result)
        if self._count > 1 and not self._place:
            progress.on_look(self._gather)

    def begin_run(self, run: int) -> None:
        """Forget the previous run; call it before messages of the new one are carried out."""
        self._base, self._last = run << 32, 0  # the numbers of rounds in the memory of the node begin after the base
        self._gathering: deque[tuple[int, list[Part]]] = deque()  # rounds with what has come of this node
        self._open: dict[int, Known] = {}  # by round
        self._early: dict[tuple[int, int], Sequence[Any]] = {}  # by round, and number of nodes known before the step
        self._sent_here: dict[tuple[int, int], bytes] = {}  # bytes that fit into no slot, by round and place
        self._results: dict[int, Sequence[bytes]] = {}  # the same of results, by round
        self._done: dict[int, Outcome] = {}

    def arrive(self, sign: int, vote: bool, data: bytes) -> int:
        """Begin the next round; return its number."""
        with self._progress.lock:
            self._last = number = self._last + 1
            if self._place:
                if not self._meeting.put(self._base + number, sign, vote, data):
                    self._progress.send(self._first, "brought", number, self._place, data)
            elif self._count == 1:
                self._exchange(number, (sign, int(vote)), [data])
            else:
                self._gathering.append((number, [Part(sign, vote, data)]))
                self._gather()
        return number

    def passed(self, number: int) -> bool:
        """Return True if all have begun a round that this processor has begun."""
        return number in self._done or (self._place > 0 and self._released(number))

    def agreed(self, number: int) -> bool:
        """Return True if all processors were in the same collective, in a round that has passed."""
        return self._done[number].agreed

    def taken(self, number: int) -> Outcome:
        """Return what came of a round that has passed, and end it."""
        return self._done.pop(number)

    def _released(self, number: int) -> bool:
        """Look for the result that the first processor puts into the memory of the node."""
        if not self._meeting.has(self._base + number, 0):
            return False
        with self._progress.lock:
            if number not in self._done:
                sign, votes, data = self._meeting.get(self._base + number, 0)
                if data is None and number not in self._results:
                    return False
                blocks = self._results.pop(number) if data is None else marshal.loads(data) if data else ()
                self._done[number] = Outcome(sign != DIFFER, votes, blocks)
        return True

    def _gather(self) -> bool:
        """Take what processors of this node have brought; return True if something new has come."""
        found = False
        while self._gathering:
            number, parts = self._gathering[0]
            while len(parts) < self._count:
                place = len(parts)
                if not self._meeting.has(self._base + number, place):
                    return found
                part = self._meeting.get(self._base + number, place)
                if part.data is None:
                    if (number, place) not in self._sent_here:
                        return found
                    part = part._replace(data=self._sent_here.pop((number, place)))
                parts.append(part)
                found = True
            self._gathering.popleft()
            sign = parts[0].sign if len({part.sign for part in parts}) == 1 else DIFFER
            blocks = [part.data or b"" for part in parts]
            self._exchange(number, (sign, sum(part.votes for part in parts)), blocks)
        return found

    def _brought(self, source: int, number: int, place: int, data: bytes) -> None:
        self._sent_here[number, place] = data

    def _result(self, source: int, number: int, blocks: Sequence[bytes]) -> None:
        self._results[number] = blocks

    def _exchange(self, number: int, votes: Votes, blocks: Sequence[bytes]) -> None:
        """Begin the steps between nodes."""
        self._open[number] = known = Known(votes, {self._node: blocks} if any(blocks) else {})
        self._send(number, known)
        self._advance(number, known)

    def _send(self, number: int, known: Known) -> None:
        """Send what this step needs."""
        count, nodes, blocks = known.count, len(self._firsts), known.blocks
        if 2 * count > nodes and blocks:
            blocks = {node: some for node, some in blocks.items() if (node - self._node) % nodes < nodes - count}
        to = self._firsts[(self._node - count) % nodes]
        self._progress.send(to, "round", number, count, known.votes, known.rest, blocks)

    def _came(self, source: int, number: int, count: int, *more: Any) -> None:
        self._early[number, count] = more
        if number in self._open:
            self._advance(number, self._open[number])

    def _advance(self, number: int, known: Known) -> None:
        nodes = len(self._firsts)
        while (more := self._early.pop((number, known.count), None)) is not None:
            known.add(nodes, *more)
            votes = known.of_all(nodes)
            if votes is not None:
                self._end(number, votes, known.blocks)
                return
            self._send(number, known)

    def _end(self, number: int, votes: Votes, by_node: Blocks) -> None:
        """Note the result of a round, and release this node."""
        del self._open[number]
        sign, count = votes
        blocks: list[bytes] = []
        if by_node:
            for node, processors in enumerate(self._counts):
                blocks += by_node.get(node) or [b""] * processors
        self._done[number] = Outcome(sign != DIFFER, count, blocks)
        if self._count > 1:
            data = marshal.dumps(blocks) if blocks else b""
            if not self._meeting.put(self._base + number, sign, count, data):
                for other in range(self._first + 1, self._first + self._count):
                    self._progress.send(other, "result", number, blocks)
