"""The message calls of a processor: handlers, sends, polls, and waits for messages."""

from __future__ import annotations

import operator
import struct
import time
from collections.abc import Callable
from typing import Any

from smp.errors import HandlerError, MachineError, WaitTimeout

from ...memory.nets import Net
from ..collectives.calls import CollectiveCalls
from ..collectives.tickets import Ticket
from ..port import Buffer, without_memory
from .handlers import Handler
from .logged import LoggedMessenger
from .messenger import Messenger
from .network import OTHER, POSTED, Network, Transmissions
from .networks import BOTH, EITHER, EMPTY, LEFT, ONCE, RIGHT, How, On
from .recorded import RecordedNetwork
from .transfers import Transfers

_TOTALS = struct.Struct("=qq")  # messages sent and handled


class MessageCalls(CollectiveCalls):
    """The message calls of a processor."""

    _messenger: Messenger | None = None
    _net: Net | None = None
    _quiet: Ticket | None = None  # a round of `quiet` in which a wait timed out
    _transfers: Transfers | None = None  # of blocks that are queued; made with the first port

    @property
    def net(self) -> Net:
        """The networks of this processor, for compiled loops that send and take packets.

        A loop gets it as an argument and gives it to `smp.compiled.try_post`, `try_poll`, `room`, `await_packet` and
        `await_room`.  One thread at a time can use it: the one that runs the program.  Loops must take all packets: the
        run fails with a `HandlerError` if some are left when the programs of all processors have ended.

        Raises
        ------
        Unsupported
            If the processors share no memory.
        """
        if self._net is None:
            network = self._port.network
            if network.loops is None:
                raise without_memory("proc.net")

            def check() -> None:
                self._refuse_inside("proc.net")
                self._refuse_on_a_stream("proc.net")
                if self._port.network is not network:
                    raise MachineError("this proc.net belongs to a run that has ended: each run has its own")

            self._net = Net(network.loops, self.size, check)
        return self._net

    @property
    def transmissions(self) -> Transmissions | None:
        """The packets that this processor has transmitted in this run, on a network on which that may fail.

        They are counted as ``attempts``, of which ``failures`` were in vain (see `smp.networks.congested`).  None on
        every other network.
        """
        return self._port.network.transmissions

    def handler(self, function: Callable[..., object], *, replies: bool = False) -> Handler:
        """Register a function that this processor runs on messages; all register the same ones in the same order.

        A handler runs in calls that poll, and only there: in `poll`, `wait_until` and `quiet`, in `send` and `request`
        while there is no room, and in every collective, superstep and the end of the program while they wait.  It may
        change the processor's own data and call ``try_*`` operations of cells.  It may not wait, use global arrays,
        take part in collectives, poll, or send anything but replies and further requests (`smp.Message.forward`).

        Parameters
        ----------
        function : callable
            ``function(message, *args)``; see `smp.Message`.
        replies : bool
            Whether the function calls ``message.reply`` or ``message.forward``.  Only `request` sends to such a
            handler.

        Returns
        -------
        Handler
            The name of the function in `send`, `request`, `try_send` and ``message.reply``.

        Raises
        ------
        TypeError
            If ``function`` cannot be called.

        Notes
        -----
        This call does not wait and does not poll.  The processors do not synchronise: a message that comes before its
        handler is registered waits for it.
        Source: E. A. Brewer, Portable High-Performance Supercomputing, Strata manual, section 6.
        """
        self._refuse_inside("proc.handler")
        return self._messages().handlers.add(function, replies)

    def send(
        self, to: int, handler: Handler, *args: Any, on: On = EITHER, polling: On = BOTH, how: How = EMPTY
    ) -> None:
        """Send a message to a processor, which runs a handler on it; the handler sends nothing.

        It polls while there is no room, and returns when the message is on its way.

        Parameters
        ----------
        to : int
            Processor that gets the message, possibly this one.
        handler : Handler
            Handler that is registered without ``replies``.
        *args
            Arguments of the handler.  Up to seven numbers (int of 64 bits, float) fit into one packet.  Other
            arguments are pickled, into at most 2 KiB.
        on : On
            Network: ``smp.LEFT``, ``smp.RIGHT``, or ``smp.EITHER``, which begins with each of them in turn.
        polling : On
            Networks that are polled while there is no room: ``smp.BOTH``, or ``smp.RIGHT`` for a message on RIGHT.
        how : How
            ``smp.EMPTY`` or ``smp.ONCE``; see `poll`.

        Raises
        ------
        HandlerError
            If it is called in a handler, or on another stream than the program's.
        ValueError
            If there is no processor ``to``, the arguments are too long, or the networks could deadlock.
        """
        usual = on is EITHER and polling is BOTH and how is EMPTY
        if usual and self._at_once(EITHER, to, handler, args, replies=False) == POSTED:
            return
        messenger = self._ready_to_send("send", handler, how)
        if handler.replies:
            raise ValueError(f"{handler!r} sends replies: send its messages with proc.request")
        if polling != BOTH and not (polling == RIGHT and on == RIGHT):
            raise ValueError(
                f"a message on {on!r} that polls {polling!r} while there is no room could wait for ever: poll "
                "smp.BOTH, or smp.RIGHT if it goes on smp.RIGHT"
            )
        messenger.send(self._processor(to), handler, args, _networks(on), polling, how)

    def request(self, to: int, handler: Handler, *args: Any, how: How = EMPTY) -> None:
        """Send a message whose handler may send replies; it goes on LEFT.

        It polls both networks while there is no room, and returns when the message is on its way.

        Parameters, errors: see `send`.
        """
        if how is EMPTY and self._at_once(LEFT, to, handler, args) == POSTED:
            return
        messenger = self._ready_to_send("request", handler, how)
        messenger.send(self._processor(to), handler, args, LEFT, BOTH, how)

    def try_send(self, to: int, handler: Handler, *args: Any, on: On | None = None) -> bool:
        """Send a message if there is room; return True if it was sent.  It does not wait and does not poll.

        Parameters
        ----------
        to, handler, *args
            See `send`; the message must fit into one packet.  If the handler replies, it goes on LEFT.
        on : On, optional
            Network; by default either, or LEFT if the handler replies.
        """
        if on is None or on is LEFT:
            status = self._at_once(EITHER if on is None else LEFT, to, handler, args, replies=on is LEFT)
            if status != OTHER:
                return status == POSTED
        messenger = self._ready_to_send("try_send", handler, EMPTY)
        if handler.replies and on not in (None, LEFT):
            raise ValueError(f"a request goes on smp.LEFT, not on {on!r}")
        chosen = LEFT if handler.replies else EITHER if on is None else _networks(on)
        return messenger.try_send(self._processor(to), handler, args, chosen)

    def poll(self, networks: On = BOTH, how: How | int = EMPTY) -> int:
        """Run the handlers of the messages that have come; return how many have run.  It does not wait.

        Parameters
        ----------
        networks : On
            ``smp.LEFT``, ``smp.RIGHT`` or ``smp.BOTH``.
        how : How or int
            ``smp.EMPTY`` goes on until no message is left, ``smp.ONCE`` takes at most one from each network, a number
            takes about that many.  ``smp.FIRST_LEFT`` looks at LEFT once, and empties both networks if there was a
            message; ``smp.FIRST_RIGHT`` does so with RIGHT.

        Raises
        ------
        HandlerError
            If it is called in a handler, or on another stream than the program's.
        """
        messenger = self._ready("proc.poll")
        if not isinstance(how, How) and operator.index(how) < 1:
            raise ValueError(f"how must be a number of messages, 1 or more, smp.ONCE or smp.EMPTY, not {how}")
        return messenger.poll(_networks(networks), how)

    def wait_until(self, predicate: Callable[[], object], timeout: float | None = None) -> None:
        """Poll until a predicate is true; sleep while no message comes.

        Parameters
        ----------
        predicate : callable
            Called without arguments at the beginning and after each handler.  Only handlers can make it true, because
            this processor sleeps while no message comes.
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If the predicate is not true in time.
        """
        messenger = self._ready("proc.wait_until")
        if not callable(predicate):
            raise TypeError(f"wait_until takes a function without arguments, not {predicate!r}")
        if not messenger.wait("a message", predicate, self._port.deadline(timeout)):
            raise WaitTimeout(
                f"processor {self.rank} waited {timeout} s for messages, and the predicate is still false; "
                f"{messenger.handled} messages have been handled so far"
            )

    def quiet(self, timeout: float | None = None) -> None:
        """Wait until no message is on its way anywhere and no handler can send one; all processors call this.

        It sends the blocks that are queued, polls, and takes two barriers or more.

        Parameters
        ----------
        timeout : float, optional
            Longest time to wait, in seconds.

        Raises
        ------
        WaitTimeout
            If it takes longer.  The program must then call `quiet` again before any other collective.
        CollectiveMismatch
            If a message has come to a handler that is not registered here.
        HandlerError
            If a compiled loop has sent a packet to this processor that no loop has taken.

        Notes
        -----
        It returns after two rounds in a row in which the processors together have handled as many messages as they
        have sent, and these numbers have not changed.
        """
        messenger = self._ready("proc.quiet")
        end = None if timeout is None else time.monotonic() + timeout
        before: tuple[int, int] | None = None
        if self._transfers is not None and not self._transfers.serve(None, self._port.deadline(timeout)):
            raise WaitTimeout(
                f"processor {self.rank} waited {timeout} s in quiet, and {len(self._transfers)} blocks are still "
                "queued: other processors do not take their messages"
            )
        while True:
            if self._quiet is None:
                messenger.poll(BOTH, EMPTY)
                messenger.check_registered()
                messenger.check_taken()
                self._tickets.settle(None if end is None else max(0.0, end - time.monotonic()))
                counts = _TOTALS.pack(*messenger.totals())
                self._quiet = self._tickets.begin("quiet", _summed, block=(counts,))
            now = self._quiet.wait(None if end is None else max(0.0, end - time.monotonic()))
            self._quiet = None
            if now[0] == now[1] and now == before:
                return
            before = now

    def _finish_messages(self) -> None:
        """Handle all messages before the program ends, if it has registered handlers or made ports."""
        if self._messenger is not None and (len(self._messenger.handlers) or self._transfers is not None):
            self.quiet()
        if self._messenger is not None or self._net is not None:
            self._recorder.transmissions = self.transmissions

    def _check_messages(self) -> None:
        """Raise an error if packets to this processor are left, when the programs of all have ended."""
        if self._port.packets_left():
            self._messages().check_left()

    def _messages(self) -> Messenger:
        if self._messenger is None:
            port, network = self._port, self._network()
            self._messenger = Messenger(port, network) if port.log is None else LoggedMessenger(port, network, port.log)
            self._port.serve = self._messenger.serve
        return self._messenger

    def _network(self) -> Network:
        """Return the networks of the machine; those that note what they carry, if the run is recorded."""
        memory = self._port.node_memory
        if self._recorder.events is None or memory is None or memory.threads.rings is None:
            return self._port.network
        return RecordedNetwork(self._port.network, memory.threads, memory.threads.rings)

    def _ready(self, what: str) -> Messenger:
        """Return the messenger, or raise an error if this call is not allowed here."""
        port = self._port
        if port.inside is not None:
            self._refuse_inside(what)
        if port.on_a_stream():
            self._refuse_on_a_stream(what)
        return self._messenger or self._messages()

    def _at_once(self, networks: On, to: int, handler: Handler, args: tuple[Any, ...], replies: bool = True) -> int:
        """Send a message of a few numbers, the usual case, if there is room; return POSTED, FULL, or OTHER.

        OTHER says that the caller has to look closer.  ``replies`` is False if a handler that replies is not allowed.
        """
        messenger = self._messenger
        if messenger is None or handler.__class__ is not Handler or self._port.inside is not None:
            return OTHER
        if handler.replies and not replies:
            return OTHER
        return messenger.send_numbers(networks, to, handler.head, args)

    def _refuse_on_a_stream(self, what: str) -> None:
        if self._port.on_a_stream():
            raise HandlerError(
                f"{what} was called on another stream than the program's: hand the work over to the program "
                "through a cell, and let it send"
            )

    def _refuse_inside(self, what: str) -> None:
        if self._port.inside is not None:
            raise HandlerError(f"{self._port.inside()} called {what}, which no handler may do")

    def _ready_to_send(self, what: str, handler: Any, how: Any) -> Messenger:
        if not isinstance(handler, Handler):
            raise TypeError(f"proc.{what} takes a handler, as proc.handler returns it, not {handler!r}")
        if how is not EMPTY and how is not ONCE:
            raise ValueError(f"how= of proc.{what} must be smp.EMPTY or smp.ONCE, not {how!r}")
        return self._ready(f"proc.{what}")

    def _processor(self, to: Any) -> int:
        rank = operator.index(to)
        if not 0 <= rank < self.size:
            raise ValueError(f"processor {rank} does not exist: ranks begin at 0 and are below {self.size}")
        return rank


def _networks(given: On) -> On:
    """Return networks that were given, or raise an error if there are no such networks."""
    if given not in (1, 2, 3):
        raise ValueError(f"networks are smp.LEFT, smp.RIGHT, and smp.BOTH or smp.EITHER, not {given!r}")
    return given


def _summed(votes: int, blocks: list[Buffer]) -> tuple[int, int]:
    """Return the messages that all processors have sent, and those that they have handled."""
    counts = [_TOTALS.unpack(block) for block in blocks]
    return sum(sent for sent, _ in counts), sum(handled for _, handled in counts)
