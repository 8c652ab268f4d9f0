"""Programs that rank a linked list on multithreaded processors, but for Reid-Miller's.

    serial          value, rank and successor of each node, one access after the other
    wyllie_cells    Wyllie in one list: the full/empty bits of a node's two words serialise access to it
    wyllie_lists    Wyllie from one list into another, which are exchanged after a barrier

A list of n nodes has the successors from address `NEXT` on, then n values or ranks.  The last node is its own
successor.  The serial program counts the nodes in front of each node, and Wyllie's those behind it.

Source: the study of the Tera MTA, sections 4.1, 4.4.1 and 4.4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..program import (
    Label,
    Program,
    add,
    count_down,
    create,
    if_equal,
    if_less,
    jump,
    load,
    multiply,
    quit_stream,
    readfe,
    spawn,
    store,
    subtract,
    writeef,
)
from .barrier import WORDS, Barrier

TAKEN, BARRIER, NEXT = 0, 1, 1 + WORDS
"""Addresses: a counter of the parts of the work that were taken, a barrier, the successors."""


@dataclass(frozen=True)
class Ranking:
    """A program that ranks lists, where it starts, and the registers that it is given, by name."""

    program: Program
    start: Label
    inputs: dict[str, int]


def named_registers(program: Program, *names: str) -> dict[str, int]:
    """Return registers that the program has not used yet, by name."""
    return dict(zip(names, program.registers(len(names)), strict=True))


def serial() -> Ranking:
    """Return a program of one stream, whose accesses may not overlap: two of their addresses could be equal."""
    program, over = Program(), Label()
    inputs = named_registers(program, "head", "end", "values", "ranks")
    node, end, values, ranks = inputs.values()
    value, rank = program.registers(2)
    start = program.label()
    program.word(load(value, values, node), if_equal(node, end, over))
    program.word(store(rank, ranks, node), add(rank, rank, value))
    program.word(load(node, 0, node, NEXT), jump(start))
    program.place(over)
    program.word(store(rank, ranks, node))
    program.word(quit_stream())
    return Ranking(program, start, inputs)


def start_streams(program: Program, number: int, streams: int, by_runtime: bool) -> Label:
    """Add the words that start a stream for each number below the number of streams; return where they begin."""
    body = Label()
    start = program.label()
    if streams > 1:
        program.word(create(body) if by_runtime else spawn(body))
        program.word(count_down(number, start))
    program.place(body)
    return start


def share_of(program: Program, number: int, share: int, n: int) -> tuple[int, int]:
    """Add the words that compute a stream's part of n nodes; return the registers of its first node and its end."""
    first, stop = program.registers(2)
    bounded = Label()
    program.word(multiply(first, number, share))
    program.word(add(stop, first, share))
    program.word(if_less(stop, n, bounded))
    program.word(add(stop, n))
    program.place(bounded)
    return first, stop


def wyllie_cells(streams: int) -> Ranking:
    """Return Wyllie's algorithm with full/empty bits, for streams that the hardware starts."""
    program, each, done, following, over = Program(), Label(), Label(), Label(), Label()
    inputs = named_registers(program, "number", "share", "n", "end", "rounds", "ranks", "last", "one")
    number, share, n, end, rounds, ranks, last, one = inputs.values()
    i, node, rank, beyond, further = program.registers(5)
    barrier = Barrier(program, BARRIER, last, one)
    start = start_streams(program, number, streams, by_runtime=False)
    first, stop = share_of(program, number, share, n)
    turn = program.label()
    program.word(add(i, first), if_less(first, stop, each))
    program.word(jump(over))
    program.place(each)
    program.word(readfe(node, 0, i, NEXT))
    program.word(if_equal(node, end, done))
    program.word(readfe(rank, ranks, i))
    program.word(readfe(beyond, 0, node, NEXT))
    program.word(readfe(further, ranks, node))
    program.word(writeef(further, ranks, node), add(rank, rank, further))
    program.word(writeef(beyond, 0, node, NEXT))
    program.word(writeef(rank, ranks, i))
    program.word(writeef(beyond, 0, i, NEXT), jump(following))
    program.place(done)
    program.word(writeef(node, 0, i, NEXT))
    program.place(following)
    program.word(add(i, i, 0, 1))
    program.word(if_less(i, stop, each))
    program.place(over)
    barrier.meet()
    program.word(count_down(rounds, turn))
    program.word(quit_stream())
    return Ranking(program, start, inputs)


def wyllie_lists(streams: int) -> Ranking:
    """Return Wyllie's algorithm on two lists, for streams that the runtime creates."""
    program, each, over = Program(), Label(), Label()
    inputs = named_registers(program, "number", "share", "n", "rounds", "ranks", "other", "last", "one")
    number, share, n, rounds, ranks, other, last, one = inputs.values()
    i, node, rank, beyond, further = program.registers(5)
    source, target, source_ranks, target_ranks = program.registers(4)  # source, target: added to addresses of a list
    barrier = Barrier(program, BARRIER, last, one)
    start = start_streams(program, number, streams, by_runtime=True)
    first, stop = share_of(program, number, share, n)
    turn = program.label()
    program.word(subtract(target, other, source))
    program.word(add(source_ranks, ranks, source))
    program.word(add(target_ranks, ranks, target))
    program.word(add(i, first), if_less(first, stop, each))
    program.word(jump(over))
    program.place(each)
    program.word(load(node, source, i, NEXT, lookahead=1))
    program.word(load(rank, source_ranks, i, lookahead=2))
    program.word(load(beyond, source, node, NEXT, lookahead=1))
    program.word(load(further, source_ranks, node))
    program.word(store(beyond, target, i, NEXT, lookahead=7), add(rank, rank, further))
    program.word(store(rank, target_ranks, i, lookahead=7), add(i, i, 0, 1))
    program.word(if_less(i, stop, each))
    program.place(over)
    barrier.meet()
    program.word(add(source, target), count_down(rounds, turn))
    program.word(quit_stream())
    return Ranking(program, start, inputs)
