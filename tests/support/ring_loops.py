"""Loops over rings for the tests, and rings with planted bugs, made by changing the text of the protocol.

Message k from one processor to another has ``size`` words; word i of it is ``word_of(sender, k, i)``.
"""

import inspect
import types

import numpy as np

import smp
from smp._runtime.loops.atomics import futex_wait
from smp._runtime.protocols import rings
from smp.compiled import aborted, load, pause

STAMPED = "    store_release(rings, at, place & LOW | count << COUNT_AT | head << HEAD_AT)\n"
PAYLOAD, SLOTS = "    if count > 0:\n", "    for k in range(slots):\n"
BUGS = {
    "the stamp is stored before the payload": [(PAYLOAD, STAMPED + PAYLOAD)],
    "the first stamp is stored before the other slots": [(SLOTS, STAMPED + SLOTS)],
    "the room comes from the credit last seen": [("    if free < slots:\n", "    if False:\n")],
    "the capacity is too large by one": [
        ("net[peer + LIMIT] = slots\n", "net[peer + LIMIT] = slots + 1\n"),
        ("net[peer + OUT_END]) + net[SLOTS]\n", "net[peer + OUT_END]) + net[SLOTS] + 1\n"),
    ],
    "the capacity is too small by one": [
        ("net[peer + LIMIT] = slots\n", "net[peer + LIMIT] = slots - 1\n"),
        ("net[peer + OUT_END]) + net[SLOTS]\n", "net[peer + OUT_END]) + net[SLOTS] - 1\n"),
    ],
    "the stamp has no lap": [("place + 1 & LOW", "place & LOW")],
    "the lap has no end": [("place + 1 & LOW", "place + 1")],
    "only the first slot of a message is stamped": [("        if k > 0:\n", "        if False:\n")],
    "one slot is given back, whatever the message": [("net[peer + TAKEN] + slots", "net[peer + TAKEN] + 1")],
    "the credit is never published": [
        ("    store_release(rings_of(net), net[peer + IN_END], net[peer + TAKEN])\n", "")
    ],
    "credit is held back until the whole ring is taken": [("    if 2 * (taken", "    if (taken")],
    "a poll looks at the later senders only": [("    if i >= end:\n", "    if False:\n")],
    "there is room for a message of several slots if there is for one": [
        ("    if room(net, to, slots) < slots:", "    if room(net, to, 1) < 1:")
    ],
}
"""Planted bugs: each is a few replacements in the text of the protocol."""


def planted(bug):
    """Return the protocol with a planted bug; its functions are interpreted, so it is for explorations."""
    return changed(BUGS[bug])


def changed(replacements):
    """Return the protocol after some replacements in its text, each of which is found exactly once."""
    text = inspect.getsource(rings)
    for old, new in replacements:
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in the protocol"
        text = text.replace(old, new)
    made = types.ModuleType(rings.__name__)
    made.__package__ = rings.__package__
    exec(compile(text, rings.__file__, "exec"), vars(made))
    return made


@smp.stream
def word_of(sender, k, i):
    """Return a word of a message, which no other word of a test equals."""
    return 1 + i + 1_000 * (k + 1) + 1_000_000_000 * (sender + 1)


@smp.stream
def posted(net, me, to, k, size, words):
    """Post message ``k`` if there is room; in one call if it fits one slot, else from ``words``."""
    if size <= rings.PAYLOAD:
        a, b, c = word_of(me, k, 0), word_of(me, k, 1), word_of(me, k, 2)
        d, e, f, g = word_of(me, k, 3), word_of(me, k, 4), word_of(me, k, 5), word_of(me, k, 6)
        return rings.try_post(net, to, k % 1000, size, a, b, c, d, e, f, g)
    for i in range(size):
        words[i] = word_of(me, k, i)
    return rings.try_post_from(net, to, k % 1000, words, 0, size)


@smp.stream
def taken(net, next_of, words, early):
    """Take a message if there is one; return its sender, -1 if there is none, or -2 if it is not the next one.

    Parameters
    ----------
    next_of : int64 array
        Number of the next message of each sender.
    early : bool
        A planted bug: the slots are given back before they are read.
    """
    sender, head, count, at = rings.try_poll(net)
    if sender < 0:
        return sender
    k = next_of[sender]
    next_of[sender] = k + 1
    if early:
        rings.take(net, sender, count)
    right = head == k % 1000
    if count <= rings.PAYLOAD:
        slots = rings.rings_of(net)
        for i in range(count):
            right = right and load(slots, at + i) == word_of(sender, k, i)
    else:
        rings.read(net, sender, count, words, 0)
        for i in range(count):
            right = right and words[i] == word_of(sender, k, i)
    if not early:
        rings.take(net, sender, count)
    return sender if right else -2


@smp.stream
def exchanged(net, me, sync, targets, sizes, expected, next_of, words, rest, early):
    """Post messages and take those of others, until ``expected`` have come; return how many came, -1 after an error.

    Parameters
    ----------
    targets, sizes : int64 arrays
        The messages of this processor, in order.
    early : bool
        As for `taken`.
    rest : bool
        Whether to look for an abort after a number of looks in vain, and to sleep, so that another processor gets the
        CPU. An exploration needs neither, and both would add steps to it.
    """
    sent = np.zeros(len(next_of), np.int64)
    k = came = vain = 0
    while k < len(targets) or came < expected:
        busy = False
        if k < len(targets) and posted(net, me, targets[k], sent[targets[k]], sizes[k], words):
            sent[targets[k]] += 1
            k += 1
            busy = True
        sender = taken(net, next_of, words, early) if came < expected else -1
        if sender == -2:
            return -1
        if sender >= 0:
            came += 1
            busy = True
        vain = 0 if busy else vain + 1
        if not busy:
            pause()
            if rest and vain % 100 == 0:
                if aborted(sync):
                    return -1
                futex_wait(sent, 0, sent[0], 1000)
    return came


def prepared(words, rank, processors, slots, lap=1):
    """Return the private words of a processor, whose rings begin with a lap, on the given shared words."""
    net = np.zeros(rings.private_words(processors), np.int64)
    rings.prepare(net, words.ctypes.data, rank, processors, slots)
    for k in range(processors):
        net[rings.PEERS + rings.PEER * k + rings.OUT] += lap - 1
        net[net[rings.IN] + k] += lap - 1
    return net
