"""A sequential model of a cell, and a check that it, or another model, explains a history of concurrent operations.

A history is linearizable if its operations could have been done one at a time, each at some moment between its
invocation and its response, with the results that they had. The search goes through the orders that the times allow,
and through no state twice.

Source: Wing and Gong, Testing and verifying concurrent objects, section 4. The memory of visited states is that of
Lowe, Testing for linearizability, section 3.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

READFE, READFF, READXX, WRITEEF, WRITEFF, WRITEXF, PURGE, FILL, FETCH_ADD, PEEK = range(10)
TRY = 16
"""Number that turns an operation that waits into its ``try_`` form when it is added."""
NAMES = ("readfe", "readff", "readxx", "writeef", "writeff", "writexf", "purge", "fill", "fetch_add", "peek")
WAITING = (READFE, READFF, WRITEEF, WRITEFF, FETCH_ADD)
READY = (READXX, WRITEXF, PURGE, FILL, PEEK, *(TRY + op for op in WAITING))  # never wait
MISSED = -(1 << 40)
"""Result of a ``try_`` that did nothing. The result of a peek is twice the value, plus one if the cell is full."""


EVER = 1 << 62


class State(NamedTuple):
    """State of a cell. If ``owed``, the next operation must be a writeef that was waiting when a purge released it."""

    full: bool = False
    value: int = 0
    owed: bool = False


class Operation(NamedTuple):
    """One operation that has ended, with its times."""

    op: int
    given: int
    result: int
    start: int = 0
    end: int = 0


def name(op: int) -> str:
    return NAMES[op] if op < TRY else "try_" + NAMES[op - TRY]


def meaning(op: int, given: int, state: State) -> Iterator[tuple[int, State]]:
    """Yield the results and states that an operation can lead to; none if it must wait."""
    full, value, owed = state
    if owed and op not in (WRITEEF, TRY + WRITEEF):
        return
    if op >= TRY:
        possible = list(meaning(op - TRY, given, state))
        yield from possible or [(MISSED, state)]
    elif op == PEEK:
        yield 2 * value + full, state
    elif op == READXX:
        yield value, state
    elif op == WRITEXF:
        yield 0, State(True, given)
    elif op == FILL:
        yield 0, State(True, value)
    elif op == PURGE:
        yield 0, State(False, given)
        if full:
            yield 1, State(False, given, owed=True)
    elif op == WRITEEF and not full:
        yield 0, State(True, given)
    elif op == READFE and full:
        yield value, State(False, value)
    elif op == READFF and full:
        yield value, state
    elif op == WRITEFF and full:
        yield 0, State(True, given)
    elif op == FETCH_ADD and full:
        yield value, State(True, value + given)


def linearizable(
    history: Sequence[Sequence[Operation]],
    begin: Any,
    end: Any = None,
    meaning: Callable[[int, int, Any], Iterable[tuple[int, Any]]] = meaning,
) -> bool:
    """Return True if some order of the operations explains all results, from one state of an object to another.

    Parameters
    ----------
    history : sequence of sequences of Operation
        Operations of each stream, in its order.
    begin, end : State or another state that has ``owed``
    meaning : callable
        ``meaning(op, given, state)`` yields the results and states that an operation can lead to.
    """
    todo, seen = [((0,) * len(history), begin, EVER)], set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        done, state, latest = node
        ahead = {k: ops[n] for k, (n, ops) in enumerate(zip(done, history, strict=True)) if n < len(ops)}
        if not ahead and not state.owed and end in (None, state):
            return True
        for operation in ahead.values():
            latest = min(latest, operation.end)
        for k, operation in ahead.items():
            if operation.start <= latest:  # none that is still to come ended before it began
                after = (*done[:k], done[k] + 1, *done[k + 1 :])
                for result, then in meaning(operation.op, operation.given, state):
                    if result == operation.result:
                        todo.append((after, then, operation.end if then.owed else EVER))
    return False


def stuck(programs: Sequence[Sequence[tuple[int, int]]], begin: State) -> bool:
    """Return True if some order of the operations, (op, value) of each stream, ends with all the others waiting."""
    todo, seen = [((0,) * len(programs), begin)], set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        done, state = node
        ahead = {k: ops[n] for k, (n, ops) in enumerate(zip(done, programs, strict=True)) if n < len(ops)}
        following = [
            ((*done[:k], done[k] + 1, *done[k + 1 :]), after)
            for k, (op, given) in ahead.items()
            for result, after in meaning(op, given, state)
            if not after.owed
        ]
        if ahead and not following:
            return True
        todo += following
    return False


def told(history: Iterable[Iterable[Operation]]) -> str:
    """Return a history as text, in the order of the invocations."""
    rows = sorted((o.start, o.end, k, o) for k, ops in enumerate(history) for o in ops)
    return "\n".join(f"{a:>20} {b:>20}  {k}  {name(o.op)}({o.given}) -> {o.result}" for a, b, k, o in rows)
