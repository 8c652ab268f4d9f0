"""The messages of one processor: it posts them, takes them in polls, and runs their handlers.

    send, request     post; while there is no room: poll, then sleep until there is room or a message comes
    poll              take messages from the networks, and run the handler of each
    reply             post, from a handler; while there is no room: poll RIGHT, then sleep
    forward           post, from a handler; while there is no room: poll both, then sleep

A handler is interrupted by others in two places only.  While the handler of a request waits for room for a reply, it
polls RIGHT, whose handlers send nothing.  So at most two handlers are open at a time, in a program that does not
forward.  While a handler waits for room to forward a request, handlers of any messages may run.
"""

from __future__ import annotations

import operator
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from smp.errors import HandlerError

from ...protocols.loop_packets import OF_LOOPS
from ...protocols.packet_heads import PARTIAL, PICKLED
from ..port import Port
from .handlers import Handler, Handlers, own
from .message import Message
from .network import POSTED, Network, Taken
from .networks import BOTH, EMPTY, FIRST_LEFT, FIRST_RIGHT, LEFT, ONCE, ORDER, RIGHT, How, On
from .packets import Assembly, decoded, encoded, parts


class Messenger:
    """The messages of one processor.

    Attributes
    ----------
    handlers : Handlers
        The registered handlers.
    sent, handled : int
        Number of messages that this processor has sent, without those of `send_numbers`, and handled; calls of `later`
        count as both.
    send_numbers : callable
        `Network.send_numbers`, for the usual case of a send.
    deepest : int
        Largest number of handlers that were open at a time.
    """

    def __init__(self, port: Port, network: Network) -> None:
        self._port, self._network = port, network
        self._one = 8 * self._network.longest  # bytes of one packet
        self.send_numbers, self._next = self._network.send_numbers, self._network.take
        self.handlers = self._network.handlers = Handlers(port.rank)
        self.sent = self.handled = self.deepest = 0
        self._running: list[Message] = []  # messages whose handlers run, the innermost last
        self._inside = self.running
        self._assemblies: dict[tuple[int, int], Assembly] = defaultdict(Assembly)
        self._early: dict[
            tuple[int, int], deque[tuple[int, tuple[Any, ...]]]
        ] = {}  # of handlers that are not registered yet
        self._due: deque[tuple[Handler, int, tuple[Any, ...]]] = deque()  # calls of `later`
        self._right_first = False

    # Sending.

    def send(self, to: int, handler: Handler, args: tuple[Any, ...], on: On, polled: On, how: How) -> None:
        """Post a message that waits for room, and polls meanwhile."""
        self._post(to, handler, args, on, polled, how)

    def try_send(self, to: int, handler: Handler, args: tuple[Any, ...], on: On) -> bool:
        """Post a message if there is room for all of it, without polling; return True if it was posted."""
        flags, data = encoded(args)
        if len(data) > self._one:
            raise ValueError(
                f"a message of {len(data):,} bytes takes several packets on this machine, of at most {self._one:,} "
                "each, and try_send posts one: use send, or shorter arguments"
            )
        if not self._tried(to, handler.head | flags, data, on):
            return False
        self.sent += 1
        return True

    def send_words(self, to: int, handler: Handler, words: bytes) -> None:
        """Post int64 numbers, given as bytes, that fit into one packet, on RIGHT; see `send`."""
        while not self.try_words(to, handler, words):
            self.make_room(to, RIGHT, BOTH, EMPTY)

    def try_words(self, to: int, handler: Handler, words: bytes) -> bool:
        """Do what `send_words` does if there is room, without polling; return True if it was done."""
        if not self._network.try_post(1, to, handler.head, words):
            return False
        self.sent += 1
        return True

    def later(self, handler: Handler, source: int, *args: Any) -> None:
        """Run a handler in the poll that runs now, or in the next one, as if a message had come from a processor."""
        self._due.append((handler, source, args))
        self.sent += 1

    def replied(self, message: Message, runs: Handler, to: int, handler: Handler, args: tuple[Any, ...]) -> bool:
        """Reply with a few numbers if there is room, which is the usual case; return False if it is not that."""
        return (
            runs.replies
            and handler.__class__ is Handler
            and not handler.replies
            and self._running[-1:] == [message]
            and self.send_numbers(BOTH, to, handler.head, args) == POSTED
        )

    def reply(self, message: Message, runs: Handler, to: int, handler: Handler, args: tuple[Any, ...], on: On) -> None:
        """Post a reply, from the handler of a request; see `Message.reply`."""
        self._check_answer(message, runs, to, handler, "reply")
        if handler.replies or on == LEFT:
            what = f"{handler!r} sends replies" if handler.replies else "it would go on LEFT only"
            raise ValueError(f"{what}, so a reply to it could wait for ever: see smp.Message.reply")
        self._post(to, handler, args, on, RIGHT, EMPTY)

    def forward(self, message: Message, runs: Handler, to: int, handler: Handler, args: tuple[Any, ...]) -> None:
        """Post a further request, from the handler of a request; see `Message.forward`."""
        self._check_answer(message, runs, to, handler, "forward")
        self._post(to, handler, args, LEFT, BOTH, EMPTY)

    def _check_answer(self, message: Message, runs: Handler, to: int, handler: Handler, call: str) -> None:
        """Raise an error if the handler of a message may not send another one now."""
        if message not in self._running:
            done = "replied to" if call == "reply" else "forwarded"
            raise HandlerError(f"{message!r} cannot be {done}, because its handler has ended")
        if not runs.replies:
            raise HandlerError(
                f"{self.running()} cannot {call}: register it with proc.handler({runs.name}, replies=True), and send "
                "its messages with proc.request"
            )
        if not isinstance(handler, Handler):
            raise TypeError(f"message.{call} takes a handler, as proc.handler returns it, not {handler!r}")
        if not 0 <= operator.index(to) < self._port.size:
            raise ValueError(f"processor {to} does not exist: ranks begin at 0 and are below {self._port.size}")

    def _post(self, to: int, handler: Handler, args: tuple[Any, ...], on: On, polled: On, how: How) -> None:
        flags, data = encoded(args)
        if len(data) <= self._one:
            self._insist(to, handler.head | flags, data, on, polled, how)
        else:  # all packets take one network, and a reply that waits for room on LEFT could wait for ever
            for head, piece in parts(handler.head | flags, data, self._network.longest):
                self._insist(to, head, piece, RIGHT if on == BOTH else on, polled, how)
        self.sent += 1

    def _insist(self, to: int, head: int, data: bytes, on: On, polled: On, how: How) -> None:
        """Post a packet; while there is no room, poll and sleep."""
        while not self._tried(to, head, data, on):
            self.make_room(to, on, polled, how)

    def make_room(self, to: int, on: On, polled: On, how: How, deadline: int = 0) -> bool:
        """Poll; if no message has come, sleep until one comes or there is room; return False at the deadline."""
        if self._take(polled, how):
            return True
        return self._network.wait(f"room for a message to processor {to}", int(polled), deadline, (int(on), to))

    def _tried(self, to: int, head: int, data: bytes, on: On) -> bool:
        """Post a packet if there is room on one of the networks; return True if it was posted."""
        order = ORDER[on][self._right_first]
        self._right_first = not self._right_first
        post = self._network.try_post
        return post(order[0], to, head, data) or (len(order) > 1 and post(order[1], to, head, data))

    # Polling.

    def poll(self, networks: On, how: How | int) -> int:
        """Take messages and run their handlers; return the number of handlers that have run."""
        before = self.handled
        if how is FIRST_LEFT or how is FIRST_RIGHT:
            if self._take(LEFT if how is FIRST_LEFT else RIGHT, ONCE):
                self._take(BOTH, EMPTY)
        elif isinstance(how, How):
            self._take(networks, how)
        else:
            while self.handled - before < how and self._take(networks, ONCE):
                pass
        return self.handled - before

    def take_one(self) -> bool:
        """Take one packet, once there is one, or run handlers that are due; return False if none has come soon."""
        if (self._early and self._take_early(BOTH)) or (self._due and self._run_due()):
            return True
        found = self._network.take_soon(BOTH)
        if found is None:
            return False
        self._took(found)
        return True

    def wait(self, doing: str, predicate: Callable[[], object], deadline: int) -> bool:
        """Poll until a predicate is true; return False if the deadline has come first.  See `Network.wait`."""
        network, soon = self._network, self._network.take_soon
        while not predicate():
            if self._early or self._due:
                if self.take_one():
                    continue
            elif (found := soon(BOTH)) is not None:
                self._took(found)
                continue
            if not network.wait(self._awaited(doing), int(BOTH), deadline):
                return False
        return True

    def serve(self) -> None:
        """Run the handlers of all messages that have come, while the program waits for something else."""
        self._take(BOTH, EMPTY)

    def _take(self, networks: On, how: How) -> int:
        """Take packets; return how many."""
        taken = self._take_early(networks) if self._early else 0
        if self._due:
            taken += self._run_due()
        take = self._next
        if how is ONCE:
            polled = int(networks)
            for network in (1, 2):
                while network & polled and (found := take(network)) is not None:
                    if self._took(found):
                        taken += 1
                        break
            return taken
        while (found := take(networks)) is not None:
            taken += self._took(found)
        return taken

    def _took(self, found: Taken) -> bool:
        """Run the handler of a packet that was taken, if it is complete; return False if it is a packet of loops."""
        number, source, head, args = found
        handler = self.handlers.by_head.get(head)
        if handler is not None and not self._early:  # the usual case: a message of numbers
            self._run(handler, source, args)
            if self._due:
                self._run_due()
            return True
        if head >= OF_LOOPS:
            self._keep(number, source, head, args)
            return False
        if head & PARTIAL:
            whole = self._assemblies[number, source].add(head, args)
            if whole is None:
                return True
            args = whole
        if head & PICKLED:
            args = decoded(head, args)
        early = self._early and (number, source) in self._early and not own(head)
        handler = None if early else self.handlers.named(head, source)
        if handler is None:
            self._early.setdefault((number, source), deque()).append((head, args))
        else:
            self._run(handler, source, args)
            if self._due:
                self._run_due()
        return True

    def _keep(self, number: int, source: int, head: int, words: bytes) -> None:
        """Keep a packet of loops, which was taken out of its queue, for the loops."""
        loops = self._network.loops
        assert loops is not None
        loops.keep(number, (source, head - OF_LOOPS, words))

    def _run_due(self) -> int:
        """Run the handlers that were put off by `later`; return how many have run."""
        taken = 0
        while self._due:
            self._run(*self._due.popleft())
            taken += 1
        return taken

    def _take_early(self, networks: On) -> int:
        """Run the handlers of messages that came before they were registered; return how many have run."""
        taken = 0
        for key, waiting in list(self._early.items()):
            number, source = key
            while networks >> number & 1 and waiting:
                head, args = waiting[0]
                handler = self.handlers.named(head, source)
                if handler is None:
                    break
                waiting.popleft()
                self._run(handler, source, args)  # it may call this again
                taken += 1
            if not waiting and self._early.get(key) is waiting:
                del self._early[key]
        return taken

    def _awaited(self, doing: str) -> str:
        """Return what a processor waits for, with the number of messages that wait for their handlers."""
        early = sum(map(len, self._early.values()))
        if not early:
            return doing
        return f"{doing}; {early} {'waits' if early == 1 else 'wait'} for handlers that are not registered yet"

    def check_registered(self) -> None:
        """Raise an error if a message has come for a handler that is not registered here."""
        for (_, source), waiting in self._early.items():
            if waiting:
                raise self.handlers.unknown(waiting[0][0], source, len(waiting))

    def check_left(self) -> None:
        """Raise an error if a packet is left that was not handled."""
        while (found := self._next(BOTH)) is not None:
            number, source, head, words = found
            if head < OF_LOOPS:
                raise self.handlers.unknown(head, source, 1)
            self._keep(number, source, head, words)
        self.check_taken()

    def check_taken(self) -> None:
        """Raise an error if a packet of a loop has come that no loop has taken, while no loop can take it any more."""
        loops = self._network.loops
        if loops is not None and (kept := loops.kept()):
            count, source, kind = kept
            raise HandlerError(
                f"{count} {'packet' if count == 1 else 'packets'} that compiled loops have sent to processor "
                f"{self._port.rank} {'waits' if count == 1 else 'wait'}, the first of kind {kind} from processor "
                f"{source}: let a loop take them by smp.compiled.try_poll before proc.quiet and the end of the program"
            )

    def totals(self) -> tuple[int, int]:
        """Return the messages that this processor has sent, and those that it has handled, with those of loops."""
        loops = self._network.loops
        sent, handled = (0, 0) if loops is None else loops.totals()
        return self.sent + self._network.sent_numbers() + sent, self.handled + handled

    def _run(self, handler: Handler, source: int, args: tuple[Any, ...]) -> None:
        if handler.own:
            self.handled += 1
            handler.function(source, *args)
        else:
            self._handle(handler, source, args)

    def _handle(self, handler: Handler, source: int, args: tuple[Any, ...]) -> None:
        """Run a handler of the program."""
        message = Message(self, handler, source)
        running, port = self._running, self._port
        running.append(message)
        if len(running) > self.deepest:
            self.deepest = len(running)
        port.inside = self._inside
        try:
            handler.function(message, *args)
        except Exception as error:
            error.add_note(f"raised in {self.running()} with the arguments {args!r:.300}")
            raise
        finally:  # a message is handled also if its handler raises an exception that the program catches
            running.pop()
            port.inside = self._inside if running else None
            self.handled += 1

    def running(self) -> str:
        """Return which handler runs, for messages."""
        message = self._running[-1]
        return f"the handler {message._handler.name!r} of a message from processor {message.source}"
