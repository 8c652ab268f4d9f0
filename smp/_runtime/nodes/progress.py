"""The messages that come to a processor, and its waits for them.

    program's thread      waits: looks for messages, again and again, until what it waits for is there
    service thread        looks for messages while the program computes, so that others need not wait for it

Whichever thread looks takes the next message and carries out the action of its kind, under the lock.  The lock also
protects all that actions change.  A first processor of a node also looks at what the others of the node have put into
its memory (`on_look`).

A message of a run has the number of the run.  Processors begin a run one after another, so a message may come before
its run has begun here; it is kept until then.  One of an earlier run, which has failed, is dropped.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from smp.errors import MachineError

from .mail import Mail, Message, Octets, Transfer

Ready = Callable[[], object]
SPIN = 200  # looks of a wait before it naps
SHORTEST, LONGEST = 2e-5, 1e-3  # seconds of a nap of a wait: they double
SETTLED = 5.0  # seconds
SERVICE, LAZY = 2e-4, 1e-3  # seconds of a nap of the service thread: they double while nothing comes


class Progress:
    """Takes the messages that come to a processor, and carries out their actions.

    Parameters
    ----------
    mail : Mail
    spin : bool
        Whether waits look without a nap at first, because each processor has a CPU of its own.
    go_on : callable
        Raises an error if the run ends.
    ended : callable
        Called with the cause when the run ends.

    Attributes
    ----------
    lock : RLock
        Held while an action is carried out.
    cause : int
        Why the run ends, as a kind of abort (see ``wait``); 0 while it goes on.
    sent, got : int
        Numbers of messages and transfers to and from other processors, since the machine was opened.
    waits : int
        Number of waits of the program.
    broken : callable
        Called when the service thread ends by an exception.
    in_service : callable
        Called by the service thread again and again, also while the program waits.
    """

    def __init__(self, mail: Mail, spin: bool, go_on: Callable[[], object], ended: Callable[[int], object]) -> None:
        self.lock = threading.RLock()
        self.cause = self.sent = self.got = self.waits = 0
        self._mail, self._spin = mail, SPIN if spin else 0
        self._run, self._over = 0, True
        self._actions: dict[str, Callable[..., object]] = {}
        self._of_a_run: set[str] = set()
        self._aborted: dict[int, int] = {}  # causes of the end of runs that have not begun here
        self._early: list[tuple[int, Message]] = []
        self._also: Callable[[], bool] | None = None  # see `on_look`
        self._own: deque[Message] = deque()  # messages of this processor to itself
        self._transfers: list[tuple[Transfer, Callable[[], object]]] = []
        self._waits_for: Ready | None = None
        self._in_wait, self._closed = 0, False  # in_wait: number of threads that wait, and look
        self._main = threading.get_ident()  # the thread that runs the program
        self.go_on, self._ended = go_on, ended
        self._service = threading.Thread(target=self._serve, name="smp messages", daemon=True)
        self.broken: Callable[[], object] = lambda: None
        self.in_service: Callable[[], object] = lambda: None

    def begin(self) -> None:
        """Begin to look for messages."""
        self._service.start()

    def close(self) -> None:
        """Look for messages no more."""
        self._closed = True
        self._service.join()

    def on(self, kind: str, action: Callable[..., object], of_a_run: bool = True) -> None:
        """Carry out ``action(source, *content)`` for each message of a kind."""
        self._actions[kind] = action
        if of_a_run:
            self._of_a_run.add(kind)

    def on_look(self, action: Callable[[], bool]) -> None:
        """Call an action at each look; it returns True if something has come that is no message."""
        self._also = action

    def begin_run(self, run: int) -> None:
        """Drop what is left of earlier runs, and carry out what has come for this one."""
        with self.lock:
            self._run, self._over, self.cause = run, False, 0
            if run in self._aborted:
                self.end(self._aborted.pop(run))
            early, self._early = self._early, []
            for source, message in early:
                self._act(source, message)

    def abort(self, run: int, cause: int) -> None:
        """End a run, for a cause, unless it has ended."""
        with self.lock:
            if run > self._run:
                self._aborted[run] = cause
            elif run == self._run and not self._over:
                self.end(cause)

    def end_run(self) -> None:
        """Ignore from now on that others end this run: they may do so when the next one is being prepared."""
        with self.lock:
            self._over = True

    def end(self, cause: int) -> None:
        """End the run that goes on, for a cause, unless it ends already."""
        with self.lock:
            if not self.cause:
                self.cause = cause
                self._ended(cause)

    def send(self, to: int, kind: str, *content: Any) -> None:
        """Send a message, of this run if messages of its kind are."""
        with self.lock:
            message = (kind, self._run, *content)
            if to == self._mail.rank:
                self._own.append(message)
            else:
                self.sent += 1
                self._mail.send(to, message)

    def give(self, to: int, tag: int, octets: Octets, then: Callable[[], object]) -> None:
        """Begin to send bytes; call ``then`` when that is done."""
        with self.lock:
            self.sent += 1
            self._transfers.append((self._mail.give(to, tag, octets), then))

    def receive(self, source: int, tag: int, octets: Octets, then: Callable[[], object]) -> None:
        """Begin to receive bytes; call ``then`` when they are there."""
        with self.lock:
            self._transfers.append((self._mail.receive(source, tag, octets), lambda: self._received(then)))

    def _received(self, then: Callable[[], object]) -> None:
        self.got += 1
        then()

    def look(self) -> bool:
        """Take one message, if one has come, and see to the transfers; return True if something came or was done."""
        with self.lock:
            found = False
            if self._own:
                found = True
                self._act(self._mail.rank, self._own.popleft())
            came = self._mail.take()
            if came is not None:
                found = True
                self.got += 1
                self._act(*came)
            if self._also is not None and self._also():
                found = True
            if self._transfers:
                done = [pair for pair in self._transfers if pair[0].done()]
                if done:
                    found = True
                    self._transfers = [pair for pair in self._transfers if pair not in done]
                    for _, then in done:
                        then()
            return found

    def _act(self, source: int, message: Message) -> None:
        kind, run, *content = message
        if kind in self._of_a_run and run != self._run:
            if run > self._run:
                self._early.append((source, message))
            return
        self._actions[kind](source, *content)

    def until(self, ready: Ready, deadline: int = 0) -> bool:
        """Wait until ``ready()`` is true; return False if the deadline has come first.

        Parameters
        ----------
        ready : callable
            Called under the lock.
        deadline : int
            In ns of `time.monotonic_ns`; 0 for none.

        Raises
        ------
        Aborted
            If the run ends.
        """
        looks, programs = 0, threading.get_ident() == self._main
        with self.lock:
            self._in_wait += 1
            self.waits += 1
        try:
            while True:
                with self.lock:
                    came = self.look()
                    if ready():
                        return True
                    if programs:
                        self._waits_for = None if deadline else ready
                if self.cause:
                    self.go_on()
                if deadline and time.monotonic_ns() >= deadline:
                    return False
                looks = 0 if came else looks + 1
                if looks:
                    self._nap(looks)
        finally:
            with self.lock:
                self._in_wait -= 1
            if programs:
                self._waits_for = None

    def _nap(self, looks: int) -> None:
        if looks <= self._spin:
            os.sched_yield()
            return
        with self.lock:
            moving = bool(self._transfers) or self._mail.busy()  # bytes that may move only while MPI is called
        if moving and self._spin:
            os.sched_yield()
        else:
            time.sleep(SHORTEST if moving else min(LONGEST, SHORTEST * 2 ** min(looks - self._spin, 10)))

    def stuck(self) -> bool:
        """Return True if the program waits, without a deadline, for something that has not come."""
        with self.lock:
            if self._also is not None and self._also():
                return False
            ready = self._waits_for
            return ready is not None and not self._own and not self._transfers and not ready()

    def settle(self, done: Ready) -> None:
        """Wait until no transfer goes on and ``done()`` is true, after a run that may have failed.

        All processors see to what others ask for, whether their own runs have failed or not.

        Raises
        ------
        MachineError
            If some go on for long.
        """
        end = time.monotonic() + SETTLED
        while self._transfers or not done():
            if time.monotonic() > end:
                raise MachineError(f"accesses to other nodes did not end within {SETTLED} s")
            if not self.look():
                time.sleep(SHORTEST)

    @property
    def thread(self) -> int:
        """Return the identifier of the service thread."""
        return self._service.ident or 0

    def _serve(self) -> None:
        nap = SERVICE
        try:
            while not self._closed:
                self.in_service()
                came = not self._in_wait and self.look()
                nap = SERVICE if came else min(2 * nap, LAZY)
                time.sleep(0.0 if self._transfers and not self._in_wait else nap)
        except BaseException:
            traceback.print_exc()
            self.broken()
