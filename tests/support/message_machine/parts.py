"""Arrays in parts: the owners of the elements, and the messages that read and write them."""

import itertools
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smp._runtime.memory.arrays import GlobalArray
from smp._runtime.program.port import without_memory
from smp._runtime.program.processor import share
from smp.errors import MachineError

from .network import PARENT, Address, Make, Network, Read, Reply, Write, networks


class Parts:
    """The elements of one array; see `smp._runtime.memory.arrays.Elements`."""

    def __init__(self, network: Network, name: Hashable, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.network, self.name, self.shape, self.dtype = network, name, shape, dtype

    @property
    def rank(self) -> int | None:
        return getattr(self.network.here, "rank", None)

    @property
    def view(self) -> NDArray[Any]:
        raise without_memory("array.view")

    def read(self, index: Any) -> Any:
        found = Client(self.network, PARENT).read(self, index)
        return found if found.ndim else found[()]

    def write(self, index: Any, values: Any) -> None:
        client = Client(self.network, PARENT)
        client.write(self, index, values)
        client.fence()

    def pickled(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Callable[..., GlobalArray], Any]:
        return attached, (id(self.network), self.name, shape, dtype)


def attached(network: int, name: Hashable, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
    if network not in networks:
        raise MachineError("a global array of another machine was sent here")
    return in_parts(networks[network], name, shape, dtype)


def in_parts(network: Network, name: Hashable, shape: tuple[int, ...], dtype: np.dtype[Any]) -> GlobalArray:
    return GlobalArray(Parts(network, name, shape, dtype), shape, dtype)


def parts_of(array: GlobalArray) -> Parts:
    elements = array._elements
    assert isinstance(elements, Parts)
    return elements


def own(network: Network, rank: int) -> None:
    """Own the parts of a processor: carry out messages until one is None."""
    parts: dict[Hashable, NDArray[Any]] = {}
    while (message := network.receive(("owner", rank))) is not None:
        match message:
            case Make(array, count, dtype):
                parts[array] = np.zeros(count, dtype)
            case Read(ticket, reply_to, array, positions):
                network.send(reply_to, Reply(ticket, parts[array][positions]))
            case Write(ticket, reply_to, array, positions, values, field):
                part = parts[array] if field is None else parts[array][field]
                part[positions] = values
                network.send(reply_to, Reply(ticket))


def make(network: Network, name: Hashable, shape: tuple[int, ...], dtype: np.dtype[Any], rank: int) -> None:
    """Send the owner of a processor's parts the request to make its part of a new array."""
    mine = share(int(np.prod(shape)), rank, network.size)
    network.send(("owner", rank), Make(name, mine.stop - mine.start, dtype))


class Client:
    """Reads and writes elements by messages to their owners, and gets the replies at an address."""

    _tickets = itertools.count()

    def __init__(self, network: Network, address: Address) -> None:
        self.mail, self._address = network, address
        self._awaited: dict[Hashable, Any] = {}  # the reply to the request of each ticket, once it has come

    def read(self, parts: Parts, index: Any) -> NDArray[Any]:
        """Return a copy of ``array[index]``."""
        field, index = _field(index)
        positions = _positions(parts, index)
        found = np.empty(positions.shape, parts.dtype)
        asked = []
        for rank, chosen, local in _owners(positions, parts, self.mail.size):
            asked.append((self._request(rank, Read, parts.name, local), chosen))
        self._await_replies()
        for ticket, chosen in asked:
            found.reshape(-1)[chosen] = self._awaited.pop(ticket)
        return found if field is None else found[field].copy()

    def write(self, parts: Parts, index: Any, values: Any) -> None:
        """Set ``array[index]``. The elements are written when `fence` returns, if not before."""
        field, index = _field(index)
        positions = _positions(parts, index)
        given = np.empty(positions.shape, parts.dtype if field is None else np.empty(0, parts.dtype)[field].dtype)
        given[...] = values
        self.write_at(parts, positions, given, field)

    def write_at(
        self, parts: Parts, positions: NDArray[np.intp], values: NDArray[Any], field: str | None = None
    ) -> None:
        """Set the elements at some positions, or a field of them, to the same number of values; see `write`."""
        for rank, chosen, local in _owners(positions, parts, self.mail.size):
            self._request(rank, Write, parts.name, local, values.reshape(-1)[chosen], field)

    def fence(self) -> None:
        """Wait until all elements that were set are written."""
        self._await_replies()
        self._awaited.clear()

    def take(self, seconds: float | None = None) -> None:
        """Wait for a message and take it."""
        self.took(self.mail.receive(self._address, seconds))

    def took(self, message: Any) -> None:
        if isinstance(message, Reply) and message.ticket in self._awaited:
            self._awaited[message.ticket] = message.values if message.values is not None else ()

    def _request(self, rank: int, kind: type, *what: Any) -> Hashable:
        ticket = next(Client._tickets)
        self._awaited[ticket] = None
        self.mail.send(("owner", rank), kind(ticket, self._address, *what))
        return ticket

    def _await_replies(self) -> None:
        while any(reply is None for reply in self._awaited.values()):
            self.take()


def _field(index: Any) -> tuple[Any, Any]:
    """Return (field, index). An index of records may name one or several fields, which it selects of all elements."""
    named = isinstance(index, str) or (isinstance(index, list) and any(isinstance(one, str) for one in index))
    return (index, ...) if named else (None, index)


def _positions(parts: Parts, index: Any) -> NDArray[np.intp]:
    """Return the positions of ``array[index]`` in the flat array. NumPy finds them, and raises its errors."""
    return np.asarray(np.arange(int(np.prod(parts.shape))).reshape(parts.shape)[index])


def _owners(
    positions: NDArray[np.intp], parts: Parts, size: int
) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield for each owner its rank, the numbers of the positions that it owns, and their places in its part."""
    flat = positions.reshape(-1)
    starts = np.array([share(int(np.prod(parts.shape)), rank, size).start for rank in range(size)])
    owners = np.searchsorted(starts, flat, side="right") - 1
    for rank in np.unique(owners):
        chosen = np.flatnonzero(owners == rank)
        yield int(rank), chosen, flat[chosen] - starts[rank]
