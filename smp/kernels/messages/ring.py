"""Ring: every node waits for its predecessor's message, computes, waits for its successor's permission, and sends on.

    node i-1  ───── main: a token, ``words`` long ─────▶  node i  ────────────▶  node i+1
              ◀── secondary: one word, permission ──────          ◀────────────

    send main
    loop:
        a   F1  receive main  F2   b
        send secondary
        if it is likely:
            {code A}, a loop:  c  multiply and assign
            d   F3  receive secondary  F4
        else:
            e   F5  receive secondary  F6   f
        g
        send main, except in the last round
        h

The letters are places for delays.  F1 to F6 are those of figure 2, a to h others spread through the loop, c in
{code A}.

A node sends again only after its successor has taken the message before.  The token decides which branch a node takes,
and how long {code A} is.  On a machine whose network congests (`smp.networks.congested`), both kinds of messages arrive
at one input.  A node that is ready earlier than its successor finds the successor's input taken, and has to try again
later.  Delays can keep nodes in step.

The computed values are the same with any delays and on any machine; `tokens` computes them without a network.

Source: Synthetic-perturbation tuning of MIMD programs, section 3.2, example 2 and figure 2; there on 16 nodes of an
iPSC-1.  The source does not say which node sends the secondary message, or what both messages hold.
"""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import NDArray

from smp import Processor, local, stream
from smp.compiled import delay

from .mailbox import Mailbox

MAIN, SECONDARY = range(2)
MULTIPLIER = 6_364_136_223_846_793_005  # of a linear congruential generator modulo 2^64
BLOCK = 2_500
"""Number of values in each multiply-and-assign, which takes 2 us on an emulated machine."""
Values = NDArray[np.uint64]


@local
def multiply(values: Values) -> None:
    """Multiply and assign, modulo 2^64."""
    for k in range(len(values)):
        values[k] = values[k] * np.uint64(MULTIPLIER)


@stream
def code_a(values: Values, loops: int) -> None:
    """Run {code A}, which loops the given number of times."""
    for _ in range(loops):
        delay("c")
        multiply(values)


def is_likely(token: int, likely: float) -> bool:
    """Return True if the if-statement is true for a token."""
    return token < likely * 2**31


def loops_of(token: int, load: int) -> int:
    """Return the number of loops of {code A}, which is 0.8 to 1.2 times the load."""
    return load * (80 + token % 41) // 100


def drawn(value: int) -> int:
    """Return the next token, which has 31 bits."""
    return value * MULTIPLIER % 2**64 >> 33


def first_tokens(p: int, seed: int) -> NDArray[np.int64]:
    """Return the token with which each node begins."""
    return np.random.default_rng(seed).integers(2**31, size=p)


def tokens(p: int, rounds: int, *, load: int, likely: float, seed: int) -> NDArray[np.int64]:
    """Return the token that each node receives in each round, as an array (rounds, p), computed serially."""
    found = np.empty((rounds, p), np.int64)
    held = first_tokens(p, seed)
    for r in range(rounds):
        found[r] = np.roll(held, 1)
        for rank, token in enumerate(found[r].tolist()):
            loops = loops_of(token, load) if is_likely(token, likely) else 0
            held[rank] = drawn((token + rank) * pow(MULTIPLIER, loops, 2**64))
    return found


def pass_tokens(
    proc: Processor,
    rounds: int,
    *,
    load: int = 10,
    words: int = 64,
    likely: float = 0.85,
    seed: int = 0,
) -> dict[str, int]:
    """Pass tokens round a ring, with a processor for each node (SPMD program).

    Parameters
    ----------
    proc : Processor
    rounds : int
        Number of messages that each node receives from its predecessor, from 1.
    load : int
        Approximate number of loops of {code A}; each is a multiply-and-assign on `BLOCK` numbers.
    words : int
        Length of the main messages in words, from 1.
    likely : float
        Share of the tokens with which {code A} is run.
    seed : int
        Seed of the first tokens.

    Returns
    -------
    dict
        ``checksum`` of all that this node has received.  On a network that congests, also those of the whole ring:
        ``attempts``, the number of transmissions, and ``failures``, the number of those that failed.

    Raises
    ------
    TypeError, ValueError
        Raised on all processors alike, before the first message.

    Examples
    --------
    >>> import smp
    >>> from smp.kernels.messages.ring import pass_tokens
    >>> with smp.emulated(4, schedule="clock", network=smp.networks.congested()) as machine:
    ...     run = machine.run(pass_tokens, rounds=3)
    >>> run.results[0]["attempts"] - run.results[0]["failures"]  # 2 messages a round and node
    24
    """
    for name, number, least in (("rounds", rounds, 1), ("load", load, 0), ("words", words, 1)):
        if operator.index(number) < least:
            raise ValueError(f"{name} must be at least {least}, not {number}")
    if not 0 <= likely <= 1:
        raise ValueError(f"likely must be a share from 0 to 1, not {likely}")
    mailbox = Mailbox(proc)
    successor, predecessor = (proc.rank + 1) % proc.size, (proc.rank - 1) % proc.size
    values, checksum = np.empty(BLOCK, np.uint64), 0
    mailbox.send(successor, MAIN, np.full(words, first_tokens(proc.size, seed)[proc.rank]))
    for r in range(rounds):
        delay("a")
        delay("F1")
        token = int(mailbox.receive(MAIN, words)[-1])
        delay("F2")
        delay("b")
        mailbox.send(predecessor, SECONDARY, [token])
        values.fill(token + proc.rank)
        if is_likely(token, likely):
            code_a(values, loops_of(token, load))
            delay("d")
            delay("F3")
            leave = mailbox.receive(SECONDARY, 1)
            delay("F4")
        else:
            delay("e")
            delay("F5")
            leave = mailbox.receive(SECONDARY, 1)
            delay("F6")
            delay("f")
        checksum += token + int(leave[0])
        delay("g")
        if r < rounds - 1:
            mailbox.send(successor, MAIN, np.full(words, drawn(int(values[-1]))))
        delay("h")
    return {"checksum": checksum, **mailbox.transmissions()}
