"""Answers of a processor to a call.

A processor may report one failure while its program still runs.  It ends each call with `Done` or `Stopped`:

    Done          the program has returned on all processors
    Stopped       a failure, here or on another processor, has ended the program
    Raised        reported: the program has raised an exception
    Mismatched    reported: the program is in another collective than those of other processors
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .place import Place


@dataclass(frozen=True)
class Done:
    """The pickled result of the program, and the record of the processor (`Packed`)."""

    result: bytes
    record: tuple[Any, ...]


@dataclass(frozen=True)
class Stopped:
    """The program has ended without a result."""


@dataclass(frozen=True)
class Raised:
    """An exception: its class and text, its pickle (empty if it cannot be sent), its traceback and place."""

    kind: str
    text: str
    pickled: bytes
    trace: str
    place: Place


@dataclass(frozen=True)
class Mismatched:
    """The collective in which the processor was, and its place there."""

    collective: str
    place: Place


Answer = Done | Stopped | Raised | Mismatched

_CLASSES: tuple[type[Answer], ...] = (Done, Stopped, Raised, Mismatched)


def packed(answer: Answer) -> tuple[Any, ...]:
    """Return an answer as a tuple, which unpickles faster than a class instance, whose class is looked up by name."""
    return (_CLASSES.index(type(answer)), *vars(answer).values())


def unpacked(sent: tuple[Any, ...]) -> Answer:
    """Return the answer from the tuple that `packed` made of it."""
    answer: Answer = _CLASSES[sent[0]](*sent[1:])
    return answer
