"""A mailbox: the messages of a processor, arrays of numbers, which it asks for by their kind.

    send(to, kind, numbers)   ───▶   handler: keeps them by kind   ───▶   receive(kind, length): the first of a kind

All messages go on one network.  So those of one kind and one sender are received in the order in which they were sent,
and on a machine whose network congests, all of them come through one input.
"""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

import smp

PIECE = 240
"""Numbers of one message of the machine, which has at most 2 KiB; longer arrays are sent as several of these."""


class Mailbox:
    """The messages of one processor by kind; all processors make theirs alike, before the first of them sends.

    Parameters
    ----------
    proc : Processor

    Examples
    --------
    >>> import smp
    >>> from smp.kernels.messages.mailbox import Mailbox
    >>> def program(proc):
    ...     mailbox = Mailbox(proc)
    ...     if proc.rank > 0:
    ...         mailbox.send(0, proc.rank, [1.0, 2.0, 3.0])
    ...         return mailbox.transmissions()
    ...     return [float(mailbox.receive(kind, 3).sum()) for kind in (2, 1)], mailbox.transmissions()
    >>> with smp.emulated(3, schedule="clock", network=smp.networks.congested()) as machine:
    ...     machine.run(program).results[0]
    ([6.0, 6.0], {'attempts': 3, 'failures': 1})
    """

    def __init__(self, proc: smp.Processor) -> None:
        self._proc = proc
        self._kept: defaultdict[int, deque[NDArray[np.float64]]] = defaultdict(deque)
        self._handler = proc.handler(self._came)

    def _came(self, message: smp.Message, kind: int, numbers: bytes) -> None:
        self._kept[kind].append(np.frombuffer(numbers))

    def send(self, to: int, kind: int, numbers: ArrayLike) -> None:
        """Send an array of numbers (k,), converted to float64; return when it is on its way.

        Raises
        ------
        ValueError
            If there is no processor ``to``, or the array does not have one dimension.
        """
        sent = np.asarray(numbers, np.float64)
        if sent.ndim != 1:
            raise ValueError(f"an array of shape {sent.shape} cannot be sent: it must have one dimension")
        for at in range(0, max(len(sent), 1), PIECE):
            self._proc.send(to, self._handler, kind, sent[at : at + PIECE].tobytes(), on=smp.RIGHT)

    def receive(self, kind: int, length: int) -> NDArray[np.float64]:
        """Wait for an array of a kind and a length, and return the first of those not yet received.

        Arrays longer than `PIECE` of one kind must come from one sender.
        """
        kept, pieces = self._kept[kind], max(-(-length // PIECE), 1)
        self._proc.wait_until(lambda: len(kept) >= pieces)
        return np.concatenate([kept.popleft() for _ in range(pieces)])

    def transmissions(self) -> dict[str, int]:
        """Return how many ``attempts`` and ``failures`` all processors have had; all of them call this.

        The dictionary is empty on a network on which no transmission fails; see `smp.Processor.transmissions`.
        """
        counts = self._proc.transmissions
        return {} if counts is None else {name: self._proc.reduce(n) for name, n in counts._asdict().items()}
