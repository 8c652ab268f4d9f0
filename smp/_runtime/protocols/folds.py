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
            WRAPPED  set to 1 if the integers are single ones and their result does not fit into 64 bits, or nearly does
                     not; else to 0
"""

from __future__ import annotations

from ..loops.atomics import Words, words_at
from ..loops.bits import bits_of_float64, float64_of
from ..loops.compiler import inline

AT, SET, SLOT, COUNT, FIRST, STEP, NUMBER, OP, OUT, WRAPPED, PLAN = range(11)
ADD, MULTIPLY, ADD_INTEGERS, MULTIPLY_INTEGERS = range(4)
_NEARLY = 2.0**62


@inline
def fold(plan: Words, turn: int) -> None:
    """Fold the arrays in set ``turn`` of the slots into the result.  No processor writes to them meanwhile."""
    count, base = plan[COUNT], plan[AT] + turn * plan[SET]
    total, first = words_at(plan[OUT], count), words_at(base + plan[FIRST] * plan[SLOT], count)
    for i in range(count):
        total[i] = first[i]
    plan[WRAPPED] = 0
    for k in range(1, plan[NUMBER]):
        other = words_at(base + (plan[FIRST] + k * plan[STEP]) * plan[SLOT], count)
        if plan[OP] == ADD:
            for i in range(count):
                total[i] = bits_of_float64(float64_of(total[i]) + float64_of(other[i]))
        elif plan[OP] == MULTIPLY:
            for i in range(count):
                total[i] = bits_of_float64(float64_of(total[i]) * float64_of(other[i]))
        elif count == 1:
            _combine(plan, total, other)
        elif plan[OP] == ADD_INTEGERS:
            for i in range(count):
                total[i] += other[i]
        else:
            for i in range(count):
                total[i] *= other[i]


@inline
def _combine(plan: Words, total: Words, other: Words) -> None:
    """Combine two integers, and note whether their result may be too large."""
    a, b = total[0], other[0]
    if plan[OP] == ADD_INTEGERS:
        total[0] = a + b
        wrapped = (a ^ total[0]) & (b ^ total[0]) < 0
    else:
        total[0] = a * b
        wrapped = abs(float(a) * float(b)) > _NEARLY
    if wrapped:
        plan[WRAPPED] = 1
