"""The arrays and cells that the parent of a machine of several nodes makes and uses, between runs.

The parent shares no memory with the processors.  It asks the first processor of each node, in whose memory they are:

    parent ─▶ processor    an order, with a ticket
    parent ◀─ processor    `Did`, with the ticket
"""

from __future__ import annotations

import itertools
import math
import secrets
import select
import time
import weakref
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from smp._computer.interrupt import HeldBack
from smp.errors import MachineClosed, OutOfSharedMemory, Unsupported

from ..host.calls import Calls
from ..memory.arrays import GlobalArray
from ..memory.cells import Cells, checked_cells
from ..memory.indices import Selected
from ..protocols import wait
from .arrays import ElementsInParts, in_parts
from .cells import CellsOnNodes, storage
from .holders import holders
from .layout import Nodes, pieces
from .messages import About, Did, Name, Request
from .parts import Dtype
from .processes import NodesProcesses

SLICE = 0.2
"""Seconds of the longest wait of the parent at a cell."""


class Hold:
    """While it lives, the arrays of a run are kept."""

    __slots__ = ("__weakref__", "run")

    def __init__(self, run: int) -> None:
        self.run = run


class ParentMemory(Calls):
    """The arrays and cells of a machine, as its parent uses them.

    Parameters
    ----------
    processes : NodesProcesses
        The processes of the processors, of which each has a line already.
    nodes : Nodes
        The nodes of the processors.

    Attributes
    ----------
    key : str
        Name of the machine, the same in all its processes.
    """

    rank = None

    def __init__(self, processes: NodesProcesses, nodes: Nodes) -> None:
        super().__init__("mpi", nodes.of)
        self.key, self._processes, self._nodes = secrets.token_hex(8), processes, nodes
        self._numbers, self._tickets = itertools.count(1), itertools.count(1)
        self._made: weakref.WeakSet[ElementsInParts | CellsOnNodes] = weakref.WeakSet()
        self._holds: weakref.WeakSet[Hold] = weakref.WeakSet()
        self._poll: select.poll
        self._sources: dict[int, int | None]
        holders[self.key] = self

    def _alive(self) -> Collection[int]:
        return self._processes.alive

    def _tell(self, order: tuple[Any, ...]) -> None:
        """Send an order to all processors, of which no answer is awaited."""
        for rank in self._processes.alive:
            self._processes.send(rank, order)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
        """Make a global array of zeros."""
        with self._calling:
            self._must_be_open()
            self._keep()
            name = Name(0, next(self._numbers))
            self._allocate(name, math.prod(shape), dtype)
        return self.attached(name, shape, dtype)

    def _allocate(self, name: Name, length: int, dtype: Dtype, at: int | None = None) -> None:
        """Have the first processor of each node make its part of an array, and the others note where it is."""
        what, nodes = (name, length, dtype, at), self._nodes
        offsets = self._ask(dict.fromkeys(nodes.first, ("make", *what)))
        others = set(range(self.size)) - set(nodes.first)
        self._ask({rank: ("place", *what, offsets[nodes.first[nodes.of[rank]]]) for rank in others})

    def attached(self, name: Name, shape: tuple[int, ...], dtype: Dtype) -> GlobalArray:
        """Return the array of a name; its elements are kept while it is used here."""
        array = in_parts(self, name, shape, dtype)
        self._made.add(array._elements)  # type: ignore[arg-type]
        return array

    def read(self, name: Name, shape: tuple[int, ...], found: Selected, into: NDArray[Any]) -> None:
        """Read elements between runs; see `Holder`."""
        of = {self._nodes.first[piece.node]: piece for piece in pieces(found, self._nodes.bounds(math.prod(shape)))}
        with self._calling:
            self._must_be_open()
            came = self._ask({rank: ("read", name, piece) for rank, piece in of.items()})
        for rank, piece in of.items():
            into.reshape(-1)[piece.chosen] = came[rank]

    def write(self, name: Name, shape: tuple[int, ...], found: Selected, values: NDArray[Any], field: Any) -> None:
        """Write elements between runs; see `Holder`."""
        of = {self._nodes.first[piece.node]: piece for piece in pieces(found, self._nodes.bounds(math.prod(shape)))}
        flat = values.reshape(-1)
        with self._calling:
            self._must_be_open()
            self._ask({rank: ("write", name, piece, flat[piece.chosen], field) for rank, piece in of.items()})

    def _ask(self, orders: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Send orders to processors that are idle; return what each has found."""
        with HeldBack() as ctrl_c:
            ticket, came = next(self._tickets), dict[int, Any]()
            for rank, (what, *content) in orders.items():
                self._processes.send(rank, (what, ticket, *content))
            while len(came) < len(orders):
                events = ctrl_c.poll(self._poll, None)
                if ctrl_c.presses > 1:  # a processor does not answer
                    self.close("Ctrl-C ended an access to its memory", patience=0.0)
                    raise ctrl_c.interruption()
                for fd, _ in events:
                    source = self._sources[fd]
                    try:
                        if source is None:
                            raise EOFError
                        message = self._processes.lines[source].take()
                    except Exception:
                        self.close("a processor has ended between runs", patience=0.0)
                        raise MachineClosed(f"this machine is closed: {self.closed}") from None
                    if isinstance(message, Did) and message.ticket == ticket:
                        if message.error:
                            raise OutOfSharedMemory(f"processor {source}: {message.error}")
                        came[source] = message.found
        if ctrl_c.presses:
            raise ctrl_c.interruption()
        return came

    def _keep(self) -> None:
        """Have the processors drop the arrays and cells that are used no more."""
        names = {elements.name for elements in self._made}
        self._tell(("keep", names, {hold.run for hold in self._holds}))

    def cells(self, n: int, dtype: DTypeLike, full: bool, padded: bool, retries: int | None, at: int | None) -> Cells:
        """Make cells; see `Processors`."""
        count, made, words, limit = checked_cells(n, dtype, padded, retries)
        node = None if at is None else self._nodes.of[at]
        with self._calling:
            self._must_be_open()
            self._keep()
            about = About(Name(0, next(self._numbers)), count, made, words, limit, node)
            self._allocate(about.name, count, storage(words), node)
            if full:
                self._ask(dict.fromkeys(self._nodes.first, ("fill", about)))
        return self.attached_cells(about)

    def attached_cells(self, about: About) -> Cells:
        """Return the cells of a description; they are kept while they are used here."""
        cells = CellsOnNodes(self, about, self._nodes, -1, None, None)
        self._made.add(cells)
        return cells

    def cell(self, node: int, request: Request) -> tuple[int, int]:
        """Have a request carried out, between runs; see `Holder`.

        It waits in slices, so that a Ctrl-C leaves no thread behind that waits at the cell.
        """
        end = math.inf if request.timeout is None else time.monotonic() + request.timeout
        if not self._calling.acquire(blocking=False):
            raise Unsupported("the parent cannot use cells on several nodes while a program runs: use a processor")
        try:
            self._must_be_open()
            while True:
                left = max(0.0, end - time.monotonic())
                asked = request._replace(timeout=min(left, SLICE))
                status, bits = self._ask({self._nodes.first[node]: ("cell", asked)})[self._nodes.first[node]]
                if status != wait.EXPIRED or left <= SLICE:
                    return status, bits
        finally:
            self._calling.release()
