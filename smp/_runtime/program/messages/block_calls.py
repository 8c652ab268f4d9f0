"""The calls by which a program makes ports and sends blocks to them."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ...memory.arrays import Shape, checked
from ..collectives.patterns import is_permutation
from .calls import MessageCalls
from .deliveries import Block, ByCopy, ByMessages, Delivery
from .handlers import Handler
from .ports import BlockPort, Ports
from .transfers import Transfer, Transfers

_QUEUE = 1 << 16  # first part of the spawn key of the queue's random numbers; that of `Processor.random` is the rank
_ROUND = struct.Struct("=qq")  # target and number of elements of a processor


class BlockCalls(MessageCalls):
    """The calls of a processor that make ports and send blocks."""

    _seed: int
    _ports: Ports | None = None
    _delivery: Delivery

    def port(self, shape: Shape, dtype: DTypeLike = np.float64, then: Callable[..., object] | None = None) -> BlockPort:
        """Make a port: memory in which blocks land.  All processors make the same call and wait for each other.

        Every processor gets memory of its own, filled with zeros, under the same number.

        Parameters
        ----------
        shape : int or tuple of int
            Shape of ``port.data``, the same on all processors.
        dtype : dtype
            Type of the elements, of a fixed size, the same on all processors.
        then : callable, optional
            ``then(message, port)`` runs on this processor when all elements that it expects have come, once for each
            ``port.expect``.  ``message.source`` is the processor from which the last ones came.  It runs in a poll and
            is a handler (see `handler`): it may not wait and not send.  It may state the next expectation.

        Returns
        -------
        port
            It has ``data``, ``done``, ``expect`` and ``wait``, and takes further attributes of the program's own.

        Raises
        ------
        TypeError, ValueError
            If no array can have this shape and dtype, ``then`` cannot be called, or there are 65,536 ports already.
        CollectiveMismatch
            Ends the run, if the processors call this with different shapes or dtypes.

        Notes
        -----
        The memory lives until the run ends.  This call polls and takes three barriers.

        Examples
        --------
        >>> import numpy as np, smp
        >>> def program(proc):
        ...     port = proc.port(3, np.int64)
        ...     port.expect(3)
        ...     proc.send_block((proc.rank + 1) % proc.size, port, np.arange(3) + 10 * proc.rank)
        ...     port.wait()
        ...     return port.data.tolist()
        >>> with smp.emulated(2) as machine:
        ...     machine.run(program).results
        [[10, 11, 12], [0, 1, 2]]
        """
        made = checked(shape, dtype, "a port")
        if then is not None and not callable(then):
            raise TypeError(f"then must be a function of a message and a port, not {then!r}")
        messenger = self._ready("proc.port")
        self._tickets.settle()
        if self._ports is None:
            self._ports = Ports(self._port, messenger, self._ready)
            self._delivery = (ByMessages if self._port.memory is None else ByCopy)(self._ports)
            draw = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(_QUEUE, self.rank)))
            self._transfers = Transfers(self._ready, self._delivery, draw)
        return self._ports.make(*made, then)

    def send_block(self, to: int, port: BlockPort, data: ArrayLike, at: int = 0) -> None:
        """Send a block: elements that land in ``port.data.reshape(-1)`` of a processor, from the place ``at`` on.

        It polls while there is no room, and returns when ``data`` may be changed.  Several processors may send to
        different parts of one port.

        Parameters
        ----------
        to : int
            Processor that gets the block, possibly this one.
        port : port
            A port of this processor; the block lands in the one with the same number.
        data : array_like
            Elements of the port's dtype, in any shape; they are sent in the order of C.  Data that are not contiguous
            are copied first.
        at : int
            Place of the first element.

        Raises
        ------
        HandlerError
            If it is called in a handler, or on another stream than the program's.
        TypeError, ValueError
            If there is no processor ``to``, the data are of another dtype, the block does not fit into the port, or the
            port is not one of this processor and run.  Nothing has been sent then.

        Notes
        -----
        Where processors share memory, the data are copied once, straight into the port, and one packet follows.
        Elsewhere they go in packets of at most 2 KiB.  So the receiver may see a part of a block before it has all.
        The blocks and expectations that one processor sends to another one come in order; those that are queued by
        `start_block` do not.
        """
        machine = self._port
        if (  # the usual case, which can be sent as it is; the calls below would look at it for twice as long
            isinstance(data, np.ndarray)
            and isinstance(port, BlockPort)
            and port._ports is self._ports
            and data.dtype == port.data.dtype
            and data.ndim == 1
            and data.flags.c_contiguous
            and type(to) is type(at) is int
            and 0 <= to < self.size
            and 0 <= at <= port.data.size - len(data)
            and machine.inside is None
            and not machine.on_a_stream()
        ):
            self._delivery.send(to, port, data, at)
        else:
            self._ready("proc.send_block")
            self._delivery.send(*self._block("send_block", to, port, data, at))

    def expect_at(self, to: int, port: BlockPort, n: int, then: Handler | None = None) -> None:
        """State for a processor how many elements are to come to its port, as its ``port.expect`` does.

        It polls while there is no room.  The message may come before, between or after the elements.

        Parameters
        ----------
        to, port
            See `send_block`.
        n : int
            Number of elements, 0 or more.
        then : Handler, optional
            Handler that runs as ``then(message, port)`` in place of the port's own one.  It must be registered before
            the port is made, without ``replies``.

        Raises
        ------
        HandlerError
            If it is called in a handler, or on another stream than the program's.
        TypeError, ValueError
            If an argument is not valid.  If an expectation is open at the receiver, the error is raised there.
        """
        self._ready("proc.expect_at")
        count = operator.index(n)
        if count < 0:
            raise ValueError(f"the number of elements must be 0 or more, not {n}")
        own = self._own("expect_at", port)
        if then is not None:
            if not isinstance(then, Handler):
                raise TypeError(f"then must be a handler, as proc.handler returns it, not {then!r}")
            if then.replies:
                raise ValueError(f"{then!r}, and there is no message that it could reply to")
            if then.number >= port._handlers:
                raise ValueError(f"{then!r} was registered after {port!r}: register it on all processors before")
        own.expect_at(self._processor(to), port, count, then)

    def start_block(
        self,
        to: int,
        port: BlockPort,
        data: ArrayLike,
        at: int = 0,
        then: Callable[[Transfer], object] | None = None,
    ) -> Transfer:
        """Start a transfer: send a first part of a block if there is room, and queue the rest.

        It does not wait and does not poll.  `serve_blocks`, ``transfer.complete``, `quiet` and the end of the program
        send the rest.

        Parameters
        ----------
        to, port, data, at
            See `send_block`.  ``data`` must not be changed before ``transfer.done``; smp does not find such a change.
        then : callable, optional
            ``then(transfer)`` is called on this processor when all is sent, in the call that sends the last part.  It
            may start further transfers, which are then queued without a first part.

        Returns
        -------
        Transfer
            It has ``to``, ``port``, ``data``, ``at``, ``remaining`` and ``done``, and ``complete()`` sends the rest.

        Notes
        -----
        A part is 64 KiB where processors share memory, and one packet elsewhere.  The place in the queue is drawn from
        the seed of the run and the rank, so the order differs between processors and is the same in a repeated run.
        """
        self._ready("proc.start_block")
        transfer = self._transfer("start_block", to, port, data, at, then)
        self._queued().start(transfer)
        return transfer

    def serve_blocks(self, rounds: int | None = None) -> None:
        """Send parts of all queued transfers: two of each in every round.  It polls after each round.

        Parameters
        ----------
        rounds : int, optional
            Number of rounds.  A transfer that finds no room is passed over.  By default, all are sent to their ends,
            and the processor waits while none finds room.
        """
        self._ready("proc.serve_blocks")
        if rounds is not None and operator.index(rounds) < 0:
            raise ValueError(f"the number of rounds must be 0 or more, not {rounds}")
        if self._transfers is not None:
            self._transfers.serve(None if rounds is None else operator.index(rounds))

    def permute(self, port: BlockPort, data: ArrayLike, target: int | ArrayLike) -> NDArray[Any]:
        """Send a block to one processor and get one from another; all processors call this.

        The block lands at the beginning of the port.  The call returns when it is there.

        Parameters
        ----------
        port : port
            The same port on all processors, without an open expectation.  Its content may be overwritten once all
            processors have made this call.
        data : array_like
            The block that this processor sends; see `send_block`.  The lengths may differ.
        target : int, or array_like of int (size,)
            Processor to which this one sends, or the targets of all, such as `smp.patterns` returns.

        Returns
        -------
        ndarray (n,)
            What has come, in ``port.data``.

        Raises
        ------
        ValueError
            If not every processor is the target of exactly one, or an argument is not valid.

        Notes
        -----
        It polls.  It takes one barrier, which separates two permutations, and the block.
        """
        self._ready("proc.permute")
        targets = np.asarray(target)
        if targets.ndim and (len(targets) != self.size or not is_permutation(targets)):
            raise ValueError(
                f"the targets of permute must be a permutation of the ranks of {self.size} processors, not {target!r}"
            )
        to = self._processor(targets[self.rank] if targets.ndim else target)
        block = self._block("permute", to, port, data, 0)
        port._check_closed("permute cannot use")
        self._tickets.settle()
        mine = _ROUND.pack(to, len(block[2]))
        found = [_ROUND.unpack(each) for each in self._port.exchange(f"permute at {port!r}", mine)]
        senders = [rank for rank, (each, _) in enumerate(found) if each == self.rank]
        if not is_permutation([each for each, _ in found]):
            raise ValueError(f"permute needs a permutation, but the processors send to {[each for each, _ in found]}")
        count = found[senders[0]][1]
        port.expect(count)
        self._delivery.send(*block)
        port.wait()
        return port.data.reshape(-1)[:count]

    def scatter_blocks(self, blocks: Iterable[tuple[Any, ...]]) -> None:
        """Send many blocks, parts of them in turn, and wait until all blocks have landed; all processors call this.

        The elements do not count for expectations.

        Parameters
        ----------
        blocks : iterable of tuple
            ``(to, port, data)`` or ``(to, port, data, at)`` for each block that this processor sends; see `send_block`.
            There may be none.  The content of ports may be overwritten once all processors have made this call.

        Raises
        ------
        HandlerError, TypeError, ValueError
            As for `send_block`, before any block is sent.

        Notes
        -----
        It polls.  After a barrier, it queues the blocks as `start_block` does, and then it does what `quiet` does.
        """
        self._ready("proc.scatter_blocks")
        transfers = [self._transfer("scatter_blocks", *block) for block in blocks]
        self._tickets.settle()
        self._port.synchronise("scatter_blocks")
        for transfer in transfers:
            transfer._block.counted = False
            self._queued().start(transfer)
        self.quiet()

    def _queued(self) -> Transfers:
        assert self._transfers is not None
        return self._transfers

    def _transfer(
        self,
        what: str,
        to: int,
        port: BlockPort,
        data: ArrayLike,
        at: int = 0,
        then: Callable[[Transfer], object] | None = None,
    ) -> Transfer:
        if then is not None and not callable(then):
            raise TypeError(f"then must be a function of a transfer, not {then!r}")
        array = np.asarray(data, order="C")
        block = self._block(what, to, port, array, at)
        return Transfer(self._queued(), Block(*block), array, block[3], then)

    def _block(
        self, what: str, to: int, port: BlockPort, data: ArrayLike, at: int
    ) -> tuple[int, BlockPort, NDArray[Any], int]:
        """Return the receiver, the port, the elements in a row, and the place; raise an error if one is wrong."""
        self._own(what, port)
        elements, memory, start = np.asarray(data, order="C").ravel(), port.data, operator.index(at)
        if elements.dtype != memory.dtype:
            raise TypeError(f"proc.{what} to {port!r} needs data of {memory.dtype}, not of {elements.dtype}")
        if not 0 <= start <= memory.size - elements.size:
            raise ValueError(
                f"a block of {elements.size:,} elements from place {start:,} on does not fit into {port!r}, which has "
                f"{memory.size:,} elements"
            )
        return self._processor(to), port, elements, start

    def _own(self, what: str, port: BlockPort) -> Ports:
        """Return the ports of this processor, or raise an error if a port is not one of them."""
        if not isinstance(port, BlockPort):
            raise TypeError(f"proc.{what} takes a port, as proc.port returns it, not {port!r}")
        if port._ports is not self._ports:
            raise ValueError(f"{port!r} was made by another processor or in another run")
        return port._ports
