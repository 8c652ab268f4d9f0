"""The Reid-Miller algorithm on multithreaded processors: random sublists are summed, scanned, and expanded.

    phase 1   each stream takes one sublist after the other, and sums its values
    phase 2   one stream scans the list of the sublists, while the others wait
    phase 3   each stream takes one sublist after the other, and writes the ranks of its nodes

The streams take sublists from a counter, where the authors of the algorithm pack the unfinished ones again and again.

Source: the study of the Tera MTA, sections 4.2, 4.4.1 and 4.4.3, and figure 16.
"""

from __future__ import annotations

from ..program import Label, Program, add, fetch_add, if_equal, if_less, if_unequal, jump, load, quit_stream, store
from .barrier import Barrier
from .list_programs import BARRIER, NEXT, TAKEN, Ranking, named_registers, start_streams


def sublist_program(streams: int, by_runtime: bool) -> Ranking:
    """Return the algorithm, for streams that the hardware starts or threads that the runtime creates.

    The inputs name the arrays: for each node its value, its rank, and its mark, which is the number of the sublist that
    begins behind it, or 0; for each sublist its first node, its sum, its successor or 0, and its first node's rank.
    """
    program = Program()
    names = ("number", "end", "values", "ranks", "marks", "heads", "sums", "successors", "firsts", "count")
    inputs = named_registers(program, *names, "last", "one")
    own, node, value, mark, rank = program.registers(5)
    barrier = Barrier(program, BARRIER, inputs["last"], inputs["one"])
    start = start_streams(program, inputs["number"], streams, by_runtime)
    walk = _Walk(program, inputs, own, node, value, mark, rank)
    walk.phase(expand=False)
    barrier.meet()
    _scan(program, inputs, own, value, rank)
    barrier.meet()
    walk.phase(expand=True)
    program.word(quit_stream())
    return Ranking(program, start, inputs)


class _Walk:
    """The words with which streams walk along sublists."""

    def __init__(self, program: Program, inputs: dict[str, int], *registers: int) -> None:
        self._program, self._inputs, self._registers = program, inputs, registers

    def phase(self, expand: bool) -> None:
        """Add the words of phase 1, or of phase 3 if ``expand``."""
        program, given = self._program, self._inputs
        own, node, value, mark, rank = self._registers
        step, ended, over = Label(), Label(), Label()
        taken = program.label()
        program.word(add(own, given["one"]))
        program.word(fetch_add(own, 0, offset=TAKEN))
        program.word(add(rank, 0), if_less(own, given["count"], walk := Label()))
        program.word(jump(over))
        program.place(walk)
        if expand:
            program.word(load(rank, given["firsts"], own, lookahead=1))
        program.word(load(node, given["heads"], own))
        program.place(step)
        if expand:
            program.word(store(rank, given["ranks"], node, lookahead=7))
        program.word(load(value, given["values"], node, lookahead=2))
        program.word(load(mark, given["marks"], node, lookahead=1), if_equal(node, given["end"], ended))
        program.word(load(node, 0, node, NEXT))
        program.word(add(rank, rank, value), if_equal(mark, 0, step))
        if not expand:
            program.word(store(mark, given["successors"], own, lookahead=7), jump(store_sum := Label()))
        else:
            program.word(jump(taken))
        program.place(ended)
        if not expand:
            program.word(store(0, given["successors"], own, lookahead=7))
            program.place(store_sum)
            program.word(store(rank, given["sums"], own, lookahead=7))
        program.word(jump(taken))
        program.place(over)


def _scan(program: Program, inputs: dict[str, int], own: int, value: int, rank: int) -> None:
    """Add the words of phase 2, which only stream 0 does not skip; it also resets the counter."""
    again, over = Label(), Label()
    program.word(add(own, 0), if_unequal(inputs["number"], 0, over))
    program.word(store(0, 0, offset=TAKEN), add(rank, 0))
    program.place(again)
    program.word(load(value, inputs["sums"], own))
    program.word(store(rank, inputs["firsts"], own), add(rank, rank, value))
    program.word(load(own, inputs["successors"], own))
    program.word(if_unequal(own, 0, again))
    program.place(over)
