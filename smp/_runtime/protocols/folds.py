"""Folds of short arrays of float64 or int64 in the slots of the processors, by machine code.

NumPy folds them as well, but to say that it must not warn of an overflow takes as long as a barrier.  The results are
the same, bit by bit: one operation for each element and processor, in the order of the plan.

    plan    AT       address of the elements of processor 0 in the first set of slots
            SET      bytes from one set to the next
            SLOT     bytes from one processor to the next
            COUNT    elements
            FIRST, STEP, NUMBER    the first processor, the difference of the others' ranks, and how many there are
            OP       ADD, MULTIPLY, or the same of integers
            OUT      address of the result
"""

from __future__ import annotations

from ..loops.atomics import Words, words_at
from ..loops.bits import bits_of_float64, float64_of
from ..loops.compiler import inline

AT, SET, SLOT, COUNT, FIRST, STEP, NUMBER, OP, OUT, PLAN = range(10)
ADD, MULTIPLY, ADD_INTEGERS, MULTIPLY_INTEGERS = range(4)


@inline
def fold(plan: Words, turn: int) -> None:
    """Fold the arrays in set ``turn`` of the slots into the result.  No processor writes to them meanwhile."""
    count, base = plan[COUNT], plan[AT] + turn * plan[SET]
    total, first = words_at(plan[OUT], count), words_at(base + plan[FIRST] * plan[SLOT], count)
    for i in range(count):
        total[i] = first[i]
    for k in range(1, plan[NUMBER]):
        other = words_at(base + (plan[FIRST] + k * plan[STEP]) * plan[SLOT], count)
        if plan[OP] == ADD:
            for i in range(count):
                total[i] = bits_of_float64(float64_of(total[i]) + float64_of(other[i]))
        elif plan[OP] == MULTIPLY:
            for i in range(count):
                total[i] = bits_of_float64(float64_of(total[i]) * float64_of(other[i]))
        elif plan[OP] == ADD_INTEGERS:
            for i in range(count):
                total[i] += other[i]
        else:
            for i in range(count):
                total[i] *= other[i]
